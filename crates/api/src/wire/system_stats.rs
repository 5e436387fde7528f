//! Totals of systems and what their filters offer (spec: systems#totals, systems#filters).

use super::{roles::CreatorChoice, users::OrganizationRefOutput};
use bailiwick_fleet::systems::{Choices, Totals};
use serde::Serialize;
use utoipa::ToSchema;

/// Systems that are not deleted, by status.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemTotals {
    /// All of them: the sum of the four.
    pub total: u64,
    /// Heard of within the timeout.
    pub active: u64,
    /// Silent for longer.
    pub inactive: u64,
    /// Never heard of.
    pub unknown: u64,
    /// Suspended, own or inherited.
    pub suspended: u64,
    /// The timeout they were counted by.
    pub timeout_minutes: u64,
    /// As `active`, for older clients.
    #[schema(deprecated)]
    pub alive: u64,
    /// As `inactive`.
    #[schema(deprecated)]
    pub dead: u64,
    /// As `unknown`.
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

/// Versions of one type.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProductVersions {
    /// Type.
    pub product: String,
    /// `<type>:<version>`, descending.
    pub versions: Vec<String>,
}

/// What the filters of the list can be set to.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemFilters {
    /// Types, ascending.
    pub products: Vec<String>,
    /// One entry for each creating user, by name.
    pub created_by: Vec<CreatorChoice>,
    /// By type.
    pub versions: Vec<ProductVersions>,
    /// Organizations with systems, by name.
    pub organizations: Vec<OrganizationRefOutput>,
    /// Only with `q`: the lists that have more choices than `limit`.
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
