//! The Alertmanager interface of an organization, for the tools of people; the alerting proxy serves it (spec:
//! alerts-of-organizations).

use super::{Credential, Route, delete, get, post, query};
use crate::wire::alertmanager::{
    RouterReceivers, RouterStatus, ShownAlertGroups, ShownAlerts, ShownSilence, ShownSilences, SilenceSet,
    SilenceToSet,
};
use bailiwick_policy::{Permission::ReadSystems, SILENCING};

pub(super) fn rows() -> Vec<Route> {
    let rows_of = |path: &str, word: &str, of: &str| {
        let metrics = format!("/organizations/{{id}}{path}/alertmanager/metrics");
        let path = |rest: &str| format!("/organizations/{{id}}{path}/alertmanager/api/v2{rest}");
        let id = |start: &str, end: &str| format!("{start}{word}{end}");
        let line = |start: &str| format!("{start} of {of}");
        [
            get(path("/alerts"), id("list", "Alerts"), line("List alerts"))
                .query(query::router_alerts())
                .query(query::keys(["unprocessed"]))
                .gives::<ShownAlerts>(),
            get(path("/alerts/groups"), id("list", "AlertGroups"), line("List groups of alerts"))
                .query(query::router_alerts())
                .query(query::keys(["muted"]))
                .gives::<ShownAlertGroups>(),
            get(path("/silences"), id("list", "Silences"), line("List silences"))
                .query(query::router_silences())
                .gives::<ShownSilences>(),
            post(path("/silences"), id("set", "Silence"), line("Create or change a silence"))
                .takes::<SilenceToSet>()
                .gives::<SilenceSet>(),
            get(path("/silence/{silence_id}"), id("get", "Silence"), line("Show a silence"))
                .gives::<ShownSilence>(),
            delete(path("/silence/{silence_id}"), id("expire", "Silence"), line("End a silence")),
            get(path("/status"), id("get", "RouterStatus"), line("State of the alert router"))
                .gives::<RouterStatus>(),
            get(path("/receivers"), id("list", "Receivers"), line("List receivers of the alert router"))
                .query([query::key("receiver_matchers").repeated()])
                .gives::<RouterReceivers>(),
            get(metrics, id("get", "RouterMetrics"), line("Metrics of the alert router")),
        ]
    };
    let own = rows_of("", "Organization", "an organization");
    let tree = rows_of("/tree", "Tree", "an organization and all below it");
    [own, tree]
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
