//! The last heartbeats of systems: one narrow row for each system, written in groups.

use crate::{
    StoreError, Tx,
    sql::{Arg, Q},
};
use bailiwick_domain::{SystemId, Ts};

/// Heartbeats of a group on PostgreSQL: one text whatever their number. Keys that have vanished are left out. Systems
/// counted as something other than active are noted ([`status_counts`](crate::systems::status_counts)) in the same
/// statement, because only its own writes are known to be the newest version of a row.
const BEAT: &str = "[[WITH beat AS (||]]INSERT INTO system_activity (system_id, last_heartbeat) \
     SELECT v.system_id, v.at FROM [[unnest(?::uuid[], ?::timestamptz[]) AS v (system_id, at)\
     ||(SELECT ? AS system_id, ? AS at) v]] JOIN systems s ON s.id = v.system_id WHERE 1 = 1 \
     ON CONFLICT (system_id) DO UPDATE SET last_heartbeat = excluded.last_heartbeat \
     WHERE system_activity.last_heartbeat IS NULL OR system_activity.last_heartbeat < excluded.last_heartbeat\
     [[ RETURNING system_id, counted) INSERT INTO system_unsettled (system_id) SELECT b.system_id FROM beat b \
     WHERE b.counted <> 1 ON CONFLICT (system_id) DO NOTHING||]]";
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

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![BEAT, FIRST, NOTE_INVENTORY];

/// Stores heartbeats, each system at most once; times never move back. Systems that do not exist are left out.
pub async fn beat(tx: &mut Tx, beats: &[(SystemId, Ts)]) -> Result<(), StoreError> {
    let Some(last) = beats.last() else { return Ok(()) };
    if tx.is_postgres() {
        let (ids, times) = beats.iter().map(|(id, at)| (id.0, *at)).unzip();
        Q::new(BEAT).bind(Arg::Ids(ids)).bind(Arg::Times(times)).run(tx).await?;
        return Ok(());
    }
    // Few different texts, so that they stay prepared; a repeated row changes nothing.
    let rows = beats.len().next_power_of_two();
    let mut q = Q::new(
        "INSERT INTO system_activity (system_id, last_heartbeat) SELECT v.column1, v.column2 FROM (VALUES (?, ?)",
    );
    q.push(&", (?, ?)".repeat(rows - 1));
    for (id, at) in beats.iter().chain(std::iter::repeat_n(last, rows - beats.len())) {
        q.arg(*id).arg(*at);
    }
    q.push(
        ") v JOIN systems s ON s.id = v.column1 WHERE 1 = 1 \
         ON CONFLICT (system_id) DO UPDATE SET last_heartbeat = excluded.last_heartbeat \
         WHERE system_activity.last_heartbeat IS NULL OR system_activity.last_heartbeat < excluded.last_heartbeat",
    );
    q.run(&mut *tx).await?;
    let mut q = Q::new(
        "INSERT INTO system_unsettled (system_id) SELECT a.system_id FROM system_activity a WHERE a.system_id IN (",
    );
    let ids = beats.iter().chain(std::iter::repeat_n(last, rows - beats.len())).map(|(id, _)| *id);
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
