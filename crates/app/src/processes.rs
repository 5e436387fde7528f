//! Which processes serve the database: each gives a sign of life with what others must know of it, its names in tokens and
//! the fingerprints of its secrets.

use crate::App;
use bailiwick_domain::{Result, Ts};
use bailiwick_store::{
    StoreError,
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
pub(crate) async fn alive(on: impl Into<On<'_>>, now: Ts) -> Result<Vec<Process>, StoreError> {
    processes::seen(on, now.minus(GONE_AFTER), now.plus(GONE_AFTER)).await
}

/// Gives the first sign and goes on giving signs until the application stops. `host` is where this process runs, for people.
///
/// # Errors
/// The database's own, for the first sign.
pub async fn start(app: &App, host: String) -> Result<()> {
    sign(app, &host).await?;
    let app = app.clone();
    app.tasks.clone().spawn(async move {
        while app.stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            if let Err(e) = sign(&app, &host).await {
                tracing::warn!(error = %e, "no sign of life could be given to other processes");
            }
        }
        if let Err(e) = processes::leave(&app.db, app.instance()).await {
            tracing::warn!(error = %e, "other processes learn only in a minute that this one has ended");
        }
    });
    Ok(())
}

async fn sign(app: &App, host: &str) -> Result<(), StoreError> {
    let now = app.now();
    let process = Process {
        id: app.instance(),
        host: host.to_owned(),
        public_url: app.settings.public_url.clone(),
        issuer: app.settings.tokens.issuer.clone(),
        audience: app.settings.tokens.audience.clone(),
        secret: app.given.present.clone(),
        previous_secret: app.given.previous.clone(),
        started_at: app.started_at,
        seen_at: now,
    };
    processes::sign(&app.db, &process, now.minus(KEPT)).await
}

/// Whether a token with this process's names is taken by any that serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
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
pub async fn who_takes_tokens(app: &App) -> Result<Taken> {
    let serving = alive(&app.db, app.now()).await?;
    let tokens = &app.settings.tokens;
    if serving.is_empty() {
        return Ok(Taken::NobodyServes);
    }
    if serving.iter().any(|other| other.issuer == tokens.issuer && other.audience == tokens.audience) {
        return Ok(Taken::ByAll);
    }
    let mut names: Vec<_> =
        serving.into_iter().map(|other| (other.issuer, other.audience, other.public_url)).collect();
    names.sort();
    names.dedup();
    Ok(Taken::Not(names))
}
