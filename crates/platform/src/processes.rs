//! The processes that serve the database. Each process writes a sign of life with the facts that others must know of
//! it: its names in tokens and the fingerprints of its secrets.

use crate::{Platform, ServiceNames, write_check};
use bailiwick_domain::{Result, Ts};
use bailiwick_store::{
    StoreError, lease_recovery,
    processes::{self, Process},
    sql::On,
};
use std::time::Duration;

/// Time between two signs.
const EVERY: Duration = Duration::from_secs(15);
/// A process without a sign for this long counts as gone. Short outages of the database are shorter.
const GONE_AFTER: Duration = Duration::from_secs(60);
/// How long the row of a killed process stays.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// The processes with a recent sign of life. A sign far in the future does not count: a clock that was set back has
/// written it.
///
/// # Errors
/// The database's.
pub async fn alive(on: impl Into<On<'_>>, now: Ts) -> Result<Vec<Process>, StoreError> {
    processes::active_between(on, now.minus(GONE_AFTER), now.plus(GONE_AFTER)).await
}

/// Gives the first sign, and starts a task that gives further signs until the process stops. `host` shows people where
/// this process runs.
///
/// # Errors
/// The database's, for the first sign.
pub async fn start(platform: &Platform, host: String) -> Result<()> {
    sign(platform, &host).await?;
    let own = platform.clone();
    platform.tasks.spawn(async move {
        while own.stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            write_check::note(&own, sign(&own, &host).await).await;
        }
        if let Err(e) = processes::leave(&own.db, own.instance()).await {
            tracing::warn!(error = %e, "cannot remove this process from the list; the others notice within a minute");
        }
    });
    Ok(())
}

async fn sign(platform: &Platform, host: &str) -> Result<(), StoreError> {
    let now = platform.now();
    let ServiceNames { public_url, issuer, audience } = platform.names.clone();
    let process = Process {
        id: platform.instance(),
        host: host.to_owned(),
        public_url,
        issuer,
        audience,
        secret: platform.fingerprints.present.clone(),
        previous_secret: platform.fingerprints.previous.clone(),
        started_at: platform.started_at,
        seen_at: now,
    };
    processes::sign(&platform.db, &process, now.minus(KEPT)).await
}

/// Whether a serving process accepts tokens with the names of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokensTaken {
    /// At least one process accepts them.
    ByAll,
    /// No process serves the database.
    NobodyServes,
    /// The serving processes have other names: issuer, audience, public address.
    Not(Vec<(String, String, String)>),
}

/// Whether a serving process accepts tokens that this process signs.
///
/// # Errors
/// The database's.
pub async fn are_tokens_taken(platform: &Platform) -> Result<TokensTaken> {
    let serving = alive(&platform.db, platform.now()).await?;
    let own = &platform.names;
    if serving.is_empty() {
        return Ok(TokensTaken::NobodyServes);
    }
    if serving.iter().any(|other| other.issuer == own.issuer && other.audience == own.audience) {
        return Ok(TokensTaken::ByAll);
    }
    let mut names: Vec<_> =
        serving.into_iter().map(|other| (other.issuer, other.audience, other.public_url)).collect();
    names.sort();
    names.dedup();
    Ok(TokensTaken::Not(names))
}

/// Hosts and public addresses of the other serving processes that have another public address than this one.
///
/// # Errors
/// The database's.
pub async fn with_other_address(platform: &Platform) -> Result<Vec<(String, String)>> {
    let own = &platform.names.public_url;
    let serving = alive(&platform.db, platform.now()).await?.into_iter();
    let others = serving.filter(|other| other.id != platform.instance() && other.public_url != *own);
    Ok(others.map(|other| (other.host, other.public_url)).collect())
}

/// Ends the leases of dead processes on SQLite, where one process has the database alone: every process that has
/// taken a lease before is dead. It must run before this process takes a lease. On PostgreSQL it does nothing.
///
/// # Errors
/// The database's.
pub async fn end_leases_of_dead(platform: &Platform) -> Result<()> {
    if platform.db.is_postgres() {
        return Ok(());
    }
    let mut tx = platform.db.begin_relaxed().await?;
    lease_recovery::release_all(&mut tx, platform.now()).await?;
    Ok(tx.commit().await?)
}
