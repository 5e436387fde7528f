//! Totals of systems and what their filters offer (spec: systems#totals, systems#filters).

use super::{roles::CreatorChoice, users::OrganizationRefOutput};
use bailiwick_fleet::systems::{Choices, Totals};
use serde::Serialize;
use utoipa::ToSchema;

/// The number of systems within reach by status. Deleted systems do not count.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemTotals {
    /// Number of all systems: the sum of the next four numbers.
    pub total: u64,
    /// Number of systems with a heartbeat within the timeout.
    pub active: u64,
    /// Number of systems whose last heartbeat is older than the timeout.
    pub inactive: u64,
    /// Number of systems that never sent a heartbeat.
    pub unknown: u64,
    /// Number of systems that are suspended themselves or through an organization.
    pub suspended: u64,
    /// The timeout in minutes that these numbers go by.
    pub timeout_minutes: u64,
    /// Same value as `active`, for older clients.
    #[schema(deprecated)]
    pub alive: u64,
    /// Same value as `inactive`, for older clients.
    #[schema(deprecated)]
    pub dead: u64,
    /// Same value as `unknown`, for older clients.
    #[schema(deprecated)]
    pub zombie: u64,
}

impl From<(Totals, u64)> for SystemTotals {
    fn from((t, timeout_minutes): (Totals, u64)) -> SystemTotals {
        SystemTotals {
            total: t.total,
            active: t.active,
            inactive: t.inactive,
            unknown: t.unknown,
            suspended: t.suspended,
            timeout_minutes,
            alive: t.active,
            dead: t.inactive,
            zombie: t.unknown,
        }
    }
}

/// The versions of one product.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProductVersions {
    /// The product: the `type` of its systems.
    pub product: String,
    /// Versions in descending order, each as `<product>:<version>`.
    pub versions: Vec<String>,
}

/// The values that the list of systems can be filtered by.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemFilters {
    /// Products in ascending order: the values of `type`.
    pub products: Vec<String>,
    /// Users who have created systems, by name.
    pub created_by: Vec<CreatorChoice>,
    /// Versions, by product.
    pub versions: Vec<ProductVersions>,
    /// Organizations with systems, by name.
    pub organizations: Vec<OrganizationRefOutput>,
    /// Names of the lists that have more matches than `limit`. Present only if the request has `q`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<Vec<&'static str>>,
}

impl From<Choices> for SystemFilters {
    fn from(choices: Choices) -> SystemFilters {
        let versions = |(product, versions): (&String, &Vec<String>)| ProductVersions {
            versions: versions.iter().map(|version| format!("{product}:{version}")).collect(),
            product: product.clone(),
        };
        SystemFilters {
            products: choices.products.keys().cloned().collect(),
            versions: choices.products.iter().filter(|(_, v)| !v.is_empty()).map(versions).collect(),
            created_by: choices.creators.into_iter().map(CreatorChoice::from).collect(),
            organizations: choices.organizations.into_iter().map(OrganizationRefOutput::from).collect(),
            more: choices.more,
        }
    }
}
