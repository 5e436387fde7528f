//! What systems send and get (spec: systems-interface#register, systems-interface#client-facts).

use super::users::OrganizationRefOutput;
use bailiwick_domain::Ts;
use bailiwick_fleet::systems::Info;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Body of a registration. Never printed.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct RegistrationInput {
    /// `my_<public>.<secret>`, as shown when the system was created.
    #[schema(required = true, nullable = false)]
    pub system_secret: Option<String>,
}

/// Answer to a registration.
#[derive(Debug, Serialize, ToSchema)]
pub struct RegistrationOutput {
    /// User name of the credential from now on.
    pub system_key: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub registered_at: Ts,
    /// The envelope's message again, for older clients.
    #[schema(deprecated)]
    pub message: &'static str,
}

/// What an appliance with an older pair gets.
#[derive(Serialize, ToSchema)]
pub struct CredentialsOutput {
    /// User name of the credential.
    pub system_key: String,
    /// Password of the credential, shown this once.
    pub system_secret: String,
}

/// Answer to a heartbeat.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeartbeatOutput<'a> {
    /// Whose.
    pub system_key: &'a str,
    /// Always true.
    pub acknowledged: bool,
    /// Receipt.
    #[schema(value_type = String, format = DateTime)]
    pub last_heartbeat: Ts,
}

/// Answer to an inventory document.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReceiptOutput<'a> {
    /// Management id.
    pub system_id: String,
    /// Whose.
    pub system_key: &'a str,
    /// Receipt.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Ts,
    /// Bytes of the canonical text.
    pub data_size: usize,
    /// Always `queued`.
    pub queue_status: &'static str,
    /// For people.
    pub message: &'static str,
}

/// The organization of a system, as the system sees it.
#[derive(Debug, Serialize, ToSchema)]
pub struct InfoOrganizationOutput {
    #[serde(flatten)]
    #[schema(inline)]
    pub organization: OrganizationRefOutput,
    /// Effective.
    pub suspended: bool,
    /// Effective.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub suspended_at: Option<Ts>,
}

/// A system as it sees itself.
#[derive(Debug, Serialize, ToSchema)]
pub struct InfoOutput {
    /// Management id; clients build links with it.
    pub system_id: String,
    /// Its key.
    pub system_key: String,
    /// Name.
    pub name: String,
    /// Null until the first inventory.
    #[schema(required = true)]
    pub r#type: Option<String>,
    /// Null when unset.
    #[schema(required = true)]
    pub fqdn: Option<String>,
    /// As management sees it.
    pub status: &'static str,
    /// Effective.
    pub suspended: bool,
    /// Effective.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub suspended_at: Option<Ts>,
    /// Effective.
    pub deleted: bool,
    /// Effective.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub deleted_at: Option<Ts>,
    /// Whether it is registered.
    pub registered: bool,
    /// When.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub registered_at: Option<Ts>,
    /// Creation.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Its organization.
    pub organization: InfoOrganizationOutput,
    /// Whether its organization or one above it has rebranding enabled.
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

/// What is on a system: any object, kept as it came. Facts, applications and changes are read out of those of known
/// products.
#[derive(Debug, ToSchema)]
pub struct InventoryDocument(pub std::collections::BTreeMap<String, serde_json::Value>);
