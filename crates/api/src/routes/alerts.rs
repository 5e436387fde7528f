//! The configuration of alerts: the core operations under both spellings (contract 04 §2.1).

use super::{Route, delete, get, post};
use bailiwick_policy::Permission::{ManageAlerts, ReadAlerts};

pub(super) fn rows() -> Vec<Route> {
    [("/alerts/config", ""), ("/alerting/config", "Alias")]
        .into_iter()
        .flat_map(|(config, alias)| {
            [
                get(config, format!("getAlertConfig{alias}")).needs(&[ReadAlerts]),
                post(config, format!("setAlertConfig{alias}")).needs(&[ManageAlerts]),
                delete(config, format!("disableAlerts{alias}")).needs(&[ManageAlerts]),
            ]
        })
        .collect()
}
