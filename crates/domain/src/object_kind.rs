//! The kinds of objects that an answer can report as missing.

use super::OrgType;
use std::fmt;

/// A kind of object that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// An organization of the family of distributors.
    Distributor,
    /// An organization of the family of resellers.
    Reseller,
    /// An organization of the family of customers.
    Customer,
    /// An organization of any type.
    Organization,
    User,
    System,
    /// An application of a system.
    Application,
    /// An impersonation or a session of a user.
    Session,
    /// A silence of alerts.
    Silence,
    Alert,
    /// A personal API key.
    ApiKey,
    Event,
    /// A subscription to events.
    EventSubscription,
    /// A passkey of a user.
    Passkey,
    /// An authenticator application of a user.
    SecondFactor,
    /// A picture of a user.
    Avatar,
    /// A backup of a system.
    Backup,
    /// The rebranding of an organization.
    Rebranding,
    /// A product that can be rebranded.
    RebrandingProduct,
    /// A file of a rebranding.
    Asset,
    /// A received inventory of a system.
    InventoryRecord,
    /// A page of the console.
    Page,
}

impl ObjectKind {
    /// Its words.
    pub const fn as_str(self) -> &'static str {
        match self {
            ObjectKind::Distributor => "distributor",
            ObjectKind::Reseller => "reseller",
            ObjectKind::Customer => "customer",
            ObjectKind::Organization => "organization",
            ObjectKind::User => "user",
            ObjectKind::System => "system",
            ObjectKind::Application => "application",
            ObjectKind::Session => "session",
            ObjectKind::Silence => "silence",
            ObjectKind::Alert => "alert",
            ObjectKind::ApiKey => "api key",
            ObjectKind::Event => "event",
            ObjectKind::EventSubscription => "event subscription",
            ObjectKind::Passkey => "passkey",
            ObjectKind::SecondFactor => "second factor",
            ObjectKind::Avatar => "avatar",
            ObjectKind::Backup => "backup",
            ObjectKind::Rebranding => "rebranding",
            ObjectKind::RebrandingProduct => "rebranding product",
            ObjectKind::Asset => "asset",
            ObjectKind::InventoryRecord => "inventory record",
            ObjectKind::Page => "page",
        }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The family of an organization; the owner organization is in none.
impl From<OrgType> for ObjectKind {
    fn from(org_type: OrgType) -> ObjectKind {
        match org_type {
            OrgType::Owner => ObjectKind::Organization,
            OrgType::Distributor => ObjectKind::Distributor,
            OrgType::Reseller => ObjectKind::Reseller,
            OrgType::Customer => ObjectKind::Customer,
        }
    }
}
