//! Numbers and choices about the systems of a scope: totals by status, changes by day, what the filters of the list
//! offer. What is kept or rare is read from counters and small indexes; only heartbeats have to be looked at, and of
//! them nothing but the narrow table of activity and the index of the scope.

use crate::{
    Db, StoreError,
    changes::push_gone,
    organizations::{
        figures::organizations_with,
        suspended::{SUSPENDED, push_suspended},
    },
    scope::push_scope,
    sql::Q,
    time::utc_day,
};
use bailiwick_domain::{Ts, org::OrgRef};
use bailiwick_policy::Scope;

/// Systems that are not deleted, by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All of them.
    pub total: u64,
    /// Heard of within the timeout.
    pub active: u64,
    /// Silent for longer.
    pub inactive: u64,
    /// Never heard of.
    pub unknown: u64,
    /// Suspended, own or inherited.
    pub suspended: u64,
}

/// The totals of a scope at one moment; `cutoff` is now minus the timeout. One statement, so the numbers fit together.
pub async fn totals(db: &Db, scope: &Scope, cutoff: Ts) -> Result<Totals, StoreError> {
    let mut q = Q::new("SELECT ");
    push_counters(&mut q, scope, |_| {});
    push_counters(&mut q, scope, |q| push_suspended(q, "o.id", true));
    // Suspended on their own in an organization that is not.
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
    let (total, below, own, unknown, silent, deleted, suspended, inherited): (
        i64,
        i64,
        i64,
        i64,
        i64,
        i64,
        i64,
        i64,
    ) = q.one(db).await?;
    let n = |n: i64| u64::try_from(n).unwrap_or(0);
    let (suspended_all, inactive) = (below + own, silent - deleted - suspended - inherited);
    Ok(Totals {
        total: n(total),
        active: n(total - suspended_all - unknown - inactive),
        inactive: n(inactive),
        unknown: n(unknown),
        suspended: n(suspended_all),
    })
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

/// How many were heard of last before the cutoff, whatever else is known of them; then those among them that are
/// deleted, suspended, or in an organization that is either: few, each with an index of its own.
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

/// Changes of the number of systems by UTC day since 1970, from `since` on: those created less those that went, on
/// their own or with an organization.
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

/// The types and versions of a scope's systems, ascending: one leap in an index for each.
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

/// Appends a table of the newest system of each creator in a scope, `(creator, id)`: one leap in an index for each.
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

/// The organizations of a scope that have systems not deleted, by name.
pub async fn homes(db: &Db, scope: &Scope) -> Result<Vec<OrgRef>, StoreError> {
    organizations_with(db, scope, "systems").await
}
