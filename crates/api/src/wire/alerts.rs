//! Alerts, their history and figures (spec: alert-management#active-alerts, alert-management#figures).

use super::stats::TrendDirection;
use crate::envelope::Pagination;
use bailiwick_alertmanager::{ListedAlert, listing::AlertState};
use bailiwick_alerts::manage::{ActiveAlert, Assignment, HistoryFilter, Record, Statistics, Totals, Trend};
use bailiwick_domain::{Error, Page, Ts};
use bailiwick_settings::CatalogueEntry;
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The user in charge of an alert.
#[derive(Debug, Serialize, ToSchema)]
pub struct AssigneeOutput {
    /// Id of the user.
    pub user_id: String,
    /// Name of the user at the time of the assignment.
    pub user_name: String,
    /// Id of the user's organization.
    pub user_org_id: String,
    /// Name of that organization at the time of the assignment.
    pub user_org_name: String,
    /// When the user took charge.
    #[schema(format = DateTime)]
    pub assigned_at: String,
}

impl From<Assignment> for AssigneeOutput {
    fn from(a: Assignment) -> AssigneeOutput {
        AssigneeOutput {
            user_id: a.user_id.to_string(),
            user_name: a.user_name,
            user_org_id: a.user_org_id.to_string(),
            user_org_name: a.user_org_name,
            assigned_at: a.assigned_at.to_string(),
        }
    }
}

/// A receiver of notifications.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReceiverOutput {
    /// Name of the receiver.
    pub name: String,
}

/// The state of an alert, with its causes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlertStatusOutput {
    /// State: `active`, or `suppressed` when the alert causes no notifications.
    #[schema(value_type = String, extensions(("x-enum" = json!(AlertStatusOutput::STATES))))]
    pub state: AlertState,
    /// Ids of the silences that suppress the alert.
    pub silenced_by: Vec<String>,
    /// Fingerprints of the alerts that inhibit this one.
    pub inhibited_by: Vec<String>,
    /// Names of the time intervals that mute the alert.
    pub muted_by: Vec<String>,
}

impl AlertStatusOutput {
    const STATES: [AlertState; 2] = [AlertState::Active, AlertState::Suppressed];
}

/// An active alert.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlertOutput {
    /// Identifies the alert within its organization.
    pub fingerprint: String,
    /// Labels that identify the alert, and the current names of its system and organization.
    pub labels: BTreeMap<String, String>,
    /// Texts that describe the alert.
    pub annotations: BTreeMap<String, String>,
    /// The state of the alert, with its causes.
    pub status: AlertStatusOutput,
    /// The receivers that are notified.
    pub receivers: Vec<ReceiverOutput>,
    /// When the alert began to fire.
    #[schema(format = DateTime)]
    pub starts_at: String,
    /// When the alert is resolved unless its sender refreshes it before.
    #[schema(format = DateTime)]
    pub ends_at: String,
    /// When the alert was last pushed.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Address of whatever raised the alert. Absent when there is none.
    #[serde(rename = "generatorURL", skip_serializing_if = "String::is_empty")]
    pub generator_url: String,
    /// The user in charge of the alert; null if there is none.
    #[serde(rename = "assigned_to")]
    #[schema(required = true)]
    pub assigned_to: Option<AssigneeOutput>,
}

impl From<ActiveAlert> for AlertOutput {
    fn from(ActiveAlert { alert, assigned }: ActiveAlert) -> AlertOutput {
        let ListedAlert { annotations, ends_at, fingerprint, receivers, starts_at, status, .. } = alert;
        let pairs = |labels: &bailiwick_alertmanager::Labels| {
            labels.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        AlertOutput {
            fingerprint: fingerprint.to_string(),
            labels: pairs(&alert.labels),
            annotations: pairs(&annotations),
            status: AlertStatusOutput {
                state: match status.state {
                    AlertState::Suppressed => AlertState::Suppressed,
                    AlertState::Active | AlertState::Unprocessed => AlertState::Active,
                },
                silenced_by: status.silenced_by,
                inhibited_by: status.inhibited_by,
                muted_by: status.muted_by,
            },
            receivers: receivers.into_iter().map(|r| ReceiverOutput { name: r.name }).collect(),
            starts_at: starts_at.millis(),
            ends_at: ends_at.millis(),
            updated_at: alert.updated_at.millis(),
            generator_url: alert.generator_url,
            assigned_to: assigned.map(AssigneeOutput::from),
        }
    }
}

/// A page of active alerts.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertList {
    /// The alerts of this page.
    pub alerts: Vec<AlertOutput>,
    /// Position of this page in the list.
    pub pagination: Pagination,
    /// Organizations whose alerts are missing because they could not be read, with the reason.
    pub warnings: Vec<String>,
}

impl AlertList {
    /// Of a page, with the sort as the client sent it.
    pub fn of(
        page: Page<ActiveAlert>,
        warnings: Vec<String>,
        (sort_by, direction): (Option<&str>, &str),
    ) -> AlertList {
        let pagination = Pagination::of(&page, sort_by, Some(direction));
        AlertList { alerts: page.rows.into_iter().map(AlertOutput::from).collect(), pagination, warnings }
    }
}

/// The number of active and resolved alerts.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertTotals {
    /// Number of active alerts, including silenced ones.
    pub active: u64,
    /// Number of active alerts of severity `critical`.
    pub critical: u64,
    /// Number of active alerts of severity `warning`.
    pub warning: u64,
    /// Number of active alerts of severity `info`, of any other severity, or of none.
    pub info: u64,
    /// Number of active alerts that are silenced.
    pub muted: u64,
    /// Number of resolved alerts in the history.
    pub history: u64,
    /// Problems of these figures, for example that they are stale.
    pub warnings: Vec<String>,
}

impl From<Totals> for AlertTotals {
    fn from(t: Totals) -> AlertTotals {
        AlertTotals {
            active: t.live.active,
            critical: t.live.critical,
            warning: t.live.warning,
            info: t.live.info,
            muted: t.live.muted,
            history: t.history,
            warnings: t.warnings,
        }
    }
}

/// The number of alerts resolved on one day.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertTrendPoint {
    /// The day in UTC, as `YYYY-MM-DD`.
    #[schema(format = Date)]
    pub date: String,
    /// Number of alerts resolved on that day.
    pub count: u64,
}

/// The number of resolved alerts over time.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertTrend {
    /// Length of the period in days: 7, 30, 180 or 365.
    pub period: u16,
    /// Name of the period: `7 days`, `30 days`, `6 months` or `1 year`.
    pub period_label: &'static str,
    /// Number of alerts resolved in the period.
    pub current_total: u64,
    /// Number of alerts resolved in the period of the same length before it.
    pub previous_total: u64,
    /// `current_total` minus `previous_total`.
    pub delta: i64,
    /// `delta` in percent of `previous_total`, with two decimals; 0 when `previous_total` is 0.
    pub delta_percentage: f64,
    /// Direction of the change: `up`, `down` or `stable`.
    pub trend: TrendDirection,
    /// One point for each day of the period, oldest first; the last one is today.
    pub data_points: Vec<AlertTrendPoint>,
}

impl From<Trend> for AlertTrend {
    fn from(t: Trend) -> AlertTrend {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let delta = signed(t.current).saturating_sub(signed(t.previous));
        let percentage = if t.previous == 0 { 0.0 } else { delta as f64 / t.previous as f64 * 100.0 };
        AlertTrend {
            period: t.period,
            period_label: match t.period {
                365 => "1 year",
                180 => "6 months",
                30 => "30 days",
                _ => "7 days",
            },
            current_total: t.current,
            previous_total: t.previous,
            delta,
            delta_percentage: (percentage * 100.0).round() / 100.0,
            trend: TrendDirection::of(delta),
            data_points: t
                .points
                .into_iter()
                .map(|(day, count)| AlertTrendPoint { date: date(day), count })
                .collect(),
        }
    }
}

/// Of a number of days since 1970.
fn date(day: i64) -> String {
    let mut text = Ts::from_secs(day.saturating_mul(86_400)).rfc3339(0);
    text.truncate(10);
    text
}

/// The number of resolved alerts with one name.
#[derive(Debug, Serialize, ToSchema)]
pub struct NameCount {
    /// Name of the alerts.
    pub alertname: String,
    /// Number of alerts.
    pub count: i64,
}

/// The number of resolved alerts of one system.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemCount {
    /// Key of the system.
    pub system_key: String,
    /// Number of alerts.
    pub count: i64,
}

/// Statistics of resolved alerts.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertStatistics {
    /// Number of resolved alerts.
    pub total: u64,
    /// Number of resolved alerts by severity, without alerts that have none.
    pub by_severity: BTreeMap<String, i64>,
    /// The most frequent names of alerts, with their number.
    pub top_alertnames: Vec<NameCount>,
    /// The systems with the most alerts, with their number.
    pub top_systems: Vec<SystemCount>,
    /// Mean time from start to end of an alert, in seconds. Absent without alerts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mttr_seconds: Option<f64>,
    /// Mean time between alerts, in seconds. Absent when there are too few alerts to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtbf_seconds: Option<f64>,
}

impl From<Statistics> for AlertStatistics {
    fn from(s: Statistics) -> AlertStatistics {
        let f = s.figures;
        AlertStatistics {
            total: f.total,
            by_severity: f.by_severity.into_iter().collect(),
            top_alertnames: f
                .top_names
                .into_iter()
                .map(|(alertname, count)| NameCount { alertname, count })
                .collect(),
            top_systems: f
                .top_systems
                .into_iter()
                .map(|(system_key, count)| SystemCount { system_key, count })
                .collect(),
            mttr_seconds: f.mean_seconds,
            mtbf_seconds: s.between_seconds,
        }
    }
}

/// One occurrence of an alert in the history.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecordOutput {
    /// Number of the entry; later entries have greater numbers.
    pub id: i64,
    /// Key of the system.
    pub system_key: String,
    /// Name of the alert, from its label `alertname`.
    pub alertname: String,
    /// Severity of the alert, from its label `severity`; null if it has none.
    #[schema(required = true)]
    pub severity: Option<String>,
    /// State: `firing` or `resolved`.
    #[schema(extensions(("x-enum" = json!(HistoryFilter::STATUSES.list()))))]
    pub status: String,
    /// Identifies the alert within its organization.
    pub fingerprint: String,
    /// When the alert began to fire.
    #[schema(format = DateTime)]
    pub starts_at: String,
    /// When the alert ended; null if that is not known or it still fires.
    #[schema(format = DateTime, required = true)]
    pub ends_at: Option<String>,
    /// Short description, from the annotation `summary` or `summary_en`; null if the alert has neither.
    #[schema(required = true)]
    pub summary: Option<String>,
    /// Labels of the alert.
    #[schema(value_type = BTreeMap<String, String>)]
    pub labels: Box<RawValue>,
    /// Annotations of the alert.
    #[schema(value_type = BTreeMap<String, String>)]
    pub annotations: Box<RawValue>,
    /// Receiver that reported the alert through the history webhook; null otherwise.
    #[schema(required = true)]
    pub receiver: Option<String>,
    /// When the alert was recorded as resolved; of one that still fires, when it was first recorded.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Id of the alert's organization.
    pub organization_id: String,
}

impl RecordOutput {
    fn of(r: Record) -> Result<RecordOutput, Error> {
        let raw = |text: String| RawValue::from_string(text).map_err(Error::internal);
        Ok(RecordOutput {
            id: r.id,
            system_key: r.system_key,
            alertname: r.alertname,
            severity: r.severity,
            status: r.status,
            fingerprint: r.fingerprint,
            starts_at: r.starts_at.to_string(),
            ends_at: r.ends_at.map(|at| at.to_string()),
            summary: r.summary,
            labels: raw(r.labels)?,
            annotations: raw(r.annotations)?,
            receiver: r.receiver,
            created_at: r.created_at.to_string(),
            organization_id: r.organization_id.to_string(),
        })
    }
}

/// A page of the history of alerts.
#[derive(Debug, Serialize, ToSchema)]
pub struct HistoryList {
    /// The occurrences on this page.
    pub alerts: Vec<RecordOutput>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

impl HistoryList {
    /// Of a page, with the sort as the client sent it.
    pub fn of(page: Page<Record>, (sort_by, direction): (Option<&str>, &str)) -> Result<HistoryList, Error> {
        let pagination = Pagination::of(&page, sort_by, Some(direction));
        let alerts = page.rows.into_iter().map(RecordOutput::of).collect::<Result<_, _>>()?;
        Ok(HistoryList { alerts, pagination })
    }
}

/// A name that alerts can have.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertNameOutput {
    /// Name of the alert.
    pub name: String,
    /// Usual severity of alerts of this name.
    pub severity: String,
    /// Service that such alerts are about, such as `backup` or `storage`. Absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

/// The names that alerts can be filtered by.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertFilters {
    /// The names in alphabetical order: configured ones, and those in the caller's history.
    pub alerts: Vec<AlertNameOutput>,
}

impl From<Vec<CatalogueEntry>> for AlertFilters {
    fn from(names: Vec<CatalogueEntry>) -> AlertFilters {
        let one =
            |e: CatalogueEntry| AlertNameOutput { name: e.name, severity: e.severity, service: e.service };
        AlertFilters { alerts: names.into_iter().map(one).collect() }
    }
}
