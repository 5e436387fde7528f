//! Organizations (spec: organizations#organization, organizations#create).

use crate::envelope::Pagination;
use bailiwick_directory::organizations::{Listed, OrganizationBody};
use bailiwick_domain::{
    OrgType, Organization, Page, Ts, exact,
    org::{self, shown_custom_data},
    validate::{MAX_FREE_TEXT_CHARS, MAX_NAME_CHARS},
};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// An organization to create, or its changes. Other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct OrganizationInput {
    /// Name of the organization, at most 255 characters and not blank. Required for a new one.
    #[schema(min_length = 1, extensions(("x-maxLength" = json!(MAX_NAME_CHARS))))]
    pub name: Option<String>,
    /// Free text about the organization, at most 16384 characters.
    #[schema(extensions(("x-maxLength" = json!(MAX_FREE_TEXT_CHARS))))]
    pub description: Option<String>,
    /// Data of clients, at most 64 KiB as JSON; `vat` is required for a new organization. A change overwrites the given
    /// keys and keeps the others.
    #[schema(value_type = Option<Object>)]
    #[serde(deserialize_with = "exact::read")]
    pub custom_data: Option<Map<String, Value>>,
    /// Id of the organization that a new reseller or customer is placed below, instead of the caller's own.
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

/// Who created an object, as known at that time. Only the name of the organization is the current one.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatorOutput {
    /// Id of the creator; `""` if no user created the object.
    pub user_id: String,
    /// User name of the creator.
    pub username: String,
    /// Display name of the creator.
    pub name: String,
    /// E-mail address of the creator.
    pub email: String,
    /// Id of the creator's organization, or of the one on whose behalf the object was created.
    pub organization_id: String,
    /// Name of that organization.
    pub organization_name: String,
    /// True if the request named the organization in `created_by_organization_id`; otherwise absent.
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
    /// Former level: `reseller`.
    pub level: &'static str,
    /// When the organization was promoted.
    #[schema(value_type = String, format = DateTime)]
    pub at: Ts,
    /// Id of the organization that was above it until then.
    pub detached_from_organization_id: String,
    /// The user who promoted it, as known at that time. Absent for readers who may not see them.
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
    /// Unique identifier of the organization.
    pub id: String,
    /// Same value as `id`.
    pub logto_id: String,
    /// Name of the organization.
    pub name: String,
    /// Free text; `""` when there is none.
    pub description: String,
    /// Data of clients, and the keys `type`, `createdBy`, `createdAt` and, after a change, `updatedBy` and `updatedAt`
    /// that the service sets.
    #[schema(value_type = Object)]
    #[serde(serialize_with = "exact::write")]
    pub custom_data: Map<String, Value>,
    /// When the organization was created.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// When the organization was last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
    /// When the organization was last mirrored to Logto; null outside identity mode `logto`.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub logto_synced_at: Option<Ts>,
    /// Why mirroring to Logto fails; null if it does not, and outside identity mode `logto`.
    #[schema(required = true)]
    pub logto_sync_error: Option<String>,
    /// When the organization, or the nearest deleted one above it, was deleted; null if neither is.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub deleted_at: Option<Ts>,
    /// Id of the organization above that the deletion comes from; null if the organization itself was deleted, or is
    /// not deleted.
    #[schema(required = true)]
    pub deleted_by_org_id: Option<String>,
    /// When the organization, or the nearest suspended one above it, was suspended; null if neither is.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub suspended_at: Option<Ts>,
    /// Id of the organization above that the suspension comes from; null if the organization itself was suspended, or
    /// is not suspended.
    #[schema(required = true)]
    pub suspended_by_org_id: Option<String>,
    /// Whether rebranding is enabled for the organization or one above it.
    pub rebranding_enabled: bool,
    /// Id of the nearest organization with rebranding enabled. Absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebranding_org_id: Option<String>,
    /// Number of systems of the organization and everything below it. Only in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub systems_count: Option<u64>,
    /// Number of resellers below a distributor. Only in lists of distributors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resellers_count: Option<u64>,
    /// Number of customers below the organization. Only in lists of distributors and resellers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customers_count: Option<u64>,
    /// Number of applications assigned to the organization and everything below it. Only in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applications_count: Option<u64>,
    /// Who created the organization. Absent if that is not known, or the reader may not see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<CreatorOutput>,
    /// What a promoted distributor was before. Absent otherwise.
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

/// A page of one family of organizations; the name of its list is that of the family.
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

/// A page of distributors.
#[derive(ToSchema)]
pub struct DistributorList {
    /// The distributors of this page.
    pub distributors: Vec<OrganizationOutput>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

/// A page of resellers.
#[derive(ToSchema)]
pub struct ResellerList {
    /// The resellers of this page.
    pub resellers: Vec<OrganizationOutput>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

/// A page of customers.
#[derive(ToSchema)]
pub struct CustomerList {
    /// The customers of this page.
    pub customers: Vec<OrganizationOutput>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}
