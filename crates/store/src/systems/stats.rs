//! Figures and filter choices for the systems of a scope: totals by status, changes by day, choices of the list's
//! filters. Stored or rare values are read from counters and small indexes.

use crate::{
    Db, StoreError,
    changes_by_day::push_gone,
    organizations::{
        stats::organizations_with,
        suspended::{SUSPENDED, push_suspended},
    },
    scope::push_scope,
    sql::Q,
    time::utc_day,
};
use bailiwick_domain::{ChoiceSearch, Ts, org::OrgRef};
use bailiwick_policy::Scope;
use serde::{Deserialize, Serialize};

/// Systems that are not deleted, by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// The totals of a scope, from the counters of its organizations.
///
/// # Errors
/// The database's.
pub async fn totals(db: &Db, scope: &Scope) -> Result<Totals, StoreError> {
    let mut q = Q::new("SELECT ");
    for column in ["systems", "systems_suspended", "systems_unknown", "systems_inactive"] {
        q.push(&sum(&format!("c.{column}"))).push(", ");
    }
    // Those of suspended organizations, whatever they are counted as.
    q.push(&format!("(SELECT {} ", sum("c.systems")));
    push_counts(&mut q, scope, true);
    q.push(") ");
    push_counts(&mut q, scope, false);
    let (open, own, unknown, inactive, below): (i64, i64, i64, i64, i64) = q.one(db).await?;
    Ok(Totals::new([open + below, own + below, unknown, inactive]))
}

fn sum(column: &str) -> String {
    format!("CAST(COALESCE(SUM({column}), 0) AS BIGINT)")
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

/// The totals of a scope by another timeout than the one that the counters are for, from the rows. `cutoff`: now minus
/// the timeout.
///
/// # Errors
/// The database's.
pub async fn totals_at(db: &Db, scope: &Scope, cutoff: Ts) -> Result<Totals, StoreError> {
    let is_suspended = format!("s.suspended_at IS NOT NULL OR o.id IN ({SUSPENDED})");
    let mut q = Q::new(&format!(
        "SELECT CAST(COUNT(*) AS BIGINT), {}, {}, {} FROM systems s JOIN organizations o ON o.id = s.organization_id \
         JOIN system_activity a ON a.system_id = s.id WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL",
        sum(&format!("CASE WHEN {is_suspended} THEN 1 ELSE 0 END")),
        sum(&format!("CASE WHEN {is_suspended} OR a.last_heartbeat IS NOT NULL THEN 0 ELSE 1 END")),
        sum(&format!("CASE WHEN {is_suspended} THEN 0 WHEN a.last_heartbeat <= ? THEN 1 ELSE 0 END")),
    ));
    q.arg(cutoff);
    push_scope(&mut q, "s", "organization_id", scope);
    let (total, suspended, unknown, inactive): (i64, i64, i64, i64) = q.one(db).await?;
    Ok(Totals::new([total, suspended, unknown, inactive]))
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
