//! Systems as management sees them (spec: systems#system, systems#list).

use super::{organizations::CreatorOutput, users::OrganizationRefOutput};
use crate::envelope::Pagination;
use bailiwick_domain::{
    Page, System, SystemStatus, Ts,
    validate::{MAX_FREE_TEXT_CHARS, MAX_NAME_CHARS},
};
use bailiwick_fleet::{
    Fleet,
    systems::{Change, Created, NewSystem},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A system to create. Other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct NewSystemInput {
    /// Name of the system, at most 255 characters and not blank.
    #[schema(required = true, nullable = false, min_length = 1)]
    #[schema(extensions(("x-maxLength" = json!(MAX_NAME_CHARS))))]
    pub name: Option<String>,
    /// Id of the organization that the system belongs to.
    #[schema(required = true, nullable = false)]
    pub organization_id: Option<String>,
    /// Data of clients: texts by name, at most 64 KiB as JSON.
    #[schema(value_type = Option<Object>)]
    pub custom_data: Option<Map<String, Value>>,
    /// Free text about the system, at most 16384 characters.
    #[schema(extensions(("x-maxLength" = json!(MAX_FREE_TEXT_CHARS))))]
    pub notes: Option<String>,
    /// Id of the organization to show as the creator's. Only for callers of the owner and of distributors.
    pub created_by_organization_id: Option<String>,
    /// Earlier time of creation, in RFC 3339. Only for callers of the owner and of distributors.
    #[schema(format = DateTime)]
    pub created_at: Option<String>,
    /// Time of registration, in RFC 3339: the system is registered from the start. Only for callers of the owner and of
    /// distributors.
    #[schema(format = DateTime)]
    pub registered_at: Option<String>,
}

impl From<NewSystemInput> for NewSystem {
    fn from(input: NewSystemInput) -> NewSystem {
        NewSystem {
            name: input.name.unwrap_or_default(),
            organization_id: input.organization_id.unwrap_or_default(),
            custom_data: input.custom_data.unwrap_or_default(),
            notes: input.notes.unwrap_or_default(),
            created_by_organization_id: input.created_by_organization_id,
            created_at: input.created_at,
            registered_at: input.registered_at,
        }
    }
}

/// Changes of a system. Clients may send all fields back; other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct SystemInput {
    /// New name. An absent or empty one changes nothing.
    #[schema(extensions(("x-maxLength" = json!(MAX_NAME_CHARS))))]
    pub name: Option<String>,
    /// New notes, at most 16384 characters; `""` removes them. Absent or null changes nothing.
    #[schema(extensions(("x-maxLength" = json!(MAX_FREE_TEXT_CHARS))))]
    pub notes: Option<String>,
    /// New data of clients, at most 64 KiB as JSON, in place of all stored data. Absent or null changes nothing.
    #[schema(value_type = Option<Object>)]
    pub custom_data: Option<Map<String, Value>>,
    /// Id of the organization to move the system to. An absent or empty one changes nothing.
    pub organization_id: Option<String>,
}

impl From<SystemInput> for Change {
    fn from(input: SystemInput) -> Change {
        Change {
            name: input.name,
            notes: input.notes,
            custom_data: input.custom_data,
            organization_id: input.organization_id,
        }
    }
}

/// How to replace the secret of a system. The body may be left out.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct RegenerateInput {
    /// Whether to replace the secret of a registered system too. Its registration then ends.
    pub force: bool,
}

/// A system: a machine or cluster that the service manages.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemOutput {
    /// Unique identifier of the system.
    pub id: String,
    /// Name of the system. Only users set it.
    pub name: String,
    /// Product: `ns8`, `nsec` or another; null until the first inventory.
    #[schema(required = true)]
    pub r#type: Option<String>,
    /// State: `unknown` (no heartbeat yet), `active`, `inactive` (no heartbeat for some time), `suspended` or
    /// `deleted`.
    #[schema(extensions(("x-enum" = json!(SystemStatus::ALL.map(SystemStatus::as_str)))))]
    pub status: &'static str,
    /// Host name, from the inventory; `""` when it is not known.
    pub fqdn: String,
    /// IPv4 address, from the inventory; `""` when it is not known.
    pub ipv4_address: String,
    /// IPv6 address, from the inventory; `""` when it is not known.
    pub ipv6_address: String,
    /// Version of the product, from the inventory; `""` when it is not known.
    pub version: String,
    /// Data of clients: texts by name.
    #[schema(value_type = Object)]
    pub custom_data: Map<String, Value>,
    /// The organization that the system belongs to.
    pub organization: OrganizationRefOutput,
    /// Key of the system, the user name of its credential. `""` until the system is registered, except beside
    /// `system_secret`.
    pub system_key: String,
    /// Secret of the system. Present only in the answer that created or replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_secret: Option<String>,
    /// Free text; `""` when there is none.
    pub notes: String,
    /// When the system was created.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// When the system was last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
    /// When the system, or the nearest deleted organization, was deleted; null if neither is.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub deleted_at: Option<Ts>,
    /// When the system registered; null if it is not registered.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub registered_at: Option<Ts>,
    /// When the system, or the nearest suspended organization, was suspended; null if neither is.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub suspended_at: Option<Ts>,
    /// Id of the organization that the suspension comes from; null if the system was suspended directly, or is not
    /// suspended.
    #[schema(required = true)]
    pub suspended_by_org_id: Option<String>,
    /// Id of the organization that the deletion comes from; null if the system was deleted directly, or is not deleted.
    #[schema(required = true)]
    pub deleted_by_org_id: Option<String>,
    /// Who created the system. All texts are empty for readers who may not see it.
    pub created_by: CreatorOutput,
    /// When the last heartbeat arrived. Absent if none ever did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_heartbeat: Option<Ts>,
    /// When the last inventory arrived. Absent if none ever did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_inventory: Option<Ts>,
    /// Whether rebranding is enabled for the system's organization or one above it.
    pub rebranding_enabled: bool,
    /// Id of the nearest organization with rebranding enabled. Absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebranding_org_id: Option<String>,
    /// State by heartbeats alone: `unknown`, `active` or `inactive`. For older clients.
    #[schema(extensions(("x-enum" = json!(SystemOutput::HEARTBEATS.map(SystemStatus::as_str)))))]
    pub heartbeat_status: &'static str,
    /// Whole minutes since the last heartbeat; null if none ever arrived. For older clients.
    #[schema(required = true)]
    pub heartbeat_minutes: Option<u64>,
}

impl SystemOutput {
    const HEARTBEATS: [SystemStatus; 3] =
        [SystemStatus::Unknown, SystemStatus::Active, SystemStatus::Inactive];

    /// As it is now.
    pub fn of(fleet: &Fleet, s: System) -> SystemOutput {
        let now = fleet.platform.now();
        SystemOutput {
            status: s.status().as_str(),
            id: s.id.to_string(),
            name: s.name,
            r#type: s.system_type,
            fqdn: s.fqdn,
            ipv4_address: s.ipv4_address,
            ipv6_address: s.ipv6_address,
            version: s.version,
            custom_data: s.custom_data,
            organization: s.organization.into(),
            system_key: if s.registered_at.is_some() { s.system_key } else { String::new() },
            system_secret: None,
            notes: s.notes,
            created_at: s.created_at,
            updated_at: s.updated_at,
            deleted_at: s.deleted.at,
            registered_at: s.registered_at,
            suspended_at: s.suspended.at,
            suspended_by_org_id: s.suspended.by.map(|id| id.to_string()),
            deleted_by_org_id: s.deleted.by.map(|id| id.to_string()),
            created_by: s.created_by.into(),
            last_heartbeat: s.last_heartbeat,
            last_inventory: s.last_inventory,
            rebranding_enabled: s.rebranding.is_some(),
            rebranding_org_id: s.rebranding.map(|id| id.to_string()),
            heartbeat_status: SystemStatus::from(s.liveness).as_str(),
            heartbeat_minutes: s.last_heartbeat.map(|at| now.since(at).as_secs() / 60),
        }
    }

    /// With its key and the secret, shown this once.
    pub fn created(fleet: &Fleet, created: Created) -> SystemOutput {
        let (system_key, system_secret) = (created.system.system_key.clone(), Some(created.secret.reveal()));
        SystemOutput { system_key, system_secret, ..SystemOutput::of(fleet, created.system) }
    }
}

/// A page of systems.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemList {
    /// The systems of this page.
    pub systems: Vec<SystemOutput>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

impl SystemList {
    /// Of a page, with the sort as the client sent it.
    pub fn of(
        fleet: &Fleet,
        page: Page<System>,
        sort_by: Option<&str>,
        direction: Option<&str>,
    ) -> SystemList {
        let pagination = Pagination::of(&page, sort_by, direction);
        SystemList {
            systems: page.rows.into_iter().map(|s| SystemOutput::of(fleet, s)).collect(),
            pagination,
        }
    }
}

/// The result of a reachability check.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReachabilityOutput {
    /// Whether the web interface of the system answered.
    pub reachable: bool,
    /// Address that answered, or else the first one that was tried; `""` when there is none to try.
    pub url: String,
}
