//! Applications (spec: applications#operations).

use super::users::OrganizationRefOutput;
use crate::envelope::Pagination;
use bailiwick_domain::{Error, OrgType, Page, Ts, org::OrgRef, validate::MAX_FREE_TEXT_CHARS};
use bailiwick_fleet::applications::{
    ApplicationRecord, ByType, Choices, STATUSES, Summary, Totals, TypeVersions,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Changes of an application. Clients may send the whole object back; other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct ApplicationInput {
    /// New notes, at most 16384 characters; `""` removes them. Absent or null changes nothing.
    #[schema(extensions(("x-maxLength" = json!(MAX_FREE_TEXT_CHARS))))]
    pub notes: Option<String>,
}

/// The organization to assign an application to.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct AssignInput {
    /// Id of an organization within the caller's scope.
    #[schema(required = true, nullable = false)]
    pub organization_id: Option<String>,
}

/// The system that an application runs on.
#[derive(Debug, Serialize, ToSchema)]
pub struct HostOutput {
    /// Id of the system.
    pub id: String,
    /// Current name of the system.
    pub name: String,
}

/// The organization that an application is assigned to.
#[derive(Debug, Serialize, ToSchema)]
pub struct AssignedOrganizationOutput {
    /// Id of the organization.
    pub id: String,
    /// Same value as `id`.
    pub logto_id: String,
    /// Current name of the organization.
    pub name: String,
    /// Always `""`.
    pub description: &'static str,
    /// Level of the organization: `owner`, `distributor`, `reseller` or `customer`; `unassigned` for the filter choice
    /// `no_org`.
    #[schema(extensions(("x-enum" = json!(AssignedOrganizationOutput::types()))))]
    pub r#type: &'static str,
}

impl AssignedOrganizationOutput {
    const UNASSIGNED: &str = "unassigned";

    fn types() -> Vec<&'static str> {
        OrgType::ALL.map(OrgType::as_str).into_iter().chain([Self::UNASSIGNED]).collect()
    }
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

/// An application on a system.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationOutput {
    /// Unique identifier of the application.
    pub id: String,
    /// Id of the system that it runs on.
    pub system_id: String,
    /// Name of the module on its system, such as `nextcloud1`; unique there.
    pub module_id: String,
    /// Kind of module, such as `nextcloud`.
    pub instance_of: String,
    /// Name of the product, such as `Nextcloud`; null when it is not known.
    #[schema(required = true)]
    pub name: Option<String>,
    /// Image that the module is made from; null when it is not known.
    #[schema(required = true)]
    pub source: Option<String>,
    /// Name that people have given the module on its system; null when there is none.
    #[schema(required = true)]
    pub display_name: Option<String>,
    /// Number of the node that it runs on; null when it is not known.
    #[schema(required = true)]
    pub node_id: Option<i64>,
    /// Name of that node; null when there is none.
    #[schema(required = true)]
    pub node_label: Option<String>,
    /// Version of the module; null when it is not known.
    #[schema(required = true)]
    pub version: Option<String>,
    /// Id of the organization that it is assigned to; null when there is none that the caller may see.
    #[schema(required = true)]
    pub organization_id: Option<String>,
    /// Level of that organization: `owner`, `distributor`, `reseller` or `customer`; null when there is none.
    #[schema(required = true, extensions(("x-enum" = json!(OrgType::ALL.map(OrgType::as_str)))))]
    pub organization_type: Option<&'static str>,
    /// Assignment: `unassigned` or `assigned`. `error` is reserved.
    #[schema(extensions(("x-enum" = json!(STATUSES.list()))))]
    pub status: String,
    /// Further facts of the module, as its inventory names them.
    #[schema(value_type = Object)]
    pub inventory_data: Box<RawValue>,
    /// Reserved; null.
    #[schema(required = true, value_type = Option<Object>)]
    pub backup_data: Option<Box<RawValue>>,
    /// Reserved; null.
    #[schema(required = true, value_type = Option<Object>)]
    pub services_data: Option<Box<RawValue>>,
    /// Address where the application is administered; null when it is not known.
    #[schema(required = true)]
    pub url: Option<String>,
    /// Free text; null when there is none.
    #[schema(required = true)]
    pub notes: Option<String>,
    /// Whether people work with it. False for modules that only serve others, such as `traefik` and `loki`.
    pub is_user_facing: bool,
    /// When the service first created the application.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// When the application was last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
    /// When an inventory first listed the application.
    #[schema(value_type = String, format = DateTime)]
    pub first_seen_at: Ts,
    /// When an inventory last listed the application.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_inventory_at: Option<Ts>,
    /// The system that it runs on.
    pub system: HostOutput,
    /// The organization that it is assigned to. Absent when there is none that the caller may see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<AssignedOrganizationOutput>,
    /// Whether rebranding is enabled for the system's organization or one above it.
    pub rebranding_enabled: bool,
    /// Id of the nearest organization with rebranding enabled. Absent when there is none.
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
    /// Unique identifier of the application.
    pub id: String,
    /// Name of the module on its system, such as `nextcloud1`; unique there.
    pub module_id: String,
    /// Kind of module, such as `nextcloud`.
    pub instance_of: String,
    /// Name of the product, such as `Nextcloud`; null when it is not known.
    #[schema(required = true)]
    pub name: Option<String>,
    /// Image that the module is made from; null when it is not known.
    #[schema(required = true)]
    pub source: Option<String>,
    /// Name that people have given the module on its system; null when there is none.
    #[schema(required = true)]
    pub display_name: Option<String>,
    /// Version of the module; null when it is not known.
    #[schema(required = true)]
    pub version: Option<String>,
    /// Assignment: `unassigned` or `assigned`. `error` is reserved.
    #[schema(extensions(("x-enum" = json!(STATUSES.list()))))]
    pub status: String,
    /// Number of the node that it runs on; null when it is not known.
    #[schema(required = true)]
    pub node_id: Option<i64>,
    /// Name of that node; null when there is none.
    #[schema(required = true)]
    pub node_label: Option<String>,
    /// Address where the application is administered; null when it is not known.
    #[schema(required = true)]
    pub url: Option<String>,
    /// Free text; null when there is none.
    #[schema(required = true)]
    pub notes: Option<String>,
    /// Whether its services have errors, by `services_data`; false without it.
    pub has_errors: bool,
    /// Further facts of the module, as its inventory names them.
    #[schema(value_type = Object)]
    pub inventory_data: Box<RawValue>,
    /// Reserved; null.
    #[schema(required = true, value_type = Option<Object>)]
    pub backup_data: Option<Box<RawValue>>,
    /// Reserved; null.
    #[schema(required = true, value_type = Option<Object>)]
    pub services_data: Option<Box<RawValue>>,
    /// The system that it runs on.
    pub system: HostOutput,
    /// The organization that it is assigned to. Absent when there is none that the caller may see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<AssignedOrganizationOutput>,
    /// When the service first created the application.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// When an inventory last listed the application.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_inventory_at: Option<Ts>,
    /// Whether rebranding is enabled for the system's organization or one above it.
    pub rebranding_enabled: bool,
    /// Id of the nearest organization with rebranding enabled. Absent when there is none.
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
    /// The applications of this page.
    pub applications: Vec<ApplicationItem>,
    /// Position of this page in the list.
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

/// The number of applications by assignment.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatusCounts {
    /// Number of assigned applications.
    pub assigned: u64,
    /// Number of unassigned applications.
    pub unassigned: u64,
}

/// The number of applications within reach, as the unfiltered list counts them.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationTotals {
    /// Number of all applications.
    pub total: u64,
    /// Number of unassigned applications.
    pub unassigned: u64,
    /// Number of assigned applications.
    pub assigned: u64,
    /// Number of applications whose services have errors.
    pub with_errors: u64,
    /// Number of applications by kind of module.
    pub by_type: BTreeMap<String, u64>,
    /// Number of applications by assignment.
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

/// The number of applications of one kind of module.
#[derive(Debug, Serialize, ToSchema)]
pub struct TypeCount {
    /// Kind of module, such as `nextcloud`.
    pub instance_of: String,
    /// Name of the product, such as `Nextcloud`; the kind of module when it is not known.
    pub name: String,
    /// Number of applications.
    pub count: u64,
}

impl From<ByType> for TypeCount {
    fn from(t: ByType) -> TypeCount {
        TypeCount { instance_of: t.instance_of, name: t.name, count: t.count }
    }
}

/// The number of applications by kind of module.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationSummary {
    /// Number of applications of all kinds.
    pub total: u64,
    /// One entry for each kind of module.
    pub by_type: Vec<TypeCount>,
    /// Position of this page in the list of kinds. Present only if the request has `page_size`.
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

/// The versions of one kind of module.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationVersions {
    /// Kind of module, such as `nextcloud`.
    pub application: String,
    /// Name of the product, such as `Nextcloud`; the kind of module when it is not known.
    pub name: String,
    /// Versions in descending order, each as `<kind of module>:<version>`.
    pub versions: Vec<String>,
}

impl From<TypeVersions> for ApplicationVersions {
    fn from(v: TypeVersions) -> ApplicationVersions {
        ApplicationVersions { application: v.application, name: v.name, versions: v.versions }
    }
}

/// The values that the list of applications can be filtered by.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationFilters {
    /// Kinds of modules.
    pub types: Vec<TypeCount>,
    /// Versions, by kind of module.
    pub versions: Vec<ApplicationVersions>,
    /// Systems by name, at most 10,000.
    pub systems: Vec<HostOutput>,
    /// Organizations by name. The first one is `no_org` if any application is unassigned.
    pub organizations: Vec<AssignedOrganizationOutput>,
    /// Names of the lists that have more matches than `limit`. Present only if the request has `q`.
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
            r#type: AssignedOrganizationOutput::UNASSIGNED,
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
