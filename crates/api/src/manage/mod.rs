//! Handlers of the management API: each extracts its arguments, calls one use case and wraps the result in the
//! envelope.

pub mod alert_config;
pub mod alert_handling;
pub mod alerts;
pub mod api_keys;
pub mod applications;
pub mod audit;
pub mod avatars;
pub mod backups;
pub mod event_subscriptions;
pub mod events;
pub mod exports;
pub mod health;
pub mod impersonation;
pub mod imports;
pub mod inventory;
pub mod me;
pub mod organization_lists;
pub mod organizations;
pub mod own_sessions;
pub mod rebranding;
pub mod roles;
pub mod search;
pub mod second_factors;
pub mod session;
pub mod systems;
pub mod users;

/// Rows of a page of most lists, unless the client says otherwise.
pub(crate) const PAGE_SIZE: u64 = 20;
/// Those of a page of systems, applications and active alerts.
pub(crate) const LONG_PAGE_SIZE: u64 = 50;
