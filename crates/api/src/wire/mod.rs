//! Shapes of the wire: requests and answers as the specification has them (docs/specification). They never reach the
//! use cases.

pub mod alert_config;
pub mod alert_handling;
pub mod alertmanager;
pub mod alerts;
pub mod api_keys;
pub mod applications;
pub mod backups;
pub mod event_subscriptions;
pub mod events;
pub mod impersonation;
pub mod imports;
pub mod inventory;
pub mod organization_lists;
pub mod organization_state;
pub mod organization_stats;
pub mod organizations;
pub mod rebranding;
pub mod roles;
pub mod session;
pub mod stats;
pub mod system_side;
pub mod system_stats;
pub mod systems;
pub mod third_party;
pub mod users;
