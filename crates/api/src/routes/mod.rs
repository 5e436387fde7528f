//! The route table: one row for every operation, read by the router, the gate, the OpenAPI document and the tests.
//!
//! To add an endpoint: a row in the file of its area (method, path, operation id, summary, credential, gate), its
//! handler with `.to(…)`, its wire types with `.takes::<T>()` and `.gives::<T>()`, the keys of its query with
//! `.query(…)`, the default order of its lists with `.ordered(…)`. The sweep and coverage tests pick it up by
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
mod query;
mod rebranding;
mod second_factors;
mod session;
mod system_side;
mod systems;
mod users;

use crate::route::DefaultOrder;
pub use crate::route::{Body, Class, Content, Credential, Gate, Route};
pub(crate) use crate::route::{delete, get, patch, post, put};

const NEWEST: &[&str] = &["-created_at", "-id"];
const BY_NAME: &[&str] = &["name"];
const CREATORS: &[&str] = &["name", "user_id"];

impl Route {
    /// A file of the rows of a list; it is for people, so its order is not one for programs.
    fn exports(self) -> Route {
        let order =
            "Order of the rows unless another is asked for: `created_at` descending, then `id` descending.";
        self.gives_file(&["text/csv", "application/pdf"]).order_note(order)
    }
}

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
