//! The database cannot write: its disk is full, or it can only be read. Every request that writes gets 503 with `Retry-After`,
//! and everything works again as soon as there is room, without a restart.

use crate::{provider::client::authorization, rules::faults::alter};
use bailiwick_platform::{processes, write_check};
use bailiwick_store::{StoreError, sql::Q};
use bailiwick_testkit::{Call, Engine, Test, api_test, eventually};
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const REFUSES: &str = "RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'";

/// On PostgreSQL every table has a trigger that does this at each statement that writes. A trigger is made in a transaction of its
/// own, and only the function changes later: a transaction that locked many tables would deadlock with the workers.
async fn at_each_write(t: &Test, what: &str) {
    let function = format!(
        "CREATE OR REPLACE FUNCTION no_room() RETURNS trigger AS $$ BEGIN {what}; RETURN NULL; END $$ LANGUAGE plpgsql"
    );
    alter(t, &[&function]).await;
    let without = "SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = 'public' AND NOT EXISTS (SELECT 1 FROM pg_trigger \
         WHERE tgname = 'full_disk' AND tgrelid = CAST(quote_ident(tablename) AS regclass))";
    for (table,) in Q::new(without).all::<(String,)>(&t.app.platform.db).await.unwrap() {
        let trigger = format!(
            "CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE OR DELETE ON \"{table}\" EXECUTE FUNCTION no_room()"
        );
        alter(t, &[&trigger]).await;
    }
}

/// On PostgreSQL every statement that writes fails as on a full disk, until [`make_room`]. On SQLite the next transaction does, as
/// on a disk that can only be read.
async fn fill(t: &Test) {
    if t.engine == Engine::Postgres {
        return at_each_write(t, REFUSES).await;
    }
    // It may not have been noticed since the last time.
    let Ok(mut tx) = t.app.platform.db.begin().await else { return };
    Q::new("PRAGMA query_only = ON").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
}

async fn make_room(t: &Test) {
    if t.engine == Engine::Postgres {
        at_each_write(t, "NULL").await;
    }
}

/// Sends a request that writes until a full disk refuses it. On SQLite a worker may have met the fault before it.
async fn refused(t: &Test, name: &str, call: &dyn Fn() -> Call) {
    let is_refused = async || {
        fill(t).await;
        let reply = call().send().await;
        make_room(t).await;
        if reply.status == 503 {
            assert!(reply.header("retry-after").is_some(), "{name}");
        }
        assert_ne!(reply.status, 500, "{name}: {}", reply.text());
        reply.status == 503
    };
    eventually(name, is_refused).await;
}

api_test!(a_request_that_cannot_be_written_gets_503_and_succeeds_once_there_is_room, |t| async move {
    let tree = t.tree().await;
    let (owner, system) = (t.owner().await, t.system(tree.customer).await);
    let alerts = "/api/services/mimir/alertmanager/api/v2/alerts";
    let basic = |path: &str| t.post(path).basic(&system.key, &system.secret);
    let number = AtomicU32::new(0);
    let fresh = || format!("Full {}", number.fetch_add(1, Relaxed));
    let calls: [(&str, &dyn Fn() -> Call); 5] = [
        ("interface", &|| {
            let body = json!({"name": fresh(), "custom_data": {"vat": "1"}});
            t.post("/api/customers").bearer(&owner.token).json(body)
        }),
        ("heartbeat", &|| basic("/api/systems/heartbeat")),
        ("inventory", &|| basic("/api/systems/inventory").json(json!({"facts": {"name": fresh()}}))),
        ("proxy", &|| basic(alerts).json(json!([{"labels": {"alertname": fresh()}}]))),
        ("provider", &|| t.get(&authorization(&[]))),
    ];
    for (name, call) in calls {
        // There the count of such requests, which may fail, meets the one fault before the request does.
        if name == "provider" && t.engine == Engine::Sqlite {
            continue;
        }
        refused(&t, name, call).await;
        eventually(name, async || [200, 201, 202, 303].contains(&call().send().await.status.as_u16())).await;
    }
});

api_test!(readiness_and_metrics_say_whether_the_database_can_be_written, |t| async move {
    let is_healthy = async || t.get("/health").send().await.status == 200;
    // On a busy machine a check may take longer than its two seconds.
    eventually("health is good", async || is_healthy().await).await;
    assert!(write_check::was_writable(&t.app.platform).await);
    processes::start(&t.app.platform, "a host".to_owned()).await.unwrap();
    let before = t.app.platform.db.connections().write_faults;
    // A fault counts for a few seconds: whatever shows it is asked within one round.
    eventually("health turns bad, and with it all the others", async || {
        fill(&t).await;
        let health = t.get("/health").send().await;
        let ready = t.get("/api/services/mimir/alertmanager/-/ready").send().await;
        let was_writable = write_check::was_writable(&t.app.platform).await;
        make_room(&t).await;
        assert!(health.status == 200 || health.header("retry-after").is_some(), "{}", health.text());
        let has_failed = t.app.platform.db.connections().write_faults > before;
        health.status == 503 && ready.status == 503 && !was_writable && has_failed
    })
    .await;
    eventually("health turns good", is_healthy).await;
    assert!(write_check::was_writable(&t.app.platform).await);
});

// A statement that failed took its whole transaction with it: a COMMIT that PostgreSQL answers with a rollback is no success.
api_test!(a_transaction_with_a_failed_statement_cannot_be_committed, |t| async move {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("UPDATE auth_epoch SET n = n + 1").run(&mut tx).await.unwrap();
    Q::new("SELECT nothing FROM nowhere").run(&mut tx).await.unwrap_err();
    assert!(matches!(tx.commit().await, Err(StoreError::Ended { passes: false })));
});
