//! The storage is away, refuses or is slow; processes die; the same content comes back.

use super::*;
use bailiwick_store::images as stored;

const SOON: Duration = Duration::from_millis(300);
/// The time after which the service has given up an unfinished upload. Sessions are over by then.
const LATER: Duration = Duration::from_secs(2 * 3600);

bucket_test!(while_the_storage_is_away_nothing_is_half_written, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    enable(&t, &owner, tree.customer).await;
    let (old, new) = (png(16, 16), png(17, 17));
    put(&t, &owner, tree.customer, &[("favicon", &old)]).await;
    put_picture(&t, &owner, &old).await.expect(200);
    let shown = picture(&t, &owner).send().await.expect(200);
    let etag = asset(&t, &owner, tree.customer, "favicon").send().await.expect(200);
    let etag = etag.header("etag").unwrap().to_owned();
    let audited = async || Q::new("SELECT COUNT(*) FROM audit_log").count(&t.app.platform.db).await.unwrap();
    let (before, objects) = (audited().await, bucket.keys().await);

    bucket.answers(Answers::Not).await;
    let refused = upload(&t, &owner, tree.customer, &[("favicon", &new), ("logo_dark_rect", &new)]);
    let refused = refused.send().await.expect_message(502, AWAY);
    assert_eq!(refused.data(), Value::Null);
    assert!(refused.header("retry-after").is_some());
    put_picture(&t, &owner, &new).await.expect_message(502, AWAY);
    assert_eq!(audited().await, before);

    // The service shows an image that is in its memory, and confirms one that the client has; it cannot show others.
    assert_eq!(asset(&t, &owner, tree.customer, "favicon").send().await.expect(200).body, old);
    t.app.directory.images.forget();
    asset(&t, &owner, tree.customer, "favicon").send().await.expect_message(502, AWAY);
    asset(&t, &owner, tree.customer, "favicon").header("if-none-match", &etag).send().await.expect(304);
    asset(&t, &owner, tree.customer, "logo_dark_rect").send().await.expect_message(404, "asset not found");
    picture(&t, &owner).send().await.expect_message(502, AWAY);
    let status = t.get(&format!("/api/rebranding/{}/status", tree.customer)).bearer(&owner.token);
    let status = status.send().await.expect(200).data();
    let ns8 = status["products"].as_array().unwrap().iter().find(|p| p["product_id"] == "ns8");
    assert_eq!(ns8.unwrap()["assets"], json!(["favicon"]));
    t.get("/api/health").send().await.expect(200);
    // It can be deleted all the same.
    let path = format!("/api/rebranding/{}/products/ns8/favicon", tree.customer);
    delete(&t, &owner, &path).await.expect(200);
    // Its object is tried in vain before the clock moves: a try that fails after that is repeated only later.
    tidied(&t).await;

    bucket.answers(Answers::Well).await;
    t.advance(LATER);
    tidied(&t).await;
    assert_eq!(waiting(&t).await, 0);
    let avatars = objects.into_iter().filter(|key| key.contains("/avatars/")).collect::<Vec<_>>();
    assert_eq!(bucket.keys().await, avatars);
    assert_eq!(picture(&t, &owner).send().await.expect(200).body, shown.body);
});

/// The same service with another secret for the bucket, or with less time.
async fn other(t: &Test, change: impl FnOnce(&mut Settings)) -> Test {
    t.replica_with(change).await
}

bucket_test!(a_storage_that_does_not_answer_is_not_waited_for, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    enable(&t, &owner, tree.customer).await;
    put(&t, &owner, tree.customer, &[("favicon", &png(16, 16))]).await;
    let hasty = other(&t, |settings| {
        settings.assets.image_read = SOON;
        // On a busy machine, too, the storage gets the image before it is given up.
        settings.assets.image_write = 10 * SOON;
    })
    .await;
    bucket.answers(Answers::Later).await;
    let reply = asset(&hasty, &owner, tree.customer, "favicon").send().await;
    reply.expect_message(504, "asset storage timed out");
    let reply = upload(&hasty, &owner, tree.customer, &[("favicon", &png(17, 17))]).send().await;
    reply.expect_message(504, "asset storage timed out");
    let reply = put_picture(&hasty, &owner, &png(17, 17)).await;
    reply.expect_message(504, "asset storage timed out");
    // The service removes an object that the storage writes later all the same.
    bucket.answers(Answers::Well).await;
    eventually("the objects are there", async || bucket.keys().await.len() == 3).await;
    t.advance(LATER);
    tidied(&t).await;
    // Whichever process has been faster.
    eventually("nothing waits", async || waiting(&t).await == 0).await;
    assert_eq!(bucket.keys().await.len(), 1);
    let owner = t.owner().await;
    t.app.directory.images.forget();
    assert_eq!(asset(&t, &owner, tree.customer, "favicon").send().await.expect(200).body, png(16, 16));
});

bucket_test!(wrong_credentials_are_reported_without_the_secret, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    enable(&t, &owner, tree.customer).await;
    assert_eq!(images::complaints(&t.app.directory).await.unwrap(), [""; 0]);
    let wrong = bucket.location("not the secret");
    let stranger = other(&t, |settings| settings.assets.location = wrong).await;
    let reply = upload(&stranger, &owner, tree.customer, &[("favicon", &png(16, 16))]).send().await;
    let reply = reply.expect_message(502, AWAY);
    assert!(!reply.text().contains("secret") && !reply.text().contains(s3::CREDENTIALS.0));
    let complaints = images::complaints(&stranger.app.directory).await.unwrap();
    assert!(complaints[0].starts_with("the bucket (assets.bucket) cannot be used now"), "{complaints:?}");
    assert!(!complaints[0].contains("not the secret"), "{complaints:?}");
    let missing = Own { storage: bucket.storage, name: format!("{}-missing", bucket.name) };
    let nowhere = missing.location(s3::CREDENTIALS.1);
    let nowhere = other(&t, |settings| settings.assets.location = nowhere).await;
    assert_eq!(images::complaints(&nowhere.app.directory).await.unwrap().len(), 1);
    upload(&nowhere, &owner, tree.customer, &[("favicon", &png(16, 16))]).send().await.expect(502);
    assert_eq!(bucket.keys().await, [""; 0]);
});

bucket_test!(content_that_comes_back_is_not_deleted, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    enable(&t, &owner, tree.customer).await;
    let (one, two) = (png(16, 16), png(17, 17));
    put(&t, &owner, tree.customer, &[("favicon", &one)]).await;
    // Deletions have to wait; uploads by another process find the storage well.
    let gone = t.app.directory.objects.hold().await;
    put(&t, &owner, tree.customer, &[("favicon", &two)]).await;
    put(&t, &owner, tree.customer, &[("favicon", &one)]).await;
    put(&t, &owner, tree.customer, &[("favicon", &one), ("logo_dark_rect", &one)]).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (5, 3));
    drop(gone);
    tidied(&t).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (2, 0));
    t.app.directory.images.forget();
    for name in ["favicon", "logo_dark_rect"] {
        assert_eq!(asset(&t, &owner, tree.customer, name).send().await.expect(200).body, one);
        t.app.directory.images.forget();
    }
    // Nor is it when a job that should not be there names it.
    let listed: Vec<(String,)> =
        Q::new("SELECT object_key FROM rebranding_assets").all(&t.app.platform.db).await.unwrap();
    let listed: Vec<String> = listed.into_iter().map(|(key,)| key).collect();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let now = t.app.platform.now();
    stored::intend(&mut tx, &listed, now, now, || t.app.platform.fresh()).await.unwrap();
    tx.commit().await.unwrap();
    tidied(&t).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (2, 0));
});

bucket_test!(what_a_killed_process_has_written_is_removed_two_hours_later, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    enable(&t, &owner, tree.customer).await;
    put(&t, &owner, tree.customer, &[("favicon", &png(16, 16))]).await;
    // As between the writing of the object and the commit.
    let (key,): (String,) =
        Q::new("SELECT object_key FROM rebranding_assets").one(&t.app.platform.db).await.unwrap();
    let now = t.app.platform.now();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("DELETE FROM rebranding_assets").run(&mut tx).await.unwrap();
    let later = now.plus(LATER);
    stored::intend(&mut tx, &[key], later, now, || t.app.platform.fresh()).await.unwrap();
    tx.commit().await.unwrap();
    tidied(&t).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (1, 1));
    t.advance(LATER);
    tidied(&t).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (0, 0));
});

bucket_test!(an_upload_that_was_given_up_meanwhile_is_refused, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    enable(&t, &owner, tree.customer).await;
    bucket.answers(Answers::Later).await;
    let call = upload(&t, &owner, tree.customer, &[("favicon", &png(16, 16))]);
    let uploading = tokio::spawn(async move { call.send().await });
    eventually("the storage holds one", async || bucket.held().await == 1).await;
    // The clock moves so far that a worker begins to delete the image that the upload is writing.
    t.advance(LATER);
    let app = t.app.clone();
    let deleting = tokio::spawn(async move { objects::run_until_idle(&app.directory).await });
    eventually("the deletion has begun", async || {
        let leased = "SELECT COUNT(*) FROM jobs WHERE kind = 'asset.delete' AND attempts > 0";
        Q::new(leased).count(&t.app.platform.db).await.unwrap() == 1
    })
    .await;
    bucket.answers(Answers::Well).await;
    uploading.await.unwrap().expect_message(503, "service temporarily unavailable");
    deleting.await.unwrap().unwrap();
    tidied(&t).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (0, 0));
    let owner = t.owner().await;
    asset(&t, &owner, tree.customer, "favicon").send().await.expect_message(404, "asset not found");
});

bucket_test!(an_upload_whose_client_has_left_leaves_nothing, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    enable(&t, &owner, tree.customer).await;
    bucket.answers(Answers::Later).await;
    let call = upload(&t, &owner, tree.customer, &[("favicon", &png(16, 16))]);
    let uploading = tokio::spawn(async move { call.send().await });
    eventually("the storage holds one", async || bucket.held().await == 1).await;
    uploading.abort();
    uploading.await.unwrap_err();
    bucket.answers(Answers::Well).await;
    eventually("the objects are there", async || bucket.keys().await.len() == 1).await;
    assert_eq!(waiting(&t).await, 1);
    t.advance(LATER);
    tidied(&t).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (0, 0));
    let owner = t.owner().await;
    asset(&t, &owner, tree.customer, "favicon").send().await.expect_message(404, "asset not found");
});
