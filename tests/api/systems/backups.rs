//! Backups (spec: backups#operations).

use super::*;
use bailiwick_directory::objects;
use bailiwick_platform::Secret;
use bailiwick_settings::{Bucket, ObjectLocation, Settings};
use bailiwick_store::jobs;
use bailiwick_testkit::{Call, seed::Seeded};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// SHA-256 of `ciphertext`.
pub(super) const SUM: &str = "305531dcc50ebca31cf1d5b31e9fc76ed51f66b3b6dd5a030c6539ae6532f979";

pub(super) fn upload(t: &Test, system: &Seeded, body: impl Into<String>) -> Call {
    let body = body.into();
    t.post("/api/systems/backups")
        .basic(&system.key, &system.secret)
        .header("content-length", &body.len().to_string())
        .body(body)
}

pub(super) async fn stored(t: &Test, system: &Seeded, body: &str) -> Value {
    upload(t, system, body).send().await.expect_message(201, "backup stored").data()
}

pub(super) fn as_system(t: &Test, system: &Seeded, path: &str) -> Call {
    t.get(&format!("/api/systems/backups{path}")).basic(&system.key, &system.secret)
}

pub(super) async fn listed(t: &Test, system: &Seeded) -> Vec<Value> {
    let data = as_system(t, system, "").send().await.expect_message(200, "backups listed").data();
    data["backups"].as_array().unwrap().clone()
}

/// Every file below the storage, by its path there.
pub(super) fn files(t: &Test) -> Vec<String> {
    let ObjectLocation::Files(root) = &t.app.settings.assets.location else { panic!("no files") };
    let (mut files_found, mut todo) = (Vec::new(), vec![root.clone()]);
    while let Some(directory) = todo.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else {
                files_found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    files_found.sort();
    files_found
}

pub(super) async fn waiting(t: &Test) -> u64 {
    Q::new("SELECT COUNT(*) FROM jobs WHERE kind = 'asset.delete'").count(&t.app.platform.db).await.unwrap()
}

api_test!(a_backup_is_stored_listed_read_and_deleted_by_its_system, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let other = t.system(tree.customer).await;
    let call = upload(&t, &system, "ciphertext").header("content-type", "application/x-gpg");
    let made = call.header("x-filename", "/var/dump 1.tar.gz").send().await;
    let made = made.expect_message(201, "backup stored").data();
    let id = text(&made, "id").to_owned();
    assert!(id.ends_with(".tar.gz"), "{id}");
    let expected = json!({"id": id, "filename": "dump_1.tar.gz", "size": 10, "sha256": SUM,
        "mimetype": "application/x-gpg", "uploaded_at": t.app.platform.now()});
    assert_eq!(made, expected);
    assert_eq!(files(&t), [format!("{}/{}/{id}", tree.customer, system.key)]);
    assert_eq!(waiting(&t).await, 0);
    t.advance(Duration::from_secs(60));
    let second = stored(&t, &system, "").await;
    let second_id = text(&second, "id");
    assert!(second_id.ends_with(".bin"), "{second_id}");
    assert_eq!(text(&second, "filename"), format!("backup-{}", &second_id[..36]));
    assert_eq!(text(&second, "mimetype"), "application/octet-stream");
    assert_eq!(listed(&t, &system).await, [second.clone(), made.clone()]);
    assert_eq!(listed(&t, &other).await, [Value::Null; 0]);
    let read = as_system(&t, &system, &format!("/{id}")).send().await.expect(200);
    assert_eq!(read.text(), "ciphertext");
    for (name, value) in [
        ("content-type", "application/octet-stream"),
        ("content-length", "10"),
        ("x-content-type-options", "nosniff"),
        ("content-disposition", "attachment; filename=\"dump_1.tar.gz\""),
    ] {
        assert_eq!(read.header(name), Some(value));
    }
    for bad in ["x", "totals", "019c9fa6-4540-4a3b-8c5d-1f2e3a4b5c6d.bin"] {
        as_system(&t, &system, &format!("/{bad}")).send().await.expect_message(400, "invalid backup id");
        let call = t.delete(&format!("/api/systems/backups/{bad}")).basic(&system.key, &system.secret);
        call.send().await.expect_message(400, "invalid backup id");
    }
    as_system(&t, &other, &format!("/{id}")).send().await.expect_message(404, "backup not found");
    let path = format!("/systems/backups/{id}");
    let refused = t.delete(&path).basic(&other.key, &other.secret).send().await;
    refused.expect_message(404, "backup not found");
    let gone = t.delete(&path).basic(&system.key, &system.secret).send().await;
    assert_eq!(gone.expect_message(200, "backup deleted").data(), json!({ "id": id }));
    as_system(&t, &system, &format!("/{id}")).send().await.expect_message(404, "backup not found");
    assert_eq!(listed(&t, &system).await, [second]);
    objects::run_until_idle(&t.app.directory).await.unwrap();
    assert_eq!((files(&t).len(), waiting(&t).await), (1, 0));
    t.get("/api/systems/backups").send().await.expect_message(401, "authentication required");
});

fn small(settings: &mut Settings) {
    settings.assets.upload_bytes = 100;
    settings.assets.system_bytes = 120;
    settings.assets.organization_bytes = 250;
}

api_test!(
    what_is_no_whole_backup_is_refused_and_leaves_nothing,
    |settings| small(settings),
    |t| async move {
        let tree = t.tree().await;
        let system = t.system(tree.customer).await;
        let send = |length: Option<&str>, body: &str| {
            let call = t.post("/systems/backups").basic(&system.key, &system.secret).body(body.to_owned());
            match length {
                Some(length) => call.header("content-length", length),
                None => call,
            }
        };
        for length in [None, Some("x"), Some("-1"), Some("")] {
            let reply = send(length, "12345").send().await;
            assert_eq!(reply.expect_message(411, "content length required").data(), Value::Null);
        }
        for length in ["4", "6"] {
            let reply = send(Some(length), "12345").send().await;
            assert_eq!(reply.expect_message(400, "upload length mismatch").data(), Value::Null);
        }
        let reply = send(Some("101"), "").send().await.expect_message(413, "backup too large");
        assert_eq!(reply.data(), json!({"max_bytes": 100}));
        objects::run_until_idle(&t.app.directory).await.unwrap();
        assert_eq!((listed(&t, &system).await.len(), files(&t).len(), waiting(&t).await), (0, 0, 0));
        // The quota counts what the whole organization has.
        let rest = ["a".repeat(100), "b".repeat(100), "c".repeat(50)];
        let systems =
            [t.system(tree.customer).await, t.system(tree.customer).await, t.system(tree.customer).await];
        for (system, body) in systems.iter().zip(&rest) {
            stored(&t, system, body).await;
        }
        let reply = send(Some("1"), "1").send().await;
        let reply = reply.expect_message(413, "backup quota of the organization exceeded");
        assert_eq!(reply.data(), json!({"max_bytes": 250}));
        stored(&t, &t.system(tree.other_customer).await, "1").await;
    }
);

api_test!(the_oldest_are_pruned_and_uploads_have_a_rate, |settings| small(settings), |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let mut ids = Vec::new();
    for n in 0..12 {
        if n % 6 == 0 {
            t.advance(Duration::from_secs(60));
        }
        ids.insert(0, text(&stored(&t, &system, "x").await, "id").to_owned());
    }
    let reply = upload(&t, &system, "x").send().await.expect_message(429, "rate limit exceeded");
    assert_eq!((reply.header("retry-after"), reply.data()), (Some("60"), json!({"retry_after_seconds": 60})));
    let remaining: Vec<String> = listed(&t, &system).await.iter().map(|b| text(b, "id").to_owned()).collect();
    assert_eq!(remaining.len(), 10);
    assert!(ids.iter().take(6).all(|id| remaining.contains(id)), "{remaining:?} of {ids:?}");
    t.advance(Duration::from_secs(60));
    let large = stored(&t, &system, &"y".repeat(100)).await;
    assert_eq!(listed(&t, &system).await.len(), 10);
    t.advance(Duration::from_secs(60));
    let larger = stored(&t, &system, &"z".repeat(30)).await;
    assert_eq!(listed(&t, &system).await, [larger]);
    objects::run_until_idle(&t.app.directory).await.unwrap();
    assert_eq!(files(&t).len(), 1);
    assert_ne!(large["id"], Value::Null);
});

api_test!(uploads_at_once_are_bounded, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let taken = t.app.fleet.backups.occupy();
    assert_eq!(taken.len(), 16);
    let reply = upload(&t, &system, "x").send().await;
    let reply = reply.expect_message(503, "service temporarily unavailable");
    assert_eq!((reply.header("retry-after"), reply.data()), (Some("5"), Value::Null));
    drop(taken);
    stored(&t, &system, "x").await;
});

// Proves spec: acceptance#scenarios 28.
api_test!(management_lists_links_and_deletes, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let admin = t.user(tree.customer, &["admin"]).await;
    let reader = t.user(tree.reseller, &["reader"]).await;
    let foreign = t.user(tree.other_customer, &["admin"]).await;
    let made = stored(&t, &system, "ciphertext").await;
    let id = text(&made, "id");
    let path = format!("/{}/backups", system.id);
    let all = get(&t, &reader, &path).await.expect_message(200, "backups retrieved successfully").data();
    assert_eq!(all, json!({"backups": [made], "quota_used_bytes": 10, "slots_used": 1}));
    get(&t, &foreign, &path).await.expect_message(404, "system not found");
    let link = format!("{path}/{id}/download");
    get(&t, &foreign, &link).await.expect_message(404, "system not found");
    get(&t, &reader, &format!("{path}/x/download")).await.expect_message(400, "invalid backup id");
    let unknown = format!("{path}/019c9fa6-4540-7a3b-8c5d-1f2e3a4b5c6d/download");
    get(&t, &reader, &unknown).await.expect_message(404, "backup not found");
    let issued = get(&t, &reader, &link).await.expect_message(200, "download URL issued").data();
    assert_eq!(issued["expires_in_seconds"], 300);
    let url = text(&issued, "download_url").strip_prefix("http://127.0.0.1:8080/api").unwrap();
    for base in ["", "/api", "/backend/api", "/collect/api"] {
        let read = t.get(&format!("{base}{url}")).send().await.expect(200);
        assert_eq!(read.text(), "ciphertext");
        assert_eq!(
            read.header("content-disposition").unwrap(),
            format!("attachment; filename=\"{}\"", text(&made, "filename"))
        );
    }
    let (payload, signature) = url.strip_prefix("/downloads/").unwrap().split_once('.').unwrap();
    let longer = format!("{}A", payload);
    for bad in [
        "x".to_owned(),
        payload.to_owned(),
        format!("{payload}."),
        format!("{payload}.{}", signature.chars().rev().collect::<String>()),
        format!("{longer}.{signature}"),
        format!("{signature}.{payload}"),
        "%FF.%FF".to_owned(),
    ] {
        let reply = t.get(&format!("/api/downloads/{bad}")).send().await;
        assert_eq!(reply.expect_message(404, "backup not found").data(), Value::Null, "{bad}");
    }
    t.advance(Duration::from_secs(299));
    t.get(url).send().await.expect(200);
    t.advance(Duration::from_secs(1));
    t.get(url).send().await.expect_message(404, "backup not found");
    let again = get(&t, &reader, &link).await.expect(200).data();
    let url = text(&again, "download_url").strip_prefix("http://127.0.0.1:8080").unwrap();
    let delete =
        |who: &Persona, id: &str| t.delete(&format!("/api/systems{path}/{id}")).bearer(&who.token).send();
    delete(&reader, id).await.expect_message(403, "insufficient permissions");
    delete(&foreign, id).await.expect_message(404, "system not found");
    delete(&admin, "x").await.expect_message(400, "invalid backup id");
    let gone = delete(&admin, id).await.expect_message(200, "backup deleted");
    assert_eq!(gone.data(), json!({"system_id": system.id, "backup_id": id}));
    delete(&admin, id).await.expect_message(404, "backup not found");
    t.get(url).send().await.expect_message(404, "backup not found");
    objects::run_until_idle(&t.app.directory).await.unwrap();
    assert_eq!((files(&t).len(), waiting(&t).await), (0, 0));
});

// Proves spec: guarantees#systems 12.
api_test!(destroyed_systems_leave_no_backups, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (one, two) = (t.system(tree.customer).await, t.system(tree.reseller).await);
    let other = t.system(tree.other_customer).await;
    let mut urls = Vec::new();
    for system in [&one, &two, &other] {
        let made = stored(&t, system, "ciphertext").await;
        let link = format!("/{}/backups/{}/download", system.id, text(&made, "id"));
        let issued = get(&t, &owner, &link).await.expect(200).data();
        urls.push(text(&issued, "download_url").strip_prefix("http://127.0.0.1:8080").unwrap().to_owned());
    }
    let destroy = |path: String| t.delete(&path).bearer(&owner.token).send();
    destroy(format!("/api/systems/{}/destroy", one.id)).await.expect(200);
    t.get(&urls[0]).send().await.expect_message(404, "backup not found");
    destroy(format!("/api/distributors/{}/destroy", tree.distributor)).await.expect(200);
    t.get(&urls[1]).send().await.expect_message(404, "backup not found");
    objects::run_until_idle(&t.app.directory).await.unwrap();
    let left = files(&t);
    assert_eq!((left.len(), waiting(&t).await), (1, 0));
    assert!(left[0].starts_with(&tree.other_customer.to_string()), "{left:?}");
    t.get(&urls[2]).send().await.expect(200);
});

// Proves spec: guarantees#systems 12.
api_test!(what_a_crash_leaves_is_removed, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    // The body never ends, and the test does not wait for the answer.
    let endless =
        futures_util::stream::iter([Ok::<_, std::io::Error>(axum::body::Bytes::from_static(b"begun"))]);
    let endless = futures_util::StreamExt::chain(endless, futures_util::stream::pending());
    let call = t.post("/systems/backups").basic(&system.key, &system.secret).header("content-length", "10");
    let sent = tokio::task::spawn(call.body(axum::body::Body::from_stream(endless)).send());
    while files(&t).is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!((listed(&t, &system).await.len(), waiting(&t).await), (0, 1));
    objects::run_until_idle(&t.app.directory).await.unwrap();
    assert_eq!((files(&t).len(), waiting(&t).await), (1, 1));
    t.advance(Duration::from_secs(2 * 3600));
    objects::run_until_idle(&t.app.directory).await.unwrap();
    assert_eq!((files(&t).len(), waiting(&t).await), (0, 0));
    sent.abort();
});

api_test!(a_storage_that_is_away_has_its_answers, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let made = stored(&t, &system, "x").await;
    let away = t
        .replica_with(|settings| settings.assets.location = ObjectLocation::Files("/dev/null/assets".into()))
        .await;
    upload(&away, &system, "x").send().await.expect_message(502, "backup storage is unavailable");
    let path = format!("/{}", text(&made, "id"));
    as_system(&away, &system, &path).send().await.expect_message(502, "backup storage is unavailable");
    let none = t.replica_with(|settings| settings.assets.location = ObjectLocation::Nowhere).await;
    let reply = upload(&none, &system, "x").send().await;
    let reply = reply.expect_message(503, "backup storage is not configured");
    assert_eq!((reply.header("retry-after"), reply.data()), (Some("5"), Value::Null));
    let bucket = t
        .replica_with(|settings| {
            settings.assets.location = ObjectLocation::Bucket(Bucket {
                endpoint: Some("http://127.0.0.1:1".to_owned()),
                region: "us-east-1".to_owned(),
                name: "fleet".to_owned(),
                access_key: "key".to_owned(),
                secret_key: Secret::new("hidden".to_owned()),
                prefix: String::new(),
                path_style: true,
            });
        })
        .await;
    let link = format!("/{}/backups{path}/download", system.id);
    let issued = get(&bucket, &t.owner().await, &link).await.expect(200).data();
    let object = format!("http://127.0.0.1:1/fleet/{}/{}{path}?", tree.customer, system.key);
    assert!(text(&issued, "download_url").starts_with(&object), "{issued}");
    assert!(text(&issued, "download_url").contains("X-Amz-Expires=300"), "{issued}");
    upload(&bucket, &system, "x").send().await.expect_message(502, "backup storage is unavailable");
    assert_eq!(listed(&t, &system).await.len(), 1);
});

api_test!(an_upload_whose_object_may_be_gone_is_not_listed, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let service = t.serve().await;
    let deleting = t.app.directory.objects.hold().await;
    let mut stream = tokio::net::TcpStream::connect(service.url.trim_start_matches("http://")).await.unwrap();
    let pair = BASE64_STANDARD.encode(format!("{}:{}", system.key, system.secret));
    let head = format!(
        "POST /api/systems/backups HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {pair}\r\nContent-Length: 10\r\n\
         Connection: close\r\n\r\ncipher"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    bailiwick_testkit::eventually("the upload has begun", async || waiting(&t).await > 0).await;
    // Another process, with a clock that is ahead, has begun to delete what the upload may leave.
    let late = t.app.platform.now().plus(Duration::from_secs(3 * 3600));
    let until = late.plus(Duration::from_secs(600));
    let begun = jobs::claim(&t.app.platform.db, "asset.delete", late, until, 1).await.unwrap();
    assert_eq!(begun.len(), 1);
    stream.write_all(b"text").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.to_ascii_lowercase().contains("retry-after:"), "{answer}");
    assert_eq!(listed(&t, &system).await, [Value::Null; 0]);
    drop(deleting);
    objects::run_until_idle(&t.app.directory).await.unwrap();
    assert_eq!((files(&t).len(), waiting(&t).await), (0, 0));
    stored(&t, &system, "ciphertext").await;
});

api_test!(a_lease_of_a_clock_that_was_set_back_keeps_no_deletion_waiting, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let id = text(&stored(&t, &system, "ciphertext").await, "id").to_owned();
    let deleting = t.app.directory.objects.hold().await;
    let call = t.delete(&format!("/systems/backups/{id}")).basic(&system.key, &system.secret);
    call.send().await.expect(200);
    let lease = async |ahead: u64| {
        let mut tx = t.app.platform.db.begin().await.unwrap();
        let until = t.app.platform.now().plus(Duration::from_secs(ahead));
        Q::new("UPDATE jobs SET claimed_until = ?").bind(until).run(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    };
    // As the workers' leases are, and as none can be.
    lease(600).await;
    drop(deleting);
    objects::run_until_idle(&t.app.directory).await.unwrap();
    assert_eq!(waiting(&t).await, 1);
    lease(24 * 3600).await;
    objects::run_until_idle(&t.app.directory).await.unwrap();
    assert_eq!((files(&t).len(), waiting(&t).await), (0, 0));
});
