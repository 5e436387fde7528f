//! Groups of alerts of the embedded router: which are due, when, and which alerts they contain (spec:
//! alert-delivery#routing).
//!
//! A process leases tenants with due work ([`acquire`]), reads their [`fresh`] alerts, keeps the timers
//! ([`open_groups`], [`start`], [`finish`]) and gives the tenants back ([`release`]). Every write about a tenant
//! follows [`renew`] in the same transaction, so a process that has lost a lease writes nothing any more. Sent
//! notifications are in [`notification_log`]; [`clock_skew`] handles a clock that was set back.

pub mod clock_skew;
pub mod notification_log;

use crate::{
    Db, StoreError, Tx,
    router::lock_tenants,
    sql::{Column, Q, ROWS, push_rows},
    time::TsCodec,
};
use bailiwick_domain::{OrgId, Ts};
use sqlx_macros::FromRow;
use std::collections::{BTreeSet, HashSet};
use uuid::Uuid;

/// Mark of an alert that has ended and whose end was notified.
const LEFT: &str = "left";
/// Mark of an alert without a receiver.
pub const NOBODY: &str = "nobody";
/// Mark of an alert with unknown receivers, because the configuration cannot be read.
pub const UNKNOWN: &str = "unknown";
/// Plan of a tenant with such alerts.
pub const UNREADABLE: &str = "unreadable";

const DUE_TENANTS: &str = "SELECT d.o FROM (\
     SELECT organization_id AS o FROM router_alerts WHERE group_id = '' \
     UNION SELECT organization_id AS o FROM router_groups WHERE due_at <= ? AND started_at IS NULL \
     UNION SELECT organization_id AS o FROM router_tenants WHERE version < ? \
     UNION SELECT organization_id AS o FROM router_tenants WHERE holder IS NOT NULL AND held_until <= ?) AS d \
     LEFT JOIN router_tenants t ON t.organization_id = d.o \
     WHERE t.holder IS NULL OR t.held_until <= ? OR t.holder = ? LIMIT ?";
const DUE_GROUPS: &str = "SELECT g.organization_id, g.id, g.due_at, (SELECT CAST(COUNT(*) AS BIGINT) \
     FROM router_alerts a WHERE a.organization_id = g.organization_id AND a.group_id = g.id) AS alerts \
     FROM router_groups g WHERE g.due_at <= ? AND g.started_at IS NULL \
     AND (SELECT t.holder FROM router_tenants t WHERE t.organization_id = g.organization_id) = ?";
const LOOK_AGAIN: &str = "UPDATE router_tenants SET version = 0 WHERE plan = 'unreadable'";
pub(crate) const RELEASE_ALL: &str = "UPDATE router_tenants SET held_until = ? WHERE holder IS NOT NULL";
const PURGE_TENANTS: &str = "DELETE FROM router_tenants WHERE organization_id [[= ANY(ARRAY(||IN (]] \
     SELECT t.organization_id FROM router_tenants t WHERE t.holder IS NULL AND (SELECT a.fingerprint \
     FROM router_alerts a WHERE a.organization_id = t.organization_id ORDER BY a.organization_id, a.fingerprint LIMIT 1) \
     IS NULL ORDER BY t.organization_id [[FOR UPDATE SKIP LOCKED))||)]]";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![DUE_TENANTS, DUE_GROUPS, LOOK_AGAIN, RELEASE_ALL, PURGE_TENANTS];

/// A group: its tenant and its id within the tenant.
pub type GroupKey = (OrgId, String);

/// A tenant that this process has leased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Which.
    pub id: OrgId,
    /// Version of the configuration by which its groups were made.
    pub version: i64,
    /// Digest of the contents of that configuration; empty = never read.
    pub plan: String,
}

#[derive(FromRow)]
struct TenantRow {
    organization_id: Uuid,
    version: i64,
    plan: String,
}

/// Up to `limit` tenants with something to do at `now` that no other process has leased: fresh alerts, due groups,
/// groups made by a configuration before `version`, or a lease that has run out.
pub async fn due_tenants(
    db: &Db,
    me: Uuid,
    now: Ts,
    version: i64,
    limit: i64,
) -> Result<Vec<OrgId>, StoreError> {
    let q = Q::by_index(DUE_TENANTS).bind(now).bind(version).bind(now).bind(now).bind(me).bind(limit);
    let rows: Vec<(Uuid,)> = q.all(db).await?;
    Ok(rows.into_iter().map(|(id,)| OrgId(id)).collect())
}

/// Takes or renews the lease of these tenants until `until`; tenants of other processes and removed ones are left out.
pub async fn acquire(
    tx: &mut Tx,
    me: Uuid,
    now: Ts,
    until: Ts,
    tenants: &[OrgId],
) -> Result<Vec<Tenant>, StoreError> {
    let mut taken: Vec<TenantRow> = Vec::new();
    let tenants = sorted(tenants);
    prevent_destruction(tx, &tenants).await?;
    for chunk in tenants.chunks(ROWS) {
        let mut q = Q::new(
            "INSERT INTO router_tenants (organization_id, holder, held_until, version, plan) \
             SELECT o.id, ?, ?, 0, '' FROM organizations o WHERE o.id IN (",
        );
        q.arg(me).arg(until).list(chunk.iter().copied());
        q.push(
            ") ORDER BY o.id ON CONFLICT (organization_id) DO UPDATE SET holder = excluded.holder, \
             held_until = excluded.held_until WHERE router_tenants.holder IS NULL OR router_tenants.held_until <= ? \
             OR router_tenants.holder = excluded.holder RETURNING organization_id, version, plan",
        );
        taken.extend(q.arg(now).clone().all::<TenantRow>(&mut *tx).await?);
    }
    let tenant = |r: TenantRow| Tenant { id: OrgId(r.organization_id), version: r.version, plan: r.plan };
    Ok(taken.into_iter().map(tenant).collect())
}

/// Keeps these tenants from being destroyed until the transaction ends, before any of their rows is locked: a
/// destruction locks the tenants first too, and their rows afterwards.
async fn prevent_destruction(tx: &mut Tx, tenants: &[OrgId]) -> Result<(), StoreError> {
    if !tx.is_postgres() {
        return Ok(());
    }
    for chunk in tenants.chunks(ROWS) {
        let mut q = Q::new("SELECT o.id FROM organizations o WHERE o.id IN (");
        q.list(chunk.iter().copied()).push(") ORDER BY o.id FOR KEY SHARE");
        let _kept: Vec<(Uuid,)> = q.all(&mut *tx).await?;
    }
    Ok(())
}

fn sorted(tenants: &[OrgId]) -> Vec<OrgId> {
    tenants.iter().copied().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Renews the lease of these tenants and returns those that this process still holds. Other processes that take or
/// destroy one of them wait. Call this once, before the first write.
pub async fn renew(
    tx: &mut Tx,
    me: Uuid,
    until: Ts,
    tenants: &[OrgId],
) -> Result<HashSet<OrgId>, StoreError> {
    let mut renewed = HashSet::new();
    let tenants = sorted(tenants);
    prevent_destruction(tx, &tenants).await?;
    for chunk in tenants.chunks(ROWS) {
        let mut q = Q::by_index(
            "UPDATE router_tenants SET held_until = ? WHERE organization_id [[= ANY(ARRAY(||IN (]]SELECT t.organization_id \
             FROM router_tenants t WHERE t.holder = ? AND t.organization_id IN (",
        );
        // In one order, the same in which expired leases are taken.
        q.arg(until).arg(me).list(chunk.iter().copied());
        q.push(") ORDER BY t.organization_id [[FOR NO KEY UPDATE))||)]] RETURNING organization_id");
        let rows: Vec<(Uuid,)> = q.all(&mut *tx).await?;
        renewed.extend(rows.into_iter().map(|(id,)| OrgId(id)));
    }
    Ok(renewed)
}

/// Gives tenants back, so that no process waits for the end of the lease. Nothing of them is in progress any more, so
/// groups still marked as started become due.
pub async fn release(tx: &mut Tx, me: Uuid, tenants: &[OrgId], now: Ts) -> Result<(), StoreError> {
    let renewed = renew(tx, me, now, tenants).await?;
    recover(tx, &renewed.into_iter().collect::<Vec<_>>(), now).await?;
    for chunk in sorted(tenants).chunks(ROWS) {
        let mut q =
            Q::by_index("UPDATE router_tenants SET holder = NULL WHERE holder = ? AND organization_id IN (");
        q.arg(me).list(chunk.iter().copied()).push(")");
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Makes groups due whose notification was started by a process that did not finish it.
pub async fn recover(tx: &mut Tx, tenants: &[OrgId], now: Ts) -> Result<(), StoreError> {
    for chunk in tenants.chunks(ROWS) {
        let mut q = Q::by_index(
            "UPDATE router_groups SET due_at = ?, started_at = NULL WHERE started_at IS NOT NULL \
             AND organization_id IN (",
        );
        q.arg(now).list(chunk.iter().copied()).push(")");
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Makes tenants due again whose configuration could not be read.
pub async fn retry_unreadable(tx: &mut Tx) -> Result<u64, StoreError> {
    Q::by_index(LOOK_AGAIN).run(tx).await
}

/// Notes the configuration by which the groups of tenants are made, and removes groups made by another one: their
/// alerts are fresh again. Sent notifications stay known. A group with a notification in progress stays, so that no
/// process starts it a second time: it is due as soon as that notification ends.
pub async fn set_plans(
    tx: &mut Tx,
    version: i64,
    plans: &[(OrgId, String)],
    changed: &[OrgId],
    now: Ts,
) -> Result<(), StoreError> {
    for chunk in changed.chunks(ROWS) {
        lock_tenants_of(tx, chunk).await?;
        let mut q = Q::new("DELETE FROM router_groups WHERE started_at IS NULL AND organization_id IN (");
        q.list(chunk.iter().copied()).push(")");
        q.run(&mut *tx).await?;
        let mut q = Q::new(
            "UPDATE router_groups SET due_at = ? WHERE started_at IS NOT NULL AND organization_id IN (",
        );
        q.arg(now).list(chunk.iter().copied()).push(")");
        q.run(&mut *tx).await?;
        let mut q = Q::new(
            "UPDATE router_alerts SET group_id = '' WHERE group_id NOT IN ('', ?) AND organization_id IN (",
        );
        q.arg(LEFT).list(chunk.iter().copied()).push(
            ") AND NOT EXISTS (SELECT 1 FROM router_groups g \
             WHERE g.organization_id = router_alerts.organization_id AND g.id = router_alerts.group_id)",
        );
        q.run(&mut *tx).await?;
    }
    for chunk in plans.chunks(ROWS) {
        let columns = vec![
            ("o", Column::Ids(chunk.iter().map(|(o, _)| o.0).collect())),
            ("plan", Column::texts(chunk.iter().map(|(_, plan)| plan.as_str()))),
        ];
        let mut q = Q::new("UPDATE router_tenants AS t SET version = ?, plan = v.plan FROM ");
        q.arg(version);
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(" WHERE t.organization_id = v.o");
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Pushes write alerts in one order, and these functions write rows in another, so on PostgreSQL one waits for the
/// other.
async fn lock_tenants_of(tx: &mut Tx, tenants: &[OrgId]) -> Result<(), StoreError> {
    if tenants.is_empty() { Ok(()) } else { lock_tenants(tx, &sorted(tenants)).await }
}

/// An alert's record and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// Tenant.
    pub organization_id: OrgId,
    /// Group, or the mark of having none.
    pub group_id: String,
    /// Identity within the tenant.
    pub fingerprint: String,
    /// The system of the alert.
    pub system_key: String,
    /// Moves with every push.
    pub revision: i64,
    /// The router's record.
    pub payload: String,
}

#[derive(FromRow)]
struct AlertRow {
    organization_id: Uuid,
    group_id: String,
    fingerprint: String,
    system_key: String,
    revision: i64,
    payload: String,
}

const ALERT: &str = "SELECT a.organization_id, a.group_id, a.fingerprint, a.system_key, a.revision, \
     a.payload FROM ";

impl From<AlertRow> for Alert {
    fn from(r: AlertRow) -> Alert {
        Alert {
            organization_id: OrgId(r.organization_id),
            group_id: r.group_id,
            fingerprint: r.fingerprint,
            system_key: r.system_key,
            revision: r.revision,
            payload: r.payload,
        }
    }
}

/// Up to `limit` alerts of these tenants that no process has evaluated.
pub async fn fresh(db: &Db, tenants: &[OrgId], limit: i64) -> Result<Vec<Alert>, StoreError> {
    let mut q = Q::by_index(ALERT);
    q.push("router_alerts a WHERE a.group_id = '' AND a.organization_id IN (");
    q.list(tenants.iter().copied()).push(") LIMIT ?").arg(limit);
    Ok(q.all::<AlertRow>(db).await?.into_iter().map(Alert::from).collect())
}

/// Creates the missing groups; the time is when each is first due.
pub async fn open_groups(tx: &mut Tx, groups: &[(GroupKey, Ts)]) -> Result<(), StoreError> {
    for chunk in groups.chunks(ROWS) {
        let mut columns = group_columns(chunk.iter().map(|(key, _)| key));
        columns.push(("due_at", Column::times(chunk.iter().map(|(_, due)| *due))));
        let mut q =
            Q::new("INSERT INTO router_groups (organization_id, id, due_at) SELECT v.o, v.g, v.due_at FROM ");
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(" WHERE 1 = 1 ON CONFLICT (organization_id, id) DO NOTHING");
        q.run(&mut *tx).await?;
    }
    Ok(())
}

fn group_columns<'a>(keys: impl Iterator<Item = &'a GroupKey> + Clone) -> Vec<(&'static str, Column)> {
    vec![
        ("o", Column::Ids(keys.clone().map(|(o, _)| o.0).collect())),
        ("g", Column::texts(keys.map(|(_, g)| g.as_str()))),
    ]
}

/// Puts fresh alerts into groups; tenant and group, fingerprint.
pub async fn put_into(tx: &mut Tx, alerts: &[(GroupKey, String)]) -> Result<(), StoreError> {
    let tenants: Vec<OrgId> = alerts.iter().map(|((tenant, _), _)| *tenant).collect();
    lock_tenants_of(tx, &tenants).await?;
    for chunk in alerts.chunks(ROWS) {
        let mut columns = group_columns(chunk.iter().map(|(key, _)| key));
        columns.push(("f", Column::texts(chunk.iter().map(|(_, f)| f.as_str()))));
        let mut q = Q::by_index("UPDATE router_alerts AS a SET group_id = v.g FROM ");
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(" WHERE a.organization_id = v.o AND a.fingerprint = v.f AND a.group_id || '' = ''");
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// A group that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Which.
    pub key: GroupKey,
    /// Since when.
    pub due_at: Ts,
    /// Alerts in it.
    pub alerts: u64,
}

/// Up to `limit` due groups of this process's tenants, except the `busy` ones, the longest waiting first.
pub async fn due_groups(
    db: &Db,
    me: Uuid,
    now: Ts,
    busy: &[OrgId],
    limit: i64,
) -> Result<Vec<Due>, StoreError> {
    let mut q = Q::by_index(DUE_GROUPS).bind(now).bind(me);
    if !busy.is_empty() {
        q.push(" AND g.organization_id NOT IN (");
        q.list(busy.iter().copied()).push(")");
    }
    q.push(" ORDER BY g.due_at LIMIT ?").arg(limit);
    let rows: Vec<(Uuid, String, TsCodec, i64)> = q.all(db).await?;
    let due = |(tenant, id, due_at, alerts): (Uuid, String, TsCodec, i64)| Due {
        key: (OrgId(tenant), id),
        due_at: due_at.0,
        alerts: u64::try_from(alerts).unwrap_or(0),
    };
    Ok(rows.into_iter().map(due).collect())
}

/// The alerts of these groups.
pub async fn members(db: &Db, groups: &[GroupKey]) -> Result<Vec<Alert>, StoreError> {
    let mut alerts = Vec::new();
    for chunk in groups.chunks(ROWS) {
        let mut q = Q::by_index(ALERT);
        push_rows(&mut q, db.is_postgres(), group_columns(chunk.iter()));
        q.push(" [[JOIN||CROSS JOIN]] router_alerts a ON a.organization_id = v.o AND a.group_id = v.g");
        alerts.extend(q.all::<AlertRow>(db).await?.into_iter().map(Alert::from));
    }
    Ok(alerts)
}

/// Records of the silences of these systems that end after `now`: tenant, key of the system, record.
pub async fn silences(
    db: &Db,
    systems: &[(OrgId, String)],
    now: Ts,
) -> Result<Vec<(OrgId, String, String)>, StoreError> {
    let mut silences: Vec<(Uuid, String, String)> = Vec::new();
    for chunk in systems.chunks(ROWS) {
        let mut q = Q::new("SELECT s.organization_id, s.system_key, s.payload FROM ");
        push_rows(&mut q, db.is_postgres(), group_columns(chunk.iter()));
        q.push(
            " [[JOIN||CROSS JOIN]] router_silences s ON s.organization_id = v.o AND s.system_key = v.g \
             AND s.ends_at > ?",
        );
        silences.extend(q.arg(now.0).clone().all::<(Uuid, String, String)>(db).await?);
    }
    Ok(silences.into_iter().map(|(o, key, payload)| (OrgId(o), key, payload)).collect())
}

/// Notes that notifications of groups are being sent since `now`, and when the groups are due next.
pub async fn start(tx: &mut Tx, groups: &[(GroupKey, Ts)], now: Ts) -> Result<(), StoreError> {
    for chunk in groups.chunks(ROWS) {
        let mut columns = group_columns(chunk.iter().map(|(key, _)| key));
        columns.push(("due_at", Column::times(chunk.iter().map(|(_, due)| *due))));
        let mut q = Q::by_index("UPDATE router_groups AS g SET due_at = v.due_at, started_at = ? FROM ");
        q.arg(now);
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(" WHERE g.organization_id = v.o AND g.id = v.g");
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// A group with a sent notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Which.
    pub key: GroupKey,
    /// When its notification started; none = not started. A notification started since belongs to another process, and
    /// stays.
    pub started_at: Option<Ts>,
    /// Alerts that leave it unless they have changed: fingerprint and revision.
    pub leaving: Vec<(String, i64)>,
    /// Its alerts belong to other groups: they are fresh again.
    pub is_misplaced: bool,
    /// When it is next due, if not at its present time.
    pub due_at: Option<Ts>,
}

/// Removes alerts from their groups, and ends groups without alerts.
pub async fn finish(tx: &mut Tx, groups: &[Finished]) -> Result<(), StoreError> {
    let leaving: Vec<(&GroupKey, &str, i64)> = groups
        .iter()
        .flat_map(|g| g.leaving.iter().map(|(f, revision)| (&g.key, f.as_str(), *revision)))
        .collect();
    let misplaced: Vec<&GroupKey> = groups.iter().filter(|g| g.is_misplaced).map(|g| &g.key).collect();
    let tenants: Vec<OrgId> =
        leaving.iter().map(|(key, ..)| *key).chain(misplaced.iter().copied()).map(|key| key.0).collect();
    lock_tenants_of(tx, &tenants).await?;
    for chunk in leaving.chunks(ROWS) {
        let mut columns = group_columns(chunk.iter().map(|(key, ..)| *key));
        columns.push(("f", Column::texts(chunk.iter().map(|(_, f, _)| *f))));
        columns.push(("r", Column::Ints(chunk.iter().map(|(.., r)| *r).collect())));
        let mut q = Q::by_index("UPDATE router_alerts AS a SET group_id = ? FROM ");
        q.arg(LEFT);
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(" WHERE a.organization_id = v.o AND a.fingerprint = v.f AND a.group_id || '' = v.g AND a.revision = v.r");
        q.run(&mut *tx).await?;
    }
    for chunk in misplaced.chunks(ROWS) {
        let mut q = Q::by_index("UPDATE router_alerts AS a SET group_id = '' FROM ");
        push_rows(&mut q, tx.is_postgres(), group_columns(chunk.iter().copied()));
        q.push(" WHERE a.organization_id = v.o AND a.group_id = v.g");
        q.run(&mut *tx).await?;
    }
    for chunk in groups.chunks(ROWS) {
        let mut columns = group_columns(chunk.iter().map(|g| &g.key));
        columns.push(("due_at", Column::Times(chunk.iter().map(|g| g.due_at).collect())));
        columns.push(("started_at", Column::Times(chunk.iter().map(|g| g.started_at).collect())));
        let mut q = Q::by_index(
            "UPDATE router_groups AS g SET started_at = NULL, due_at = COALESCE(v.due_at, g.due_at) FROM ",
        );
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(
            " WHERE g.organization_id = v.o AND g.id = v.g AND g.started_at IS NOT DISTINCT FROM v.started_at",
        );
        q.run(&mut *tx).await?;
        let mut q = Q::by_index(
            "DELETE FROM router_groups WHERE started_at IS NULL AND (organization_id, id) IN (SELECT v.o, v.g FROM ",
        );
        push_rows(&mut q, tx.is_postgres(), group_columns(chunk.iter().map(|g| &g.key)));
        q.push(
            ") AND (SELECT a.group_id FROM router_alerts a WHERE a.organization_id = router_groups.organization_id \
             AND a.group_id = router_groups.id ORDER BY a.organization_id, a.group_id LIMIT 1) IS NULL",
        );
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Removes tenants that have no alerts any more; how many.
pub async fn purge_tenants(tx: &mut Tx) -> Result<u64, StoreError> {
    Q::by_index(PURGE_TENANTS).run(tx).await
}
