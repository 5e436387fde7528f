//! Pages by cursors: a page deep inside a list reads as little as the first one.

use super::*;
use bailiwick_store::{
    applications::{self, ApplicationOrder},
    walk::Step,
};

/// So many rows are before the page.
const DEEP: u64 = 5_000;

pub(super) const fn step(after: Option<bailiwick_store::walk::Position>, rows: u64) -> Step {
    Step { after, rows, bytes: None }
}

/// The systems of one organization are read again for a page in the middle of them.
const IN_AN_ORGANIZATION: Bounds = Bounds { read: 2_000, sorted: 2_000 };

pub(super) async fn run(db: &Db, who: &str, scope: &Scope, done: &mut Vec<(String, Bounds)>) {
    use systems::SystemOrder::*;
    if who == "customer" {
        // Fewer rows than are passed over here.
        return;
    }
    let filter = systems::SystemFilter::default();
    for by in [Name, CreatedAt, Status, OrganizationName] {
        for direction in [SortDirection::Asc, SortDirection::Desc] {
            let walk = async |step: Step| {
                let counts = systems::KnownCounts::default();
                systems::walk(db, scope, &filter, (by, direction), counts, &step).await.unwrap()
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

/// Every order by a column of the row, but that by suspension, is a range of an index on SQLite too, for rows with and without a
/// value.
#[tokio::test]
async fn a_page_behind_a_cursor_is_an_index_range_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(&Options::new(format!("sqlite:{}", dir.path().join("t.db").display()))).await.unwrap();
    db.migrate().await.unwrap();
    let root = OrgId(Uuid::from_u128(9));
    let subtree = |org_type| Scope::Subtree { root, org_type };
    let scopes = [
        Scope::Everything,
        subtree(OrgType::Distributor),
        subtree(OrgType::Reseller),
        Scope::Organization(root),
    ];
    let mut wrong = Vec::new();
    for (scope, direction) in
        scopes.iter().flat_map(|scope| [(scope, SortDirection::Asc), (scope, SortDirection::Desc)])
    {
        let lists = statements(&db, scope, direction);
        assert!(lists.len() >= 18, "{} statements", lists.len());
        for (list, table, q) in lists {
            let mut explain = Q::new("EXPLAIN QUERY PLAN ");
            explain.append(q);
            let lines: Vec<(i64, i64, i64, String)> = explain.all(&db).await.unwrap();
            let lines: Vec<String> = lines.into_iter().map(|(.., line)| line).collect();
            let sign = if direction == SortDirection::Asc { ">" } else { "<" };
            let is_range = lines.iter().any(|line| {
                // Keys and addresses are unique, so one index of each holds no id behind them.
                let ends =
                    [",id){sign}(?,?)", " id{sign}?", "(id{sign}?", "system_key{sign}?", "email_key{sign}?"];
                let ranges = ends.map(|end| end.replace("{sign}", sign));
                line.starts_with(&format!("SEARCH {table} USING"))
                    && line.contains(" INDEX ")
                    && ranges.iter().any(|range| line.contains(range.as_str()))
            });
            if !is_range || lines.iter().any(|line| line.contains("TEMP B-TREE")) {
                wrong.push(format!("{list} {} {scope:?}: {lines:?}", direction.as_str()));
            }
        }
    }
    db.close().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The statements of pages in the middle of each run of each order by a column of the row: the list, its table, the statement.
fn statements(db: &Db, scope: &Scope, direction: SortDirection) -> Vec<(String, &'static str, Q)> {
    let mut all = Vec::new();
    // The other orders sort the systems of the scope.
    for word in ["name", "created_at"] {
        let by = systems::SystemOrder::WORDS.parse(word).unwrap();
        let q = systems::walk_query(scope, (by, direction), &behind(0, word));
        all.push((format!("systems by {word}"), "s", q));
    }
    for (word, by) in {
        use users::Sort::*;
        [
            ("name", Name),
            ("email", Email),
            ("username", Username),
            ("created_at", CreatedAt),
            ("updated_at", UpdatedAt),
            ("latest_login_at", LatestLoginAt),
            ("creator_name", CreatorName),
        ]
    } {
        let order = users::Order { by, direction };
        let runs = (0..2).map_while(|run| users::list::walk_query(scope, order, &behind(run, word)));
        all.extend(runs.map(|q| (format!("users by {word}"), "u", q)));
    }
    // An organization alone has no list of customers.
    let is_one = matches!(scope, Scope::Organization(_));
    for (word, by) in {
        use organizations::Sort::*;
        [
            ("name", Name),
            ("description", Description),
            ("created_at", CreatedAt),
            ("updated_at", UpdatedAt),
            ("creator_name", CreatorName),
        ]
        .into_iter()
        .filter(|_| !is_one)
    } {
        let filter = organizations::Filter::default();
        let selected = organizations::list::Selected { family: OrgType::Customer, scope, filter: &filter };
        let order = organizations::Order { by, direction };
        let q = |run| organizations::list::walk_query(selected, order, &behind(run, word));
        all.extend((0..2).map_while(q).map(|q| (format!("customers by {word}"), "o", q)));
    }
    for word in ApplicationOrder::WORDS.list() {
        use ApplicationOrder::*;
        let by = ApplicationOrder::WORDS.parse(word).unwrap();
        if !matches!(by, SystemName | LastInventoryAt | OrganizationName) {
            let q = applications::walk_query(db, scope, (by, direction), &behind(0, word)).unwrap();
            all.push((format!("applications by {word}"), "a", q));
        }
    }
    all
}

/// The step behind a row in the middle of a run.
fn behind(run: u64, word: &str) -> Step {
    let (kind, value) = match word {
        "certification_level" => ("number", serde_json::json!(4)),
        _ if word.ends_with("_at") => ("time", serde_json::json!(1)),
        _ => ("text", serde_json::json!("m")),
    };
    let position = serde_json::json!([run, kind, value, Uuid::from_u128(7).to_string()]);
    step(Some(bailiwick_store::walk::Position::from_json(&position).unwrap()), 21)
}
