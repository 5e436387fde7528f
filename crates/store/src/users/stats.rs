//! Figures and filter choices for the users of a scope: totals, creations by day, choices of the list's filters.

use crate::{
    Db, StoreError,
    organizations::{stats::organizations_with, suspended::push_suspended, totals},
    scope::push_scope,
    sql::Q,
    time::utc_day,
};
use bailiwick_domain::{ChoiceSearch, Ts, org::OrgRef};
use bailiwick_policy::Scope;

/// Users that are not deleted, own or inherited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All of them.
    pub total: u64,
    /// Those suspended, own or inherited.
    pub suspended: u64,
}

fn live(select: &str, scope: &Scope) -> Q {
    let mut q = Q::new(&format!(
        "SELECT {select} FROM users u JOIN organizations o ON o.id = u.organization_id \
         WHERE u.deleted_at IS NULL AND o.eff_deleted_at IS NULL"
    ));
    push_scope(&mut q, "u", "organization_id", scope);
    q
}

/// How many users a scope has: the sum of the counters, which is also the list's total.
pub async fn count(db: &Db, scope: &Scope) -> Result<u64, StoreError> {
    Ok(totals(db, scope).await?.users)
}

/// How many users a scope has, and how many of them are suspended: all users of suspended organizations by the
/// counters, and the few others that are individually suspended.
pub async fn count_by_state(db: &Db, scope: &Scope) -> Result<Totals, StoreError> {
    let mut q = Q::new(
        "SELECT CAST(COALESCE((SELECT SUM(n.users) FROM organizations o \
         JOIN organization_counts n ON n.organization_id = o.id \
         WHERE o.eff_deleted_at IS NULL",
    );
    push_suspended(&mut q, "o.id", true);
    push_scope(&mut q, "o", "id", scope);
    q.push(
        "), 0) AS BIGINT) + (SELECT COUNT(*) FROM users u WHERE u.deleted_at IS NULL AND u.suspended_at IS NOT NULL \
         AND u.organization_id NOT IN (SELECT o.id FROM organizations o WHERE o.eff_deleted_at IS NOT NULL)",
    );
    push_suspended(&mut q, "u.organization_id", false);
    push_scope(&mut q, "u", "organization_id", scope);
    q.push(")");
    Ok(Totals { suspended: q.count(db).await?, total: count(db, scope).await? })
}

/// How many users not deleted now were created on each UTC day from `since` on: `(days since 1970-01-01, users)`,
/// days without any left out.
pub async fn created_by_day(db: &Db, scope: &Scope, since: Ts) -> Result<Vec<(i64, i64)>, StoreError> {
    let mut q = live(&format!("{}, CAST(COUNT(*) AS BIGINT)", utc_day("u.created_at")), scope);
    q.push(" AND u.created_at >= ?").arg(since).push(" GROUP BY 1 ORDER BY 1");
    q.all(db).await
}

/// The organizations of a scope that have users not deleted, by name; with a search one more than it asks for.
pub async fn homes(db: &Db, scope: &Scope, search: Option<&ChoiceSearch>) -> Result<Vec<OrgRef>, StoreError> {
    organizations_with(db, scope, "users", search).await
}
