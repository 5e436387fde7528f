//! Rebranding of an organization (spec: rebranding#operations, authorization#object-rules). It has no permission of its
//! own.

use crate::{Caller, Permission, Refusal};
use bailiwick_domain::OrgType;

/// The part of rebranding that a caller wants to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebrandingChange {
    /// Enable rebranding.
    Enable,
    /// Disable rebranding.
    Disable,
    /// Upload assets.
    Update,
    /// Delete assets.
    Delete,
}

impl RebrandingChange {
    /// The word of the refusal.
    pub const fn verb(self) -> &'static str {
        match self {
            RebrandingChange::Enable => "enable",
            RebrandingChange::Disable => "disable",
            RebrandingChange::Update => "update",
            RebrandingChange::Delete => "delete",
        }
    }

    /// Whether it is a change of assets, which organizations may be allowed to make themselves.
    const fn is_of_assets(self) -> bool {
        matches!(self, RebrandingChange::Update | RebrandingChange::Delete)
    }
}

/// The rule that replaces the permission gate, checked before the organization is looked up. `by_organizations`: the
/// setting that lets users who manage systems change the assets of organizations in their scope.
///
/// # Errors
/// `only owner organization can <verb> rebranding`.
pub fn rebranding_gate(
    caller: &Caller,
    change: RebrandingChange,
    by_organizations: bool,
) -> Result<(), Refusal> {
    let is_owner = caller.org_type() == Some(OrgType::Owner) && caller.holds(Permission::ManageDistributors);
    let is_entrusted = by_organizations && change.is_of_assets() && caller.holds(Permission::ManageSystems);
    if (is_owner || is_entrusted) && !caller.is_read_only() {
        Ok(())
    } else {
        Err(Refusal::OwnersRebrand { verb: change.verb() })
    }
}
