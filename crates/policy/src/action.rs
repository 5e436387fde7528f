//! The few things a caller can do to an object, and the one table that maps them to permissions.

use crate::{Caller, Permission, PermissionSet, Refusal, Resource, Verb, organization::may_promote};
use bailiwick_domain::OrgType;

/// An action of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Read it and everything that belongs to it.
    Read,
    /// Make a new one.
    Create,
    /// Change it or its parts (avatar, backups of a system); move it.
    Update,
    /// Mark as suspended.
    Suspend,
    /// Clear the own suspension mark.
    Reactivate,
    /// Mark as deleted.
    Delete,
    /// Clear the own deletion mark.
    Restore,
    /// Remove permanently.
    Destroy,
    /// Promote a reseller to a distributor.
    Promote,
    /// Replace a user's roles.
    AssignRoles,
    /// Set another user's password.
    SetPassword,
    /// Act as another user.
    Impersonate,
    /// Issue a new system secret.
    RegenerateSecret,
    /// Make, change or end a silence of a system.
    Silence,
}

/// The permissions of which one is enough to silence.
pub const SILENCING: &[Permission] = &[Permission::ManageSystems, Permission::ManageAlerts];

/// The requirements of one action.
struct Row {
    action: Action,
    /// The word of refusals.
    verb: &'static str,
    /// The permissions on the resource; all of them are needed. None: the object rule replaces the gate, or
    /// one of [`SILENCING`] is enough.
    needs: &'static [Verb],
    /// Where it applies.
    on: &'static [Resource],
    /// Whether an API key may do it.
    by_key: bool,
}

const OBJECTS: [Resource; 5] =
    [Resource::Distributors, Resource::Resellers, Resource::Customers, Resource::Users, Resource::Systems];

/// Systems report applications into existence and out of it: callers can only read, change and remove them.
const WITH_APPLICATIONS: [Resource; 6] = [
    Resource::Distributors,
    Resource::Resellers,
    Resource::Customers,
    Resource::Users,
    Resource::Systems,
    Resource::Applications,
];

const fn row(action: Action, verb: &'static str, needs: &'static [Verb], on: &'static [Resource]) -> Row {
    Row { action, verb, needs, on, by_key: true }
}

const fn interactive(row: Row) -> Row {
    Row { by_key: false, ..row }
}

const TABLE: [Row; 14] = [
    row(Action::Read, "read", &[Verb::Read], &WITH_APPLICATIONS),
    row(Action::Create, "create", &[Verb::Manage], &OBJECTS),
    row(Action::Update, "update", &[Verb::Manage], &WITH_APPLICATIONS),
    row(Action::Suspend, "suspend", &[Verb::Manage], &OBJECTS),
    row(Action::Reactivate, "reactivate", &[Verb::Manage], &OBJECTS),
    row(Action::Delete, "delete", &[Verb::Manage], &WITH_APPLICATIONS),
    row(Action::Restore, "restore", &[Verb::Manage], &OBJECTS),
    interactive(row(Action::Destroy, "destroy", &[Verb::Manage, Verb::Destroy], &OBJECTS)),
    row(Action::Promote, "promote", &[], &[Resource::Resellers]),
    row(Action::AssignRoles, "update", &[Verb::Manage], &[Resource::Users]),
    interactive(row(Action::SetPassword, "update", &[Verb::Manage], &[Resource::Users])),
    interactive(row(Action::Impersonate, "impersonate", &[Verb::Impersonate], &[Resource::Users])),
    row(Action::RegenerateSecret, "update", &[Verb::Manage], &[Resource::Systems]),
    row(Action::Silence, "silence", &[], &[Resource::Systems]),
];

impl Action {
    /// All actions.
    pub fn all() -> impl Iterator<Item = Action> {
        TABLE.iter().map(|row| row.action)
    }

    const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// The word that refusals use.
    pub const fn verb(self) -> &'static str {
        self.row().verb
    }

    /// Whether deleted objects can be meant: H⁺ in place of H.
    pub const fn reaches_deleted(self) -> bool {
        matches!(self, Action::Restore | Action::Destroy)
    }

    /// The permissions it needs on a resource; none where the action does not exist for it.
    pub fn needs(self, resource: Resource) -> Option<PermissionSet> {
        let row = self.row();
        if !row.on.contains(&resource) {
            return None;
        }
        row.needs.iter().map(|verb| Permission::of(*verb, resource)).collect()
    }
}

/// The permission gate (spec: authorization#order-of-checks step 7), and the limits of credentials (spec:
/// authorization#credentials).
///
/// # Errors
/// The refusal `insufficient permissions`, the one of a promotion, or that the action does not exist for the resource.
pub fn gate(caller: &Caller, action: Action, resource: Resource) -> Result<(), Refusal> {
    let needed = action.needs(resource).ok_or(Refusal::Misapplied { action, resource })?;
    let key_may = action.row().by_key || !caller.is_api_key();
    let may_write = action == Action::Read || !caller.is_read_only();
    // Anonymous callers and systems hold no permissions, so an action that needs no permission is not open to them
    // either.
    let is_known_caller = caller.identity().is_some() || matches!(caller, Caller::Worker);
    let may_silence = action != Action::Silence || caller.holds_one_of(SILENCING);
    if !(is_known_caller && key_may && may_write && may_silence && needed.is_subset(caller.permissions())) {
        return Err(Refusal::Gate);
    }
    // The rule that replaces the gate for promotions also comes before the object is looked up.
    if action == Action::Promote && !may_promote(caller) {
        return Err(Refusal::AccessDenied { verb: action.verb(), org_type: OrgType::Reseller });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_follows_the_enum() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.action as usize, index);
            for resource in row.on {
                assert!(row.action.needs(*resource).is_some(), "{:?} {resource:?}", row.action);
            }
        }
        assert_eq!(Action::SetPassword.needs(Resource::Systems), None);
        assert_eq!(
            Action::Destroy.needs(Resource::Users).map(PermissionSet::names),
            Some(vec!["manage:users", "destroy:users"])
        );
    }
}
