//! Systems and the rule of their status.

use crate::{
    OrgId, SystemId, Ts,
    org::{Creator, Mark, OrgRef},
};
use serde_json::{Map, Value};

/// What the heartbeats of a system say of it (spec: systems#status). It is stored, and changed by heartbeats and by the
/// liveness monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Liveness {
    /// No heartbeat yet.
    #[default]
    Unknown,
    /// A heartbeat arrived within the liveness timeout.
    Active,
    /// The last heartbeat is older.
    Inactive,
}

impl Liveness {
    /// The rule. `cutoff`: now minus the liveness timeout.
    pub fn of(last_heartbeat: Option<Ts>, cutoff: Ts) -> Liveness {
        match last_heartbeat {
            None => Liveness::Unknown,
            Some(at) if at > cutoff => Liveness::Active,
            Some(_) => Liveness::Inactive,
        }
    }
}

/// Status of a system: its marks, else its [`Liveness`] (spec: systems#status).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SystemStatus {
    /// No heartbeat yet.
    Unknown,
    /// A heartbeat arrived within the liveness timeout.
    Active,
    /// Silent for longer.
    Inactive,
    /// Suspended, own or inherited.
    Suspended,
    /// Deleted, own or inherited.
    Deleted,
}

impl SystemStatus {
    /// All of them.
    pub const ALL: [SystemStatus; 5] = [
        SystemStatus::Unknown,
        SystemStatus::Active,
        SystemStatus::Inactive,
        SystemStatus::Suspended,
        SystemStatus::Deleted,
    ];

    /// The word of the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            SystemStatus::Unknown => "unknown",
            SystemStatus::Active => "active",
            SystemStatus::Inactive => "inactive",
            SystemStatus::Suspended => "suspended",
            SystemStatus::Deleted => "deleted",
        }
    }
}

impl From<Liveness> for SystemStatus {
    fn from(liveness: Liveness) -> SystemStatus {
        match liveness {
            Liveness::Unknown => SystemStatus::Unknown,
            Liveness::Active => SystemStatus::Active,
            Liveness::Inactive => SystemStatus::Inactive,
        }
    }
}

/// A system as management sees it (spec: systems#system).
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// Management id.
    pub id: SystemId,
    /// Set by users only.
    pub name: String,
    /// From inventory.
    pub system_type: Option<String>,
    /// From inventory; `""` when unset.
    pub fqdn: String,
    /// From inventory; `""` when unset.
    pub ipv4_address: String,
    /// From inventory; `""` when unset.
    pub ipv6_address: String,
    /// From inventory; `""` when unset.
    pub version: String,
    /// Text to text.
    pub custom_data: Map<String, Value>,
    /// Its organization now.
    pub organization: OrgRef,
    /// Public half of its credential.
    pub system_key: String,
    /// Free text.
    pub notes: String,
    /// Creation.
    pub created_at: Ts,
    /// Last real change.
    pub updated_at: Ts,
    /// None = not registered, its credential is refused.
    pub registered_at: Option<Ts>,
    /// Creation snapshot.
    pub created_by: Creator,
    /// By its heartbeats.
    pub liveness: Liveness,
    /// Newest heartbeat.
    pub last_heartbeat: Option<Ts>,
    /// Newest accepted document.
    pub last_inventory: Option<Ts>,
    /// Effective suspension.
    pub suspended: Mark,
    /// Effective deletion.
    pub deleted: Mark,
    /// The nearest organization with rebranding, its own or above (spec: rebranding#system-document).
    pub rebranding: Option<OrgId>,
}

impl System {
    /// The key for readers: empty while the system is not registered (spec: guarantees#systems 5).
    pub const fn shown_key(&self) -> &str {
        if self.registered_at.is_some() { self.system_key.as_str() } else { "" }
    }

    pub fn status(&self) -> SystemStatus {
        if self.deleted.is_set() {
            SystemStatus::Deleted
        } else if self.suspended.is_set() {
            SystemStatus::Suspended
        } else {
            self.liveness.into()
        }
    }
}
