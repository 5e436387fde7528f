//! The last heartbeats of systems: one narrow row for each system, written in groups.

use crate::{
    StoreError, Tx,
    sql::{Arg, Column, Q, padded, push_rows},
};
use bailiwick_domain::{SystemId, Ts};
use uuid::Uuid;

/// Stored on the wide row, once in a system's life: so systems without a heartbeat are an index range.
const FIRST: &str = "UPDATE systems SET first_heartbeat_at = [[v.at \
     FROM unnest(?::uuid[], ?::timestamptz[]) AS v (system_id, at) WHERE systems.id = v.system_id\
     ||? WHERE id = ?]] AND first_heartbeat_at IS NULL";
const NOTE_INVENTORY: &str = "INSERT INTO system_activity (system_id, last_inventory, latest_inventory_id) \
     SELECT v.system_id, v.received_at, v.latest_id FROM \
     [[unnest(?::uuid[], ?::timestamptz[], ?::bigint[]) AS v (system_id, received_at, latest_id)\
     ||(SELECT ? AS system_id, ? AS received_at, ? AS latest_id) v]] WHERE 1 = 1 \
     ON CONFLICT (system_id) DO UPDATE SET latest_inventory_id = excluded.latest_inventory_id, last_inventory = \
     CASE WHEN system_activity.last_inventory > excluded.last_inventory THEN system_activity.last_inventory \
     ELSE excluded.last_inventory END";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![FIRST, NOTE_INVENTORY];

/// Stores heartbeats, each system at most once; times never move back. Systems that do not
/// exist are left out. Systems counted as something other than active are noted
/// ([`status_counts`](crate::systems::status_counts)): on PostgreSQL in the same statement, because only its own writes are known to
/// be the newest version of a row.
pub async fn beat(tx: &mut Tx, beats: &[(SystemId, Ts)]) -> Result<(), StoreError> {
    if beats.is_empty() {
        return Ok(());
    }
    let is_postgres = tx.is_postgres();
    // Few different texts, so that they stay prepared; a repeated row changes nothing on SQLite.
    let beats: Vec<(SystemId, Ts)> = if is_postgres { beats.to_vec() } else { padded(beats).collect() };
    let (ids, times): (Vec<Uuid>, Vec<Option<Ts>>) = beats.iter().map(|(id, at)| (id.0, Some(*at))).unzip();
    let mut q = Q::new(
        "[[WITH beat AS (||]]INSERT INTO system_activity (system_id, last_heartbeat) SELECT v.system_id, v.at FROM ",
    );
    push_rows(
        &mut q,
        is_postgres,
        vec![("system_id", Column::Ids(ids.clone())), ("at", Column::Times(times))],
    );
    q.push(
        " [[JOIN||CROSS JOIN]] systems s ON s.id = v.system_id WHERE 1 = 1 \
         ON CONFLICT (system_id) DO UPDATE SET last_heartbeat = excluded.last_heartbeat \
         WHERE system_activity.last_heartbeat IS NULL OR system_activity.last_heartbeat < excluded.last_heartbeat\
         [[ RETURNING system_id, counted) INSERT INTO system_unsettled (system_id) SELECT b.system_id FROM beat b \
         WHERE b.counted <> 1 ON CONFLICT (system_id) DO NOTHING||]]",
    );
    q.run(&mut *tx).await?;
    if is_postgres {
        return Ok(());
    }
    let mut q = Q::new(
        "INSERT INTO system_unsettled (system_id) SELECT a.system_id FROM system_activity a WHERE a.system_id IN (",
    );
    q.list(ids).push(") AND a.counted <> 1 ON CONFLICT (system_id) DO NOTHING");
    q.run(tx).await?;
    Ok(())
}

/// Marks systems as having sent a heartbeat; those already marked stay unchanged.
pub async fn mark_heard(tx: &mut Tx, beats: &[(SystemId, Ts)]) -> Result<(), StoreError> {
    if tx.is_postgres() {
        let (ids, times) = beats.iter().map(|(id, at)| (id.0, *at)).unzip();
        Q::new(FIRST).bind(Arg::Ids(ids)).bind(Arg::Times(times)).run(tx).await?;
        return Ok(());
    }
    for (id, at) in beats {
        Q::new(FIRST).bind(*at).bind(*id).run(tx).await?;
    }
    Ok(())
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
