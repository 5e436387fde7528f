//! Organizations (spec: organizations#organization, organizations#create).

use crate::envelope::Pagination;
use bailiwick_directory::organizations::{Listed, OrganizationBody};
use bailiwick_domain::{
    OrgType, Organization, Page, Ts, exact,
    org::{self, shown_custom_data},
};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Body of POST and PUT. Other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct OrganizationInput {
    /// Not blank, at most 255 characters; required by POST.
    pub name: Option<String>,
    /// Free text.
    pub description: Option<String>,
    /// Client keys; `vat` is required by POST. PUT lays them over the stored ones.
    #[schema(value_type = Option<Object>)]
    #[serde(deserialize_with = "exact::read")]
    pub custom_data: Option<Map<String, Value>>,
    /// Parent of a new reseller or customer, in place of the caller's organization.
    pub created_by_organization_id: Option<String>,
}

impl From<OrganizationInput> for OrganizationBody {
    fn from(input: OrganizationInput) -> OrganizationBody {
        OrganizationBody {
            name: input.name,
            description: input.description,
            custom_data: input.custom_data,
            created_by_organization_id: input.created_by_organization_id,
        }
    }
}

/// The creator of an entity, as known at that time; the organization's name is the present one.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatorOutput {
    /// `""` when no user did.
    pub user_id: String,
    /// User name.
    pub username: String,
    /// Display name.
    pub name: String,
    /// E-mail.
    pub email: String,
    /// The creator's organization, or the attributed one.
    pub organization_id: String,
    /// Its name.
    pub organization_name: String,
    /// Present and true when attributed by `created_by_organization_id`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub on_behalf_of: bool,
}

impl From<org::Creator> for CreatorOutput {
    fn from(creator: org::Creator) -> CreatorOutput {
        CreatorOutput {
            user_id: creator.user_id.map(|id| id.to_string()).unwrap_or_default(),
            username: creator.username,
            name: creator.name,
            email: creator.email,
            organization_id: creator.organization_id.map(|id| id.to_string()).unwrap_or_default(),
            organization_name: creator.organization_name,
            on_behalf_of: creator.on_behalf_of,
        }
    }
}

/// What a distributor was before its promotion.
#[derive(Debug, Serialize, ToSchema)]
pub struct PromotedFromOutput {
    /// `reseller`.
    pub level: &'static str,
    /// When it was promoted.
    #[schema(value_type = String, format = DateTime)]
    pub at: Ts,
    /// The organization above it until then.
    pub detached_from_organization_id: String,
    /// The user who did it, as known at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<CreatorOutput>,
}

impl From<org::PromotedFrom> for PromotedFromOutput {
    fn from(from: org::PromotedFrom) -> PromotedFromOutput {
        PromotedFromOutput {
            level: from.level.as_str(),
            at: from.at,
            detached_from_organization_id: from.detached_from_organization_id.to_string(),
            by: from.by.map(CreatorOutput::from),
        }
    }
}

/// A distributor, reseller or customer.
#[derive(Debug, Serialize, ToSchema)]
pub struct OrganizationOutput {
    /// Id.
    pub id: String,
    /// The same value again.
    pub logto_id: String,
    /// Name.
    pub name: String,
    /// `""` when absent.
    pub description: String,
    /// Client keys, then `type`, `createdBy`, `createdAt` and, after a PUT, `updatedBy`, `updatedAt`.
    #[schema(value_type = Object)]
    #[serde(serialize_with = "exact::write")]
    pub custom_data: Map<String, Value>,
    /// Creation.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
    /// Null outside identity mode `logto`.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub logto_synced_at: Option<Ts>,
    /// Null outside identity mode `logto`.
    #[schema(required = true)]
    pub logto_sync_error: Option<String>,
    /// Effective.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub deleted_at: Option<Ts>,
    /// The ancestor it is inherited from.
    #[schema(required = true)]
    pub deleted_by_org_id: Option<String>,
    /// Effective.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub suspended_at: Option<Ts>,
    /// The ancestor it is inherited from.
    #[schema(required = true)]
    pub suspended_by_org_id: Option<String>,
    /// Whether this organization or one above it has rebranding enabled.
    pub rebranding_enabled: bool,
    /// Which one; left out unless enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebranding_org_id: Option<String>,
    /// Lists only: systems of the organization and what is below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub systems_count: Option<u64>,
    /// Lists only, of distributors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resellers_count: Option<u64>,
    /// Lists only, of distributors and resellers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customers_count: Option<u64>,
    /// Lists only: assigned applications.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applications_count: Option<u64>,
    /// Left out without a snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<CreatorOutput>,
    /// Of a distributor that was a reseller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promoted_from: Option<PromotedFromOutput>,
}

impl From<Organization> for OrganizationOutput {
    fn from(o: Organization) -> OrganizationOutput {
        OrganizationOutput {
            id: o.id.to_string(),
            logto_id: o.id.to_string(),
            name: o.details.name,
            description: o.details.description,
            custom_data: shown_custom_data(
                o.custom_data,
                o.org_type,
                o.parent_id,
                o.created_at,
                o.updated_by_org_id.map(|id| (id, o.updated_at)),
            ),
            created_at: o.created_at,
            updated_at: o.updated_at,
            logto_synced_at: o.mirrored.synced_at,
            logto_sync_error: o.mirrored.error,
            deleted_at: o.deleted.at,
            deleted_by_org_id: o.deleted.by.map(|id| id.to_string()),
            suspended_at: o.suspended.at,
            suspended_by_org_id: o.suspended.by.map(|id| id.to_string()),
            rebranding_enabled: o.rebranding.is_some(),
            rebranding_org_id: o.rebranding.map(|id| id.to_string()),
            systems_count: None,
            resellers_count: None,
            customers_count: None,
            applications_count: None,
            created_by: o.created_by.map(CreatorOutput::from),
            promoted_from: o.promoted_from.map(PromotedFromOutput::from),
        }
    }
}

impl From<Listed> for OrganizationOutput {
    fn from(listed: Listed) -> OrganizationOutput {
        let (family, n) = (listed.organization.org_type, listed.counts);
        OrganizationOutput {
            systems_count: Some(n.systems),
            resellers_count: (family == OrgType::Distributor).then_some(n.resellers),
            customers_count: (family != OrgType::Customer).then_some(n.customers),
            applications_count: Some(n.applications),
            ..listed.organization.into()
        }
    }
}

/// One page of a family, under the family's name.
#[derive(Debug)]
pub struct OrganizationList {
    family: OrgType,
    rows: Vec<OrganizationOutput>,
    pagination: Pagination,
}

impl OrganizationList {
    /// Of a page, with the sort as the client sent it.
    pub fn of(
        family: OrgType,
        page: Page<Listed>,
        sort_by: Option<&str>,
        direction: Option<&str>,
    ) -> OrganizationList {
        let pagination = Pagination::of(&page, sort_by, direction);
        let rows = page.rows.into_iter().map(OrganizationOutput::from).collect();
        OrganizationList { family, rows, pagination }
    }

    /// As a page of a walk.
    #[must_use]
    pub fn walked(self, next: Option<String>) -> OrganizationList {
        OrganizationList { pagination: self.pagination.walked(next), ..self }
    }
}

impl Serialize for OrganizationList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(self.family.plural(), &self.rows)?;
        map.serialize_entry("pagination", &self.pagination)?;
        map.end()
    }
}

/// Schema of a page of distributors.
#[derive(ToSchema)]
pub struct DistributorList {
    /// Rows.
    pub distributors: Vec<OrganizationOutput>,
    /// Page.
    pub pagination: Pagination,
}

/// Schema of a page of resellers.
#[derive(ToSchema)]
pub struct ResellerList {
    /// Rows.
    pub resellers: Vec<OrganizationOutput>,
    /// Page.
    pub pagination: Pagination,
}

/// Schema of a page of customers.
#[derive(ToSchema)]
pub struct CustomerList {
    /// Rows.
    pub customers: Vec<OrganizationOutput>,
    /// Page.
    pub pagination: Pagination,
}
