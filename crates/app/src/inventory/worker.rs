//! The worker of contract 03 §6.1: queued documents become records, each in one transaction of its own.
//!
//! Entries are claimed with a lease, those of a system together, so that a system's documents are handled in order and
//! different systems side by side. A worker that dies leaves an entry whose lease ends; processing twice changes
//! nothing, because the entry is removed in the transaction that uses it.

use super::unpack;
use crate::App;
use bailiwick_domain::{Result, System, SystemId, Ts};
use bailiwick_inventory::{Document, Facts};
use bailiwick_store::{
    StoreError, activity,
    inventory::{self, Claimed},
    systems,
};
use std::{collections::HashMap, time::Duration};

/// Entries claimed at one time.
const CLAIMS: i64 = 64;
/// Longest time a claimed entry waits for a worker that has died. Many times what a claim takes.
const LEASE: Duration = Duration::from_secs(30);
/// How often the queue is looked at when nothing says that there is something.
const POLL: Duration = Duration::from_secs(2);
/// Failures before an entry is put aside.
const ATTEMPTS: i64 = 3;
/// Longest wait before the next try.
const LONGEST_DELAY: Duration = Duration::from_secs(300);
/// Longest error text kept.
const ERROR_CHARS: usize = 2000;

/// Starts the worker on the application's tracker.
pub fn start_worker(app: &App) {
    let (worker, stop) = (app.clone(), app.stop.clone());
    app.tasks.spawn(async move {
        if let Err(e) = end_old_leases(&worker).await {
            tracing::warn!(error = %e, "leases of an earlier process cannot be ended; they end by themselves");
        }
        while !stop.is_cancelled() {
            match work_off(&worker).await {
                Ok(0) => {}
                Ok(_) => continue,
                Err(e) => tracing::warn!(error = %e, "the inventory queue cannot be worked on"),
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = worker.ingest().arrived.notified() => {}
                () = tokio::time::sleep(POLL) => {}
            }
        }
    });
}

/// Where this process holds the database alone, whoever has claimed anything before is dead: nothing waits for leases.
async fn end_old_leases(app: &App) -> Result<()> {
    if app.db.is_postgres() {
        return Ok(());
    }
    let mut tx = app.db.begin_relaxed().await?;
    inventory::release_all(&mut tx).await?;
    Ok(tx.commit().await?)
}

/// Handles everything that is due now; for tests and commands. Answers how many entries were handled.
pub async fn run_until_idle(app: &App) -> Result<u64> {
    let mut handled = 0;
    loop {
        match work_off(app).await? {
            0 => return Ok(handled),
            n => handled += n,
        }
    }
}

/// Claims once and handles what was claimed.
async fn work_off(app: &App) -> Result<u64> {
    let _turn = app.ingest().hold_worker().await;
    let mut tx = app.db.begin_relaxed().await?;
    let claimed = inventory::claim(&mut tx, app.now(), LEASE, CLAIMS).await?;
    if claimed.is_empty() {
        return Ok(0);
    }
    tx.commit().await?;
    let mut systems: Vec<Vec<&Claimed>> = Vec::new();
    let mut places: HashMap<SystemId, usize> = HashMap::new();
    for entry in &claimed {
        let place = *places.entry(entry.system_id).or_insert(systems.len());
        match systems.get_mut(place) {
            Some(entries) => entries.push(entry),
            None => systems.push(vec![entry]),
        }
    }
    let (a, b, c, d) = tokio::join!(
        lane(app, &systems, 0),
        lane(app, &systems, 1),
        lane(app, &systems, 2),
        lane(app, &systems, 3)
    );
    a.and(b).and(c).and(d)?;
    Ok(claimed.len() as u64)
}

/// Every fourth of the systems, one after the other.
async fn lane(app: &App, systems: &[Vec<&Claimed>], first: usize) -> Result<()> {
    for entries in systems.iter().skip(first).step_by(4) {
        one_system(app, entries).await?;
    }
    Ok(())
}

/// The entries of a system in order. One that has to be tried again stops those behind it.
async fn one_system(app: &App, entries: &[&Claimed]) -> Result<()> {
    for (n, entry) in entries.iter().enumerate() {
        let Err(failure) = process(app, entry).await else { continue };
        if put_back(app, entry, failure).await? {
            let mut tx = app.db.begin_relaxed().await?;
            for waiting in &entries[n + 1..] {
                inventory::release(&mut tx, waiting).await?;
            }
            return Ok(tx.commit().await?);
        }
    }
    Ok(())
}

/// Why an entry could not be handled.
#[derive(Debug)]
enum Failure {
    /// The database is away; the document is not to blame.
    Unreachable(StoreError),
    /// Everything else counts as an attempt.
    Failed(String),
}

impl From<StoreError> for Failure {
    fn from(e: StoreError) -> Failure {
        if e.is_unreachable() { Failure::Unreachable(e) } else { Failure::Failed(e.to_string()) }
    }
}

/// True when the entry is to be tried again; false when it is put aside.
async fn put_back(app: &App, entry: &Claimed, failure: Failure) -> Result<bool> {
    let error = match failure {
        Failure::Unreachable(e) => return Err(e.into()),
        Failure::Failed(text) => text.replace('\0', " ").chars().take(ERROR_CHARS).collect::<String>(),
    };
    let (now, attempt) = (app.now(), entry.attempts + 1);
    let mut tx = app.db.begin().await?;
    let again = attempt < ATTEMPTS;
    if !again {
        tracing::warn!(entry = entry.id, system = %entry.system_id, error, "inventory document put aside");
        inventory::quarantine(&mut tx, entry, now, &error).await?;
    } else {
        let seconds = u64::try_from(attempt).unwrap_or(1).saturating_mul(5);
        let delay = Duration::from_secs(seconds).min(LONGEST_DELAY);
        inventory::retry(&mut tx, entry, now.plus(delay), &error).await?;
    }
    tx.commit().await?;
    Ok(again)
}

/// One document, one transaction: record, system columns and the end of the queue entry are kept together or not.
async fn process(app: &App, entry: &Claimed) -> Result<(), Failure> {
    // Gone = another worker has finished it after the lease.
    let Some(body) = inventory::body(&app.db, entry).await? else { return Ok(()) };
    let facts = read_facts(app, body, entry.data_size).await?;
    let now = app.now();
    let mut tx = app.db.begin_relaxed().await?;
    if !inventory::hold(&mut tx, entry).await? {
        return Ok(());
    }
    // A system deleted meanwhile has no use for its document.
    let found = systems::lock(&mut tx, entry.system_id).await?.filter(|s| !s.standing.deleted);
    if let Some(found) = found {
        let record = match inventory::latest_hash(&mut tx, entry.system_id).await? {
            Some((latest, hash)) if hash == entry.data_hash => {
                inventory::touch(&mut tx, latest, entry.received_at, now).await?;
                latest
            }
            Some(_) => inventory::record(&mut tx, entry.id, None, now).await?,
            // There is nothing the first one differs from.
            None => inventory::record(&mut tx, entry.id, Some(now), now).await?,
        };
        activity::note_inventory(&mut tx, entry.system_id, entry.received_at, record).await?;
        let mut system = found.system;
        if take_over(&mut system, facts, now) {
            systems::set_facts(&mut tx, &system).await?;
            // What alerts say about the system is kept with its credential.
            tx.bump_auth_epoch().await?;
        }
    }
    inventory::remove(&mut tx, entry.id).await?;
    Ok(tx.commit().await?)
}

async fn read_facts(app: &App, body: Vec<u8>, size: i64) -> Result<Facts, Failure> {
    const ON_THE_SPOT: i64 = 256 * 1024;
    let failed = |e: &dyn std::fmt::Display| Failure::Failed(e.to_string());
    if size <= ON_THE_SPOT {
        return facts_of(&body, size);
    }
    app.tasks.spawn_blocking(move || facts_of(&body, size)).await.map_err(|e| failed(&e))?
}

fn facts_of(body: &[u8], size: i64) -> Result<Facts, Failure> {
    let text = unpack(body, size).map_err(|e| Failure::Failed(e.to_string()))?;
    let document = Document::parse(text.as_bytes()).map_err(|e| Failure::Failed(e.to_string()))?;
    Ok(document.facts())
}

/// Fills the columns the document speaks of; true when one of them really changed (contract 03 §6.2).
fn take_over(system: &mut System, facts: Facts, now: Ts) -> bool {
    let mut changed = false;
    let mut set = |column: &mut String, fact: Option<String>| {
        if let Some(fact) = fact.filter(|fact| fact != column) {
            *column = fact;
            changed = true;
        }
    };
    set(&mut system.fqdn, facts.fqdn);
    set(&mut system.ipv4_address, facts.ipv4.map(|a| a.to_string()));
    set(&mut system.ipv6_address, facts.ipv6.map(|a| a.to_string()));
    set(&mut system.version, facts.version);
    if facts.system_type.is_some() && facts.system_type != system.system_type {
        system.system_type = facts.system_type;
        changed = true;
    }
    if changed {
        system.updated_at = now;
    }
    changed
}
