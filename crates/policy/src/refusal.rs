//! The reasons for refusals, and the one place where a refusal becomes an error.

use crate::{Action, RankGap, Resource};
use bailiwick_domain::{Error, ObjectKind, OrgType};

/// A refusal other than "not to be seen". All are 403 unless stated otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The permission gate; its text has no other use (spec: authorization#order-of-checks).
    Gate,
    /// An administrative action by users on themselves (spec: authorization#self-guard).
    OnSelf,
    /// 400: impersonation of the caller's own user (spec: authorization#impersonation).
    ImpersonateSelf,
    /// A second impersonation on top of one (spec: authorization#impersonation).
    AlreadyImpersonating,
    /// The target is unknown, deleted, suspended, out of reach or has not consented: one answer (spec:
    /// authorization#impersonation).
    NoConsent,
    /// An organization on which this caller may not do this, mostly their own (spec: authorization#object-rules).
    AccessDenied {
        /// The attempted action.
        verb: &'static str,
        /// The organization's type.
        org_type: OrgType,
    },
    /// Distributors below owner level (spec: authorization#object-rules).
    OwnersOnly {
        /// The attempted action.
        verb: &'static str,
    },
    /// Organizations of this type cannot be created by the caller (spec: organizations#object-rules).
    Creation(OrgType),
    /// An organization named in a request that is unknown or out of reach.
    NotInHierarchy,
    /// A user's organization that is out of reach, in a text for the caller's level.
    UserHome {
        /// `create` or `update`.
        verb: &'static str,
        /// The caller's level.
        caller: OrgType,
    },
    /// 400: a user's organization that does not exist, named only to callers whose scope is everything.
    UnknownOrganization {
        /// As sent.
        requested_id: String,
    },
    /// Attribution by a caller who is neither owner nor distributor; also for the time overrides of systems.
    AttributionLevel { field: &'static str },
    /// Attribution outside the hierarchy (spec: organizations#create).
    AttributionScope,
    /// Attribution to an organization of the wrong type; the created organization's type, or none for a system.
    AttributionType(Option<OrgType>),
    /// The target user has more than the caller (spec: authorization#rank).
    Outranked(RankGap),
    /// The roles would give more than the caller has (spec: authorization#rank).
    Ungrantable(RankGap),
    /// Suspended from above: organizations and systems.
    SuspendedAbove(ObjectKind),
    /// Deleted from above: organizations and systems.
    DeletedAbove(ObjectKind),
    /// A user suspended through their organization.
    UserSuspendedAbove,
    /// 400: a user deleted through their organization.
    UserDeletedAbove,
    /// A system of an organization above the caller's level (spec: systems#access).
    SystemTier,
    /// Rebranding, which owners give (spec: rebranding#operations).
    OwnersRebrand {
        /// The attempted action.
        verb: &'static str,
    },
    /// 500: the action does not exist for the object. A fault of this program; it denies.
    Misapplied { action: Action, resource: Resource },
}

/// Which level creates which organizations (spec: organizations#object-rules).
fn creation_text(org_type: OrgType) -> &'static str {
    match org_type {
        OrgType::Owner => "access denied: the owner organization is managed by the system",
        OrgType::Distributor => "access denied: only owners can create distributors",
        OrgType::Reseller => "access denied: insufficient permissions to create resellers",
        OrgType::Customer => "access denied: insufficient permissions to create customers",
    }
}

fn user_home_text(verb: &str, caller: OrgType) -> String {
    match caller {
        OrgType::Owner => "access denied: organization not in your hierarchy".to_owned(),
        OrgType::Distributor => {
            format!("access denied: distributors can only {verb} users in organizations they manage")
        }
        OrgType::Reseller => format!(
            "access denied: resellers can only {verb} users in their own organization or customers they manage"
        ),
        OrgType::Customer => {
            format!("access denied: customers can only {verb} users in their own organization")
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal {
            Refusal::Gate => Error::insufficient_permissions(),
            Refusal::OnSelf => Error::forbidden("cannot perform administrative actions on yourself"),
            Refusal::ImpersonateSelf => Error::bad_request("cannot impersonate yourself"),
            Refusal::AlreadyImpersonating => Error::forbidden(
                "cannot impersonate while already impersonating another user. exit current impersonation first.",
            ),
            Refusal::NoConsent => Error::forbidden(
                "target user has not provided consent for impersonation or consent has expired",
            ),
            Refusal::AccessDenied { verb, org_type } => {
                Error::forbidden(format!("access denied to {verb} {}", org_type.as_str()))
            }
            Refusal::OwnersOnly { verb } => {
                Error::forbidden(format!("access denied: only owners can {verb} distributors"))
            }
            Refusal::Creation(org_type) => Error::forbidden(creation_text(org_type)),
            Refusal::Outranked(gap) => gap.error("insufficient privileges to manage this user"),
            Refusal::Ungrantable(gap) => gap.error("insufficient privileges to assign this role"),
            Refusal::OwnersRebrand { verb } => {
                Error::forbidden(format!("only owner organization can {verb} rebranding"))
            }
            Refusal::SystemTier => Error::forbidden("access denied to system"),
            Refusal::Misapplied { action, resource } => Error::internal(format_args!(
                "policy: {} does not exist for {}",
                action.verb(),
                resource.as_str()
            )),
            Refusal::SuspendedAbove(_)
            | Refusal::DeletedAbove(_)
            | Refusal::UserSuspendedAbove
            | Refusal::UserDeletedAbove => from_above(&refusal),
            _ => reference(refusal),
        }
    }
}

/// The error for a state that only an organization above can change (spec: users#operations, organizations#life-cycle,
/// systems#life-cycle).
fn from_above(refusal: &Refusal) -> Error {
    match *refusal {
        Refusal::SuspendedAbove(kind) => Error::forbidden(format!(
            "{kind} is suspended by a parent organization and cannot be reactivated directly"
        )),
        Refusal::DeletedAbove(kind) => Error::forbidden(format!(
            "{kind} is deleted by a parent organization and cannot be restored directly"
        )),
        Refusal::UserDeletedAbove => {
            Error::bad_request("user's organization is deleted and must be restored first")
        }
        _ => Error::forbidden(
            "user was suspended by organization cascade, the organization must be reactivated first",
        ),
    }
}

/// Organizations named in a request (spec: authorization#order-of-checks).
fn reference(refusal: Refusal) -> Error {
    match refusal {
        Refusal::UserHome { verb, caller } => Error::forbidden(user_home_text(verb, caller)),
        Refusal::UnknownOrganization { requested_id } => {
            Error::field_value("organization_id", "organization not found", requested_id)
        }
        Refusal::AttributionLevel { field } => {
            Error::forbidden(format!("access denied: only owner or distributor can set {field}"))
        }
        Refusal::AttributionScope => {
            Error::forbidden("access denied: created_by_organization_id is not within your hierarchy")
        }
        Refusal::AttributionType(Some(OrgType::Reseller)) => {
            Error::forbidden("access denied: a reseller can only be attributed to a distributor")
        }
        Refusal::AttributionType(_) => {
            Error::forbidden("access denied: created_by_organization_id must be a reseller or distributor")
        }
        _ => Error::forbidden("access denied: organization not in your hierarchy"),
    }
}
