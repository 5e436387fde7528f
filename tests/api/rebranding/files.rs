//! How files are served (spec: rebranding#serving).

use super::*;

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

fn icon() -> Vec<u8> {
    let png = png(32, 32);
    let size = u32::try_from(png.len()).unwrap().to_le_bytes();
    [&[0, 0, 1, 0, 1, 0, 32, 32, 0, 0, 1, 0, 32, 0][..], &size, &22_u32.to_le_bytes(), &png].concat()
}

fn encoded(format: image::ImageFormat) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(20, 10).write_to(&mut out, format).unwrap();
    out.into_inner()
}

// Proves spec: alert-guarantees#guarantees 32.
api_test!(files_are_served_as_what_they_are, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.customer).await;
    let (jpeg, webp) = (encoded(image::ImageFormat::Jpeg), encoded(image::ImageFormat::WebP));
    let system = t.system(tree.customer).await;
    for (asset, declared, bytes, content_type, extension) in [
        ("favicon", Some("image/vnd.microsoft.icon"), icon(), "image/x-icon", "ico"),
        ("favicon", Some("IMAGE/X-ICON; x=y"), icon(), "image/x-icon", "ico"),
        ("logo_dark_square", None, png(7, 5), "image/png", "png"),
        ("background_image", Some("application/octet-stream"), jpeg, "image/jpeg", "jpg"),
        ("logo_dark_rect", Some("image/webp"), webp, "image/webp", "webp"),
        ("logo_light_rect", Some("image/svg+xml"), SVG.as_bytes().to_vec(), "image/svg+xml", "svg"),
    ] {
        put(&t, &owner, tree.customer, "ns8", &[(asset, declared, &bytes)])
            .await
            .expect_message(200, UPLOADED);
        let managed = format!("{}/products/ns8/{asset}", tree.customer);
        let reader = t.user(tree.distributor, &["reader"]).await;
        let of_management = call(&t, &reader, "GET", &managed).header("accept-encoding", "gzip").send().await;
        for reply in [of_management, of_system(&t, &system, &format!("/ns8/{asset}")).await] {
            let reply = reply.expect(200);
            assert_eq!(reply.body, bytes, "{asset}");
            let length = bytes.len().to_string();
            let disposition = format!("inline; filename=\"{asset}.{extension}\"");
            for (name, value) in [
                ("content-type", content_type),
                ("content-length", &length),
                ("x-content-type-options", "nosniff"),
                ("content-security-policy", POLICY),
                ("content-disposition", &disposition),
                ("cross-origin-resource-policy", "same-site"),
                ("cache-control", "private, max-age=300"),
                ("vary", "Authorization"),
            ] {
                assert_eq!(reply.header(name), Some(value), "{asset} {name}");
            }
            assert_eq!(reply.header("content-encoding"), None);
        }
    }
});

api_test!(a_file_known_already_is_not_sent_again, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.customer).await;
    put(&t, &owner, tree.customer, "ns8", &[("favicon", None, &png(3, 3))]).await.expect(200);
    let system = t.system(tree.customer).await;
    let ask = |method: &str, condition: &str| {
        t.call(method.parse().unwrap(), "/api/systems/rebranding/ns8/favicon")
            .basic(&system.key, &system.secret)
            .header("if-none-match", condition)
            .send()
    };
    let first = ask("GET", "\"other\"").await.expect(200);
    let etag = first.header("etag").unwrap().to_owned();
    let rows = bailiwick_store::sql::Q::new("SELECT sha256 FROM rebranding_assets");
    let (sha256,): (String,) = rows.one(&t.app.platform.db).await.unwrap();
    assert_eq!(etag, format!("\"{}\"", &sha256[..32]));
    for condition in [etag.clone(), "*".to_owned(), format!("\"x\", W/{etag}")] {
        for method in ["GET", "HEAD"] {
            let same = ask(method, &condition).await.expect(304);
            assert!(same.body.is_empty());
            assert_eq!(same.header("etag"), Some(etag.as_str()));
            assert_eq!(same.header("content-security-policy"), Some(POLICY));
            assert_eq!(same.header("cache-control"), Some("private, max-age=300"));
        }
    }
    let head = ask("HEAD", "\"other\"").await.expect(200);
    assert!(head.body.is_empty());
    assert_eq!(head.header("content-length"), Some(first.body.len().to_string().as_str()));
    assert_eq!(head.header("content-type"), Some("image/png"));

    put(&t, &owner, tree.customer, "ns8", &[("favicon", None, SVG.as_bytes())]).await.expect(200);
    let second = ask("GET", &etag).await.expect(200);
    assert_eq!((second.header("content-type"), second.text()), (Some("image/svg+xml"), SVG.to_owned()));
    call(&t, &owner, "DELETE", &format!("{}/products/ns8/favicon", tree.customer)).send().await.expect(200);
    ask("GET", "*").await.expect_message(404, "asset not found");
});

api_test!(management_sees_what_is_stored_and_nothing_inherited, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.distributor).await;
    put(&t, &owner, tree.distributor, "ns8", &[("favicon", None, &png(3, 3))]).await.expect(200);
    disable(&t, &owner, tree.distributor).await;
    let get = async |who: &Persona, path: String| call(&t, who, "GET", &path).send().await;
    let own = format!("{}/products/ns8/favicon", tree.distributor);
    get(&owner, own.clone()).await.expect(200);
    get(&owner, format!("{}/products/ns8/favicon", tree.customer))
        .await
        .expect_message(404, "asset not found");
    get(&owner, format!("{}/products/nope/favicon", tree.distributor))
        .await
        .expect_message(404, "asset not found");
    get(&owner, format!("{}/products/ns8/logo_dark_rect", tree.distributor))
        .await
        .expect_message(404, "asset not found");
    for name in ["nope", "Favicon", "favicon.png", "%00", "..%2Ffavicon"] {
        let path = format!("{}/products/ns8/{name}", tree.distributor);
        get(&owner, path).await.expect_message(400, "invalid asset name");
    }
    // Files out of reach look like missing ones, whatever the request.
    let stranger = t.user(tree.other_distributor, &["super"]).await;
    let unknown =
        get(&stranger, "0195fada-0000-7000-8000-00000000dead/products/ns8/favicon".to_owned()).await;
    let unknown = unknown.expect_message(404, "organization not found");
    for path in [own.clone(), own.replace("favicon", "nope"), format!("{}/status", tree.distributor)] {
        assert_eq!(get(&stranger, path).await.body, unknown.body);
    }
    let below = t.user(tree.reseller, &["super"]).await;
    get(&below, own).await.expect_message(404, "organization not found");
});
