//! Ends or removes history rows without a push: by expiry, by age, and when their system is moved or removed.

use super::{
    Counts,
    alert_events::{self, AlertFacts},
    lock_for_writing,
};
use crate::{
    Db, StoreError, Tx, alert_handling,
    alert_rows::{AlertKey, Spared},
    events::{self, NewEvent},
    sql::Q,
    time::{TsCodec, utc_day},
};
use bailiwick_domain::{OrgId, Ts};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// In an order that only the index of firing rows has.
const EXPIRED: &str = "SELECT h.id, h.organization_id FROM alert_history h WHERE h.status = 'firing' \
     AND h.expires_at < ? AND (h.expires_at < ? OR h.expires_at > ?) ORDER BY h.p2, h.starts_at LIMIT ?";
const CLOSE_SYSTEM: &str = "UPDATE alert_history SET status = 'resolved', ends_at = ?, expires_at = NULL, \
     created_at = ? WHERE organization_id = ? AND system_key = ? AND status = 'firing' \
     RETURNING organization_id, fingerprint, system_key, alertname, severity, starts_at, ends_at";
const OLD: &str = "SELECT h.id, h.organization_id FROM alert_history h WHERE h.status = 'resolved' \
     AND h.created_at < ? ORDER BY h.created_at LIMIT ?";
const COUNT_OLD: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM alert_history h \
     WHERE h.status = 'resolved' AND h.created_at < ?";
const FORGET_NAMES: &str = "DELETE FROM alert_names WHERE seen_at < ? AND NOT EXISTS (SELECT 1 \
     FROM alert_history h WHERE h.organization_id = alert_names.organization_id \
     AND SUBSTR(h.alertname, 1, 200) = alert_names.alertname)";
const MOVE_ROWS: &str = "UPDATE alert_history SET organization_id = ?, p2 = ?, p3 = ? \
     WHERE organization_id = ? AND system_key = ?";
const MOVE_NAMES: &str = "INSERT INTO alert_names (organization_id, alertname, severity, seen_at) \
     SELECT h.organization_id, SUBSTR(h.alertname, 1, 200), MAX(h.severity), MAX(h.created_at) FROM alert_history h \
     WHERE h.organization_id = ? AND h.system_key = ? AND h.alertname <> '' GROUP BY 1, 2 \
     ON CONFLICT (organization_id, alertname) DO NOTHING";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![EXPIRED, CLOSE_SYSTEM, OLD, COUNT_OLD, FORGET_NAMES, MOVE_ROWS, MOVE_NAMES];

/// Ends up to `limit` open rows that expired before `now`, as of their expiry; returns how many.
pub async fn sweep(db: &Db, now: Ts, spared: Spared, limit: i64) -> Result<u64, StoreError> {
    let (from, to) = spared.unwrap_or((now, now));
    let q = Q::by_index(EXPIRED).bind(now).bind(from).bind(to).bind(limit);
    let expired: Vec<(i64, Uuid)> = q.all(db).await?;
    if expired.is_empty() {
        return Ok(0);
    }
    let mut tx = db.begin_relaxed().await?;
    lock_for_writing(&mut tx, expired.iter().map(|(_, organization)| OrgId(*organization))).await?;
    // Rows refreshed before they were locked have not expired.
    let mut q = Q::by_index(
        "UPDATE alert_history SET status = 'resolved', ends_at = expires_at, expires_at = NULL, created_at = ? \
         WHERE status || '' = 'firing' AND expires_at < ? AND id IN (",
    );
    q.arg(now).arg(now).list(expired.iter().map(|(id, _)| *id));
    q.push(") RETURNING organization_id, fingerprint, system_key, alertname, severity, starts_at, ends_at");
    let ended: Vec<Ended> = q.all(&mut tx).await?;
    let count = ended.len() as u64;
    settle_ended(&mut tx, ended, now).await?;
    tx.commit().await?;
    Ok(count)
}

/// A row that has ended.
#[derive(FromRow)]
struct Ended {
    organization_id: Uuid,
    fingerprint: String,
    system_key: String,
    alertname: String,
    severity: Option<String>,
    starts_at: TsCodec,
    ends_at: Option<TsCodec>,
}

impl Ended {
    fn event(&self, now: Ts) -> NewEvent {
        let facts = AlertFacts {
            key: &(OrgId(self.organization_id), self.fingerprint.clone()),
            system_key: &self.system_key,
            alertname: &self.alertname,
            severity: self.severity.as_deref(),
            starts_at: self.starts_at.0,
            ends_at: self.ends_at.map(Ts::from),
            at: now,
        };
        alert_events::event(false, &facts)
    }
}

/// Updates the counters and events after open rows have ended.
async fn settle_ended(tx: &mut Tx, ended: Vec<Ended>, now: Ts) -> Result<(), StoreError> {
    let written: Vec<NewEvent> = ended.iter().map(|row| row.event(now)).collect();
    events::write(tx, &written).await?;
    tx.active_alerts_changed();
    let ended: Vec<AlertKey> = ended.into_iter().map(|e| (OrgId(e.organization_id), e.fingerprint)).collect();
    alert_handling::end(tx, &ended, now).await?;
    let mut counts = Counts::default();
    ended.iter().for_each(|(organization, _)| counts.add(*organization, now, 1));
    counts.write(tx).await
}

/// Ends the open rows of a system that is about to be removed or moved; its organization is locked.
pub async fn close_system(
    tx: &mut Tx,
    organization: OrgId,
    system_key: &str,
    now: Ts,
) -> Result<(), StoreError> {
    let q = Q::new(CLOSE_SYSTEM).bind(now).bind(now).bind(organization).bind(system_key);
    let ended: Vec<Ended> = q.all(&mut *tx).await?;
    settle_ended(tx, ended, now).await?;
    alert_handling::remove_of_system(tx, organization, system_key).await
}

/// Applies the move of a system between organizations to its alert history (spec: alert-management#handling): open rows
/// end now, all rows move with the system, and assignees are removed. It runs in the transaction of the move, which has
/// not written alerts, silences or history before. Alerts and silences themselves stay where they are. Returns the
/// number of moved rows.
pub async fn move_system(
    tx: &mut Tx,
    system_key: &str,
    from: OrgId,
    to: OrgId,
    now: Ts,
) -> Result<u64, StoreError> {
    let locked = lock_for_writing(tx, [from, to]).await?;
    let Some(path) = locked.0.get(&to) else {
        return Err(StoreError::Misuse("a system is moved to an organization that is not there"));
    };
    close_system(tx, from, system_key, now).await?;
    let day = utc_day("h.created_at");
    let q = Q::new(&format!(
        "SELECT {day}, CAST(COUNT(*) AS BIGINT) FROM alert_history h WHERE h.organization_id = ? AND h.system_key = ? \
         GROUP BY 1"
    ));
    let days: Vec<(i64, i64)> = q.bind(from).bind(system_key).all(&mut *tx).await?;
    let mut counts = Counts::default();
    for &(day, n) in &days {
        let at = Ts::from_secs(day.saturating_mul(86_400));
        counts.add(from, at, -n);
        counts.add(to, at, n);
    }
    tx.active_alerts_changed();
    let q = Q::new(MOVE_ROWS).bind(path.id).bind(path.p2).bind(path.p3);
    q.bind(from).bind(system_key).run(&mut *tx).await?;
    Q::new(MOVE_NAMES).bind(to).bind(system_key).run(&mut *tx).await?;
    counts.write(tx).await?;
    Ok(days.iter().map(|(_, n)| u64::try_from(*n).unwrap_or(0)).sum())
}

/// Removes up to `limit` resolved rows created before `before`; returns how many.
pub async fn purge(db: &Db, before: Ts, limit: i64) -> Result<u64, StoreError> {
    let old: Vec<(i64, Uuid)> = Q::by_index(OLD).bind(before).bind(limit).all(db).await?;
    if old.is_empty() {
        return Ok(0);
    }
    let mut tx = db.begin_relaxed().await?;
    lock_for_writing(&mut tx, old.iter().map(|(_, organization)| OrgId(*organization))).await?;
    let mut q = Q::by_index(
        "DELETE FROM alert_history WHERE status || '' = 'resolved' AND (created_at < ?) IS TRUE AND id IN (",
    );
    q.arg(before).list(old.iter().map(|(id, _)| *id)).push(") RETURNING organization_id, created_at");
    let gone: Vec<(Uuid, TsCodec)> = q.all(&mut tx).await?;
    let mut counts = Counts::default();
    gone.iter().for_each(|(organization, at)| counts.add(OrgId(*organization), at.0, -1));
    counts.write(&mut tx).await?;
    tx.commit().await?;
    Ok(gone.len() as u64)
}

/// How many rows [`purge`] would remove in all.
pub async fn count_old(db: &Db, before: Ts) -> Result<u64, StoreError> {
    Q::new(COUNT_OLD).bind(before).count(db).await
}

/// Removes names that no alert has had since `before` and no row of the history has.
pub async fn forget_names(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    Q::new(FORGET_NAMES).bind(before).run(tx).await
}
