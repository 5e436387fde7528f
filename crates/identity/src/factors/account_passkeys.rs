//! The caller's own passkeys (spec: account#second-factors).

use super::{
    account::{Change, check, settle_added},
    challenge::Offer,
    passkeys::{self, Made},
};
use crate::{Identity, auth::invalid};
use bailiwick_domain::{
    AuditAction, Error, ObjectKind, Result, SignInMethod, UserId,
    validate::{self, Fields},
};
use bailiwick_platform::RequestContext;
use bailiwick_policy::Caller;
use bailiwick_store::{
    Tx,
    factors::{self, passkeys::Passkey},
    identities::{self, Identified},
};
use serde_json::{Value, json};
use uuid::Uuid;

/// The most passkeys of one person.
pub const MOST: usize = 20;

/// What a browser needs to make a passkey for the caller.
///
/// # Errors
/// 401 without a fresh sign-in; 403 where browsers offer none; 409 beyond twenty.
pub async fn offer(service: &Identity, caller: &Caller) -> Result<Offer> {
    let id = check(service, caller)?;
    let user = identities::get(&service.platform.db, id).await?.ok_or_else(invalid)?;
    let present = factors::passkeys::of_user(&service.platform.db, id).await?;
    check_number(&present)?;
    passkeys::offer_to_add(service, &user, &present, id.0)
}

fn check_number(present: &[Passkey]) -> Result<()> {
    if present.len() < MOST {
        return Ok(());
    }
    let error = json!({"key": "limit", "message": "max_passkeys_reached", "value": MOST.to_string()});
    Err(Error::Conflict { message: "validation failed".into(), data: json!({"errors": [error]}) })
}

/// What the caller sends to add a passkey.
#[derive(Clone, Debug, Default)]
pub struct NewPasskey {
    /// The state of the offer.
    pub state: String,
    /// The browser's `PublicKeyCredential`, as its `toJSON` gives it.
    pub credential: Value,
    /// A name for it.
    pub name: String,
}

/// Adds a passkey; with the recovery codes if there are new ones.
///
/// # Errors
/// As [`offer`]; the fields; 409 when its authenticator's id is known.
pub async fn add(
    service: &Identity,
    caller: &Caller,
    ctx: &RequestContext,
    body: impl FnOnce() -> Result<NewPasskey>,
) -> Result<(Passkey, Vec<String>)> {
    let mut change = Change::begin(service, caller, ctx).await?;
    let new = body()?;
    let name = passkeys::name_of(&new.name);
    let mut fields = Fields::new();
    if new.state.is_empty() {
        fields.push("state", "required", "");
    }
    if new.credential.is_null() {
        fields.push("credential", "required", "");
    }
    fields.check("name", name, validate::line(name, validate::MAX_NAME_CHARS));
    fields.finish()?;
    let user = change.user.id;
    check_number(&factors::passkeys::of_user(&mut change.tx, user).await?)?;
    let answer = passkeys::bytes_of(&new.credential);
    let made = passkeys::made(service, user.0, &new.state, &answer);
    let made = made.ok_or_else(|| Error::field("credential", "invalid"))?;
    let passkey = passkey_of(service, user, name, made);
    if !factors::passkeys::insert(&mut change.tx, &passkey).await? {
        return Err(Error::field("credential", "already_exists"));
    }
    let codes = settle_added(service, &mut change.tx, user, None).await?;
    let after = json!({"kind": "passkey", "id": passkey.id, "name": passkey.name});
    change.commit(AuditAction::UserAddSecondFactor, after).await?;
    Ok((passkey, codes))
}

/// Adds the offered passkey at a sign-in that requires a second factor. None when the browser's answer does not hold.
pub(crate) async fn add_at_sign_in(
    service: &Identity,
    tx: &mut Tx,
    user: &Identified,
    subject: Uuid,
    (state, answer): (&str, &str),
) -> Result<Option<SignInMethod>> {
    let Some(made) = passkeys::made(service, subject, state, answer.as_bytes()) else { return Ok(None) };
    let passkey = passkey_of(service, user.id, passkeys::name_of(""), made);
    let is_new = factors::passkeys::insert(tx, &passkey).await?;
    Ok(is_new.then_some(SignInMethod::Passkey))
}

fn passkey_of(service: &Identity, user: UserId, name: &str, made: Made) -> Passkey {
    Passkey {
        id: service.platform.fresh(),
        user_id: user,
        name: name.to_owned(),
        credential_id: made.credential_id,
        public_key: made.public_key,
        state: made.state,
        created_at: service.platform.now(),
        last_used_at: None,
    }
}

fn missing() -> Error {
    Error::NotFound(ObjectKind::Passkey)
}

/// Renames a passkey of the caller. `id`: none = malformed.
///
/// # Errors
/// 404 `passkey not found`; the field; as [`offer`].
pub async fn rename(
    service: &Identity,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<Uuid>,
    body: impl FnOnce() -> Result<String>,
) -> Result<()> {
    let mut change = Change::begin(service, caller, ctx).await?;
    let user = change.user.id;
    let present = factors::passkeys::of_user(&mut change.tx, user).await?;
    let id = id.filter(|id| present.iter().any(|passkey| passkey.id == *id)).ok_or_else(missing)?;
    let name = body()?;
    let name = name.trim();
    let mut fields = Fields::new();
    fields.check("name", name, validate::name(name));
    fields.finish()?;
    factors::passkeys::rename(&mut change.tx, user, id, name).await?;
    change.commit(AuditAction::UserRenamePasskey, json!({"id": id, "name": name})).await
}

/// Removes a passkey of the caller. `id`: none = malformed.
///
/// # Errors
/// 404 `passkey not found`; 409 when it is the last factor of someone who must have one; as [`offer`].
pub async fn remove(
    service: &Identity,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<Uuid>,
) -> Result<()> {
    let mut change = Change::begin(service, caller, ctx).await?;
    let (user, id) = (change.user.id, id.ok_or_else(missing)?);
    if !factors::passkeys::remove(&mut change.tx, user, id).await? {
        return Err(missing());
    }
    change.check_what_is_left(service).await?;
    change.commit(AuditAction::UserRemoveSecondFactor, json!({"kind": "passkey", "id": id})).await
}
