//! Totals of users and all trends (spec: users#operations, conventions#trends, organizations#stats).

use bailiwick_platform::trend::Trend;
use serde::Serialize;
use utoipa::ToSchema;

/// Users that are not deleted.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserTotals {
    /// All of them.
    pub total: u64,
    /// Those not suspended.
    pub enabled: u64,
    /// Suspended, own or inherited.
    pub suspended: u64,
}

/// The number at the end of a day.
#[derive(Debug, Serialize, ToSchema)]
pub struct TrendPoint {
    /// UTC, `YYYY-MM-DD`.
    #[schema(format = Date)]
    pub date: String,
    /// How many there were.
    pub count: u64,
    /// `date` again in an older spelling; not in the trend of users.
    #[schema(deprecated)]
    #[serde(rename = "Date", skip_serializing_if = "Option::is_none")]
    pub older_date: Option<String>,
    /// `count` again in an older spelling; not in the trend of users.
    #[schema(deprecated)]
    #[serde(rename = "Count", skip_serializing_if = "Option::is_none")]
    pub older_count: Option<u64>,
}

/// A growing number over time.
#[derive(Debug, Serialize, ToSchema)]
pub struct TrendOutput {
    /// Days looked back.
    pub period: u16,
    /// The same in words.
    pub period_label: String,
    /// Last point.
    pub current_total: u64,
    /// First point.
    pub previous_total: u64,
    /// Current minus previous.
    pub delta: i64,
    /// Of the previous total; 0 when that is 0.
    pub delta_percentage: f64,
    /// `up`, `down` or `stable`.
    pub trend: &'static str,
    /// Ascending; the last one is today.
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
            trend: match delta.signum() {
                1 => "up",
                -1 => "down",
                _ => "stable",
            },
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
