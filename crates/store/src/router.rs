//! The data of the embedded alert router: alerts and silences of each tenant, and when the service was down (spec:
//! alert-router#embedded). A row's payload is the router's own record as JSON text, which this crate does not read.

use crate::{
    Db, StoreError, Tx,
    sql::{Arg, Column, On, Q, ROWS, padded, push_rows},
    time::TsCodec,
};
use bailiwick_domain::{Clock, OrgId, Ts};
use sqlx_macros::FromRow;
use std::time::Duration;
use uuid::Uuid;

const LOCK_TENANTS: &str = "SELECT CAST(count([[pg_advisory_xact_lock(k)||k]]) AS BIGINT) FROM \
     [[(SELECT k FROM unnest(?::bigint[]) AS u (k) ORDER BY k) AS keys||(SELECT ? AS k) AS keys]]";
const ALERTS_AND_SILENCES_OF_SYSTEM: &str = "SELECT CAST(0 AS BIGINT) AS is_silence, payload FROM router_alerts \
     WHERE organization_id = ? AND system_key = ? AND ends_at >= ? UNION ALL \
     SELECT CAST(1 AS BIGINT) AS is_silence, payload FROM router_silences \
     WHERE organization_id = ? AND system_key = ? AND ends_at >= ?";
const PURGE_ALERTS: &str = "DELETE FROM router_alerts WHERE \
     [[ctid = ANY(ARRAY(SELECT ctid||(organization_id, fingerprint) IN (SELECT organization_id, fingerprint]] \
     FROM router_alerts WHERE ends_at < ? \
     AND (group_id IN ('left', 'nobody') OR ends_at < ?) ORDER BY ends_at LIMIT ? [[FOR UPDATE SKIP LOCKED))||)]]";
const SILENCE: &str = "SELECT payload FROM router_silences \
     WHERE organization_id = ? AND id = ?";
const SILENCES_OF_SYSTEM: &str = "SELECT payload FROM router_silences \
     WHERE organization_id = ? AND system_key = ? AND ends_at >= ?";
const COUNT_SILENCES: &str = "SELECT \
     CAST(COALESCE(SUM(CASE WHEN ends_at > ? THEN 1 ELSE 0 END), 0) AS BIGINT) AS of_tenant, \
     CAST(COALESCE(SUM(CASE WHEN ends_at > ? AND system_key = ? THEN 1 ELSE 0 END), 0) AS BIGINT) AS of_system, \
     CAST(COALESCE(SUM(CASE WHEN system_key = ? THEN 1 ELSE 0 END), 0) AS BIGINT) AS rows_of_system, \
     CAST(COALESCE(SUM(CASE WHEN ends_at > ? THEN compiled_bytes ELSE 0 END), 0) AS BIGINT) AS compiled_of_tenant, \
     CAST(COALESCE(SUM(CASE WHEN ends_at > ? AND system_key = ? THEN compiled_bytes ELSE 0 END), 0) AS BIGINT) \
     AS compiled_of_system \
     FROM router_silences WHERE organization_id = ?";
const PUT_SILENCE: &str = "INSERT INTO router_silences (organization_id, id, system_key, ends_at, compiled_bytes, payload) \
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (organization_id, id) DO UPDATE SET \
     system_key = excluded.system_key, ends_at = excluded.ends_at, compiled_bytes = excluded.compiled_bytes, \
     payload = excluded.payload";
const PURGE_SILENCES_OF_SYSTEM: &str = "DELETE FROM router_silences WHERE (organization_id, id) IN \
     (SELECT organization_id, id FROM router_silences WHERE organization_id = ? AND system_key = ? AND ends_at <= ? \
     ORDER BY ends_at LIMIT ?)";
const PURGE_SILENCES: &str = "DELETE FROM router_silences WHERE \
     [[ctid = ANY(ARRAY(SELECT ctid||(organization_id, id) IN (SELECT organization_id, id]] FROM router_silences WHERE ends_at < ? ORDER BY ends_at LIMIT ? \
     [[FOR UPDATE SKIP LOCKED))||)]]";
const LIFE: &str = "SELECT alive_at, down_since, up_since FROM router_life WHERE id = 1 [[FOR UPDATE||]]";
const NOTE_ALIVE: &str = "INSERT INTO router_life (id, alive_at, down_since, up_since) \
     VALUES (1, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET \
     alive_at = excluded.alive_at, down_since = excluded.down_since, up_since = excluded.up_since";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    LOCK_TENANTS,
    ALERTS_AND_SILENCES_OF_SYSTEM,
    PURGE_ALERTS,
    SILENCE,
    SILENCES_OF_SYSTEM,
    COUNT_SILENCES,
    PUT_SILENCE,
    PURGE_SILENCES_OF_SYSTEM,
    PURGE_SILENCES,
    LIFE,
    NOTE_ALIVE
];

/// Alerts written or read by one statement at most on SQLite.
const ALERTS: usize = 128;

/// One alert's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertRow {
    /// Tenant.
    pub organization_id: OrgId,
    /// Identity within the tenant.
    pub fingerprint: String,
    /// The system of the alert.
    pub system_key: String,
    /// End, rounded down to the microsecond.
    pub ends_at: Ts,
    /// The record.
    pub payload: String,
}

/// One silence's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilenceRow {
    /// Tenant.
    pub organization_id: OrgId,
    pub id: Uuid,
    /// The system of the silence.
    pub system_key: String,
    /// End, rounded down to the microsecond.
    pub ends_at: Ts,
    /// The size of its regular expressions when compiled, in bytes.
    pub compiled_bytes: u64,
    /// The record.
    pub payload: String,
}

/// How many silences a tenant and one of its systems have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// In force in the tenant.
    pub of_tenant: u64,
    /// In force of the system.
    pub of_system: u64,
    /// Rows of the system, ended ones included.
    pub rows_of_system: u64,
    /// Bytes of the compiled expressions of those in force in the tenant.
    pub compiled_of_tenant: u64,
    /// Bytes of the compiled expressions of those in force of the system.
    pub compiled_of_system: u64,
}

/// How many alerts a system has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlertCounts {
    pub in_force: u64,
    /// Rows, ended ones included.
    pub rows: u64,
}

#[derive(FromRow)]
struct CountsRow {
    of_tenant: i64,
    of_system: i64,
    rows_of_system: i64,
    compiled_of_tenant: i64,
    compiled_of_system: i64,
}

fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

impl From<CountsRow> for Counts {
    fn from(row: CountsRow) -> Counts {
        Counts {
            of_tenant: count(row.of_tenant),
            of_system: count(row.of_system),
            rows_of_system: count(row.rows_of_system),
            compiled_of_tenant: count(row.compiled_of_tenant),
            compiled_of_system: count(row.compiled_of_system),
        }
    }
}

/// Makes other writers of alerts or silences of these tenants wait for the end of the transaction. SQLite has one
/// writer anyway.
pub async fn lock_tenants(tx: &mut Tx, tenants: &[OrgId]) -> Result<(), StoreError> {
    if tx.is_postgres() {
        let keys = tenants.iter().map(|t| t.0.as_u64_pair()).map(|(a, b)| (a ^ b).cast_signed()).collect();
        Q::new(LOCK_TENANTS).bind(Arg::Ints(keys)).count(tx).await?;
    }
    Ok(())
}

/// The existing ones of these alerts, in any order, maybe twice: tenant, fingerprint, record.
pub async fn alerts_by_key(
    tx: &mut Tx,
    keys: &[(OrgId, String)],
) -> Result<Vec<(OrgId, String, String)>, StoreError> {
    #[derive(FromRow)]
    struct Row {
        organization_id: Uuid,
        fingerprint: String,
        payload: String,
    }
    const COLUMNS: &str = "SELECT a.organization_id, a.fingerprint, a.payload FROM ";
    let mut rows: Vec<Row> = Vec::new();
    if tx.is_postgres() {
        let (tenants, fingerprints) = keys.iter().map(|(o, f)| (o.0, f.clone())).unzip();
        let mut q = Q::new(COLUMNS);
        q.push(
            "unnest(?::uuid[], ?::text[]) AS k (o, f) JOIN router_alerts a ON a.organization_id = k.o \
             AND a.fingerprint = k.f",
        );
        rows = q.bind(Arg::Ids(tenants)).bind(Arg::Texts(fingerprints)).all(&mut *tx).await?;
    } else {
        for chunk in keys.chunks(ALERTS) {
            let mut q = Q::new(COLUMNS);
            q.push("(VALUES ").push(&values("(?, ?)", chunk.len()));
            q.push(
                ") k CROSS JOIN router_alerts a ON a.organization_id = k.column1 AND a.fingerprint = k.column2",
            );
            for (tenant, fingerprint) in padded(chunk) {
                q.arg(*tenant).arg(fingerprint);
            }
            rows.extend(q.all::<Row>(&mut *tx).await?);
        }
    }
    Ok(rows.into_iter().map(|r| (OrgId(r.organization_id), r.fingerprint, r.payload)).collect())
}

/// Few different texts, so that they stay prepared: the number of rows is a power of two.
fn values(row: &str, rows: usize) -> String {
    let rows = rows.next_power_of_two();
    let mut text = String::with_capacity(rows * (row.len() + 2));
    for i in 0..rows {
        text.push_str(if i == 0 { "" } else { ", " });
        text.push_str(row);
    }
    text
}

/// Writes alerts, each (tenant, fingerprint) at most once. An alert in a group stays in it; one that has left its group
/// becomes fresh again ([`crate::delivery`]).
pub async fn put_alerts(tx: &mut Tx, rows: &[AlertRow]) -> Result<(), StoreError> {
    const INTO: &str =
        "INSERT INTO router_alerts (organization_id, fingerprint, system_key, ends_at, payload) ";
    const UPSERT: &str = " ON CONFLICT (organization_id, fingerprint) DO UPDATE SET \
         system_key = excluded.system_key, ends_at = excluded.ends_at, payload = excluded.payload, \
         revision = router_alerts.revision + 1, \
         group_id = CASE WHEN router_alerts.group_id = 'left' THEN '' ELSE router_alerts.group_id END";
    if rows.is_empty() {
        return Ok(());
    }
    if tx.is_postgres() {
        let mut q = Q::new(INTO);
        q.push(
            "SELECT o, f, s, e, p FROM \
             unnest(?::uuid[], ?::text[], ?::text[], ?::bigint[], ?::text[]) AS v (o, f, s, e, p)",
        );
        q.push(UPSERT);
        q.arg(Arg::Ids(rows.iter().map(|r| r.organization_id.0).collect()));
        q.arg(Arg::Texts(rows.iter().map(|r| r.fingerprint.clone()).collect()));
        q.arg(Arg::Texts(rows.iter().map(|r| r.system_key.clone()).collect()));
        q.arg(Arg::Ints(rows.iter().map(|r| r.ends_at.0).collect()));
        q.arg(Arg::Texts(rows.iter().map(|r| r.payload.clone()).collect()));
        q.run(tx).await?;
        return Ok(());
    }
    for chunk in rows.chunks(ALERTS) {
        let mut q = Q::new(INTO);
        q.push("VALUES ").push(&values("(?, ?, ?, ?, ?)", chunk.len())).push(UPSERT);
        for row in padded(chunk) {
            q.arg(row.organization_id).arg(&row.fingerprint).arg(&row.system_key);
            q.arg(row.ends_at.0).arg(&row.payload);
        }
        q.run(tx).await?;
    }
    Ok(())
}

/// How many alerts each of these tenants has that have not ended at `now`; some may appear twice.
pub async fn count_alerts_of_tenants(
    tx: &mut Tx,
    tenants: &[OrgId],
    now: Ts,
) -> Result<Vec<(OrgId, u64)>, StoreError> {
    let mut counts = Vec::with_capacity(tenants.len());
    for chunk in tenants.chunks(ROWS) {
        let mut q = Q::new(
            "SELECT v.o, (SELECT CAST(COUNT(*) AS BIGINT) FROM router_alerts a \
             WHERE a.organization_id = v.o AND a.ends_at > ?) FROM ",
        )
        .bind(now.0);
        let ids = padded(chunk).map(|tenant| tenant.0).collect();
        push_rows(&mut q, tx.is_postgres(), vec![("o", Column::Ids(ids))]);
        let rows: Vec<(Uuid, i64)> = q.all(&mut *tx).await?;
        counts.extend(rows.into_iter().map(|(tenant, n)| (OrgId(tenant), count(n))));
    }
    Ok(counts)
}

/// How many alerts each of these systems has that have not ended at `now`, and how many rows; some may appear twice.
pub async fn count_alerts_of_systems(
    tx: &mut Tx,
    systems: &[(OrgId, &str)],
    now: Ts,
) -> Result<Vec<((OrgId, String), AlertCounts)>, StoreError> {
    let mut counts = Vec::with_capacity(systems.len());
    for chunk in systems.chunks(ROWS) {
        let mut q = Q::new(
            "SELECT v.o, v.s, (SELECT CAST(COUNT(*) AS BIGINT) FROM router_alerts a \
             WHERE a.organization_id = v.o AND a.system_key = v.s AND a.ends_at > ?), \
             (SELECT CAST(COUNT(*) AS BIGINT) FROM router_alerts a \
             WHERE a.organization_id = v.o AND a.system_key = v.s) FROM ",
        )
        .bind(now.0);
        let columns = vec![
            ("o", Column::Ids(padded(chunk).map(|(tenant, _)| tenant.0).collect())),
            ("s", Column::texts(padded(chunk).map(|(_, key)| *key))),
        ];
        push_rows(&mut q, tx.is_postgres(), columns);
        let rows: Vec<(Uuid, String, i64, i64)> = q.all(&mut *tx).await?;
        counts.extend(rows.into_iter().map(|(tenant, key, in_force, rows)| {
            ((OrgId(tenant), key), AlertCounts { in_force: count(in_force), rows: count(rows) })
        }));
    }
    Ok(counts)
}

#[derive(FromRow)]
struct Payload {
    payload: String,
}

fn payloads(rows: Vec<Payload>) -> Vec<String> {
    rows.into_iter().map(|r| r.payload).collect()
}

/// Records of the system's alerts that end at `alerts_from` or later, and of its silences that end at `silences_from`
/// or later, as of one moment.
pub async fn alerts_and_silences_of_system(
    on: impl Into<On<'_>>,
    tenant: OrgId,
    system_key: &str,
    alerts_from: Ts,
    silences_from: Ts,
) -> Result<(Vec<String>, Vec<String>), StoreError> {
    let q = Q::new(ALERTS_AND_SILENCES_OF_SYSTEM).bind(tenant).bind(system_key).bind(alerts_from.0);
    let q = q.bind(tenant).bind(system_key).bind(silences_from.0);
    let rows: Vec<(i64, String)> = q.all(on).await?;
    let (silences, alerts): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(is_silence, _)| *is_silence == 1);
    let payloads = |rows: Vec<(i64, String)>| rows.into_iter().map(|(_, payload)| payload).collect();
    Ok((payloads(alerts), payloads(silences)))
}

/// Removes up to `limit` alerts that ended before `notified_before` and wait for no notification, or that ended before
/// `ended_before` in any case; returns how many.
pub async fn purge_alerts(
    tx: &mut Tx,
    notified_before: Ts,
    ended_before: Ts,
    limit: i64,
) -> Result<u64, StoreError> {
    let latest = notified_before.max(ended_before);
    Q::by_index(PURGE_ALERTS).bind(latest.0).bind(ended_before.0).bind(limit).run(tx).await
}

/// Records of the system's silences that end at `from` or later.
pub async fn silences_of_system(
    on: impl Into<On<'_>>,
    tenant: OrgId,
    system_key: &str,
    from: Ts,
) -> Result<Vec<String>, StoreError> {
    let q = Q::new(SILENCES_OF_SYSTEM).bind(tenant).bind(system_key).bind(from.0);
    q.all(on).await.map(payloads)
}

/// The record of one silence of the tenant.
pub async fn silence(on: impl Into<On<'_>>, tenant: OrgId, id: Uuid) -> Result<Option<String>, StoreError> {
    let row: Option<Payload> = Q::new(SILENCE).bind(tenant).bind(id).optional(on).await?;
    Ok(row.map(|r| r.payload))
}

/// How many silences are active or pending at `now`.
pub async fn count_silences(
    tx: &mut Tx,
    tenant: OrgId,
    system_key: &str,
    now: Ts,
) -> Result<Counts, StoreError> {
    let q = Q::new(COUNT_SILENCES).bind(now.0).bind(now.0).bind(system_key).bind(system_key);
    let q = q.bind(now.0).bind(now.0).bind(system_key).bind(tenant);
    q.one::<CountsRow>(tx).await.map(Counts::from)
}

/// Writes a silence, new or in place.
pub async fn put_silence(tx: &mut Tx, row: SilenceRow) -> Result<(), StoreError> {
    let q = Q::new(PUT_SILENCE).bind(row.organization_id).bind(row.id).bind(row.system_key);
    let compiled_bytes = i64::try_from(row.compiled_bytes).unwrap_or(i64::MAX);
    q.bind(row.ends_at.0).bind(compiled_bytes).bind(row.payload).run(tx).await?;
    Ok(())
}

/// Removes up to `limit` silences of a system that have ended at `now`, those that ended first.
pub async fn purge_silences_of_system(
    tx: &mut Tx,
    tenant: OrgId,
    system_key: &str,
    now: Ts,
    limit: u64,
) -> Result<u64, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Q::new(PURGE_SILENCES_OF_SYSTEM).bind(tenant).bind(system_key).bind(now.0).bind(limit).run(tx).await
}

/// Removes up to `limit` silences that ended before `before`; how many.
pub async fn purge_silences(tx: &mut Tx, before: Ts, limit: i64) -> Result<u64, StoreError> {
    Q::by_index(PURGE_SILENCES).bind(before.0).bind(limit).run(tx).await
}

/// A time in which no process served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Last sign of life before it.
    pub down_since: Ts,
    /// First sign of life after it.
    pub up_since: Ts,
}

#[derive(FromRow)]
struct Life {
    alive_at: TsCodec,
    down_since: Option<TsCodec>,
    up_since: Option<TsCodec>,
}

/// Notes that a process is serving now; returns that time, and the last outage. If no process has served for longer
/// than `short`, that time was an outage, and every other process learns of it when it notes the same. An outage that
/// begins while senders still have `grace` after another one is the same outage: they cannot have refreshed their
/// alerts yet.
pub async fn note_alive(
    db: &Db,
    clock: &dyn Clock,
    short: Duration,
    grace: Duration,
) -> Result<(Ts, Option<Outage>), StoreError> {
    let mut tx = db.begin_relaxed().await?;
    let life: Option<Life> = Q::new(LIFE).optional(&mut tx).await?;
    // The time spent waiting until here is part of the outage.
    let now = clock.now();
    let last_outage = life.as_ref().and_then(|life| {
        let (down_since, up_since) = life.down_since.zip(life.up_since)?;
        Some(Outage { down_since: down_since.0, up_since: up_since.0 })
    });
    let outage = match &life {
        Some(Life { alive_at, .. }) if now.since(alive_at.0) > short => {
            let same = last_outage.filter(|last| alive_at.0.since(last.up_since) <= grace);
            Some(Outage { down_since: same.map_or(alive_at.0, |last| last.down_since), up_since: now })
        }
        _ => last_outage,
    };
    let (down, up) = (outage.map(|o| o.down_since), outage.map(|o| o.up_since));
    Q::new(NOTE_ALIVE).bind(now).bind(down).bind(up).run(&mut tx).await?;
    tx.commit().await?;
    Ok((now, outage))
}
