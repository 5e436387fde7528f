//! The check that the configured secret belongs to the database. Every process must open the values that any process
//! seals, and accept the tokens that any process signs. So the database keeps fingerprints of the secrets in use, and
//! a process that lacks one of them does not start.
//!
//! A secret is *in use* from the first start with it as `secret` until everything is sealed with another one
//! ([`resealed`]). A new secret comes into use only together with its predecessor, which is given as `previous_secret`.

use crate::{Platform, keys::fingerprint, processes};
use bailiwick_domain::{Result, Ts};
use bailiwick_store::{
    Db, StoreError, Tx, organizations,
    processes::Process,
    secrets::{self, UsedSecret},
};
use std::time::Duration;

/// Fingerprints of the configured secrets of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFingerprints {
    /// Of `secret`.
    pub present: Vec<u8>,
    /// Of `previous_secret`.
    pub previous: Option<Vec<u8>>,
}

impl SecretFingerprints {
    /// Derives the fingerprints.
    ///
    /// # Errors
    /// The derivation failed; that never happens with a secret that the configuration accepts.
    pub fn of(secret: &[u8], previous: Option<&[u8]>) -> Result<SecretFingerprints> {
        let previous = previous.map(fingerprint).transpose()?.map(Vec::from);
        Ok(SecretFingerprints { present: fingerprint(secret)?.to_vec(), previous })
    }

    fn has(&self, fingerprint: &[u8]) -> bool {
        self.present == fingerprint || self.previous.as_deref() == Some(fingerprint)
    }
}

/// The purpose for which a process uses the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The process serves: a database without known secrets adopts its secret.
    Service,
    /// The process runs a command: its secret is not recorded in a database that was used before it kept fingerprints.
    Command,
}

/// Why a process may not use the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretRefused {
    /// The database knows neither this secret nor the previous one.
    Other,
    /// The secret was in use until this time.
    Replaced(Ts),
    /// A secret that this process does not have is replacing it.
    Behind,
    /// Some values are still sealed with its predecessor.
    NotResealed,
    /// The previous secret is not its predecessor.
    PreviousOther,
    /// Its predecessor still replaces another secret.
    Unfinished,
    /// A running process, on this host, does not know the secret: it would refuse tokens signed with it.
    Unaware(String),
}

/// Whether the database is unused, so that a fresh secret may be generated for it.
///
/// # Errors
/// The database's.
pub async fn is_unused(db: &Db) -> Result<bool, StoreError> {
    Ok(secrets::all(db).await?.is_empty() && organizations::owner(db).await?.is_none())
}

/// Decides whether a process may use the database, and records a secret that is new to it. `tokens_live` is the
/// lifetime of a session without a refresh.
///
/// # Errors
/// The database's; the inner error is the reason of a refusal.
pub async fn admit(
    db: &Db,
    now: Ts,
    tokens_live: Duration,
    fingerprints: &SecretFingerprints,
    purpose: Purpose,
) -> Result<Result<(), SecretRefused>, StoreError> {
    let mut tx = secrets::begin(db).await?;
    let stored = secrets::all(&mut tx).await?;
    if stored.is_empty() {
        if purpose == Purpose::Service || organizations::owner(&mut tx).await?.is_none() {
            secrets::remember(&mut tx, &fingerprints.present, now).await?;
            tx.commit().await?;
        }
        return Ok(Ok(()));
    }
    match judged(&stored, fingerprints, now.minus(tokens_live)) {
        Err(refused) => Ok(Err(refused)),
        Ok(false) => Ok(Ok(())),
        Ok(true) => {
            // A service holds a SQLite file alone; rows of other processes are left over from killed ones.
            let is_alone = purpose == Purpose::Service && !db.is_postgres();
            let others = if is_alone { Vec::new() } else { processes::alive(&mut tx, now).await? };
            if let Some(unaware) = others.iter().find(|other| !knows(other, &fingerprints.present)) {
                return Ok(Err(SecretRefused::Unaware(unaware.host.clone())));
            }
            secrets::remember(&mut tx, &fingerprints.present, now).await?;
            tx.commit().await?;
            Ok(Ok(()))
        }
    }
}

fn knows(process: &Process, fingerprint: &[u8]) -> bool {
    process.secret == fingerprint || process.previous_secret.as_deref() == Some(fingerprint)
}

/// Whether the secret must be added to those in use.
fn judged(
    stored: &[UsedSecret],
    fingerprints: &SecretFingerprints,
    tokens_from: Ts,
) -> Result<bool, SecretRefused> {
    let in_use = || stored.iter().filter(|secret| secret.resealed_at.is_none());
    let own = stored.iter().find(|secret| secret.fingerprint == fingerprints.present);
    let is_in_use = own.is_some_and(|secret| secret.resealed_at.is_none());
    let previous = fingerprints.previous.as_deref();
    let succeeds = in_use().any(|secret| previous == Some(&secret.fingerprint[..]));
    let mut missing = in_use().filter(|secret| !fingerprints.has(&secret.fingerprint)).peekable();
    if missing.peek().is_none() {
        // No lasting value needs the predecessor any more, but sessions do.
        let lives = stored.iter().any(|secret| secret.resealed_at.is_some_and(|at| at > tokens_from));
        let is_known = stored.iter().any(|secret| previous == Some(&secret.fingerprint[..]));
        return match previous {
            Some(_) if is_in_use && lives && !is_known => Err(SecretRefused::PreviousOther),
            _ => Ok(!is_in_use),
        };
    }
    Err(match own {
        Some(own) if is_in_use => {
            let is_behind = missing.any(|secret| secret.created_at > own.created_at);
            match previous {
                Some(_) => SecretRefused::PreviousOther,
                None if is_behind => SecretRefused::Behind,
                None => SecretRefused::NotResealed,
            }
        }
        _ if succeeds => SecretRefused::Unfinished,
        Some(UsedSecret { resealed_at: Some(at), .. }) => SecretRefused::Replaced(*at),
        _ => SecretRefused::Other,
    })
}

/// The host of a process that still seals with another secret than this one. There must be none before everything is
/// sealed with a new secret.
///
/// # Errors
/// The database's.
pub async fn process_with_other_secret(platform: &Platform) -> Result<Option<String>> {
    let others = processes::alive(&platform.db, platform.now()).await?;
    let own = &platform.fingerprints.present;
    Ok(others.into_iter().find(|other| other.secret != *own).map(|other| other.host))
}

/// Records that every lasting value is sealed with the present secret.
///
/// # Errors
/// The database's.
pub async fn resealed(platform: &Platform) -> Result<()> {
    let mut tx = secrets::begin(&platform.db).await?;
    secrets::remember(&mut tx, &platform.fingerprints.present, platform.now()).await?;
    secrets::resealed(&mut tx, &platform.fingerprints.present, platform.now()).await?;
    Ok(tx.commit().await?)
}

/// Makes the secret the only one of the database. Values that were sealed with other secrets are lost. On SQLite the
/// caller must hold the file alone. The caller ends all sessions in the returned transaction and commits it: without
/// their keys no token is accepted, but cookies would be.
///
/// # Errors
/// The database's; the inner error names a process that serves.
pub async fn adopt(
    db: &Db,
    now: Ts,
    fingerprints: &SecretFingerprints,
) -> Result<Result<Tx, String>, StoreError> {
    let mut tx = secrets::begin(db).await?;
    if let Some(other) = processes::alive(&mut tx, now).await?.first().filter(|_| db.is_postgres()) {
        return Ok(Err(other.host.clone()));
    }
    secrets::forget(&mut tx).await?;
    secrets::remember(&mut tx, &fingerprints.present, now).await?;
    Ok(Ok(tx))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;
    const LIFE: i64 = 1000;

    /// A secret, the time since when it is in use, and the time since when everything is sealed with another one.
    fn used_secrets(rows: &[(u8, i64, Option<i64>)]) -> Vec<UsedSecret> {
        let row = |(name, since, until): &(u8, i64, Option<i64>)| UsedSecret {
            fingerprint: vec![*name],
            created_at: Ts::from_secs(*since),
            resealed_at: until.map(Ts::from_secs),
        };
        rows.iter().map(row).collect()
    }

    fn judge(
        rows: &[(u8, i64, Option<i64>)],
        present: u8,
        previous: Option<u8>,
    ) -> Result<bool, SecretRefused> {
        let fingerprints =
            SecretFingerprints { present: vec![present], previous: previous.map(|name| vec![name]) };
        judged(&used_secrets(rows), &fingerprints, Ts::from_secs(NOW - LIFE))
    }

    #[test]
    fn one_secret_in_use() {
        let one = [(b'a', 1, None)];
        assert_eq!(judge(&one, b'a', None), Ok(false));
        // The next one is announced.
        assert_eq!(judge(&one, b'a', Some(b'b')), Ok(false));
        assert_eq!(judge(&one, b'b', Some(b'a')), Ok(true));
        assert_eq!(judge(&one, b'b', None), Err(SecretRefused::Other));
        assert_eq!(judge(&one, b'b', Some(b'c')), Err(SecretRefused::Other));
    }

    #[test]
    fn while_it_is_being_replaced() {
        let both = [(b'a', 1, None), (b'b', 2, None)];
        assert_eq!(judge(&both, b'b', Some(b'a')), Ok(false));
        assert_eq!(judge(&both, b'a', Some(b'b')), Ok(false));
        assert_eq!(judge(&both, b'a', None), Err(SecretRefused::Behind));
        assert_eq!(judge(&both, b'b', None), Err(SecretRefused::NotResealed));
        assert_eq!(judge(&both, b'b', Some(b'c')), Err(SecretRefused::PreviousOther));
        assert_eq!(judge(&both, b'c', Some(b'b')), Err(SecretRefused::Unfinished));
        assert_eq!(judge(&both, b'c', None), Err(SecretRefused::Other));
    }

    #[test]
    fn after_everything_is_sealed_anew() {
        let (late, long_ago) = (Some(NOW - LIFE + 1), Some(NOW - LIFE));
        let done = |until| [(b'a', 1, until), (b'b', 2, None)];
        assert_eq!(judge(&done(late), b'b', None), Ok(false));
        assert_eq!(judge(&done(late), b'b', Some(b'a')), Ok(false));
        assert_eq!(judge(&done(late), b'b', Some(b'c')), Err(SecretRefused::PreviousOther));
        assert_eq!(judge(&done(long_ago), b'b', Some(b'c')), Ok(false));
        assert_eq!(
            judge(&done(late), b'a', None),
            Err(SecretRefused::Replaced(Ts::from_secs(NOW - LIFE + 1)))
        );
        // Back again, and then to a third one, by the same rules.
        assert_eq!(judge(&done(late), b'a', Some(b'b')), Ok(true));
        assert_eq!(judge(&done(late), b'c', Some(b'b')), Ok(true));
    }
}
