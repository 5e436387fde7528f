//! Alerts, their history and figures, silences, and what people do about alerts (spec: alert-management#operations).

use super::{Route, delete, get, post, put};
use crate::{
    manage::{alert_handling as handling, alerts},
    wire::{
        alert_handling::{
            ActivityOutput, AssignmentInput, NoteInput, OneAssignment, OneSilence, SilenceChangeInput,
            SilenceIdOutput, SilenceInput, SilenceList, SystemSilenceList,
        },
        alerts::{AlertFilters, AlertList, AlertStatistics, AlertTotals, AlertTrend, HistoryList},
    },
};
use bailiwick_policy::{
    Permission::{self, ManageSystems, ReadSystems},
    SILENCING,
};

const READ: &[Permission] = &[ReadSystems];
const MANAGE: &[Permission] = &[ManageSystems];

/// A remote router is asked for it.
const REMOTE: &[u16] = &[502, 504];

pub(super) fn rows() -> Vec<Route> {
    let mut rows = vec![
        get("/alerts", "listActiveAlerts")
            .needs(READ)
            .may_answer(REMOTE)
            .gives::<AlertList>()
            .to(alerts::list),
        get("/alerting/alerts", "listActiveAlertsAlias")
            .needs(READ)
            .may_answer(REMOTE)
            .gives::<AlertList>()
            .to(alerts::list),
        get("/alerts/totals", "getAlertsTotals")
            .extra()
            .needs(READ)
            .gives::<AlertTotals>()
            .to(alerts::totals),
        get("/alerts/trend", "getAlertsTrend").extra().needs(READ).gives::<AlertTrend>().to(alerts::trend),
        get("/alerts/stats", "getAlertsStats")
            .extra()
            .needs(READ)
            .gives::<AlertStatistics>()
            .to(alerts::statistics),
        get("/alerts/history", "listAlertsHistory")
            .extra()
            .needs(READ)
            .gives::<HistoryList>()
            .to(alerts::history),
        get("/filters/alerts", "getAlertFilters")
            .extra()
            .needs(READ)
            .failing("failed to retrieve alert filters")
            .gives::<AlertFilters>()
            .to(alerts::filters),
        get("/systems/{id}/alerts", "listSystemAlerts")
            .extra()
            .needs(READ)
            .may_answer(REMOTE)
            .gives::<AlertList>()
            .to(alerts::list_of_system),
        get("/systems/{id}/alerts/history", "listSystemAlertsHistory")
            .extra()
            .needs(READ)
            .gives::<HistoryList>()
            .to(alerts::history_of_system),
        get("/alerts/silences", "listSilences")
            .extra()
            .needs(READ)
            .may_answer(REMOTE)
            .gives::<SilenceList>()
            .to(handling::list),
        get("/systems/{id}/alerts/silences", "listSystemSilences")
            .extra()
            .needs(READ)
            .may_answer(REMOTE)
            .gives::<SystemSilenceList>()
            .to(handling::list_of_system),
        get("/alerts/activity/{fingerprint}", "listAlertActivity")
            .extra()
            .needs(READ)
            .gives::<ActivityOutput>()
            .to(handling::activity),
        post("/alerts/notes", "addAlertNote")
            .extra()
            .needs(MANAGE)
            .takes::<NoteInput>()
            .may_answer(&[404])
            .gives_null()
            .to(handling::add_note),
        post("/alerts/assignment", "assignAlert")
            .extra()
            .needs(MANAGE)
            .takes::<AssignmentInput>()
            .may_answer(&[404])
            .gives::<OneAssignment>()
            .to(handling::assign),
    ];
    for (path, of) in [("/alerts/silences", ""), ("/systems/{id}/alerts/silences", "System")] {
        rows.extend(silences(path, of));
    }
    rows
}

fn silences(path: &str, of: &str) -> [Route; 4] {
    let one = format!("{path}/{{silence_id}}");
    [
        post(path, format!("create{of}Silence"))
            .extra()
            .needs_one_of(SILENCING)
            .takes::<SilenceInput>()
            .may_answer(&[404, 409, 502, 504])
            .gives::<SilenceIdOutput>()
            .to(handling::create),
        get(&one, format!("get{of}SilenceById"))
            .extra()
            .needs(READ)
            .may_answer(REMOTE)
            .gives::<OneSilence>()
            .to(handling::show),
        put(&one, format!("update{of}Silence"))
            .extra()
            .needs_one_of(SILENCING)
            .takes::<SilenceChangeInput>()
            .may_answer(&[409, 502, 504])
            .gives::<SilenceIdOutput>()
            .to(handling::change),
        delete(&one, format!("delete{of}Silence"))
            .extra()
            .needs_one_of(SILENCING)
            .may_answer(REMOTE)
            .gives_null()
            .to(handling::end),
    ]
}
