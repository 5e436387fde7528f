//! Alerts, their history and figures (spec: alert-management#active-alerts, alert-management#figures).

use crate::envelope::Pagination;
use bailiwick_alerting::{ListedAlert, listing::AlertState};
use bailiwick_alerts::manage::{ActiveAlert, Assignment, Record, Statistics, Totals, Trend};
use bailiwick_domain::{Error, Page, Ts};
use bailiwick_settings::CatalogueEntry;
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The user who takes care of an alert.
#[derive(Debug, Serialize, ToSchema)]
pub struct AssigneeOutput {
    /// User.
    pub user_id: String,
    /// The user's name at that moment.
    pub user_name: String,
    /// The user's organization.
    pub user_org_id: String,
    /// Its name at that moment.
    pub user_org_name: String,
    /// Since when.
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

/// A receiver's name.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReceiverOutput {
    /// Name.
    pub name: String,
}

/// State of an alert and why.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlertStatusOutput {
    /// `active` or `suppressed`.
    pub state: &'static str,
    /// Ids of silences.
    pub silenced_by: Vec<String>,
    /// Fingerprints of inhibiting alerts.
    pub inhibited_by: Vec<String>,
    /// Names of time intervals.
    pub muted_by: Vec<String>,
}

/// An active alert.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlertOutput {
    /// Identity within the organization.
    pub fingerprint: String,
    /// Labels, with the present names of system and organization.
    pub labels: BTreeMap<String, String>,
    /// Texts for people.
    pub annotations: BTreeMap<String, String>,
    /// State.
    pub status: AlertStatusOutput,
    /// The receivers that are notified.
    pub receivers: Vec<ReceiverOutput>,
    /// Start.
    #[schema(format = DateTime)]
    pub starts_at: String,
    /// By when it must be refreshed.
    #[schema(format = DateTime)]
    pub ends_at: String,
    /// Last push.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Address that produced it.
    #[serde(rename = "generatorURL", skip_serializing_if = "String::is_empty")]
    pub generator_url: String,
    /// The user who takes care of it.
    #[serde(rename = "assigned_to")]
    #[schema(required = true)]
    pub assigned_to: Option<AssigneeOutput>,
}

impl From<ActiveAlert> for AlertOutput {
    fn from(ActiveAlert { alert, assigned }: ActiveAlert) -> AlertOutput {
        let ListedAlert { annotations, ends_at, fingerprint, receivers, starts_at, status, .. } = alert;
        let pairs = |labels: &bailiwick_alerting::Labels| {
            labels.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        AlertOutput {
            fingerprint: fingerprint.to_string(),
            labels: pairs(&alert.labels),
            annotations: pairs(&annotations),
            status: AlertStatusOutput {
                state: if status.state == AlertState::Suppressed { "suppressed" } else { "active" },
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
    /// The alerts.
    pub alerts: Vec<AlertOutput>,
    /// Where the page lies.
    pub pagination: Pagination,
    /// What could not be asked.
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

/// Numbers of alerts.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertTotals {
    /// Active ones, silenced ones too.
    pub active: u64,
    /// Critical ones.
    pub critical: u64,
    /// Warnings.
    pub warning: u64,
    /// All others.
    pub info: u64,
    /// Silenced ones.
    pub muted: u64,
    /// Resolved ones in the history.
    pub history: u64,
    /// What is not as it should be.
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

/// Resolved alerts of a day.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertTrendPoint {
    /// UTC, `YYYY-MM-DD`.
    #[schema(format = Date)]
    pub date: String,
    /// How many.
    pub count: u64,
}

/// Resolved alerts over time.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertTrend {
    /// Days looked back.
    pub period: u16,
    /// The same in words.
    pub period_label: &'static str,
    /// Of the period.
    pub current_total: u64,
    /// Of as many days before it.
    pub previous_total: u64,
    /// Current minus previous.
    pub delta: i64,
    /// Of the previous total; 0 when that is 0.
    pub delta_percentage: f64,
    /// `up`, `down` or `stable`.
    pub trend: &'static str,
    /// Every day of the period; the last one is today.
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
            trend: match delta.signum() {
                1 => "up",
                -1 => "down",
                _ => "stable",
            },
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

/// How often a name was seen.
#[derive(Debug, Serialize, ToSchema)]
pub struct NameCount {
    /// Name of the alert.
    pub alertname: String,
    /// How often.
    pub count: i64,
}

/// How many alerts a system had.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemCount {
    /// Key of the system.
    pub system_key: String,
    /// How many.
    pub count: i64,
}

/// Statistics over resolved alerts.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertStatistics {
    /// How many.
    pub total: u64,
    /// By severity; those without one are left out.
    pub by_severity: BTreeMap<String, i64>,
    /// The most frequent names.
    pub top_alertnames: Vec<NameCount>,
    /// The systems with the most alerts.
    pub top_systems: Vec<SystemCount>,
    /// Mean time from start to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mttr_seconds: Option<f64>,
    /// Mean time between alerts.
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

/// One occurrence of an alert.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecordOutput {
    /// Number.
    pub id: i64,
    /// Its system.
    pub system_key: String,
    /// Name.
    pub alertname: String,
    /// Severity.
    #[schema(required = true)]
    pub severity: Option<String>,
    /// `firing` or `resolved`.
    pub status: String,
    /// Identity within the organization.
    pub fingerprint: String,
    /// Start.
    #[schema(format = DateTime)]
    pub starts_at: String,
    /// End.
    #[schema(format = DateTime, required = true)]
    pub ends_at: Option<String>,
    /// Text for lists.
    #[schema(required = true)]
    pub summary: Option<String>,
    /// Labels.
    #[schema(value_type = BTreeMap<String, String>)]
    pub labels: Box<RawValue>,
    /// Annotations.
    #[schema(value_type = BTreeMap<String, String>)]
    pub annotations: Box<RawValue>,
    /// The receiver that was notified.
    #[schema(required = true)]
    pub receiver: Option<String>,
    /// When it was resolved; of one that fires, when it began to.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Its organization.
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

/// A page of the history.
#[derive(Debug, Serialize, ToSchema)]
pub struct HistoryList {
    /// The rows.
    pub alerts: Vec<RecordOutput>,
    /// Where the page lies.
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

/// A name of alerts.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertNameOutput {
    /// Name.
    pub name: String,
    /// Severity.
    pub severity: String,
    /// Group of its tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

/// Names of alerts.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertFilters {
    /// By name.
    pub alerts: Vec<AlertNameOutput>,
}

impl From<Vec<CatalogueEntry>> for AlertFilters {
    fn from(names: Vec<CatalogueEntry>) -> AlertFilters {
        let one =
            |e: CatalogueEntry| AlertNameOutput { name: e.name, severity: e.severity, service: e.service };
        AlertFilters { alerts: names.into_iter().map(one).collect() }
    }
}
