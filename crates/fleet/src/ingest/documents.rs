//! Inventory documents: decoded, checked, compressed, queued durably (spec: systems-interface#inventory,
//! inventory#processing).

use super::ATTEMPTS;
use crate::Fleet;
use bailiwick_domain::{Error, Result, SystemId, Ts};
use bailiwick_inventory::{ListLimits, Rejected, accept};
use bailiwick_store::{Db, StoreError, inventory};
use bytes::Bytes;
use serde_json::json;
use std::io::Read;
use tokio::sync::OwnedSemaphorePermit;

/// KiB of documents that may be in preparation, as text, or wait for their commit, compressed, at one time.
pub(super) const ROOM_KIB: usize = 128 * 1024;
/// Compressed bytes of one transaction at most; a larger document has its own.
const GROUP_BYTES: usize = 8 * 1024 * 1024;
/// Texts up to this size are prepared on the request thread: moving them to another costs more.
const SMALL: usize = 256 * 1024;

/// A document as received.
#[derive(Clone, Debug)]
pub struct Document {
    /// The body, at most the configured limit.
    pub body: Bytes,
    /// Whether the body is compressed with gzip.
    pub is_gzip: bool,
}

impl Document {
    /// Bytes of its text; of a compressed one at least its own, and as many as its end says.
    fn size(&self) -> usize {
        let end = self.body.last_chunk::<4>().filter(|_| self.is_gzip);
        let said = end.map_or(0, |bytes| u32::from_le_bytes(*bytes));
        usize::try_from(said).unwrap_or(usize::MAX).max(self.body.len())
    }
}

/// A document that waits for its commit, with its room: it takes memory even if its request waits no longer.
pub(super) type Queued = (inventory::Document, OwnedSemaphorePermit);

/// The content of the 202.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Receipt.
    pub timestamp: Ts,
    /// Bytes of the canonical text.
    pub data_size: usize,
}

/// A document ready for the queue.
struct Prepared {
    hash: String,
    size: usize,
    body: Vec<u8>,
}

/// `POST /systems/inventory`: when this returns, the document is stored.
pub async fn submit(service: &Fleet, system: SystemId, document: Document) -> Result<Accepted> {
    let (received_at, longest) = (service.platform.now(), service.settings.systems.inventory_wait);
    match tokio::time::timeout(longest, queue(service, system, document, received_at)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(lost(format!("not queued within {} s", longest.as_secs_f64()))),
    }
}

async fn queue(service: &Fleet, system: SystemId, document: Document, received_at: Ts) -> Result<Accepted> {
    let limits = Limits::of(service);
    let mut bytes = document.size().min(limits.bytes);
    let (prepared, mut room) = loop {
        match prepare_within(service, &document, Limits { bytes, ..limits }).await {
            // Its end says too little, as that of a stream of several members does.
            Err(Error::TooLarge { .. }) if bytes < limits.bytes => bytes = limits.bytes,
            prepared => break prepared?,
        }
    };
    // Text and body are gone, only the compressed text waits.
    drop(document);
    let room = room.split(kib(prepared.body.len())).unwrap_or(room);
    let accepted = Accepted { timestamp: received_at, data_size: prepared.size };
    let row = inventory::Document {
        system_id: system,
        received_at,
        data_hash: prepared.hash,
        data_size: i64::try_from(prepared.size).unwrap_or(i64::MAX),
        body: prepared.body,
    };
    service.ingest().documents.submit((row, room)).await.map_err(|e| lost(e.0.to_string()))?;
    service.ingest().arrived.notify_one();
    Ok(accepted)
}

/// Prepares the document in room for as many bytes as the limits allow its text.
async fn prepare_within(
    service: &Fleet,
    document: &Document,
    limits: Limits,
) -> Result<(Prepared, OwnedSemaphorePermit)> {
    let kib = u32::try_from(kib(limits.bytes)).unwrap_or(u32::MAX);
    let room = service.ingest().room.clone().acquire_many_owned(kib).await;
    let room = room.map_err(|e| lost(e.to_string()))?;
    let document = document.clone();
    let work = move || prepare(&document, &limits).map(|prepared| (prepared, room));
    if limits.bytes <= SMALL {
        return work();
    }
    service.platform.tasks.spawn_blocking(work).await.map_err(Error::internal)?
}

/// The room for this many bytes.
fn kib(bytes: usize) -> usize {
    (bytes / 1024 + 1).min(ROOM_KIB)
}

fn lost(log: String) -> Error {
    Error::Unavailable { message: "failed to process inventory".into(), log }
}

fn rejected(why: &Rejected) -> Error {
    Error::BadRequest {
        message: "invalid inventory data".into(),
        data: json!({"validation_error": why.to_string()}),
    }
}

/// 413 of this route; `received`: the announced length, none when unknown.
pub fn too_large(max: usize, received: Option<u64>) -> Error {
    let data = json!({"max_size_bytes": max, "received_bytes": received});
    Error::TooLarge { message: "request too large".into(), data }
}

/// What a document may have.
#[derive(Clone, Copy)]
struct Limits {
    /// Bytes, decoded.
    bytes: usize,
    lists: ListLimits,
}

impl Limits {
    fn of(service: &Fleet) -> Limits {
        let settings = &service.settings.systems;
        let entries = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        Limits {
            bytes: settings.inventory_max_bytes,
            lists: ListLimits {
                entries: entries(settings.inventory_list_entries),
                applications: entries(settings.applications),
            },
        }
    }
}

fn prepare(document: &Document, limits: &Limits) -> Result<Prepared> {
    let decoded;
    let text = if document.is_gzip && !document.body.is_empty() {
        decoded = gunzip(&document.body, limits.bytes)?;
        decoded.as_slice()
    } else {
        &document.body[..]
    };
    let text = accept(text, &limits.lists).map_err(|e| rejected(&e))?;
    let size = text.size();
    let body = zstd::bulk::compress(text.text.as_bytes(), 1).map_err(Error::internal)?;
    Ok(Prepared { hash: text.hash, size, body })
}

/// Decodes all members of the stream; stops after `max` bytes of output.
fn gunzip(body: &[u8], max: usize) -> Result<Vec<u8>> {
    let mut decoded = Vec::with_capacity(body.len().saturating_mul(4).min(max));
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    let read = flate2::read::MultiGzDecoder::new(body).take(limit).read_to_end(&mut decoded);
    read.map_err(|_| rejected(&Rejected::NotGzip))?;
    if decoded.len() > max { Err(too_large(max, u64::try_from(body.len()).ok())) } else { Ok(decoded) }
}

/// Commits the group before its senders are answered; in a few large transactions rather than one endless one.
pub(super) async fn write(db: Db, group: Vec<Queued>) -> Result<Vec<()>, StoreError> {
    let waiting = group.len();
    let (group, _room): (Vec<inventory::Document>, Vec<OwnedSemaphorePermit>) = group.into_iter().unzip();
    let mut chunk: Vec<inventory::Document> = Vec::new();
    let mut bytes = 0;
    for document in group {
        if !chunk.is_empty() && bytes + document.body.len() > GROUP_BYTES {
            commit(&db, std::mem::take(&mut chunk)).await?;
            bytes = 0;
        }
        bytes += document.body.len();
        chunk.push(document);
    }
    commit(&db, chunk).await?;
    Ok(vec![(); waiting])
}

/// Retries a transaction that the database aborted because of a conflict.
async fn commit(db: &Db, chunk: Vec<inventory::Document>) -> Result<(), StoreError> {
    for _ in 1..ATTEMPTS {
        match commit_once(db, chunk.clone()).await {
            Err(e) if e.is_collision() => {}
            done => return done,
        }
    }
    commit_once(db, chunk).await
}

async fn commit_once(db: &Db, chunk: Vec<inventory::Document>) -> Result<(), StoreError> {
    let mut tx = db.begin().await?;
    inventory::enqueue(&mut tx, chunk).await?;
    tx.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Bytes {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().into()
    }

    fn limits(bytes: usize) -> Limits {
        Limits { bytes, lists: ListLimits { entries: 100, applications: 100 } }
    }

    fn refused(body: Bytes, is_gzip: bool, max: usize) -> Error {
        prepare(&Document { body, is_gzip }, &limits(max)).err().unwrap()
    }

    #[test]
    fn plain_and_compressed_give_the_same() {
        let text = br#"{"b": 1, "a": 12345678901234567890}"#;
        let plain = prepare(&Document { body: text.to_vec().into(), is_gzip: false }, &limits(1000)).unwrap();
        let zipped = prepare(&Document { body: gzip(text), is_gzip: true }, &limits(1000)).unwrap();
        assert_eq!((&plain.hash, plain.size), (&zipped.hash, zipped.size));
        let stored = zstd::bulk::decompress(&zipped.body, plain.size).unwrap();
        assert_eq!(stored, br#"{"a":12345678901234567890,"b":1}"#);
    }

    #[test]
    fn a_compressed_document_takes_the_room_of_its_text() {
        let size = |body: Bytes, is_gzip| Document { body, is_gzip }.size();
        let zipped = gzip(&vec![b' '; 1_000_000]);
        assert_eq!((size(zipped.clone(), true), size(zipped.clone(), false)), (1_000_000, zipped.len()));
        assert_eq!(size(Bytes::from_static(b"{}"), true), 2);
        // Only the last member counts, and no text is smaller than what was received.
        let several = [zipped, gzip(b" ")].concat();
        assert_eq!(size(several.clone().into(), true), several.len());
    }

    #[test]
    fn a_bomb_is_too_large_and_rubbish_is_not_json() {
        let bomb = gzip(&vec![b' '; 1_000_000]);
        assert!(matches!(refused(bomb, true, 10_000), Error::TooLarge { .. }));
        for body in [&b"\x1f\x8b\x08rubbish"[..], b"{}"] {
            let Error::BadRequest { data, .. } = refused(body.to_vec().into(), true, 1000) else { panic!() };
            assert_eq!(data["validation_error"], "data must be valid JSON: it cannot be decompressed");
        }
        let cut = gzip(b"{\"a\":1}");
        let Error::BadRequest { .. } = refused(cut.slice(..cut.len() - 9), true, 1000) else { panic!() };
        let Error::BadRequest { data, .. } = refused(Bytes::new(), true, 1000) else { panic!() };
        assert_eq!(data["validation_error"], "data is required");
        let Error::BadRequest { data, .. } = refused(gzip(b"[]"), true, 1000) else { panic!() };
        assert_eq!(data["validation_error"], "data must be a JSON object");
    }
}
