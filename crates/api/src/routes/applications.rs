//! Applications found on systems.

use super::{Route, delete, get, patch, put};
use bailiwick_policy::Permission::{ManageApplications, ReadApplications};

pub(super) fn rows() -> Vec<Route> {
    const READ: &[bailiwick_policy::Permission] = &[ReadApplications];
    const MANAGE: &[bailiwick_policy::Permission] = &[ManageApplications];
    vec![
        get("/applications", "listApplications").needs(READ),
        get("/applications/totals", "getApplicationsTotals").needs(READ),
        get("/applications/summary", "getApplicationsSummary").needs(READ),
        get("/applications/trend", "getApplicationsTrend").needs(READ),
        get("/applications/{id}", "getApplication").needs(READ),
        put("/applications/{id}", "updateApplication").needs(MANAGE),
        delete("/applications/{id}", "deleteApplication").needs(MANAGE),
        patch("/applications/{id}/assign", "assignApplication").needs(MANAGE),
        patch("/applications/{id}/unassign", "unassignApplication").needs(MANAGE),
        get("/filters/applications", "getApplicationFilters")
            .needs(READ)
            .failing("failed to retrieve application filters"),
    ]
}
