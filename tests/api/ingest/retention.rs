//! How long the service keeps records (spec: inventory#retention).

use super::{changes::firewall, *};
use bailiwick_app::retention::{self, RetentionReport};
use bailiwick_domain::Ts;
use bailiwick_store::time::TsCodec;
use std::collections::BTreeMap;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const NOTHING: RetentionReport = RetentionReport {
    records: 0,
    alerts_ended: 0,
    alerts_removed: 0,
    quarantined: 0,
    history: 0,
    activity: 0,
    impersonations: 0,
    impersonation_entries: 0,
    key_refusals: 0,
};

async fn process(t: &Test, s: &Seeded, body: impl Into<Vec<u8>>) {
    send(t, s, body).await.expect(202);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
}

/// Every second document has little in common with the one before it.
fn document(n: u64) -> String {
    let mut seed = n / 2;
    let blob: String = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + ((seed >> 33) % 26) as u8)
    })
    .take(4000)
    .collect();
    let mut document: Value = serde_json::from_str(&firewall(&format!("8.{n}.0"), &[])).unwrap();
    document["facts"]["blob"] = json!(blob);
    document.to_string()
}

/// Id and creation of a system's records.
async fn created(t: &Test, id: SystemId) -> Vec<(i64, Ts)> {
    let text = "SELECT id, created_at FROM inventory_records WHERE system_id = ? ORDER BY id";
    let rows: Vec<(i64, TsCodec)> = Q::new(text).bind(id).all(&t.app.platform.db).await.unwrap();
    rows.into_iter().map(|(id, time)| (id, time.0)).collect()
}

/// The references of all differences of a system.
async fn references(t: &Test, id: SystemId) -> Vec<(Option<i64>, Option<i64>)> {
    let text = "SELECT previous_id, current_id FROM inventory_diffs WHERE system_id = ? ORDER BY id";
    Q::new(text).bind(id).all(&t.app.platform.db).await.unwrap()
}

async fn read(t: &Test, who: &Persona, id: SystemId, rest: &str) -> Value {
    t.get(&format!("/api/systems/{id}/inventory{rest}")).bearer(&who.token).send().await.expect(200).data()
}

async fn run(t: &Test) -> RetentionReport {
    retention::run(&t.app).await.unwrap().expect("the lease is free")
}

// Proves spec: guarantees#systems 33.
api_test!(records_are_thinned_and_what_stays_is_whole, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let mut sent = BTreeMap::new();
    for n in 0..60 {
        t.advance(6 * HOUR);
        process(&t, &s, document(n)).await;
        let newest = created(&t, s.id).await.last().unwrap().0;
        sent.insert(newest, document(n));
    }
    let all = created(&t, s.id).await;
    let before = references(&t, s.id).await;
    let bases = count(&t, "inventory_bases").await;
    assert!(all.len() == 60 && before.len() >= 59 && bases >= 25, "{bases}");
    // The oldest, everything of seven days, and the newest of each day before.
    let border = t.app.platform.now().minus(7 * DAY);
    let of_days: BTreeMap<String, i64> =
        all.iter().filter(|r| r.1 < border).map(|r| (r.1.rfc3339(0)[..10].to_owned(), r.0)).collect();
    let stays = |(id, time): &(i64, Ts)| {
        *id == all[0].0 || *time >= border || of_days.values().any(|newest| newest == id)
    };
    let kept: Vec<(i64, Ts)> = all.iter().filter(|record| stays(record)).copied().collect();
    let expected = RetentionReport { records: (all.len() - kept.len()) as u64, ..NOTHING };
    assert!(expected.records > 15, "{expected:?}");
    assert_eq!(retention::dry_run(&t.app).await.unwrap(), expected);
    assert_eq!(created(&t, s.id).await, all, "only counted");
    assert_eq!(run(&t).await, expected);
    assert_eq!(created(&t, s.id).await, kept);
    assert_eq!(run(&t).await, NOTHING, "once");
    // Differences stay, without references to removed records.
    let left = |id: Option<i64>| id.filter(|id| kept.iter().any(|record| record.0 == *id));
    let after: Vec<_> = before.iter().map(|(previous, current)| (left(*previous), left(*current))).collect();
    assert_eq!(references(&t, s.id).await, after);
    let owner = t.owner().await;
    let shown = read(&t, &owner, s.id, "/diffs?page_size=100").await["diffs"].take();
    let gone = |d: &&Value| d["inventory_id"] == 0 && d["current_id"] == 0;
    let expected = after.iter().filter(|reference| reference.1.is_none()).count();
    assert_eq!(shown.as_array().unwrap().iter().filter(gone).count(), expected);
    assert_eq!(read(&t, &owner, s.id, "/timeline").await["summary"]["total"], before.len());
    // Every document that stays is as it was received, although those beside it are gone.
    let records = read(&t, &owner, s.id, "?page_size=100").await["records"].take();
    assert_eq!(records.as_array().unwrap().len(), kept.len());
    for record in records.as_array().unwrap() {
        let text = &sent[&record["id"].as_i64().unwrap()];
        assert_eq!(record["data"], serde_json::from_str::<Value>(text).unwrap());
    }
    // Base texts that no record uses are gone with them.
    let unused = "inventory_bases WHERE id NOT IN (SELECT base_id FROM inventory_records)";
    assert_eq!(count(&t, unused).await, 0);
    assert!(count(&t, "inventory_bases").await < bases);
    // And it goes on as ever.
    process(&t, &s, document(60)).await;
    let newest = created(&t, s.id).await.last().unwrap().0;
    let last = references(&t, s.id).await.pop().unwrap();
    assert_eq!(last, (Some(all[59].0), Some(newest)));
    process(&t, &s, document(60)).await;
    assert_eq!(created(&t, s.id).await.len(), kept.len() + 1);
});

api_test!(runs_that_look_only_at_what_has_aged_miss_nothing, |t| async move {
    let tree = t.tree().await;
    let (s, short) = (t.system(tree.customer).await, t.system(tree.customer).await);
    let (mut removed, mut n) = (0, 0);
    for step in 0..60 {
        t.advance(15 * HOUR);
        for _ in 0..2 {
            t.advance(Duration::from_secs(1));
            n += 1;
            process(&t, &s, firewall(&format!("8.{n}.0"), &[])).await;
            if step < 4 {
                process(&t, &short, firewall(&format!("8.{n}.0"), &[])).await;
            }
        }
        removed += retention::run_if_due(&t.app).await.unwrap().expect("an hour has passed").records;
        assert_eq!(retention::run_if_due(&t.app).await.unwrap(), None, "not again within the hour");
        assert_eq!(retention::dry_run(&t.app).await.unwrap(), NOTHING, "step {step}");
    }
    assert!(removed > 60, "{removed}");
    assert_eq!(count(&t, "inventory_records").await, 128 - removed as i64);
    // Eight records of three days, within one week: the oldest stays, and the newest of those more than a month old.
    assert_eq!(created(&t, short.id).await.len(), 2);
});

// Proves spec: guarantees#systems 20.
api_test!(a_text_that_a_waiting_document_shares_is_not_thinned_out, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let texts: Vec<String> = (0..4).map(|n| firewall(&format!("8.{n}.0"), &[])).collect();
    process(&t, &s, texts[0].as_str()).await;
    process(&t, &s, texts[1].as_str()).await;
    // The same text again, put aside for a fault of the service.
    let turn = t.app.fleet.ingest().hold_worker().await;
    send(&t, &s, texts[1].as_str()).await.expect(202);
    let aside =
        Q::new("UPDATE inventory_queue SET quarantined_at = ?, attempts = 3 WHERE same_as IS NOT NULL");
    change(&t, aside.bind(t.app.platform.now())).await;
    drop(turn);
    process(&t, &s, texts[2].as_str()).await;
    t.advance(9 * DAY);
    process(&t, &s, texts[3].as_str()).await;
    assert_eq!(retention::dry_run(&t.app).await.unwrap(), NOTHING);
    assert_eq!(run(&t).await, NOTHING);
    assert_eq!(inventory::replay(&t.app.fleet, None).await.unwrap(), 1);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    let owner = t.owner().await;
    let latest = read(&t, &owner, s.id, "/latest").await;
    assert_eq!(latest["data"], serde_json::from_str::<Value>(&texts[1]).unwrap());
    // Nothing shares it any more.
    assert_eq!(run(&t).await, RetentionReport { records: 1, ..NOTHING });
    let latest = read(&t, &owner, s.id, "/latest").await;
    assert_eq!(latest["data"], serde_json::from_str::<Value>(&texts[1]).unwrap());
});

// Proves spec: guarantees#systems 35.
api_test!(alerts_end_after_thirty_days_and_go_thirty_days_later, |t| async move {
    let tree = t.tree().await;
    let (back, away) = (t.system(tree.customer).await, t.system(tree.customer).await);
    for servers in [&["wg1", "wg6"][..], &["wg1"]] {
        process(&t, &back, firewall("8.1.0", servers)).await;
        process(&t, &away, firewall("8.1.0", servers)).await;
    }
    let of_alerts = |figures| RetentionReport { records: 0, ..figures };
    let raised = t.app.platform.now();
    let has_alerts = async |s: &Seeded| {
        let owner = t.owner().await;
        let mut flags = Vec::new();
        for path in ["/changes", "/changes/latest"] {
            flags.push(read(&t, &owner, s.id, path).await["has_alerts"].as_bool().unwrap());
        }
        flags
    };
    assert_eq!(has_alerts(&away).await, [true, true]);
    t.advance(DAY);
    process(&t, &back, firewall("8.1.0", &["wg1", "wg6"])).await;
    assert_eq!((has_alerts(&back).await, has_alerts(&away).await), (vec![false; 2], vec![true; 2]));
    t.clock.set(Ts(raised.plus(30 * DAY).0 - 1));
    assert_eq!(of_alerts(run(&t).await), NOTHING);
    assert_eq!(has_alerts(&away).await, [true, true]);
    t.clock.set(raised.plus(30 * DAY));
    let expected = RetentionReport { alerts_ended: 1, ..NOTHING };
    assert_eq!(of_alerts(retention::dry_run(&t.app).await.unwrap()), expected);
    assert_eq!(has_alerts(&away).await, [false, false], "whether or not it was read before");
    t.advance(HOUR);
    assert_eq!(of_alerts(run(&t).await), expected);
    assert_eq!(has_alerts(&away).await, [false, false]);
    let ends: Vec<(TsCodec,)> = Q::new("SELECT resolved_at FROM inventory_alerts ORDER BY resolved_at")
        .all(&t.app.platform.db)
        .await
        .unwrap();
    let ends: Vec<Ts> = ends.into_iter().map(|row| row.0.0).collect();
    assert_eq!(ends, [raised.plus(DAY), raised.plus(30 * DAY)]);
    // Each thirty days after its end, not a moment before.
    for end in ends {
        t.clock.set(end.plus(30 * DAY));
        assert_eq!(of_alerts(run(&t).await), NOTHING);
        t.advance(Duration::from_micros(1));
        let expected = RetentionReport { alerts_removed: 1, ..NOTHING };
        assert_eq!(of_alerts(retention::dry_run(&t.app).await.unwrap()), expected);
        assert_eq!(of_alerts(run(&t).await), expected);
    }
    assert_eq!(count(&t, "inventory_alerts").await, 0);
});

api_test!(a_service_that_was_away_for_long_removes_everything_at_once, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    for servers in [&["wg1", "wg6"][..], &["wg1"]] {
        process(&t, &s, firewall("8.1.0", servers)).await;
    }
    t.advance(61 * DAY);
    let expected = RetentionReport { alerts_ended: 1, alerts_removed: 1, ..NOTHING };
    assert_eq!(retention::dry_run(&t.app).await.unwrap(), expected);
    assert_eq!(run(&t).await, expected);
});

api_test!(documents_put_aside_go_after_thirty_days, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let turn = t.app.fleet.ingest().hold_worker().await;
    for version in ["8.1.0", "8.2.0", "8.3.0"] {
        send(&t, &s, firewall(version, &[])).await.expect(202);
    }
    let now = t.app.platform.now();
    let aside = "UPDATE inventory_queue SET quarantined_at = ? WHERE id = (SELECT MIN(id) FROM inventory_queue \
        WHERE quarantined_at IS NULL)";
    change(&t, Q::new(aside).bind(now)).await;
    change(&t, Q::new(aside).bind(now.plus(DAY))).await;
    t.advance(30 * DAY);
    assert_eq!(run(&t).await, NOTHING);
    t.advance(Duration::from_micros(1));
    let expected = RetentionReport { quarantined: 1, ..NOTHING };
    assert_eq!(retention::dry_run(&t.app).await.unwrap(), expected);
    assert_eq!(count(&t, "inventory_queue").await, 3);
    assert_eq!(run(&t).await, expected);
    t.advance(DAY);
    assert_eq!(run(&t).await, expected);
    // A waiting document is not old, however long it waits.
    t.advance(60 * DAY);
    assert_eq!(run(&t).await, NOTHING);
    drop(turn);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    assert_eq!((count(&t, "inventory_queue").await, count(&t, "inventory_records").await), (0, 1));
});

api_test!(one_process_of_all_does_it, |t| async move {
    // Another process, where the engine allows one.
    let second = if t.engine == Engine::Postgres { Some(t.replica().await) } else { None };
    let other = second.as_ref().unwrap_or(&t);
    for _ in 0..5 {
        let (a, b) = if second.is_some() {
            tokio::join!(retention::run_if_due(&t.app), retention::run_if_due(&other.app))
        } else {
            (retention::run_if_due(&t.app).await, retention::run_if_due(&t.app).await)
        };
        let ran = [a.unwrap(), b.unwrap()].iter().flatten().count();
        assert_eq!(ran, 1);
        t.advance(HOUR);
    }
    // One that has died leaves the work to the others when its lease has ended.
    let (now, dead) = (t.app.platform.now(), uuid::Uuid::from_u128(7));
    let until = now.plus(Duration::from_secs(300));
    assert!(bailiwick_store::leases::take(&t.app.platform.db, "retention", dead, now, until).await.unwrap());
    assert_eq!(retention::run_if_due(&t.app).await.unwrap(), None);
    assert_eq!(retention::run(&t.app).await.unwrap(), None);
    t.advance(Duration::from_secs(300));
    assert_eq!(retention::run_if_due(&other.app).await.unwrap(), Some(NOTHING));
});

api_test!(a_run_that_is_cut_off_is_done_again, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    for n in 0..4 {
        process(&t, &s, firewall(&format!("8.{n}.0"), &[])).await;
    }
    t.advance(8 * DAY);
    t.app.platform.stop.cancel();
    assert_eq!(retention::run_if_due(&t.app).await.unwrap(), None, "the process is to end");
    assert_eq!(count(&t, "leases WHERE name = 'retention'").await, 0, "no process waits for it");
    assert_eq!(created(&t, s.id).await.len(), 4);
    let expected = RetentionReport { records: 2, ..NOTHING };
    assert_eq!(retention::dry_run(&t.app).await.unwrap(), expected);
    if t.engine == Engine::Postgres {
        let next = t.replica().await;
        assert_eq!(retention::run_if_due(&next.app).await.unwrap(), Some(expected));
    }
});
