//! Stats and totals of organizations (spec: organizations#stats). What a family does not have is left out.

use bailiwick_directory::organizations::Stats;
use bailiwick_domain::OrgType;
use serde::Serialize;
use utoipa::ToSchema;

/// What an organization holds; nothing deleted counts, suspended rows do.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatsOutput {
    /// Of the organization itself.
    pub users_count: u64,
    /// With all below it; not of customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users_hierarchy_count: Option<u64>,
    /// Of the organization itself.
    pub systems_count: u64,
    /// With all below it; not of customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub systems_hierarchy_count: Option<u64>,
    /// Below a distributor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resellers_count: Option<u64>,
    /// Below a distributor or reseller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customers_count: Option<u64>,
    /// Assigned to the organization itself.
    pub applications_count: u64,
    /// With all below it; not of customers.
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

/// A number of rows.
#[derive(Debug, Serialize, ToSchema)]
pub struct TotalOutput {
    /// As `total_count` of the unfiltered list.
    pub total: u64,
}
