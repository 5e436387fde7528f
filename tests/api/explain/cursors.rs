//! Pages by cursors: a page deep inside a list reads as little as the first one.

use super::*;
use bailiwick_store::walk::Step;

/// So many rows are before the page.
const DEEP: u64 = 5_000;

pub(super) const fn step(after: Option<bailiwick_store::walk::Position>, rows: u64) -> Step {
    Step { after, rows, bytes: None }
}

/// The systems of one organization are read again for a page in the middle of them.
const IN_AN_ORGANIZATION: Bounds = Bounds { read: 2_000, sorted: 2_000 };

pub(super) async fn run(db: &Db, who: &str, scope: &Scope, cutoff: Ts, done: &mut Vec<(String, Bounds)>) {
    use systems::SystemOrder::*;
    if who == "customer" {
        // Fewer rows than are passed over here.
        return;
    }
    let filter = systems::SystemFilter::default();
    for by in
        [Name, Type, Fqdn, Version, SystemKey, CreatedAt, UpdatedAt, CreatorName, Status, OrganizationName]
    {
        for direction in [SortDirection::Asc, SortDirection::Desc] {
            let walk = async |step: Step| {
                let known = systems::Known::default();
                systems::walk(db, scope, &filter, (by, direction), cutoff, known, &step).await.unwrap()
            };
            mark(db, "what is not looked at").await;
            let rows = if who == "reseller" { 100 } else { DEEP };
            let after = walk(step(None, rows)).await.next;
            assert!(after.is_some(), "{by:?} for {who}");
            let label = format!("systems behind a cursor by {by:?} {} for {who}", direction.as_str());
            mark(db, &label).await;
            for _ in 0..REPEATS {
                assert_eq!(walk(step(after.clone(), 20)).await.rows.len(), 20, "{label}");
            }
            done.push((
                label,
                match by {
                    Status => COMPUTED,
                    OrganizationName => IN_AN_ORGANIZATION,
                    _ => INDEX_RANGE,
                },
            ));
        }
    }
    if who != "reseller" {
        run_people(db, who, scope, done).await;
    }
}

async fn run_people(db: &Db, who: &str, scope: &Scope, done: &mut Vec<(String, Bounds)>) {
    use users::Sort::*;
    for by in
        [Name, Email, Username, CreatedAt, UpdatedAt, LatestLoginAt, CreatorName, Organization, SuspendedAt]
    {
        for direction in [SortDirection::Asc, SortDirection::Desc] {
            let filter = users::Filter::default();
            let walk = async |step: Step| {
                let order = users::Order { by, direction };
                users::list::walk(db, scope, &filter, order, &step).await.unwrap()
            };
            mark(db, "what is not looked at").await;
            let after = walk(step(None, 400)).await.next;
            let label = format!("users behind a cursor by {by:?} {} for {who}", direction.as_str());
            mark(db, &label).await;
            for _ in 0..REPEATS {
                assert_eq!(walk(step(after.clone(), 20)).await.rows.len(), 20, "{label}");
            }
            let bounds = match by {
                SuspendedAt => FEW_USERS,
                Organization => COMPUTED,
                _ => INDEX_RANGE,
            };
            done.push((label, bounds));
        }
    }
    use organizations::Sort;
    for by in [
        Sort::Name,
        Sort::Description,
        Sort::CreatedAt,
        Sort::UpdatedAt,
        Sort::SuspendedAt,
        Sort::CreatorName,
    ] {
        for direction in [SortDirection::Asc, SortDirection::Desc] {
            let filter = organizations::Filter::default();
            let walk = async |step: Step| {
                let (family, order) = (OrgType::Customer, organizations::Order { by, direction });
                let selected = organizations::list::Selected { family, scope, filter: &filter };
                organizations::list::walk(db, selected, order, &step).await.unwrap()
            };
            mark(db, "what is not looked at").await;
            let after = walk(step(None, 300)).await.next;
            let label = format!("customers behind a cursor by {by:?} {} for {who}", direction.as_str());
            mark(db, &label).await;
            for _ in 0..REPEATS {
                assert_eq!(walk(step(after.clone(), 20)).await.rows.len(), 20, "{label}");
            }
            done.push((label, if by == Sort::SuspendedAt { SUSPENDED } else { INDEX_RANGE }));
        }
    }
}

/// Every order by a column of the row is a range of an index on SQLite too.
#[tokio::test]
async fn a_page_behind_a_cursor_is_an_index_range_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(&Options::new(format!("sqlite:{}", dir.path().join("t.db").display()))).await.unwrap();
    db.migrate().await.unwrap();
    let root = OrgId(Uuid::from_u128(9));
    let subtree = |org_type| Scope::Subtree { root, org_type };
    let mut wrong = Vec::new();
    for scope in [
        Scope::Everything,
        subtree(OrgType::Distributor),
        subtree(OrgType::Reseller),
        Scope::Organization(root),
    ] {
        for by in systems::SystemOrder::WORDS.list() {
            let (word, by) = (by, systems::SystemOrder::WORDS.parse(by).unwrap());
            if matches!(by, systems::SystemOrder::Status | systems::SystemOrder::OrganizationName) {
                continue;
            }
            let is_time = word.ends_with("_at");
            let value =
                if is_time { serde_json::json!(["time", 1]) } else { serde_json::json!(["text", "m"]) };
            let position = serde_json::json!([0, value[0], value[1], Uuid::nil().to_string()]);
            let after = bailiwick_store::walk::Position::from_json(&position);
            assert!(after.is_some());
            for direction in [SortDirection::Asc, SortDirection::Desc] {
                let mut q = Q::new("EXPLAIN QUERY PLAN ");
                q.append(systems::walk_query(&db, &scope, (by, direction), &step(after.clone(), 21)));
                let lines: Vec<(i64, i64, i64, String)> = q.all(&db).await.unwrap();
                let lines: Vec<String> = lines.into_iter().map(|(.., line)| line).collect();
                let sign = if direction == SortDirection::Asc { ">" } else { "<" };
                let is_range = lines.iter().any(|line| {
                    let is_search = line.starts_with("SEARCH s USING") && line.contains("INDEX systems_");
                    // Keys are unique, so one index holds no id behind them.
                    let is_key = by == systems::SystemOrder::SystemKey;
                    let is_behind = line.contains(&format!(",id){sign}(?,?)"));
                    is_search && (is_behind || is_key && line.contains(&format!("system_key{sign}?")))
                });
                if !is_range || lines.iter().any(|line| line.contains("TEMP B-TREE")) {
                    wrong.push(format!("{word} {} {scope:?}: {lines:?}", direction.as_str()));
                }
            }
        }
    }
    db.close().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
