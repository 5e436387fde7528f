//! Systems, management side.

use super::{Credential::Session, EXPORT, Route, delete, get, patch, post, put};
use crate::{
    manage::{backups, exports, systems},
    wire::{
        backups::{DeletedSystemBackupOutput, DownloadOutput, SystemBackupList},
        stats::TrendOutput,
        system_stats::{SystemFilters, SystemTotals},
        systems::{
            NewSystemInput, ReachabilityOutput, RegenerateInput, SystemInput, SystemList, SystemOutput,
        },
    },
};
use bailiwick_policy::Permission::{DestroySystems, ManageSystems, ReadSystems};
use std::time::Duration;

/// Longer than the lock of a move: its backups are copied before the answer.
const MOVE: Duration = Duration::from_secs(310);

/// Any internal fault on a route with an id (spec: systems#access).
const FAILED: &str = "failed to process system request";

pub(super) fn rows() -> Vec<Route> {
    const READ: &[bailiwick_policy::Permission] = &[ReadSystems];
    const MANAGE: &[bailiwick_policy::Permission] = &[ManageSystems];
    vec![
        get("/systems", "listSystems").needs(READ).gives::<SystemList>().to(systems::list),
        post("/systems", "createSystem")
            .needs(MANAGE)
            .answers(201)
            .failing("failed to create system")
            .takes::<NewSystemInput>()
            .gives::<SystemOutput>()
            .to(systems::create),
        get("/systems/totals", "getSystemsTotals").needs(READ).gives::<SystemTotals>().to(systems::totals),
        get("/systems/trend", "getSystemsTrend").needs(READ).gives::<TrendOutput>().to(systems::trend),
        get("/systems/export", "exportSystems").needs(READ).gives_file(EXPORT).to(exports::systems),
        get("/systems/{id}", "getSystem")
            .conditional()
            .needs(READ)
            .failing(FAILED)
            .gives::<SystemOutput>()
            .to(systems::show),
        put("/systems/{id}", "updateSystem")
            .conditional()
            .needs(MANAGE)
            .failing(FAILED)
            .answers_within(MOVE)
            .takes::<SystemInput>()
            .may_answer(&[409, 502, 504])
            .gives::<SystemOutput>()
            .to(systems::update),
        delete("/systems/{id}", "deleteSystem")
            .conditional()
            .needs(MANAGE)
            .failing(FAILED)
            .gives_null()
            .to(systems::delete),
        patch("/systems/{id}/restore", "restoreSystem")
            .conditional()
            .needs(MANAGE)
            .failing(FAILED)
            .gives_null()
            .to(systems::restore),
        delete("/systems/{id}/destroy", "destroySystem")
            .conditional()
            .credential(Session)
            .needs(&[ManageSystems, DestroySystems])
            .failing(FAILED)
            .gives_null()
            .to(systems::destroy),
        patch("/systems/{id}/suspend", "suspendSystem")
            .conditional()
            .needs(MANAGE)
            .failing(FAILED)
            .gives_null()
            .to(systems::suspend),
        patch("/systems/{id}/reactivate", "reactivateSystem")
            .conditional()
            .needs(MANAGE)
            .failing(FAILED)
            .gives_null()
            .to(systems::reactivate),
        post("/systems/{id}/regenerate-secret", "regenerateSystemSecret")
            .conditional()
            .needs(MANAGE)
            .failing(FAILED)
            .takes_if_any::<RegenerateInput>()
            .may_answer(&[409])
            .gives::<SystemOutput>()
            .to(systems::regenerate_secret),
        get("/systems/{id}/reachability", "checkSystemReachability")
            .extra()
            .needs(READ)
            .failing(FAILED)
            .gives::<ReachabilityOutput>()
            .to(systems::reachability),
        get("/systems/{id}/backups", "listSystemBackups")
            .extra()
            .needs(READ)
            .failing(FAILED)
            .gives::<SystemBackupList>()
            .to(backups::list),
        get("/systems/{id}/backups/{backup_id}/download", "getSystemBackupDownload")
            .extra()
            .needs(READ)
            .failing(FAILED)
            .may_answer(&[502, 504])
            .gives::<DownloadOutput>()
            .to(backups::link),
        delete("/systems/{id}/backups/{backup_id}", "deleteSystemBackup")
            .extra()
            .needs(MANAGE)
            .failing(FAILED)
            .may_answer(&[502, 504])
            .gives::<DeletedSystemBackupOutput>()
            .to(backups::delete),
        get("/filters/systems", "getSystemFilters")
            .needs(READ)
            .failing("failed to retrieve system filters")
            .gives::<SystemFilters>()
            .to(systems::filters),
    ]
}
