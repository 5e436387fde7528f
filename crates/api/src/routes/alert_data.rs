//! Alerts, their history and figures, silences, and what people do about alerts (spec: alert-management#operations).

use super::{BY_NAME, DefaultOrder, NEWEST, Route, delete, get, post, put, query};
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

const ACTIVE: &[DefaultOrder] = &[("alerts", &["-startsAt", "fingerprint"])];
const HISTORY: &[DefaultOrder] = &[("alerts", NEWEST)];
const SILENCES: &str = "Those in force go by `endsAt`, those to come behind them by `startsAt`.";

/// A remote router is asked for it.
const REMOTE: &[u16] = &[502, 504];

pub(super) fn rows() -> Vec<Route> {
    let mut rows = vec![
        get("/alerts", "listActiveAlerts", "List active alerts")
            .query(query::active_alerts())
            .query(query::organizations())
            .ordered(ACTIVE)
            .needs(READ)
            .may_answer(REMOTE)
            .gives::<AlertList>()
            .to(alerts::list),
        get("/alerting/alerts", "listActiveAlertsAlias", "List active alerts")
            .query(query::active_alerts())
            .query(query::organizations())
            .ordered(ACTIVE)
            .needs(READ)
            .may_answer(REMOTE)
            .gives::<AlertList>()
            .to(alerts::list),
        get("/alerts/totals", "getAlertsTotals", "Count active and resolved alerts")
            .query(query::organizations())
            .extra()
            .needs(READ)
            .gives::<AlertTotals>()
            .to(alerts::totals),
        get("/alerts/trend", "getAlertsTrend", "Number of alerts over time")
            .query(query::organizations())
            .query(query::period())
            .extra()
            .needs(READ)
            .gives::<AlertTrend>()
            .to(alerts::trend),
        get("/alerts/stats", "getAlertsStats", "Statistics of resolved alerts")
            .query(query::organizations())
            .query(query::dates())
            .query(query::keys(["top"]))
            .extra()
            .needs(READ)
            .gives::<AlertStatistics>()
            .to(alerts::statistics),
        get("/alerts/history", "listAlertsHistory", "List alerts of the past")
            .query(query::alerts_history())
            .query(query::organizations())
            .ordered(HISTORY)
            .extra()
            .needs(READ)
            .gives::<HistoryList>()
            .to(alerts::history),
        get("/filters/alerts", "getAlertFilters", "Values to filter alerts by")
            .ordered(&[("alerts", BY_NAME)])
            .extra()
            .needs(READ)
            .failing("failed to retrieve alert filters")
            .gives::<AlertFilters>()
            .to(alerts::filters),
        get("/systems/{id}/alerts", "listSystemAlerts", "List active alerts of a system")
            .query(query::active_alerts())
            .ordered(ACTIVE)
            .extra()
            .needs(READ)
            .may_answer(REMOTE)
            .gives::<AlertList>()
            .to(alerts::list_of_system),
        get("/systems/{id}/alerts/history", "listSystemAlertsHistory", "List alerts of a system in the past")
            .query(query::alerts_history())
            .ordered(HISTORY)
            .extra()
            .needs(READ)
            .gives::<HistoryList>()
            .to(alerts::history_of_system),
        get("/alerts/silences", "listSilences", "List silences")
            .query(query::organizations())
            .query([query::key("system_key").repeated()])
            .ordered(&[("silences", &["status.state"])])
            .order_note(SILENCES)
            .extra()
            .needs(READ)
            .may_answer(REMOTE)
            .gives::<SilenceList>()
            .to(handling::list),
        get("/systems/{id}/alerts/silences", "listSystemSilences", "List the silences of a system")
            .ordered(&[("silences", &["status.state"])])
            .order_note(SILENCES)
            .extra()
            .needs(READ)
            .may_answer(REMOTE)
            .gives::<SystemSilenceList>()
            .to(handling::list_of_system),
        get("/alerts/activity/{fingerprint}", "listAlertActivity", "What people have done about an alert")
            .query(query::organization())
            .query(query::keys(["limit"]))
            .ordered(&[("events", NEWEST)])
            .extra()
            .needs(READ)
            .gives::<ActivityOutput>()
            .to(handling::activity),
        post("/alerts/notes", "addAlertNote", "Add a note to an alert")
            .query(query::organization())
            .extra()
            .needs(MANAGE)
            .takes::<NoteInput>()
            .may_answer(&[404])
            .gives_null()
            .to(handling::add_note),
        post("/alerts/assignment", "assignAlert", "Take charge of an alert")
            .query(query::organization())
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
    // A system has one organization.
    let organization = || query::organization().into_iter().filter(move |_| of.is_empty());
    let of_system = if of.is_empty() { "" } else { " of a system" };
    [
        post(path, format!("create{of}Silence"), format!("Silence an alert{of_system}"))
            .query(organization())
            .extra()
            .needs_one_of(SILENCING)
            .takes::<SilenceInput>()
            .may_answer(&[404, 409, 502, 504])
            .gives::<SilenceIdOutput>()
            .to(handling::create),
        get(&one, format!("get{of}SilenceById"), format!("Show a silence{of_system}"))
            .query(organization())
            .extra()
            .needs(READ)
            .may_answer(REMOTE)
            .gives::<OneSilence>()
            .to(handling::show),
        put(&one, format!("update{of}Silence"), format!("Change a silence{of_system}"))
            .query(organization())
            .extra()
            .needs_one_of(SILENCING)
            .takes::<SilenceChangeInput>()
            .may_answer(&[409, 502, 504])
            .gives::<SilenceIdOutput>()
            .to(handling::change),
        delete(&one, format!("delete{of}Silence"), format!("End a silence{of_system}"))
            .query(organization())
            .extra()
            .needs_one_of(SILENCING)
            .may_answer(REMOTE)
            .gives_null()
            .to(handling::end),
    ]
}
