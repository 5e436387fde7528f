//! Rules about users (spec: authorization#assigning-roles, authorization#object-rules, authorization#impersonation; 01
//! authorization#restricted-roles).

use crate::{
    Action, Caller, Effective, OrgNode, Path, Refusal, Resource, Standing,
    decide::{Denial, sealed::Judged},
    gate, hierarchy,
    organization::visible,
    rank_gap,
};
use bailiwick_domain::{Error, ObjectKind, OrgId, OrgType, UserId};
use serde_json::json;

/// The reach of a user's consent, together with the setting `impersonation.scope` (spec: authorization#impersonation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// No live consent, or not looked up.
    #[default]
    Absent,
    /// Live; consent replaces the tree.
    Everyone,
    /// Live; valid only for callers with the user's organization in their hierarchy.
    Hierarchy,
}

/// A user as the rules see them.
#[derive(Clone, Debug, PartialEq)]
pub struct UserTarget {
    pub id: UserId,
    /// The place of the user's organization in the tree.
    pub path: Path,
    /// The user's permissions as if they were enabled.
    pub effective: Effective,
    /// The user's state.
    pub standing: Standing,
    /// Used by [`Action::Impersonate`] alone.
    pub consent: Consent,
}

impl Judged for UserTarget {
    type Id = UserId;

    fn judge(&self, caller: &Caller, action: Action) -> Result<UserId, Denial> {
        match action {
            Action::Impersonate => return self.judge_impersonation(caller),
            Action::Create => return Err(Refusal::Misapplied { action, resource: Resource::Users }.into()),
            _ => gate(caller, action, Resource::Users)?,
        }
        if action != Action::Read && caller.is_self(self.id) {
            return Err(Refusal::OnSelf.into());
        }
        if !visible(caller, &self.path, self.standing, action) {
            return Err(Denial::Hidden(ObjectKind::User));
        }
        if action == Action::Read {
            return Ok(self.id);
        }
        if let Some(gap) = rank_gap(caller, &self.effective) {
            return Err(Refusal::Outranked(gap).into());
        }
        match action {
            Action::Reactivate if self.standing.suspended_above => Err(Refusal::UserSuspendedAbove.into()),
            Action::Restore if self.standing.deleted_above => Err(Refusal::UserDeletedAbove.into()),
            _ => Ok(self.id),
        }
    }
}

impl UserTarget {
    /// Start of an impersonation, and its test on every later request with the impersonator as caller: consent,
    /// state, reach and rank are all read again (spec: authorization#impersonation).
    fn judge_impersonation(&self, caller: &Caller) -> Result<UserId, Denial> {
        if caller.acting_for().is_some() {
            return Err(Refusal::AlreadyImpersonating.into());
        }
        gate(caller, Action::Impersonate, Resource::Users)?;
        // The service itself never borrows a user's rights.
        if caller.identity().is_none() {
            return Err(Refusal::Gate.into());
        }
        if caller.is_self(self.id) {
            return Err(Refusal::ImpersonateSelf.into());
        }
        let reachable = match self.consent {
            Consent::Absent => false,
            Consent::Everyone => true,
            Consent::Hierarchy => hierarchy(caller).contains(&self.path),
        };
        if !reachable || self.standing.suspended || self.standing.deleted {
            return Err(Refusal::NoConsent.into());
        }
        match rank_gap(caller, &self.effective) {
            Some(gap) => Err(Refusal::Outranked(gap).into()),
            None => Ok(self.id),
        }
    }
}

/// What is for the users themselves is refused while somebody else acts in their name (spec:
/// impersonation#requests-while-impersonating).
///
/// # Errors
/// 403 `self-service operations are not allowed during impersonation`.
pub fn own_account(caller: &Caller) -> Result<(), Error> {
    if caller.acting_for().is_none() {
        return Ok(());
    }
    Err(Error::Forbidden {
        message: "self-service operations are not allowed during impersonation".into(),
        data: json!({
            "reason": "impersonation_active",
            "message": "self-service operations like changing password or profile are disabled during impersonation for security reasons",
        }),
    })
}

/// The organization that a new (`Create`) or moved (`Update`) user gets.
#[derive(Clone, Debug, PartialEq)]
pub struct UserHome {
    /// `organization_id` as sent, for the error.
    pub requested_id: String,
    /// The organization; none = unknown.
    pub node: Option<OrgNode>,
}

impl Judged for UserHome {
    type Id = OrgId;

    fn judge(&self, caller: &Caller, action: Action) -> Result<OrgId, Denial> {
        if !matches!(action, Action::Create | Action::Update) {
            return Err(Refusal::Misapplied { action, resource: Resource::Users }.into());
        }
        gate(caller, action, Resource::Users)?;
        let visible_node = self.node.filter(|node| visible(caller, &node.path, node.standing, action));
        match (visible_node, caller.org_type()) {
            (Some(node), _) => Ok(node.path.id),
            (None, Some(OrgType::Owner)) => {
                Err(Refusal::UnknownOrganization { requested_id: self.requested_id.clone() }.into())
            }
            (None, Some(level)) => Err(Refusal::UserHome { verb: action.verb(), caller: level }.into()),
            (None, None) => Err(Refusal::NotInHierarchy.into()),
        }
    }
}

/// No user enters the owner organization through the API (spec: authorization#owner-organization); checked after roles
/// and rank, and for an update only when the organization really changes.
///
/// # Errors
/// 400 with the field `organization_id`.
pub fn outside_owner_organization(action: Action, destination: OrgType) -> Result<(), Error> {
    let message = match (destination, action) {
        (OrgType::Owner, Action::Update) => {
            "cannot move users to the Owner organization - this is managed by the system"
        }
        (OrgType::Owner, _) => {
            "cannot create users in the Owner organization - this is managed by the system"
        }
        _ => return Ok(()),
    };
    Err(Error::field("organization_id", message))
}
