//! Figures and filter choices for the systems of a scope: totals by status, changes by day, choices of the list's
//! filters. Stored or rare values are read from counters and small indexes.

use crate::{
    Db, ListEpochs, StoreError,
    changes_by_day::push_gone,
    organizations::{
        stats::organizations_with,
        suspended::{SUSPENDED, push_suspended},
    },
    scope::push_scope,
    sql::Q,
    systems::status_counts::{MOST_UNSETTLED, SILENT, UNHEARD, are_few},
    time::{TsCodec, utc_day},
};
use bailiwick_domain::{ChoiceSearch, OrgId, Ts, org::OrgRef};
use bailiwick_policy::{Path, Scope};
use uuid::Uuid;

/// The systems of the unsettled ones `w` that are not deleted, neither suspended themselves nor through their organizations; behind
/// it, conditions may follow. One lookup for each, whatever the engine estimates about their number.
macro_rules! of_unsettled {
    () => {
        " CROSS JOIN [[LATERAL (SELECT s.organization_id, s.p2, s.p3, a.counted, a.last_heartbeat FROM||]] systems s \
         [[||ON s.id = w.system_id]] [[JOIN||CROSS JOIN]] organizations o ON o.id = s.organization_id \
         [[JOIN||CROSS JOIN]] system_activity a ON a.system_id = s.id WHERE [[s.id = w.system_id AND||]] s.deleted_at IS NULL \
         AND s.suspended_at IS NULL AND o.eff_deleted_at IS NULL AND o.eff_suspended_at IS NULL \
         [[OFFSET 0) s WHERE 1 = 1||]]"
    };
}

/// Without an unsettled system a row of nulls.
const UNSETTLED_SYSTEMS: &str = concat!(
    "SELECT e.people, e.figures, e.statuses, m.silent_to, m.watched_to, \
     (SELECT CAST(COUNT(*) AS BIGINT) FROM (SELECT 1 FROM system_unsettled LIMIT ?) c), u.organization_id, u.p2, u.p3, \
     CAST(COALESCE(u.counted, 0) AS BIGINT), u.last_heartbeat FROM list_epochs e JOIN system_figures m ON m.id = 1 \
     LEFT JOIN (SELECT s.organization_id, s.p2, s.p3, [[s||a]].counted, [[s||a]].last_heartbeat \
     FROM (SELECT system_id FROM system_unsettled LIMIT ?) w",
    of_unsettled!(),
    ") u ON 1 = 1 WHERE e.id = 1"
);

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![UNSETTLED_SYSTEMS];

/// Systems that are not deleted, by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All of them.
    pub total: u64,
    /// A heartbeat arrived within the timeout.
    pub active: u64,
    /// Silent for longer.
    pub inactive: u64,
    /// No heartbeat yet.
    pub unknown: u64,
    /// Suspended, own or inherited.
    pub suspended: u64,
}

impl Totals {
    fn new([total, suspended, unknown, inactive]: [i64; 4]) -> Totals {
        let n = |n: i64| u64::try_from(n).unwrap_or(0);
        Totals {
            total: n(total),
            active: n(total - suspended - unknown - inactive),
            inactive: n(inactive),
            unknown: n(unknown),
            suspended: n(suspended),
        }
    }
}

/// The totals of a scope at one moment; `cutoff` is now minus the timeout.
pub async fn totals(db: &Db, scope: &Scope, cutoff: Ts) -> Result<Totals, StoreError> {
    match kept_totals(db, scope, cutoff).await? {
        Some(totals) => Ok(totals),
        None => counted_totals(db, scope, cutoff).await,
    }
}

/// The same from the counters and the systems that are not [settled](super::counted). None when the counters are for
/// another time: the timeout has changed, the monitor has not run for a while, or clocks differ too much.
pub async fn kept_totals(db: &Db, scope: &Scope, cutoff: Ts) -> Result<Option<Totals>, StoreError> {
    let (_, counters, unsettled) = counters(db, scope, cutoff).await?;
    Ok(unsettled.map(|unsettled| counters.totals(unsettled)))
}

/// The counters of a scope's organizations. They change with the epochs of people, figures and statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Systems of organizations that are not suspended.
    pub open: i64,
    /// Systems of suspended organizations.
    pub below: i64,
    /// Of the open ones: individually suspended.
    pub own: i64,
    /// Of the others, those counted as never heard of.
    pub unheard: i64,
    /// Those that are counted as silent.
    pub silent: i64,
}

/// The lag of the counters at one moment; none while too many systems are unsettled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsettled {
    /// Systems without a heartbeat.
    unheard: i64,
    /// Silent systems.
    silent: i64,
}

impl Counters {
    /// For [`Counters::from_bytes`].
    pub fn to_bytes(self) -> Vec<u8> {
        let Counters { open, below, own, unheard, silent } = self;
        [open, below, own, unheard, silent].iter().flat_map(|n| n.to_be_bytes()).collect()
    }

    /// Reads the result of [`Counters::to_bytes`]; none for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Counters> {
        let (numbers, []) = bytes.as_chunks() else { return None };
        let [open, below, own, unheard, silent] = *numbers else { return None };
        let [open, below, own, unheard, silent] = [open, below, own, unheard, silent].map(i64::from_be_bytes);
        Some(Counters { open, below, own, unheard, silent })
    }

    /// The totals of the moment of `unsettled`.
    pub fn totals(self, unsettled: Unsettled) -> Totals {
        let Counters { open, below, own, unheard, silent } = self;
        Totals::new([open + below, below + own, unheard + unsettled.unheard, silent + unsettled.silent])
    }
}

/// The counters of a scope and their lag, in one statement, so that they fit together, with the epochs of that moment.
///
/// # Errors
/// The database's.
pub async fn counters(
    db: &Db,
    scope: &Scope,
    cutoff: Ts,
) -> Result<(ListEpochs, Counters, Option<Unsettled>), StoreError> {
    type Found = (i64, i64, i64, Option<TsCodec>, Option<TsCodec>, i64, i64, i64, i64, i64, i64, i64, i64);
    let mut q = Q::new(
        "SELECT e.people, e.figures, e.statuses, m.silent_to, m.watched_to, \
         (SELECT CAST(COUNT(*) AS BIGINT) FROM (SELECT 1 FROM system_unsettled LIMIT ?) c), u.unheard, u.silent, \
         n.systems, n.below, n.own, n.unheard, n.silent FROM list_epochs e, system_figures m, (SELECT ",
    );
    q.arg(MOST_UNSETTLED + 1);
    push_kept(&mut q, scope);
    q.push(") n, ");
    push_unsettled(&mut q, scope, cutoff);
    let (
        people,
        figures,
        statuses,
        silent_to,
        watched_to,
        all,
        more_unheard,
        more_silent,
        open,
        below,
        own,
        unheard,
        silent,
    ): Found = q.one(db).await?;
    let epochs = ListEpochs { people, figures, statuses, ..ListEpochs::default() };
    let behind = match are_few(all) {
        true => Unsettled { unheard: more_unheard, silent: more_silent },
        false => Unsettled::default(),
    };
    let is_known = covers((silent_to, watched_to), cutoff);
    Ok((epochs, Counters { open, below, own, unheard, silent }, is_known.then_some(behind)))
}

/// The unsettled systems of all scopes at one moment: those that are not deleted, neither suspended themselves nor through
/// their organizations. No system when they are more than 2,000 (`MOST_UNSETTLED`): then the counters are used as they are.
#[derive(Clone, Debug)]
pub struct UnsettledSystems {
    /// Of that moment: those of people, figures and statuses.
    pub epochs: ListEpochs,
    /// The cutoffs that the counters are for.
    covered: (Option<TsCodec>, Option<TsCodec>),
    systems: Vec<UnsettledSystem>,
    are_too_many: bool,
}

#[derive(Clone, Copy, Debug)]
struct UnsettledSystem {
    home: Path,
    counted: i64,
    last_heartbeat: Option<Ts>,
}

impl UnsettledSystems {
    /// Whether they are so many that the counters are used as they are.
    pub const fn are_too_many(&self) -> bool {
        self.are_too_many
    }

    /// The lag of the counters of a scope; none when they are for another time.
    pub fn lag(&self, scope: &Scope, cutoff: Ts) -> Option<Unsettled> {
        let mut lag = Unsettled { unheard: 0, silent: 0 };
        for system in self.systems.iter().filter(|system| scope.contains(&system.home)) {
            let is_silent = system.last_heartbeat.is_some_and(|at| at <= cutoff);
            lag.unheard += i64::from(system.last_heartbeat.is_none()) - i64::from(system.counted == UNHEARD);
            lag.silent += i64::from(is_silent) - i64::from(system.counted == SILENT);
        }
        covers(self.covered, cutoff).then_some(lag)
    }
}

/// The unsettled systems now.
///
/// # Errors
/// The database's.
pub async fn unsettled_systems(db: &Db) -> Result<UnsettledSystems, StoreError> {
    type Found = (
        i64,
        i64,
        i64,
        Option<TsCodec>,
        Option<TsCodec>,
        i64,
        Option<Uuid>,
        Option<Uuid>,
        Option<Uuid>,
        i64,
        Option<TsCodec>,
    );
    let rows: Vec<Found> =
        Q::new(UNSETTLED_SYSTEMS).bind(MOST_UNSETTLED + 1).bind(MOST_UNSETTLED).all(db).await?;
    let Some(&(people, figures, statuses, silent_to, watched_to, all, ..)) = rows.first() else {
        // The rows of the epochs and of the times are never deleted.
        return Ok(UnsettledSystems {
            epochs: ListEpochs::default(),
            covered: (None, None),
            systems: Vec::new(),
            are_too_many: false,
        });
    };
    let are_too_many = !are_few(all);
    let rows = if are_too_many { Vec::new() } else { rows };
    let system = |(_, _, _, _, _, _, id, p2, p3, counted, at): Found| {
        let home = Path { id: OrgId(id?), p2: OrgId(p2?), p3: OrgId(p3?) };
        Some(UnsettledSystem { home, counted, last_heartbeat: at.map(|at| at.0) })
    };
    Ok(UnsettledSystems {
        epochs: ListEpochs { people, figures, statuses, ..ListEpochs::default() },
        covered: (silent_to, watched_to),
        systems: rows.into_iter().filter_map(system).collect(),
        are_too_many,
    })
}

/// Whether the systems that will be silent by `cutoff` are known.
pub(super) fn covers((silent_to, watched_to): (Option<TsCodec>, Option<TsCodec>), cutoff: Ts) -> bool {
    silent_to.is_some_and(|at| at.0 <= cutoff) && watched_to.is_some_and(|at| cutoff <= at.0)
}

/// The table `u`, and the end of the statement.
fn push_unsettled(q: &mut Q, scope: &Scope, cutoff: Ts) {
    let one = |condition: &str| format!("CASE WHEN [[s||a]].{condition} THEN 1 ELSE 0 END");
    q.push(&format!(
        "(SELECT {} AS unheard, {} AS silent FROM (SELECT system_id FROM system_unsettled LIMIT {MOST_UNSETTLED}) w",
        sum(&format!("{} - {}", one("last_heartbeat IS NULL"), one("counted = 0"))),
        sum(&format!("{} - {}", one("last_heartbeat <= ?"), one("counted = 2"))),
    ));
    q.push(of_unsettled!());
    q.arg(cutoff);
    push_scope(q, "s", "organization_id", scope);
    q.push(") u WHERE m.id = 1 AND e.id = 1");
}

fn sum(of: &str) -> String {
    format!("CAST(COALESCE(SUM({of}), 0) AS BIGINT)")
}

/// The counters of a scope: of its open organizations `systems`, `own` suspended ones, `unheard`, `silent`; `below`: all
/// systems of suspended ones.
fn push_kept(q: &mut Q, scope: &Scope) {
    for (name, column) in [
        ("systems", "systems"),
        ("own", "systems_suspended"),
        ("unheard", "systems_unheard"),
        ("silent", "systems_silent"),
    ] {
        q.push(&format!("{} AS {name}, ", sum(&format!("c.{column}"))));
    }
    q.push(&format!("(SELECT {} ", sum("c.systems")));
    push_counts(q, scope, true);
    q.push(") AS below ");
    push_counts(q, scope, false);
}

/// Counters of systems that are not deleted, of suspended organizations or of all others.
fn push_counts(q: &mut Q, scope: &Scope, is_suspended: bool) {
    if *scope == Scope::Everything {
        // The few deleted ones are subtracted instead of reading all others.
        q.push(
            "FROM organization_counts c WHERE c.organization_id NOT IN \
             (SELECT d.id FROM organizations d WHERE d.eff_deleted_at IS NOT NULL)",
        );
    } else {
        q.push(
            "FROM organizations o JOIN organization_counts c ON c.organization_id = o.id \
             WHERE o.eff_deleted_at IS NULL",
        );
        push_scope(q, "o", "id", scope);
    }
    push_suspended(q, "c.organization_id", is_suspended);
}

/// The same by reading the rows instead of the counters.
pub async fn counted_totals(db: &Db, scope: &Scope, cutoff: Ts) -> Result<Totals, StoreError> {
    type Found = (i64, i64, i64, i64, i64, i64, i64, i64);
    let mut q = Q::new("SELECT ");
    push_counters(&mut q, scope, |_| {});
    push_counters(&mut q, scope, |q| push_suspended(q, "o.id", true));
    // Individually suspended in an organization that is not suspended.
    push_count(
        &mut q,
        scope,
        SYSTEMS,
        " AND s.suspended_at IS NOT NULL AND o.eff_suspended_at IS NULL",
        None,
    );
    let unheard = " AND s.suspended_at IS NULL AND o.eff_suspended_at IS NULL AND s.first_heartbeat_at IS NULL \
         AND (SELECT h.last_heartbeat FROM system_activity h WHERE h.system_id = s.id) IS NULL";
    push_count(&mut q, scope, SYSTEMS, unheard, None);
    push_silent(&mut q, scope, cutoff);
    let (total, below, own, unknown, silent, deleted, suspended, inherited): Found = q.one(db).await?;
    Ok(Totals::new([total, below + own, unknown, silent - deleted - suspended - inherited]))
}

/// Not deleted, with their organizations.
const SYSTEMS: &str = "systems s JOIN organizations o ON o.id = s.organization_id \
     WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL";

fn push_counters(q: &mut Q, scope: &Scope, push_and: fn(&mut Q)) {
    q.push(
        "(SELECT CAST(COALESCE(SUM(n.systems), 0) AS BIGINT) FROM organizations o JOIN organization_counts n \
            ON n.organization_id = o.id WHERE o.eff_deleted_at IS NULL",
    );
    push_and(q);
    push_scope(q, "o", "id", scope);
    q.push("), ");
}

fn push_count(q: &mut Q, scope: &Scope, from: &str, and: &str, cutoff: Option<Ts>) {
    q.push(&format!("(SELECT CAST(COUNT(*) AS BIGINT) FROM {from}{and}"));
    if let Some(cutoff) = cutoff {
        q.arg(cutoff);
    }
    push_scope(q, "s", "organization_id", scope);
    q.push("), ");
}

/// The number of systems whose last heartbeat came before the cutoff, whatever their marks; then those among them that
/// are deleted, suspended, or in an organization that is either: few, each with an index of its own.
fn push_silent(q: &mut Q, scope: &Scope, cutoff: Ts) {
    let heard = "JOIN system_activity a ON a.system_id = s.id";
    if *scope == Scope::Everything {
        q.push("(SELECT CAST(COUNT(*) AS BIGINT) FROM system_activity a WHERE a.last_heartbeat <= ?), ")
            .arg(cutoff);
        let gone = format!("systems s {heard} WHERE s.deleted_at IS NOT NULL AND a.last_heartbeat <= ?");
        push_count(q, scope, &gone, "", Some(cutoff));
    } else {
        let live = format!("systems s {heard} WHERE s.deleted_at IS NULL AND a.last_heartbeat <= ?");
        push_count(q, scope, &live, "", Some(cutoff));
        q.push("CAST(0 AS BIGINT), ");
    }
    let own = format!(
        "systems s {heard} WHERE s.deleted_at IS NULL AND s.suspended_at IS NOT NULL AND a.last_heartbeat <= ?"
    );
    push_count(q, scope, &own, "", Some(cutoff));
    q.push(&format!(
        "(SELECT CAST(COUNT(*) AS BIGINT) FROM organizations o JOIN systems s ON s.organization_id = o.id {heard} \
         WHERE o.id IN (SELECT g.id FROM organizations g WHERE g.eff_deleted_at IS NOT NULL UNION ALL {SUSPENDED}) \
         AND s.deleted_at IS NULL AND s.suspended_at IS NULL AND a.last_heartbeat <= ?"
    ));
    q.arg(cutoff);
    push_scope(q, "s", "organization_id", scope);
    q.push(")");
}

/// Changes of the number of systems by UTC day since 1970, from `since` on: systems created minus systems deleted,
/// individually or with an organization.
pub async fn changes_by_day(db: &Db, scope: &Scope, since: Ts) -> Result<Vec<(i64, i64)>, StoreError> {
    let gone = "SELECT s.id, s.created_at, s.deleted_at, [[LEAST(s.deleted_at, o.eff_deleted_at)||\
         MIN(COALESCE(s.deleted_at, o.eff_deleted_at), COALESCE(o.eff_deleted_at, s.deleted_at))]] AS gone_at \
         FROM systems s JOIN organizations o ON o.id = s.organization_id WHERE ";
    let mut q = Q::new("WITH gone AS (");
    for (i, mark) in ["s.deleted_at", "o.eff_deleted_at"].into_iter().enumerate() {
        q.push(if i == 0 { "" } else { " UNION " }).push(gone);
        q.push(&format!("{mark} IS NOT NULL AND {mark} >= ?")).arg(since);
        push_scope(&mut q, "s", "organization_id", scope);
    }
    q.push(&format!(
        "), changes (day, n) AS (SELECT {}, COUNT(*) FROM systems x WHERE x.deleted_at IS NULL AND x.created_at >= ?",
        utc_day("x.created_at")
    ));
    q.arg(since);
    push_scope(&mut q, "x", "organization_id", scope);
    push_gone(&mut q, since);
    q.all(db).await
}

/// The types and versions of a scope's systems, ascending: one index jump for each.
pub async fn products(db: &Db, scope: &Scope) -> Result<Vec<(String, String)>, StoreError> {
    let next = |q: &mut Q, and: &str| {
        push_next(q, scope, and);
        q.push(" ORDER BY n.type, n.version LIMIT 1)");
    };
    let mut q = Q::new(
        "WITH RECURSIVE walk (type, version) AS (SELECT s.type, s.version FROM systems s WHERE s.id = ",
    );
    next(&mut q, "n.type > ''");
    q.push(" UNION ALL SELECT s.type, s.version FROM walk w [[JOIN||CROSS JOIN]] systems s ON s.id = ");
    next(&mut q, "(n.type, n.version) > (w.type, w.version)");
    q.push(") SELECT type, version FROM walk");
    q.all(db).await
}

/// The beginning of a search for the next live system `n` of a scope.
fn push_next(q: &mut Q, scope: &Scope, and: &str) {
    q.push(
        "(SELECT n.id FROM systems n [[JOIN||LEFT JOIN]] organizations o ON o.id = n.organization_id \
            WHERE n.deleted_at IS NULL AND o.eff_deleted_at IS NULL AND ",
    );
    q.push(and);
    push_scope(q, "n", "organization_id", scope);
}

/// Appends a table of the newest system of each creator in a scope, `(creator, id)`: one index jump for each.
pub(crate) fn push_newest_by_creator(q: &mut Q, scope: &Scope) {
    let next = |q: &mut Q, and: &str| {
        push_next(q, scope, and);
        q.push(" ORDER BY n.creator_user_id DESC, n.id DESC LIMIT 1)");
    };
    q.push(
        "WITH RECURSIVE walk (creator, id) AS (SELECT s.creator_user_id, s.id FROM systems s WHERE s.id = ",
    );
    next(q, "n.creator_user_id IS NOT NULL");
    q.push(" UNION ALL SELECT s.creator_user_id, s.id FROM walk w [[JOIN||CROSS JOIN]] systems s ON s.id = ");
    next(q, "n.creator_user_id < w.creator");
    q.push(") SELECT creator, id FROM walk");
}

/// The organizations of a scope that have systems not deleted, by name; with a search one more than it asks for.
pub async fn homes(db: &Db, scope: &Scope, search: Option<&ChoiceSearch>) -> Result<Vec<OrgRef>, StoreError> {
    organizations_with(db, scope, "systems", search).await
}
