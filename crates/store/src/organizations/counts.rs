//! Counts of organizations: counters summed over the tree. Rows are never counted one organization at a time.

use crate::{
    StoreError,
    applications::counts::{Assigned, assigned_to},
    scope::push_scope,
    sql::{On, Q},
};
use bailiwick_domain::{OrgId, OrgType};
use bailiwick_policy::Scope;
use std::collections::HashMap;
use uuid::Uuid;

/// Of everything: the few deleted organizations are subtracted from the counters, instead of looking up all others.
const TOTALS: &str = "SELECT CAST(COALESCE(SUM(n.systems), 0) AS BIGINT), \
    CAST(COALESCE(SUM(n.users), 0) AS BIGINT) FROM organization_counts n WHERE n.organization_id NOT IN \
    (SELECT o.id FROM organizations o WHERE o.eff_deleted_at IS NOT NULL)";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![TOTALS];

/// The counts that a list shows beside an organization (spec: organizations#counts): deleted rows do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Systems of the organization and of those below it; for a customer, its own.
    pub systems: u64,
    /// Resellers below a distributor.
    pub resellers: u64,
    /// Customers below a distributor or reseller.
    pub customers: u64,
    /// Applications assigned to the organization or one below it.
    pub applications: u64,
}

impl From<Stats> for Counts {
    fn from(stats: Stats) -> Counts {
        Counts {
            systems: stats.subtree.systems,
            resellers: stats.resellers,
            customers: stats.customers,
            applications: stats.applications.subtree,
        }
    }
}

/// Sums of the counters over a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Systems that are not deleted, own or inherited.
    pub systems: u64,
    /// Users that are not deleted, own or inherited.
    pub users: u64,
}

/// How many systems and users a scope holds: the totals of unfiltered lists.
pub async fn totals(on: impl Into<On<'_>>, scope: &Scope) -> Result<Totals, StoreError> {
    let q = if *scope == Scope::Everything {
        Q::new(TOTALS)
    } else {
        let mut q = Q::new(
            "SELECT CAST(COALESCE(SUM(n.systems), 0) AS BIGINT), CAST(COALESCE(SUM(n.users), 0) AS BIGINT) \
             FROM organizations o JOIN organization_counts n ON n.organization_id = o.id \
             WHERE o.eff_deleted_at IS NULL",
        );
        push_scope(&mut q, "o", "id", scope);
        q
    };
    let (systems, users): (i64, i64) = q.one(on).await?;
    Ok(Totals { systems: unsigned(systems), users: unsigned(users) })
}

/// The totals of one organization, without and with those below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Of the organization itself.
    pub own: Totals,
    /// Of it and all below it.
    pub subtree: Totals,
    /// Resellers below it.
    pub resellers: u64,
    /// Customers below it.
    pub customers: u64,
    /// Applications assigned to it and to the organizations below it.
    pub applications: Assigned,
}

/// The numbers of organizations of one family in two statements (spec: organizations#counts, organizations#stats). An
/// organization without an entry has zeros.
pub async fn stats_of(
    on: impl Into<On<'_>>,
    family: OrgType,
    organizations: impl IntoIterator<Item = OrgId>,
) -> Result<HashMap<OrgId, Stats>, StoreError> {
    let (mut on, organizations) = (on.into(), organizations.into_iter().map(|id| id.0).collect::<Vec<_>>());
    let column = crate::tree::subtree_column(family, "id");
    let mut q = Q::new(&format!(
        "SELECT o.{column} AS root, o.type, CAST(COUNT(*) AS BIGINT), CAST(SUM(n.systems) AS BIGINT), \
         CAST(SUM(n.users) AS BIGINT) FROM organizations o JOIN organization_counts n ON n.organization_id = o.id \
         WHERE o.eff_deleted_at IS NULL AND "
    ));
    q.one_of(on.reborrow(), &format!("o.{column}"), &organizations);
    q.push(&format!(" GROUP BY o.{column}, o.type"));
    let rows: Vec<(Uuid, String, i64, i64, i64)> = q.all(on.reborrow()).await?;
    let mut by_root: HashMap<OrgId, Stats> = HashMap::new();
    for (root, org_type, organizations, systems, users) in rows {
        let stats = by_root.entry(OrgId(root)).or_default();
        let (systems, users) = (unsigned(systems), unsigned(users));
        stats.subtree.systems += systems;
        stats.subtree.users += users;
        match crate::tree::parse_type(&org_type)? {
            // The topmost organization of the subtree is the only one of the family.
            own if own == family => stats.own = Totals { systems, users },
            OrgType::Reseller => stats.resellers = unsigned(organizations),
            OrgType::Customer => stats.customers = unsigned(organizations),
            OrgType::Owner | OrgType::Distributor => {}
        }
    }
    for (id, assigned) in assigned_to(on, family, &organizations).await? {
        by_root.entry(id).or_default().applications = assigned;
    }
    Ok(by_root)
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
