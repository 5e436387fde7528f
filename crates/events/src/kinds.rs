//! All types of events, and the permission that reads the resource of each.

use bailiwick_domain::{EventTopic, Happening as H, OrgType};
use bailiwick_policy::Permission as P;

/// The resource of a group of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// First part of its types.
    pub topic: EventTopic,
    /// Second parts.
    pub happens: &'static [H],
    /// The permission to read the resource, which also reads its events.
    pub permission: P,
}

const LIFE: &[H] =
    &[H::Created, H::Updated, H::Suspended, H::Reactivated, H::Deleted, H::Restored, H::Destroyed];

/// All groups, in the order of the documentation.
pub const GROUPS: &[Group] = &[
    Group {
        topic: EventTopic::Organization(OrgType::Distributor),
        happens: LIFE,
        permission: P::ReadDistributors,
    },
    Group {
        topic: EventTopic::Organization(OrgType::Reseller),
        happens: &[
            H::Created,
            H::Updated,
            H::Suspended,
            H::Reactivated,
            H::Deleted,
            H::Restored,
            H::Destroyed,
            H::Promoted,
            H::Left,
        ],
        permission: P::ReadResellers,
    },
    Group { topic: EventTopic::Organization(OrgType::Customer), happens: LIFE, permission: P::ReadCustomers },
    Group {
        topic: EventTopic::User,
        happens: &[
            H::Created,
            H::Updated,
            H::Suspended,
            H::Reactivated,
            H::Deleted,
            H::Restored,
            H::Destroyed,
            H::Left,
        ],
        permission: P::ReadUsers,
    },
    Group {
        topic: EventTopic::System,
        happens: &[
            H::Created,
            H::Updated,
            H::Suspended,
            H::Reactivated,
            H::Deleted,
            H::Restored,
            H::Destroyed,
            H::Registered,
            H::Unregistered,
            H::SecretChanged,
            H::Reassigned,
            H::Left,
            H::LinkFailed,
            H::LinkRestored,
        ],
        permission: P::ReadSystems,
    },
    Group {
        topic: EventTopic::Application,
        happens: &[H::Found, H::Gone, H::Updated, H::Deleted, H::Assigned, H::Unassigned],
        permission: P::ReadApplications,
    },
    Group { topic: EventTopic::Inventory, happens: &[H::Changed], permission: P::ReadSystems },
    Group { topic: EventTopic::Alert, happens: &[H::Firing, H::Resolved], permission: P::ReadSystems },
    Group {
        topic: EventTopic::Impersonation,
        happens: &[H::Consented, H::ConsentWithdrawn, H::Started, H::Ended],
        permission: P::ReadUsers,
    },
];

impl Group {
    pub fn types(&self) -> impl Iterator<Item = String> + '_ {
        self.happens.iter().map(|happening| self.topic.kind(*happening).to_string())
    }

    /// Whether an organization of this type can have such a resource, itself or below it. Organizations are only read
    /// by those above them (spec: authorization#organization-roles).
    pub fn is_below(&self, org_type: OrgType) -> bool {
        self.topic.family().is_none_or(|family| family.level() > org_type.level())
    }

    /// Whether its events are about organizations; every user may read those about their own organization.
    pub const fn is_family(&self) -> bool {
        self.topic.family().is_some()
    }
}

/// Whether a pattern matches a type: `*`, `system.*`, or the type itself.
pub fn takes(pattern: &str, kind: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some("") => true,
        Some(start) => start.ends_with('.') && kind.starts_with(start),
        None => pattern == kind,
    }
}

/// Whether a pattern takes anything at all.
pub fn is_known(pattern: &str) -> bool {
    GROUPS.iter().flat_map(Group::types).any(|kind| takes(pattern, &kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_everything_a_group_or_one_type() {
        for (pattern, kind, is_taken) in [
            ("*", "system.created", true),
            ("system.*", "system.created", true),
            ("system.created", "system.created", true),
            ("system", "system.created", false),
            ("sys*", "system.created", false),
            ("system.cre*", "system.created", false),
            ("user.*", "system.created", false),
            ("", "system.created", false),
        ] {
            assert_eq!(takes(pattern, kind), is_taken, "{pattern}");
        }
        assert!(is_known("alert.*") && is_known("*") && !is_known("alerts.*") && !is_known(""));
    }
}
