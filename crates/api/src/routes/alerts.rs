//! Alerting, management side: the core operations under both spellings (contract 04 §2.1).

use super::{Route, delete, get, post};
use bailiwick_policy::Permission::{ManageAlerts, ReadAlerts, ReadSystems};

pub(super) fn rows() -> Vec<Route> {
    [("/alerts", "/alerts/config", ""), ("/alerting/alerts", "/alerting/config", "Alias")]
        .into_iter()
        .flat_map(|(alerts, config, alias)| {
            [
                get(alerts, format!("listActiveAlerts{alias}")).needs(&[ReadSystems]),
                get(config, format!("getAlertConfig{alias}")).needs(&[ReadAlerts]),
                post(config, format!("setAlertConfig{alias}")).needs(&[ManageAlerts]),
                delete(config, format!("disableAlerts{alias}")).needs(&[ManageAlerts]),
            ]
        })
        .collect()
}
