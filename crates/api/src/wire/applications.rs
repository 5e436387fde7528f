//! Applications (spec: applications#operations).

use super::users::OrganizationRefOutput;
use crate::envelope::Pagination;
use bailiwick_domain::{Error, Page, Ts, org::OrgRef};
use bailiwick_fleet::applications::{ApplicationRecord, ByType, Choices, Summary, Totals, TypeVersions};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Body of PUT; clients send the whole object back. Other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct ApplicationInput {
    /// Absent or null keeps, `""` clears.
    pub notes: Option<String>,
}

/// Body of an assignment.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct AssignInput {
    /// An organization in the caller's hierarchy.
    #[schema(required = true, nullable = false)]
    pub organization_id: Option<String>,
}

/// The system an application runs on.
#[derive(Debug, Serialize, ToSchema)]
pub struct HostOutput {
    /// Id.
    pub id: String,
    /// Name now.
    pub name: String,
}

/// The organization an application is assigned to.
#[derive(Debug, Serialize, ToSchema)]
pub struct AssignedOrganizationOutput {
    /// Id.
    pub id: String,
    /// The same.
    pub logto_id: String,
    /// Name now.
    pub name: String,
    /// Always empty.
    pub description: &'static str,
    /// Type.
    pub r#type: &'static str,
}

impl From<OrgRef> for AssignedOrganizationOutput {
    fn from(organization: OrgRef) -> AssignedOrganizationOutput {
        let OrganizationRefOutput { id, logto_id, name, r#type } = organization.into();
        AssignedOrganizationOutput { id, logto_id, name, description: "", r#type }
    }
}

/// A stored JSON text as it is.
fn raw(text: String) -> Result<Box<RawValue>, Error> {
    RawValue::from_string(text).map_err(Error::internal)
}

fn raw_or_null(text: Option<String>) -> Result<Option<Box<RawValue>>, Error> {
    text.map(raw).transpose()
}

/// An application.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationOutput {
    /// Id.
    pub id: String,
    /// Its system.
    pub system_id: String,
    /// With the system, its key on the appliance.
    pub module_id: String,
    /// Name of the module it is an instance of.
    pub instance_of: String,
    /// Name of the product.
    #[schema(required = true)]
    pub name: Option<String>,
    /// Where its image comes from.
    #[schema(required = true)]
    pub source: Option<String>,
    /// What people call it.
    #[schema(required = true)]
    pub display_name: Option<String>,
    /// Number of its node.
    #[schema(required = true)]
    pub node_id: Option<i64>,
    /// Name of its node.
    #[schema(required = true)]
    pub node_label: Option<String>,
    /// Version.
    #[schema(required = true)]
    pub version: Option<String>,
    /// To whom it is assigned.
    #[schema(required = true)]
    pub organization_id: Option<String>,
    /// Type of that organization.
    #[schema(required = true)]
    pub organization_type: Option<&'static str>,
    /// `unassigned`, `assigned` or `error`.
    pub status: String,
    /// What else the document says of it.
    #[schema(value_type = Object)]
    pub inventory_data: Box<RawValue>,
    /// Reserved.
    #[schema(required = true, value_type = Option<Object>)]
    pub backup_data: Option<Box<RawValue>>,
    /// Reserved.
    #[schema(required = true, value_type = Option<Object>)]
    pub services_data: Option<Box<RawValue>>,
    /// Where it is administered.
    #[schema(required = true)]
    pub url: Option<String>,
    /// Free text.
    #[schema(required = true)]
    pub notes: Option<String>,
    /// Whether users work with it.
    pub is_user_facing: bool,
    /// Creation.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
    /// First document that named it.
    #[schema(value_type = String, format = DateTime)]
    pub first_seen_at: Ts,
    /// Newest document that named it.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_inventory_at: Option<Ts>,
    /// Its system.
    pub system: HostOutput,
    /// The organization it is assigned to; absent when unassigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<AssignedOrganizationOutput>,
    /// Whether the system's organization or one above it has rebranding enabled.
    pub rebranding_enabled: bool,
    /// Which one; left out unless enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebranding_org_id: Option<String>,
}

impl ApplicationOutput {
    /// All of an application.
    pub fn of(a: ApplicationRecord) -> Result<ApplicationOutput, Error> {
        Ok(ApplicationOutput {
            id: a.id.to_string(),
            system_id: a.system_id.to_string(),
            module_id: a.module_id,
            instance_of: a.instance_of,
            name: a.name,
            source: a.source,
            display_name: a.display_name,
            node_id: a.node_id,
            node_label: a.node_label,
            version: a.version,
            organization_id: a.organization.as_ref().map(|o| o.id.to_string()),
            organization_type: a.organization.as_ref().map(|o| o.org_type.as_str()),
            status: a.status,
            inventory_data: raw(a.inventory_data)?,
            backup_data: raw_or_null(a.backup_data)?,
            services_data: raw_or_null(a.services_data)?,
            url: a.url,
            notes: a.notes,
            is_user_facing: a.is_user_facing,
            created_at: a.created_at,
            updated_at: a.updated_at,
            first_seen_at: a.first_seen_at,
            last_inventory_at: a.last_inventory_at,
            system: HostOutput { id: a.system_id.to_string(), name: a.system_name },
            organization: a.organization.map(AssignedOrganizationOutput::from),
            rebranding_enabled: a.rebranding.is_some(),
            rebranding_org_id: a.rebranding.map(|id| id.to_string()),
        })
    }
}

/// An application in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationItem {
    /// Id.
    pub id: String,
    /// With the system, its key on the appliance.
    pub module_id: String,
    /// Name of the module it is an instance of.
    pub instance_of: String,
    /// Name of the product.
    #[schema(required = true)]
    pub name: Option<String>,
    /// Where its image comes from.
    #[schema(required = true)]
    pub source: Option<String>,
    /// What people call it.
    #[schema(required = true)]
    pub display_name: Option<String>,
    /// Version.
    #[schema(required = true)]
    pub version: Option<String>,
    /// `unassigned`, `assigned` or `error`.
    pub status: String,
    /// Number of its node.
    #[schema(required = true)]
    pub node_id: Option<i64>,
    /// Name of its node.
    #[schema(required = true)]
    pub node_label: Option<String>,
    /// Where it is administered.
    #[schema(required = true)]
    pub url: Option<String>,
    /// Free text.
    #[schema(required = true)]
    pub notes: Option<String>,
    /// Whether its services have errors.
    pub has_errors: bool,
    /// What else the document says of it.
    #[schema(value_type = Object)]
    pub inventory_data: Box<RawValue>,
    /// Reserved.
    #[schema(required = true, value_type = Option<Object>)]
    pub backup_data: Option<Box<RawValue>>,
    /// Reserved.
    #[schema(required = true, value_type = Option<Object>)]
    pub services_data: Option<Box<RawValue>>,
    /// Its system.
    pub system: HostOutput,
    /// The organization it is assigned to; absent when unassigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<AssignedOrganizationOutput>,
    /// Creation.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Newest document that named it.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_inventory_at: Option<Ts>,
    /// Whether the system's organization or one above it has rebranding enabled.
    pub rebranding_enabled: bool,
    /// Which one; left out unless enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebranding_org_id: Option<String>,
}

impl ApplicationItem {
    fn of(a: ApplicationRecord) -> Result<ApplicationItem, Error> {
        let has_errors = a.has_errors;
        let all = ApplicationOutput::of(a)?;
        Ok(ApplicationItem {
            id: all.id,
            module_id: all.module_id,
            instance_of: all.instance_of,
            name: all.name,
            source: all.source,
            display_name: all.display_name,
            version: all.version,
            status: all.status,
            node_id: all.node_id,
            node_label: all.node_label,
            url: all.url,
            notes: all.notes,
            has_errors,
            inventory_data: all.inventory_data,
            backup_data: all.backup_data,
            services_data: all.services_data,
            system: all.system,
            organization: all.organization,
            created_at: all.created_at,
            last_inventory_at: all.last_inventory_at,
            rebranding_enabled: all.rebranding_enabled,
            rebranding_org_id: all.rebranding_org_id,
        })
    }
}

/// A page of applications.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationList {
    /// Rows.
    pub applications: Vec<ApplicationItem>,
    /// Page.
    pub pagination: Pagination,
}

impl ApplicationList {
    /// Of a page, with the sort as the client sent it.
    pub fn of(
        page: Page<ApplicationRecord>,
        sort_by: Option<&str>,
        direction: Option<&str>,
    ) -> Result<ApplicationList, Error> {
        let pagination = Pagination::of(&page, sort_by, direction);
        let applications = page.rows.into_iter().map(ApplicationItem::of).collect::<Result<_, _>>()?;
        Ok(ApplicationList { applications, pagination })
    }
}

/// Listed applications by state.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatusCounts {
    /// Assigned.
    pub assigned: u64,
    /// Unassigned.
    pub unassigned: u64,
}

/// Numbers of listed applications.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationTotals {
    /// All of them.
    pub total: u64,
    /// Unassigned.
    pub unassigned: u64,
    /// Assigned.
    pub assigned: u64,
    /// With errors in their services.
    pub with_errors: u64,
    /// By module.
    pub by_type: BTreeMap<String, u64>,
    /// By status.
    pub by_status: StatusCounts,
}

impl From<Totals> for ApplicationTotals {
    fn from(t: Totals) -> ApplicationTotals {
        ApplicationTotals {
            total: t.total,
            unassigned: t.unassigned,
            assigned: t.assigned,
            with_errors: t.with_errors,
            by_type: t.by_type,
            by_status: StatusCounts { assigned: t.assigned, unassigned: t.unassigned },
        }
    }
}

/// The applications of one module.
#[derive(Debug, Serialize, ToSchema)]
pub struct TypeCount {
    /// Module.
    pub instance_of: String,
    /// Name of the product.
    pub name: String,
    /// How many.
    pub count: u64,
}

impl From<ByType> for TypeCount {
    fn from(t: ByType) -> TypeCount {
        TypeCount { instance_of: t.instance_of, name: t.name, count: t.count }
    }
}

/// Applications by module.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationSummary {
    /// Applications in all.
    pub total: u64,
    /// The modules.
    pub by_type: Vec<TypeCount>,
    /// Counts modules; only when a page was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pagination: Option<Pagination>,
}

impl ApplicationSummary {
    /// Of a summary; the pagination where a page was asked for.
    pub fn of(summary: Summary, pagination: Option<Pagination>) -> ApplicationSummary {
        let by_type = summary.types.rows.into_iter().map(TypeCount::from).collect();
        ApplicationSummary { total: summary.total, by_type, pagination }
    }
}

/// Versions of one module.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationVersions {
    /// Module.
    pub application: String,
    /// Name of the product.
    pub name: String,
    /// `<module>:<version>`, descending.
    pub versions: Vec<String>,
}

impl From<TypeVersions> for ApplicationVersions {
    fn from(v: TypeVersions) -> ApplicationVersions {
        ApplicationVersions { application: v.application, name: v.name, versions: v.versions }
    }
}

/// What the filters of the list can be set to.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationFilters {
    /// Modules.
    pub types: Vec<TypeCount>,
    /// Their versions.
    pub versions: Vec<ApplicationVersions>,
    /// Systems by name, at most 10,000.
    pub systems: Vec<HostOutput>,
    /// Organizations by name, after `no_org` where one is unassigned.
    pub organizations: Vec<AssignedOrganizationOutput>,
    /// Only with `q`: the lists that have more choices than `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<Vec<&'static str>>,
}

impl From<Choices> for ApplicationFilters {
    fn from(choices: Choices) -> ApplicationFilters {
        const NONE: &str = "no_org";
        let nobody = choices.has_unassigned.then(|| AssignedOrganizationOutput {
            id: NONE.to_owned(),
            logto_id: NONE.to_owned(),
            name: Choices::UNASSIGNED.to_owned(),
            description: "",
            r#type: "unassigned",
        });
        let host = |(id, name): (bailiwick_domain::SystemId, String)| HostOutput { id: id.to_string(), name };
        ApplicationFilters {
            types: choices.types.into_iter().map(TypeCount::from).collect(),
            versions: choices.versions.into_iter().map(ApplicationVersions::from).collect(),
            systems: choices.systems.into_iter().map(host).collect(),
            organizations: nobody
                .into_iter()
                .chain(choices.organizations.into_iter().map(AssignedOrganizationOutput::from))
                .collect(),
            more: choices.more,
        }
    }
}
