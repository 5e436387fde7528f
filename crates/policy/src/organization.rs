//! Rules about organizations: acting on one, creating one, naming one in a request (spec: authorization#object-rules,
//! organizations#object-rules, organizations#create).

use crate::{
    Action, Caller, Granted, Path, Permission, Refusal, Resource,
    decide::{Denial, sealed::Judged},
    gate, hierarchy,
};
use bailiwick_domain::{Error, ObjectKind, OrgId, OrgType, Result};

/// Effective state of an object, and the part of it that comes from organizations above (spec:
/// organizations#hierarchy).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Suspended, own or inherited.
    pub suspended: bool,
    /// An organization above is suspended, whether the object is so itself or not.
    pub suspended_above: bool,
    /// Deleted, own or inherited.
    pub deleted: bool,
    /// An organization above is deleted, whether the object is so itself or not.
    pub deleted_above: bool,
}

impl Standing {
    /// From the own marks and the effective state of the organization above.
    pub const fn below(
        suspended: bool,
        deleted: bool,
        parent_suspended: bool,
        parent_deleted: bool,
    ) -> Standing {
        Standing {
            suspended: suspended || parent_suspended,
            suspended_above: parent_suspended,
            deleted: deleted || parent_deleted,
            deleted_above: parent_deleted,
        }
    }
}

/// An organization as the rules see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrgNode {
    /// Its place in the tree.
    pub path: Path,
    pub org_type: OrgType,
    /// Its state.
    pub standing: Standing,
}

/// An organization addressed through a family's route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrgTarget {
    /// The family of the route; an organization of another type is not found through it.
    pub family: OrgType,
    /// The organization.
    pub node: OrgNode,
}

/// The resource of a family; the owner organization is in none.
pub const fn resource_of(org_type: OrgType) -> Option<Resource> {
    match org_type {
        OrgType::Owner => None,
        OrgType::Distributor => Some(Resource::Distributors),
        OrgType::Reseller => Some(Resource::Resellers),
        OrgType::Customer => Some(Resource::Customers),
    }
}

/// Visible at all: inside the hierarchy, and deleted ones only to the actions that mean them.
pub(crate) fn visible(caller: &Caller, path: &Path, standing: Standing, action: Action) -> bool {
    hierarchy(caller).contains(path) && (!standing.deleted || action.reaches_deleted())
}

fn is_own(caller: &Caller, id: OrgId) -> bool {
    caller.identity().is_some_and(|i| i.organization.id == id)
}

impl Judged for OrgTarget {
    type Id = OrgId;

    fn judge(&self, caller: &Caller, action: Action) -> Result<OrgId, Denial> {
        let resource = resource_of(self.family).ok_or(Denial::Hidden(ObjectKind::Organization))?;
        let OrgNode { path, org_type, standing } = self.node;
        let own = is_own(caller, path.id);
        if !(own && action == Action::Read) {
            gate(caller, action, resource)?;
        }
        if org_type != self.family || !visible(caller, &path, standing, action) {
            return Err(Denial::Hidden(self.family.into()));
        }
        match action {
            Action::Read => return Ok(path.id),
            Action::Create => return Err(Refusal::Misapplied { action, resource }.into()),
            Action::Update => {}
            _ if own => return Err(Refusal::AccessDenied { verb: action.verb(), org_type }.into()),
            _ => {}
        }
        if org_type == OrgType::Distributor && !caller.is_owner_level() {
            return Err(Refusal::OwnersOnly { verb: action.verb() }.into());
        }
        match action {
            Action::Reactivate if standing.suspended_above => {
                Err(Refusal::SuspendedAbove(self.family.into()).into())
            }
            Action::Restore if standing.deleted_above => {
                Err(Refusal::DeletedAbove(self.family.into()).into())
            }
            _ => Ok(path.id),
        }
    }
}

/// See spec: authorization#object-rules, promote: a permission, or a role that only owners assign.
pub(crate) fn may_promote(caller: &Caller) -> bool {
    let entrusted = |caller: &Caller| {
        let restricted = caller.identity().map(|i| i.effective.restricted()).unwrap_or_default();
        restricted.iter().any(|(_, level)| *level == OrgType::Owner)
    };
    caller.holds(Permission::ManageDistributors) || entrusted(caller)
}

/// The place of a new organization in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// Below the caller's own organization.
    Own,
    /// Below the one that `created_by_organization_id` names; none = unknown.
    Named(Option<OrgNode>),
}

/// A new organization. Use [`Parent::Own`] to check the creation rule alone, before the body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrganization {
    pub family: OrgType,
    pub parent: Parent,
}

impl Judged for NewOrganization {
    type Id = OrgId;

    fn judge(&self, caller: &Caller, action: Action) -> Result<OrgId, Denial> {
        let resource = resource_of(self.family).ok_or(Refusal::Creation(self.family))?;
        if action != Action::Create {
            return Err(Refusal::Misapplied { action, resource }.into());
        }
        gate(caller, action, resource)?;
        let own = caller.identity().map(|i| &i.organization).ok_or(Refusal::Creation(self.family))?;
        if own.org_type.level() >= self.family.level() {
            return Err(Refusal::Creation(self.family).into());
        }
        match self.parent {
            // Distributors are always directly below the owner; the field is ignored for them.
            _ if self.family == OrgType::Distributor => Ok(own.id),
            Parent::Named(Some(node)) if node.path.id != own.id => self.attributed(caller, &node),
            Parent::Named(None) => {
                attributing(caller, "created_by_organization_id")?;
                Err(Refusal::AttributionScope.into())
            }
            _ => Ok(own.id),
        }
    }
}

impl NewOrganization {
    fn attributed(&self, caller: &Caller, node: &OrgNode) -> Result<OrgId, Denial> {
        attributing(caller, "created_by_organization_id")?;
        if !visible(caller, &node.path, node.standing, Action::Create) {
            return Err(Refusal::AttributionScope.into());
        }
        let fits = node.org_type != OrgType::Owner && node.org_type.level() < self.family.level();
        if fits { Ok(node.path.id) } else { Err(Refusal::AttributionType(Some(self.family)).into()) }
    }
}

/// Only owners and distributors set this field (spec: authorization#scope); also `created_at` and `registered_at` of
/// systems.
///
/// # Errors
/// The refusal with the field's name.
pub fn attributing(caller: &Caller, field: &'static str) -> Result<(), Refusal> {
    match caller.org_type() {
        Some(OrgType::Owner | OrgType::Distributor) => Ok(()),
        _ => Err(Refusal::AttributionLevel { field }),
    }
}

/// The alert configuration of an organization (spec: authorization#object-rules): requires the permission, and an
/// organization within reach, the caller's own included. An unknown organization (none) and one out of reach are
/// refused alike.
///
/// # Errors
/// The gate's refusal, or `organization not in your hierarchy`.
pub fn alert_configuration(
    caller: &Caller,
    permission: Permission,
    node: Option<&OrgNode>,
) -> Result<Granted<OrgId>, Refusal> {
    if caller.holds(permission) { in_hierarchy(caller, node) } else { Err(Refusal::Gate) }
}

/// An organization whose own settings are read or changed (its rebranding, the second factor it requires): within reach
/// and not deleted. The operation's gate is the caller's part. An unknown organization (none) and one out of reach get
/// the same error.
///
/// # Errors
/// `organization not found`.
pub fn organization_in_reach(
    caller: &Caller,
    action: Action,
    node: Option<&OrgNode>,
) -> Result<Granted<OrgId>> {
    node.filter(|node| visible(caller, &node.path, node.standing, Action::Read))
        .map(|node| Granted::new(node.path.id, action))
        .ok_or(Error::NotFound(ObjectKind::Organization))
}

/// An organization that a body or a query names. It needs no permission; an unknown organization (none) and one out of
/// reach are refused alike (spec: authorization#order-of-checks).
///
/// # Errors
/// `organization not in your hierarchy`.
pub fn in_hierarchy(caller: &Caller, node: Option<&OrgNode>) -> Result<Granted<OrgId>, Refusal> {
    node.filter(|node| visible(caller, &node.path, node.standing, Action::Read))
        .map(|node| Granted::new(node.path.id, Action::Read))
        .ok_or(Refusal::NotInHierarchy)
}
