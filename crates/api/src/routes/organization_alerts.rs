//! The Alertmanager interface of an organization, for the tools of people; the alerting proxy serves it (spec:
//! alerts-of-organizations).

use super::{Credential, Route, delete, get, post};
use crate::wire::alertmanager::{
    RouterReceivers, RouterStatus, ShownAlertGroups, ShownAlerts, ShownSilence, ShownSilences, SilenceSet,
    SilenceToSet,
};
use bailiwick_policy::Permission::{ManageAlerts, ReadSystems};

pub(super) fn rows() -> Vec<Route> {
    let of_place = |path: &str, word: &str| {
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
        ]
    };
    [of_place("", "Organization"), of_place("/tree", "Tree")]
        .into_iter()
        .flatten()
        .map(|row| {
            let permissions = if row.method == http::Method::GET { &[ReadSystems] } else { &[ManageAlerts] };
            row.extra().credential(Credential::ApiKey).needs(permissions).by_proxy()
        })
        .collect()
}
