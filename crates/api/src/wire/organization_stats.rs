//! Stats and totals of organizations (spec: organizations#stats). What a family does not have is left out.

use bailiwick_directory::organizations::Stats;
use bailiwick_domain::OrgType;
use serde::Serialize;
use utoipa::ToSchema;

/// What an organization holds. Suspended objects count, deleted ones do not.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatsOutput {
    /// Number of users of the organization itself.
    pub users_count: u64,
    /// Number of users of the organization and everything below it. Absent for customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users_hierarchy_count: Option<u64>,
    /// Number of systems of the organization itself.
    pub systems_count: u64,
    /// Number of systems of the organization and everything below it. Absent for customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub systems_hierarchy_count: Option<u64>,
    /// Number of resellers below a distributor. Absent for resellers and customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resellers_count: Option<u64>,
    /// Number of customers below a distributor or reseller. Absent for customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customers_count: Option<u64>,
    /// Number of applications assigned to the organization itself.
    pub applications_count: u64,
    /// Number of applications assigned to the organization and everything below it. Absent for customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applications_hierarchy_count: Option<u64>,
}

impl StatsOutput {
    /// Of an organization of this family.
    pub fn of(family: OrgType, stats: Stats) -> StatsOutput {
        let has_below = family != OrgType::Customer;
        let below = |n: u64| has_below.then_some(n);
        StatsOutput {
            users_count: stats.own.users,
            users_hierarchy_count: below(stats.subtree.users),
            systems_count: stats.own.systems,
            systems_hierarchy_count: below(stats.subtree.systems),
            resellers_count: (family == OrgType::Distributor).then_some(stats.resellers),
            customers_count: below(stats.customers),
            applications_count: stats.applications.own,
            applications_hierarchy_count: below(stats.applications.subtree),
        }
    }
}

/// The number of objects of one kind.
#[derive(Debug, Serialize, ToSchema)]
pub struct TotalOutput {
    /// Number of objects within reach, as `total_count` of the list without filters.
    pub total: u64,
}
