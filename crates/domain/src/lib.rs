//! The vocabulary of the service: identifiers, states, validated values, errors, clock and randomness ports.
//!
//! Pure: no I/O, no clock, no randomness of its own. Every other crate depends on this one and it depends on none. To
//! add an entity: an id in [`id`], its record in a module of its own, its rules in [`validate`].

mod audit_action;
mod choices;
pub mod error;
mod event_kind;
pub mod exact;
pub mod fold;
pub mod host;
pub mod id;
pub mod in_flight;
pub mod json;
pub mod keywords;
mod language;
pub mod metrics;
pub mod net;
mod object_kind;
pub mod org;
pub mod page;
mod pages;
mod parameters;
pub mod ports;
pub mod rebranding;
mod secret;
mod sign_in_method;
pub mod system;
pub mod time;
pub mod user;
pub mod validate;
pub mod visible;

pub use audit_action::AuditAction;
pub use choices::ChoiceSearch;
pub use error::{Error, FieldError, Result};
pub use event_kind::{EventKind, EventTopic, Happening};
pub use id::{
    ApiKeyId, ApplicationId, ChainId, ImpersonationId, JobId, LoginId, OrgId, ReassignmentId, SystemId,
    UserId,
};
pub use keywords::Keywords;
pub use language::Language;
pub use object_kind::ObjectKind;
pub use org::{OrgType, Organization};
pub use page::{CursorPage, Page, PageRequest, SortDirection};
pub use pages::Pages;
pub use parameters::{Parameter, Set};
pub use ports::{Clock, Entropy};
pub use secret::Secret;
pub use sign_in_method::{SignInMethod, SignInMethods};
pub use system::{Liveness, System, SystemStatus};
pub use time::Ts;
pub use user::User;

/// The interface version of this service (spec: conventions#headers).
pub const API_VERSION: &str = "2026-03-04";
