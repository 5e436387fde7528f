//! The route table: one row for every operation, read by the router, the gate, the OpenAPI document and the tests.
//!
//! To add an endpoint: a row in the file of its area (method, path, operation id, credential, gate), its handler with
//! `.to(…)`, its wire types with `.takes::<T>()` and `.gives::<T>()`. The sweep and coverage tests pick it up by
//! themselves.

mod alert_config;
mod alert_data;
mod applications;
mod events;
mod impersonation;
mod imports;
mod inventory;
mod organization_alerts;
mod organizations;
mod overview;
mod rebranding;
mod second_factors;
mod session;
mod system_side;
mod systems;
mod users;

pub use crate::route::{Class, Credential, Gate, Route};
pub(crate) use crate::route::{delete, get, patch, post, put};

/// What exports are.
const EXPORT: &[&str] = &["text/csv", "application/pdf"];

/// The whole table.
pub fn table() -> Vec<Route> {
    [
        session::rows(),
        second_factors::rows(),
        organizations::rows(),
        users::rows(),
        systems::rows(),
        inventory::rows(),
        system_side::rows(),
        organization_alerts::rows(),
        applications::rows(),
        impersonation::rows(),
        rebranding::rows(),
        alert_config::rows(),
        alert_data::rows(),
        events::rows(),
        overview::rows(),
    ]
    .concat()
}
