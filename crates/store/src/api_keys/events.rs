//! Events of API keys. Rows outlive the key and the user. Refusals are limited to one row for each key, reason and
//! minute, so a client that knows a lookup part can neither fill the table nor slow the database.

use crate::{Db, StoreError, Tx, filters::push_in, sql::Q, time::TsCodec};
use bailiwick_domain::{ApiKeyId, OrgId, Page, PageRequest, Ts, UserId};
use bailiwick_policy::KeyMode;
use sqlx_macros::FromRow;
use uuid::Uuid;

/// Why a key was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Ended by its owner.
    Revoked,
    /// Its time is over.
    Expired,
    /// The owner is suspended or deleted, individually or with their organization.
    UserInactive,
    /// The secret part is another.
    InvalidSecret,
}

impl Reason {
    /// Its word on the wire and in rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Revoked => "revoked",
            Reason::Expired => "expired",
            Reason::UserInactive => "user_inactive",
            Reason::InvalidSecret => "invalid_secret",
        }
    }
}

/// The kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The owner has created it.
    Created,
    /// The owner has ended it.
    Revoked,
    /// A request with it was refused.
    AuthFailed(Reason),
    /// A request with it came too fast.
    RateLimited,
}

impl Event {
    /// Its word on the wire and in rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Event::Created => "created",
            Event::Revoked => "revoked",
            Event::AuthFailed(_) => "auth_failed",
            Event::RateLimited => "rate_limited",
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Event::AuthFailed(reason) => reason.as_str(),
            _ => "",
        }
    }

    const fn is_refusal(self) -> bool {
        matches!(self, Event::AuthFailed(_) | Event::RateLimited)
    }
}

/// Minutes since the epoch.
pub const fn minute(at: Ts) -> i64 {
    at.secs().div_euclid(60)
}

/// An event to record.
#[derive(Clone, Debug)]
pub struct NewEvent<'a> {
    /// Fresh id.
    pub id: Uuid,
    pub api_key_id: ApiKeyId,
    /// Its owner.
    pub user_id: UserId,
    /// The owner's organization at that time.
    pub organization_id: OrgId,
    /// The kind of event.
    pub event: Event,
    /// Name of the key.
    pub key_name: &'a str,
    /// Mode of the key.
    pub key_mode: KeyMode,
    /// Address of the request.
    pub ip: &'a str,
    pub method: &'a str,
    /// Its path, without query.
    pub path: &'a str,
    /// Now.
    pub at: Ts,
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    pub id: Uuid,
    pub api_key_id: ApiKeyId,
    /// Its owner.
    pub user_id: UserId,
    /// The owner's organization at that time.
    pub organization_id: OrgId,
    /// Word of the event.
    pub event: String,
    /// Word of the reason of an `auth_failed`.
    pub reason: Option<String>,
    /// Name of the key.
    pub key_name: String,
    /// Mode of the key.
    pub key_mode: String,
    /// Address of the request.
    pub ip: String,
    pub method: String,
    pub path: String,
    /// When.
    pub created_at: Ts,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    api_key_id: Uuid,
    user_id: Uuid,
    organization_id: Uuid,
    event: String,
    reason: String,
    key_name: String,
    key_mode: String,
    ip: String,
    method: String,
    path: String,
    created_at: TsCodec,
}

impl From<Row> for Recorded {
    fn from(row: Row) -> Recorded {
        Recorded {
            id: row.id,
            api_key_id: ApiKeyId(row.api_key_id),
            user_id: UserId(row.user_id),
            organization_id: OrgId(row.organization_id),
            event: row.event,
            reason: Some(row.reason).filter(|reason| !reason.is_empty()),
            key_name: row.key_name,
            key_mode: row.key_mode,
            ip: row.ip,
            method: row.method,
            path: row.path,
            created_at: row.created_at.0,
        }
    }
}

const RECORD: &str = "INSERT INTO api_key_events (id, api_key_id, user_id, organization_id, event, reason, \
     minute, key_name, key_mode, ip, method, path, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
     ON CONFLICT (api_key_id, minute, event, reason) DO NOTHING";

macro_rules! old_refusals {
    () => {
        "FROM api_key_events e JOIN api_keys k ON k.id = e.api_key_id WHERE e.minute IS NOT NULL AND e.created_at < ? \
         AND (k.revoked_at IS NOT NULL OR k.expires_at <= ?)"
    };
}
const PURGE: &str =
    concat!("DELETE FROM api_key_events WHERE id IN (SELECT e.id ", old_refusals!(), " LIMIT ?)");
const COUNT_OLD: &str = concat!("SELECT CAST(COUNT(*) AS BIGINT) ", old_refusals!());

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![RECORD, PURGE, COUNT_OLD];

/// Removes up to `limit` refusals before `before` of keys that were revoked or have expired at `now`; returns how many.
/// The creation and revocation of such a key stay recorded, as do all events of the keys of destroyed users (spec:
/// users#operations).
pub async fn purge(tx: &mut Tx, now: Ts, before: Ts, limit: i64) -> Result<u64, StoreError> {
    Q::new(PURGE).bind(before).bind(now).bind(limit).run(tx).await
}

/// How many [`purge`] would remove, without a limit.
pub async fn count_old(db: &Db, now: Ts, before: Ts) -> Result<u64, StoreError> {
    Q::new(COUNT_OLD).bind(before).bind(now).count(db).await
}

/// Records an event; of refusals only the first of each key, reason and minute.
pub async fn record(tx: &mut Tx, new: &NewEvent<'_>) -> Result<(), StoreError> {
    Q::new(RECORD)
        .bind(new.id)
        .bind(new.api_key_id)
        .bind(new.user_id)
        .bind(new.organization_id)
        .bind(new.event.as_str())
        .bind(new.event.reason())
        .bind(new.event.is_refusal().then(|| minute(new.at)))
        .bind(new.key_name)
        .bind(new.key_mode.as_str())
        .bind(new.ip)
        .bind(new.method)
        .bind(new.path)
        .bind(new.at)
        .run(tx)
        .await
        .map(|_| ())
}

/// Filters of a list; none = all, an empty list = nothing.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Words of events.
    pub events: Option<Vec<String>>,
    pub keys: Option<Vec<Uuid>>,
}

fn push_where(q: &mut Q, user: UserId, filter: &Filter) {
    q.push(" FROM api_key_events WHERE user_id = ?").arg(user);
    if let Some(events) = &filter.events {
        push_in(q, "event", events);
    }
    if let Some(keys) = &filter.keys {
        q.push(" AND api_key_id IN (").list(keys.iter().copied()).push(")");
    }
}

/// One page of the events of the user's keys, the newest first.
pub async fn of_user(
    db: &Db,
    user: UserId,
    filter: &Filter,
    page: PageRequest,
) -> Result<Page<Recorded>, StoreError> {
    let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT)");
    push_where(&mut q, user, filter);
    let total = q.count(db).await?;
    if page.offset() >= total {
        return Ok(Page { rows: Vec::new(), total, request: page });
    }
    let mut q = Q::new(
        "SELECT id, api_key_id, user_id, organization_id, event, reason, key_name, key_mode, ip, method, path, \
         created_at",
    );
    push_where(&mut q, user, filter);
    q.push(" ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?").arg(page.page_size).arg(page.offset());
    let rows: Vec<Row> = q.all(db).await?;
    Ok(Page { rows: rows.into_iter().map(Recorded::from).collect(), total, request: page })
}
