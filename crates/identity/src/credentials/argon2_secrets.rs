//! Secrets that an earlier installation has hashed with Argon2id (spec: systems-interface#credentials). Few are checked
//! at a time, and the first success replaces the hash by the service's own form.

use super::hash_secret;
use crate::{Identity, passwords};
use argon2::{ARGON2ID_IDENT, Params, PasswordHash};
use bailiwick_domain::{Error, Result, SystemId};
use bailiwick_platform::limits::acquire_within;
use bailiwick_store::{StoreError, epoch::AffectedSystems, legacy};
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// Longest text of a hash.
const MAX_CHARS: usize = 255;
/// The highest accepted cost of one check: memory in KiB, passes, lanes.
const MOST: [u32; 3] = [64 * 1024, 16, 8];
/// How long a call waits for a permit to hash.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// An imported hash that can be checked at a bounded cost.
#[derive(Clone, Debug)]
pub struct Imported(Arc<str>);

impl Imported {
    /// From its PHC form; none for any other text.
    pub fn parse(stored: &str) -> Option<Imported> {
        if stored.len() > MAX_CHARS || !stored.starts_with('$') {
            return None;
        }
        let hash = PasswordHash::new(stored).ok()?;
        let params = Params::try_from(&hash).ok()?;
        let cost = [params.m_cost(), params.t_cost(), params.p_cost()];
        let is_whole = hash.salt.is_some() && hash.hash.is_some();
        let is_bounded = cost.iter().zip(MOST).all(|(cost, most)| *cost <= most);
        (hash.algorithm == ARGON2ID_IDENT && is_whole && is_bounded).then(|| Imported(stored.into()))
    }
}

/// Permits for checks: half of the processors, so that sign-ins of people keep the other half.
#[derive(Debug)]
pub(super) struct CheckPermits(Arc<Semaphore>);

impl Default for CheckPermits {
    fn default() -> CheckPermits {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        CheckPermits(Arc::new(Semaphore::new(processors.div_ceil(2))))
    }
}

/// Whether the secret part matches the hash. If so, the service's own form is stored, unless another hash has replaced
/// this one meanwhile.
///
/// # Errors
/// 503 when too many calls wait for a permit, or when the new form cannot be stored.
pub async fn take_over(service: &Identity, id: SystemId, imported: &Imported, secret: &str) -> Result<bool> {
    let acquiring = service.credentials().imported.0.clone().acquire_owned();
    let permit =
        acquire_within(acquiring, LONGEST_WAIT, "too many imported secrets wait to be checked").await?;
    if !passwords::hash_matches(secret, &imported.0, permit).await? {
        return Ok(false);
    }
    let own = hash_secret(secret, &*service.platform.entropy);
    let unavailable = |e: StoreError| Error::security_unavailable(e.to_string());
    let mut tx = service.platform.db.begin().await.map_err(unavailable)?;
    if legacy::replace_hash(&mut tx, id, &imported.0, &own).await.map_err(unavailable)? {
        // From here on the imported hash is invalid in every process.
        tx.note_auth_epoch(AffectedSystems::Systems(vec![id])).await.map_err(unavailable)?;
        tx.commit().await.map_err(unavailable)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str =
        "$argon2id$v=19$m=19456,t=2,p=1$rQi75XBF5AMQyOqTJGm/Eg$geGC01tzwWfH/cgl+VEH2qOxdFbcwX/BWi363MdWdl0";

    #[test]
    fn only_what_can_be_checked_at_a_bounded_cost_is_taken() {
        for good in [HASH, &HASH.replace("m=19456,t=2,p=1", "m=65536,t=3,p=4")] {
            assert!(Imported::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "$",
            "$argon2id$",
            &HASH.replace("argon2id", "argon2i"),
            &HASH.replace("argon2id", "scrypt"),
            &HASH.replace("m=19456", "m=4194304"),
            &HASH.replace("t=2", "t=1000"),
            &HASH.replace("p=1", "p=255"),
            &HASH[..HASH.len() - 44],
            &HASH.replace('$', ":"),
            &format!("{HASH}{}", "A".repeat(300)),
        ] {
            assert!(Imported::parse(bad).is_none(), "{bad}");
        }
    }
}
