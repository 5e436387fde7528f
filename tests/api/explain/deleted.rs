//! Lists of deleted systems: few among all, and read as such.

use super::*;

/// The deleted systems are sorted, as no index has their order, and each may be looked up.
pub(super) async fn run(db: &Db, who: &str, scope: &Scope, done: &mut Vec<(String, Bounds)>) {
    use systems::SystemOrder::*;
    let statuses = Some(vec![systems::StatusFilter::Is(SystemStatus::Deleted)]);
    let all = systems::SystemFilter { statuses, ..Default::default() };
    let named = systems::SystemFilter { name: Some("a".into()), ..all.clone() };
    mark(db, "what is not looked at").await;
    let counts = systems::KnownCounts::default();
    let deleted = systems::total(db, &Scope::Everything, &all, counts).await.unwrap();
    assert!(deleted > 100 && deleted < 20_000, "{deleted} deleted systems");
    // All of a small scope may be read.
    let small = if matches!(who, "owner" | "distributor") { 0 } else { 5_000 };
    let bounds = Bounds { read: small.max(deleted) + 100, sorted: deleted };
    for (order, filter) in [Name, Version, CreatedAt, OrganizationName, Status]
        .into_iter()
        .flat_map(|o| [(o, &all), (o, &named)])
    {
        let label = format!("deleted systems by {order:?} for {who}, {}", filter.name.is_some());
        mark(db, &label).await;
        for _ in 0..REPEATS {
            let part = systems::OrderedPage { order: (order, SortDirection::Desc), page: PAGE };
            systems::list(db, scope, filter, part, counts).await.unwrap();
        }
        done.push((label, bounds));
    }
}
