//! Systems, management side.

use super::{
    BY_NAME, CREATORS, Credential::Session, DefaultOrder, NEWEST, Route, delete, get, patch, post, put, query,
};
use crate::{
    manage::{LONG_PAGE_SIZE, backups, exports, systems},
    wire::{
        backups::{DeletedSystemBackupOutput, DownloadOutput, SystemBackupList},
        stats::TrendOutput,
        system_stats::{SystemFilters, SystemTotals},
        systems::{
            NewSystemInput, ReachabilityOutput, RegenerateInput, SystemInput, SystemList, SystemOutput,
        },
    },
};
use bailiwick_fleet::systems::{FILTERS, SystemOrder};
use bailiwick_policy::Permission::{DestroySystems, ManageSystems, ReadSystems};
use std::time::Duration;

/// Longer than the lock of a move: its backups are copied before the answer.
const MOVE: Duration = Duration::from_secs(310);

/// The order of the backups of a system.
pub(super) const BACKUPS: &[DefaultOrder] = &[("backups", &["-uploaded_at", "-id"])];

/// Any internal fault on a route with an id (spec: systems#access).
const FAILED: &str = "failed to process system request";

pub(super) fn rows() -> Vec<Route> {
    const READ: &[bailiwick_policy::Permission] = &[ReadSystems];
    const MANAGE: &[bailiwick_policy::Permission] = &[ManageSystems];
    vec![
        get("/systems", "listSystems", "List systems")
            .query(query::page_or_cursor(LONG_PAGE_SIZE))
            .query(query::sort(SystemOrder::WORDS))
            .query(query::filters(FILTERS))
            .ordered(&[("systems", NEWEST)])
            .needs(READ)
            .gives::<SystemList>()
            .to(systems::list),
        post("/systems", "createSystem", "Create a system")
            .needs(MANAGE)
            .answers(201)
            .failing("failed to create system")
            .takes::<NewSystemInput>()
            .gives::<SystemOutput>()
            .to(systems::create),
        get("/systems/totals", "getSystemsTotals", "Count systems")
            .query(query::keys(["timeout"]))
            .needs(READ)
            .gives::<SystemTotals>()
            .to(systems::totals),
        get("/systems/trend", "getSystemsTrend", "Number of systems over time")
            .query(query::period())
            .needs(READ)
            .gives::<TrendOutput>()
            .to(systems::trend),
        get("/systems/export", "exportSystems", "Export systems as CSV or PDF")
            .query(query::format())
            .query(query::sort(SystemOrder::WORDS))
            .query(query::filters(FILTERS))
            .needs(READ)
            .exports()
            .to(exports::systems),
        get("/systems/{id}", "getSystem", "Show a system")
            .conditional()
            .needs(READ)
            .failing(FAILED)
            .gives::<SystemOutput>()
            .to(systems::show),
        put("/systems/{id}", "updateSystem", "Change a system")
            .conditional()
            .needs(MANAGE)
            .failing(FAILED)
            .answers_within(MOVE)
            .takes::<SystemInput>()
            .may_answer(&[409, 502, 504])
            .gives::<SystemOutput>()
            .to(systems::update),
        delete("/systems/{id}", "deleteSystem", "Delete a system, to be restored later")
            .conditional()
            .needs(MANAGE)
            .failing(FAILED)
            .gives_null()
            .to(systems::delete),
        patch("/systems/{id}/restore", "restoreSystem", "Restore a deleted system")
            .conditional()
            .needs(MANAGE)
            .failing(FAILED)
            .gives_null()
            .to(systems::restore),
        delete("/systems/{id}/destroy", "destroySystem", "Remove a system for good")
            .conditional()
            .credential(Session)
            .needs(&[ManageSystems, DestroySystems])
            .failing(FAILED)
            .gives_null()
            .to(systems::destroy),
        patch("/systems/{id}/suspend", "suspendSystem", "Suspend a system")
            .conditional()
            .needs(MANAGE)
            .failing(FAILED)
            .gives_null()
            .to(systems::suspend),
        patch("/systems/{id}/reactivate", "reactivateSystem", "End the suspension of a system")
            .conditional()
            .needs(MANAGE)
            .failing(FAILED)
            .gives_null()
            .to(systems::reactivate),
        post(
            "/systems/{id}/regenerate-secret",
            "regenerateSystemSecret",
            "Replace the secret of a system; the new one is shown once",
        )
        .conditional()
        .needs(MANAGE)
        .failing(FAILED)
        .takes_if_any::<RegenerateInput>()
        .may_answer(&[409])
        .gives::<SystemOutput>()
        .to(systems::regenerate_secret),
        get(
            "/systems/{id}/reachability",
            "checkSystemReachability",
            "Try whether a system's web interface answers",
        )
        .extra()
        .needs(READ)
        .failing(FAILED)
        .gives::<ReachabilityOutput>()
        .to(systems::reachability),
        get("/systems/{id}/backups", "listSystemBackups", "List the backups of a system")
            .ordered(BACKUPS)
            .extra()
            .needs(READ)
            .failing(FAILED)
            .gives::<SystemBackupList>()
            .to(backups::list),
        get(
            "/systems/{id}/backups/{backup_id}/download",
            "getSystemBackupDownload",
            "Make a link to download a backup",
        )
        .extra()
        .needs(READ)
        .failing(FAILED)
        .may_answer(&[502, 504])
        .gives::<DownloadOutput>()
        .to(backups::link),
        delete("/systems/{id}/backups/{backup_id}", "deleteSystemBackup", "Delete a backup of a system")
            .extra()
            .needs(MANAGE)
            .failing(FAILED)
            .may_answer(&[502, 504])
            .gives::<DeletedSystemBackupOutput>()
            .to(backups::delete),
        get("/filters/systems", "getSystemFilters", "Values to filter systems by")
            .query(query::keys(["q", "limit"]))
            .ordered(&[("created_by", CREATORS), ("organizations", BY_NAME), ("versions", &["product"])])
            .needs(READ)
            .failing("failed to retrieve system filters")
            .gives::<SystemFilters>()
            .to(systems::filters),
    ]
}
