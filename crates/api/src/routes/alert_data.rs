//! Alerts, their history and figures, silences, and what people do about alerts (contract 04 §2.1).

use super::{Route, get};
use crate::{
    manage::alerts,
    wire::alerts::{AlertFilters, AlertList, AlertStatistics, AlertTotals, AlertTrend, HistoryList},
};
use bailiwick_policy::Permission::ReadSystems;

pub(super) fn rows() -> Vec<Route> {
    const READ: &[bailiwick_policy::Permission] = &[ReadSystems];
    vec![
        get("/alerts", "listActiveAlerts").needs(READ).gives::<AlertList>().to(alerts::list),
        get("/alerting/alerts", "listActiveAlertsAlias").needs(READ).gives::<AlertList>().to(alerts::list),
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
            .gives::<AlertList>()
            .to(alerts::list_of_system),
        get("/systems/{id}/alerts/history", "listSystemAlertsHistory")
            .extra()
            .needs(READ)
            .gives::<HistoryList>()
            .to(alerts::history_of_system),
    ]
}
