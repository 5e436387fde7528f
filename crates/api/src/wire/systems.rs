//! Systems as management sees them (spec: systems#system, systems#list).

use super::{organizations::CreatorOutput, users::OrganizationRefOutput};
use crate::envelope::Pagination;
use bailiwick_domain::{Page, System, SystemStatus, Ts};
use bailiwick_fleet::{
    Fleet,
    systems::{Change, Created, NewSystem},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Body of POST. Other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct NewSystemInput {
    /// Not blank, at most 255 characters.
    #[schema(required = true, nullable = false)]
    pub name: Option<String>,
    /// Where it belongs.
    #[schema(required = true, nullable = false)]
    pub organization_id: Option<String>,
    /// Text to text.
    #[schema(value_type = Option<Object>)]
    pub custom_data: Option<Map<String, Value>>,
    /// Free text.
    pub notes: Option<String>,
    /// Displayed creator organization; owners and distributors only.
    pub created_by_organization_id: Option<String>,
    /// Earlier creation, RFC 3339; owners and distributors only.
    pub created_at: Option<String>,
    /// Born registered, RFC 3339; owners and distributors only.
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

/// Body of PUT; clients send the whole form back. Other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct SystemInput {
    /// Absent or empty keeps.
    pub name: Option<String>,
    /// Absent or null keeps, `""` clears.
    pub notes: Option<String>,
    /// Absent or null keeps, else replaces the whole map.
    #[schema(value_type = Option<Object>)]
    pub custom_data: Option<Map<String, Value>>,
    /// Absent or empty keeps; another one moves the system.
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

/// Body of a new secret; may be left out.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct RegenerateInput {
    /// Also for a registered system, whose registration ends.
    pub force: bool,
}

/// A system.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemOutput {
    /// Id.
    pub id: String,
    /// Set by users only.
    pub name: String,
    /// `ns8`, `nsec` or another; null until the first inventory.
    #[schema(required = true)]
    pub r#type: Option<String>,
    /// `unknown`, `active`, `inactive`, `suspended`, `deleted`.
    pub status: &'static str,
    /// `""` when unset.
    pub fqdn: String,
    /// `""` when unset.
    pub ipv4_address: String,
    /// `""` when unset.
    pub ipv6_address: String,
    /// `""` when unset.
    pub version: String,
    /// Text to text.
    #[schema(value_type = Object)]
    pub custom_data: Map<String, Value>,
    /// Its organization now.
    pub organization: OrganizationRefOutput,
    /// `""` while unregistered, except beside `system_secret`.
    pub system_key: String,
    /// Only in the answers that issue one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_secret: Option<String>,
    /// `""` when unset.
    pub notes: String,
    /// Creation.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
    /// Effective.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub deleted_at: Option<Ts>,
    /// Null while unregistered.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub registered_at: Option<Ts>,
    /// Effective.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub suspended_at: Option<Ts>,
    /// The organization it is inherited from.
    #[schema(required = true)]
    pub suspended_by_org_id: Option<String>,
    /// The organization it is inherited from.
    #[schema(required = true)]
    pub deleted_by_org_id: Option<String>,
    /// Creation snapshot.
    pub created_by: CreatorOutput,
    /// Absent when never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_heartbeat: Option<Ts>,
    /// Absent when never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_inventory: Option<Ts>,
    /// Whether its organization or one above it has rebranding enabled.
    pub rebranding_enabled: bool,
    /// Which one; left out unless enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebranding_org_id: Option<String>,
    /// Liveness alone: `unknown`, `active` or `inactive`.
    pub heartbeat_status: &'static str,
    /// Whole minutes since the last heartbeat; null = never.
    #[schema(required = true)]
    pub heartbeat_minutes: Option<u64>,
}

impl SystemOutput {
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
    /// Rows.
    pub systems: Vec<SystemOutput>,
    /// Page.
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

/// What a reachability check found.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReachabilityOutput {
    /// Whether anything answered.
    pub reachable: bool,
    /// What answered, else the first address asked; empty when none may be asked.
    pub url: String,
}
