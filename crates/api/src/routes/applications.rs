//! Applications found on systems.

use super::{Route, delete, get, patch, put};
use crate::{
    manage::applications,
    wire::{
        applications::{
            ApplicationFilters, ApplicationInput, ApplicationList, ApplicationOutput, ApplicationSummary,
            ApplicationTotals, AssignInput,
        },
        stats::TrendOutput,
    },
};
use bailiwick_policy::Permission::{ManageApplications, ReadApplications};

pub(super) fn rows() -> Vec<Route> {
    const READ: &[bailiwick_policy::Permission] = &[ReadApplications];
    const MANAGE: &[bailiwick_policy::Permission] = &[ManageApplications];
    vec![
        get("/applications", "listApplications")
            .needs(READ)
            .gives::<ApplicationList>()
            .to(applications::list),
        get("/applications/totals", "getApplicationsTotals")
            .needs(READ)
            .gives::<ApplicationTotals>()
            .to(applications::totals),
        get("/applications/summary", "getApplicationsSummary")
            .needs(READ)
            .gives::<ApplicationSummary>()
            .to(applications::summary),
        get("/applications/trend", "getApplicationsTrend")
            .needs(READ)
            .gives::<TrendOutput>()
            .to(applications::trend),
        get("/applications/{id}", "getApplication")
            .conditional()
            .needs(READ)
            .gives::<ApplicationOutput>()
            .to(applications::show),
        put("/applications/{id}", "updateApplication")
            .conditional()
            .needs(MANAGE)
            .takes_if_any::<ApplicationInput>()
            .gives::<ApplicationOutput>()
            .to(applications::update),
        delete("/applications/{id}", "deleteApplication")
            .conditional()
            .needs(MANAGE)
            .gives_null()
            .to(applications::delete),
        patch("/applications/{id}/assign", "assignApplication")
            .conditional()
            .needs(MANAGE)
            .takes::<AssignInput>()
            .gives::<ApplicationOutput>()
            .to(applications::assign),
        patch("/applications/{id}/unassign", "unassignApplication")
            .conditional()
            .needs(MANAGE)
            .gives::<ApplicationOutput>()
            .to(applications::unassign),
        get("/filters/applications", "getApplicationFilters")
            .needs(READ)
            .failing("failed to retrieve application filters")
            .gives::<ApplicationFilters>()
            .to(applications::filters),
    ]
}
