//! The same for applications: about 20,000 of them on 8,000 systems.

use super::{cursors::step, *};
use bailiwick_store::{
    applications::{self, ApplicationFilter, ApplicationOrder},
    systems::stats,
    walk::Step,
};

/// A system with applications or none is read for each row as well.
const RANGE: Bounds = Bounds { read: 200, sorted: 200 };
/// Ordered by a column of the system, a customer's applications are read and sorted as a whole. Those on systems of one
/// name are sorted by id anyway.
const WHOLE: Bounds = Bounds { read: 8_000, sorted: 5_000 };

async fn run(db: &Db, callers: &Callers) -> Vec<(String, Bounds)> {
    let mut done = Vec::new();
    for (who, scope) in callers.all() {
        let is_large = who == "owner" || who == "distributor";
        for word in [
            "display_name",
            "module_id",
            "instance_of",
            "version",
            "status",
            "created_at",
            "updated_at",
            "certification_level",
            "system_name",
            "last_inventory_at",
            "organization_name",
        ] {
            let order = ApplicationOrder::WORDS.parse(word).unwrap();
            for direction in [SortDirection::Asc, SortDirection::Desc] {
                let label = format!("applications by {word} {} for {who}", direction.as_str());
                mark(db, &label).await;
                for _ in 0..REPEATS {
                    let filter = ApplicationFilter::default();
                    let page =
                        applications::list(db, scope, &filter, (order, direction), PAGE, None).await.unwrap();
                    assert!(page.total >= page.rows.len() as u64, "{label}");
                    assert!(page.rows.len() == 20 || !is_large, "{label}");
                }
                let bounds = match (word, is_large) {
                    ("organization_name" | "system_name", true) => COMPUTED,
                    (_, true) => RANGE,
                    ("system_name" | "last_inventory_at", false) => WHOLE,
                    (_, false) => COMPUTED,
                };
                done.push((label, bounds));
                if is_large {
                    let label =
                        format!("applications behind a cursor by {word} {} for {who}", direction.as_str());
                    behind_a_cursor(db, scope, (order, direction), &label).await;
                    // Those on systems of one name are read again for a page in the middle of them.
                    done.push((label, if word == "system_name" { WHOLE } else { bounds }));
                }
            }
        }
        let label = format!("types and versions of systems for {who}");
        mark(db, &label).await;
        for _ in 0..2 * REPEATS {
            assert!(!stats::products(db, scope).await.unwrap().is_empty(), "{label}");
        }
        done.push((label, RANGE));
    }
    done
}

/// A page deep inside the list.
async fn behind_a_cursor(db: &Db, scope: &Scope, order: (ApplicationOrder, SortDirection), label: &str) {
    const DEEP: u64 = 5_000;
    let filter = ApplicationFilter::default();
    let walk =
        async |step: Step| applications::walk(db, scope, &filter, order, u64::MAX, &step).await.unwrap();
    mark(db, "what is not looked at").await;
    let after = walk(step(None, DEEP)).await.next;
    assert!(after.is_some(), "{label}");
    mark(db, label).await;
    for _ in 0..REPEATS {
        assert_eq!(walk(step(after.clone(), 20)).await.rows.len(), 20, "{label}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_of_applications_read_an_index_range() {
    let cluster = Cluster::start().await.unwrap();
    let plan = Plan { organizations: 800, systems: 8_000, users: Some(300), applications: true, seed: 1 };
    let db = fill_with(&cluster, &plan).await;
    let callers = callers(&db).await;
    db.close().await;
    let db = observed(&cluster).await;
    let lists = run(&db, &callers).await;
    db.close().await;
    judge(&cluster.log(), &lists);
}
