//! Systems and the rule of their status.

use crate::{
    OrgId, SystemId, Ts,
    org::{Creator, Mark, OrgRef},
};
use serde_json::{Map, Value};
use std::time::Duration;

/// Status of a system, by its marks and its last heartbeat (spec: systems#status).
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

    /// The status by the last heartbeat alone.
    pub fn liveness(last_heartbeat: Option<Ts>, now: Ts, timeout: Duration) -> SystemStatus {
        match last_heartbeat {
            None => SystemStatus::Unknown,
            Some(at) if at > now.minus(timeout) => SystemStatus::Active,
            Some(_) => SystemStatus::Inactive,
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
    /// Its status at `now` with the liveness timeout.
    pub fn status(&self, now: Ts, timeout: Duration) -> SystemStatus {
        if self.deleted.is_set() {
            SystemStatus::Deleted
        } else if self.suspended.is_set() {
            SystemStatus::Suspended
        } else {
            SystemStatus::liveness(self.last_heartbeat, now, timeout)
        }
    }
}
