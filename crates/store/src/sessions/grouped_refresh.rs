//! Refreshes chains in groups: all that wait share three statements and one commit.

use super::{Chain, SessionRow, WITH_USERS};
use crate::{
    StoreError, Tx,
    identities::Identified,
    sql::{Arg, Column, Q, push_rows},
};
use bailiwick_domain::{ChainId, Ts};
use std::collections::HashMap;
use uuid::Uuid;

fn any_of(q: &mut Q, is_postgres: bool, ids: Vec<Uuid>) {
    if is_postgres {
        q.push("= ANY(?)").arg(Arg::Ids(ids));
    } else {
        q.push("IN (");
        q.list(ids).push(")");
    }
}

/// These chains with their users, locked until the transaction ends. On PostgreSQL, chains that another transaction
/// holds are left out: a transaction that never waits cannot deadlock, whatever the order.
pub async fn hold_free(
    tx: &mut Tx,
    ids: Vec<Uuid>,
) -> Result<HashMap<ChainId, (Chain, Identified)>, StoreError> {
    let mut q = Q::new(WITH_USERS);
    any_of(&mut q, tx.is_postgres(), ids);
    q.push("[[ FOR UPDATE OF c SKIP LOCKED||]]");
    let rows = q.all::<SessionRow>(tx).await?;
    let parts = |row: SessionRow| {
        let (chain, user): (Chain, Identified) = (row.chain.into(), row.user.into_identified()?);
        Ok((chain.id, (chain, user)))
    };
    rows.into_iter().map(parts).collect()
}

/// Replaces the `used` refresh token of each of these chains, which are locked, by the new one. The used token stays
/// known as rotated out; tokens rotated out before `grace_start` are forgotten.
pub async fn rotate_held(
    tx: &mut Tx,
    moves: &[(Chain, Uuid)],
    now: Ts,
    grace_start: Ts,
) -> Result<(), StoreError> {
    let next = || moves.iter().map(|(next, _)| next);
    let ids: Vec<Uuid> = next().map(|chain| chain.id.0).collect();
    let used: Vec<Uuid> = moves.iter().map(|(_, used)| *used).collect();
    let times = |value: fn(&Chain) -> Ts| Column::times(next().map(value));
    let is_postgres = tx.is_postgres();

    let mut rotate = Q::new(
        "UPDATE session_chains SET refresh_id = v.next_id, refresh_issued_at = v.issued, expires_at = v.expires, \
         last_used_at = ?",
    )
    .bind(now);
    rotate.push(" FROM ");
    let columns = vec![
        ("chain", Column::Ids(ids.clone())),
        ("next_id", Column::Ids(next().map(|chain| chain.refresh_id).collect())),
        ("issued", times(|chain| chain.refresh_issued_at)),
        ("expires", times(|chain| chain.expires_at)),
    ];
    push_rows(&mut rotate, is_postgres, columns);
    rotate.push(" WHERE session_chains.id = v.chain");
    rotate.run(&mut *tx).await?;

    let mut forget =
        Q::new("DELETE FROM session_rotations WHERE rotated_at < ? AND chain_id ").bind(grace_start);
    any_of(&mut forget, is_postgres, ids.clone());
    forget.run(&mut *tx).await?;

    let mut note =
        Q::new("INSERT INTO session_rotations (refresh_id, chain_id, rotated_at) SELECT v.used, v.chain, ?")
            .bind(now);
    note.push(" FROM ");
    push_rows(&mut note, is_postgres, vec![("used", Column::Ids(used)), ("chain", Column::Ids(ids))]);
    note.run(tx).await.map(|_| ())
}
