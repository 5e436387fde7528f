//! Systems by status, counted as they change (`organization_counts`) instead of at each request.
//!
//! A system is *counted as* never heard of, active or silent (`system_activity.counted`). That may be behind its real
//! status: a heartbeat moves no counter, and the passing of time writes nothing. Such systems are *unsettled*, and
//! totals look at each of them: those with a heartbeat since they were counted as something else (the heartbeat itself
//! records it), and those that will fall silent soon ([`watch`] looks ahead). [`settle_some`] updates their counted
//! status, a few at a time.
//!
//! A use case that changes the organization or a mark of a system takes its [`tally`] before and [`settle`]s the
//! difference afterwards, with the system's row locked all the while. `counted` moves under the same lock only, and
//! with it the system's row in `system_statuses`, by which lists in the order of status find their pages and the liveness
//! monitor finds systems without an alert. On PostgreSQL [`settle_some`] skips rows that another transaction holds, so it
//! never waits.

use crate::{Db, StoreError, Tx, sql::Q, time::TsCodec};
use bailiwick_domain::{OrgId, SystemId, Ts};
use sqlx_macros::FromRow;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

const TALLY: &str = "SELECT s.organization_id, CAST(CASE WHEN s.suspended_at IS NULL THEN 0 ELSE 1 END AS BIGINT), \
     CAST(COALESCE((SELECT a.counted FROM system_activity a WHERE a.system_id = s.id), 0) AS BIGINT) \
     FROM systems s WHERE s.id = ? AND s.deleted_at IS NULL";
const ADD: &str = "UPDATE organization_counts SET systems = systems + ?, \
     systems_suspended = systems_suspended + ?, systems_unheard = systems_unheard + ?, \
     systems_silent = systems_silent + ? WHERE organization_id = ?";
const HOLD_MARKS: &str = "SELECT watched_to FROM system_figures WHERE id = 1 [[FOR UPDATE||]]";
const SET_MARKS: &str = "UPDATE system_figures SET silent_to = ?, watched_to = ? WHERE id = 1";
/// The last two conditions find rows that should not exist: inserted without a heartbeat, or written by a clock that
/// was set back.
const WATCH: &str = "INSERT INTO system_unsettled (system_id) SELECT a.system_id FROM system_activity a \
     WHERE (a.counted = 1 AND a.last_heartbeat <= ?) OR (a.counted = 0 AND a.last_heartbeat IS NOT NULL) \
     OR (a.counted = 2 AND a.last_heartbeat > ?) ORDER BY a.system_id ON CONFLICT (system_id) DO NOTHING";
const DROP_GONE: &str = "DELETE FROM system_unsettled WHERE NOT EXISTS \
     (SELECT 1 FROM system_activity a WHERE a.system_id = system_unsettled.system_id)";
/// Locked, except for rows that another transaction holds.
const UNSETTLED: &str = "SELECT s.id, s.organization_id, CAST(CASE WHEN s.deleted_at IS NULL \
     AND s.suspended_at IS NULL THEN 1 ELSE 0 END AS BIGINT) AS shows, CAST(a.counted AS BIGINT) AS counted, a.last_heartbeat \
     FROM systems s JOIN system_activity a ON a.system_id = s.id WHERE s.id [[= ANY(ARRAY||IN ]](SELECT u.system_id \
     FROM system_unsettled u WHERE u.system_id > ? ORDER BY u.system_id LIMIT ?)[[)||]] ORDER BY s.id \
     [[FOR NO KEY UPDATE OF s, a SKIP LOCKED||]]";
/// Recounts everything from the rows; see [`recount`].
const COUNTED_ANEW: &str = "UPDATE system_activity SET counted = CASE WHEN last_heartbeat IS NULL THEN 0 ELSE 1 END \
     WHERE counted <> CASE WHEN last_heartbeat IS NULL THEN 0 ELSE 1 END";
/// One pass through the systems, because `bailiwick demo` counts a million of them before the engine has statistics.
const COUNTS_ANEW: &str = "UPDATE organization_counts SET systems = n.systems, systems_suspended = n.suspended, \
     systems_unheard = n.unheard, systems_silent = 0 FROM (SELECT c.organization_id, COALESCE(x.systems, 0) AS systems, \
     COALESCE(x.suspended, 0) AS suspended, COALESCE(x.unheard, 0) AS unheard FROM organization_counts c LEFT JOIN \
     (SELECT s.organization_id, COUNT(*) AS systems, SUM(CASE WHEN s.suspended_at IS NULL THEN 0 ELSE 1 END) AS suspended, \
     SUM(CASE WHEN s.suspended_at IS NULL AND a.last_heartbeat IS NULL THEN 1 ELSE 0 END) AS unheard \
     FROM systems s LEFT JOIN system_activity a ON a.system_id = s.id WHERE s.deleted_at IS NULL \
     GROUP BY s.organization_id) x ON x.organization_id = c.organization_id) n \
     WHERE n.organization_id = organization_counts.organization_id";
const FORGET_UNSETTLED: &str = "DELETE FROM system_unsettled";
const FORGET_STATUSES: &str = "DELETE FROM system_statuses";
/// Rows of `system_statuses` as the systems have them; conditions may follow.
const STATUSES: &str = "INSERT INTO system_statuses (system_id, counted, organization_id, p2, p3) \
     SELECT s.id, a.counted, s.organization_id, s.p2, s.p3 FROM systems s JOIN system_activity a ON a.system_id = s.id \
     WHERE s.deleted_at IS NULL AND s.suspended_at IS NULL AND a.counted <> 0";
/// How many systems are unsettled, at most those of the limit; no row where the counters are not for the cutoff, which is
/// bound twice.
const COVERS: &str = "SELECT (SELECT CAST(COUNT(*) AS BIGINT) FROM (SELECT 1 FROM system_unsettled LIMIT ?) u) \
     FROM system_figures WHERE id = 1 AND silent_to <= ? AND watched_to >= ?";
const FORGET_MARKS: &str = "UPDATE system_figures SET silent_to = NULL, watched_to = NULL WHERE id = 1";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    TALLY,
    ADD,
    HOLD_MARKS,
    SET_MARKS,
    WATCH,
    DROP_GONE,
    UNSETTLED,
    COUNTED_ANEW,
    COUNTS_ANEW,
    FORGET_UNSETTLED,
    FORGET_STATUSES,
    STATUSES,
    COVERS,
    FORGET_MARKS
];

/// With more unsettled systems, totals and lists by status use the counted status of all systems until these are settled: after
/// the failure of a whole network, checking each of them would cost every reader seconds.
pub(super) const MOST_UNSETTLED: i64 = 2_000;
/// Rows of one statement.
const ROWS: usize = 500;
pub(super) const UNHEARD: i64 = 0;
pub(super) const ACTIVE: i64 = 1;
pub(super) const SILENT: i64 = 2;

/// The organization and the status a system is counted under; none when it is individually deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tally(Option<(OrgId, Change)>);

/// The difference to add to the counters of an organization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Change {
    systems: i64,
    suspended: i64,
    unheard: i64,
    silent: i64,
}

impl Change {
    fn of(counted: i64) -> Change {
        let one = |is: bool| i64::from(is);
        Change { unheard: one(counted == UNHEARD), silent: one(counted == SILENT), ..Change::default() }
    }

    fn add(&mut self, other: Change, sign: i64) {
        self.systems += sign * other.systems;
        self.suspended += sign * other.suspended;
        self.unheard += sign * other.unheard;
        self.silent += sign * other.silent;
    }

    async fn write(self, tx: &mut Tx, organization: OrgId) -> Result<(), StoreError> {
        let Change { systems, suspended, unheard, silent } = self;
        let q = Q::new(ADD).bind(systems).bind(suspended).bind(unheard).bind(silent);
        q.bind(organization).run(tx).await?;
        Ok(())
    }
}

/// The present counting of a locked system; one that does not exist is not counted.
pub(crate) async fn tally(tx: &mut Tx, id: SystemId) -> Result<Tally, StoreError> {
    let found: Option<(Uuid, i64, i64)> = Q::new(TALLY).bind(id).optional(tx).await?;
    Ok(Tally(found.map(|(organization, is_suspended, counted)| {
        let change = match is_suspended {
            0 => Change { systems: 1, ..Change::of(counted) },
            _ => Change { systems: 1, suspended: 1, ..Change::default() },
        };
        (OrgId(organization), change)
    })))
}

/// Moves the counters by the changes since the [`tally`] of this system.
pub(crate) async fn settle(tx: &mut Tx, id: SystemId, before: Tally) -> Result<(), StoreError> {
    let after = tally(&mut *tx, id).await?;
    if before == after {
        return Ok(());
    }
    tx.figures_changed();
    // In one order for all, so that two moves in opposite directions do not deadlock.
    let mut changes: BTreeMap<OrgId, Change> = BTreeMap::new();
    for (tally, sign) in [(before, -1), (after, 1)] {
        if let Some((organization, change)) = tally.0 {
            changes.entry(organization).or_default().add(change, sign);
        }
    }
    for (organization, change) in changes {
        change.write(&mut *tx, organization).await?;
    }
    list_anew(tx, &[id.0]).await
}

/// Writes the rows of these locked systems in `system_statuses` again.
async fn list_anew(tx: &mut Tx, ids: &[Uuid]) -> Result<(), StoreError> {
    for ids in ids.chunks(ROWS) {
        let mut q = Q::new("DELETE FROM system_statuses WHERE system_id IN (");
        q.list(ids.iter().copied()).push(")");
        q.run(&mut *tx).await?;
        let mut q = Q::new(STATUSES);
        q.push(" AND s.id IN (").list(ids.iter().copied()).push(")");
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// How lists in the order of status use the counted status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// With the heartbeats of the unsettled systems.
    Checked,
    /// As it is, because too many systems are unsettled.
    Alone,
}

/// How lists in the order of status can use the counted status; none when it is not valid for the cutoff.
pub(super) async fn counted_for(db: &Db, cutoff: Ts) -> Result<Option<Counted>, StoreError> {
    let q = Q::new(COVERS).bind(MOST_UNSETTLED + 1).bind(cutoff).bind(cutoff);
    let unsettled: Option<(i64,)> = q.optional(db).await?;
    Ok(unsettled.map(|(unsettled,)| if are_few(unsettled) { Counted::Checked } else { Counted::Alone }))
}

/// Whether so many unsettled systems, counted up to one more than the limit, are checked.
pub(super) const fn are_few(unsettled: i64) -> bool {
    unsettled <= MOST_UNSETTLED
}

/// Notes all systems that will be silent by `watched_to` (as a time of last heartbeats), so that totals of any moment
/// until then include them. A system counted as silent from now on sent its last heartbeat at or before `silent_to`.
pub async fn watch(db: &Db, silent_to: Ts, watched_to: Ts) -> Result<(), StoreError> {
    let mut tx = db.begin_relaxed().await?;
    let _: (Option<TsCodec>,) = Q::new(HOLD_MARKS).one(&mut tx).await?;
    Q::new(DROP_GONE).run(&mut tx).await?;
    Q::new(WATCH).bind(watched_to).bind(silent_to).run(&mut tx).await?;
    Q::new(SET_MARKS).bind(silent_to).bind(watched_to).run(&mut tx).await?;
    tx.commit().await
}

#[derive(FromRow)]
struct Unsettled {
    id: Uuid,
    organization_id: Uuid,
    /// Neither deleted nor suspended individually: only then heartbeats decide its counters.
    shows: i64,
    counted: i64,
    last_heartbeat: Option<TsCodec>,
}

impl Unsettled {
    fn is_heard_after(&self, time: Ts) -> bool {
        self.last_heartbeat.as_ref().is_some_and(|at| at.0 > time)
    }

    /// The status it should be counted under.
    fn due(&self, silent_to: Ts) -> i64 {
        match self.last_heartbeat {
            None => UNHEARD,
            Some(_) if self.is_heard_after(silent_to) => ACTIVE,
            Some(_) => SILENT,
        }
    }
}

/// Counts the first `limit` unsettled systems behind `after` under their real status; returns the last of them, none
/// when there is none. `silent_to` as it was given to [`watch`]. Those that will fall silent soon stay unsettled.
pub async fn settle_some(
    db: &Db,
    silent_to: Ts,
    after: SystemId,
    limit: u64,
) -> Result<Option<SystemId>, StoreError> {
    let mut tx = db.begin_relaxed().await?;
    let (watched_to,): (Option<TsCodec>,) = Q::new(HOLD_MARKS).one(&mut tx).await?;
    let Some(TsCodec(watched_to)) = watched_to else { return Ok(None) };
    let mut rows: Vec<Unsettled> = Q::new(UNSETTLED).bind(after).bind(limit).all(&mut tx).await?;
    let Some(last) = rows.last().map(|row| SystemId(row.id)) else { return Ok(None) };
    let held = hold_counters(&mut tx, rows.iter().map(|row| row.organization_id).collect()).await?;
    rows.retain(|row| held.contains(&row.organization_id));
    let mut changes: BTreeMap<OrgId, Change> = BTreeMap::new();
    let mut counted: BTreeMap<i64, Vec<Uuid>> = BTreeMap::new();
    for row in &rows {
        let due = row.due(silent_to);
        if due != row.counted {
            counted.entry(due).or_default().push(row.id);
            if row.shows == 1 {
                // Even where the numbers stay the same, because they now count other systems.
                tx.statuses_changed();
                let change = changes.entry(OrgId(row.organization_id)).or_default();
                change.add(Change::of(row.counted), -1);
                change.add(Change::of(due), 1);
            }
        }
    }
    for (due, ids) in counted {
        for ids in ids.chunks(ROWS) {
            let mut q = Q::new("UPDATE system_activity SET counted = ? WHERE system_id IN (");
            q.arg(due).list(ids.iter().copied()).push(")");
            q.run(&mut tx).await?;
        }
        list_anew(&mut tx, &ids).await?;
    }
    for (organization, change) in changes {
        if change != Change::default() {
            change.write(&mut tx, organization).await?;
        }
    }
    let settled = |row: &&Unsettled| row.due(silent_to) != ACTIVE || row.is_heard_after(watched_to);
    let settled: Vec<Uuid> = rows.iter().filter(settled).map(|row| row.id).collect();
    for ids in settled.chunks(ROWS) {
        let mut q = Q::new("DELETE FROM system_unsettled WHERE system_id IN (");
        q.list(ids.iter().copied()).push(")");
        q.run(&mut tx).await?;
    }
    tx.commit().await?;
    Ok(Some(last))
}

/// Locks the counters of these organizations, except for those that another transaction holds.
async fn hold_counters(tx: &mut Tx, of: BTreeSet<Uuid>) -> Result<BTreeSet<Uuid>, StoreError> {
    let (of, mut held) = (Vec::from_iter(of), BTreeSet::new());
    for chunk in of.chunks(ROWS) {
        let mut q = Q::new("SELECT organization_id FROM organization_counts WHERE organization_id IN (");
        q.list(chunk.iter().copied()).push(") [[FOR NO KEY UPDATE SKIP LOCKED||]]");
        let rows: Vec<(Uuid,)> = q.all(&mut *tx).await?;
        held.extend(rows.into_iter().map(|(id,)| id));
    }
    Ok(held)
}

/// Recounts everything from the rows, while no other transaction writes systems. Until the next [`watch`], totals count
/// the rows.
pub async fn recount(tx: &mut Tx) -> Result<(), StoreError> {
    let _: (Option<TsCodec>,) = Q::new(HOLD_MARKS).one(&mut *tx).await?;
    if tx.is_postgres() {
        let hold = "LOCK TABLE systems, system_activity, organization_counts IN SHARE ROW EXCLUSIVE MODE";
        Q::new(hold).run(&mut *tx).await?;
    }
    tx.figures_changed();
    for statement in [COUNTED_ANEW, COUNTS_ANEW, FORGET_STATUSES, STATUSES, FORGET_UNSETTLED, FORGET_MARKS] {
        Q::new(statement).run(&mut *tx).await?;
    }
    Ok(())
}
