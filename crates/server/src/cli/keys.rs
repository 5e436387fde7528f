//! `bailiwick keys …`, and for every command with a secret the check that the database was made with it.

use super::{compose, print};
use crate::{
    config::{self, Config, DatabaseUrl, LocatedSecret},
    ports::{SystemClock, SystemEntropy},
};
use bailiwick_alerts::config as alert_config;
use bailiwick_app::{App, database::Db};
use bailiwick_domain::Clock;
use bailiwick_events::subscriptions;
use bailiwick_identity::{auth, factors, logto_sync, oidc::keys};
use bailiwick_platform::secrets::{self, Purpose, SecretFingerprints, SecretRefused};
use std::fs;

/// The secret, once the database has accepted it; a new one for an unused database. The error is a text for the
/// operator.
pub async fn admitted(config: &Config, db: &Db, purpose: Purpose) -> Result<config::Secret, String> {
    let (located, is_new) = match config::find_secret(config)? {
        Some(located) => (located, false),
        None if secrets::is_unused(db).await.map_err(|e| e.to_string())? => {
            (config::make_secret(config, &SystemEntropy)?, true)
        }
        None => return Err(lost(config)),
    };
    let given = given(config, &located)?;
    let tokens_live = config.tokens.refresh_lifetime;
    let admitted = secrets::admit(db, SystemClock.now(), tokens_live, &given, purpose).await;
    match admitted.map_err(|e| format!("the secrets of the database cannot be read: {e}"))? {
        Ok(()) => Ok(located.secret),
        Err(refused) => {
            // Another process was first, with another one.
            if is_new {
                let _ = fs::remove_file(config::secret_file(config));
            }
            Err(refusal(config, &located.origin, &refused))
        }
    }
}

fn given(config: &Config, located: &LocatedSecret) -> Result<SecretFingerprints, String> {
    let previous = config.general.previous_secret.as_ref().map(|secret| secret.reveal().as_bytes());
    SecretFingerprints::of(located.secret.reveal().as_bytes(), previous).map_err(|e| e.to_string())
}

/// The database in words, without its credentials.
pub(super) fn named(config: &Config) -> String {
    match config.database_url() {
        DatabaseUrl::Sqlite(path) => path.display().to_string(),
        DatabaseUrl::Postgres(url) => url::Url::parse(url.reveal()).map_or_else(
            |_| "PostgreSQL".to_owned(),
            |url| format!("{}{}", url.host_str().unwrap_or("PostgreSQL"), url.path()),
        ),
    }
}

const ON_PURPOSE: &str = "To replace it on purpose, set the new one as `secret` and the database's own as `previous_secret` \
     (docs/security.md, Keys).";
const LOST: &str = "If it is lost for good, `bailiwick keys adopt` gives up what is sealed with it.";

fn lost(config: &Config) -> String {
    format!(
        "`secret` is not set, and there is no such file: {}\n  The database {} has been used with a secret, and another one \
         would open nothing that is sealed there: none was made.\n  Put the file back, or set `secret`. {LOST}",
        config::secret_file(config).display(),
        named(config),
    )
}

fn refusal(config: &Config, origin: &str, refused: &SecretRefused) -> String {
    let previous = config.with_origin("previous_secret");
    match refused {
        SecretRefused::Other => format!(
            "{origin} is not the secret of this database ({}): what is sealed there and the tokens in use are of another one. \
             Nothing was changed.\n  Give the process the secret that the database's other processes have. {ON_PURPOSE}\n  \
             {LOST}",
            named(config),
        ),
        SecretRefused::Replaced(at) => format!(
            "{origin} was replaced: since {} everything in the database is sealed with another one, which this process needs",
            at.rfc3339(0),
        ),
        SecretRefused::Behind => format!(
            "{origin} is being replaced: set the new one as `secret` and this one as `previous_secret`, as the other processes \
             have them",
        ),
        SecretRefused::NotResealed => format!(
            "the database still has things that are sealed with the secret before {origin}: set that one as \
             `previous_secret`, and take it away after `bailiwick keys reseal`",
        ),
        SecretRefused::PreviousOther => {
            format!(
                "{previous} is not the secret that the database had beside {origin}: tokens in use would be refused"
            )
        }
        SecretRefused::Unfinished => format!(
            "{previous} is taking the place of another one itself: finish that with `bailiwick keys reseal` and those two \
             before {origin} follows"
        ),
        SecretRefused::Unaware(host) => format!(
            "{host} serves this database and does not know {origin}, so it would refuse what is signed with it.\n  First start \
             all processes with the new one as `previous_secret` beside the present `secret`, then one after another with the \
             two exchanged (docs/security.md, Keys). A process that was killed counts for a minute more.",
        ),
    }
}

/// Makes a new signing key and names it.
pub async fn rotate(app: &App) -> Result<(), String> {
    let kid = keys::rotate_signing_key(&app.identity).await.map_err(|e| e.to_string())?;
    print(&format!("{kid}\n"));
    Ok(())
}

/// Seals all stored secrets again: those of alert layers, event subscriptions and authenticator applications, and the
/// signing key.
pub async fn reseal(app: &App) -> Result<(), String> {
    nobody_seals_otherwise(app).await?;
    let done = alert_config::reseal_all(&app.alerts).await.map_err(|e| e.to_string())?;
    let lost_subscriptions = subscriptions::reseal_all(&app.events).await.map_err(|e| e.to_string())?;
    let lost_applications = factors::reseal_all(&app.identity).await.map_err(|e| e.to_string())?;
    // A user whose sealed password does not open gets another one, so that is not an error.
    logto_sync::reseal_all(&app.identity).await.map_err(|e| e.to_string())?;
    keys::rotate_signing_key(&app.identity).await.map_err(|e| e.to_string())?;
    nobody_seals_otherwise(app).await?;
    secrets::resealed(&app.platform).await.map_err(|e| e.to_string())?;
    print(&format!("{} alert configuration(s) sealed anew, and a new signing key\n", done.sealed));
    if lost_subscriptions > 0 {
        return Err(format!(
            "{lost_subscriptions} event subscription(s) have secrets that no configured secret opens (the log names them); \
             they stay as they are and deliver nothing"
        ));
    }
    if lost_applications > 0 {
        return Err(format!(
            "the authenticator applications of {lost_applications} user(s) have secrets that no configured secret opens; these \
             users need `bailiwick user reset-second-factor`"
        ));
    }
    match done.lost {
        0 => Ok(()),
        lost => Err(format!(
            "{lost} alert configuration(s) have recipients that no configured secret opens (the log names them); these stay \
             as they are, and are notified again only with the secret they were sealed with"
        )),
    }
}

async fn nobody_seals_otherwise(app: &App) -> Result<(), String> {
    let other = secrets::process_with_other_secret(&app.platform).await.map_err(|e| e.to_string())?;
    other.map_or(Ok(()), |host| {
        Err(format!(
            "{host} still seals with another `secret` than this command has: give it the new one first (a process that was \
             killed counts for a minute more)"
        ))
    })
}

/// Accepts the configured secret, or a new one, for the database although the previous one is lost.
pub async fn adopt(config: &Config) -> Result<(), String> {
    let db = compose::open(config, true).await?;
    let located = match config::find_secret(config)? {
        Some(located) => located,
        None => config::make_secret(config, &SystemEntropy)?,
    };
    let now = SystemClock.now();
    let adopted = secrets::adopt(&db, now, &given(config, &located)?).await.map_err(|e| e.to_string())?;
    let mut tx = adopted.map_err(|host| format!("{host} serves this database: stop it first"))?;
    auth::revoke_all(&mut tx, now).await.map_err(|e| e.to_string())?;
    tx.commit().await.map_err(|e| e.to_string())?;
    db.close().await;
    print(&format!(
        "{} is the database's now. Everybody signs in again. What was sealed with another one stays unusable: authenticator \
         applications until they are set up anew (people without another second factor need `bailiwick user \
         reset-second-factor`), alert recipients with secrets and event subscriptions until they are saved anew; waiting mails \
         are given up.\n",
        located.origin
    ));
    Ok(())
}
