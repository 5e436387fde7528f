//! The stored status of systems (`system_activity.status`), and the numbers of systems of each organization by status
//! (`organization_counts`). This module alone changes them; the rule is [`Liveness::of`].
//!
//! A heartbeat makes a system active in its own transaction; [`update_some`] makes systems inactive as time passes. A
//! use case that changes the organization or a mark of a system takes its [`tally`] before, and [`settle`]s the
//! difference afterwards. All of them lock the system's row of `system_activity` first, then the counters in the order
//! of organizations.

use crate::{
    Db, StoreError, Tx,
    sql::{Arg, Column, Q, ROWS, push_rows},
    time::TsCodec,
};
use bailiwick_domain::{Liveness, OrgId, SystemId, Ts};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

const TALLY: &str = "SELECT s.organization_id, CAST(CASE WHEN s.suspended_at IS NULL THEN 0 ELSE 1 END AS BIGINT), \
     a.status FROM systems s JOIN system_activity a ON a.system_id = s.id \
     WHERE s.id = ? AND s.deleted_at IS NULL [[FOR NO KEY UPDATE OF a||]]";
/// By the rule of [`Liveness::of`]; it binds the cutoff. One pass through the narrow rows: an index of heartbeats would
/// cost each of them more than this costs in all.
const DUE: &str = "SELECT system_id FROM system_activity WHERE status <> CASE WHEN last_heartbeat IS NULL THEN 0 \
     WHEN last_heartbeat > ? THEN 1 ELSE 2 END LIMIT ?";
/// One pass through the systems, because `bailiwick demo` counts a million of them before the engine has statistics.
const COUNT_ALL: &str = "UPDATE organization_counts SET systems = n.systems, systems_suspended = n.suspended, \
     systems_unknown = n.unknown, systems_inactive = n.inactive FROM (SELECT c.organization_id, \
     COALESCE(x.systems, 0) AS systems, COALESCE(x.suspended, 0) AS suspended, COALESCE(x.unknown, 0) AS unknown, \
     COALESCE(x.inactive, 0) AS inactive FROM organization_counts c LEFT JOIN (SELECT s.organization_id, \
     COUNT(*) AS systems, SUM(CASE WHEN s.suspended_at IS NULL THEN 0 ELSE 1 END) AS suspended, \
     SUM(CASE WHEN s.suspended_at IS NULL AND a.status = 0 THEN 1 ELSE 0 END) AS unknown, \
     SUM(CASE WHEN s.suspended_at IS NULL AND a.status = 2 THEN 1 ELSE 0 END) AS inactive \
     FROM systems s JOIN system_activity a ON a.system_id = s.id WHERE s.deleted_at IS NULL \
     GROUP BY s.organization_id) x ON x.organization_id = c.organization_id) n \
     WHERE n.organization_id = organization_counts.organization_id";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![TALLY, DUE, COUNT_ALL];

pub(super) const UNKNOWN: i64 = 0;
pub(crate) const ACTIVE: i64 = 1;
pub(super) const INACTIVE: i64 = 2;

/// Reads `system_activity.status`.
pub(super) fn liveness(status: i64) -> Result<Liveness, StoreError> {
    match status {
        UNKNOWN => Ok(Liveness::Unknown),
        ACTIVE => Ok(Liveness::Active),
        INACTIVE => Ok(Liveness::Inactive),
        _ => Err(StoreError::Corrupt(format!("status {status}"))),
    }
}

pub(crate) const fn stored(liveness: Liveness) -> i64 {
    match liveness {
        Liveness::Unknown => UNKNOWN,
        Liveness::Active => ACTIVE,
        Liveness::Inactive => INACTIVE,
    }
}

/// The organization and the status that a system is counted under; none when it is individually deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tally(Option<(OrgId, Change)>);

/// The difference to add to the counters of an organization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Change {
    systems: i64,
    suspended: i64,
    unknown: i64,
    inactive: i64,
}

impl Change {
    fn of(status: i64) -> Change {
        let one = |is: bool| i64::from(is);
        Change { unknown: one(status == UNKNOWN), inactive: one(status == INACTIVE), ..Change::default() }
    }

    fn add(&mut self, other: Change, sign: i64) {
        self.systems += sign * other.systems;
        self.suspended += sign * other.suspended;
        self.unknown += sign * other.unknown;
        self.inactive += sign * other.inactive;
    }
}

/// The present counting of a locked system, which is locked against heartbeats too; one that does not exist is not
/// counted.
pub(crate) async fn tally(tx: &mut Tx, id: SystemId) -> Result<Tally, StoreError> {
    let row: Option<(Uuid, i64, i64)> = Q::new(TALLY).bind(id).optional(tx).await?;
    Ok(Tally(row.map(|(organization, is_suspended, status)| {
        let change = match is_suspended {
            0 => Change { systems: 1, ..Change::of(status) },
            _ => Change { systems: 1, suspended: 1, ..Change::default() },
        };
        (OrgId(organization), change)
    })))
}

/// Changes the counters by the difference to the [`tally`] of this system.
pub(crate) async fn settle(tx: &mut Tx, id: SystemId, before: Tally) -> Result<(), StoreError> {
    let after = tally(&mut *tx, id).await?;
    if before == after {
        return Ok(());
    }
    tx.figures_changed();
    let mut changes: BTreeMap<OrgId, Change> = BTreeMap::new();
    for (tally, sign) in [(before, -1), (after, 1)] {
        if let Some((organization, change)) = tally.0 {
            changes.entry(organization).or_default().add(change, sign);
        }
    }
    count(tx, changes).await
}

/// Adds to the counters of these organizations.
async fn count(tx: &mut Tx, mut changes: BTreeMap<OrgId, Change>) -> Result<(), StoreError> {
    changes.retain(|_, change| *change != Change::default());
    let changes = Vec::from_iter(changes);
    for changes in changes.chunks(ROWS) {
        let ids: Vec<Uuid> = changes.iter().map(|(id, _)| id.0).collect();
        let is_postgres = tx.is_postgres();
        if is_postgres && ids.len() > 1 {
            // An update locks rows in the order in which it finds them.
            let q = "SELECT organization_id FROM organization_counts WHERE organization_id = ANY(?) \
                 ORDER BY organization_id FOR NO KEY UPDATE";
            let _: Vec<(Uuid,)> = Q::new(q).bind(Arg::Ids(ids.clone())).all(&mut *tx).await?;
        }
        let deltas =
            |number: fn(&Change) -> i64| Column::Ints(changes.iter().map(|(_, c)| number(c)).collect());
        let mut q = Q::new(
            "UPDATE organization_counts AS c SET systems = c.systems + v.systems, \
             systems_suspended = c.systems_suspended + v.suspended, systems_unknown = c.systems_unknown + v.unknown, \
             systems_inactive = c.systems_inactive + v.inactive FROM ",
        );
        let columns = vec![
            ("id", Column::Ids(ids)),
            ("systems", deltas(|c| c.systems)),
            ("suspended", deltas(|c| c.suspended)),
            ("unknown", deltas(|c| c.unknown)),
            ("inactive", deltas(|c| c.inactive)),
        ];
        push_rows(&mut q, is_postgres, columns);
        q.push(" WHERE c.organization_id = v.id");
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// The locked activity of a system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Locked {
    pub(crate) id: Uuid,
    organization: Uuid,
    pub(crate) status: i64,
    pub(crate) last_heartbeat: Option<Ts>,
}

/// Locks the activity of these systems; with `skip`, leaves out those that another transaction has locked.
pub(crate) async fn lock(tx: &mut Tx, ids: &[Uuid], skip: bool) -> Result<Vec<Locked>, StoreError> {
    let mut q =
        Q::new("SELECT system_id, organization_id, status, last_heartbeat FROM system_activity WHERE ");
    q.one_of(&mut *tx, "system_id", ids).push(" ORDER BY system_id [[FOR NO KEY UPDATE||]]");
    if skip {
        q.push("[[ SKIP LOCKED||]]");
    }
    let rows: Vec<(Uuid, Uuid, i64, Option<TsCodec>)> = q.all(tx).await?;
    let locked = |(id, organization, status, last_heartbeat): (_, _, _, Option<TsCodec>)| Locked {
        id,
        organization,
        status,
        last_heartbeat: last_heartbeat.map(Ts::from),
    };
    Ok(rows.into_iter().map(locked).collect())
}

/// Counts these systems under this status, which the caller has written, instead of their former one.
pub(crate) async fn count_as(tx: &mut Tx, rows: &[Locked], status: i64) -> Result<(), StoreError> {
    let mut changes = BTreeMap::new();
    add_changes(tx, rows, status, &mut changes).await?;
    count(tx, changes).await
}

/// Adds to `changes` what [`count_as`] counts. The caller counts once, at the end of its transaction, so that it locks
/// all counters in one order.
async fn add_changes(
    tx: &mut Tx,
    rows: &[Locked],
    status: i64,
    changes: &mut BTreeMap<OrgId, Change>,
) -> Result<(), StoreError> {
    for rows in rows.chunks(ROWS) {
        let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
        // Marks win over the status. Nobody sets one meanwhile, because these rows are locked.
        let mut q = Q::new("SELECT id FROM systems WHERE deleted_at IS NULL AND suspended_at IS NULL AND ");
        q.one_of(&mut *tx, "id", &ids);
        let unmarked: Vec<(Uuid,)> = q.all(&mut *tx).await?;
        let unmarked: BTreeSet<Uuid> = unmarked.into_iter().map(|(id,)| id).collect();
        for row in rows.iter().filter(|row| unmarked.contains(&row.id)) {
            // Even where the numbers stay the same, because they now count other systems.
            tx.statuses_changed();
            let change = changes.entry(OrgId(row.organization)).or_default();
            change.add(Change::of(row.status), -1);
            change.add(Change::of(status), 1);
        }
    }
    Ok(())
}

/// Systems whose status is not what their last heartbeat says, at most `limit`. `cutoff`: now minus the liveness
/// timeout.
///
/// # Errors
/// The database's.
pub async fn due(db: &Db, cutoff: Ts, limit: u64) -> Result<Vec<SystemId>, StoreError> {
    let rows: Vec<(Uuid,)> = Q::new(DUE).bind(cutoff).bind(limit).all(db).await?;
    Ok(rows.into_iter().map(|(id,)| SystemId(id)).collect())
}

/// Sets the status of these systems, a few hundred, by their last heartbeats; leaves out those that another transaction
/// has locked. Returns how many it has set.
///
/// # Errors
/// The database's.
pub async fn update_some(db: &Db, ids: &[SystemId], cutoff: Ts) -> Result<usize, StoreError> {
    let mut tx = db.begin_relaxed().await?;
    let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
    let mut late: BTreeMap<i64, Vec<Locked>> = BTreeMap::new();
    for row in lock(&mut tx, &ids, true).await? {
        let due = stored(Liveness::of(row.last_heartbeat, cutoff));
        if due != row.status {
            late.entry(due).or_default().push(row);
        }
    }
    let mut changes = BTreeMap::new();
    for (due, late) in &late {
        for late in late.chunks(ROWS) {
            let ids: Vec<Uuid> = late.iter().map(|row| row.id).collect();
            let mut q = Q::new("UPDATE system_activity SET status = ? WHERE ");
            q.arg(*due).one_of(&mut tx, "system_id", &ids);
            q.run(&mut tx).await?;
        }
        add_changes(&mut tx, late, *due, &mut changes).await?;
    }
    count(&mut tx, changes).await?;
    tx.commit().await?;
    Ok(late.values().map(Vec::len).sum())
}

/// Computes the counters of all organizations from the rows. Other writers of systems wait until the transaction ends.
///
/// # Errors
/// The database's.
pub async fn recount(tx: &mut Tx) -> Result<(), StoreError> {
    if tx.is_postgres() {
        let hold = "LOCK TABLE systems, system_activity, organization_counts IN SHARE ROW EXCLUSIVE MODE";
        Q::new(hold).run(&mut *tx).await?;
    }
    tx.figures_changed();
    Q::new(COUNT_ALL).run(tx).await?;
    Ok(())
}
