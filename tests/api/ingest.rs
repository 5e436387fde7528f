//! What systems send: authentication, heartbeats, inventory (spec: systems-interface#authentication,
//! inventory#processing; guarantees#systems credentials, inventory, liveness).

use crate::systems::futures;
use bailiwick_domain::SystemId;
use bailiwick_fleet::inventory;
use bailiwick_store::{epoch::AffectedSystems, sql::Q};
use bailiwick_testkit::{Call, Engine, Persona, Reply, Test, api_test, eventually, seed::Seeded};
use base64::Engine as _;
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use std::{io::Write, time::Duration};

pub(crate) mod changes;
mod documents;
mod reads;
mod retention;
mod storage;

const NS8: &[u8] = include_bytes!("../../crates/inventory/tests/data/inventory-ns8.json");

const NSEC: &[u8] = include_bytes!("../../crates/inventory/tests/data/inventory-nsec.json");

fn info(t: &Test, key: &str, secret: &str) -> Call {
    t.get("/systems/info").basic(key, secret)
}

fn beat(t: &Test, s: &Seeded) -> Call {
    t.post("/systems/heartbeat").basic(&s.key, &s.secret)
}

async fn send(t: &Test, s: &Seeded, body: impl Into<Vec<u8>>) -> Reply {
    t.post("/systems/inventory").basic(&s.key, &s.secret).body(body.into()).send().await
}

async fn system(t: &Test, who: &Persona, id: SystemId) -> Value {
    t.get(&format!("/api/systems/{id}")).bearer(&who.token).send().await.expect(200).data()
}

async fn count(t: &Test, table: &str) -> i64 {
    let text = format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {table}");
    let (n,): (i64,) = Q::new(&text).one(&t.app.platform.db).await.unwrap();
    n
}

async fn change(t: &Test, q: Q) {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    assert!(q.run(&mut tx).await.unwrap() > 0);
    tx.bump_auth_epoch(AffectedSystems::All).await.unwrap();
    tx.commit().await.unwrap();
}

#[track_caller]
fn refused(reply: Reply, message: &str) {
    let reply = reply.expect_message(401, message);
    assert_eq!(reply.header("www-authenticate"), Some("Basic realm=\"System Authentication\""));
    assert_eq!(reply.data(), Value::Null);
}

api_test!(every_wrong_credential, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let other = t.system(tree.other_customer).await;
    let with = |header: &str| t.get("/systems/info").header("authorization", header).send();
    refused(t.get("/systems/info").send().await, "authentication required");
    for header in ["Bearer x", "Basic", "", "Digest realm"] {
        refused(with(header).await, "invalid authentication format");
    }
    for header in ["Basic *", "Basic YTp", "Basic YTpi="] {
        refused(with(header).await, "invalid authentication encoding");
    }
    refused(with("Basic YWI=").await, "invalid credentials format");
    let (public, secret) = s.secret.split_once('.').unwrap();
    let (other_public, _) = other.secret.split_once('.').unwrap();
    for (key, password) in [
        ("SYS-UNKNOWN", s.secret.clone()),
        ("", s.secret.clone()),
        (&s.key.to_lowercase(), s.secret.clone()),
        ("SYS\0", s.secret.clone()),
        (&s.key, String::new()),
        (&s.key, secret.to_owned()),
        (&s.key, format!("{public}.short")),
        (&s.key, format!("{other_public}.{secret}")),
        (&s.key, other.secret.clone()),
        (&s.key, format!("{}0", s.secret)),
        (&s.key, s.secret.to_uppercase()),
        (&s.key, format!("{}:", s.secret)),
        (&other.key, s.secret.clone()),
    ] {
        refused(info(&t, key, &password).send().await, "invalid system credentials");
    }
    let binary = base64::engine::general_purpose::STANDARD.encode([0xff, b':', 0xfe]);
    refused(with(&format!("Basic {binary}")).await, "invalid system credentials");
    info(&t, &s.key, &s.secret).send().await.expect(200);
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{}:{}", s.key, s.secret));
    with(&format!("bASIC  {pair}")).await.expect(200);
});

api_test!(an_unregistered_system_is_a_wrong_credential, |t| async move {
    let tree = t.tree().await;
    let body = json!({"name": "S", "organization_id": tree.customer});
    let made =
        t.post("/api/systems").bearer(&t.owner().await.token).json(body).send().await.expect(201).data();
    let (key, secret) = (made["system_key"].as_str().unwrap(), made["system_secret"].as_str().unwrap());
    refused(info(&t, key, secret).send().await, "invalid system credentials");
    // The registration counts at once, whatever was remembered.
    t.post("/systems/register").json(json!({"system_secret": secret})).send().await.expect(200);
    info(&t, key, secret).send().await.expect(200);
});

// Proves spec: authorization#guarantees 16.
api_test!(the_very_next_call_sees_every_change, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    // Another process with its own memory, where the engine allows one.
    let second = if t.engine == Engine::Postgres { Some(t.replica().await) } else { None };
    let status = async || {
        let mut statuses = vec![info(&t, &s.key, &s.secret).send().await.status.as_u16()];
        if let Some(second) = &second {
            statuses.push(info(second, &s.key, &s.secret).send().await.status.as_u16());
        }
        assert!(statuses.iter().all(|status| *status == statuses[0]), "{statuses:?}");
        statuses[0]
    };
    assert_eq!(status().await, 200);
    for column in ["suspended_at", "deleted_at"] {
        if column == "suspended_at" {
            t.suspend_system(s.id).await;
        } else {
            t.delete_system(s.id).await;
        }
        assert_eq!(status().await, 401, "{column}");
        change(&t, Q::new(&format!("UPDATE systems SET {column} = NULL WHERE id = ?")).bind(s.id)).await;
        assert_eq!(status().await, 200, "{column}");
    }
    for mark in ["suspended", "deleted"] {
        if mark == "suspended" {
            t.suspend_organization(tree.distributor).await;
        } else {
            t.delete_organization(tree.distributor).await;
        }
        assert_eq!(status().await, 401, "{mark}");
        let undo =
            format!("UPDATE organizations SET {mark}_at = NULL, eff_{mark}_at = NULL, eff_{mark}_by = NULL");
        change(&t, Q::new(&undo)).await;
        assert_eq!(status().await, 200, "{mark}");
    }
    // The data that goes out with the system's alerts is as fresh.
    let owner = t.owner().await;
    t.put(&format!("/api/systems/{}", s.id))
        .bearer(&owner.token)
        .json(json!({"name": "New"}))
        .send()
        .await
        .expect(200);
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{}:{}", s.key, s.secret));
    let here = std::net::IpAddr::from([127, 0, 0, 1]);
    let header = format!("Basic {pair}");
    for app in [Some(&t.app), second.as_ref().map(|s| &s.app)].into_iter().flatten() {
        let identity =
            bailiwick_identity::credentials::authenticate_system(&app.identity, Some(&header), here)
                .await
                .unwrap();
        assert_eq!((identity.name.as_str(), identity.organization.id), ("New", tree.customer));
    }
});

api_test!(guessing_is_limited_by_address_and_key, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let wrong = format!("{}.{}", s.secret.split('.').next().unwrap(), "0".repeat(40));
    for _ in 0..20 {
        refused(info(&t, &s.key, &wrong).send().await, "invalid system credentials");
        // Successes do not count, nor do they forgive.
        info(&t, &s.key, &s.secret).send().await.expect(200);
    }
    let reply = info(&t, &s.key, &wrong).send().await.expect_message(429, "rate limit exceeded");
    assert_eq!((reply.header("retry-after"), reply.data()), (Some("60"), Value::Null));
    info(&t, &s.key, &s.secret).send().await.expect(429);
    // Rule 43.
    info(&t, &s.key, &s.secret).from("198.51.100.9").send().await.expect(200);
    refused(info(&t, "SYS-OTHER", &s.secret).send().await, "invalid system credentials");
    t.advance(Duration::from_secs(60));
    info(&t, &s.key, &s.secret).send().await.expect(200);
});

api_test!(no_lookup_part_passes_for_a_key, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let secret = format!("my_{}.{}", s.key, "0".repeat(40));
    t.post("/systems/register").json(json!({"system_secret": secret})).send().await.expect(401);
    info(&t, &s.key, &s.secret).send().await.expect(200);
});

api_test!(a_heartbeat_is_seen_at_once_and_time_never_goes_back, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    t.advance(Duration::from_millis(1_234));
    let reply = beat(&t, &s).body("not looked at").send().await.expect_message(200, "heartbeat acknowledged");
    let expected = json!({"system_key": s.key, "acknowledged": true, "last_heartbeat": t.app.platform.now()});
    assert_eq!(reply.data(), expected);
    let shown = system(&t, &owner, s.id).await;
    assert_eq!(
        (&shown["status"], &shown["last_heartbeat"]),
        (&json!("active"), &json!(t.app.platform.now()))
    );
    assert_eq!((&shown["heartbeat_status"], &shown["heartbeat_minutes"]), (&json!("active"), &json!(0)));
    // Exactly at the timeout it is no longer active (spec: systems#status).
    t.pass(t.app.settings.systems.liveness_timeout).await;
    let shown = system(&t, &owner, s.id).await;
    assert_eq!((&shown["status"], &shown["heartbeat_minutes"]), (&json!("inactive"), &json!(20)));
    beat(&t, &s).send().await.expect(200);
    assert_eq!(system(&t, &owner, s.id).await["status"], "active");
    // Another process with a slower clock changes nothing.
    let newest = t.app.platform.now();
    let earlier = newest.minus(Duration::from_secs(5));
    let mut tx = t.app.platform.db.begin_relaxed().await.unwrap();
    bailiwick_store::heartbeats::beat(&mut tx, &[(s.id, earlier), (t.app.platform.fresh(), newest)])
        .await
        .unwrap();
    tx.commit().await.unwrap();
    assert_eq!(system(&t, &owner, s.id).await["last_heartbeat"], json!(newest));
    assert_eq!(count(&t, "system_activity").await, 1, "none of a system that is not there");
});

api_test!(many_heartbeats_share_their_commits, |t| async move {
    let tree = t.tree().await;
    let mut systems = Vec::new();
    for _ in 0..5 {
        systems.push(t.system(tree.customer).await);
    }
    for system in &systems {
        beat(&t, system).send().await.expect(200);
    }
    t.advance(Duration::from_secs(7));
    let replies = futures(200, |n| beat(&t, &systems[n % 5]).send()).await;
    assert!(replies.iter().all(|r| r.status == 200));
    let (n, newest): (i64, bailiwick_store::time::TsCodec) =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT), MIN(last_heartbeat) FROM system_activity")
            .one(&t.app.platform.db)
            .await
            .unwrap();
    assert_eq!((n, newest.0), (5, t.app.platform.now()));
});

api_test!(what_is_accepted_is_written_before_the_end, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let inventory = async { send(&t, &s, NSEC).await };
    let (beats, document) = tokio::join!(futures(50, |_| beat(&t, &s).send()), inventory);
    assert!(beats.iter().all(|r| r.status == 200));
    document.expect(202);
    t.app.platform.stop.cancel();
    t.app.platform.tasks.close();
    tokio::time::timeout(bailiwick_testkit::PATIENCE, t.app.platform.tasks.wait()).await.unwrap();
    let refused = beat(&t, &s).send().await;
    if refused.status == 503 {
        assert!(refused.header("retry-after").is_some());
        assert!(
            ["failed to process heartbeat", "security service temporarily unavailable"]
                .contains(&refused.message().as_str())
        );
    } else {
        panic!("{}", refused.text());
    }
});

api_test!(info_describes_the_system_itself, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let shown = system(&t, &t.owner().await, s.id).await;
    let reply =
        info(&t, &s.key, &s.secret).send().await.expect_message(200, "system info retrieved successfully");
    let expected = json!({
        "system_id": s.id, "system_key": s.key, "name": shown["name"], "type": null, "fqdn": null,
        "status": "unknown", "suspended": false, "suspended_at": null, "deleted": false, "deleted_at": null,
        "registered": true, "registered_at": shown["registered_at"], "created_at": shown["created_at"],
        "organization": {"id": tree.customer, "logto_id": tree.customer, "name": "Alfa Customer", "type": "customer",
            "suspended": false, "suspended_at": null},
        "rebranding_enabled": false
    });
    assert_eq!(reply.data(), expected);
});

// Proves spec: guarantees#systems 44.
api_test!(a_lone_heartbeat_waits_for_no_tick, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    beat(&t, &s).send().await.expect(200);
    // One after the other, each alone on an idle service. With a tick every one of them would wait for the next one,
    // which is as long as the tick; a busy machine slows some of them down, but not all.
    eventually("a quick one", async || {
        let begun = std::time::Instant::now();
        beat(&t, &s).send().await.expect(200);
        begun.elapsed() < Duration::from_millis(50)
    })
    .await;
});
