//! The Alertmanager interface of an organization, for the tools of people; the alerting proxy serves it (spec:
//! alerts-of-organizations).

use super::{Credential, Route, delete, get, post};
use crate::wire::alertmanager::{
    RouterReceivers, RouterStatus, ShownAlertGroups, ShownAlerts, ShownSilence, ShownSilences, SilenceSet,
    SilenceToSet,
};
use bailiwick_policy::{Permission::ReadSystems, SILENCING};

pub(super) fn rows() -> Vec<Route> {
    let of_place = |path: &str, word: &str| {
        let metrics = format!("/organizations/{{id}}{path}/alertmanager/metrics");
        let path = |rest: &str| format!("/organizations/{{id}}{path}/alertmanager/api/v2{rest}");
        let id = |start: &str, end: &str| format!("{start}{word}{end}");
        [
            get(path("/alerts"), id("list", "Alerts")).gives::<ShownAlerts>(),
            get(path("/alerts/groups"), id("list", "AlertGroups")).gives::<ShownAlertGroups>(),
            get(path("/silences"), id("list", "Silences")).gives::<ShownSilences>(),
            post(path("/silences"), id("set", "Silence")).takes::<SilenceToSet>().gives::<SilenceSet>(),
            get(path("/silence/{silence_id}"), id("get", "Silence")).gives::<ShownSilence>(),
            delete(path("/silence/{silence_id}"), id("expire", "Silence")),
            get(path("/status"), id("get", "RouterStatus")).gives::<RouterStatus>(),
            get(path("/receivers"), id("list", "Receivers")).gives::<RouterReceivers>(),
            get(metrics, id("get", "RouterMetrics")),
        ]
    };
    [of_place("", "Organization"), of_place("/tree", "Tree")]
        .into_iter()
        .flatten()
        .map(|row| {
            let row = row.extra().credential(Credential::ApiKey);
            let row = match row.method == http::Method::GET {
                true => row.needs(&[ReadSystems]),
                false => row.needs_one_of(SILENCING),
            };
            row.by_proxy()
        })
        .collect()
}
