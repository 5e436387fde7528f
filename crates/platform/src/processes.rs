//! Which processes serve the database: each gives a sign of life with what others must know of it, its names in tokens and
//! the fingerprints of its secrets.

use crate::{Platform, ServiceNames};
use bailiwick_domain::{Result, Ts};
use bailiwick_store::{
    StoreError, leases,
    processes::{self, Process},
    sql::On,
};
use std::time::Duration;

/// Between two signs.
const EVERY: Duration = Duration::from_secs(15);
/// After so long without one a process counts as gone; longer than a database is away in passing.
const GONE_AFTER: Duration = Duration::from_secs(60);
/// How long the row of a process that was killed is kept.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// Those that have given a sign lately. What is far ahead was written by a clock that has been set back since.
pub async fn alive(on: impl Into<On<'_>>, now: Ts) -> Result<Vec<Process>, StoreError> {
    processes::seen(on, now.minus(GONE_AFTER), now.plus(GONE_AFTER)).await
}

/// Gives the first sign and goes on giving signs until the application stops. `host` is where this process runs, for people.
///
/// # Errors
/// The database's own, for the first sign.
pub async fn start(platform: &Platform, host: String) -> Result<()> {
    sign(platform, &host).await?;
    let own = platform.clone();
    platform.tasks.spawn(async move {
        while own.stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            if let Err(e) = sign(&own, &host).await {
                tracing::warn!(error = %e, "no sign of life could be given to other processes");
            }
        }
        if let Err(e) = processes::leave(&own.db, own.instance()).await {
            tracing::warn!(error = %e, "other processes learn only in a minute that this one has ended");
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

/// Whether a token with this process's names is taken by any that serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokensTaken {
    /// There is one.
    ByAll,
    /// Nobody serves the database.
    NobodyServes,
    /// Those that serve have these names: issuer, audience, public address.
    Not(Vec<(String, String, String)>),
}

/// Who takes tokens of this process's settings.
///
/// # Errors
/// The database's own.
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

pub async fn end_leases_of_dead(platform: &Platform) -> Result<()> {
    if platform.db.is_postgres() {
        return Ok(());
    }
    let mut tx = platform.db.begin_relaxed().await?;
    leases::release_all(&mut tx, platform.now()).await?;
    Ok(tx.commit().await?)
}
