//! The worker of spec: inventory#processing: queued documents become records with their differences.
//!
//! Entries are claimed with a lease, all of a system together, so that a system's documents are processed in order and
//! different systems in parallel. When a worker dies, the leases of its entries end. Processing an entry twice changes
//! nothing, because the transaction that uses an entry also removes it.

use super::{
    plan::{self, Plan, QueuedDocument, Work},
    write,
};
use crate::Fleet;
use bailiwick_domain::{Result, SystemId};
use bailiwick_inventory::Rules;
use bailiwick_platform::{
    jobs,
    worker::{Worker, until_idle},
};
use bailiwick_store::{
    StoreError,
    inventory::{self, Claimed, Packed, Stored},
};
use futures_util::stream::{self, StreamExt as _};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};
use tracing::Instrument;

/// Name of the work in logs and traces.
const KIND: &str = "inventory";
/// Entries claimed at one time.
const CLAIMS: i64 = 128;
/// Entries of one transaction.
const BATCH: usize = 32;
/// Bytes of texts of one transaction; a single larger text has a transaction of its own.
const BATCH_BYTES: i64 = 16 * 1024 * 1024;
/// Entries of one system in one transaction; further ones wait for the next claim.
const OF_SYSTEM: usize = 8;
/// Rows of applications and changes of one transaction: other writers get their turn after it. A system that brings
/// more has a transaction of its own.
const ROWS: usize = 4_000;
/// Concurrent batches: while one is planned another one is written.
const LANES: usize = 3;
/// Longest time a claimed entry waits after its worker has died. Many times longer than a claim takes.
const LEASE: Duration = Duration::from_secs(30);
/// How often the queue is polled without a hint.
const POLL: Duration = Duration::from_secs(2);
/// How often a full queue is logged.
const WATCH: Duration = Duration::from_secs(60);
/// Failures before an entry is put aside.
const ATTEMPTS: i64 = 3;
/// Longest wait before the next try.
pub const LONGEST_DELAY: Duration = Duration::from_secs(300);
/// Longest error text kept.
const ERROR_CHARS: usize = 2000;

/// Starts the worker on the application's tracker.
pub fn start_worker(service: &Fleet) {
    let worker = service.clone();
    service.platform.tasks.spawn(async move {
        let mut watched = Instant::now();
        let service = &worker;
        let step = || {
            let is_watch_due = watched.elapsed() >= WATCH;
            if is_watch_due {
                watched = Instant::now();
            }
            async move {
                if is_watch_due {
                    watch_queue(service).await;
                }
                work_off(service).await
            }
        };
        let failure = "the inventory queue cannot be worked on";
        let hint = Some(&service.ingest().arrived);
        Worker { name: KIND, failure, poll: POLL, hint, step }.run(&service.platform.stop).await;
    });
}

/// Processes all due entries; for tests and commands. Returns their number.
pub async fn run_until_idle(service: &Fleet) -> Result<u64> {
    until_idle(|| work_off(service)).await
}

/// Claims once and processes the claimed entries.
async fn work_off(service: &Fleet) -> Result<u64> {
    let _turn = service.ingest().hold_worker().await;
    let mut tx = service.platform.db.begin_relaxed().await?;
    let claimed = inventory::claim(&mut tx, service.platform.now(), LEASE, CLAIMS).await?;
    if claimed.is_empty() {
        return Ok(0);
    }
    tx.commit().await?;
    let count = claimed.len() as u64;
    let (batches, surplus) = batches(claimed);
    let handled = |batch| handle(service, batch).instrument(jobs::span(KIND));
    let mut outcomes = stream::iter(batches).map(handled).buffer_unordered(LANES);
    let mut first_error = Ok(());
    while let Some(outcome) = outcomes.next().await {
        first_error = first_error.and(outcome);
    }
    drop(outcomes);
    release(service, &surplus).await?;
    first_error.map(|()| count)
}

/// The entries of each system in order, with as many systems together as one transaction takes; and the entries of a
/// system beyond what one transaction takes.
fn batches(claimed: Vec<Claimed>) -> (Vec<Vec<Vec<Claimed>>>, Vec<Claimed>) {
    let mut systems: Vec<(i64, Vec<Claimed>)> = Vec::new();
    let mut indexes: HashMap<SystemId, usize> = HashMap::new();
    let mut surplus = Vec::new();
    for entry in claimed {
        let index = *indexes.entry(entry.system_id).or_insert(systems.len());
        match systems.get_mut(index) {
            // Once an entry is too much, so are the entries behind it.
            Some((bytes, entries)) => {
                *bytes += entry.data_size;
                if *bytes > BATCH_BYTES || entries.len() >= OF_SYSTEM {
                    surplus.push(entry)
                } else {
                    entries.push(entry)
                }
            }
            None => systems.push((entry.data_size, vec![entry])),
        }
    }
    let mut batches: Vec<Vec<Vec<Claimed>>> = Vec::new();
    let (mut count, mut bytes) = (BATCH, 0);
    for (_, entries) in systems {
        let more: i64 = entries.iter().map(|entry| entry.data_size).sum();
        if count + entries.len() > BATCH || bytes + more > BATCH_BYTES {
            batches.push(Vec::new());
            (count, bytes) = (0, 0);
        }
        (count, bytes) = (count + entries.len(), bytes + more);
        if let Some(batch) = batches.last_mut() {
            batch.push(entries);
        }
    }
    (batches, surplus)
}

/// Processes a batch together. If that fails, each system is processed by itself, and then entry by entry, so that a
/// bad document only counts against its own entry.
async fn handle(service: &Fleet, batch: Vec<Vec<Claimed>>) -> Result<()> {
    let text = match together(service, &batch).await {
        Ok(failed) => {
            for (entry, text, untouched) in failed {
                put_back(service, &entry, &text).await?;
                release(service, &untouched).await?;
            }
            return Ok(());
        }
        Err(Failure::Unreachable(e)) => return Err(e.into()),
        Err(Failure::Failed(text)) => text,
    };
    let systems = batch.len();
    for mut entries in batch {
        if systems == 1 && entries.len() <= 1 {
            if let Some(entry) = entries.pop() {
                put_back(service, &entry, &text).await?;
            }
            continue;
        }
        let rest = if systems == 1 { entries.split_off(1) } else { Vec::new() };
        Box::pin(handle(service, vec![entries])).await?;
        release(service, &rest).await?;
    }
    Ok(())
}

/// An unusable entry, the reason, and the entries of its system behind it.
type Unusable = (Claimed, String, Vec<Claimed>);

/// Reads the rows that a batch needs, plans it on a worker thread, and writes it in one transaction.
async fn together(service: &Fleet, batch: &[Vec<Claimed>]) -> Result<Vec<Unusable>, Failure> {
    let Some(claimed_until) = batch.iter().flatten().map(|entry| entry.claimed_until).next() else {
        return Ok(Vec::new());
    };
    let works = read(service, batch).await?;
    let own = service.settings.systems.inventory_rules.clone();
    let planning = service.platform.tasks.spawn_blocking(move || {
        let rules = own.as_deref().unwrap_or_else(|| Rules::standard());
        works.into_iter().map(|work| plan::plan(rules, work)).collect::<Vec<_>>()
    });
    let mut plans = planning.await.map_err(|e| Failure::Failed(e.to_string()))?;
    let mut failed = Vec::new();
    for plan in &mut plans {
        if let Some((entry, text)) = plan.failed.take() {
            failed.push((entry, text, std::mem::take(&mut plan.untouched)));
        }
    }
    for portion in portions(plans) {
        let stale = write::write(service, claimed_until, portion).await?;
        // If this fails, the lease expires.
        if let Err(e) = release(service, &stale).await {
            tracing::warn!(error = %e, "entries cannot be given back");
        }
    }
    Ok(failed)
}

/// The plans of each transaction.
fn portions(plans: Vec<Plan>) -> Vec<Vec<Plan>> {
    let mut portions: Vec<Vec<Plan>> = Vec::new();
    let mut rows = ROWS;
    for plan in plans {
        rows += plan.rows();
        match portions.last_mut() {
            Some(portion) if rows <= ROWS => portion.push(plan),
            _ => {
                rows = plan.rows();
                portions.push(vec![plan]);
            }
        }
    }
    portions
}

/// The bodies of a batch and the records they are compared with.
async fn read(service: &Fleet, batch: &[Vec<Claimed>]) -> Result<Vec<Work>, Failure> {
    let entries = || batch.iter().flatten();
    let ids: Vec<i64> = entries().filter(|e| e.same_as.is_none()).map(|entry| entry.id).collect();
    let mut bodies =
        if ids.is_empty() { HashMap::new() } else { inventory::bodies(&service.platform.db, &ids).await? };
    let systems: Vec<SystemId> =
        batch.iter().filter_map(|entries| entries.first()).map(|entry| entry.system_id).collect();
    let mut latest: HashMap<SystemId, Stored> = HashMap::new();
    let mut texts: HashMap<i64, Packed> = HashMap::new();
    for stored in inventory::latest_of(&service.platform.db, &systems).await? {
        texts.insert(stored.id, stored.text.clone());
        latest.insert(stored.system_id, stored);
    }
    // Rare: the latest record at receipt is no longer the latest.
    let older: Vec<i64> =
        entries().filter_map(|entry| entry.same_as).filter(|id| !texts.contains_key(id)).collect();
    if !older.is_empty() {
        let stored = inventory::stored(&service.platform.db, &older).await?;
        texts.extend(stored.into_iter().map(|stored| (stored.id, stored.text)));
    }
    let mut works = Vec::with_capacity(batch.len());
    for of_system in batch {
        let Some(system) = of_system.first().map(|entry| entry.system_id) else { continue };
        let with_text = of_system.iter().map(|claimed| QueuedDocument {
            claimed: claimed.clone(),
            body: bodies.remove(&claimed.id).unwrap_or_default(),
            same: claimed.same_as.and_then(|id| texts.get(&id).cloned()),
        });
        works.push(Work { system, entries: with_text.collect(), latest: latest.remove(&system) });
    }
    Ok(works)
}

/// Gives entries back unused.
async fn release(service: &Fleet, entries: &[Claimed]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut tx = service.platform.db.begin_relaxed().await?;
    for entry in entries {
        inventory::release(&mut tx, entry).await?;
    }
    Ok(tx.commit().await?)
}

/// Why entries could not be handled.
#[derive(Debug)]
pub(super) enum Failure {
    /// The database is away; this does not count against the documents.
    Unreachable(StoreError),
    /// Everything else counts as an attempt.
    Failed(String),
}

impl From<StoreError> for Failure {
    fn from(e: StoreError) -> Failure {
        if e.is_transient() { Failure::Unreachable(e) } else { Failure::Failed(e.to_string()) }
    }
}

/// Handles a failed entry: it is retried, or quarantined.
async fn put_back(service: &Fleet, entry: &Claimed, error: &str) -> Result<()> {
    let error: String = error.replace('\0', " ").chars().take(ERROR_CHARS).collect();
    let (now, attempt) = (service.platform.now(), entry.attempts + 1);
    let mut tx = service.platform.db.begin().await?;
    if attempt >= ATTEMPTS {
        tracing::warn!(entry = entry.id, system = %entry.system_id, error, "inventory document quarantined");
        inventory::quarantine(&mut tx, entry, now, &error).await?;
    } else {
        let seconds = u64::try_from(attempt).unwrap_or(1).saturating_mul(5);
        let delay = Duration::from_secs(seconds).min(LONGEST_DELAY);
        inventory::retry(&mut tx, entry, now.plus(delay), &error).await?;
    }
    Ok(tx.commit().await?)
}

/// Logs how full the queue is when it is too full (spec: inventory#processing).
async fn watch_queue(service: &Fleet) {
    let state = match inventory::state(&service.platform.db).await {
        Ok(state) => state,
        Err(e) => return tracing::warn!(error = %e, "the inventory queue cannot be counted"),
    };
    let (pending, quarantined) = (state.pending, state.quarantined);
    if quarantined > 100 || pending > 10_000 {
        tracing::error!(pending, quarantined, "the inventory queue is critically full");
    } else if quarantined > 10 || pending > 1000 {
        tracing::warn!(pending, quarantined, "the inventory queue is filling");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{pack, plan::QueuedDocument};
    use bailiwick_domain::Ts;
    use bailiwick_inventory::Rules;
    use serde_json::json;

    /// An entry of a system.
    fn claimed(system: u128, id: i64) -> Claimed {
        let at = Ts::from_secs(1_800_000_000);
        Claimed {
            id,
            system_id: SystemId(uuid::Uuid::from_u128(system)),
            received_at: at,
            data_hash: id.to_string(),
            data_size: 100,
            same_as: None,
            attempts: 0,
            claimed_until: at,
        }
    }

    /// The plan of a system's first document, which lists so many modules.
    fn planned(system: u128, modules: usize) -> Plan {
        let modules: Vec<_> = (0..modules).map(|n| json!({"id": format!("m{n}"), "module": "m"})).collect();
        let text = json!({"installation": "nethserver", "facts": {"modules": modules}}).to_string();
        let claimed = Claimed { data_size: text.len() as i64, ..claimed(system, 1) };
        let entry = QueuedDocument { claimed, body: pack::pack_base(&text).unwrap(), same: None };
        let system = entry.claimed.system_id;
        plan::plan(Rules::standard(), Work { system, entries: vec![entry], latest: None })
    }

    #[test]
    fn a_transaction_writes_few_rows_so_that_others_get_their_turn() {
        let sizes = |modules: &[usize]| -> Vec<usize> {
            let plans = (1..).zip(modules).map(|(system, modules)| planned(system, *modules));
            portions(plans.collect()).iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(&[1, 2, 3]), [3]);
        assert_eq!(sizes(&[1500, 1500, 1500, 10]), [2, 2]);
        // More of one system than fits cannot be divided, but stands alone.
        assert_eq!(sizes(&[10, ROWS + 1, 10]), [1, 1, 1]);
    }

    #[test]
    fn a_system_takes_few_entries_of_a_transaction() {
        let many = (0..20).map(|n| claimed(1, n)).chain([claimed(2, 20)]).collect();
        let (batches, surplus) = batches(many);
        let sizes: Vec<Vec<usize>> =
            batches.iter().map(|batch| batch.iter().map(Vec::len).collect()).collect();
        assert_eq!((sizes, surplus.len()), (vec![vec![OF_SYSTEM, 1]], 20 - OF_SYSTEM));
    }
}
