//! Alerts on the management side and their history (spec: alert-management#management, alert-management#history).

mod edges;
mod events;
mod history_writes;
mod lists;
mod notes_and_assignments;
mod silences;
mod stats;
mod tools;
mod webhook;

use crate::proxy::{Client, generous, remote};
use bailiwick_alerts as alerts;
use bailiwick_domain::{OrgId, Ts};
use bailiwick_settings::RouterKind;
use bailiwick_store::{sql::Q, time::TsCodec};
use bailiwick_testkit::{
    ManualClock, Test, api_test, eventually,
    parts::recorder::{Answer, Recorder},
};
use serde_json::{Value, json};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// Seconds since the start of the test's clock.
fn seconds(time: Ts) -> i64 {
    (time.0 - ManualClock::START.0).div_euclid(1_000_000)
}

/// RFC 3339 of that many seconds since the start of the test's clock.
fn timestamp(seconds: i64) -> String {
    Ts(ManualClock::START.0 + seconds * 1_000_000).rfc3339(0)
}

/// Texts of a row.
type Keywords = (String, Option<String>, String, Option<String>, Option<String>);

/// Every row of the history, in order: name, severity, status, start, end, expiry, creation, summary, receiver.
async fn rows(t: &Test) -> Vec<String> {
    type Times = (TsCodec, Option<TsCodec>, Option<TsCodec>, TsCodec);
    let text = "SELECT alertname, severity, status, summary, receiver FROM alert_history ORDER BY id";
    let words: Vec<Keywords> = Q::new(text).all(&t.app.platform.db).await.unwrap();
    let text = "SELECT starts_at, ends_at, expires_at, created_at FROM alert_history ORDER BY id";
    let times: Vec<Times> = Q::new(text).all(&t.app.platform.db).await.unwrap();
    let or_none = |t: Option<TsCodec>| t.map_or("-".to_owned(), |t| seconds(t.0).to_string());
    let lines = words.into_iter().zip(times).map(|((name, severity, status, summary, receiver), times)| {
        let severity = severity.unwrap_or_else(|| "-".to_owned());
        let (start, created) = (seconds(times.0.0), seconds(times.3.0));
        let mut line = format!("{name} {severity} {status} from {start}");
        line += &format!(" to {} until {} at {created}", or_none(times.1), or_none(times.2));
        for more in [summary, receiver].into_iter().flatten() {
            line += &format!(", {more}");
        }
        line
    });
    lines.collect()
}

/// Waits for the history that is written after the answer.
pub(crate) async fn written(t: &Test) {
    eventually("the history is written", async || alerts::is_history_written(&t.app.alerts)).await;
}

/// The figures kept of an organization, and those from counting its rows. One statement reads them all: the
/// background work may end an alert between two.
async fn figures(t: &Test, organization: OrgId) -> [u64; 3] {
    let text = "SELECT \
         CAST(COALESCE((SELECT history FROM alert_totals WHERE organization_id = ?), 0) AS BIGINT), \
         CAST(COALESCE((SELECT SUM(resolved) FROM alert_history_days WHERE organization_id = ?), 0) \
         AS BIGINT), CAST((SELECT COUNT(*) FROM alert_history WHERE organization_id = ? \
         AND status = 'resolved') AS BIGINT)";
    let q = Q::new(text).bind(organization).bind(organization).bind(organization);
    let (kept, of_days, counted): (i64, i64, i64) = q.one(&t.app.platform.db).await.unwrap();
    [kept, of_days, counted].map(|n| u64::try_from(n).unwrap())
}

/// A router elsewhere that takes everything.
async fn obliging() -> Recorder {
    let answer =
        |method: &str| if method == "GET" { Answer::json(200, &json!([])) } else { Answer::status(200) };
    Recorder::start(move |request| answer(request.method.as_str())).await.unwrap()
}
