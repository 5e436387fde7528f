//! All families in one list, the VAT check, and the answer of a promotion (spec: organizations#promotion,
//! organizations#vat-validator, organizations#directory).

use super::organizations::OrganizationOutput;
use crate::envelope::Pagination;
use bailiwick_directory::organizations::{ListedOrganization, Promotion};
use bailiwick_domain::Page;
use serde::Serialize;
use utoipa::ToSchema;

/// An organization of any family.
#[derive(Debug, Serialize, ToSchema)]
pub struct DirectoryEntry {
    /// Id.
    pub id: String,
    /// The same value again.
    pub logto_id: String,
    /// Name.
    pub name: String,
    /// `""` when absent.
    pub description: String,
    /// `distributor`, `reseller` or `customer`.
    pub r#type: &'static str,
}

/// One page of all families.
#[derive(Debug, Serialize, ToSchema)]
pub struct Directory {
    /// Rows.
    pub organizations: Vec<DirectoryEntry>,
    /// Page.
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
    /// By an organization of the family below the caller's.
    pub exists: bool,
}

/// A reseller that is a distributor now.
#[derive(Debug, Serialize, ToSchema)]
pub struct PromotedOutput {
    /// Complete, without counts.
    pub distributor: OrganizationOutput,
    /// The organization above it until now.
    pub detached_from_organization_id: String,
    /// The owner.
    pub parent_organization_id: String,
    /// Customers that came along.
    pub customers_count: u64,
    /// Users of the organization itself.
    pub users_count: u64,
    /// Systems of the organization itself.
    pub systems_count: u64,
    /// Users whose organization role is another one now.
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
