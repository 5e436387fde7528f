//! The last heartbeats of systems: one narrow row for each system, written in groups.

use crate::{
    StoreError, Tx,
    sql::{Arg, Column, Q, padded, push_rows},
    systems::status::{self, Late},
};
use bailiwick_domain::{SystemId, Ts};
use uuid::Uuid;

const NOTE_INVENTORY: &str = "UPDATE system_activity SET latest_inventory_id = v.latest_id, last_inventory = \
     CASE WHEN last_inventory > v.received_at THEN last_inventory ELSE v.received_at END FROM \
     [[unnest(?::uuid[], ?::timestamptz[], ?::bigint[]) AS v (system_id, received_at, latest_id)\
     ||(SELECT ? AS system_id, ? AS received_at, ? AS latest_id) AS v]] WHERE system_activity.system_id = v.system_id";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![NOTE_INVENTORY];

/// Stores heartbeats, each system at most once; times never move back. A system that was not active is active then.
/// Systems that do not exist are left out.
///
/// # Errors
/// The database's.
pub async fn beat(tx: &mut Tx, beats: &[(SystemId, Ts)]) -> Result<(), StoreError> {
    if beats.is_empty() {
        return Ok(());
    }
    let is_postgres = tx.is_postgres();
    // Few different texts, so that they stay prepared; a repeated row changes nothing on SQLite.
    let beats: Vec<(SystemId, Ts)> = if is_postgres { beats.to_vec() } else { padded(beats).collect() };
    let (ids, times): (Vec<Uuid>, Vec<Option<Ts>>) = beats.iter().map(|(id, at)| (id.0, Some(*at))).unzip();
    let rows = vec![("system_id", Column::Ids(ids.clone())), ("at", Column::Times(times))];
    let mut q = Q::new("[[WITH beat AS (||]]UPDATE system_activity AS a SET last_heartbeat = v.at FROM ");
    push_rows(&mut q, is_postgres, rows);
    q.push(
        " WHERE a.system_id = v.system_id AND (a.last_heartbeat IS NULL OR a.last_heartbeat < v.at)\
         [[ RETURNING a.system_id, a.organization_id, a.status) SELECT system_id, organization_id, status FROM beat \
         WHERE status <> 1 ORDER BY system_id||]]",
    );
    let late: Vec<Late> = if is_postgres {
        q.all(&mut *tx).await?
    } else {
        q.run(&mut *tx).await?;
        let mut q =
            Q::new("SELECT system_id, organization_id, status FROM system_activity WHERE status <> 1 AND ");
        q.one_of(&mut *tx, "system_id", &ids);
        q.all(&mut *tx).await?
    };
    status::set(tx, &late, status::ACTIVE).await
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
