//! Subscriptions to events, and the state of their delivery.

use crate::{
    Db, StoreError, Tx,
    leases::latest,
    router::lock_tenants,
    scope::push_scope,
    sql::{On, Q},
    time::TsCodec,
    tree::parse_type,
};
use bailiwick_domain::{OrgId, OrgType, Page, PageRequest, Ts};
use bailiwick_policy::{Granted, Path, Scope};
use serde_json::Value;
use sqlx_macros::FromRow;
use std::collections::HashMap;
use uuid::Uuid;

#[derive(Clone, Debug)]
pub struct Subscription {
    pub id: Uuid,
    /// The organization, with its place in the tree.
    pub path: Path,
    /// Type of that organization.
    pub org_type: OrgType,
    /// Whether that organization is deleted.
    pub is_deleted: bool,
    /// Whether it is suspended.
    pub is_suspended: bool,
    /// Its name for users.
    pub name: String,
    /// Sealed address.
    pub url: Vec<u8>,
    /// The organization of the user who entered the address; none = not known, or while impersonating.
    pub named_by: Option<OrgId>,
    /// Sealed secret.
    pub secret: Vec<u8>,
    /// The sealed secret before it.
    pub previous_secret: Option<Vec<u8>>,
    /// How long the previous secret also signs.
    pub previous_until: Option<Ts>,
    /// Patterns of types.
    pub types: Vec<String>,
    /// Whether anything is delivered.
    pub is_enabled: bool,
    /// Since when not.
    pub disabled_at: Option<Ts>,
    /// Why not, if the service has decided so.
    pub disabled_reason: Option<String>,
    /// Since when nothing has arrived.
    pub failing_since: Option<Ts>,
    /// Tries in a row.
    pub failures: i64,
    /// Why, in words of the service.
    pub last_error: Option<String>,
    /// When something has arrived last.
    pub last_success_at: Option<Ts>,
    /// Nothing is tried before.
    pub next_at: Ts,
    /// Creation.
    pub created_at: Ts,
    /// Last change.
    pub updated_at: Ts,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    p2: Uuid,
    p3: Uuid,
    org_type: String,
    eff_deleted_at: Option<TsCodec>,
    eff_suspended_at: Option<TsCodec>,
    name: String,
    url: Vec<u8>,
    named_by_org_id: Option<Uuid>,
    secret: Vec<u8>,
    previous_secret: Option<Vec<u8>>,
    previous_until: Option<TsCodec>,
    types: Value,
    is_enabled: bool,
    disabled_at: Option<TsCodec>,
    disabled_reason: Option<String>,
    failing_since: Option<TsCodec>,
    failures: i64,
    last_error: Option<String>,
    last_success_at: Option<TsCodec>,
    next_at: TsCodec,
    created_at: TsCodec,
    updated_at: TsCodec,
}

macro_rules! columns {
    () => {
        "s.id, s.organization_id, s.p2, s.p3, o.type AS org_type, o.eff_deleted_at, o.eff_suspended_at, s.name, s.url, \
         s.named_by_org_id, s.secret, s.previous_secret, s.previous_until, s.types, s.is_enabled, s.disabled_at, \
         s.disabled_reason, s.failing_since, s.failures, s.last_error, s.last_success_at, s.next_at, s.created_at, s.updated_at"
    };
}

const FROM: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM event_subscriptions s JOIN organizations o ON o.id = s.organization_id WHERE "
);

impl TryFrom<Row> for Subscription {
    type Error = StoreError;
    fn try_from(r: Row) -> Result<Subscription, StoreError> {
        let org_type = parse_type(&r.org_type)?;
        let types: Vec<String> = serde_json::from_value(r.types)
            .map_err(|e| StoreError::Corrupt(format!("types of subscription {}: {e}", r.id)))?;
        Ok(Subscription {
            id: r.id,
            path: Path { id: OrgId(r.organization_id), p2: OrgId(r.p2), p3: OrgId(r.p3) },
            org_type,
            is_deleted: r.eff_deleted_at.is_some(),
            is_suspended: r.eff_suspended_at.is_some(),
            name: r.name,
            url: r.url,
            named_by: r.named_by_org_id.map(OrgId),
            secret: r.secret,
            previous_secret: r.previous_secret,
            previous_until: r.previous_until.map(Ts::from),
            types,
            is_enabled: r.is_enabled,
            disabled_at: r.disabled_at.map(Ts::from),
            disabled_reason: r.disabled_reason,
            failing_since: r.failing_since.map(Ts::from),
            failures: r.failures,
            last_error: r.last_error,
            last_success_at: r.last_success_at.map(Ts::from),
            next_at: r.next_at.0,
            created_at: r.created_at.0,
            updated_at: r.updated_at.0,
        })
    }
}

fn whole(rows: Vec<Row>) -> Result<Vec<Subscription>, StoreError> {
    rows.into_iter().map(Subscription::try_from).collect()
}

/// One page of a scope, in the order of creation.
pub async fn list(db: &Db, scope: &Scope, request: PageRequest) -> Result<Page<Subscription>, StoreError> {
    page_of(db, STANDING, scope, request).await
}

/// Those of a scope to which nothing arrives, or that the service has switched off: the first ones, and how many there
/// are.
pub async fn failing(db: &Db, scope: &Scope, request: PageRequest) -> Result<Page<Subscription>, StoreError> {
    page_of(db, FAILING, scope, request).await
}

async fn page_of(
    db: &Db,
    condition: &str,
    scope: &Scope,
    request: PageRequest,
) -> Result<Page<Subscription>, StoreError> {
    let mut q = of_scope(columns!(), condition, scope);
    q.push(" ORDER BY s.id LIMIT ? OFFSET ?").arg(request.page_size).arg(request.offset());
    let rows = whole(q.all(db).await?)?;
    // A first page that is not full has them all.
    let total = match rows.len() as u64 {
        all if request.offset() == 0 && all < request.page_size => all,
        _ => count_of(condition, scope).count(db).await?,
    };
    Ok(Page { rows, total, request })
}

/// The subscriptions of a scope for which the condition is true. Where the statistics say nothing about subscriptions,
/// SQLite would begin with all organizations.
fn of_scope(columns: &str, condition: &str, scope: &Scope) -> Q {
    let from = "event_subscriptions s [[JOIN||CROSS JOIN]] organizations o ON o.id = s.organization_id";
    let mut q = Q::new(&format!("SELECT {columns} FROM {from} WHERE {condition}"));
    push_scope(&mut q, "s", "organization_id", scope);
    q
}

/// The statement that counts them; public for the tests of plans.
#[doc(hidden)]
pub fn count_of(condition: &str, scope: &Scope) -> Q {
    of_scope("CAST(COUNT(*) AS BIGINT)", condition, scope)
}

/// Those of organizations that are not deleted.
#[doc(hidden)]
pub const STANDING: &str = "o.eff_deleted_at IS NULL";

/// Those to which nothing arrives. The part in brackets is word for word the condition of their index.
#[doc(hidden)]
pub const FAILING: &str =
    "o.eff_deleted_at IS NULL AND (s.failing_since IS NOT NULL OR s.disabled_reason IS NOT NULL)";

/// One subscription; the caller decides whether it may be seen.
pub async fn get(on: impl Into<On<'_>>, id: Uuid) -> Result<Option<Subscription>, StoreError> {
    let mut q = Q::new(FROM);
    q.push("s.id = ?").arg(id);
    q.optional::<Row>(on).await?.map(Subscription::try_from).transpose()
}

/// One subscription, locked against other writers. The lock leaves its key free: the numbering of events refers to the
/// subscription and must not wait for its changes.
pub async fn lock(tx: &mut Tx, id: Uuid) -> Result<Option<Subscription>, StoreError> {
    let mut q = Q::new(FROM);
    q.push("s.id = ? [[FOR NO KEY UPDATE OF s||]]").arg(id);
    q.optional::<Row>(tx).await?.map(Subscription::try_from).transpose()
}

/// The enabled subscriptions of these organizations and of the owner organization, while the organizations are neither
/// suspended nor deleted.
pub async fn awake(tx: &mut Tx, organizations: &[Uuid]) -> Result<Vec<Subscription>, StoreError> {
    let mut q = Q::new(FROM);
    q.push("s.is_enabled AND o.eff_deleted_at IS NULL AND o.eff_suspended_at IS NULL AND (o.type = 'owner' OR o.id IN (");
    q.list(organizations.iter().copied()).push(")) ORDER BY s.id");
    whole(q.all(tx).await?)
}

/// Adds a subscription, unless the organization already has the most it may have; false then.
pub async fn insert(
    tx: &mut Tx,
    organization: &Granted<OrgId>,
    new: &Subscription,
    most: i64,
) -> Result<bool, StoreError> {
    lock_tenants(tx, &[organization.id()]).await?;
    let q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM event_subscriptions WHERE organization_id = ?");
    let count = q.bind(organization.id()).count(&mut *tx).await?;
    if count >= u64::try_from(most).unwrap_or(0) {
        return Ok(false);
    }
    Q::new(
        "INSERT INTO event_subscriptions (id, organization_id, p2, p3, name, url, named_by_org_id, secret, types, \
         is_enabled, disabled_at, next_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(new.id)
    .bind(organization.id())
    .bind(new.path.p2)
    .bind(new.path.p3)
    .bind(&new.name)
    .bind(new.url.clone())
    .bind(new.named_by)
    .bind(new.secret.clone())
    .bind(Value::from(new.types.clone()))
    .bind(new.is_enabled)
    .bind(new.disabled_at)
    .bind(new.next_at)
    .bind(new.created_at)
    .bind(new.updated_at)
    .run(tx)
    .await?;
    Ok(true)
}

/// Writes the fields that users can change.
pub async fn change(tx: &mut Tx, target: &Granted<Uuid>, s: &Subscription) -> Result<(), StoreError> {
    if target.id() != s.id {
        return Err(StoreError::Misuse("a grant for another subscription"));
    }
    save(tx, s).await
}

/// Writes the state of the delivery, for the process that has leased it.
pub async fn save(tx: &mut Tx, s: &Subscription) -> Result<(), StoreError> {
    Q::new(
        "UPDATE event_subscriptions SET name = ?, url = ?, named_by_org_id = ?, secret = ?, previous_secret = ?, \
         previous_until = ?, types = ?, is_enabled = ?, disabled_at = ?, disabled_reason = ?, failing_since = ?, \
         failures = ?, \
         last_error = ?, last_success_at = ?, next_at = ?, updated_at = ? WHERE id = ?",
    )
    .bind(&s.name)
    .bind(s.url.clone())
    .bind(s.named_by)
    .bind(s.secret.clone())
    .bind(s.previous_secret.clone())
    .bind(s.previous_until)
    .bind(Value::from(s.types.clone()))
    .bind(s.is_enabled)
    .bind(s.disabled_at)
    .bind(s.disabled_reason.clone())
    .bind(s.failing_since)
    .bind(s.failures)
    .bind(s.last_error.clone())
    .bind(s.last_success_at)
    .bind(s.next_at)
    .bind(s.updated_at)
    .bind(s.id)
    .run(tx)
    .await?;
    Ok(())
}

/// Disables and returns the subscriptions of a promoted organization, and of everything below it, with addresses that
/// were not named by their own users or the owner's: the former parent organizations must receive nothing more.
pub async fn disable_named_from_outside(
    tx: &mut Tx,
    promoted: &Granted<OrgId>,
    now: Ts,
    reason: &str,
) -> Result<Vec<Uuid>, StoreError> {
    let rows: Vec<(Uuid,)> = Q::new(DISABLE_OUTSIDE)
        .bind(false)
        .bind(now)
        .bind(reason)
        .bind(promoted.id())
        .bind(promoted.id())
        .all(tx)
        .await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

const DISABLE_OUTSIDE: &str = "UPDATE event_subscriptions SET is_enabled = ?, disabled_at = ?, \
     disabled_reason = ? WHERE is_enabled AND p3 = ? AND NOT EXISTS (SELECT 1 FROM organizations o \
     WHERE o.id = event_subscriptions.named_by_org_id AND (o.p3 = ? OR o.type = 'owner')) RETURNING id";

/// Removes one with its deliveries.
pub async fn remove(tx: &mut Tx, target: &Granted<Uuid>) -> Result<(), StoreError> {
    Q::new("DELETE FROM event_subscriptions WHERE id = ?").bind(target.id()).run(tx).await?;
    Ok(())
}

/// How many deliveries wait and how many are given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Waiting.
    pub pending: u64,
    /// Given up.
    pub dead: u64,
}

/// Those of a page of subscriptions.
pub async fn counts(on: impl Into<On<'_>>, ids: &[Uuid]) -> Result<HashMap<Uuid, Counts>, StoreError> {
    let mut q = Q::new(
        "SELECT d.subscription_id, d.state, CAST(COUNT(*) AS BIGINT) FROM event_deliveries d \
         WHERE d.state IN ('pending', 'dead') AND d.subscription_id IN (",
    );
    q.list(ids.iter().copied()).push(") GROUP BY d.subscription_id, d.state");
    let rows: Vec<(Uuid, String, i64)> = q.all(on).await?;
    let mut counts: HashMap<Uuid, Counts> = HashMap::new();
    for (id, state, n) in rows {
        let entry = counts.entry(id).or_default();
        let n = u64::try_from(n).unwrap_or(0);
        if state == "dead" { entry.dead = n } else { entry.pending = n }
    }
    Ok(counts)
}

/// How many subscriptions of one organization, and of a distributor with everything below it, one read returns.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Of one organization.
    pub organization: i64,
    /// Of a distributor's subtree.
    pub subtree: i64,
}

/// The organizations whose subscriptions are left out.
#[derive(Clone, Debug, Default)]
pub struct Full {
    pub organizations: Vec<OrgId>,
    /// Distributors with everything below them.
    pub subtrees: Vec<OrgId>,
}

/// Up to `limit` subscriptions with something due that no process has leased, with the places of their organizations.
/// Those that have waited longest come first, and no organization gets more than its share.
pub async fn candidates(
    db: &Db,
    full: &Full,
    (now, until): (Ts, Ts),
    shares: Shares,
    limit: i64,
) -> Result<Vec<(Uuid, Path)>, StoreError> {
    let mut q = Q::by_index(
        "SELECT c.id, c.organization_id, c.p2, c.p3 FROM (SELECT s.id, s.organization_id, s.p2, s.p3, s.next_at, \
         ROW_NUMBER() OVER (PARTITION BY s.organization_id ORDER BY s.next_at, s.id) AS of_one, \
         ROW_NUMBER() OVER (PARTITION BY s.p2 ORDER BY s.next_at, s.id) AS of_subtree ",
    );
    q.push(WAITING).arg(now).arg(now).arg(latest(now, until)).arg(now);
    for (column, ids) in [("organization_id", &full.organizations), ("p2", &full.subtrees)] {
        if !ids.is_empty() {
            q.push(&format!(" AND s.{column} NOT IN (")).list(ids.iter().copied()).push(")");
        }
    }
    q.push(") c WHERE c.of_one <= ? AND c.of_subtree <= ? ORDER BY c.next_at, c.id LIMIT ?");
    q.arg(shares.organization).arg(shares.subtree).arg(limit);
    let rows: Vec<(Uuid, Uuid, Uuid, Uuid)> = q.all(db).await?;
    let with_path =
        |(id, organization, p2, p3)| (id, Path { id: OrgId(organization), p2: OrgId(p2), p3: OrgId(p3) });
    Ok(rows.into_iter().map(with_path).collect())
}

/// Leases those of these subscriptions that no other process has leased meanwhile, until `until`.
pub async fn claim(
    tx: &mut Tx,
    ids: &[Uuid],
    holder: Uuid,
    (now, until): (Ts, Ts),
) -> Result<Vec<Uuid>, StoreError> {
    let mut q = Q::by_index(
        "UPDATE event_subscriptions SET holder = ?, held_until = ? WHERE id [[= ANY(ARRAY(||IN (]]SELECT s.id FROM event_subscriptions s \
         WHERE s.is_enabled AND s.next_at <= ? AND (s.held_until IS NULL OR s.held_until <= ? OR s.held_until > ?) \
         AND s.id IN (",
    )
    .bind(holder)
    .bind(until)
    .bind(now)
    .bind(now)
    .bind(latest(now, until));
    q.list(ids.iter().copied()).push(") [[FOR NO KEY UPDATE OF s SKIP LOCKED))||)]] RETURNING id");
    let rows: Vec<(Uuid,)> = q.all(tx).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Subscriptions with something due and without a lease, while their organizations are neither suspended nor deleted.
const WAITING: &str = "FROM event_subscriptions s [[JOIN||CROSS JOIN]] organizations o ON o.id = s.organization_id \
     WHERE s.is_enabled AND s.next_at <= ? AND (s.held_until IS NULL OR s.held_until <= ? OR s.held_until > ?) \
     AND o.eff_suspended_at IS NULL \
     AND o.eff_deleted_at IS NULL AND (SELECT d.event_seq FROM event_deliveries d WHERE d.subscription_id = s.id \
     AND d.state = 'pending' AND d.next_at <= ? ORDER BY d.subscription_id, d.next_at LIMIT 1) IS NOT NULL";

const RENEW: &str =
    "UPDATE event_subscriptions SET held_until = ? WHERE id = ? AND holder = ? AND held_until > ?";
const RELEASE: &str =
    "UPDATE event_subscriptions SET holder = NULL, held_until = NULL WHERE id = ? AND holder = ?";
pub(crate) const RELEASE_ALL: &str =
    "UPDATE event_subscriptions SET holder = NULL, held_until = NULL WHERE holder IS NOT NULL";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![DISABLE_OUTSIDE, RENEW, RELEASE, RELEASE_ALL];
/// Whether there is something to claim; a claim would last until `until`.
pub async fn is_any_due(db: &Db, (now, until): (Ts, Ts)) -> Result<bool, StoreError> {
    let mut q = Q::by_index("SELECT s.id ");
    q.push(WAITING).arg(now).arg(now).arg(latest(now, until)).arg(now);
    q.push(" ORDER BY s.next_at, s.id LIMIT 1");
    let row: Option<(Uuid,)> = q.optional(db).await?;
    Ok(row.is_some())
}

/// Extends the lease; false when another process may have leased it by now.
pub async fn renew(tx: &mut Tx, id: Uuid, holder: Uuid, (now, until): (Ts, Ts)) -> Result<bool, StoreError> {
    Ok(Q::by_index(RENEW).bind(until).bind(id).bind(holder).bind(now).run(tx).await? > 0)
}

/// Gives the subscription back.
pub async fn release(tx: &mut Tx, id: Uuid, holder: Uuid) -> Result<(), StoreError> {
    Q::by_index(RELEASE).bind(id).bind(holder).run(tx).await?;
    Ok(())
}

/// Subscriptions after an id, for resealing.
pub async fn after(db: &Db, after: Uuid, limit: i64) -> Result<Vec<Subscription>, StoreError> {
    let mut q = Q::new(FROM);
    q.push("s.id > ? ORDER BY s.id LIMIT ?").arg(after).arg(limit);
    whole(q.all(db).await?)
}
