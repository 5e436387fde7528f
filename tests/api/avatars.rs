//! Pictures of users (spec: account#avatars).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use bailiwick_policy::KeyMode;
use bailiwick_testkit::{Call, Persona, Reply, Test, api_test};
use image::{DynamicImage, GenericImageView, ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};
use std::{io::Cursor, time::Duration};

mod hostile;

/// Left half red, right half blue.
fn picture(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, _| if x < width / 2 { Rgb([255, 0, 0]) } else { Rgb([0, 0, 255]) })
}

fn encoded(image: &RgbImage, format: ImageFormat) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(image.clone()).write_to(&mut out, format).unwrap();
    out.into_inner()
}

pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    encoded(&picture(width, height), ImageFormat::Png)
}

/// Any picture.
pub fn own_picture() -> Vec<u8> {
    png(8, 8)
}

/// A form with one file.
pub fn with_file(call: Call, field: &str, bytes: &[u8]) -> Call {
    let head = format!(
        "--frontier\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"me.png\"\r\n\
         Content-Type: image/png\r\n\r\n"
    );
    let body = [head.as_bytes(), bytes, b"\r\n--frontier--\r\n"].concat();
    call.header("content-type", "multipart/form-data; boundary=frontier").body(body)
}

pub(crate) async fn put(t: &Test, who: &Persona, bytes: &[u8]) -> Reply {
    with_file(t.put("/api/me/avatar").bearer(&who.token), "avatar", bytes).send().await
}

fn get(t: &Test, id: impl std::fmt::Display) -> Call {
    t.get(&format!("/api/public/users/{id}/avatar"))
}

/// The picture that every caller sees.
async fn shown(t: &Test, id: impl std::fmt::Display) -> DynamicImage {
    let reply = get(t, id).send().await.expect(200);
    image::load_from_memory_with_format(&reply.body, ImageFormat::Png).unwrap()
}

// Proves spec: acceptance#scenarios 8.
api_test!(a_picture_is_uploaded_seen_and_removed, |t| async move {
    let owner = t.owner().await;
    get(&t, owner.id).send().await.expect_message(404, "avatar not found");
    let reply = put(&t, &owner, &png(40, 20)).await;
    let data = reply.expect_message(200, "avatar uploaded successfully").data();
    let path = format!("/api/public/users/{}/avatar", owner.id);
    assert_eq!(data, json!({"avatar_url": format!("http://127.0.0.1:8080{path}")}));

    let reply = t.get(&format!("{path}?v=42")).header("accept-encoding", "gzip").send().await.expect(200);
    for (name, value) in [
        ("content-type", "image/png"),
        ("cache-control", "private, max-age=3600, must-revalidate"),
        ("content-disposition", "inline"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(reply.header(name), Some(value), "{name}");
    }
    assert_eq!(reply.header("content-encoding"), None);
    let etag = reply.header("etag").unwrap().to_owned();
    assert!(etag.len() == 66 && etag.starts_with('"'), "{etag}");
    assert_eq!(shown(&t, owner.id).await.dimensions(), (40, 20));

    for condition in [etag.clone(), "*".to_owned(), format!("\"other\", W/{etag}")] {
        let same = get(&t, owner.id).header("if-none-match", &condition).send().await.expect(304);
        assert!(same.body.is_empty());
        assert_eq!(same.header("etag"), Some(etag.as_str()));
        assert_eq!(same.header("cache-control"), Some("private, max-age=3600, must-revalidate"));
    }
    put(&t, &owner, &png(41, 20)).await.expect(200);
    let other = get(&t, owner.id).header("if-none-match", &etag).send().await.expect(200);
    assert_ne!(other.header("etag"), Some(etag.as_str()));

    for _ in 0..2 {
        let removed = t.delete("/api/me/avatar").bearer(&owner.token).send().await;
        assert_eq!(removed.expect_message(200, "avatar deleted successfully").data(), Value::Null);
    }
    get(&t, owner.id).header("if-none-match", &etag).send().await.expect_message(404, "avatar not found");
});

api_test!(every_accepted_type_becomes_a_png_that_fits, |t| async move {
    let owner = t.owner().await;
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
        for (sent, expected) in
            [((10, 20), (10, 20)), ((256, 256), (256, 256)), ((600, 300), (256, 128)), ((30, 512), (15, 256))]
        {
            let image = picture(sent.0, sent.1);
            put(&t, &owner, &encoded(&image, format)).await.expect(200);
            let stored = shown(&t, owner.id).await;
            assert_eq!(stored.dimensions(), expected, "{format:?} {sent:?}");
            let [red, _, blue, alpha] = stored.get_pixel(1, 1).0;
            assert!(red > 200 && blue < 60 && alpha == 255, "{format:?}: the left is red");
            let [red, _, blue, _] = stored.get_pixel(expected.0 - 2, 1).0;
            assert!(blue > 200 && red < 60, "{format:?}: the right is blue");
        }
    }
    put(&t, &owner, &png(4096, 1)).await.expect(200);
    assert_eq!(shown(&t, owner.id).await.dimensions(), (256, 1));
});

api_test!(transparency_is_kept_and_everything_beside_the_pixels_is_not, |t| async move {
    let owner = t.owner().await;
    let mut image = image::RgbaImage::new(4, 4);
    image.put_pixel(0, 0, image::Rgba([1, 2, 3, 128]));
    let mut sent = Cursor::new(Vec::new());
    image.write_to(&mut sent, ImageFormat::Png).unwrap();
    let mut sent = sent.into_inner();
    sent.extend_from_slice(b"<script>alert(1)</script>");
    put(&t, &owner, &sent).await.expect(200);
    let reply = get(&t, owner.id).send().await.expect(200);
    assert!(!reply.text().contains("script"));
    let stored = shown(&t, owner.id).await;
    assert_eq!((stored.get_pixel(0, 0).0, stored.get_pixel(3, 3).0), ([1, 2, 3, 128], [0, 0, 0, 0]));
});

/// A JPEG with an orientation (EXIF tag 0x0112).
fn held(image: &RgbImage, orientation: u8) -> Vec<u8> {
    let jpeg = encoded(image, ImageFormat::Jpeg);
    let mut exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    exif.extend_from_slice(&[orientation, 0, 0, 0, 0, 0, 0]);
    let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
    [&jpeg[..2], &[0xff, 0xe1], &length, &exif, &jpeg[2..]].concat()
}

api_test!(a_picture_stands_upright, |t| async move {
    let owner = t.owner().await;
    // A quarter to the right: the left side is now on top.
    put(&t, &owner, &held(&picture(32, 16), 6)).await.expect(200);
    let stored = shown(&t, owner.id).await;
    assert_eq!(stored.dimensions(), (16, 32));
    assert!(stored.get_pixel(8, 2).0[0] > 200 && stored.get_pixel(8, 29).0[2] > 200);
    put(&t, &owner, &held(&picture(32, 16), 77)).await.expect(200);
    assert_eq!(shown(&t, owner.id).await.dimensions(), (32, 16));
});

api_test!(administrators_change_the_pictures_of_those_below_them, |t| async move {
    let tree = t.tree().await;
    let admin = t.user(tree.distributor, &["admin"]).await;
    let target = t.user(tree.customer, &["reader"]).await;
    let path = |id: &dyn std::fmt::Display| format!("/api/users/{id}/avatar");
    let upload = |id: &dyn std::fmt::Display, token: &str| {
        with_file(t.put(&path(id)).bearer(token), "avatar", &png(8, 8)).send()
    };
    let reply = upload(&target.id, &admin.token).await.expect_message(200, "avatar uploaded successfully");
    assert!(reply.data()["avatar_url"].as_str().unwrap().contains(&target.id.to_string()));
    get(&t, target.id).send().await.expect(200);
    let removed = t.delete(&path(&target.id)).bearer(&admin.token).send().await;
    removed.expect_message(200, "avatar deleted successfully");
    get(&t, target.id).send().await.expect(404);

    let own = upload(&admin.id, &admin.token).await;
    own.expect_message(403, "cannot perform administrative actions on yourself");
    let boss = t.user(tree.distributor, &["super"]).await;
    let above = upload(&boss.id, &admin.token).await;
    above.expect_message(403, "insufficient privileges to manage this user");
    let foreign = t.user(tree.other_customer, &["reader"]).await;
    upload(&foreign.id, &admin.token).await.expect_message(404, "user not found");
    upload(&"x", &admin.token).await.expect_message(404, "user not found");
    // A caller without access gets no details, whatever the body.
    let bad = t.put(&path(&foreign.id)).bearer(&admin.token).body("no form").send().await;
    bad.expect_message(404, "user not found");
    let reader = t.user(tree.distributor, &["reader"]).await;
    upload(&target.id, &reader.token).await.expect_message(403, "insufficient permissions");

    let (_, write) = t.api_key(admin.id, KeyMode::Write).await;
    upload(&target.id, &write).await.expect(200);
    let own = with_file(t.put("/api/me/avatar").bearer(&write), "avatar", &png(8, 8)).send().await;
    own.expect_message(403, "this endpoint cannot be accessed with an api key");
});

api_test!(a_picture_is_hidden_with_its_deleted_user_and_goes_with_a_destroyed_one, |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let user = t.user(tree.customer, &["reader"]).await;
    put(&t, &user, &png(8, 8)).await.expect(200);
    let act = async |method: &str, path: &str| {
        t.call(method.parse().unwrap(), path).bearer(&owner.token).send().await.expect(200);
    };
    let customer = format!("/api/customers/{}", tree.customer);
    let path = format!("/api/users/{}", user.id);
    act("PATCH", &format!("{path}/suspend")).await;
    get(&t, user.id).send().await.expect(200);
    act("DELETE", &path).await;
    get(&t, user.id).send().await.expect_message(404, "avatar not found");
    act("PATCH", &format!("{path}/restore")).await;
    get(&t, user.id).send().await.expect(200);
    act("DELETE", &customer).await;
    get(&t, user.id).header("if-none-match", "*").send().await.expect_message(404, "avatar not found");
    act("PATCH", &format!("{customer}/restore")).await;
    get(&t, user.id).send().await.expect(200);
    act("DELETE", &format!("{path}/destroy")).await;
    get(&t, user.id).send().await.expect_message(404, "avatar not found");
    let rows = bailiwick_store::sql::Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM avatars");
    assert_eq!(rows.count(&t.app.platform.db).await.unwrap(), 0);
});

api_test!(an_address_may_ask_for_ten_pictures_a_second, |t| async move {
    let owner = t.owner().await;
    put(&t, &owner, &png(8, 8)).await.expect(200);
    for _ in 0..15 {
        get(&t, owner.id).from("192.0.2.1").send().await.expect(200);
        get(&t, "x").from("192.0.2.1").send().await.expect_message(404, "avatar not found");
    }
    let refused = get(&t, owner.id).from("192.0.2.1").send().await;
    let refused = refused.expect_message(429, "rate limit exceeded");
    assert_eq!(refused.header("retry-after"), Some("1"));
    get(&t, owner.id).from("192.0.2.2").send().await.expect(200);
    t.advance(Duration::from_secs(1));
    get(&t, owner.id).from("192.0.2.1").send().await.expect(200);
});
