//! Objects the service keeps outside the database: backups of systems (spec: backups#operations), and images if the
//! settings say so. They are files below a directory, or in a bucket that speaks the S3 protocol. Objects appear whole
//! or not at all; only the service chooses keys.

use bailiwick_domain::Secret;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream::BoxStream};
use http::Method;
use object_store::{
    Error as StoreError, MultipartUpload, ObjectStore, ObjectStoreExt, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
    local::LocalFileSystem,
    path::Path as Key,
    signer::Signer,
};
use std::{fmt, future::Future, os::unix::fs::DirBuilderExt as _, path::Path, sync::Arc, time::Duration};
use tokio::time::timeout;
use url::Url;

/// Part of an upload held in memory; S3 requires at least 5 MiB.
const PART: usize = 8 * 1024 * 1024;
/// Time for one request to the storage; a part is the largest request.
const TIME: Duration = Duration::from_secs(60);
/// How often a request to a bucket is tried again.
const RETRIES: usize = 3;
/// The key of the object written to test a bucket.
const TRIAL: &str = "bailiwick-was-here";

/// The bytes of an object as they are read.
pub type Content = BoxStream<'static, Result<Bytes, AssetError>>;

#[derive(Clone, Debug)]
pub struct Bucket {
    /// Address of the storage; none = that of the region at AWS.
    pub endpoint: Option<String>,
    /// Region; a storage of one's own may ignore it.
    pub region: String,
    pub name: String,
    /// Key id.
    pub access_key: String,
    pub secret_key: Secret<String>,
    /// The prefix of all keys, without a slash at its end; may be empty.
    pub prefix: String,
    /// Whether requests name the bucket in the path; else in the host name.
    pub path_style: bool,
}

impl Bucket {
    /// The endpoint as the client needs it: with the bucket in the host name, if it belongs there.
    fn address(&self) -> Result<Option<String>, AssetError> {
        let Some(endpoint) = &self.endpoint else { return Ok(None) };
        if self.path_style {
            return Ok(Some(endpoint.clone()));
        }
        let unusable = || AssetError::Unreachable("the endpoint has no host".to_owned());
        let mut url = Url::parse(endpoint).map_err(|_| unusable())?;
        let host = format!("{}.{}", self.name, url.host_str().ok_or_else(unusable)?);
        url.set_host(Some(&host)).map_err(|_| unusable())?;
        Ok(Some(url.as_str().trim_end_matches('/').to_owned()))
    }
}

/// Why an object cannot be read or stored. The texts are for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssetError {
    /// No such object.
    NotFound,
    /// The storage cannot be reached, refuses, or is full.
    Unreachable(String),
    /// It does not answer in time.
    TimedOut,
    /// The object under this key differs from the one that was written.
    Damaged(String),
}

impl fmt::Display for AssetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssetError::NotFound => f.write_str("no such object"),
            AssetError::Unreachable(log) => write!(f, "object storage: {log}"),
            AssetError::Damaged(log) => write!(f, "object storage: damaged: {log}"),
            AssetError::TimedOut => f.write_str("the object storage does not answer in time"),
        }
    }
}

impl std::error::Error for AssetError {}

impl From<StoreError> for AssetError {
    fn from(e: StoreError) -> AssetError {
        match e {
            StoreError::NotFound { .. } => AssetError::NotFound,
            other => AssetError::Unreachable(other.to_string()),
        }
    }
}

async fn in_time<T, E: Into<AssetError>>(work: impl Future<Output = Result<T, E>>) -> Result<T, AssetError> {
    timeout(TIME, work).await.map_err(|_| AssetError::TimedOut)?.map_err(Into::into)
}

/// The storage of objects. Clones share it.
#[derive(Clone, Debug)]
pub struct AssetStore {
    objects: Arc<dyn ObjectStore>,
    /// Only files have one.
    directory: Option<Arc<Path>>,
    /// Only a bucket can sign an address for a client.
    bucket: Option<Arc<AmazonS3>>,
    /// The prefix of all keys in the storage.
    prefix: Arc<str>,
}

impl AssetStore {
    /// Files below a directory, which is created if missing.
    ///
    /// # Errors
    /// The directory cannot be made or read.
    pub fn files(directory: &Path) -> Result<AssetStore, AssetError> {
        let unusable =
            |e: &dyn fmt::Display| AssetError::Unreachable(format!("{}: {e}", directory.display()));
        // Other users of this machine must not read backups of systems.
        let private = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
        private.map_err(|e| unusable(&e))?;
        let objects = LocalFileSystem::new_with_prefix(directory).map_err(|e| unusable(&e))?;
        let objects = objects.with_automatic_cleanup(true).with_fsync(true);
        let objects = Arc::new(objects);
        Ok(AssetStore { objects, directory: Some(directory.into()), bucket: None, prefix: "".into() })
    }

    /// A bucket. It is not contacted yet.
    ///
    /// # Errors
    /// Settings that cannot be used.
    pub fn bucket(bucket: &Bucket) -> Result<AssetStore, AssetError> {
        let prefix = bucket.prefix.as_str().into();
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&bucket.name)
            .with_region(&bucket.region)
            .with_access_key_id(&bucket.access_key)
            .with_secret_access_key(bucket.secret_key.reveal())
            .with_virtual_hosted_style_request(!bucket.path_style)
            .with_retry(RetryConfig { max_retries: RETRIES, retry_timeout: TIME, ..RetryConfig::default() });
        if let Some(address) = bucket.address()? {
            let is_plain = address.starts_with("http://");
            builder = builder.with_endpoint(address).with_allow_http(is_plain);
        }
        let bucket = Arc::new(builder.build()?);
        Ok(AssetStore { objects: bucket.clone(), directory: None, bucket: Some(bucket), prefix })
    }

    /// Where an object is in the storage.
    fn object_key(&self, key: &str) -> Key {
        if self.prefix.is_empty() { Key::from(key) } else { Key::from(format!("{}/{key}", self.prefix)) }
    }

    /// Writes a small object, to check that the storage is there and accepts the service.
    ///
    /// # Errors
    /// The storage.
    pub async fn check(&self, longest: Duration) -> Result<(), AssetError> {
        self.put(TRIAL, Bytes::from_static(b"bailiwick\n"), longest).await
    }

    /// Stores a small object within this time, replacing an existing one.
    ///
    /// # Errors
    /// The storage; the object may or may not exist then.
    pub async fn put(&self, key: &str, content: Bytes, longest: Duration) -> Result<(), AssetError> {
        let object_key = self.object_key(key);
        let put = self.objects.put(&object_key, content.into());
        timeout(longest, put).await.map_err(|_| AssetError::TimedOut)??;
        Ok(())
    }

    /// The bytes of an object of this size, all of them within this time.
    ///
    /// # Errors
    /// No such object, one of another size, or the storage.
    pub async fn get(&self, key: &str, size: u64, longest: Duration) -> Result<Bytes, AssetError> {
        let object_key = self.object_key(key);
        let other = |object: u64| AssetError::Damaged(format!("{key} of {size} bytes has {object} bytes"));
        let whole = async {
            let object = self.objects.get(&object_key).await?;
            if object.meta.size != size {
                return Err(other(object.meta.size));
            }
            let (mut bytes, mut stream) = (BytesMut::new(), object.into_stream());
            while let Some(chunk) = stream.next().await {
                bytes.extend_from_slice(&chunk?);
                if bytes.len() as u64 > size {
                    return Err(other(bytes.len() as u64));
                }
            }
            if bytes.len() as u64 == size { Ok(bytes.freeze()) } else { Err(other(bytes.len() as u64)) }
        };
        timeout(longest, whole).await.map_err(|_| AssetError::TimedOut)?
    }

    /// Starts an object; it is invisible before [`Upload::finish`].
    ///
    /// # Errors
    /// The storage.
    pub async fn begin(&self, key: &str) -> Result<Upload, AssetError> {
        let parts = in_time(self.objects.put_multipart(&self.object_key(key))).await?;
        Ok(Upload { parts, waiting: BytesMut::new(), is_open: true })
    }

    /// The bytes of an object.
    ///
    /// # Errors
    /// No such object, or the storage.
    pub async fn read(&self, key: &str) -> Result<Content, AssetError> {
        let found = in_time(self.objects.get(&self.object_key(key))).await?;
        Ok(found.into_stream().map(|chunk| chunk.map_err(AssetError::from)).boxed())
    }

    /// Removes an object; a missing one counts as removed. Parts that a crash has left of its upload are removed as
    /// well (files only: a bucket's owner sets how long unfinished uploads are kept).
    ///
    /// # Errors
    /// The storage.
    pub async fn delete(&self, key: &str) -> Result<(), AssetError> {
        self.delete_staged(key).await?;
        match in_time(self.objects.delete(&self.object_key(key))).await {
            Err(AssetError::NotFound) => Ok(()),
            other => other,
        }
    }

    /// Copies an object within the storage, in place of one that is there.
    ///
    /// # Errors
    /// No such object, or the storage.
    pub async fn copy(&self, from: &str, to: &str) -> Result<(), AssetError> {
        in_time(self.objects.copy(&self.object_key(from), &self.object_key(to))).await?;
        // The storage copies files as links, and a link that replaces another one to the same file stays beside it.
        self.delete_staged(to).await
    }

    /// Removes the parts that an unfinished upload or copy has left beside a file.
    async fn delete_staged(&self, key: &str) -> Result<(), AssetError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        // The temporary names of a copy and of the upload of a fresh key.
        for n in 0..2 {
            match tokio::fs::remove_file(directory.join(format!("{key}#{n}"))).await {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(AssetError::Unreachable(e.to_string()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Size of an object in bytes.
    ///
    /// # Errors
    /// No such object, or the storage.
    pub async fn size(&self, key: &str) -> Result<u64, AssetError> {
        Ok(in_time(self.objects.head(&self.object_key(key))).await?.size)
    }

    /// An address under which anyone can read the object for this time; none = this storage has no such addresses.
    ///
    /// # Errors
    /// The storage.
    pub async fn signed_url(&self, key: &str, life: Duration) -> Result<Option<String>, AssetError> {
        let Some(bucket) = &self.bucket else { return Ok(None) };
        let url = in_time(bucket.signed_url(Method::GET, &self.object_key(key), life)).await?;
        Ok(Some(url.into()))
    }
}

/// An upload in progress. Dropping it unfinished abandons it; parts that a crash leaves are never listed.
#[derive(Debug)]
pub struct Upload {
    parts: Box<dyn MultipartUpload>,
    waiting: BytesMut,
    is_open: bool,
}

impl Upload {
    /// Adds bytes; at most one part is held in memory.
    ///
    /// # Errors
    /// The storage.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), AssetError> {
        self.waiting.extend_from_slice(bytes);
        while self.waiting.len() >= PART {
            let part = self.waiting.split_to(PART).freeze();
            in_time(self.parts.put_part(part.into())).await?;
        }
        Ok(())
    }

    /// Makes the object visible.
    ///
    /// # Errors
    /// The storage; the object is not there then.
    pub async fn finish(mut self) -> Result<(), AssetError> {
        let rest = self.waiting.split().freeze();
        in_time(self.parts.put_part(rest.into())).await?;
        in_time(self.parts.complete()).await?;
        self.is_open = false;
        Ok(())
    }

    /// Gives the object up.
    pub async fn abandon(mut self) {
        if self.is_open && in_time(self.parts.abort()).await.is_ok() {
            self.is_open = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(store: &AssetStore, key: &str) -> Result<Vec<u8>, AssetError> {
        let mut stream = store.read(key).await?;
        let mut bytes = Vec::new();
        while let Some(chunk) = stream.next().await {
            bytes.extend_from_slice(&chunk?);
        }
        Ok(bytes)
    }

    #[tokio::test]
    async fn an_object_is_whole_or_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let store = AssetStore::files(&directory.path().join("new")).unwrap();
        let bytes: Vec<u8> = (0..20_000_000_u32).map(|n| n.to_le_bytes()[1]).collect();
        let mut upload = store.begin("a/b/c.bin").await.unwrap();
        for chunk in bytes.chunks(70_001) {
            upload.write(chunk).await.unwrap();
        }
        assert_eq!(all(&store, "a/b/c.bin").await, Err(AssetError::NotFound));
        upload.finish().await.unwrap();
        assert_eq!(all(&store, "a/b/c.bin").await.unwrap(), bytes);
        assert_eq!(store.size("a/b/c.bin").await, Ok(20_000_000));
        for _ in 0..2 {
            store.copy("a/b/c.bin", "d/b/c.bin").await.unwrap();
            store.copy("d/b/c.bin", "a/b/c.bin").await.unwrap();
        }
        assert_eq!(std::fs::read_dir(directory.path().join("new/a/b")).unwrap().count(), 1);
        assert_eq!(std::fs::read_dir(directory.path().join("new/d/b")).unwrap().count(), 1);
        store.delete("a/b/c.bin").await.unwrap();
        store.delete("a/b/c.bin").await.unwrap();
        assert_eq!(store.size("a/b/c.bin").await, Err(AssetError::NotFound));
        assert_eq!(all(&store, "d/b/c.bin").await.unwrap(), bytes);
        let mut upload = store.begin("x").await.unwrap();
        upload.write(b"never").await.unwrap();
        upload.abandon().await;
        assert_eq!(store.size("x").await, Err(AssetError::NotFound));
        let mut upload = store.begin("y/z").await.unwrap();
        upload.write(b"killed").await.unwrap();
        std::mem::forget(upload);
        let left = directory.path().join("new/y/z#1");
        assert!(left.exists());
        store.delete("y/z").await.unwrap();
        assert!(!left.exists());
        assert_eq!(store.signed_url("d/b/c.bin", TIME).await, Ok(None));
    }

    #[tokio::test]
    async fn a_bucket_is_named_where_its_storage_wants_it() {
        let url = async |endpoint: Option<&str>, path_style: bool| {
            let bucket = Bucket {
                endpoint: endpoint.map(str::to_owned),
                region: "eu-south-1".into(),
                name: "fleet".into(),
                access_key: "key".into(),
                secret_key: Secret::new("secret".to_owned()),
                prefix: "a/b".into(),
                path_style,
            };
            let url = AssetStore::bucket(&bucket).unwrap().signed_url("c", TIME).await.unwrap().unwrap();
            url.split('?').next().unwrap().to_owned()
        };
        let own = Some("https://s3.example.org:9000");
        assert_eq!(url(own, true).await, "https://s3.example.org:9000/fleet/a/b/c");
        assert_eq!(url(own, false).await, "https://fleet.s3.example.org:9000/a/b/c");
        assert_eq!(url(None, true).await, "https://s3.eu-south-1.amazonaws.com/fleet/a/b/c");
        assert_eq!(url(None, false).await, "https://fleet.s3.eu-south-1.amazonaws.com/a/b/c");
    }
}
