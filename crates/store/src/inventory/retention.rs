//! Removal of rows past their retention (spec: inventory#retention), a limited number at a time. Rows that another
//! transaction holds are left for the next time, so a removal neither waits nor makes others wait.

use crate::{
    Db, StoreError, Tx,
    sql::{On, Q, padded},
    time::TsCodec,
};
use bailiwick_domain::{SystemId, Ts};
use uuid::Uuid;

const STATE: &str = "SELECT next_at, thinned_to FROM retention WHERE id = 1";
const SET_STATE: &str = "UPDATE retention SET next_at = ?, thinned_to = ? WHERE id = 1";
const SYSTEMS: &str = "SELECT id FROM systems WHERE id > ? ORDER BY id LIMIT ?";
const CREATED: &str = "SELECT created_at, id, system_id FROM inventory_records \
     WHERE (created_at, id) > (?, ?) AND created_at < ? ORDER BY created_at, id LIMIT ?";
const RECORDS: &str = "SELECT id, created_at FROM inventory_records WHERE system_id = ? AND id > ? \
     ORDER BY id LIMIT ?";
/// A record stays whatever the rules say if a waiting document shares its text, or if it is the latest of the system. A
/// text is shared by reference only while its record is the latest one, so a record chosen here cannot become shared
/// again.
const MAY_GO: &str = " AND NOT EXISTS (SELECT 1 FROM inventory_queue q WHERE q.system_id = r.system_id \
     AND q.same_as = r.id) AND NOT EXISTS (SELECT 1 FROM system_activity a WHERE a.system_id = r.system_id \
     AND a.latest_inventory_id = r.id)";
const END_ALERTS: &str = "UPDATE inventory_alerts SET \
     resolved_at = [[created_at + INTERVAL '720 hours'||created_at + 2592000000000]], updated_at = ? WHERE id [[= ANY(ARRAY(||IN (]]\
     SELECT id FROM inventory_alerts WHERE resolved_at IS NULL AND created_at <= ? ORDER BY created_at LIMIT ? \
     [[FOR UPDATE SKIP LOCKED))||)]]";
const COUNT_ENDING_ALERTS: &str =
    "SELECT CAST(COUNT(*) AS bigint) FROM inventory_alerts WHERE resolved_at IS NULL AND created_at <= ?";
const REMOVE_ALERTS: &str = "DELETE FROM inventory_alerts WHERE id [[= ANY(ARRAY(||IN (]]\
     SELECT id FROM inventory_alerts WHERE resolved_at < ? ORDER BY resolved_at LIMIT ? [[FOR UPDATE SKIP LOCKED))||)]]";
const COUNT_OLD_ALERTS: &str = "SELECT CAST(COUNT(*) AS bigint) FROM inventory_alerts \
     WHERE resolved_at < ? OR (resolved_at IS NULL AND created_at < ?)";
const REMOVE_QUARANTINED: &str = "DELETE FROM inventory_queue WHERE id [[= ANY(ARRAY(||IN (]]\
     SELECT id FROM inventory_queue WHERE quarantined_at < ? ORDER BY quarantined_at, id LIMIT ? \
     [[FOR UPDATE SKIP LOCKED))||)]]";
const COUNT_QUARANTINED: &str =
    "SELECT CAST(COUNT(*) AS bigint) FROM inventory_queue WHERE quarantined_at < ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    STATE,
    SET_STATE,
    SYSTEMS,
    CREATED,
    RECORDS,
    END_ALERTS,
    COUNT_ENDING_ALERTS,
    REMOVE_ALERTS,
    COUNT_OLD_ALERTS,
    REMOVE_QUARANTINED,
    COUNT_QUARANTINED
];

/// How far the hourly run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Not before; none: it has never run.
    pub next_at: Option<Ts>,
    /// Records were thinned as of that time.
    pub thinned_to: Option<Ts>,
}

/// Reads how far the run has come.
pub async fn state(db: &Db) -> Result<State, StoreError> {
    let (next, to): (Option<TsCodec>, Option<TsCodec>) = Q::new(STATE).one(db).await?;
    Ok(State { next_at: next.map(Ts::from), thinned_to: to.map(Ts::from) })
}

/// Notes how far the run has come.
pub async fn set_state(tx: &mut Tx, next_at: Ts, thinned_to: Ts) -> Result<(), StoreError> {
    Q::new(SET_STATE).bind(next_at).bind(thinned_to).run(tx).await?;
    Ok(())
}

/// Systems by id, after that one.
pub async fn systems(db: &Db, after: SystemId, limit: i64) -> Result<Vec<SystemId>, StoreError> {
    let rows: Vec<(Uuid,)> = Q::new(SYSTEMS).bind(after).bind(limit).all(db).await?;
    Ok(rows.into_iter().map(|row| SystemId(row.0)).collect())
}

/// Records of all systems created before `before`, after that one in the order of creation: time, id and system.
pub async fn created(
    db: &Db,
    after: (Ts, i64),
    before: Ts,
    limit: i64,
) -> Result<Vec<(Ts, i64, SystemId)>, StoreError> {
    let q = Q::new(CREATED).bind(after.0).bind(after.1).bind(before).bind(limit);
    let rows: Vec<(TsCodec, i64, Uuid)> = q.all(db).await?;
    Ok(rows.into_iter().map(|(at, id, system)| (at.0, id, SystemId(system))).collect())
}

/// Records of a system in order, after that one: id and time of creation.
pub async fn records(
    db: &Db,
    system: SystemId,
    after: i64,
    limit: i64,
) -> Result<Vec<(i64, Ts)>, StoreError> {
    let rows: Vec<(i64, TsCodec)> = Q::new(RECORDS).bind(system).bind(after).bind(limit).all(db).await?;
    Ok(rows.into_iter().map(|(id, at)| (id, at.0)).collect())
}

/// How many of these records would go.
pub async fn count_records(on: impl Into<On<'_>>, ids: &[i64]) -> Result<u64, StoreError> {
    let mut q = Q::by_index("SELECT CAST(COUNT(*) AS bigint) FROM inventory_records r WHERE r.id IN (");
    q.list(padded(ids).copied()).push(")").push(MAY_GO);
    q.count(on).await
}

/// Removes these records; differences lose their reference to them. Answers how many.
pub async fn remove_records(tx: &mut Tx, ids: &[i64]) -> Result<u64, StoreError> {
    let mut q = Q::by_index(
        "DELETE FROM inventory_records WHERE id [[= ANY(ARRAY(||IN (]]SELECT r.id FROM inventory_records r WHERE r.id IN (",
    );
    q.list(padded(ids).copied())
        .push(")")
        .push(MAY_GO)
        .push(" ORDER BY r.id [[FOR UPDATE OF r SKIP LOCKED))||)]]");
    q.run(tx).await
}

/// Removes the whole texts of these systems that no record uses as its base any more. The next record uses the text of
/// the latest record or one stored together with it, so an unused text is never needed again.
pub async fn remove_bases(tx: &mut Tx, systems: &[SystemId]) -> Result<u64, StoreError> {
    let mut q = Q::new("DELETE FROM inventory_bases WHERE system_id IN (");
    q.list(padded(systems).copied()).push(
        ") AND NOT EXISTS (SELECT 1 FROM inventory_records r WHERE r.system_id = inventory_bases.system_id \
         AND r.base_id = inventory_bases.id)",
    );
    q.run(tx).await
}

/// Ends alerts raised up to that moment, as of 30 days after they were raised. Answers how many.
pub async fn end_alerts(tx: &mut Tx, raised: Ts, now: Ts, limit: i64) -> Result<u64, StoreError> {
    Q::by_index(END_ALERTS).bind(now).bind(raised).bind(limit).run(tx).await
}

/// How many alerts [`end_alerts`] would end.
pub async fn count_ending_alerts(db: &Db, raised: Ts) -> Result<u64, StoreError> {
    Q::new(COUNT_ENDING_ALERTS).bind(raised).count(db).await
}

/// Removes alerts that ended before that moment. Answers how many.
pub async fn remove_alerts(tx: &mut Tx, ended: Ts, limit: i64) -> Result<u64, StoreError> {
    Q::by_index(REMOVE_ALERTS).bind(ended).bind(limit).run(tx).await
}

/// How many alerts ended before that moment, or will have ended before it once those raised before `raised` are ended.
pub async fn count_old_alerts(db: &Db, ended: Ts, raised: Ts) -> Result<u64, StoreError> {
    Q::new(COUNT_OLD_ALERTS).bind(ended).bind(raised).count(db).await
}

/// Removes documents quarantined before that moment. Returns how many.
pub async fn remove_quarantined(tx: &mut Tx, before: Ts, limit: i64) -> Result<u64, StoreError> {
    Q::by_index(REMOVE_QUARANTINED).bind(before).bind(limit).run(tx).await
}

/// How many documents were quarantined before that moment.
pub async fn count_quarantined(db: &Db, before: Ts) -> Result<u64, StoreError> {
    Q::by_index(COUNT_QUARANTINED).bind(before).count(db).await
}
