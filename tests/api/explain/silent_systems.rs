//! The check of silent systems among 4,000 that are silent and have their alerts: it reads those that need something.

use super::*;
use bailiwick_store::{catalogue, silent_systems, silent_systems::Source};

/// All are silent, and all but those of suspended organizations have alerts of the same moment.
const SILENT: &str =
    "UPDATE system_activity SET status = 2, last_heartbeat = '2026-01-01' WHERE last_heartbeat IS NOT NULL";
const RAISED: &str = "INSERT INTO link_alerts (system_id, organization_id, system_key, started_at, refreshed_at) \
     SELECT s.id, s.organization_id, s.system_key, '2026-01-02', '2026-02-02' FROM systems s \
     JOIN organizations o ON o.id = s.organization_id JOIN system_activity a ON a.system_id = s.id \
     WHERE s.deleted_at IS NULL AND s.suspended_at IS NULL AND o.eff_suspended_at IS NULL AND o.eff_deleted_at IS NULL \
     AND a.last_heartbeat IS NOT NULL";
/// Rows of systems that one statement reads, beside those that have a mark of their own.
const MOST: u64 = 10;
const MARKED: &str =
    "SELECT CAST(COUNT(*) AS BIGINT) FROM systems WHERE deleted_at IS NOT NULL OR suspended_at IS NOT NULL";

async fn change(db: &Db, sql: &str, ids: &[Uuid]) {
    let mut tx = db.begin().await.unwrap();
    for id in ids {
        assert_eq!(Q::new(sql).bind(SystemId(*id)).run(&mut tx).await.unwrap(), 1, "{sql}");
    }
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_check_of_silent_systems_reads_those_that_need_something() {
    let cluster = Cluster::start().await.unwrap();
    let plan = Plan { organizations: 200, systems: 5_000, users: None, applications: false, seed: 1 };
    let db = fill_with(&cluster, &plan).await;
    load(&db, &[SILENT]).await;
    let nil = SystemId(Uuid::nil());
    load(&db, &[RAISED]).await;
    let raised: Vec<(Uuid,)> =
        Q::new("SELECT system_id FROM link_alerts ORDER BY system_id").all(&db).await.unwrap();
    assert!(raised.len() > 4_000, "{}", raised.len());
    let some: Vec<Uuid> = raised.iter().step_by(500).map(|(id,)| *id).collect();
    let (new, old, recovered) = (&some[..2], &some[2..4], &some[4..6]);
    change(&db, "DELETE FROM link_alerts WHERE system_id = ?", new).await;
    change(&db, "UPDATE link_alerts SET refreshed_at = '2026-01-02' WHERE system_id = ?", old).await;
    change(&db, "UPDATE system_activity SET status = 1 WHERE system_id = ?", recovered).await;
    // A worker of the engine that helps reads them once more.
    let most = MOST + 3 * Q::new(MARKED).count(&db).await.unwrap();
    db.close().await;
    cluster.query("explain", "VACUUM ANALYZE").await.unwrap();
    let db = observed(&cluster).await;
    let due: Ts = "2026-02-01T12:00:00Z".parse().unwrap();
    for _ in 0..REPEATS {
        for (source, expected) in [(Source::New, new), (Source::Raised, old)] {
            mark(&db, &format!("{source:?}")).await;
            let found = silent_systems::due(&db, source, due, nil, 1_000).await.unwrap();
            let ids: Vec<Uuid> = found.iter().map(|system| system.id.0).collect();
            assert_eq!(ids, expected, "{source:?}");
            mark(&db, "behind the last").await;
            let last = found.last().unwrap().id;
            let rest = silent_systems::due(&db, source, due, last, 1_000).await.unwrap();
            assert_eq!(rest, []);
        }
        mark(&db, "over").await;
        let over = silent_systems::over(&db, (nil, OrgId(nil.0)), 1_000).await.unwrap();
        assert_eq!(over.iter().map(|alert| alert.system_id.0).collect::<Vec<_>>(), recovered);
    }
    db.close().await;
    let plans = plans(&cluster.log());
    let mut wrong = Vec::new();
    for label in ["New", "Raised", "over"] {
        let runs: Vec<_> = plans.iter().filter(|(l, _)| l == label).collect();
        assert!(runs.len() >= REPEATS, "{label}: {}", runs.len());
        for (_, plan) in runs {
            reads_much(&plan["Plan"], label, most, &mut wrong);
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn reads_much(node: &Value, label: &str, most: u64, wrong: &mut Vec<String>) {
    let relation = node["Relation Name"].as_str().unwrap_or_default();
    let loops = number(node, "Actual Loops").max(1);
    let read = (number(node, "Actual Rows") + number(node, "Rows Removed by Filter")) * loops;
    if relation == "systems" && read > most {
        wrong.push(format!("{label}: {} reads {read} rows of {relation}", node["Node Type"]));
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        reads_much(child, label, most, wrong);
    }
}

/// SQLite takes systems by their keys, for what the inner statement has found.
#[tokio::test]
async fn the_check_of_silent_systems_begins_with_alerts_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(&Options::new(format!("sqlite:{}", dir.path().join("t.db").display()))).await.unwrap();
    db.migrate().await.unwrap();
    let mut count = 0;
    let is_check = |text: &str| text.contains("link_alerts") && text.contains("SELECT");
    for (name, text) in catalogue::statements().filter(|(_, text)| is_check(text)) {
        let lines: Vec<(i64, i64, i64, String)> =
            Q::new(&format!("EXPLAIN QUERY PLAN {text}")).all(&db).await.unwrap();
        let lines: Vec<String> = lines.into_iter().map(|(.., line)| line).collect();
        for table in ["s", "a", "o"] {
            assert!(!lines.iter().any(|l| l == &format!("SCAN {table}")), "{name}: {lines:?}");
        }
        let reads_systems = text.contains("systems s ");
        assert_eq!(lines.iter().any(|l| l.starts_with("SEARCH s USING")), reads_systems, "{name}: {lines:?}");
        let first = lines.iter().find(|l| l.starts_with("SEARCH") || l.starts_with("SCAN")).unwrap();
        assert!(
            ["c", "l"].iter().any(|t| first.starts_with(&format!("SEARCH {t} USING"))),
            "{name}: {lines:?}"
        );
        count += 1;
    }
    assert_eq!(count, 3);
    db.close().await;
}
