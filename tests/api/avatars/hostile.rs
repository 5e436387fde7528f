//! Files that are no pictures, or want to be too much of one.

use super::*;

const MAX: usize = 512_000;

/// A PNG chunk with its checksum.
fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let covered = [kind.as_slice(), data].concat();
    let mut crc = flate2::Crc::new();
    crc.update(&covered);
    let length = u32::try_from(data.len()).unwrap().to_be_bytes();
    [length.as_slice(), &covered, &crc.sum().to_be_bytes()].concat()
}

/// A PNG whose header promises these dimensions and whose pixels are a few bytes.
fn promised_png(width: u32, height: u32) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[16, 6, 0, 0, 0]].concat();
    let parts = [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", &header),
        chunk(b"IDAT", &[0x78, 0x9c, 0x63, 0, 0]),
        chunk(b"IEND", &[]),
    ];
    parts.concat()
}

/// A JPEG whose frame header promises 65535 by 65535.
fn promised_jpeg() -> Vec<u8> {
    let mut jpeg = encoded(&picture(8, 8), ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].fill(0xff);
    jpeg
}

/// A lossless WebP whose header promises 16383 by 16383.
fn promised_webp() -> Vec<u8> {
    let mut webp = encoded(&picture(8, 8), ImageFormat::WebP);
    let header = webp.windows(4).position(|w| w == b"VP8L").unwrap() + 9;
    webp[header..header + 3].copy_from_slice(&[0xfe, 0xbf, 0xff]);
    webp[header + 3] |= 0x0f;
    webp
}

async fn refused(t: &Test, who: &Persona, bytes: &[u8], message: &str) -> Value {
    let data = put(t, who, bytes).await.expect_message(400, message).data();
    assert_eq!((&data["type"], &data["errors"]), (&json!("validation_error"), &json!([])), "{data}");
    data
}

api_test!(what_is_no_form_or_has_no_file, |t| async move {
    let owner = t.owner().await;
    let call = || t.put("/api/me/avatar").bearer(&owner.token);
    for call in
        [call(), call().body("x"), call().json(json!({})), with_file(call(), "avatar", b"x").body("--fron")]
    {
        call.send().await.expect_message(400, "invalid multipart form");
    }
    with_file(call(), "file", &png(8, 8)).send().await.expect_message(400, "avatar file is required");
    refused(&t, &owner, b"", "avatar file is required").await;
});

api_test!(half_a_megabyte_is_the_limit, |t| async move {
    let owner = t.owner().await;
    let whole = png(8, 8);
    let padded = |size: usize| [whole.clone(), vec![0; size - whole.len()]].concat();
    put(&t, &owner, &padded(MAX)).await.expect(200);
    let reply = put(&t, &owner, &padded(MAX + 1)).await;
    let reply = reply.expect_message(413, "avatar exceeds maximum size of 500KB");
    assert_eq!(reply.data(), json!({"max_size": MAX, "actual_size": MAX + 1}));
});

api_test!(other_types_are_named_by_what_they_are, |t| async move {
    let owner = t.owner().await;
    for (bytes, content_type) in [
        (&b"GIF89a\x01\0\x01\0\0\0\0;"[..], "image/gif"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "application/octet-stream"),
        (b"\0", "application/octet-stream"),
        (b"%PDF-1.7", "application/octet-stream"),
    ] {
        let data = refused(&t, &owner, bytes, "avatar must be png, jpeg, or webp").await;
        assert_eq!(data["content_type"], content_type);
    }
});

api_test!(promised_pixels_are_never_decoded, |t| async move {
    let owner = t.owner().await;
    let message = "image dimensions exceed maximum of 4096x4096";
    let both = |side: u32| json!({"max_dimension": 4096, "width": side, "height": side});
    for (bytes, side) in
        [(promised_png(65_535, 65_535), 65_535), (promised_jpeg(), 65_535), (promised_webp(), 16_383)]
    {
        let mut data = refused(&t, &owner, &bytes, message).await;
        data.as_object_mut().unwrap().retain(|key, _| key != "type" && key != "errors");
        assert_eq!(data, both(side));
    }
    for (width, height) in [(4097, 1), (1, 4097), (i32::MAX as u32, i32::MAX as u32)] {
        refused(&t, &owner, &promised_png(width, height), message).await;
    }
    // Just small enough to be tried: the pixels are not there.
    refused(&t, &owner, &promised_png(4096, 4096), "invalid image file").await;
    for (width, height) in [(0, 1), (1, 0), (u32::MAX, 1)] {
        put(&t, &owner, &promised_png(width, height)).await.expect(400);
    }
    get(&t, owner.id).send().await.expect(404);
});

api_test!(broken_pictures_are_refused_and_nothing_else_happens, |t| async move {
    let owner = t.owner().await;
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
        let whole = encoded(&picture(64, 64), format);
        for cut in [13, 20, whole.len() / 4] {
            put(&t, &owner, &whole[..cut]).await.expect_message(400, "invalid image file");
        }
        // Bits turned over here and there: a picture or a refusal, never a fault.
        let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..60 {
            let mut broken = whole.clone();
            for _ in 0..4 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let index = usize::try_from(state >> 33).unwrap() % broken.len();
                broken[index] ^= 1 << (state >> 61);
            }
            let reply = put(&t, &owner, &broken).await;
            assert!(matches!(reply.status.as_u16(), 200 | 400), "{format:?}: {}", reply.text());
        }
    }
});
