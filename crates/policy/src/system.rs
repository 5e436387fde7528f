//! Rules about systems (spec: authorization#object-rules; systems#access, systems#create).

use crate::{
    Action, Caller, Granted, OrgNode, Path, Refusal, Resource, Standing,
    decide::{Denial, sealed::Judged},
    gate,
    organization::{attributing, visible},
};
use bailiwick_domain::{ObjectKind, OrgId, OrgType, SystemId};

/// A system as the rules see it; also for its inventory, alerts, silences and backups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemTarget {
    pub id: SystemId,
    /// The place of its present organization in the tree.
    pub path: Path,
    /// Type of that organization.
    pub org_type: OrgType,
    /// Its state.
    pub standing: Standing,
}

impl Judged for SystemTarget {
    type Id = SystemId;

    fn judge(&self, caller: &Caller, action: Action) -> Result<SystemId, Denial> {
        gate(caller, action, Resource::Systems)?;
        if !visible(caller, &self.path, self.standing, action) {
            return Err(Denial::Hidden(ObjectKind::System));
        }
        let above = caller.org_type().is_some_and(|own| self.org_type.level() < own.level());
        match action {
            Action::Create => Err(Refusal::Misapplied { action, resource: Resource::Systems }.into()),
            Action::Suspend | Action::Reactivate if above => Err(Refusal::SystemTier.into()),
            Action::Reactivate if self.standing.suspended_above => {
                Err(Refusal::SuspendedAbove(ObjectKind::System).into())
            }
            Action::Restore if self.standing.deleted_above => {
                Err(Refusal::DeletedAbove(ObjectKind::System).into())
            }
            _ => Ok(self.id),
        }
    }
}

/// The organization that a new (`Create`) or reassigned (`Update`) system gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemHome {
    /// The organization; none = unknown.
    pub node: Option<OrgNode>,
}

impl Judged for SystemHome {
    type Id = OrgId;

    fn judge(&self, caller: &Caller, action: Action) -> Result<OrgId, Denial> {
        if !matches!(action, Action::Create | Action::Update) {
            return Err(Refusal::Misapplied { action, resource: Resource::Systems }.into());
        }
        gate(caller, action, Resource::Systems)?;
        self.node
            .filter(|node| visible(caller, &node.path, node.standing, action))
            .map(|node| node.path.id)
            .ok_or(Refusal::NotInHierarchy.into())
    }
}

/// `created_by_organization_id` of a new system: changes only the displayed creator (spec: systems#create); none =
/// unknown organization.
///
/// # Errors
/// The caller's level, the reach, the type, in this order (spec: organizations#create).
pub fn attribute_system(caller: &Caller, node: Option<&OrgNode>) -> Result<Granted<OrgId>, Refusal> {
    attributing(caller, "created_by_organization_id")?;
    let node = node
        .filter(|node| visible(caller, &node.path, node.standing, Action::Read))
        .ok_or(Refusal::AttributionScope)?;
    match node.org_type {
        OrgType::Distributor | OrgType::Reseller => Ok(Granted::new(node.path.id, Action::Create)),
        _ => Err(Refusal::AttributionType(None)),
    }
}
