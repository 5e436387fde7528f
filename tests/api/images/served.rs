//! Images in a bucket are served as images in the database are.

use super::*;

bucket_test!(files_are_served_from_the_bucket_and_go_from_it, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    enable(&t, &owner, tree.distributor).await;
    let (icon, logo) = (png(16, 16), png(200, 40));
    put(&t, &owner, tree.distributor, &[("favicon", &icon), ("logo_dark_rect", &logo)]).await;
    let keys = bucket.keys().await;
    let below = format!("fleet/rebranding/{}/", tree.distributor);
    assert_eq!(keys.len(), 2, "{keys:?}");
    assert!(keys.iter().all(|key| key.starts_with(&below)), "{keys:?}");
    assert_eq!((bytes_in_rows(&t).await, waiting(&t).await), (0, 0));

    // The customer's system shows what the distributor has.
    let system = t.system(tree.customer).await;
    let document = t.get("/api/systems/rebranding").basic(&system.key, &system.secret).send().await;
    assert_eq!(
        document.expect(200).data()["inherited_from"],
        json!(format!("distributor:{}", tree.distributor))
    );
    let before = bucket.requests().await;
    for _ in 0..3 {
        let shown = of_system(&t, &system, "favicon").send().await.expect(200);
        assert_eq!(shown.body, icon);
        assert_eq!(shown.header("content-type"), Some("image/png"));
    }
    assert_eq!(bucket.requests().await, before + 1, "it is kept in memory");
    let shown = asset(&t, &owner, tree.distributor, "logo_dark_rect").send().await.expect(200);
    assert_eq!(shown.body, logo);
    assert_eq!(shown.header("content-length"), Some(logo.len().to_string().as_str()));
    let etag = shown.header("etag").unwrap().to_owned();

    // The service does not ask the storage for an image that the client already has.
    t.app.directory.images.forget();
    let before = bucket.requests().await;
    for _ in 0..2 {
        let same = asset(&t, &owner, tree.distributor, "logo_dark_rect").header("if-none-match", &etag);
        assert!(same.send().await.expect(304).body.is_empty());
    }
    assert_eq!(bucket.requests().await, before);
    let other = asset(&t, &owner, tree.distributor, "logo_dark_rect").header("if-none-match", "\"x\"");
    assert_eq!(other.send().await.expect(200).body, logo);

    // A replaced or deleted image goes from the bucket.
    put(&t, &owner, tree.distributor, &[("favicon", &logo)]).await;
    tidied(&t).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (2, 0));
    assert_eq!(of_system(&t, &system, "favicon").send().await.expect(200).body, logo);
    let path = format!("/api/rebranding/{}/products/ns8", tree.distributor);
    delete(&t, &owner, &format!("{path}/favicon")).await.expect(200);
    tidied(&t).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (1, 0));
    // The other one has the same bytes and an object of its own.
    t.app.directory.images.forget();
    let shown = asset(&t, &owner, tree.distributor, "logo_dark_rect").send().await.expect(200);
    assert_eq!(shown.body, logo);
    of_system(&t, &system, "favicon").send().await.expect_message(404, "asset not found");
    delete(&t, &owner, &path).await.expect(200);
    tidied(&t).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (0, 0));
});

bucket_test!(pictures_are_served_from_the_bucket_and_go_from_it, |t, bucket| async move {
    let tree = t.tree().await;
    let (owner, user) = (t.owner().await, t.user(tree.customer, &["admin"]).await);
    put_picture(&t, &user, &png(30, 30)).await.expect(200);
    put_picture(&t, &owner, &png(40, 30)).await.expect(200);
    assert_eq!((bytes_in_rows(&t).await, waiting(&t).await), (0, 0));
    let first = picture(&t, &user).send().await.expect(200);
    assert_eq!(first.header("content-type"), Some("image/png"));
    image::load_from_memory(&first.body).unwrap();
    let etag = first.header("etag").unwrap().to_owned();
    t.app.directory.images.forget();
    let before = bucket.requests().await;
    picture(&t, &user).header("if-none-match", &etag).send().await.expect(304);
    assert_eq!(bucket.requests().await, before);

    put_picture(&t, &user, &png(31, 30)).await.expect(200);
    tidied(&t).await;
    let second = picture(&t, &user).send().await.expect(200);
    assert_ne!(second.header("etag"), Some(etag.as_str()));
    let keys = bucket.keys().await;
    let prefix = |who: &Persona| format!("fleet/avatars/{}/", who.id);
    assert_eq!(keys.len(), 2);
    assert_eq!(keys.iter().filter(|key| key.starts_with(&prefix(&user))).count(), 1, "{keys:?}");

    // A deleted user shows no picture and may come back; the destruction of a user removes the picture.
    let path = format!("/api/users/{}", user.id);
    delete(&t, &owner, &path).await.expect(200);
    picture(&t, &user).send().await.expect_message(404, "avatar not found");
    t.patch(&format!("{path}/restore")).bearer(&owner.token).send().await.expect(200);
    assert_eq!(picture(&t, &user).send().await.expect(200).body, second.body);
    delete(&t, &owner, &format!("{path}/destroy")).await.expect(200);
    tidied(&t).await;
    let keys = bucket.keys().await;
    assert!(keys.len() == 1 && keys[0].starts_with(&prefix(&owner)), "{keys:?}");
    delete(&t, &owner, "/api/me/avatar").await.expect(200);
    delete(&t, &owner, "/api/me/avatar").await.expect(200);
    tidied(&t).await;
    assert_eq!((bucket.keys().await.len(), waiting(&t).await), (0, 0));
    picture(&t, &owner).send().await.expect_message(404, "avatar not found");
});

bucket_test!(a_destroyed_organization_takes_its_objects_along, |t, bucket| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    for org in [tree.distributor, tree.reseller, tree.customer, tree.other_customer] {
        enable(&t, &owner, org).await;
        put(&t, &owner, org, &[("favicon", &png(9, 9)), ("logo_light_rect", &png(9, 8))]).await;
    }
    for org in [tree.distributor, tree.customer, tree.other_customer] {
        let user = t.user(org, &["admin"]).await;
        put_picture(&t, &user, &png(5, 5)).await.expect(200);
    }
    assert_eq!(bucket.keys().await.len(), 11);
    // The storage is away at that moment.
    bucket.answers(Answers::Not).await;
    let path = format!("/api/distributors/{}/destroy", tree.distributor);
    delete(&t, &owner, &path).await.expect(200);
    tidied(&t).await;
    assert_eq!(bucket.keys().await.len(), 11);
    assert!(waiting(&t).await > 0);
    bucket.answers(Answers::Well).await;
    t.advance(Duration::from_secs(3600));
    tidied(&t).await;
    let keys = bucket.keys().await;
    assert_eq!((keys.len(), waiting(&t).await), (3, 0), "{keys:?}");
    let other = format!("fleet/rebranding/{}/", tree.other_customer);
    assert_eq!(keys.iter().filter(|key| key.starts_with(&other)).count(), 2);
    let owner = t.owner().await;
    assert_eq!(asset(&t, &owner, tree.other_customer, "favicon").send().await.expect(200).body, png(9, 9));
});
