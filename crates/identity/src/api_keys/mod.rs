//! Personal API keys (spec: account#api-keys): their owner creates, lists and revokes them; [`authenticate()`] admits
//! requests. A key has the live rights of its owner, masked by the mode of the key (`policy::KeyMode`).

mod authenticate;

pub(crate) use authenticate::authenticate;
pub use authenticate::{ApiKeys, KeyWork, silence_ends};

use crate::{Identity, auth::check_fresh_sign_in, credentials::hash_secret, passwords};
use bailiwick_domain::{
    ApiKeyId, AuditAction, Error, ObjectKind, OrgType, Page, PageRequest, Result, Ts, UserId,
    validate::{self, ApiKeyToken, Fields},
};
use bailiwick_platform::{RequestContext, audit, list_filters};
use bailiwick_policy::{Caller, KeyMode, UserIdentity};
use bailiwick_store::{
    Tx,
    api_keys::{
        self, NewApiKey,
        events::{self, Event, Filter, NewEvent},
    },
    identities,
};
use serde_json::json;
use std::time::Duration;

pub use bailiwick_store::api_keys::{ApiKey, events::Recorded};

/// The most usable keys of one user at a time.
const MAX_ACTIVE: u64 = 5;
/// Lifetime of a key in days, unless its owner chooses another.
const DEFAULT_DAYS: i64 = 90;
/// Longest life, in days.
pub const MAX_DAYS: i64 = 365;

const PATH: &str = "/me/api-keys";

/// Body of a creation; absent and null are the same.
#[derive(Default)]
pub struct Wanted {
    pub name: Option<String>,
    /// `mode`.
    pub mode: Option<String>,
    pub expires_in_days: Option<i64>,
    pub password: Option<String>,
}

/// The accepted fields of the body.
struct Accepted {
    name: String,
    mode: KeyMode,
    life: Duration,
    password: String,
}

fn gone() -> Error {
    Error::unauthenticated("invalid token")
}

fn identity(caller: &Caller) -> Result<&UserIdentity> {
    caller.identity().ok_or_else(gone)
}

/// Creates a key of the caller; the token is shown only this once.
///
/// # Errors
/// 401 without a fresh sign-in, 403 without a password of the service, 409 beyond five usable keys, the fields, a wrong
/// password; 429 after too many wrong passwords.
pub async fn create(
    service: &Identity,
    caller: &Caller,
    ctx: &RequestContext,
    body: impl FnOnce() -> Result<Wanted>,
) -> Result<(ApiKey, String)> {
    let owner = identity(caller)?;
    check_fresh_sign_in(service, caller)?;
    let user = owner.user_id;
    let location = passwords::location(service, user).await?;
    let location = location.ok_or_else(|| Error::forbidden("api keys are not available for this account"))?;
    check_limit(api_keys::count_active(&service.platform.db, user, service.platform.now()).await?)?;
    let accepted = accept(body()?)?;
    let wrong = || Error::field("password", "incorrect_password");
    if !passwords::verify_at(service, user, ctx.client_ip, &accepted.password, &location).await? {
        return Err(wrong());
    }
    let mut tx = service.platform.db.begin().await?;
    // The user's row is locked: parallel creations wait for each other, and the user cannot be suspended or deleted
    // meanwhile.
    let locked_user = identities::get_for_login(&mut tx, user).await?.ok_or_else(gone)?;
    if !locked_user.standing.is_enabled() {
        return Err(gone());
    }
    // The password checked before must still be current.
    if !passwords::is_unchanged(&mut tx, user, &location).await? {
        return Err(wrong());
    }
    let now = service.platform.now();
    check_limit(api_keys::count_active(&mut tx, user, now).await?)?;
    let token = ApiKeyToken::generate(&*service.platform.entropy);
    let key = insert(service, &mut tx, &locked_user, accepted, &token, now).await?;
    record(service, &mut tx, caller, ctx, &key, (Event::Created, now)).await?;
    tx.commit().await?;
    let is_owner = locked_user.organization.org_type == OrgType::Owner;
    Ok((key, token.reveal(is_owner)))
}

fn check_limit(active: u64) -> Result<()> {
    if active < MAX_ACTIVE {
        return Ok(());
    }
    let error = json!({"key": "limit", "message": "max_keys_reached", "value": MAX_ACTIVE.to_string()});
    Err(Error::Conflict { message: "validation failed".into(), data: json!({"errors": [error]}) })
}

fn accept(body: Wanted) -> Result<Accepted> {
    let mut fields = Fields::new();
    let name = body.name.unwrap_or_default();
    fields.check("name", &name, validate::name(&name));
    let word = body.mode.unwrap_or_default();
    let mode = KeyMode::parse(&word);
    if mode.is_none() {
        fields.push("mode", if word.is_empty() { "required" } else { "invalid" }, word);
    }
    let days = body.expires_in_days.unwrap_or(DEFAULT_DAYS);
    let days = u64::try_from(days).ok().filter(|_| (1..=MAX_DAYS).contains(&days)).unwrap_or_else(|| {
        fields.push("expires_in_days", "invalid", days.to_string());
        0
    });
    let password = body.password.unwrap_or_default();
    if password.is_empty() {
        fields.push("password", "required", "");
    }
    fields.finish()?;
    let mode = mode.ok_or_else(|| Error::internal("a mode that is neither right nor wrong"))?;
    Ok(Accepted { name, mode, life: Duration::from_secs(days * 86_400), password })
}

async fn insert(
    service: &Identity,
    tx: &mut Tx,
    owner: &identities::Identified,
    accepted: Accepted,
    token: &ApiKeyToken,
    now: Ts,
) -> Result<ApiKey> {
    let new = NewApiKey {
        id: service.platform.fresh(),
        user_id: owner.id,
        name: accepted.name,
        key_public: token.public.clone(),
        secret_hash: hash_secret(token.secret.reveal(), &*service.platform.entropy),
        mode: accepted.mode,
        expires_at: now.plus(accepted.life),
        at: now,
    };
    api_keys::insert(tx, &new).await?;
    Ok(ApiKey {
        id: new.id,
        user_id: owner.id,
        organization_id: owner.organization.id,
        name: new.name,
        key_public: new.key_public,
        mode: new.mode,
        expires_at: new.expires_at,
        last_used_at: None,
        last_used_ip: None,
        revoked_at: None,
        created_at: now,
    })
}

/// Records an action of the owner in the key's own history and in the audit log.
async fn record(
    service: &Identity,
    tx: &mut Tx,
    caller: &Caller,
    ctx: &RequestContext,
    key: &ApiKey,
    (what, now): (Event, Ts),
) -> Result<()> {
    let (action, method, path) = match what {
        Event::Created => (AuditAction::ApiKeyCreate, "POST", PATH.to_owned()),
        _ => (AuditAction::ApiKeyRevoke, "DELETE", format!("{PATH}/{}", key.id)),
    };
    let event = NewEvent {
        id: service.platform.fresh(),
        api_key_id: key.id,
        user_id: key.user_id,
        organization_id: key.organization_id,
        event: what,
        key_name: &key.name,
        key_mode: key.mode,
        ip: &ctx.client_ip.to_string(),
        method,
        path: &path,
        at: now,
    };
    events::record(tx, &event).await?;
    let state = json!({"name": key.name, "mode": key.mode.as_str(), "expires_at": key.expires_at});
    let is_new = what == Event::Created;
    let event = audit::Event {
        action,
        object_type: "api_key",
        object_id: key.id.0,
        before: (!is_new).then(|| state.clone()),
        after: is_new.then_some(state),
    };
    audit::record(tx, now, caller, ctx, event).await
}

/// The caller's keys, the newest first.
pub async fn list(service: &Identity, caller: &Caller) -> Result<Vec<ApiKey>> {
    Ok(api_keys::of_user(&service.platform.db, identity(caller)?.user_id, service.platform.now()).await?)
}

/// Revokes a key of the caller; a key that has already ended stays unchanged. `id`: none = malformed.
pub async fn revoke(
    service: &Identity,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<ApiKeyId>,
) -> Result<()> {
    let user: UserId = identity(caller)?.user_id;
    let missing = || Error::NotFound(ObjectKind::ApiKey);
    let id = id.ok_or_else(missing)?;
    let mut tx = service.platform.db.begin().await?;
    let key = api_keys::lock(&mut tx, id, user).await?.ok_or_else(missing)?;
    if key.revoked_at.is_some() {
        return Ok(());
    }
    let now = service.platform.now();
    api_keys::revoke(&mut tx, id, now).await?;
    record(service, &mut tx, caller, ctx, &key, (Event::Revoked, now)).await?;
    Ok(tx.commit().await?)
}

/// The words of events that a list can ask for.
pub const EVENTS: [&str; 4] = ["created", "revoked", "auth_failed", "rate_limited"];

/// The query of a list of events.
#[derive(Clone, Debug)]
pub struct HistoryQuery {
    pub page: PageRequest,
    /// `event`, repeated.
    pub event: Vec<String>,
    /// `api_key_id`, repeated.
    pub api_key_id: Vec<String>,
}

/// One page of the events of the caller's keys, the newest first.
pub async fn history(service: &Identity, caller: &Caller, query: HistoryQuery) -> Result<Page<Recorded>> {
    let filter = Filter {
        events: (!query.event.is_empty())
            .then(|| query.event.into_iter().filter(|word| EVENTS.contains(&word.as_str())).collect()),
        keys: list_filters::ids(&query.api_key_id),
    };
    Ok(events::of_user(&service.platform.db, identity(caller)?.user_id, &filter, query.page).await?)
}
