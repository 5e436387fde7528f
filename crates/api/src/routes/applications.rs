//! Applications found on systems.

use super::{BY_NAME, NEWEST, Route, delete, get, patch, put, query};
use crate::{
    manage::{LONG_PAGE_SIZE, applications},
    wire::{
        applications::{
            ApplicationFilters, ApplicationInput, ApplicationList, ApplicationOutput, ApplicationSummary,
            ApplicationTotals, AssignInput,
        },
        stats::TrendOutput,
    },
};
use bailiwick_fleet::applications::{ApplicationOrder, FILTERS, SummaryOrder};
use bailiwick_policy::Permission::{ManageApplications, ReadApplications};

pub(super) fn rows() -> Vec<Route> {
    const READ: &[bailiwick_policy::Permission] = &[ReadApplications];
    const MANAGE: &[bailiwick_policy::Permission] = &[ManageApplications];
    vec![
        get("/applications", "listApplications", "List applications")
            .query(query::page_or_cursor(LONG_PAGE_SIZE))
            .query(query::sort(ApplicationOrder::WORDS))
            .query(query::filters(FILTERS))
            .ordered(&[("applications", NEWEST)])
            .needs(READ)
            .gives::<ApplicationList>()
            .to(applications::list),
        get("/applications/totals", "getApplicationsTotals", "Count applications")
            .needs(READ)
            .gives::<ApplicationTotals>()
            .to(applications::totals),
        get("/applications/summary", "getApplicationsSummary", "Applications by type and certification")
            .query(query::page_of_any_size())
            .query(query::sort(SummaryOrder::WORDS))
            .query(query::keys(["organization_id", "include_hierarchy", "system_id"]))
            .ordered(&[("by_type", &["-count"])])
            .needs(READ)
            .gives::<ApplicationSummary>()
            .to(applications::summary),
        get("/applications/trend", "getApplicationsTrend", "Number of applications over time")
            .query(query::period())
            .needs(READ)
            .gives::<TrendOutput>()
            .to(applications::trend),
        get("/applications/{id}", "getApplication", "Show an application")
            .conditional()
            .needs(READ)
            .gives::<ApplicationOutput>()
            .to(applications::show),
        put("/applications/{id}", "updateApplication", "Change an application")
            .conditional()
            .needs(MANAGE)
            .takes_if_any::<ApplicationInput>()
            .gives::<ApplicationOutput>()
            .to(applications::update),
        delete("/applications/{id}", "deleteApplication", "Delete an application, to be restored later")
            .conditional()
            .needs(MANAGE)
            .gives_null()
            .to(applications::delete),
        patch("/applications/{id}/assign", "assignApplication", "Assign an application to an organization")
            .conditional()
            .needs(MANAGE)
            .takes::<AssignInput>()
            .gives::<ApplicationOutput>()
            .to(applications::assign),
        patch(
            "/applications/{id}/unassign",
            "unassignApplication",
            "Take an application from its organization",
        )
        .conditional()
        .needs(MANAGE)
        .gives::<ApplicationOutput>()
        .to(applications::unassign),
        get("/filters/applications", "getApplicationFilters", "Values to filter applications by")
            .query(query::keys(["q", "limit"]))
            .ordered(&[("types", &["instance_of"]), ("systems", BY_NAME), ("versions", &["application"])])
            .order_note("Order of `organizations`: `name` ascending, behind the one for none.")
            .needs(READ)
            .failing("failed to retrieve application filters")
            .gives::<ApplicationFilters>()
            .to(applications::filters),
    ]
}
