//! From documents to records, differences and alerts (spec: inventory#processing, inventory-changes#comparison,
//! inventory#inventory-alerts).

use super::*;

/// A document of a firewall with a version and servers of a VPN.
pub(crate) fn firewall(version: &str, servers: &[&str]) -> String {
    let servers: serde_json::Map<String, Value> =
        servers.iter().map(|name| ((*name).to_owned(), json!({"peers": 1}))).collect();
    json!({"installation": "nethsecurity", "facts": {"distro": {"version": version},
        "features": {"wireguard": {"enabled": true, "servers": servers}}, "uptime_seconds": version.len()}})
    .to_string()
}

async fn process(t: &Test, s: &Seeded, body: impl Into<Vec<u8>>) {
    t.advance(Duration::from_secs(1));
    send(t, s, body).await.expect(202);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
}

/// `previous id, current id, kind, severity, path` of all differences of a system.
async fn diffs(t: &Test, id: SystemId) -> Vec<(i64, i64, i64, i64, String)> {
    let text = "SELECT previous_id, current_id, kind, severity, field_path FROM inventory_diffs \
        WHERE system_id = ? ORDER BY id";
    Q::new(text).bind(id).all(&t.app.platform.db).await.unwrap()
}

/// `id, has changes, change count, processed` of all records of a system.
async fn records(t: &Test, id: SystemId) -> Vec<(i64, bool, i64, bool)> {
    let text = "SELECT id, has_changes, change_count, [[processed_at IS NOT NULL||\
        CAST(processed_at IS NOT NULL AS BOOLEAN)]] FROM inventory_records WHERE system_id = ? ORDER BY id";
    Q::new(text).bind(id).all(&t.app.platform.db).await.unwrap()
}

// Proves spec: guarantees#systems 24.
api_test!(a_b_a_gives_three_records_and_two_batches, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let (a, b) = (firewall("8.1.0", &["wg1"]), firewall("8.2.0", &["wg1"]));
    for body in [&a, &b, &b, &a, &a] {
        process(&t, &s, body.as_str()).await;
    }
    let found = records(&t, s.id).await;
    let ids: Vec<i64> = found.iter().map(|record| record.0).collect();
    assert_eq!(
        found.iter().map(|r| (r.1, r.2, r.3)).collect::<Vec<_>>(),
        [(false, 0, true), (true, 1, true), (true, 1, true)]
    );
    let path = || "facts.distro.version".to_owned();
    let expected = [(ids[0], ids[1], 1, 1, path()), (ids[1], ids[2], 1, 1, path())];
    assert_eq!(diffs(&t, s.id).await, expected);
});

// Proves spec: guarantees#systems 24.
api_test!(all_in_one_claim, |t| async move {
    let tree = t.tree().await;
    let (owner, s, other) = (t.owner().await, t.system(tree.customer).await, t.system(tree.customer).await);
    let (a, b) = (firewall("8.1.0", &["wg1"]), firewall("8.2.0", &["wg1"]));
    let turn = t.app.fleet.ingest().hold_worker().await;
    for body in [&a, &b, &b, &a] {
        send(&t, &s, body.as_str()).await.expect(202);
        send(&t, &other, body.as_str()).await.expect(202);
    }
    drop(turn);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    for id in [s.id, other.id] {
        let ids: Vec<i64> = records(&t, id).await.into_iter().map(|record| record.0).collect();
        assert_eq!(ids.len(), 3);
        let found: Vec<(i64, i64)> = diffs(&t, id).await.into_iter().map(|d| (d.0, d.1)).collect();
        assert_eq!(found, [(ids[0], ids[1]), (ids[1], ids[2])]);
    }
    assert_eq!(system(&t, &owner, s.id).await["version"], "8.1.0");
});

// Proves spec: guarantees#systems 34.
api_test!(the_first_record_is_processed, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    process(&t, &s, NS8).await;
    assert_eq!(
        records(&t, s.id).await.into_iter().map(|r| (r.1, r.2, r.3)).collect::<Vec<_>>(),
        [(false, 0, true)]
    );
    assert_eq!(diffs(&t, s.id).await, []);
});

api_test!(noise_is_a_record_without_changes, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    process(&t, &s, r#"{"facts":{"uptime_seconds":1}}"#).await;
    process(&t, &s, r#"{"facts":{"uptime_seconds":2}}"#).await;
    assert_eq!(
        records(&t, s.id).await.into_iter().map(|r| (r.1, r.2, r.3)).collect::<Vec<_>>(),
        [(false, 0, true), (false, 0, true)]
    );
    assert_eq!(diffs(&t, s.id).await, []);
});

api_test!(a_text_that_is_there_already_is_not_stored_again, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    let (a, b) = (firewall("8.1.0", &["wg1"]), firewall("8.2.0", &["wg1"]));
    process(&t, &s, a.as_str()).await;
    let turn = t.app.fleet.ingest().hold_worker().await;
    for body in [&a, &b, &a] {
        send(&t, &s, body.as_str()).await.expect(202);
    }
    // Both entries with the text of the latest record only name it, the second one although another waits before it.
    let latest = records(&t, s.id).await[0].0;
    let queued: Vec<(Option<i64>, Vec<u8>)> = Q::new("SELECT same_as, body FROM inventory_queue ORDER BY id")
        .all(&t.app.platform.db)
        .await
        .unwrap();
    let named: Vec<(Option<i64>, bool)> =
        queued.iter().map(|(same, body)| (*same, body.is_empty())).collect();
    assert_eq!(named, [(Some(latest), true), (None, false), (Some(latest), true)]);
    drop(turn);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    assert_eq!(records(&t, s.id).await.len(), 3);
    assert_eq!(diffs(&t, s.id).await.len(), 2);
    let path = format!("/api/systems/{}/inventory/latest", s.id);
    let shown = t.get(&path).bearer(&owner.token).send().await.expect(200).data();
    assert_eq!(shown["data"], serde_json::from_str::<Value>(&a).unwrap());
});

/// `resolved, message, path` of a system's inventory alerts.
async fn alerts(t: &Test, id: SystemId) -> Vec<(bool, String, String)> {
    let text = "SELECT [[resolved_at IS NOT NULL||CAST(resolved_at IS NOT NULL AS BOOLEAN)]], message, field_path \
        FROM inventory_alerts WHERE system_id = ? ORDER BY id";
    Q::new(text).bind(id).all(&t.app.platform.db).await.unwrap()
}

// Proves spec: guarantees#systems 35.
api_test!(a_critical_change_raises_one_alert_until_its_element_is_back, |t| async move {
    let tree = t.tree().await;
    let (s, other) = (t.system(tree.customer).await, t.system(tree.customer).await);
    process(&t, &s, firewall("8.1.0", &["wg1", "wg6", "wg7"])).await;
    process(&t, &s, firewall("8.2.0", &["wg1", "wg6", "wg7"])).await;
    assert_eq!(alerts(&t, s.id).await, [], "no critical change yet");
    process(&t, &s, firewall("8.2.0", &["wg1"])).await;
    let path = "facts.features.wireguard.servers.wg6";
    let message = format!("Critical change (security): {path} removed");
    assert_eq!(alerts(&t, s.id).await, [(false, message.clone(), path.to_owned())], "one for two changes");
    // Another system's and another element are no help.
    process(&t, &other, firewall("8.2.0", &["wg1", "wg6"])).await;
    process(&t, &s, firewall("8.2.0", &["wg1", "wg7"])).await;
    assert!(!alerts(&t, s.id).await[0].0);
    process(&t, &s, firewall("8.2.0", &["wg1", "wg6", "wg7"])).await;
    assert_eq!(alerts(&t, s.id).await, [(true, message, path.to_owned())]);
});

/// Makes the database refuse every record of a document of 13 bytes.
async fn refuse_13_bytes(t: &Test) {
    let function = "[[CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN IF NEW.data_size = 13 THEN RAISE EXCEPTION ''refused''; END IF; RETURN NEW; END'||SELECT 1]]";
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON inventory_records [[FOR EACH ROW EXECUTE FUNCTION refuse()||\
        WHEN NEW.data_size = 13 BEGIN SELECT RAISE(ABORT, 'refused'); END]]";
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new(function).run(&mut tx).await.unwrap();
    Q::new(trigger).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
}

// Proves spec: guarantees#systems 21.
api_test!(a_document_that_cannot_be_stored_harms_no_other, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let systems =
        [t.system(tree.customer).await, t.system(tree.customer).await, t.system(tree.other_customer).await];
    refuse_13_bytes(&t).await;
    let turn = t.app.fleet.ingest().hold_worker().await;
    for (n, s) in systems.iter().enumerate() {
        send(&t, s, firewall("8.1.0", &[])).await.expect(202);
        if n == 1 {
            send(&t, s, r#"{"bad":12345}"#).await.expect(202);
        }
        send(&t, s, firewall("8.2.0", &[])).await.expect(202);
    }
    drop(turn);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    for (s, version) in systems.iter().zip(["8.2.0", "8.1.0", "8.2.0"]) {
        assert_eq!(system(&t, &owner, s.id).await["version"], version, "what is before the bad one is done");
    }
    t.get("/health").send().await.expect(200);
    // The error is kept; after three attempts the bad one is put aside and the one behind it goes on.
    let waiting: Vec<(i64, String)> =
        Q::new("SELECT attempts, error FROM inventory_queue WHERE error IS NOT NULL")
            .all(&t.app.platform.db)
            .await
            .unwrap();
    assert!(waiting.len() == 1 && waiting[0].0 == 1 && waiting[0].1.contains("refused"), "{waiting:?}");
    for _ in 0..2 {
        t.advance(Duration::from_secs(10));
        inventory::run_until_idle(&t.app.fleet).await.unwrap();
    }
    assert_eq!(system(&t, &owner, systems[1].id).await["version"], "8.2.0");
    let aside = inventory::quarantined(&t.app.fleet, 0).await.unwrap();
    assert_eq!(aside.len(), 1);
    assert_eq!((aside[0].system_key.as_str(), aside[0].data_size), (systems[1].key.as_str(), 13));
    assert!(aside[0].error.contains("refused"), "{aside:?}");
});

api_test!(what_was_put_aside_can_be_replayed, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    let turn = t.app.fleet.ingest().hold_worker().await;
    for version in ["8.1.0", "8.2.0"] {
        send(&t, &s, firewall(version, &[])).await.expect(202);
    }
    let now = t.app.platform.now();
    let aside =
        "UPDATE inventory_queue SET quarantined_at = ?, attempts = 3, error = 'a fault of the service'";
    change(&t, Q::new(aside).bind(now)).await;
    drop(turn);
    assert_eq!(inventory::run_until_idle(&t.app.fleet).await.unwrap(), 0);
    let entries = inventory::quarantined(&t.app.fleet, 0).await.unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(inventory::quarantined(&t.app.fleet, entries[0].id).await.unwrap(), entries[1..]);
    assert_eq!(inventory::replay(&t.app.fleet, Some(entries[1].id + 1)).await.unwrap(), 0);
    assert_eq!(inventory::replay(&t.app.fleet, Some(entries[0].id)).await.unwrap(), 1);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    assert_eq!(system(&t, &owner, s.id).await["version"], "8.1.0");
    assert_eq!(inventory::replay(&t.app.fleet, None).await.unwrap(), 1);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    assert_eq!(system(&t, &owner, s.id).await["version"], "8.2.0");
    assert_eq!(inventory::replay(&t.app.fleet, None).await.unwrap(), 0);
    assert_eq!(count(&t, "inventory_queue").await, 0);
});

// Proves spec: guarantees#systems 20.
api_test!(processes_share_the_work, |t| async move {
    let tree = t.tree().await;
    let mut systems = Vec::new();
    for _ in 0..6 {
        systems.push(t.system(tree.customer).await);
    }
    // Another process, where the engine allows one.
    let second = if t.engine == Engine::Postgres { Some(t.replica().await) } else { None };
    let other = second.as_ref().unwrap_or(&t);
    let sending = async {
        for n in 0..8 {
            for s in &systems {
                send(&t, s, firewall(&format!("8.{n}.0"), &[])).await.expect(202);
            }
        }
    };
    let working = async |on: &Test| {
        while count(&t, "inventory_records").await < 48 {
            inventory::run_until_idle(&on.app.fleet).await.unwrap();
        }
    };
    tokio::join!(sending, working(&t), working(other));
    assert_eq!(count(&t, "inventory_queue").await, 0);
    for s in &systems {
        let ids: Vec<i64> = records(&t, s.id).await.into_iter().map(|record| record.0).collect();
        assert_eq!(ids.len(), 8, "none twice, none skipped");
        let pairs: Vec<(i64, i64)> = diffs(&t, s.id).await.into_iter().map(|d| (d.0, d.1)).collect();
        assert_eq!(pairs, ids.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>());
    }
});

api_test!(
    own_rules_take_the_place_of_the_built_in_ones,
    |settings| {
        let rules = include_str!("../../../crates/inventory/src/diff/rules.json");
        let rules = rules.replace("\"facts.distro.version\", \"facts.modules", "\"facts.modules");
        settings.systems.inventory_rules =
            Some(std::sync::Arc::new(inventory::Rules::compile(&rules).unwrap()));
    },
    |t| async move {
        let tree = t.tree().await;
        let s = t.system(tree.customer).await;
        for version in ["8.1.0", "8.2.0"] {
            process(&t, &s, firewall(version, &[])).await;
        }
        let found: Vec<(i64, String)> = diffs(&t, s.id).await.into_iter().map(|d| (d.3, d.4)).collect();
        assert_eq!(found, [(3, "facts.distro.version".to_owned())], "no longer high");
    }
);

api_test!(a_latest_record_that_is_gone_holds_nothing_up, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    process(&t, &s, firewall("8.1.0", &[])).await;
    change(&t, Q::new("DELETE FROM inventory_records WHERE system_id = ?").bind(s.id)).await;
    for version in ["8.1.0", "8.2.0"] {
        process(&t, &s, firewall(version, &[])).await;
    }
    assert_eq!(count(&t, "inventory_queue").await, 0);
    assert_eq!(
        records(&t, s.id).await.into_iter().map(|r| (r.1, r.2)).collect::<Vec<_>>(),
        [(false, 0), (true, 1)]
    );
    assert_eq!(system(&t, &owner, s.id).await["version"], "8.2.0");
});
