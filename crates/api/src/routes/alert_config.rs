//! Alert configuration: the core operations under both spellings, and what is in force (spec:
//! alert-management#operations).

use super::{Credential, Route, delete, get, post, query};
use crate::{
    manage::alert_config::{self, YAML},
    wire::alert_config::{
        AlertConfigInput, AlertConfigOutput, AlertEffectiveOutput, AlertPropagationOutput, AlertTestInput,
        AlertTestOutput,
    },
};
use bailiwick_policy::Permission::{ConfigAlerts, ManageAlerts, ReadAlerts};
use std::time::Duration;

/// A save asks the name service for at most 6 s and waits for a remote router for at most 20 s.
const SAVES_WITHIN: Duration = Duration::from_secs(45);

/// The try may take 20 s.
const TESTS_WITHIN: Duration = Duration::from_secs(40);

pub(super) fn rows() -> Vec<Route> {
    let mut rows: Vec<Route> = [("/alerts/config", ""), ("/alerting/config", "Alias")]
        .into_iter()
        .flat_map(|(path, alias)| {
            [
                get(
                    path,
                    format!("getAlertConfig{alias}"),
                    "Show the recipients of an organization's alerts",
                )
                .query(query::organization())
                .query([query::key("format").one_of(vec![YAML])])
                .conditional()
                .needs(&[ReadAlerts])
                .gives::<AlertConfigOutput>()
                .to(alert_config::get),
                post(
                    path,
                    format!("setAlertConfig{alias}"),
                    "Set the recipients of an organization's alerts",
                )
                .query(query::organization())
                .conditional()
                .needs(&[ManageAlerts])
                .answers_within(SAVES_WITHIN)
                .takes::<AlertConfigInput>()
                .gives::<AlertPropagationOutput>()
                .to(alert_config::set),
                delete(
                    path,
                    format!("disableAlerts{alias}"),
                    "Remove the recipients of an organization's alerts",
                )
                .query(query::organization())
                .conditional()
                .needs(&[ManageAlerts])
                .answers_within(SAVES_WITHIN)
                .gives::<AlertPropagationOutput>()
                .to(alert_config::remove),
            ]
        })
        .collect();
    rows.push(
        get(
            "/alerts/config/effective",
            "getEffectiveAlertConfig",
            "Show the recipients of an organization's alerts, inherited ones included",
        )
        .query(query::organization())
        .query([query::key("format").ignored()])
        .extra()
        .credential(Credential::Session)
        .needs(&[ConfigAlerts])
        .gives::<AlertEffectiveOutput>()
        .to(alert_config::effective),
    );
    rows.push(
        post(
            "/alerts/config/test",
            "testAlertRecipient",
            "Send a test message to a recipient of one's own organization",
        )
        .extra()
        .needs(&[ManageAlerts])
        .answers_within(TESTS_WITHIN)
        .may_answer(&[409])
        .takes::<AlertTestInput>()
        .gives::<AlertTestOutput>()
        .to(alert_config::test),
    );
    rows
}
