//! A setting decides where new images go. Existing images stay readable, and a command moves them.

use super::*;

/// The same service as it is with images in the database. Its bucket stays configured.
async fn with_database(t: &Test) -> Test {
    t.replica_with(|settings| settings.assets.images = ImageHome::Database).await
}

async fn filled(t: &Test, owner: &Persona, org: OrgId) {
    put(t, owner, org, &[("favicon", &png(16, 16)), ("logo_dark_rect", &png(90, 16))]).await;
    put_picture(t, owner, &png(40, 40)).await.expect(200);
}

/// Checks that each of these processes shows everything as [`filled`] has made it.
async fn assert_shown(all: &[&Test], owner: &Persona, org: OrgId) {
    for t in all {
        t.app.directory.images.forget();
        assert_eq!(asset(t, owner, org, "favicon").send().await.expect(200).body, png(16, 16));
        assert_eq!(asset(t, owner, org, "logo_dark_rect").send().await.expect(200).body, png(90, 16));
        image::load_from_memory(&picture(t, owner).send().await.expect(200).body).unwrap();
    }
}

bucket_test!(images_move_between_database_and_bucket, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    enable(&t, &owner, tree.customer).await;
    let plain = with_database(&t).await;
    filled(&plain, &owner, tree.customer).await;
    assert_eq!(bucket.keys().await, [""; 0]);
    let bytes = bytes_in_rows(&t).await;
    assert!(bytes > 0);
    // The setting alone moves nothing, and both are read.
    assert_shown(&[&t, &plain], &owner, tree.customer).await;
    put(&t, &owner, tree.customer, &[("background_image", &png(300, 200))]).await;
    assert_eq!(bucket.keys().await.len(), 1);
    let etag = picture(&t, &owner).send().await.expect(200).header("etag").unwrap().to_owned();

    assert_eq!(images::left_to_move(&t.app.directory).await.unwrap(), 3);
    let mut progress = Vec::new();
    let moved = images::move_all(&t.app.directory, |n| progress.push(n)).await.unwrap();
    assert_eq!((moved.images, moved.bytes, moved.unreadable.len(), progress), (3, bytes, 0, vec![3]));
    assert_eq!((bytes_in_rows(&t).await, bucket.keys().await.len(), waiting(&t).await), (0, 4, 0));
    assert_eq!(images::left_to_move(&t.app.directory).await.unwrap(), 0);
    assert_shown(&[&t, &plain], &owner, tree.customer).await;
    assert_eq!(picture(&t, &owner).send().await.expect(200).header("etag"), Some(etag.as_str()));
    assert_eq!(images::move_all(&t.app.directory, |_| {}).await.unwrap(), images::Moved::default());

    let moved = images::move_all(&plain.app.directory, |_| {}).await.unwrap();
    assert_eq!((moved.images, moved.unreadable.len()), (4, 0));
    // Whichever process has been faster.
    eventually("nothing waits", async || waiting(&t).await == 0).await;
    assert_eq!(bucket.keys().await, [""; 0]);
    assert_shown(&[&t, &plain], &owner, tree.customer).await;
});

bucket_test!(a_move_that_was_stopped_goes_on, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    enable(&t, &owner, tree.customer).await;
    let plain = with_database(&t).await;
    filled(&plain, &owner, tree.customer).await;
    bucket.answers(Answers::Not).await;
    let stopped = images::move_all(&t.app.directory, |_| {}).await.unwrap_err();
    assert!(stopped.to_string().contains(AWAY), "{stopped}");
    assert_eq!(images::left_to_move(&t.app.directory).await.unwrap(), 3);
    bucket.answers(Answers::Well).await;
    assert_eq!(images::move_all(&t.app.directory, |_| {}).await.unwrap().images, 3);
    t.advance(Duration::from_secs(2 * 3600));
    tidied(&t).await;
    // Whichever process has been faster.
    eventually("nothing waits", async || waiting(&t).await == 0).await;
    assert_eq!(bucket.keys().await.len(), 3);
    let owner = t.owner().await;
    assert_shown(&[&t, &plain], &owner, tree.customer).await;
});

bucket_test!(images_lost_by_the_bucket_are_reported_and_not_shown, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    enable(&t, &owner, tree.customer).await;
    filled(&t, &owner, tree.customer).await;
    let lose = async |name: &str, sql: &str| {
        let mut tx = t.app.platform.db.begin().await.unwrap();
        Q::new(sql).bind(name).run(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    };
    lose("favicon", "UPDATE rebranding_assets SET object_key = 'rebranding/gone' WHERE asset = ?").await;
    let damaged = "UPDATE rebranding_assets SET object_size = object_size + 1 WHERE asset = ?";
    lose("logo_dark_rect", damaged).await;
    for name in ["favicon", "logo_dark_rect"] {
        asset(&t, &owner, tree.customer, name).send().await.expect_message(502, AWAY);
    }
    let plain = with_database(&t).await;
    let moved = images::move_all(&plain.app.directory, |_| {}).await.unwrap();
    assert_eq!((moved.images, moved.unreadable.len()), (1, 2));
    let suffix = format!(" of ns8 of {}", tree.customer);
    assert_eq!(moved.unreadable, [format!("favicon{suffix}"), format!("logo_dark_rect{suffix}")]);
    assert_eq!(images::left_to_move(&plain.app.directory).await.unwrap(), 2);
    let pictures = async || bucket.keys().await.iter().filter(|key| key.contains("/avatars/")).count();
    eventually("the picture is in the database alone", async || pictures().await == 0).await;
    // Uploaded again it is there again.
    put(&t, &owner, tree.customer, &[("favicon", &png(16, 16)), ("logo_dark_rect", &png(90, 16))]).await;
    assert_shown(&[&t, &plain], &owner, tree.customer).await;
});

bucket_test!(without_a_bucket_what_is_in_one_is_not_forgotten, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    enable(&t, &owner, tree.customer).await;
    filled(&t, &owner, tree.customer).await;
    let location = ObjectLocation::Files(std::env::temp_dir().join(&bucket.name));
    let without = t
        .replica_with(|settings| {
            settings.assets.location = location;
            settings.assets.images = ImageHome::Database;
        })
        .await;
    let reply = asset(&without, &owner, tree.customer, "favicon").send().await;
    reply.expect_message(503, "asset storage is not configured");
    let complaints = images::complaints(&without.app.directory).await.unwrap();
    assert!(
        complaints[0].starts_with("images are in a bucket and assets.bucket is not set"),
        "{complaints:?}"
    );
    images::move_all(&without.app.directory, |_| {}).await.unwrap_err();
    // An image that is uploaded now is in the database. The image that it replaces waits for the bucket. The
    // process that has it must not be faster, nor may the other one try again and put it off.
    let turn = t.app.directory.objects.hold().await;
    put(&without, &owner, tree.customer, &[("favicon", &png(20, 20))]).await;
    tidied(&without).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (3, 1));
    drop(turn);
    assert_eq!(asset(&without, &owner, tree.customer, "favicon").send().await.expect(200).body, png(20, 20));
    let _turn = without.app.directory.objects.hold().await;
    t.advance(Duration::from_secs(3600));
    tidied(&t).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (2, 0));
});
