//! Backups of a system that moves: copied, verified, and the originals removed; or nothing at all.

use super::*;
use crate::systems::backups::{SUM, as_system, files, listed};
use bailiwick_directory::objects;
use bailiwick_platform::Secret;
use bailiwick_settings::{Bucket, ObjectLocation};
use bailiwick_store::backups as rows;
use bailiwick_testkit::parts::recorder::{Answer, Recorded, Recorder};

async fn jobs(t: &Test) -> u64 {
    Q::new("SELECT COUNT(*) FROM jobs").count(&t.app.platform.db).await.unwrap()
}

/// Everything that waits is done, the last look at the tenant included.
async fn all_cleared(t: &Test) {
    cleared(t).await;
    t.advance(Duration::from_secs(120));
    cleared(t).await;
    objects::run_until_idle(&t.app.directory).await.unwrap();
    assert_eq!(jobs(t).await, 0);
}

api_test!(backups_go_along_and_the_originals_go, |t| async move {
    let tree = t.tree().await;
    let (system, owner) = (t.system(tree.customer).await, t.owner().await);
    let (one, two) = (stored(&t, &system, "ciphertext").await, stored(&t, &system, "other").await);
    let link = format!("/{}/backups/{}/download", system.id, text(&one, "id"));
    let issued = get(&t, &owner, &link).await.expect(200).data();
    let url = text(&issued, "download_url").strip_prefix("http://127.0.0.1:8080").unwrap().to_owned();
    t.get(&url).send().await.expect(200);
    let before = listed(&t, &system).await;
    let path = |org: OrgId, made: &Value| format!("{org}/{}/{}", system.key, text(made, "id"));
    shift(&t, &owner, &system, tree.other_customer).await.expect_message(200, MOVED);
    // An address made before the move leads nowhere any more.
    t.get(&url).send().await.expect_message(404, "backup not found");
    assert_eq!(listed(&t, &system).await, before);
    for (made, body) in [(&one, "ciphertext"), (&two, "other")] {
        let read = as_system(&t, &system, &format!("/{}", text(made, "id"))).send().await.expect(200);
        assert_eq!(read.text(), body);
    }
    all_cleared(&t).await;
    let mut expected = [path(tree.other_customer, &one), path(tree.other_customer, &two)];
    expected.sort();
    assert_eq!(files(&t), expected);
    assert_eq!(move_records(&t).await, [(tree.customer, tree.other_customer, [2, 2, 0, 0, 0])]);
    // There and back at once: the second move needs the objects that the first move has left for removal.
    let owner = t.owner().await;
    for to in [tree.customer, tree.other_customer, tree.customer] {
        shift(&t, &owner, &system, to).await.expect(200);
    }
    all_cleared(&t).await;
    let mut expected = [path(tree.customer, &one), path(tree.customer, &two)];
    expected.sort();
    assert_eq!(files(&t), expected);
    assert_eq!(as_system(&t, &system, &format!("/{}", text(&one, "id"))).send().await.text(), "ciphertext");
    // Quotas count where they are.
    let owner = t.owner().await;
    let used = get(&t, &owner, &format!("/{}/backups", system.id)).await.expect(200).data();
    assert_eq!((&used["quota_used_bytes"], &used["slots_used"]), (&json!(15), &json!(2)));
});

// Proves spec: guarantees#systems 12.
api_test!(a_destroyed_system_leaves_no_backups_in_former_organizations_either, |t| async move {
    let tree = t.tree().await;
    let (system, owner) = (t.system(tree.customer).await, t.owner().await);
    stored(&t, &system, "ciphertext").await;
    shift(&t, &owner, &system, tree.other_customer).await.expect(200);
    let destroyed = t.delete(&format!("/api/systems/{}/destroy", system.id)).bearer(&owner.token).send();
    destroyed.await.expect(200);
    all_cleared(&t).await;
    assert_eq!(files(&t), [""; 0]);
});

api_test!(what_cannot_be_copied_stays_with_everything_else, |t| async move {
    let tree = t.tree().await;
    let (system, owner) = (t.system(tree.customer).await, t.owner().await);
    let (one, two) = (stored(&t, &system, "ciphertext").await, stored(&t, &system, "other").await);
    let ObjectLocation::Files(root) = t.app.settings.assets.location.clone() else { panic!("no files") };
    let there = files(&t);
    let damaged = root.join(there.iter().find(|f| f.ends_with(text(&two, "id"))).unwrap());
    let unmoved = async || {
        assert_eq!(home_of(&t, &system).await, json!(tree.customer));
        cleared(&t).await;
        assert_eq!((jobs(&t).await, move_records(&t).await), (0, vec![]));
        counters_are_true(&t).await;
    };
    // Same length, other bytes; then nothing at all; then a storage that is away, and one that is not configured.
    std::fs::write(&damaged, "otheR").unwrap();
    let body = json!({"organization_id": tree.other_customer, "name": "Renamed"});
    let refused = put(&t, &owner, &system.id.to_string(), body.clone()).await;
    refused.expect_message(502, "backup storage is unavailable");
    unmoved().await;
    assert_eq!(files(&t), there);
    std::fs::remove_file(&damaged).unwrap();
    shift(&t, &owner, &system, tree.other_customer)
        .await
        .expect_message(502, "backup storage is unavailable");
    unmoved().await;
    assert_eq!(files(&t).len(), 1);
    std::fs::write(&damaged, "other").unwrap();
    for (location, status, message) in [
        (ObjectLocation::Files("/dev/null/assets".into()), 502, "backup storage is unavailable"),
        (ObjectLocation::Nowhere, 503, "backup storage is not configured"),
    ] {
        let away = t.replica_with(|settings| settings.assets.location = location).await;
        // A process that can reach the storage removes the objects that this one leaves.
        away.app.platform.stop.cancel();
        away.app.platform.tasks.close();
        away.app.platform.tasks.wait().await;
        let refused = put(&away, &owner, &system.id.to_string(), body.clone()).await;
        refused.expect_message(status, message);
        unmoved().await;
    }
    assert_eq!(get(&t, &owner, "?search=Renamed").await.data()["pagination"]["total_count"], 0);
    // The lock is free: nothing is in the way of the next try.
    put(&t, &owner, &system.id.to_string(), body).await.expect_message(200, MOVED);
    all_cleared(&t).await;
    assert_eq!(files(&t).len(), 2);
    let read = as_system(&t, &system, &format!("/{}", text(&one, "id"))).send().await;
    assert_eq!(read.expect(200).text(), "ciphertext");
});

/// A bucket in which every object is `ciphertext`, unless the test changes it.
fn bucket(request: &Recorded) -> Answer {
    let ok =
        Answer::status(200).header("etag", "\"x\"").header("last-modified", "Wed, 04 Mar 2026 10:00:00 GMT");
    match request.method.as_str() {
        "PUT" => ok.body("<CopyObjectResult><ETag>\"x\"</ETag></CopyObjectResult>"),
        "GET" | "HEAD" => ok.body("ciphertext"),
        _ => {
            let gone: Vec<String> =
                keys(request).iter().map(|key| format!("<Deleted><Key>{key}</Key></Deleted>")).collect();
            ok.body(format!("<DeleteResult>{}</DeleteResult>", gone.concat()))
        }
    }
}

/// The service with that bucket, and a system with one backup in it.
async fn in_bucket(t: &Test, upstream: &Recorder, tree: &Tree) -> (Test, Seeded, String) {
    let url = upstream.url();
    let p = t
        .replica_with(|settings| {
            settings.assets.location = ObjectLocation::Bucket(Bucket {
                endpoint: Some(url),
                region: "us-east-1".to_owned(),
                name: "fleet".to_owned(),
                access_key: "key".to_owned(),
                secret_key: Secret::new("hidden".to_owned()),
                prefix: String::new(),
                path_style: true,
            });
        })
        .await;
    // Only the process with the bucket works on the objects that are left behind.
    t.app.platform.stop.cancel();
    let system = p.system(tree.customer).await;
    let id = format!("{}.bin", p.app.platform.fresh::<uuid::Uuid>());
    let backup = rows::Backup {
        object_key: format!("{}/{}/{id}", tree.customer, system.key),
        id: id.clone(),
        system_id: system.id,
        organization_id: tree.customer,
        filename: "dump.bin".to_owned(),
        size: 10,
        sha256: SUM.to_owned(),
        mimetype: "application/octet-stream".to_owned(),
        uploaded_at: p.app.platform.now(),
        uploaded_from: "192.0.2.1".to_owned(),
    };
    let mut tx = p.app.platform.db.begin().await.unwrap();
    rows::insert(&mut tx, &backup).await.unwrap();
    tx.commit().await.unwrap();
    (p, system, id)
}

/// Waits until a copy is requested.
async fn copying(upstream: &Recorder, copies: usize) {
    let uploads = || upstream.requests().iter().filter(|r| r.method == "PUT").count();
    eventually("a copy is asked for", async || uploads() >= copies).await;
}

/// The objects a request to delete names.
fn keys(request: &Recorded) -> Vec<String> {
    let body = String::from_utf8_lossy(&request.body);
    body.split("<Key>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
}

/// The keys of the objects that were deleted.
fn deleted(upstream: &Recorder) -> Vec<String> {
    upstream.take().iter().filter(|r| r.method == "POST").flat_map(keys).collect()
}

// Proves spec: acceptance#scenarios 25, guarantees#systems 42.
api_test!(of_two_parallel_moves_one_proceeds_and_the_other_gets_409, |t| async move {
    let tree = t.tree().await;
    let upstream = Recorder::start(|r| match r.method.as_str() {
        "PUT" => bucket(r).held(),
        _ => bucket(r),
    });
    let upstream = upstream.await.unwrap();
    let (p, system, id) = in_bucket(&t, &upstream, &tree).await;
    let owner = p.owner().await;
    let call = p.put(&format!("/api/systems/{}", system.id)).bearer(&owner.token);
    let first = tokio::spawn(call.json(json!({"organization_id": tree.other_customer})).send());
    copying(&upstream, 1).await;
    for to in [tree.other_customer, tree.reseller] {
        shift(&p, &owner, &system, to).await.expect_message(409, RIVAL);
    }
    // Other changes do not wait for it, and are not lost by it.
    put(&p, &owner, &system.id.to_string(), json!({"notes": "meanwhile"})).await.expect(200);
    p.post("/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
    upstream.answer_by(bucket);
    upstream.release();
    let moved = first.await.unwrap().expect_message(200, MOVED).data();
    assert_eq!(
        (&moved["organization"]["id"], &moved["notes"]),
        (&json!(tree.other_customer), &json!("meanwhile"))
    );
    cleared(&p).await;
    assert_eq!(deleted(&upstream), [format!("{}/{}/{id}", tree.customer, system.key)]);
    assert_eq!(move_records(&p).await, [(tree.customer, tree.other_customer, [1, 1, 0, 0, 0])]);
});

// Proves spec: guarantees#systems 42.
api_test!(a_crash_in_the_middle_leaves_the_system_wholly_where_it_was, |t| async move {
    let tree = t.tree().await;
    // The copy is never answered: for the database, the process has died in the middle.
    let upstream =
        Recorder::start(|r| bucket(r).after(Duration::from_secs(if r.method == "PUT" { 600 } else { 0 })));
    let upstream = upstream.await.unwrap();
    let (p, system, id) = in_bucket(&t, &upstream, &tree).await;
    let owner = p.owner().await;
    let call = p.put(&format!("/api/systems/{}", system.id)).bearer(&owner.token);
    let dead = tokio::spawn(call.json(json!({"organization_id": tree.other_customer})).send());
    copying(&upstream, 1).await;
    upstream.answer_by(bucket);
    let whole = async |home: OrgId| {
        assert_eq!(home_of(&p, &system).await, json!(home));
        assert_eq!(listed(&p, &system).await.len(), 1);
        let read = as_system(&p, &system, &format!("/{id}")).send().await.expect(200);
        assert_eq!(read.text(), "ciphertext");
        let last = upstream.requests().into_iter().rfind(|r| r.method == "GET").unwrap();
        assert_eq!(last.path, format!("/fleet/{home}/{}/{id}", system.key));
        counters_are_true(&p).await;
        figures_are_true(&p).await;
    };
    whole(tree.customer).await;
    shift(&p, &owner, &system, tree.other_customer).await.expect_message(409, RIVAL);
    // When the lock has ended, the copies of the dead process are removed, and the system can be moved.
    p.advance(Duration::from_secs(300));
    cleared(&p).await;
    assert_eq!(deleted(&upstream), [format!("{}/{}/{id}", tree.other_customer, system.key)]);
    let owner = p.owner().await;
    shift(&p, &owner, &system, tree.other_customer).await.expect_message(200, MOVED);
    whole(tree.other_customer).await;
    cleared(&p).await;
    assert_eq!(deleted(&upstream), [format!("{}/{}/{id}", tree.customer, system.key)]);
    dead.abort();
});

api_test!(a_process_without_the_lock_writes_nothing, |t| async move {
    let tree = t.tree().await;
    let upstream = Recorder::start(|r| match r.method.as_str() {
        "PUT" => bucket(r).held(),
        _ => bucket(r),
    });
    let upstream = upstream.await.unwrap();
    let (p, system, _) = in_bucket(&t, &upstream, &tree).await;
    let owner = p.owner().await;
    let call = p.put(&format!("/api/systems/{}", system.id)).bearer(&owner.token);
    let slow = tokio::spawn(call.json(json!({"organization_id": tree.reseller})).send());
    copying(&upstream, 1).await;
    p.advance(Duration::from_secs(300));
    upstream.answer_by(bucket);
    shift(&p, &owner, &system, tree.other_customer).await.expect_message(200, MOVED);
    upstream.release();
    slow.await.unwrap().expect_message(409, RIVAL);
    assert_eq!(home_of(&p, &system).await, json!(tree.other_customer));
    assert_eq!(move_records(&p).await.len(), 1);
    counters_are_true(&p).await;
});
