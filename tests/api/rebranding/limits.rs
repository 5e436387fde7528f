//! How much may be uploaded (spec: rebranding#products, rebranding#operations).

use super::*;
use axum::body::{Body, Bytes};
use futures_util::{StreamExt, stream};
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// A PNG with rubbish behind it.
fn padded(size: usize) -> Vec<u8> {
    let mut file = png(4, 4);
    file.resize(size, 0);
    file
}

api_test!(each_asset_has_its_limit, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.customer).await;
    for (asset, max) in
        [("favicon", 512 * KIB), ("logo_light_square", 2 * MIB), ("background_image", 5 * MIB)]
    {
        put(&t, &owner, tree.customer, "ns8", &[(asset, None, &padded(max))])
            .await
            .expect_message(200, UPLOADED);
        let reply = put(&t, &owner, tree.customer, "nsec", &[(asset, None, &padded(max + 1))]).await;
        let data = reply.expect_message(400, &format!("{asset} exceeds maximum size")).data();
        assert_eq!(
            (&data["field"], &data["max_size"], &data["actual_size"]),
            (&json!(asset), &json!(max), &json!(max + 1))
        );
    }
    let name = "n".repeat(100);
    put(&t, &owner, tree.customer, "ns8", &[("product_name", None, name.as_bytes())])
        .await
        .expect_message(200, UPLOADED);
    assert_eq!(product(&t, &owner, tree.customer, "ns8").await["product_name"], name.as_str());
    let reply =
        put(&t, &owner, tree.customer, "nsec", &[("product_name", None, "é".repeat(51).as_bytes())]).await;
    let data = reply.expect_message(400, "product name exceeds maximum length").data();
    assert_eq!(data["max_length"], 100);
    assert_eq!(product(&t, &owner, tree.customer, "nsec").await["assets"], json!([]));
});

// Proves spec: alert-guarantees#guarantees 33.
api_test!(an_upload_over_the_limit_is_not_read_whole, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.customer).await;
    let path = format!("{}/products/ns8", tree.customer);
    let put =
        || call(&t, &owner, "PUT", &path).header("content-type", "multipart/form-data; boundary=frontier");
    // Said beforehand: nothing of it is read.
    let announced = Body::from(vec![b'x'; 15 * MIB + 1]);
    put().body(announced).send().await.expect_message(413, "request body too large");
    // Without a declared length: cut off where the limit is passed.
    let read = Arc::new(AtomicUsize::new(0));
    let counter = read.clone();
    let head = Bytes::from(body(&[("background_image", None, b"")])[..60].to_vec());
    let endless = stream::iter([head]).chain(stream::repeat_with(move || {
        counter.fetch_add(64 * KIB, Ordering::Relaxed);
        Bytes::from(vec![b'x'; 64 * KIB])
    }));
    let endless = Body::from_stream(endless.map(Ok::<_, Infallible>));
    put().body(endless).send().await.expect_message(413, "request body too large");
    let read = read.load(Ordering::Relaxed);
    assert!((14 * MIB..17 * MIB).contains(&read), "{read}");
    // The service does not read the body of a stranger.
    let reader = t.user(tree.customer, &["reader"]).await;
    let refused = call(&t, &reader, "PUT", &path)
        .body(Body::from_stream(stream::pending::<Result<Bytes, Infallible>>()));
    refused.send().await.expect_message(403, "only owner organization can update rebranding");
});

api_test!(uploads_wait_for_their_turn, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.customer).await;
    let places = t.app.directory.rebranding.occupy();
    assert!(!places.is_empty());
    let fields: &[Field<'_>] = &[("product_name", None, b"N")];
    let waiting = put(&t, &owner, tree.customer, "ns8", fields);
    let freed = async {
        tokio::task::yield_now().await;
        drop(places);
    };
    let (reply, ()) = tokio::join!(waiting, freed);
    reply.expect_message(200, UPLOADED);
});
