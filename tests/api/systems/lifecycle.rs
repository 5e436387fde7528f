//! Suspend, reactivate, delete, restore, destroy, a new secret (spec: systems#status, systems#life-cycle;
//! guarantees#systems rules 3, 4, 5, 8, 9, 12, 17).

use super::{count, get, made, register, text};
use bailiwick_store::{epoch::AffectedSystems, sql::Q};
use bailiwick_testkit::{Engine, Persona, Reply, Test, api_test, seed::Seeded};
use serde_json::{Value, json};
use std::time::Duration;

const DONE: [(&str, &str); 5] = [
    ("suspend", "system suspended successfully"),
    ("reactivate", "system reactivated successfully"),
    ("delete", "system deleted successfully"),
    ("restore", "system restored successfully"),
    ("destroy", "system permanently destroyed"),
];

/// One of the operations; bodies of the five are ignored.
async fn act(t: &Test, who: &Persona, what: &str, id: impl std::fmt::Display) -> Reply {
    let call = match what {
        "delete" => t.delete(&format!("/api/systems/{id}")),
        "destroy" => t.delete(&format!("/api/systems/{id}/destroy")),
        _ => t.patch(&format!("/api/systems/{id}/{what}")),
    };
    call.bearer(&who.token).body("{").send().await
}

async fn done(t: &Test, who: &Persona, what: &str, id: impl std::fmt::Display) {
    let (_, message) = DONE.into_iter().find(|(name, _)| *name == what).unwrap();
    assert_eq!(act(t, who, what, id).await.expect_message(200, message).data(), Value::Null);
}

async fn renew(t: &Test, who: &Persona, id: impl std::fmt::Display, body: &'static str) -> Reply {
    let path = format!("/api/systems/{id}/regenerate-secret");
    t.post(&path).bearer(&who.token).body(body).send().await
}

async fn beat(t: &Test, system: &Seeded) -> Reply {
    t.post("/systems/heartbeat").basic(&system.key, &system.secret).send().await
}

/// The next call, in this process and in another one that has seen the credential work.
async fn answers(t: &Test, other: Option<&Test>, system: &Seeded, is_allowed: bool) {
    for process in [Some(t), other].into_iter().flatten() {
        let reply = beat(process, system).await;
        if is_allowed {
            assert!(reply.status.is_success(), "{}", reply.text());
        } else {
            reply.expect_message(401, "invalid system credentials");
        }
    }
}

pub(super) async fn counters_are_true(t: &Test) {
    let wrong: Vec<(i64, i64)> = Q::new(
        "SELECT n.systems, CAST((SELECT COUNT(*) FROM systems s WHERE s.organization_id = n.organization_id \
         AND s.deleted_at IS NULL) AS BIGINT) FROM organization_counts n",
    )
    .all(&t.app.platform.db)
    .await
    .unwrap();
    assert!(wrong.iter().all(|(stored, rows)| stored == rows), "{wrong:?}");
}

async fn processes(t: &Test) -> Option<Test> {
    match t.engine {
        Engine::Postgres => Some(t.replica().await),
        Engine::Sqlite => None,
    }
}

// Proves spec: acceptance#scenarios 27, guarantees#systems 17, authorization#guarantees 16.
api_test!(the_very_next_system_call_is_refused, |t| async move {
    let tree = t.tree().await;
    let other = processes(&t).await;
    let other = other.as_ref();
    let owner = t.owner().await;
    let system = t.system(tree.customer).await;
    answers(&t, other, &system, true).await;
    for (end, begin) in [("suspend", "reactivate"), ("delete", "restore")] {
        done(&t, &owner, end, system.id).await;
        answers(&t, other, &system, false).await;
        done(&t, &owner, begin, system.id).await;
        answers(&t, other, &system, true).await;
    }
    let renewed = renew(&t, &owner, system.id, r#"{"force":true}"#).await.expect(200).data();
    answers(&t, other, &system, false).await;
    let renewed = Seeded { secret: text(&renewed, "system_secret").to_owned(), ..system.clone() };
    answers(&t, other, &renewed, false).await;
    register(&t, &renewed.secret).await.expect(200);
    answers(&t, other, &renewed, true).await;
    answers(&t, other, &system, false).await;
    done(&t, &owner, "destroy", system.id).await;
    answers(&t, other, &renewed, false).await;
    register(&t, &renewed.secret).await.expect(401);
    counters_are_true(&t).await;
});

// Proves spec: acceptance#scenarios 27.
api_test!(states_of_a_system, |t| async move {
    let tree = t.tree().await;
    let c = t.user(tree.customer, &["admin"]).await;
    let system = t.system(tree.customer).await;
    let show = async || get(&t, &c, &format!("/{}", system.id)).await.expect(200).data();
    act(&t, &c, "reactivate", system.id).await.expect_message(400, "system is not suspended");
    let reply = act(&t, &c, "restore", system.id).await.expect_message(400, "system is not deleted");
    assert_eq!(reply.data(), json!({"type": "validation_error", "errors": []}));
    beat(&t, &system).await;
    let before = show().await;
    assert_eq!(text(&before, "status"), "active");
    done(&t, &c, "suspend", system.id).await;
    act(&t, &c, "suspend", system.id).await.expect_message(400, "system is already suspended");
    let shown = show().await;
    assert_eq!(
        (&shown["status"], &shown["suspended_at"], &shown["suspended_by_org_id"]),
        (&json!("suspended"), &json!(t.app.platform.now()), &Value::Null)
    );
    assert_eq!((count(&t, &c, "?status=suspended").await, count(&t, &c, "").await), (1, 1));
    // Deleted while suspended: gone from every read but the list that asks; the suspension outlives it.
    done(&t, &c, "delete", system.id).await;
    for what in ["suspend", "reactivate", "delete"] {
        act(&t, &c, what, system.id).await.expect_message(404, "system not found");
    }
    get(&t, &c, &format!("/{}", system.id)).await.expect_message(404, "system not found");
    assert_eq!((count(&t, &c, "?status=deleted").await, count(&t, &c, "").await), (1, 0));
    counters_are_true(&t).await;
    done(&t, &c, "restore", system.id).await;
    let shown = show().await;
    assert_eq!((text(&shown, "status"), text(&shown, "system_key")), ("suspended", system.key.as_str()));
    assert_eq!((&shown["registered_at"], &shown["deleted_at"]), (&before["registered_at"], &Value::Null));
    // Rules 3 and 4: liveness follows from the heartbeat as soon as the marks are gone.
    done(&t, &c, "reactivate", system.id).await;
    assert_eq!(text(&show().await, "status"), "active");
    done(&t, &c, "delete", system.id).await;
    t.pass(Duration::from_secs(86_400)).await;
    let c = t.session(c.id).await;
    done(&t, &c, "restore", system.id).await;
    let shown = get(&t, &c, &format!("/{}", system.id)).await.expect(200).data();
    assert_eq!(text(&shown, "status"), "inactive");
    counters_are_true(&t).await;
});

// Proves spec: guarantees#systems 3.
api_test!(a_restored_system_has_its_heartbeat_status_at_once, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let (own, below) = (t.system(tree.customer).await, t.system(tree.customer).await);
    let silent = t.system(tree.customer).await;
    for system in [&own, &below] {
        beat(&t, system).await.expect(200);
    }
    let status = async |system: &Seeded| {
        let shown = get(&t, &d, &format!("/{}", system.id)).await.expect(200).data();
        let filter = |query: &str| format!("?status={query}&system_key={}", system.key);
        let status = text(&shown, "status").to_owned();
        assert_eq!(count(&t, &d, &filter(&status)).await, 1, "{status}");
        assert_eq!(shown["heartbeat_status"], shown["status"]);
        status
    };
    // Just within the timeout, deleted on its own or with an organization above it.
    done(&t, &d, "delete", own.id).await;
    t.delete_organization(tree.reseller).await;
    t.pass(Duration::from_secs(20 * 60) - Duration::from_micros(1)).await;
    t.patch(&format!("/api/resellers/{}/restore", tree.reseller)).bearer(&d.token).send().await.expect(200);
    done(&t, &d, "restore", own.id).await;
    assert_eq!((status(&own).await.as_str(), status(&below).await.as_str()), ("active", "active"));
    assert_eq!(status(&silent).await, "unknown");
    t.pass(Duration::from_micros(1)).await;
    done(&t, &d, "delete", own.id).await;
    done(&t, &d, "restore", own.id).await;
    assert_eq!((status(&own).await.as_str(), status(&below).await.as_str()), ("inactive", "inactive"));
    assert_eq!(status(&silent).await, "unknown");
});

// Proves spec: guarantees#systems 4.
api_test!(no_liveness_is_written_while_a_system_is_suspended, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (own, below, silent) =
        (t.system(tree.customer).await, t.system(tree.reseller).await, t.system(tree.customer).await);
    for system in [&own, &below] {
        beat(&t, system).await.expect(200);
    }
    let activity_rows = async || {
        let activity: Vec<(uuid::Uuid, Option<i64>)> = Q::new(
            "SELECT system_id, CAST([[EXTRACT(EPOCH FROM last_heartbeat) * 1000000||last_heartbeat]] AS BIGINT) \
             FROM system_activity ORDER BY system_id",
        )
        .all(&t.app.platform.db)
        .await
        .unwrap();
        activity
    };
    let before = activity_rows().await;
    assert_eq!(before.iter().filter(|(_, at)| at.is_some()).count(), 2);
    for system in [&own, &silent] {
        done(&t, &owner, "suspend", system.id).await;
    }
    t.suspend_organization(tree.distributor).await;
    for system in [&own, &below, &silent] {
        beat(&t, system).await.expect_message(401, "invalid system credentials");
        let shown = get(&t, &owner, &format!("/{}", system.id)).await.expect(200).data();
        assert_eq!(text(&shown, "status"), "suspended");
    }
    t.advance(Duration::from_secs(20 * 60 - 1));
    assert!(bailiwick_alerts::liveness_monitor::check(&t.app.alerts).await.unwrap().is_leader);
    assert_eq!(activity_rows().await, before);
    // As soon as the systems are reactivated, their status follows from their heartbeats, and a second later it has
    // changed.
    let path = format!("/api/distributors/{}/reactivate", tree.distributor);
    t.patch(&path).bearer(&owner.token).send().await.expect(200);
    for system in [&own, &silent] {
        done(&t, &owner, "reactivate", system.id).await;
    }
    let statuses = async || {
        let mut words = Vec::new();
        for system in [&own, &below, &silent] {
            let shown = get(&t, &owner, &format!("/{}", system.id)).await.expect(200).data();
            words.push(text(&shown, "status").to_owned());
        }
        words
    };
    assert_eq!(statuses().await, ["active", "active", "unknown"]);
    t.pass(Duration::from_secs(1)).await;
    assert_eq!(statuses().await, ["inactive", "inactive", "unknown"]);
    assert_eq!(activity_rows().await, before);
});

api_test!(what_the_organization_decides_a_system_cannot_be_freed_of, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (a, b) = (t.system(tree.customer).await, t.system(tree.customer).await);
    t.suspend_organization(tree.reseller).await;
    act(&t, &owner, "suspend", a.id).await.expect_message(400, "system is already suspended");
    let above = "system is suspended by a parent organization and cannot be reactivated directly";
    act(&t, &owner, "reactivate", a.id).await.expect_message(403, above);
    let shown = get(&t, &owner, &format!("/{}", a.id)).await.expect(200).data();
    assert_eq!(shown["suspended_by_org_id"], json!(tree.reseller));
    done(&t, &owner, "delete", b.id).await;
    t.delete_organization(tree.distributor).await;
    let above = "system is deleted by a parent organization and cannot be restored directly";
    for system in [&a, &b] {
        act(&t, &owner, "restore", system.id).await.expect_message(403, above);
        act(&t, &owner, "delete", system.id).await.expect_message(404, "system not found");
        done(&t, &owner, "destroy", system.id).await;
    }
    counters_are_true(&t).await;
});

api_test!(reach_and_gate_hold_for_every_change_of_state, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["super"]).await;
    let (foreign, gone) = (t.system(tree.other_customer).await, t.system(tree.other_customer).await);
    done(&t, &owner, "delete", gone.id).await;
    let unknown = "01950000-0000-7000-8000-000000000000";
    let absent = act(&t, &d, "delete", unknown).await.expect_message(404, "system not found").body;
    for id in [foreign.id.to_string(), gone.id.to_string(), "x".to_owned()] {
        for (what, _) in DONE {
            assert_eq!(act(&t, &d, what, &id).await.expect(404).body, absent, "{what} {id}");
        }
        assert_eq!(renew(&t, &d, &id, "").await.expect(404).body, absent);
    }
    let own = t.system(tree.customer).await;
    let (reader, admin) = (t.user(tree.customer, &["reader"]).await, t.user(tree.customer, &["admin"]).await);
    for (what, _) in DONE {
        act(&t, &reader, what, own.id).await.expect_message(403, "insufficient permissions");
    }
    act(&t, &admin, "destroy", own.id).await.expect_message(403, "insufficient permissions");
    renew(&t, &reader, own.id, "").await.expect_message(403, "insufficient permissions");
    counters_are_true(&t).await;
});

// Proves spec: acceptance#scenarios 26.
api_test!(a_new_secret_waits_to_be_registered, |t| async move {
    let tree = t.tree().await;
    let c = t.user(tree.customer, &["admin"]).await;
    let first = made(&t, &c, tree.customer, "S").await;
    let (id, key) = (text(&first, "id"), text(&first, "system_key"));
    let data =
        renew(&t, &c, id, "").await.expect_message(200, "system secret regenerated successfully").data();
    assert_eq!((text(&data, "system_key"), &data["registered_at"]), (key, &Value::Null));
    assert_ne!(data["system_secret"], first["system_secret"]);
    register(&t, text(&first, "system_secret")).await.expect_message(401, "invalid system secret");
    renew(&t, &c, id, "{").await.expect_message(400, "validation failed");
    register(&t, text(&data, "system_secret")).await.expect(200);
    for body in ["", "{}", r#"{"force":false}"#] {
        let reply = renew(&t, &c, id, body).await.expect_message(409, "system is already registered");
        assert_eq!(reply.data(), json!({"type": "validation_error", "errors": []}));
    }
    renew(&t, &c, id, r#"{"force":true}"#).await.expect(200);
    // Rule 5: unregistered again, so the key is not shown.
    let shown = get(&t, &c, &format!("/{id}")).await.expect(200).data();
    assert_eq!((text(&shown, "system_key"), shown.get("system_secret")), ("", None));
    let rows: Vec<(Option<Value>,)> =
        Q::new("SELECT after FROM audit_log WHERE action = 'system.regenerate_secret'")
            .all(&t.app.platform.db)
            .await
            .unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|r| !r.0.as_ref().unwrap().to_string().contains("my_")));
});

// Proves spec: acceptance#scenarios 27.
api_test!(after_destroy_nothing_of_the_system_is_left, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (live, gone, kept) =
        (t.system(tree.customer).await, t.system(tree.customer).await, t.system(tree.customer).await);
    for system in [&live, &gone, &kept] {
        beat(&t, system).await;
        let call = t.post("/systems/inventory").basic(&system.key, &system.secret);
        let reply = call.json(json!({"installation": "nethserver", "facts": {}})).send().await;
        assert!(reply.status.is_success(), "{}", reply.text());
    }
    done(&t, &owner, "delete", gone.id).await;
    for system in [&live, &gone] {
        done(&t, &owner, "destroy", system.id).await;
        act(&t, &owner, "destroy", system.id).await.expect_message(404, "system not found");
    }
    for table in ["system_activity", "inventory_queue", "inventory_records"] {
        let mut q = Q::new(&format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {table} WHERE system_id IN ("));
        q.list([live.id, gone.id]).push(")");
        assert_eq!(q.count(&t.app.platform.db).await.unwrap(), 0, "{table}");
    }
    answers(&t, None, &kept, true).await;
    assert_eq!(count(&t, &owner, "").await, 1);
    counters_are_true(&t).await;
});

/// A commit that raised the auth epoch may be lost with the database's last moments, and a standby may not have it: the
/// next revocation must not get a number that a process already keeps credentials under.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_counts_after_the_database_has_gone_back() {
    let t = Test::start(Engine::Postgres, |_| {}).await;
    let (owner, tree) = (t.owner().await, t.tree().await);
    let system = t.system(tree.customer).await;
    let number = async |tx: &mut bailiwick_store::Tx| {
        let (n,): (i64,) = Q::new("SELECT n FROM auth_epoch").one(&mut *tx).await.unwrap();
        n
    };
    let mut tx = t.app.platform.db.begin_relaxed().await.unwrap();
    let before = number(&mut tx).await;
    tx.note_auth_epoch(AffectedSystems::All).await.unwrap();
    // The commit is durable even where others may be lost: no process reads a number that is not on the disk.
    let (commits,): (String,) = Q::new("SHOW synchronous_commit").one(&mut tx).await.unwrap();
    assert_eq!(commits, "on");
    tx.commit().await.unwrap();
    answers(&t, None, &system, true).await;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("UPDATE auth_epoch SET n = ?").bind(before).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    done(&t, &owner, "suspend", system.id).await;
    answers(&t, None, &system, false).await;
}

/// Otherwise each change of one system would cost a large fleet a read of every credential.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_a_system_leaves_the_cached_credentials_of_others() {
    let t = Test::start(Engine::Postgres, |_| {}).await;
    let (owner, tree) = (t.owner().await, t.tree().await);
    let (changed, other) = (t.system(tree.customer).await, t.system(tree.customer).await);
    let second = t.replica().await;
    let db = &second.app.platform.db;
    answers(&second, None, &changed, true).await;
    answers(&second, None, &other, true).await;
    let read = db.auth_epoch().await.unwrap();

    done(&t, &owner, "suspend", changed.id).await;
    answers(&second, None, &changed, false).await;
    answers(&second, None, &other, true).await;
    assert!(!db.is_credential_current(changed.id, read));
    assert!(db.is_credential_current(other.id, read), "its entry still counts");

    // What concerns an organization concerns all, and so does a move by a version that does not name the organization.
    let read = db.auth_epoch().await.unwrap();
    let path = format!("/api/customers/{}/suspend", tree.other_customer);
    t.patch(&path).bearer(&owner.token).send().await.expect(200);
    let next = db.auth_epoch().await.unwrap();
    assert!(!db.is_credential_current(other.id, read) && db.is_credential_current(other.id, next));
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("UPDATE auth_epoch SET n = n + 1").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    done(&t, &owner, "reactivate", changed.id).await;
    let last = db.auth_epoch().await.unwrap();
    assert!(!db.is_credential_current(other.id, next) && db.is_credential_current(other.id, last));
    answers(&second, None, &changed, true).await;
}
