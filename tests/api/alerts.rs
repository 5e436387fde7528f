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

/// The figures kept of an organization, and those from counting its rows.
async fn figures(t: &Test, organization: OrgId) -> [u64; 3] {
    let count = async |text: &str| Q::new(text).bind(organization).count(&t.app.platform.db).await.unwrap();
    [
        count("SELECT history FROM alert_totals WHERE organization_id = ?").await,
        count("SELECT CAST(SUM(resolved) AS BIGINT) FROM alert_history_days WHERE organization_id = ?").await,
        count("SELECT COUNT(*) FROM alert_history WHERE organization_id = ? AND status = 'resolved'").await,
    ]
}

/// A router elsewhere that takes everything.
async fn obliging() -> Recorder {
    let answer =
        |method: &str| if method == "GET" { Answer::json(200, &json!([])) } else { Answer::status(200) };
    Recorder::start(move |request| answer(request.method.as_str())).await.unwrap()
}
