//! Images in a bucket: files of rebranding and pictures of users (spec: rebranding, account#avatars), with a real
//! object storage.

use bailiwick_directory::{images, objects};
use bailiwick_domain::OrgId;
use bailiwick_platform::Secret;
use bailiwick_settings::{Bucket, ImageHome, ObjectLocation, Settings};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{
    Call, Engine, PATIENCE, Persona, Reply, Test, engine, eventually,
    parts::s3::{self, Answers, S3},
    seed::Seeded,
};
use serde_json::{Value, json};
use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

mod faults;
mod relocation;
mod served;

/// `bucket_test!(name, |t, bucket| async move { … })`: on both engines, with a bucket of its own in which images are
/// kept.
macro_rules! bucket_test {
    ($name:ident, |$t:ident, $bucket:ident| $body:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            async fn body($t: Test, $bucket: Own) {
                $body.await
            }
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                let (t, bucket) = start(Engine::Sqlite).await;
                body(t, bucket).await;
            }
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                let (t, bucket) = start(Engine::Postgres).await;
                body(t, bucket).await;
            }
        }
    };
}
use bucket_test;

/// A bucket of one test.
struct Own {
    storage: &'static S3,
    name: String,
}

impl Own {
    async fn new() -> Own {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let storage = s3::shared().await.unwrap_or_else(|e| panic!("{e}"));
        let own = Own { storage, name: format!("images-{}", NUMBER.fetch_add(1, Ordering::Relaxed)) };
        own.answers(Answers::Well).await;
        own
    }

    async fn answers(&self, answers: Answers) {
        self.storage.bucket(&self.name, answers).await.unwrap();
    }

    /// The keys in the bucket, without the one written to see whether the bucket is there.
    async fn keys(&self) -> Vec<String> {
        let keys = self.storage.seen(&self.name).await.unwrap().keys;
        keys.into_iter().filter(|key| key != "fleet/bailiwick-was-here").collect()
    }

    /// Requests that have come and are not answered.
    async fn held(&self) -> u64 {
        self.storage.seen(&self.name).await.unwrap().waiting
    }

    async fn requests(&self) -> u64 {
        self.storage.seen(&self.name).await.unwrap().requests
    }

    fn location(&self, secret: &str) -> ObjectLocation {
        ObjectLocation::Bucket(Bucket {
            endpoint: Some(self.storage.url()),
            region: "eu-south-1".into(),
            name: self.name.clone(),
            access_key: s3::CREDENTIALS.0.into(),
            secret_key: Secret::new(secret.into()),
            prefix: "fleet".into(),
            path_style: true,
        })
    }

    fn settings(&self) -> Settings {
        let mut settings = engine::settings();
        settings.assets.location = self.location(s3::CREDENTIALS.1);
        settings.assets.images = ImageHome::Bucket;
        // On a busy machine no answer of the storage is late, unless the test is about that.
        (settings.assets.image_read, settings.assets.image_write) = (PATIENCE, PATIENCE);
        settings
    }
}

async fn start(engine: Engine) -> (Test, Own) {
    let bucket = Own::new().await;
    (Test::with(engine, bucket.settings()).await, bucket)
}

const UPLOADED: &str = "rebranding assets uploaded successfully";
const AWAY: &str = "asset storage is unavailable";

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(width, height).write_to(&mut out, image::ImageFormat::Png).unwrap();
    out.into_inner()
}

fn form(call: Call, files: &[(&str, &[u8])]) -> Call {
    let mut body = Vec::new();
    for (name, bytes) in files {
        let head = format!(
            "--frontier\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"f\"\r\n\
             Content-Type: image/png\r\n\r\n"
        );
        body.extend_from_slice(&[head.as_bytes(), bytes, b"\r\n"].concat());
    }
    body.extend_from_slice(b"--frontier--\r\n");
    call.header("content-type", "multipart/form-data; boundary=frontier").body(body)
}

fn upload(t: &Test, who: &Persona, org: OrgId, files: &[(&str, &[u8])]) -> Call {
    form(t.put(&format!("/api/rebranding/{org}/products/ns8")).bearer(&who.token), files)
}

async fn put(t: &Test, who: &Persona, org: OrgId, files: &[(&str, &[u8])]) {
    upload(t, who, org, files).send().await.expect_message(200, UPLOADED);
}

async fn enable(t: &Test, who: &Persona, org: OrgId) {
    t.patch(&format!("/api/rebranding/{org}/enable")).bearer(&who.token).send().await.expect(200);
}

fn asset(t: &Test, who: &Persona, org: OrgId, name: &str) -> Call {
    t.get(&format!("/api/rebranding/{org}/products/ns8/{name}")).bearer(&who.token)
}

fn of_system(t: &Test, system: &Seeded, name: &str) -> Call {
    t.get(&format!("/api/systems/rebranding/ns8/{name}")).basic(&system.key, &system.secret)
}

async fn delete(t: &Test, who: &Persona, path: &str) -> Reply {
    t.delete(path).bearer(&who.token).send().await
}

async fn put_picture(t: &Test, who: &Persona, bytes: &[u8]) -> Reply {
    form(t.put("/api/me/avatar").bearer(&who.token), &[("avatar", bytes)]).send().await
}

fn picture(t: &Test, who: &Persona) -> Call {
    t.get(&format!("/api/public/users/{}/avatar", who.id))
}

/// Bytes in the rows of all images.
async fn bytes_in_rows(t: &Test) -> u64 {
    let sql = "SELECT CAST(COALESCE((SELECT SUM([[octet_length||length]](bytes)) FROM rebranding_assets), 0) \
               + COALESCE((SELECT SUM([[octet_length||length]](image)) FROM avatars), 0) AS bigint)";
    Q::new(sql).count(&t.app.platform.db).await.unwrap()
}

/// Jobs that delete objects.
async fn waiting(t: &Test) -> u64 {
    Q::new("SELECT COUNT(*) FROM jobs WHERE kind = 'asset.delete'").count(&t.app.platform.db).await.unwrap()
}

/// Everything that can be deleted by now is.
async fn tidied(t: &Test) {
    objects::run_until_idle(&t.app.directory).await.unwrap();
}
