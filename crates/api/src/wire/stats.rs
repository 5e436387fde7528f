//! Totals of users and all trends (spec: users#operations, conventions#trends, organizations#stats).

use bailiwick_platform::trend::Trend;
use serde::Serialize;
use utoipa::ToSchema;

/// The number of users within reach. Deleted users do not count.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserTotals {
    /// Number of all users that are not deleted.
    pub total: u64,
    /// Number of users that are not suspended.
    pub enabled: u64,
    /// Number of users that are suspended themselves or through an organization.
    pub suspended: u64,
}

/// One point of a trend.
#[derive(Debug, Serialize, ToSchema)]
pub struct TrendPoint {
    /// The day in UTC, as `YYYY-MM-DD`.
    #[schema(format = Date)]
    pub date: String,
    /// Number of objects at the end of that day; in the trend of systems, of the day, week or month that begins with
    /// it.
    pub count: u64,
    /// Same value as `date`, for older clients. Absent in the trends of users and systems.
    #[schema(deprecated, format = Date)]
    #[serde(rename = "Date", skip_serializing_if = "Option::is_none")]
    pub older_date: Option<String>,
    /// Same value as `count`, for older clients. Absent in the trends of users and systems.
    #[schema(deprecated)]
    #[serde(rename = "Count", skip_serializing_if = "Option::is_none")]
    pub older_count: Option<u64>,
}

/// The direction of a change.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrendDirection {
    /// There are more than before.
    Up,
    /// There are fewer.
    Down,
    /// There are as many.
    Stable,
}

impl TrendDirection {
    /// Of a difference.
    pub(super) const fn of(delta: i64) -> TrendDirection {
        match delta.signum() {
            1 => TrendDirection::Up,
            -1 => TrendDirection::Down,
            _ => TrendDirection::Stable,
        }
    }
}

/// The number of objects over time.
#[derive(Debug, Serialize, ToSchema)]
pub struct TrendOutput {
    /// Length of the period in days: 7, 30, 180 or 365.
    pub period: u16,
    /// Name of the period, such as `7 days` or `Last 6 months`.
    pub period_label: String,
    /// Number of objects now: the last point.
    pub current_total: u64,
    /// Number of objects at the beginning of the period: the first point.
    pub previous_total: u64,
    /// `current_total` minus `previous_total`.
    pub delta: i64,
    /// `delta` in percent of `previous_total`; 0 when `previous_total` is 0.
    pub delta_percentage: f64,
    /// Direction of the change: `up`, `down` or `stable`.
    pub trend: TrendDirection,
    /// The points from the oldest to today; the longer the period, the longer the steps between them.
    pub data_points: Vec<TrendPoint>,
}

impl From<Trend> for TrendOutput {
    fn from(trend: Trend) -> TrendOutput {
        let at = |point: Option<&(_, u64)>| point.map_or(0, |(_, count)| *count);
        let (current, previous) = (at(trend.points.last()), at(trend.points.first()));
        let delta = i64::try_from(current).unwrap_or(i64::MAX) - i64::try_from(previous).unwrap_or(i64::MAX);
        TrendOutput {
            period: trend.period,
            period_label: format!("{} days", trend.period),
            current_total: current,
            previous_total: previous,
            delta,
            delta_percentage: if previous == 0 { 0.0 } else { delta as f64 / previous as f64 * 100.0 },
            trend: TrendDirection::of(delta),
            data_points: trend
                .points
                .into_iter()
                .map(|(date, count)| TrendPoint {
                    date: date.to_string(),
                    count,
                    older_date: None,
                    older_count: None,
                })
                .collect(),
        }
    }
}

impl TrendOutput {
    /// With other words for the period.
    #[must_use]
    pub fn labelled(self, period_label: &str) -> TrendOutput {
        TrendOutput { period_label: period_label.to_owned(), ..self }
    }

    /// With each point in the older spelling as well, as the trends of organizations and applications have it.
    #[must_use]
    pub fn with_older_spelling(mut self) -> TrendOutput {
        for point in &mut self.data_points {
            point.older_date = Some(point.date.clone());
            point.older_count = Some(point.count);
        }
        self
    }
}
