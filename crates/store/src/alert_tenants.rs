//! The tenants that a remote alert router has, and which of them wait for their configuration to be pushed (spec:
//! alert-configuration#provisioning). A tenant without a row was never made there. A push leases its rows. A tenant
//! queued again during its push stays queued afterwards, so the router never keeps an older state.

use crate::{
    Db, StoreError, Tx,
    leases::latest,
    sql::{On, Q},
    time::TsCodec,
    tree::subtree_column,
};
use bailiwick_domain::{OrgId, OrgType, Ts};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// A configuration that the router had already is not pushed: it is read back when it would have been.
const FINISH: &str = "UPDATE alert_tenants SET claimed_until = NULL, attempts = 0, problem = NULL, \
     pushed_at = CASE WHEN pushed_digest = ? THEN pushed_at ELSE ? END, \
     checked_at = CASE WHEN pushed_digest = ? THEN checked_at ELSE ? END, pushed_digest = ?, \
     next_attempt_at = CASE WHEN wanted = ? THEN NULL ELSE next_attempt_at END \
     WHERE organization_id = ? AND claimed_until = ?";
const POSTPONE: &str = "UPDATE alert_tenants SET claimed_until = NULL, problem = ?, \
     next_attempt_at = CASE WHEN wanted = ? THEN ? ELSE next_attempt_at END \
     WHERE organization_id = ? AND claimed_until = ?";
const FORGET: &str =
    "DELETE FROM alert_tenants WHERE organization_id = ? AND wanted = ? AND claimed_until = ?";
pub(crate) const RELEASE_ALL: &str =
    "UPDATE alert_tenants SET claimed_until = NULL WHERE claimed_until IS NOT NULL";
/// One tenant that the router does not know, unless it is already queued or was pushed a moment ago.
const LOST: &str = "UPDATE alert_tenants SET wanted = wanted + 1, attempts = 0, next_attempt_at = ?, queued_at = ?, \
     pushed_digest = NULL WHERE organization_id = ? AND next_attempt_at IS NULL \
     AND (pushed_at IS NULL OR pushed_at <= ?)";
const IS_MADE: &str = "SELECT 1 FROM alert_tenants WHERE organization_id = ? AND is_gone = FALSE";
const MAKE: &str = "INSERT INTO alert_tenants (organization_id, wanted, is_gone, attempts, next_attempt_at, \
     queued_at) SELECT o.id, 1, FALSE, 0, ?, ? FROM organizations o WHERE o.id = ? \
     ON CONFLICT (organization_id) DO UPDATE SET wanted = alert_tenants.wanted + 1, is_gone = FALSE, attempts = 0, \
     next_attempt_at = excluded.next_attempt_at, queued_at = excluded.queued_at, pushed_digest = NULL \
     WHERE alert_tenants.is_gone = TRUE";
const IDLE: &str = "SELECT t.organization_id, o.name FROM alert_tenants t \
     JOIN organizations o ON o.id = t.organization_id WHERE t.is_gone = FALSE AND t.next_attempt_at IS NULL \
     AND (t.queued_at IS NULL OR t.queued_at <= ?) AND NOT EXISTS (SELECT 1 FROM alert_queue w \
     WHERE w.organization_id = t.organization_id) AND NOT EXISTS (SELECT 1 FROM alert_history h \
     WHERE h.organization_id = t.organization_id AND (h.status = 'firing' OR h.created_at > ?)) ORDER BY t.organization_id";
const DROP: &str = "UPDATE alert_tenants SET wanted = wanted + 1, is_gone = TRUE, attempts = 0, next_attempt_at = ?, \
     queued_at = ? WHERE organization_id = ? AND is_gone = FALSE AND next_attempt_at IS NULL";

const READ_BACK: &str = "UPDATE alert_tenants SET checked_at = ? WHERE organization_id [[= ANY(ARRAY(||IN (]] \
     SELECT t.organization_id FROM alert_tenants t WHERE t.next_attempt_at IS NULL AND t.is_gone = FALSE \
     AND t.checked_at <= ? ORDER BY t.checked_at LIMIT ? [[FOR UPDATE SKIP LOCKED))||)]] RETURNING organization_id";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    FINISH,
    POSTPONE,
    FORGET,
    RELEASE_ALL,
    LOST,
    IS_MADE,
    MAKE,
    IDLE,
    DROP,
    READ_BACK
];

/// Which tenants.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    /// All of them.
    All,
    /// An organization and all below it.
    Below(OrgId, OrgType),
}

impl Whose {
    /// Appends ` AND …` about the organizations called `o`.
    fn push(self, q: &mut Q) {
        match self {
            Whose::All | Whose::Below(_, OrgType::Owner) => {}
            Whose::Below(top, org_type) => {
                q.push(&format!(" AND o.{} = ?", subtree_column(org_type, "id"))).arg(top);
            }
        }
    }
}

/// A leased tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The tenant.
    pub organization_id: OrgId,
    /// The number of the wanted state when it was leased.
    pub wanted: i64,
    /// The router is to forget it: its organization is destroyed, or it was idle.
    pub is_gone: bool,
    /// Tries so far, this one included.
    pub attempts: i64,
    /// End of the lease.
    pub claimed_until: Ts,
    /// Digest of the configuration that the router has; none = unknown.
    pub pushed: Option<Vec<u8>>,
}

#[derive(FromRow)]
struct Row {
    organization_id: Uuid,
    wanted: i64,
    is_gone: bool,
    attempts: i64,
    claimed_until: TsCodec,
    pushed_digest: Option<Vec<u8>>,
}

/// Queues tenants that the router has; returns how many. One statement, in the order of ids, so that two such
/// statements wait for each other instead of deadlocking.
pub async fn queue(tx: &mut Tx, whose: Whose, is_gone: bool, at: Ts) -> Result<u64, StoreError> {
    let mut q = Q::new(
        "INSERT INTO alert_tenants (organization_id, wanted, is_gone, attempts, next_attempt_at, queued_at) \
         SELECT o.id, 1, ?, 0, ?, ? FROM organizations o \
         WHERE EXISTS (SELECT 1 FROM alert_tenants t WHERE t.organization_id = o.id)",
    )
    .bind(is_gone)
    .bind(at)
    .bind(at);
    whose.push(&mut q);
    q.push(
        " ORDER BY o.id ON CONFLICT (organization_id) DO UPDATE SET wanted = alert_tenants.wanted + 1, \
         is_gone = (alert_tenants.is_gone = TRUE OR excluded.is_gone = TRUE), attempts = 0, next_attempt_at = excluded.next_attempt_at, problem = NULL, \
         queued_at = CASE WHEN alert_tenants.next_attempt_at IS NULL THEN excluded.queued_at \
         ELSE alert_tenants.queued_at END",
    );
    q.run(tx).await
}

/// Whether the router has a tenant, or will have it.
pub async fn is_made(db: &Db, tenant: OrgId) -> Result<bool, StoreError> {
    let rows: Vec<(i32,)> = Q::new(IS_MADE).bind(tenant).all(db).await?;
    Ok(!rows.is_empty())
}

/// Queues a tenant that the router does not have, even one that it is to forget.
pub async fn make(tx: &mut Tx, tenant: OrgId, at: Ts) -> Result<(), StoreError> {
    Q::new(MAKE).bind(at).bind(at).bind(tenant).run(tx).await?;
    Ok(())
}

/// Tenants that the router has, without an alert since `before`, with the names of their organizations.
pub async fn idle(db: &Db, before: Ts) -> Result<Vec<(OrgId, String)>, StoreError> {
    let rows: Vec<(Uuid, String)> = Q::new(IDLE).bind(before).bind(before).all(db).await?;
    Ok(rows.into_iter().map(|(id, name)| (OrgId(id), name)).collect())
}

/// Has the router forget a tenant, unless something is to be pushed to it.
pub async fn drop_idle(tx: &mut Tx, tenant: OrgId, at: Ts) -> Result<u64, StoreError> {
    Q::by_index(DROP).bind(at).bind(at).bind(tenant).run(tx).await
}

/// Queues a tenant that the router has lost, unless it is queued or was pushed after `since`.
pub async fn queue_lost(tx: &mut Tx, tenant: OrgId, at: Ts, since: Ts) -> Result<(), StoreError> {
    Q::by_index(LOST).bind(at).bind(at).bind(tenant).bind(since).run(tx).await?;
    Ok(())
}

/// Leases up to `limit` due tenants until `until`, the longest waiting first.
pub async fn claim(db: &Db, whose: Whose, now: Ts, until: Ts, limit: i64) -> Result<Vec<Due>, StoreError> {
    let mut q = Q::by_index(
        "UPDATE alert_tenants SET claimed_until = ?, attempts = attempts + 1 WHERE organization_id [[= ANY(ARRAY(||IN (]] \
         SELECT t.organization_id FROM alert_tenants t WHERE t.next_attempt_at <= ? \
         AND (t.claimed_until IS NULL OR t.claimed_until <= ? OR t.claimed_until > ?)",
    )
    .bind(until)
    .bind(now)
    .bind(now)
    .bind(latest(now, until));
    if !matches!(whose, Whose::All) {
        q.push(" AND EXISTS (SELECT 1 FROM organizations o WHERE o.id = t.organization_id");
        whose.push(&mut q);
        q.push(")");
    }
    q.push(
        " ORDER BY t.next_attempt_at LIMIT ? [[FOR UPDATE SKIP LOCKED))||)]] \
         RETURNING organization_id, wanted, is_gone, attempts, claimed_until, pushed_digest",
    )
    .arg(limit);
    let mut tx = db.begin().await?;
    let rows: Vec<Row> = q.all(&mut tx).await?;
    tx.commit().await?;
    let due = rows.into_iter().map(|r| Due {
        organization_id: OrgId(r.organization_id),
        wanted: r.wanted,
        is_gone: r.is_gone,
        attempts: r.attempts,
        claimed_until: r.claimed_until.0,
        pushed: r.pushed_digest,
    });
    Ok(due.collect())
}

/// Records that the router has the wanted state, with the digest of its configuration; the tenant stays queued when a
/// newer state is wanted by now.
pub async fn finish(tx: &mut Tx, due: &Due, pushed: &[u8], now: Ts) -> Result<(), StoreError> {
    let q = if due.is_gone {
        Q::by_index(FORGET).bind(due.organization_id).bind(due.wanted)
    } else {
        let q = Q::by_index(FINISH).bind(pushed).bind(now).bind(pushed).bind(now).bind(pushed);
        q.bind(due.wanted).bind(due.organization_id)
    };
    q.bind(due.claimed_until).run(tx).await?;
    Ok(())
}

/// Gives a tenant back for a retry at `next`, with the problem to show for it.
pub async fn postpone(tx: &mut Tx, due: &Due, problem: &str, next: Ts) -> Result<(), StoreError> {
    let q = Q::by_index(POSTPONE).bind(problem).bind(due.wanted).bind(next).bind(due.organization_id);
    q.bind(due.claimed_until).run(tx).await?;
    Ok(())
}

/// Up to `limit` tenants whose wanted state the router has, and whose state was not read back from it since `before`;
/// those read longest ago come first. They count as read back from now on.
pub async fn to_read_back(db: &Db, now: Ts, before: Ts, limit: i64) -> Result<Vec<OrgId>, StoreError> {
    let mut tx = db.begin_relaxed().await?;
    let q = Q::by_index(READ_BACK).bind(now).bind(before).bind(limit);
    let rows: Vec<(Uuid,)> = q.all(&mut tx).await?;
    tx.commit().await?;
    Ok(rows.into_iter().map(|r| OrgId(r.0)).collect())
}

/// Tenants that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// How many.
    pub count: u64,
    /// How many of them are due or are being tried.
    pub active: u64,
    /// The first of them by id, with their problems.
    pub first: Vec<(OrgId, Option<String>)>,
}

/// The waiting tenants of a subtree, without deleted organizations; names at most `limit`.
pub async fn waiting(
    on: impl Into<On<'_>>,
    whose: Whose,
    now: Ts,
    limit: i64,
) -> Result<Waiting, StoreError> {
    const FROM: &str = "FROM alert_tenants t JOIN organizations o ON o.id = t.organization_id \
         WHERE t.next_attempt_at IS NOT NULL AND o.eff_deleted_at IS NULL";
    let mut on = on.into();
    let mut q = Q::new(
        "SELECT CAST(COUNT(*) AS BIGINT), CAST(COALESCE(SUM(CASE WHEN t.next_attempt_at <= ? OR t.claimed_until > ? \
         THEN 1 ELSE 0 END), 0) AS BIGINT) ",
    )
    .bind(now)
    .bind(now);
    q.push(FROM);
    whose.push(&mut q);
    let (count, active): (i64, i64) = q.one(on.reborrow()).await?;
    let mut q = Q::new("SELECT t.organization_id, t.problem ");
    q.push(FROM);
    whose.push(&mut q);
    q.push(" ORDER BY t.organization_id LIMIT ?").arg(limit);
    let first: Vec<(Uuid, Option<String>)> = if limit > 0 { q.all(on).await? } else { Vec::new() };
    let unsigned = |n: i64| u64::try_from(n).unwrap_or(0);
    let first = first.into_iter().map(|(id, problem)| (OrgId(id), problem)).collect();
    Ok(Waiting { count: unsigned(count), active: unsigned(active), first })
}
