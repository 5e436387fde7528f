//! The organizations within a caller's reach. This is the one implementation for lists, counters, filters and single
//! objects.

use crate::{Caller, Permission, Refusal, Resource, Verb};
use bailiwick_domain::{
    OrgId, OrgType, UserId,
    org::{Creator, Origin},
};

/// The place of an organization in the tree: its ancestor-or-self at levels 2 and 3, or, where there is none at that
/// level, the nearest one above. So every scope is one equality, here and in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// The organization.
    pub id: OrgId,
    /// At level 2.
    pub p2: OrgId,
    /// At level 3.
    pub p3: OrgId,
}

impl Path {
    /// The organization at the top.
    pub const fn owner(id: OrgId) -> Path {
        Path { id, p2: id, p3: id }
    }

    /// A child of this organization; `org_type` is the child's. Customers have no place of their own in `p2`, `p3`.
    #[must_use]
    pub const fn child(self, id: OrgId, org_type: OrgType) -> Path {
        match org_type {
            OrgType::Owner => Path::owner(id),
            OrgType::Distributor => Path { id, p2: id, p3: id },
            OrgType::Reseller => Path { id, p2: self.p2, p3: id },
            OrgType::Customer => Path { id, p2: self.p2, p3: self.p3 },
        }
    }
}

/// A set of organizations, or the objects of one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All organizations.
    Everything,
    /// An organization and all below it.
    Subtree {
        /// The topmost one.
        root: OrgId,
        /// Distributor: `p2 = root`; any other: `p3 = root`, which only a reseller satisfies.
        org_type: OrgType,
    },
    /// One organization.
    Organization(OrgId),
    /// The objects of one user: keys, sessions, consent. It contains no organization.
    SelfOnly(UserId),
    Nothing,
}

impl Scope {
    /// Whether the organization is inside.
    pub fn contains(&self, path: &Path) -> bool {
        match *self {
            Scope::Everything => true,
            Scope::Subtree { root, org_type: OrgType::Distributor } => path.p2 == root,
            Scope::Subtree { root, .. } => path.p3 == root,
            Scope::Organization(id) => path.id == id,
            Scope::SelfOnly(_) | Scope::Nothing => false,
        }
    }

    /// Whether a reader of this scope is shown the creator of something that they read (spec: authorization#creators).
    pub fn shows(&self, creator: &Creator) -> bool {
        match (creator.origin, creator.organization_id) {
            _ if *self == Scope::Everything => true,
            (Origin::Above, _) => true,
            (Origin::Elsewhere { p2, p3 }, Some(id)) => self.contains(&Path { id, p2, p3 }),
            (Origin::Elsewhere { .. } | Origin::Gone, _) => false,
        }
    }

    /// The objects that the caller's user owns personally.
    pub fn own(caller: &Caller) -> Scope {
        caller.user_id().map_or(Scope::Nothing, Scope::SelfOnly)
    }
}

/// H(caller), spec: authorization#scope, whatever the caller's permissions. The reader chooses between H and H⁺, with
/// or without deleted organizations: the tree is the same.
pub fn hierarchy(caller: &Caller) -> Scope {
    if matches!(caller, Caller::Worker) {
        return Scope::Everything;
    }
    let Some(organization) = caller.identity().map(|i| &i.organization) else { return Scope::Nothing };
    match organization.org_type {
        OrgType::Owner => Scope::Everything,
        OrgType::Distributor | OrgType::Reseller => {
            Scope::Subtree { root: organization.id, org_type: organization.org_type }
        }
        OrgType::Customer => Scope::Organization(organization.id),
    }
}

/// The organizations on which the caller has the permission: all within their reach, or none. Distributors as a family
/// belong to the owner level alone, even if a catalogue grants more (spec: authorization#object-rules).
pub fn scope_for(caller: &Caller, permission: Permission) -> Scope {
    let reserved = permission.resource() == Resource::Distributors && !caller.is_owner_level();
    if caller.holds(permission) && !reserved { hierarchy(caller) } else { Scope::Nothing }
}

/// The scope of a list, total, trend, export or filter of a resource, or why there is none.
///
/// # Errors
/// The gate's refusal, or the one that reserves distributors to owners.
pub fn list_scope(caller: &Caller, resource: Resource) -> Result<Scope, Refusal> {
    let permission = Permission::of(Verb::Read, resource).ok_or(Refusal::Gate)?;
    if !caller.holds(permission) {
        return Err(Refusal::Gate);
    }
    match scope_for(caller, permission) {
        Scope::Nothing if resource == Resource::Distributors => Err(Refusal::OwnersOnly { verb: "list" }),
        scope => Ok(scope),
    }
}
