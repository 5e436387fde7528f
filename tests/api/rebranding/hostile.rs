//! Files that are not of the kind that they should be (spec: rebranding#serving).

use super::*;

/// The answer to an upload of one file, without the keys that every form error has.
async fn refused(t: &Test, who: &Persona, org: OrgId, field: Field<'_>, message: &str) -> Value {
    // Whatever is wrong with one field, the other one is not stored either.
    let reply = put(t, who, org, "ns8", &[("product_name", None, b"Never"), field]).await;
    let mut data = reply.expect_message(400, message).data();
    data.as_object_mut().unwrap().retain(|key, _| key != "type" && key != "errors");
    let stored = product(t, who, org, "ns8").await;
    assert_eq!((&stored["product_name"], &stored["assets"]), (&Value::Null, &json!([])), "{message}");
    data
}

// Proves spec: alert-guarantees#guarantees 32.
api_test!(types_are_taken_from_the_bytes, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.customer).await;
    let picture = png(4, 4);
    let html = b"<!DOCTYPE html><html><script>alert(1)</script></html>";
    for (asset, declared, bytes, reported) in [
        ("favicon", Some("text/html"), &picture[..], "text/html"),
        ("favicon", Some("image/svg+xml"), &picture, "image/svg+xml"),
        ("logo_dark_rect", Some("image/png"), SVG.as_bytes(), "image/png"),
        ("logo_dark_rect", Some("image/png"), html, "image/png"),
        ("logo_dark_rect", None, html, "application/octet-stream"),
        ("logo_dark_rect", None, b"GIF89a\x01\0\x01\0\0\0\0;", "application/octet-stream"),
        ("logo_dark_rect", Some("image/x-icon"), b"\0\0\x01\0\0\0", "image/x-icon"),
        ("favicon", Some("image/jpeg"), b"\xff\xd8\xff\xc0\0\x11\x08\0\x10\0\x10\x03", "image/jpeg"),
        ("favicon", None, b"\xff\xd8\xff\xc0\0\x11\x08\0\x10\0\x10\x03", "image/jpeg"),
        ("logo_light_rect", None, b"\x89PNG\r\n\x1a\n", "application/octet-stream"),
        ("logo_light_rect", Some("image/svg+xml"), b"<svg/>", "image/svg+xml"),
        (
            "logo_light_rect",
            Some("image/svg+xml"),
            b"<svg xmlns='http://www.w3.org/2000/svg'>",
            "image/svg+xml",
        ),
    ] {
        let message = format!("{asset} has invalid content type");
        let data = refused(&t, &owner, tree.customer, (asset, declared, bytes), &message).await;
        assert_eq!(data, json!({"field": asset, "content_type": reported}), "{declared:?}");
    }
});

// Proves spec: alert-guarantees#guarantees 32.
api_test!(pictures_that_run_or_load_are_refused, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.customer).await;
    let svg = |content: &str| {
        format!(
            "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'>{content}</svg>"
        )
    };
    // The reader's own tests know many more.
    for file in [
        svg("<script>alert(1)</script>"),
        svg("<g onclick='alert(1)'/>"),
        svg("<foreignObject/>"),
        svg("<a xmlns:q='http://www.w3.org/1999/xlink' q:href='&#106;avascript:alert(1)'/>"),
        svg("<style>@im&#112;ort 'https://example.org/x.css';</style>"),
        svg("<rect style='fill:\\75rl(https://example.org/x)'/>"),
        svg("<rect style='fill:\\75&#13;&#10;rl(https://example.org/x)'/>"),
        svg("<image xlink:href='data:image/svg+xml;base64,PHN2Zy8+'/>"),
        svg("<a><set attributeName='xlink:href' to='javascript:alert(1)'/></a>"),
        format!("<!DOCTYPE svg [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>{}", svg("<text>&x;</text>")),
        format!("<?xml-stylesheet href='https://example.org/x.css'?>{}", svg("")),
    ] {
        let field = ("background_image", Some("image/svg+xml"), file.as_bytes());
        let data =
            refused(&t, &owner, tree.customer, field, "background_image contains active content").await;
        assert_eq!(data, json!({"field": "background_image"}), "{file}");
    }
});

api_test!(promised_pixels_are_bounded, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.customer).await;
    let mut wide = png(4, 4);
    wide[16..20].copy_from_slice(&8193_u32.to_be_bytes());
    let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x11\x08\xff\xff\0\x10\x03";
    for (asset, bytes, width, height) in
        [("favicon", &wide[..], 8193, 4), ("background_image", &jpeg[..], 16, 65_535)]
    {
        let message = format!("{asset} exceeds maximum dimensions");
        let data = refused(&t, &owner, tree.customer, (asset, None, bytes), &message).await;
        assert_eq!(data, json!({"field": asset, "max_dimension": 8192, "width": width, "height": height}));
    }
    wide[16..20].copy_from_slice(&8192_u32.to_be_bytes());
    put(&t, &owner, tree.customer, "ns8", &[("favicon", None, &wide)]).await.expect_message(200, UPLOADED);
});

api_test!(a_form_must_be_one, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.customer).await;
    let path = format!("{}/products/ns8", tree.customer);
    let put_raw = |content_type: Option<&str>, body: Vec<u8>| {
        let call = call(&t, &owner, "PUT", &path).body(body);
        match content_type {
            Some(content_type) => call.header("content-type", content_type).send(),
            None => call.send(),
        }
    };
    let whole = body(&[("favicon", None, &png(1, 1))]);
    let multipart = Some("multipart/form-data; boundary=frontier");
    for (content_type, body) in [
        (None, whole.clone()),
        (Some("application/json"), b"{}".to_vec()),
        (Some("multipart/form-data"), whole.clone()),
        (multipart, b"{}".to_vec()),
        (multipart, whole[..whole.len() - 12].to_vec()),
        (multipart, Vec::new()),
        (multipart, body_of(&[("nope", b"x")])),
        (multipart, body_of(&[("Favicon", b"x")])),
        (multipart, body_of(&[("product_name", b"a"), ("product_name", b"b")])),
        (multipart, body_of(&[("favicon", b""), ("favicon", b"")])),
        (multipart, body_of(&[("product_name", b"a\0b")])),
        (multipart, body_of(&[("product_name", b"\xff")])),
        (multipart, body_of(&vec![("x", &b""[..]); 500])),
    ] {
        put_raw(content_type, body).await.expect_message(400, "invalid multipart form");
    }
    for fields in [&[][..], &[("favicon", &b""[..])], &[("product_name", b"")], &[("product_name", b"  ")]] {
        let nothing = "at least one asset or product_name is required";
        put_raw(multipart, body_of(fields)).await.expect_message(400, nothing);
    }
});

/// A form without declared types.
fn body_of(fields: &[(&str, &[u8])]) -> Vec<u8> {
    body(&fields.iter().map(|(name, bytes)| (*name, None, *bytes)).collect::<Vec<_>>())
}
