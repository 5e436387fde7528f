//! All types of events, and the permission that reads the resource of each.

use bailiwick_domain::OrgType;
use bailiwick_policy::Permission as P;

/// The resource of a group of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// First part of its types.
    pub word: &'static str,
    /// Second parts.
    pub happens: &'static [&'static str],
    /// The permission to read the resource, which also reads its events.
    pub permission: P,
}

const LIFE: &[&str] = &["created", "updated", "suspended", "reactivated", "deleted", "restored", "destroyed"];

/// All groups, in the order of the documentation.
pub const GROUPS: &[Group] = &[
    Group { word: "distributor", happens: LIFE, permission: P::ReadDistributors },
    Group {
        word: "reseller",
        happens: &[
            "created",
            "updated",
            "suspended",
            "reactivated",
            "deleted",
            "restored",
            "destroyed",
            "promoted",
            "left",
        ],
        permission: P::ReadResellers,
    },
    Group { word: "customer", happens: LIFE, permission: P::ReadCustomers },
    Group {
        word: "user",
        happens: &[
            "created",
            "updated",
            "suspended",
            "reactivated",
            "deleted",
            "restored",
            "destroyed",
            "left",
        ],
        permission: P::ReadUsers,
    },
    Group {
        word: "system",
        happens: &[
            "created",
            "updated",
            "suspended",
            "reactivated",
            "deleted",
            "restored",
            "destroyed",
            "registered",
            "unregistered",
            "secret_changed",
            "reassigned",
            "left",
            "link_failed",
            "link_restored",
        ],
        permission: P::ReadSystems,
    },
    Group {
        word: "application",
        happens: &["found", "gone", "updated", "deleted", "assigned", "unassigned"],
        permission: P::ReadApplications,
    },
    Group { word: "inventory", happens: &["changed"], permission: P::ReadSystems },
    Group { word: "alert", happens: &["firing", "resolved"], permission: P::ReadSystems },
    Group {
        word: "impersonation",
        happens: &["consented", "consent_withdrawn", "started", "ended"],
        permission: P::ReadUsers,
    },
];

impl Group {
    /// Its types.
    pub fn types(&self) -> impl Iterator<Item = String> + '_ {
        self.happens.iter().map(|what| format!("{}.{what}", self.word))
    }

    /// Whether an organization of this type can have such a resource, itself or below it. Organizations are only read
    /// by those above them (spec: authorization#organization-roles).
    pub fn is_below(&self, org_type: OrgType) -> bool {
        let families = [OrgType::Owner, OrgType::Distributor, OrgType::Reseller, OrgType::Customer];
        let level = |wanted: &str| families.iter().position(|t| t.as_str() == wanted);
        !self.is_family() || level(self.word) > level(org_type.as_str())
    }

    /// Whether its events are about organizations; every user may read those about their own organization.
    pub fn is_family(&self) -> bool {
        [OrgType::Distributor, OrgType::Reseller, OrgType::Customer].iter().any(|t| t.as_str() == self.word)
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
