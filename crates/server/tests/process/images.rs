//! Images in a bucket, as an operator meets them: moving, the backup, the log.

use crate::program::{Serving, command, text};
use bailiwick_testkit::parts::s3::{Answers, CREDENTIALS, S3};
use base64::{Engine, prelude::BASE64_STANDARD};
use std::{path::Path, process::Output};

/// One pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn run(directory: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> Output {
    let output = command(directory).envs(settings.iter().copied()).args(arguments).output();
    output.expect("the program runs")
}

async fn upload(serving: &Serving) {
    let head = "--f\r\nContent-Disposition: form-data; name=\"avatar\"; filename=\"f\"\r\nContent-Type: image/png\r\n\r\n";
    let png = BASE64_STANDARD.decode(PNG).expect("base64");
    let body = [head.as_bytes(), &png, b"\r\n--f--\r\n"].concat();
    let call = reqwest::Client::new().put(format!("{}/api/me/avatar", serving.url)).body(body);
    let call = call.header("content-type", "multipart/form-data; boundary=f");
    let answer = call.bearer_auth(serving.owner_token()).send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn images_are_moved_while_the_service_runs() {
    let storage = S3::start().await.unwrap();
    storage.bucket("fleet", Answers::Well).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("bucket-secret"), CREDENTIALS.1).unwrap();
    let (endpoint, secret) = (storage.url(), here.join("bucket-secret").display().to_string());
    let settings = |images: &'static str, bucket: &'static str| {
        [
            ("BAILIWICK_ASSETS__IMAGES", images),
            ("BAILIWICK_ASSETS__BUCKET", bucket),
            ("BAILIWICK_ASSETS__ENDPOINT", endpoint.as_str()),
            ("BAILIWICK_ASSETS__ACCESS_KEY", CREDENTIALS.0),
            ("BAILIWICK_ASSETS__SECRET_KEY_FILE", secret.as_str()),
        ]
    };
    let (database, bucket) = (settings("database", "fleet"), settings("bucket", "fleet"));
    let mut serving = Serving::start(here, &database).await;
    upload(&serving).await;
    let count_stored = async || {
        let keys = storage.seen("fleet").await.unwrap().keys;
        keys.iter().filter(|key| key.starts_with("avatars/")).count()
    };
    let ran = |settings: &[(&str, &str)], arguments: &[&str]| {
        let output = run(here, settings, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        text(&output)
    };
    assert_eq!(ran(&bucket, &["assets", "move", "--dry-run"]), "1 images would be moved to the bucket\n");
    assert_eq!(count_stored().await, 0);
    let printed = ran(&bucket, &["assets", "move"]);
    assert!(
        printed.starts_with("1 of 1\n1 images, ") && printed.ends_with(" bytes moved to the bucket\n"),
        "{printed}"
    );
    assert_eq!(count_stored().await, 1);
    // The running service shows the moved image without a restart. So does a service with the other setting.
    let id = {
        let me = reqwest::Client::new().get(format!("{}/api/me", serving.url));
        let me = me.bearer_auth(serving.owner_token()).send().await.expect("an answer").text().await;
        let me: serde_json::Value = serde_json::from_str(&me.expect("a body")).expect("JSON");
        me["data"]["id"].as_str().expect("an id").to_owned()
    };
    let shown = async |serving: &Serving| {
        let path = format!("{}/api/public/users/{id}/avatar", serving.url);
        reqwest::get(path).await.expect("an answer").status().as_u16()
    };
    assert_eq!(shown(&serving).await, 200);
    let printed = ran(&bucket, &["backup", "copy"]);
    assert!(printed.contains("what is in the bucket is not in it"), "{printed}");
    assert!(serving.stop());

    // A bucket that is not there keeps nothing else from working.
    let missing = settings("bucket", "nowhere");
    let mut serving = Serving::start(here, &missing).await;
    assert_eq!(shown(&serving).await, 502);
    let warning = "the bucket (assets.bucket) cannot be used now";
    let limit = std::time::Instant::now() + bailiwick_testkit::PATIENCE;
    while !serving.log().contains(warning) {
        assert!(std::time::Instant::now() < limit, "{}", serving.log());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let refused = run(here, &settings("database", "nowhere"), &["assets", "move"]);
    assert!(!refused.status.success());
    assert!(serving.stop());
    let printed = ran(&database, &["assets", "move"]);
    assert!(printed.ends_with(" bytes moved to the database\n"), "{printed}");
    assert_eq!(count_stored().await, 0);
    assert!(!serving.log().contains(CREDENTIALS.1));
}
