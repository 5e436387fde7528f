//! What systems send and get (spec: systems-interface#register, systems-interface#client-facts).

use super::users::OrganizationRefOutput;
use bailiwick_domain::{SystemStatus, Ts};
use bailiwick_fleet::systems::Info;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The registration of a system.
// Secrets do not print, so there is no `Debug`.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct RegistrationInput {
    /// Secret that was shown when the system was created, as `my_<public>.<secret>`.
    #[schema(required = true, nullable = false)]
    pub system_secret: Option<String>,
}

/// A system that has registered.
#[derive(Debug, Serialize, ToSchema)]
pub struct RegistrationOutput {
    /// Key of the system, the user name of its credential from now on.
    pub system_key: String,
    /// When the system registered.
    #[schema(value_type = String, format = DateTime)]
    pub registered_at: Ts,
    /// Same value as `message` of the envelope, for older clients.
    #[schema(deprecated)]
    pub message: &'static str,
}

/// The credential of an appliance that had an older pair.
#[derive(Serialize, ToSchema)]
pub struct CredentialsOutput {
    /// Key of the system, the user name of the credential.
    pub system_key: String,
    /// New secret of the system, the password of the credential. Shown only this once.
    pub system_secret: String,
}

/// The receipt of a heartbeat.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeartbeatOutput<'a> {
    /// Key of the calling system.
    pub system_key: &'a str,
    /// Always true.
    pub acknowledged: bool,
    /// When the service received the heartbeat.
    #[schema(value_type = String, format = DateTime)]
    pub last_heartbeat: Ts,
}

/// The receipt of an inventory document.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReceiptOutput<'a> {
    /// Id of the calling system in the management interface.
    pub system_id: String,
    /// Key of the calling system.
    pub system_key: &'a str,
    /// When the service received the document.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Ts,
    /// Size of the document's canonical text in bytes.
    pub data_size: usize,
    /// Always `queued`.
    pub queue_status: &'static str,
    /// Confirmation for people.
    pub message: &'static str,
}

/// The organization of a system, as the system sees it.
#[derive(Debug, Serialize, ToSchema)]
pub struct InfoOrganizationOutput {
    #[serde(flatten)]
    #[schema(inline)]
    pub organization: OrganizationRefOutput,
    /// Whether the organization or one above it is suspended.
    pub suspended: bool,
    /// When the organization, or the nearest suspended one above it, was suspended; null if neither is.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub suspended_at: Option<Ts>,
}

/// A system as it sees itself.
#[derive(Debug, Serialize, ToSchema)]
pub struct InfoOutput {
    /// Id of the system in the management interface. Clients build links with it.
    pub system_id: String,
    /// Key of the system.
    pub system_key: String,
    /// Name of the system, as users have set it.
    pub name: String,
    /// Product: `ns8`, `nsec` or another; null until the first inventory.
    #[schema(required = true)]
    pub r#type: Option<String>,
    /// Host name, from the inventory; null when it is not known.
    #[schema(required = true)]
    pub fqdn: Option<String>,
    /// State as people see it: `unknown`, `active`, `inactive`, `suspended` or `deleted`.
    #[schema(extensions(("x-enum" = json!(SystemStatus::ALL.map(SystemStatus::as_str)))))]
    pub status: &'static str,
    /// Whether the system, its organization or one above it is suspended.
    pub suspended: bool,
    /// When the system, or the nearest suspended organization, was suspended; null if neither is.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub suspended_at: Option<Ts>,
    /// Whether the system, its organization or one above it is deleted.
    pub deleted: bool,
    /// When the system, or the nearest deleted organization, was deleted; null if neither is.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub deleted_at: Option<Ts>,
    /// Whether the system is registered.
    pub registered: bool,
    /// When the system registered; null if it is not registered.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub registered_at: Option<Ts>,
    /// When the system was created.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// The organization that the system belongs to.
    pub organization: InfoOrganizationOutput,
    /// Whether rebranding is enabled for the system's organization or one above it.
    pub rebranding_enabled: bool,
}

impl InfoOutput {
    /// As it is now.
    pub fn of(info: Info) -> InfoOutput {
        let s = info.system;
        InfoOutput {
            status: s.status().as_str(),
            system_id: s.id.to_string(),
            system_key: s.system_key,
            name: s.name,
            r#type: s.system_type,
            fqdn: Some(s.fqdn).filter(|fqdn| !fqdn.is_empty()),
            suspended: s.suspended.is_set(),
            suspended_at: s.suspended.at,
            deleted: s.deleted.is_set(),
            deleted_at: s.deleted.at,
            registered: s.registered_at.is_some(),
            registered_at: s.registered_at,
            created_at: s.created_at,
            organization: InfoOrganizationOutput {
                organization: s.organization.into(),
                suspended: info.organization_suspended_at.is_some(),
                suspended_at: info.organization_suspended_at,
            },
            rebranding_enabled: s.rebranding.is_some(),
        }
    }
}

/// What is on a system: any JSON object, which the service keeps as sent. From documents of known products the service
/// also reads facts, applications and changes.
#[derive(Debug, ToSchema)]
pub struct InventoryDocument(pub std::collections::BTreeMap<String, serde_json::Value>);
