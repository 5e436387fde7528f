//! The last heartbeats of systems: one narrow row for each system, written in groups.

use crate::{
    StoreError, Tx,
    sql::{Arg, Column, Q, padded, push_rows},
    systems::status,
};
use bailiwick_domain::{SystemId, Ts};
use std::collections::BTreeMap;
use uuid::Uuid;

const NOTE_INVENTORY: &str = "UPDATE system_activity SET latest_inventory_id = v.latest_id, last_inventory = \
     CASE WHEN last_inventory > v.received_at THEN last_inventory ELSE v.received_at END FROM \
     [[unnest(?::uuid[], ?::timestamptz[], ?::bigint[]) AS v (system_id, received_at, latest_id)\
     ||(SELECT ? AS system_id, ? AS received_at, ? AS latest_id) AS v]] WHERE system_activity.system_id = v.system_id";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![NOTE_INVENTORY];

/// Stores heartbeats, each system at most once; times never move back. A system that was not active is active then.
/// Systems that do not exist are left out.
///
/// A transaction writes each row once. At a second write PostgreSQL checks the foreign key of the row, and that check
/// waits while another transaction has locked the system. If the other one then needs the row, both are deadlocked.
///
/// # Errors
/// The database's.
pub async fn beat(tx: &mut Tx, beats: &[(SystemId, Ts)]) -> Result<(), StoreError> {
    if beats.is_empty() {
        return Ok(());
    }
    let later = " AND a.status = 1 AND (a.last_heartbeat IS NULL OR a.last_heartbeat < v.at)";
    let written = write(tx, "last_heartbeat = v.at", beats, later).await?;
    if written == beats.len() as u64 {
        return Ok(());
    }
    // The others were not active, have a later heartbeat, or do not exist.
    let times: BTreeMap<Uuid, Ts> = beats.iter().map(|(id, at)| (id.0, *at)).collect();
    let ids: Vec<Uuid> = times.keys().copied().collect();
    let mut rows = status::lock(&mut *tx, &ids, false).await?;
    rows.retain(|row| row.last_heartbeat.is_none_or(|last| last < times[&row.id]));
    let beats: Vec<(SystemId, Ts)> = rows.iter().map(|row| (SystemId(row.id), times[&row.id])).collect();
    if !beats.is_empty() {
        write(tx, "last_heartbeat = v.at, status = 1", &beats, "").await?;
    }
    rows.retain(|row| row.status != status::ACTIVE);
    status::count_as(tx, &rows, status::ACTIVE).await
}

/// Sets columns of these systems from `v.at`, where `condition` holds. Returns how many it has written.
async fn write(tx: &mut Tx, set: &str, beats: &[(SystemId, Ts)], condition: &str) -> Result<u64, StoreError> {
    let is_postgres = tx.is_postgres();
    // Few different texts, so that they stay prepared; a repeated row changes nothing on SQLite.
    let beats: Vec<(SystemId, Ts)> =
        if is_postgres { beats.to_vec() } else { padded(beats).copied().collect() };
    let (ids, times): (Vec<Uuid>, Vec<Option<Ts>>) = beats.iter().map(|(id, at)| (id.0, Some(*at))).unzip();
    let mut q = Q::new(&format!("UPDATE system_activity AS a SET {set} FROM "));
    push_rows(&mut q, is_postgres, vec![("system_id", Column::Ids(ids)), ("at", Column::Times(times))]);
    q.push(" WHERE a.system_id = v.system_id").push(condition);
    q.run(tx).await
}

/// Notes for each system, at most once, when its newest document came and which record is its latest.
pub async fn note_inventory(tx: &mut Tx, notes: &[(SystemId, Ts, i64)]) -> Result<(), StoreError> {
    if tx.is_postgres() {
        if !notes.is_empty() {
            let ids = notes.iter().map(|note| note.0.0).collect();
            let times = notes.iter().map(|note| note.1).collect();
            let latest = notes.iter().map(|note| note.2).collect();
            let q = Q::new(NOTE_INVENTORY).bind(Arg::Ids(ids)).bind(Arg::Times(times));
            q.bind(Arg::Ints(latest)).run(tx).await?;
        }
        return Ok(());
    }
    for (id, received_at, latest) in notes {
        Q::new(NOTE_INVENTORY).bind(*id).bind(*received_at).bind(*latest).run(tx).await?;
    }
    Ok(())
}
