//! Authorization: permissions, roles, scopes and the decision about single objects (spec: authorization).
//!
//! Pure: no I/O, no clock; every answer follows from its arguments. A use case calls three functions:
//!
//! - [`list_scope`] or [`scope_for`] for lists, totals, exports: which organizations the statement may read.
//! - [`decide()`] for one object, or for the organization that receives a new or moved one. The [`Decision`] carries
//!   the [`Granted`] proof that the repositories require, hides the object (404) or refuses with a reason (403).
//! - [`known_roles`] and [`may_grant`] for the roles of a user that is written.
//!
//! The data of a caller is read live beforehand: [`Catalogue::effective`] turns the stored role keys into permissions
//! for each request. To add an action: a row in `action.rs`, its object rule in the module of the object, and a look at
//! the changed lines of `tests/matrix.txt`.

mod action;
mod application;
mod caller;
mod decide;
mod effective;
mod organization;
mod permission;
mod rank;
mod rebranding;
mod refusal;
mod role;
mod scope;
mod second_factor;
mod subscription;
mod system;
mod user;

pub use action::{Action, SILENCING, gate};
pub use application::ApplicationTarget;
pub use caller::{Caller, KeyMode, SystemCaller, UserCaller, UserIdentity};
pub use decide::{Decision, Granted, Target, decide};
pub use effective::Effective;
pub use organization::{
    NewOrganization, OrgNode, OrgTarget, Parent, Standing, alert_configuration, attributing, in_hierarchy,
    organization_in_reach, resource_of,
};
pub use permission::{Permission, PermissionSet, Resource, Verb};
pub use rank::{RankGap, filter_roles, known_roles, may_grant, rank_gap, visible_roles};
pub use rebranding::{RebrandingChange, rebranding_gate};
pub use refusal::Refusal;
pub use role::{
    BUILT_IN_JSON, Catalogue, CatalogueDocument, OrgRole, OrgRoleDocument, UserRole, UserRoleDocument,
};
pub use scope::{Path, Scope, hierarchy, list_scope, scope_for};
pub use second_factor::may_relax;
pub use subscription::{SubscriptionTarget, subscription_gate};
pub use system::{SystemHome, SystemTarget, attribute_system};
pub use user::{Consent, UserHome, UserTarget, outside_owner_organization, own_account};
