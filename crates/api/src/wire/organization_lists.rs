//! All families in one list, the VAT check, and the answer of a promotion (spec: organizations#promotion,
//! organizations#vat-validator, organizations#directory).

use super::organizations::OrganizationOutput;
use crate::envelope::Pagination;
use bailiwick_directory::organizations::{ListedOrganization, Promotion};
use bailiwick_domain::{OrgType, Page};
use serde::Serialize;
use utoipa::ToSchema;

/// An organization of any family.
#[derive(Debug, Serialize, ToSchema)]
pub struct DirectoryEntry {
    /// Unique identifier of the organization.
    pub id: String,
    /// Same value as `id`.
    pub logto_id: String,
    /// Name of the organization.
    pub name: String,
    /// Free text; `""` when there is none.
    pub description: String,
    /// Family: `distributor`, `reseller` or `customer`.
    #[schema(extensions(("x-enum" = json!(OrgType::FAMILIES.map(OrgType::as_str)))))]
    pub r#type: &'static str,
}

/// A page of organizations of all families.
#[derive(Debug, Serialize, ToSchema)]
pub struct Directory {
    /// The organizations of this page.
    pub organizations: Vec<DirectoryEntry>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

impl Directory {
    /// Of a page, with the sort as the client sent it.
    pub fn of(page: Page<ListedOrganization>, sort_by: Option<&str>, direction: Option<&str>) -> Directory {
        let pagination = Pagination::of(&page, sort_by, direction);
        let entry = |e: ListedOrganization| DirectoryEntry {
            id: e.id.to_string(),
            logto_id: e.id.to_string(),
            name: e.name,
            description: e.description,
            r#type: e.org_type.as_str(),
        };
        Directory { organizations: page.rows.into_iter().map(entry).collect(), pagination }
    }
}

/// Whether a VAT number is in use.
#[derive(Debug, Serialize, ToSchema)]
pub struct VatOutput {
    /// Whether an organization of that family below the caller's own has the VAT number.
    pub exists: bool,
}

/// A reseller that was made a distributor.
#[derive(Debug, Serialize, ToSchema)]
pub struct PromotedOutput {
    /// The organization, without counts.
    pub distributor: OrganizationOutput,
    /// Id of the organization that was above it until now.
    pub detached_from_organization_id: String,
    /// Id of the organization that is above it now: the owner.
    pub parent_organization_id: String,
    /// Number of customers that moved with it.
    pub customers_count: u64,
    /// Number of users of the organization itself.
    pub users_count: u64,
    /// Number of systems of the organization itself.
    pub systems_count: u64,
    /// Number of users whose organization role has changed.
    pub members_role_switched: u64,
}

impl From<Promotion> for PromotedOutput {
    fn from(done: Promotion) -> PromotedOutput {
        PromotedOutput {
            distributor: done.organization.into(),
            detached_from_organization_id: done.detached_from.to_string(),
            parent_organization_id: done.parent.to_string(),
            customers_count: done.numbers.customers,
            users_count: done.numbers.users,
            systems_count: done.numbers.systems,
            // Users have the organization role of their organization's type, so all of them.
            members_role_switched: done.numbers.users,
        }
    }
}
