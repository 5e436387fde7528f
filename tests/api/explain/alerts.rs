//! The same for alerts: 100,000 rows of history of 5,000 systems, every tenth of which has an alert that fires.

use super::*;
use bailiwick_store::history::{
    OrganizationsRead,
    active::{ActiveFilter, ActiveOrder, ActiveQuery, by_ids},
    list::{self, HistoryFilter, HistoryOrder},
    silences::{system_of_key, tenant_of_silence},
    stats,
};

/// Few alerts fire. They may be read and sorted as a whole.
const FIRING: Bounds = Bounds { read: 2_000, sorted: 2_000 };

const ROWS: [&str; 6] = [
    "INSERT INTO alert_history (organization_id, p2, p3, system_key, alertname, severity, status, fingerprint, starts_at, \
     ends_at, labels, annotations, created_at) SELECT s.organization_id, o.p2, o.p3, s.system_key, 'A' || n, \
     CASE WHEN n % 3 = 0 THEN 'critical' ELSE 'warning' END, 'resolved', substr(md5(s.system_key || n), 1, 16), \
     CAST('2026-03-01' AS timestamptz) + n * interval '1 minute' + s.id_number * interval '1 second', \
     CAST('2026-03-01' AS timestamptz) + n * interval '1 hour' + s.id_number * interval '1 second', '{}', '{}', \
     CAST('2026-03-01' AS timestamptz) + n * interval '1 hour' + s.id_number * interval '1 second' \
     FROM (SELECT *, row_number() OVER (ORDER BY id) AS id_number FROM systems) s \
     JOIN organizations o ON o.id = s.organization_id CROSS JOIN generate_series(1, 20) n",
    "INSERT INTO alert_history (organization_id, p2, p3, system_key, alertname, severity, status, fingerprint, starts_at, \
     expires_at, labels, annotations, created_at) SELECT s.organization_id, o.p2, o.p3, s.system_key, 'F', 'critical', \
     'firing', substr(md5(s.system_key), 1, 16), CAST('2026-03-01' AS timestamptz) + id_number * interval '1 second', \
     '2026-04-01', '{}', '{}', '2026-03-02' \
     FROM (SELECT *, row_number() OVER (ORDER BY id) AS id_number FROM systems) s \
     JOIN organizations o ON o.id = s.organization_id WHERE id_number % 10 = 0",
    "INSERT INTO router_alerts (organization_id, fingerprint, system_key, ends_at, payload) SELECT organization_id, \
     fingerprint, system_key, 1775001600000000, '{}' FROM alert_history WHERE status = 'firing'",
    // Few systems have silences, and half of these are over.
    "INSERT INTO router_silences (organization_id, id, system_key, ends_at, payload) SELECT organization_id, \
     gen_random_uuid(), system_key, 1772618400000000 + (id_number / 10 % 2 * 2 - 1) * id_number * 1000000, '{}' \
     FROM (SELECT *, row_number() OVER (ORDER BY id) AS id_number FROM systems) s WHERE id_number % 10 = 0",
    "INSERT INTO alert_totals (organization_id, history) SELECT organization_id, count(*) FROM alert_history \
     WHERE status = 'resolved' GROUP BY 1",
    "INSERT INTO alert_history_days (organization_id, day, resolved) SELECT organization_id, 20513 + n, 1 \
     FROM alert_totals CROSS JOIN generate_series(1, 180) n",
];

async fn run(db: &Db, callers: &Callers) -> Vec<(String, Bounds)> {
    let mut done = Vec::new();
    for (who, scope) in callers.all() {
        let within = OrganizationsRead::all(*scope);
        let is_owner = who == "owner";
        let mut orders = vec![HistoryOrder::CreatedAt];
        orders.extend(is_owner.then_some(HistoryOrder::StartsAt));
        for order in orders {
            for direction in [SortDirection::Asc, SortDirection::Desc] {
                let label = format!("history by {order:?} {} for {who}", direction.as_str());
                mark(db, &label).await;
                for _ in 0..REPEATS {
                    let filter = HistoryFilter::default();
                    let page = list::list(db, &within, &filter, (order, direction), PAGE).await.unwrap();
                    assert!(page.total >= page.rows.len() as u64 && !page.rows.is_empty(), "{label}");
                }
                done.push((label, COMPUTED));
            }
        }
        let query = ActiveQuery {
            within: within.clone(),
            filter: ActiveFilter::default(),
            is_suppressed: None,
            order: ActiveOrder::StartsAt,
            direction: SortDirection::Desc,
            now: "2026-03-04T10:00:00Z".parse().unwrap(),
            spared: None,
        };
        let label = format!("active alerts and their totals for {who}");
        mark(db, &label).await;
        for _ in 0..REPEATS {
            let ids = query.page(db, &[], PAGE).await.unwrap().value;
            let rows = by_ids(db, &ids).await.unwrap();
            assert_eq!(rows.len(), ids.len(), "{label}");
            let total = query.total(db).await.unwrap().value;
            assert!(total >= rows.len() as u64 && (!is_owner || rows.len() == 20), "{label}");
            query.severities(db).await.unwrap();
            query.of_silenced_systems(db, 0).await.unwrap();
        }
        done.push((label, FIRING));
        let label = format!("figures for {who}");
        mark(db, &label).await;
        for _ in 0..REPEATS {
            assert!(stats::resolved(db, &within).await.unwrap() > 0, "{label}");
            stats::resolved_by_day(db, &within, 20_600).await.unwrap();
        }
        done.push((label, COMPUTED));
        silence_of(db, who, &within, &mut done).await;
    }
    done
}

/// What tools ask about one silence (spec: alerts-of-organizations#silences).
async fn silence_of(db: &Db, who: &str, within: &OrganizationsRead, done: &mut Vec<(String, Bounds)>) {
    let is_owner = who == "owner";
    let all = "SELECT r.id, r.system_key FROM router_silences r JOIN organizations o ON o.id = r.organization_id \
               WHERE o.eff_deleted_at IS NULL LIMIT 1";
    let (id, key): (Uuid, String) = Q::new(all).one(db).await.unwrap();
    let label = format!("the organization of a silence and of a key for {who}");
    mark(db, &label).await;
    for _ in 0..REPEATS {
        let tenant = tenant_of_silence(db, within, id).await.unwrap();
        let system = system_of_key(db, within, &key).await.unwrap();
        assert!(!is_owner || tenant.is_some(), "{label}");
        assert!(tenant.is_some() || system.is_none(), "{label}");
    }
    done.push((label, INDEX_RANGE));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_of_alerts_read_an_index_range() {
    let cluster = Cluster::start().await.unwrap();
    // The server makes statistics of a random sample, and some samples give another plan. This target takes all rows.
    cluster.execute("ALTER SYSTEM SET default_statistics_target = 400").await.unwrap();
    cluster.execute("SELECT pg_reload_conf()").await.unwrap();
    let plan = Plan { organizations: 300, systems: 5_000, users: Some(300), applications: false, seed: 1 };
    let db = fill_with(&cluster, &plan).await;
    load(&db, &ROWS).await;
    let tables = ["alert_history", "router_alerts", "router_silences", "alert_totals", "alert_history_days"];
    load(&db, &[&format!("ANALYZE {}", tables.join(", "))]).await;
    let callers = callers(&db).await;
    db.close().await;
    let db = observed(&cluster).await;
    let lists = run(&db, &callers).await;
    db.close().await;
    judge(&cluster.log(), &lists);
}
