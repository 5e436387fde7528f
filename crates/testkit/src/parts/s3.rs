//! An object storage that speaks the S3 protocol (s3rver of npm) and accepts only requests that are signed with its
//! secret (checked by aws4 of npm).

use super::{
    PartError, Result, answers_ok, identity_provider, ports,
    process::{Process, Stop},
    programs,
    scratch::Scratch,
};
use std::path::PathBuf;
use tokio::sync::OnceCell;

const PROGRAM: &str = include_str!("../../provider/s3.mjs");

/// The key id and secret that it accepts.
pub const CREDENTIALS: (&str, &str) = ("AKBAILIWICK", "a+secret/of-the.tests");

/// The running storage. It ends when the value is dropped.
#[derive(Debug)]
pub struct S3 {
    port: u16,
    _process: Process,
}

/// How a bucket answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// As it should.
    Well,
    /// It hangs up.
    Not,
    /// No answer until [`Answers::Well`] is set; then all requests are answered.
    Later,
}

/// The content of a bucket, and the number of requests about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Keys in order.
    pub keys: Vec<String>,
    /// Requests so far.
    pub requests: u64,
    /// Requests that wait for [`Answers::Well`].
    pub waiting: u64,
}

static SHARED: OnceCell<Result<S3>> = OnceCell::const_new();

/// One for all tests of the process, each with a bucket of its own.
///
/// # Errors
/// As [`S3::start`].
pub async fn shared() -> Result<&'static S3> {
    SHARED.get_or_init(S3::start).await.as_ref().map_err(Clone::clone)
}

impl S3 {
    /// Starts one.
    ///
    /// # Errors
    /// When node or the packages are not installed, or it does not come up.
    pub async fn start() -> Result<Self> {
        let node = programs::find(&["node", "nodejs"], "nodejs", &[])?;
        let modules = identity_provider::modules_with("s3rver")?;
        let scratch = Scratch::new("s3")?;
        let program = scratch.write("s3.mjs", PROGRAM)?;
        let port = ports::spare()?;
        let objects = scratch.path().join("objects");
        let (id, secret) = CREDENTIALS;
        let arguments = [program, modules, port.to_string().into(), objects, id.into(), secret.into()];
        let process = Process::start::<PathBuf>(scratch, &node, arguments, Stop::Kill)?;
        let storage = Self { port, _process: process };
        let address = storage.control("any", "");
        storage._process.wait_until_ready(|| answers_ok(address.clone())).await?;
        Ok(storage)
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn control(&self, bucket: &str, query: &str) -> String {
        format!("{}/-/{bucket}{query}", self.url())
    }

    /// Creates a bucket of this name, or changes how an existing one answers.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn bucket(&self, name: &str, answers: Answers) -> Result<()> {
        let word = match answers {
            Answers::Well => "well",
            Answers::Not => "not",
            Answers::Later => "later",
        };
        let call = reqwest::Client::new().put(self.control(name, &format!("?answers={word}")));
        let answer = call.send().await.and_then(reqwest::Response::error_for_status);
        answer.map(drop).map_err(|e| PartError::new(format!("the object storage: {e}")))
    }

    /// The content of a bucket.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn seen(&self, bucket: &str) -> Result<Seen> {
        let failed = |e: reqwest::Error| PartError::new(format!("the object storage: {e}"));
        let text =
            reqwest::get(self.control(bucket, "")).await.map_err(failed)?.text().await.map_err(failed)?;
        let answer: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let keys = answer["keys"].as_array().map(Vec::as_slice).unwrap_or_default();
        let keys = keys.iter().filter_map(|key| key.as_str().map(str::to_owned)).collect();
        let number = |name: &str| answer[name].as_u64().unwrap_or_default();
        Ok(Seen { keys, requests: number("requests"), waiting: number("waiting") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_outbound::object_storage::{AssetError, AssetStore, Bucket};
    use bytes::Bytes;
    use std::time::Duration;

    const LONGEST: Duration = Duration::from_secs(20);

    fn bucket(storage: &S3, secret: &str, prefix: &str) -> AssetStore {
        AssetStore::bucket(&Bucket {
            endpoint: Some(storage.url()),
            region: "eu-south-1".into(),
            name: "one".into(),
            access_key: CREDENTIALS.0.into(),
            secret_key: bailiwick_domain::Secret::new(secret.to_owned()),
            prefix: prefix.into(),
            path_style: true,
        })
        .unwrap()
    }

    #[tokio::test]
    async fn it_keeps_what_is_signed_with_its_secret() {
        let storage = S3::start().await.unwrap();
        storage.bucket("one", Answers::Well).await.unwrap();
        let (plain, below) = (bucket(&storage, CREDENTIALS.1, ""), bucket(&storage, CREDENTIALS.1, "a/b"));
        let content = Bytes::from_static(b"content");
        plain.check(LONGEST).await.unwrap();
        plain.put("x/1-2", content.clone(), LONGEST).await.unwrap();
        below.put("x/1-2", Bytes::new(), LONGEST).await.unwrap();
        assert_eq!(storage.seen("one").await.unwrap().keys, ["a/b/x/1-2", "bailiwick-was-here", "x/1-2"]);
        assert_eq!(plain.get("x/1-2", 7, LONGEST).await.unwrap(), content);
        assert_eq!(below.get("x/1-2", 0, LONGEST).await.unwrap(), Bytes::new());
        for size in [6, 8] {
            assert!(matches!(plain.get("x/1-2", size, LONGEST).await, Err(AssetError::Damaged(_))));
        }
        assert_eq!(plain.get("y", 1, LONGEST).await, Err(AssetError::NotFound));
        // The operations that backups need: parts, copies, sizes, presigned addresses.
        let mut upload = below.begin("large").await.unwrap();
        let chunk = vec![7; 3 * 1024 * 1024];
        for _ in 0..3 {
            upload.write(&chunk).await.unwrap();
        }
        upload.finish().await.unwrap();
        below.copy("large", "copied").await.unwrap();
        assert_eq!(below.size("copied").await, Ok(9 * 1024 * 1024));
        let address = plain.signed_url("x/1-2", LONGEST).await.unwrap().unwrap();
        let read = reqwest::get(&address).await.unwrap();
        assert_eq!(read.status(), 200, "{address}");
        assert_eq!(read.bytes().await.unwrap(), content);
        assert_eq!(reqwest::get(format!("{address}0")).await.unwrap().status(), 403);
        below.delete("large").await.unwrap();
        below.delete("large").await.unwrap();
        assert_eq!(below.size("large").await, Err(AssetError::NotFound));

        let stranger = bucket(&storage, "another secret", "");
        assert!(matches!(stranger.check(LONGEST).await, Err(AssetError::Unreachable(_))));
        assert!(matches!(stranger.get("x/1-2", 7, LONGEST).await, Err(AssetError::Unreachable(_))));
        let unsigned = reqwest::get(format!("{}/one/x/1-2", storage.url())).await.unwrap();
        assert_eq!(unsigned.status(), 403);
        storage.bucket("one", Answers::Not).await.unwrap();
        assert!(matches!(plain.check(LONGEST).await, Err(AssetError::Unreachable(_))));
        storage.bucket("one", Answers::Later).await.unwrap();
        let soon = Duration::from_millis(50);
        assert_eq!(plain.get("x/1-2", 7, soon).await, Err(AssetError::TimedOut));
    }
}
