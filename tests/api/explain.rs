//! How PostgreSQL runs the heaviest lists and totals with 2,000 organizations and 100,000 systems (docs/tree.md).
//!
//! The statements are not repeated here: the lists themselves run, several times so that plans made for all parameters
//! come up as well, and the server reports by `auto_explain` what it did. So this is about rows really read and sorted,
//! not about estimates. Between the lists a marker statement names the next list in the server's log.

use bailiwick_app::{App, Catalogue, operator};
use bailiwick_demo::{self as demo, Plan};
use bailiwick_domain::{OrgId, OrgType, PageRequest, SortDirection, SystemId, SystemStatus, Ts};
use bailiwick_policy::Scope;
use bailiwick_store::{
    Db, Options,
    creators::{Of, creators},
    organizations::{
        self,
        directory::{DirectoryFilter, DirectorySort, count, directory},
    },
    sql::Q,
    systems, users,
};
use bailiwick_testkit::{ManualClock, SeededEntropy, engine::settings, parts::postgres::Cluster};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

mod alerts;
mod applications;
mod audit;
mod cursors;
mod deleted;
mod events;
mod impersonation;
mod queues;
mod silent_systems;
mod suspension;

/// Tables that no page and no total may read from end to end.
const LARGE: [&str; 6] =
    ["systems", "users", "system_activity", "applications", "application_hosts", "alert_history"];
const PAGE: PageRequest = PageRequest { page: 1, page_size: 20 };
const FAR: PageRequest = PageRequest { page: 40, page_size: 20 };
/// More than five: then PostgreSQL considers one plan for all parameters.
const REPEATS: usize = 7;
const MARKER: &str = "next: ";

/// The rows that the plans of one list may cost.
#[derive(Clone, Copy)]
struct Bounds {
    /// Read from one large table, those thrown away included.
    read: u64,
    /// Put into one sort.
    sorted: u64,
}

/// A page of an order by a column of the row: the page, and the rows that a join throws away.
const INDEX_RANGE: Bounds = Bounds { read: 100, sorted: 60 };
/// A page of a computed order: a sixteenth of the distributor's scope; all of the greatest customer's.
const COMPUTED: Bounds = Bounds { read: 2_000, sorted: 2_000 };

/// A page far behind: 780 rows in front of it, and among them those of deleted organizations; all of a small scope.
const PASSED_OVER: Bounds = Bounds { read: 3_000, sorted: 2_000 };

/// The suspended organizations are sorted, as no index has their order.
const SUSPENDED: Bounds = Bounds { read: 100, sorted: 200 };
/// All of the few users (3,000) may be read, where it is as good as any other way to find a good part of them.
const FEW_USERS: Bounds = Bounds { read: 4_000, sorted: 2_000 };

struct Callers {
    owner: Scope,
    distributor: Scope,
    reseller: Scope,
    customer: Scope,
}

impl Callers {
    fn all(&self) -> [(&'static str, &Scope); 4] {
        [
            ("owner", &self.owner),
            ("distributor", &self.distributor),
            ("reseller", &self.reseller),
            ("customer", &self.customer),
        ]
    }
}

async fn fill(cluster: &Cluster) -> Db {
    let plan = Plan { organizations: 2_000, systems: 100_000, users: None, applications: false, seed: 1 };
    fill_with(cluster, &plan).await
}

async fn fill_with(cluster: &Cluster, plan: &Plan) -> Db {
    cluster.create_database_from(None, "explain").await.unwrap();
    let db = Db::open(&Options::new(cluster.url("explain"))).await.unwrap();
    db.migrate().await.unwrap();
    let (clock, entropy) = (Arc::new(ManualClock::new()), Arc::new(SeededEntropy::new(1)));
    let app = App::new(settings(), db.clone(), clock, entropy, Catalogue::built_in().clone()).unwrap();
    operator::ensure_owner(&app).await.unwrap();
    let indexes = async || {
        let sql = "SELECT indexdef FROM pg_indexes WHERE tablename = 'systems' ORDER BY indexname";
        Q::new(sql).all::<(String,)>(&db).await.unwrap()
    };
    let before = indexes().await;
    let summary = demo::fill(&app.fleet, plan, &mut |_| {}).await.unwrap();
    assert_eq!((summary.systems, summary.applications > 0), (plan.systems, plan.applications));
    assert_eq!(indexes().await, before, "a large load makes its indexes again");
    db
}

/// Runs statements that fill tables, however long they take.
async fn load(db: &Db, statements: &[&str]) {
    let mut tx = db.begin().await.unwrap();
    for sql in ["SET LOCAL statement_timeout = 0"].iter().chain(statements) {
        Q::new(sql).run(&mut tx).await.unwrap_or_else(|e| panic!("{e}: {sql}"));
    }
    tx.commit().await.unwrap();
}

/// The greatest organization of each level.
async fn callers(db: &Db) -> Callers {
    let first = async |column: &str, condition: &str| {
        let sql = format!(
            "SELECT o.{column} FROM organizations o JOIN organization_counts k ON k.organization_id = o.id \
             JOIN organizations r ON r.id = o.{column} WHERE {condition} GROUP BY o.{column} \
             ORDER BY SUM(k.systems) DESC LIMIT 1"
        );
        let (id,): (Uuid,) = Q::new(&sql).one(db).await.unwrap();
        OrgId(id)
    };
    let subtree = |root, org_type| Scope::Subtree { root, org_type };
    Callers {
        owner: Scope::Everything,
        distributor: subtree(first("p2", "r.type = 'distributor'").await, OrgType::Distributor),
        reseller: subtree(first("p3", "r.type = 'reseller'").await, OrgType::Reseller),
        customer: Scope::Organization(first("id", "r.type = 'customer' AND r.eff_deleted_at IS NULL").await),
    }
}

/// One connection, so that the log is in order. The server logs the plans of the connection with the rows that they
/// really saw.
async fn observed(cluster: &Cluster) -> Db {
    let settings = [
        "session_preload_libraries=auto_explain",
        "auto_explain.log_min_duration=0",
        "auto_explain.log_analyze=on",
        "auto_explain.log_timing=off",
        "auto_explain.log_buffers=on",
        "auto_explain.log_format=json",
    ];
    let mut url = url::Url::parse(&cluster.url("explain")).unwrap();
    let options: Vec<String> = settings.iter().map(|s| format!("-c {s}")).collect();
    url.query_pairs_mut().append_pair("options", &options.join(" "));
    // A space in a query may be written as a plus; PostgreSQL's addresses know the other way only.
    let url = url.as_str().replace('+', "%20");
    Db::open(&Options { connections: 1, ..Options::new(url) }).await.unwrap()
}

async fn mark(db: &Db, label: &str) {
    let _: (i64,) =
        Q::new(&format!("SELECT CAST(1 AS BIGINT) AS \"{MARKER}{label}\"")).one(db).await.unwrap();
}

/// Runs every list and returns what each may cost, in the same order.
async fn run_all(db: &Db, callers: &Callers) -> Vec<(String, Bounds)> {
    let mut done = Vec::new();
    for (who, scope) in callers.all() {
        run_systems(db, who, scope, &mut done).await;
        run_users(db, who, scope, &mut done).await;
        run_organizations(db, who, scope, &mut done).await;
        cursors::run(db, who, scope, &mut done).await;
        deleted::run(db, who, scope, &mut done).await;
    }
    done
}

async fn run_systems(db: &Db, who: &str, scope: &Scope, done: &mut Vec<(String, Bounds)>) {
    // The other orders sort the systems of the scope.
    let words = [
        ("name", INDEX_RANGE),
        ("created_at", INDEX_RANGE),
        ("status", COMPUTED),
        ("organization_name", COMPUTED),
    ];
    mark(db, "what is not looked at").await;
    let totals = systems::stats::totals(db, scope).await.unwrap();
    let counts = systems::KnownCounts { totals: Some(totals), ..systems::KnownCounts::default() };
    for (word, bounds) in words {
        let order = systems::SystemOrder::WORDS.parse(word).unwrap();
        for direction in [SortDirection::Asc, SortDirection::Desc] {
            let label = format!("systems by {word} {} for {who}", direction.as_str());
            mark(db, &label).await;
            for _ in 0..REPEATS {
                let part = systems::OrderedPage { order: (order, direction), page: PAGE };
                let page = systems::list(db, scope, &Default::default(), part, counts).await;
                assert_eq!(page.unwrap().rows.len(), 20, "{label}");
            }
            done.push((label, bounds));
            let label = format!("systems by {word} {} for {who}, far behind", direction.as_str());
            mark(db, &label).await;
            for _ in 0..REPEATS {
                let part = systems::OrderedPage { order: (order, direction), page: FAR };
                systems::list(db, scope, &Default::default(), part, counts).await.unwrap();
            }
            done.push((label, PASSED_OVER));
        }
    }
    let label = format!("systems by status for {who}");
    mark(db, &label).await;
    for _ in 0..REPEATS {
        organizations::totals(db, scope).await.unwrap();
        systems::stats::totals(db, scope).await.unwrap();
    }
    done.push((label, INDEX_RANGE));
}

async fn run_users(db: &Db, who: &str, scope: &Scope, done: &mut Vec<(String, Bounds)>) {
    if who != "owner" && who != "distributor" {
        // Few users: the engine may well read and sort them all.
        return;
    }
    use users::Sort::*;
    for by in
        [Name, Email, Username, CreatedAt, UpdatedAt, LatestLoginAt, CreatorName, Organization, SuspendedAt]
    {
        for direction in [SortDirection::Asc, SortDirection::Desc] {
            let label = format!("users by {by:?} {} for {who}", direction.as_str());
            mark(db, &label).await;
            for _ in 0..REPEATS {
                let order = users::Order { by, direction };
                let page = users::list(db, scope, &Default::default(), order, PAGE).await.unwrap();
                assert_eq!(page.rows.len(), 20, "{label}");
            }
            let bounds = match by {
                SuspendedAt => FEW_USERS,
                Organization => COMPUTED,
                _ => INDEX_RANGE,
            };
            done.push((label, bounds));
        }
    }
    let label = format!("totals of users for {who}");
    mark(db, &label).await;
    for _ in 0..REPEATS {
        let totals = users::stats::count_by_state(db, scope).await.unwrap();
        assert!(totals.suspended > 0 && totals.suspended < totals.total, "{totals:?}");
    }
    done.push((label, COMPUTED));
}

async fn run_organizations(db: &Db, who: &str, scope: &Scope, done: &mut Vec<(String, Bounds)>) {
    if who == "reseller" || who == "customer" {
        return;
    }
    use organizations::Sort::*;
    for by in [Name, Description, CreatedAt, UpdatedAt, SuspendedAt, CreatorName] {
        for direction in [SortDirection::Asc, SortDirection::Desc] {
            let label = format!("customers by {by:?} {} for {who}", direction.as_str());
            mark(db, &label).await;
            for _ in 0..REPEATS {
                let order = organizations::Order { by, direction };
                let filter = organizations::Filter::default();
                let list = organizations::list(db, OrgType::Customer, scope, &filter, order, PAGE);
                assert_eq!(list.await.unwrap().rows.len(), 20, "{label}");
            }
            done.push((label, if by == SuspendedAt { SUSPENDED } else { INDEX_RANGE }));
        }
    }
    for by in [DirectorySort::Name, DirectorySort::Description, DirectorySort::Type] {
        let label = format!("all families by {by:?} for {who}");
        mark(db, &label).await;
        for _ in 0..REPEATS {
            let filter = DirectoryFilter::default();
            let total = count(db, scope, &filter).await.unwrap();
            let list = directory(db, scope, &filter, (by, SortDirection::Asc), PAGE, total);
            assert_eq!(list.await.unwrap().rows.len(), 20, "{label}");
        }
        done.push((label, INDEX_RANGE));
    }
    let label = format!("creators of customers for {who}");
    mark(db, &label).await;
    for _ in 0..REPEATS * 2 {
        let found = creators(db, Of::Family(OrgType::Customer), scope).await.unwrap();
        assert!(!found.is_empty(), "{label}");
    }
    done.push((label, FEW_USERS));
}

/// The plans in the log with the label of the marker before each.
fn plans(log: &str) -> Vec<(String, Value)> {
    let mut plans = Vec::new();
    let mut label = String::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.ends_with("plan:") {
            continue;
        }
        let mut json = String::new();
        while let Some(more) = lines.next_if(|l| l.starts_with('\t')) {
            json.push_str(more);
        }
        let plan: Value = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {json}"));
        let text = plan["Query Text"].as_str().unwrap_or_default();
        match text.split_once(MARKER) {
            Some((_, rest)) => label = rest.trim_end_matches('"').to_owned(),
            None => plans.push((label.clone(), plan)),
        }
    }
    plans
}

fn number(node: &Value, key: &str) -> u64 {
    node[key].as_f64().unwrap_or(0.0) as u64
}

/// Everything in this node and below that is against the bounds.
fn offences(node: &Value, bounds: Bounds, violations: &mut Vec<String>) {
    let kind = node["Node Type"].as_str().unwrap_or_default();
    let relation = node["Relation Name"].as_str().unwrap_or_default();
    let loops = number(node, "Actual Loops").max(1);
    let read = (number(node, "Actual Rows") + number(node, "Rows Removed by Filter")) * loops;
    if kind == "Seq Scan" && relation == "organizations" && bounds.read < COMPUTED.read {
        violations.push("reads all organizations".to_owned());
    }
    if LARGE.contains(&relation) {
        if kind == "Seq Scan" && (relation != "users" || bounds.read < FEW_USERS.read) {
            violations.push(format!("reads all of {relation}"));
        }
        if read > bounds.read {
            violations.push(format!("{kind} reads {read} rows of {relation}"));
        }
    }
    let below = node["Plans"].as_array().map(Vec::as_slice).unwrap_or_default();
    if matches!(kind, "Sort" | "Incremental Sort") {
        let sorted: u64 =
            below.iter().map(|n| number(n, "Actual Rows") * number(n, "Actual Loops").max(1)).sum();
        if sorted > bounds.sorted {
            violations.push(format!("{kind} of {sorted} rows"));
        }
    }
    below.iter().for_each(|n| offences(n, bounds, violations));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_heaviest_lists_read_an_index_range() {
    let cluster = Cluster::start().await.unwrap();
    let db = fill(&cluster).await;
    let callers = callers(&db).await;
    db.close().await;
    // As autovacuum leaves the tables: pages can be read from an index alone.
    cluster.query("explain", "VACUUM ANALYZE").await.unwrap();
    let db = observed(&cluster).await;
    let lists = run_all(&db, &callers).await;
    db.close().await;
    judge(&cluster.log(), &lists);
}

/// Every plan of every list is within its bounds.
#[track_caller]
fn judge(log: &str, lists: &[(String, Bounds)]) {
    let plans = plans(log);
    let mut wrong = Vec::new();
    for (label, bounds) in lists {
        let of_list: Vec<&Value> = plans.iter().filter(|(l, _)| l == label).map(|(_, plan)| plan).collect();
        assert!(
            of_list.len() >= 2 * REPEATS,
            "{label}: a page and a total each time, found {}",
            of_list.len()
        );
        for plan in of_list {
            let mut violations = Vec::new();
            offences(&plan["Plan"], *bounds, &mut violations);
            if !violations.is_empty() {
                wrong.push(format!("{label}: {}", violations.join(", ")));
            }
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn offences_are_found() {
    let scan = serde_json::json!({"Node Type": "Seq Scan", "Relation Name": "systems", "Actual Rows": 90, "Actual Loops": 1,
        "Rows Removed by Filter": 5});
    let sort =
        serde_json::json!({"Node Type": "Sort", "Actual Rows": 20, "Actual Loops": 1, "Plans": [scan]});
    let mut violations = Vec::new();
    offences(&sort, INDEX_RANGE, &mut violations);
    assert_eq!(violations, ["Sort of 90 rows", "reads all of systems"]);
    offences(&sort["Plans"][0], Bounds { read: 94, sorted: 0 }, &mut violations);
    assert_eq!(violations[2..], ["reads all of systems", "Seq Scan reads 95 rows of systems"]);
}
