//! Rules about subscriptions to events (docs/events.md): a caller who may configure an organization's
//! alert notifications may configure its event subscriptions.

use crate::{
    Action, Caller, Path, Permission, Refusal,
    decide::{Denial, sealed::Judged},
    hierarchy,
};
use bailiwick_domain::ObjectKind;
use uuid::Uuid;

/// A subscription as the rules see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscriptionTarget {
    pub id: Uuid,
    /// The place of its organization in the tree; that organization is not deleted.
    pub path: Path,
}

impl Judged for SubscriptionTarget {
    type Id = Uuid;

    fn judge(&self, caller: &Caller, action: Action) -> Result<Uuid, Denial> {
        subscription_gate(caller, action)?;
        if !hierarchy(caller).contains(&self.path) {
            return Err(Denial::Hidden(ObjectKind::EventSubscription));
        }
        Ok(self.id)
    }
}

/// The permission for an action on subscriptions, whichever one is meant.
///
/// # Errors
/// The refusal `insufficient permissions`.
pub fn subscription_gate(caller: &Caller, action: Action) -> Result<(), Refusal> {
    let needed = if action == Action::Read { Permission::ReadAlerts } else { Permission::ManageAlerts };
    let may_write = action == Action::Read || !caller.is_read_only();
    if caller.holds(needed) && may_write { Ok(()) } else { Err(Refusal::Gate) }
}
