//! Passwords (spec: conventions#limits, account#password-operations), with limited failures. The service's own
//! passwords are hashed with argon2id off the request threads, few at a time. Passwords at a Logto tenant are checked
//! and set there ([`crate::logto_sync::passwords`]).

use crate::{
    Identity,
    auth::{Failures, GuessTarget, Reason, chain_of, check_fresh_sign_in, revoke_user},
    logto_sync::passwords as there,
};
use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier},
};
use bailiwick_domain::{
    AuditAction, ChainId, Error, Result, Ts, UserId,
    ports::random,
    validate::{self, Fields, normal_password},
};
use bailiwick_platform::{RequestContext, audit, limits::acquire_within};
use bailiwick_policy::Caller;
use bailiwick_store::{
    Tx, identities,
    mail_links::{self, Purpose},
};
use std::{future::Future, net::IpAddr, sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const SALT_BYTES: usize = 16;

/// How long a request waits for a permit to hash.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Salt and output of a hash that matches no known password. With the cost of a real one before them it is checked for
/// accounts that do not exist or have no password, so their response takes as long as any other.
const DUMMY_HASH: &str = "rQi75XBF5AMQyOqTJGm/Eg$geGC01tzwWfH/cgl+VEH2qOxdFbcwX/BWi363MdWdl0";

/// The permits for hashing and the recent failures.
pub struct Passwords {
    turns: Arc<Semaphore>,
    failures: Failures,
    /// Makes the hashes.
    hasher: Argon2<'static>,
    /// The hash of [`DUMMY_HASH`].
    nobody: String,
}

impl Passwords {
    /// As many permits as there are processors: more would only take memory (`hash_kib` each). Failures add up within
    /// `window`.
    ///
    /// # Errors
    /// A `hash_kib` that argon2 does not take.
    pub fn new(window: Duration, hash_kib: u32) -> Result<Passwords> {
        let cost = Params::new(hash_kib, Params::DEFAULT_T_COST, Params::DEFAULT_P_COST, None);
        let cost = cost.map_err(Error::internal)?;
        let (m, t, p) = (cost.m_cost(), cost.t_cost(), cost.p_cost());
        let turns = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Passwords {
            turns: Arc::new(Semaphore::new(turns)),
            failures: Failures::new(window),
            hasher: Argon2::new(Algorithm::Argon2id, Version::V0x13, cost),
            nobody: format!("$argon2id$v=19$m={m},t={t},p={p}${DUMMY_HASH}"),
        })
    }

    /// How many attempts were refused after too many failures.
    pub fn refused(&self) -> u64 {
        self.failures.refused()
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit> {
        let permit = self.turns.clone().acquire_owned();
        acquire_within(permit, LONGEST_WAIT, "too many passwords wait to be hashed").await
    }
}

/// Hashes the [normal form](normal_password) of a password with a fresh salt, in PHC form.
pub async fn hash(service: &Identity, password: &str) -> Result<String> {
    let salt = random::<SALT_BYTES>(&*service.platform.entropy);
    let password = normal_password(password).into_owned();
    let hasher = service.passwords.hasher.clone();
    let permit = service.passwords.permit().await?;
    tokio::task::spawn_blocking(move || {
        let hashed = hasher.hash_password_with_salt(password.as_bytes(), &salt);
        drop(permit);
        hashed.map(|hash| hash.to_string()).map_err(Error::internal)
    })
    .await
    .map_err(Error::internal)?
}

/// Whether the password matches the hash; without a hash false, after the same time. Not limited: a request that may be
/// a guess goes through [`matches_user`].
pub async fn verify(service: &Identity, password: &str, hash: Option<&str>) -> Result<bool> {
    let wanted = hash.unwrap_or(&service.passwords.nobody);
    let normal = normal_password(password);
    let mut is_right = hash_matches(&normal, wanted, service.passwords.permit().await?).await?;
    if !is_right && normal != password {
        // Hashes of the time before passwords had a normal form.
        is_right = hash_matches(password, wanted, service.passwords.permit().await?).await?;
    }
    Ok(is_right && hash.is_some())
}

/// Whether the text matches the hash. `permit` is released when the check ends, even if the caller has left.
pub(crate) async fn hash_matches(text: &str, hash: &str, permit: OwnedSemaphorePermit) -> Result<bool> {
    let (password, hash) = (text.to_owned(), hash.to_owned());
    tokio::task::spawn_blocking(move || {
        // With the cost that the hash names.
        let outcome = Argon2::default().verify_password(password.as_bytes(), hash.as_str());
        drop(permit);
        match outcome {
            Ok(()) => Ok(true),
            Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
            Err(e) => Err(Error::internal(format!("unreadable password hash: {e}"))),
        }
    })
    .await
    .map_err(Error::internal)?
}

/// The check behind sign-in, own password change and step-up. False after too many failures of an account that the
/// caller knows only by name.
///
/// # Errors
/// 429 when the account or name, the address or the two together have failed too often (spec: conventions#limits).
pub async fn matches_user(
    service: &Identity,
    guessed: GuessTarget<'_>,
    client_ip: IpAddr,
    password: &str,
    hash: Option<&str>,
) -> Result<bool> {
    limited(service, guessed, client_ip, verify(service, password, hash)).await
}

async fn limited(
    service: &Identity,
    guessed: GuessTarget<'_>,
    client_ip: IpAddr,
    check: impl Future<Output = Result<bool>>,
) -> Result<bool> {
    let (failures, limits) = (&service.passwords.failures, &service.settings.limits);
    let mut attempt = failures.attempt(limits, service.platform.now(), guessed, client_ip)?;
    let counting = attempt.shared(service.as_ref(), limits).count(service.as_ref());
    let counted = match failures.is_suspected(&attempt) {
        // Saves the hash of a guess that will probably be refused.
        true => match counting.await {
            Ok(counted) => Ok((counted, check.await)),
            Err(retry_after) => Err(retry_after),
        },
        // A refusal does not wait for the check.
        false => tokio::try_join!(counting, async { Ok(check.await) }),
    };
    let (counted, checked) = counted.map_err(|retry_after| {
        failures.refuse(&attempt);
        Error::TooMany { retry_after }
    })?;
    if counted.is_rejected && !attempt.is_rejected() {
        failures.reject_account(&mut attempt);
    }
    let checked = checked.map(|is_right| is_right && !attempt.is_rejected());
    // An overload is not a wrong password.
    if !matches!(checked, Ok(false)) {
        failures.forget(&attempt);
        counted.take_back(service.as_ref());
    }
    checked
}

/// The origin of a new password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Chosen by a person: by the user, or by an administrator for them.
    Chosen,
    /// Drawn and mailed: must be replaced at the first sign-in and expires (spec: openid-provider#endpoints).
    Generated,
}

/// Stores a hash, if the password is kept here, and ends the access that the old one gave (spec:
/// authentication#session-chains). `keep` is the calling chain of an own change. False when there is no such user.
pub async fn set_password(
    tx: &mut Tx,
    now: Ts,
    user: UserId,
    hash: Option<&str>,
    origin: Origin,
    keep: Option<ChainId>,
) -> Result<bool> {
    let generated_at = (origin == Origin::Generated).then_some(now);
    let changed = match hash {
        Some(hash) => identities::set_password(tx, user, hash, generated_at).await?,
        None => u64::from(identities::get_for_login(tx, user).await?.is_some()),
    };
    // Earlier links and mailed passwords must not apply to the new password.
    mail_links::end_of_user(tx, user, Purpose::Password, now).await?;
    mail_links::note_mailed(tx, user, None).await?;
    revoke_user(tx, now, user, keep, Reason::PasswordChanged).await?;
    Ok(changed > 0)
}

/// Where a user's password is.
#[derive(Clone, Debug)]
pub enum PasswordLocation {
    /// Here, as this hash.
    Local(String),
    /// At the tenant, of this account.
    AtTenant(String),
}

/// Where the user's password is kept. None where the user has none; at a tenant, until the user has an account.
pub async fn location(service: &Identity, user: UserId) -> Result<Option<PasswordLocation>> {
    if let Some(logto) = &service.logto {
        return Ok(there::find(service, logto, user).await?.map(PasswordLocation::AtTenant));
    }
    if !service.settings.identity.is_embedded() {
        // With sign-in at another provider, an earlier password of this service proves nothing.
        return Ok(None);
    }
    Ok(identities::password(&service.platform.db, user)
        .await?
        .and_then(|password| password.hash)
        .map(PasswordLocation::Local))
}

/// The check behind step-up and own change, wherever the password is kept.
///
/// # Errors
/// 429 as [`matches_user`], 502 and 504 for the provider.
pub async fn verify_at(
    service: &Identity,
    user: UserId,
    client_ip: IpAddr,
    password: &str,
    location: &PasswordLocation,
) -> Result<bool> {
    let guessed = GuessTarget::User(user);
    match (location, &service.logto) {
        (PasswordLocation::AtTenant(account), Some(logto)) => {
            limited(service, guessed, client_ip, there::is_password(logto, account, password)).await
        }
        (PasswordLocation::Local(hash), _) => {
            matches_user(service, guessed, client_ip, password, Some(hash)).await
        }
        (PasswordLocation::AtTenant(_), None) => Ok(false),
    }
}

/// Whether the password checked outside a transaction is still current. Changes at a tenant are not reported, so the
/// answer there is always yes.
pub async fn is_unchanged(tx: &mut Tx, user: UserId, location: &PasswordLocation) -> Result<bool> {
    let PasswordLocation::Local(hash) = location else { return Ok(true) };
    Ok(identities::password(tx, user).await?.and_then(|p| p.hash).as_ref() == Some(hash))
}

/// A new password where it is to be.
pub struct Prepared {
    /// Its hash for this service; none where it is set at the tenant.
    pub hash: Option<String>,
    /// The password was sent to the tenant, and the outcome is unknown. The caller does everything that follows from a
    /// new password, and then returns this error.
    pub unknown: Option<Error>,
}

impl Prepared {
    /// The error to return after everything else is done.
    ///
    /// # Errors
    /// 502 and 504 when it is unknown whether the tenant has the password.
    pub fn into_result(self) -> Result<()> {
        self.unknown.map_or(Ok(()), Err)
    }
}

/// Hashes a new password for this service, or sets it at the tenant at once. In the second case the caller must finish
/// what follows even if the client disconnects ([`to_its_end`]).
///
/// # Errors
/// 400 with the reason of the provider's refusal, 502 and 504 for the provider where the password is not set.
pub async fn prepare(service: &Identity, password: &str, location: &PasswordLocation) -> Result<Prepared> {
    match (location, &service.logto) {
        (PasswordLocation::AtTenant(account), Some(logto)) => {
            Ok(Prepared { hash: None, unknown: there::set(logto, account, password).await? })
        }
        _ => Ok(Prepared { hash: Some(hash(service, password).await?), unknown: None }),
    }
}

/// Runs work to its end even if the client disconnects: setting a password and ending its sessions belong together.
///
/// # Errors
/// As the work's.
pub async fn to_its_end<T: Send + 'static>(
    service: &Identity,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    service.platform.tasks.spawn(work).await.map_err(Error::internal)?
}

/// Body of an own password change.
pub struct OwnChange {
    /// The present password.
    pub current: String,
    /// The new one.
    pub new: String,
}

/// Refuses where another system manages passwords (spec: account#password-operations).
///
/// # Errors
/// 400 in identity mode `oidc`.
pub fn check_mode(service: &Identity) -> Result<()> {
    if service.settings.identity.is_embedded() || service.logto.is_some() {
        return Ok(());
    }
    Err(Error::bad_request("password change not available for this user"))
}

/// `POST /me/change-password` (spec: account#change-password): the calling chain and its login stay; all other sessions
/// of the user end.
///
/// # Errors
/// 401 without a fresh sign-in; the fields in the order of the specification; 429 after too many wrong current
/// passwords.
pub async fn change_own(
    service: &Identity,
    caller: &Caller,
    request: &RequestContext,
    body: impl FnOnce() -> Result<OwnChange>,
) -> Result<()> {
    let identity = caller.identity().ok_or_else(|| Error::unauthenticated("invalid token"))?;
    check_fresh_sign_in(service, caller)?;
    check_mode(service)?;
    let user = identity.user_id;
    let location = location(service, user).await?;
    let location =
        location.ok_or_else(|| Error::bad_request("password change not available for this user"))?;
    let body = body()?;
    check_own(&body)?;
    let wrong = || Error::field("current_password", "incorrect_password");
    if !verify_at(service, user, request.client_ip, &body.current, &location).await? {
        return Err(wrong());
    }
    let (kept_chain, organization) = (chain_of(caller), identity.organization.id);
    let (whole, request) = (service.clone(), request.clone());
    let changing = async move {
        let service = &whole;
        let prepared = prepare(service, &body.new, &location).await.map_err(as_new)?;
        let now = service.platform.now();
        let mut tx = service.platform.db.begin().await?;
        identities::get_for_login(&mut tx, user).await?;
        // The password checked before must still be current: it may have been changed while the new one was hashed.
        if !is_unchanged(&mut tx, user, &location).await? {
            return Err(wrong());
        }
        set_password(&mut tx, now, user, prepared.hash.as_deref(), Origin::Chosen, kept_chain).await?;
        audit::record_own(&mut tx, now, &request, user, organization, AuditAction::UserPassword).await?;
        tx.commit().await?;
        prepared.into_result()
    };
    to_its_end(service, changing).await
}

/// The provider calls it `password`, the form `new_password`.
fn as_new(error: Error) -> Error {
    let Error::Invalid(mut fields) = error else { return error };
    for field in fields.iter_mut().filter(|field| field.key == "password") {
        "new_password".clone_into(&mut field.key);
    }
    Error::Invalid(fields)
}

fn check_own(body: &OwnChange) -> Result<()> {
    let mut fields = Fields::new();
    for (key, value) in [("current_password", &body.current), ("new_password", &body.new)] {
        if value.is_empty() {
            fields.push(key, "required", "");
        }
    }
    if fields.is_empty() {
        fields.check_secret("new_password", validate::password(&body.new));
    }
    fields.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_settings::Settings;

    #[test]
    fn the_hash_of_nobody_costs_what_a_real_one_does() {
        let real = Argon2::default().hash_password_with_salt(b"x", &[7; SALT_BYTES]).unwrap().to_string();
        let shape = |hash: &str| {
            let parts: Vec<_> = hash.split('$').collect();
            (parts[1..4].join("$"), parts[4].len(), parts[5].len())
        };
        let limits = Settings::defaults("http://localhost", vec![7; 32]).limits;
        let passwords = Passwords::new(limits.password_window, limits.password_hash_kib).unwrap();
        assert_eq!(shape(&passwords.nobody), shape(&real));
        let outcome = passwords.hasher.verify_password(b"x", passwords.nobody.as_str());
        assert!(matches!(outcome, Err(argon2::password_hash::Error::PasswordInvalid)));
    }
}
