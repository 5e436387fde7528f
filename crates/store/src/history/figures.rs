//! Figures over resolved alerts for pictures: which organizations have most of them, and how long they lasted.

use super::{OrganizationsRead, list::HistoryFilter, list::push_from};
use crate::{Db, StoreError, sql::Q};
use bailiwick_domain::OrgId;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The longest times of each class but the last, in seconds: 5 minutes, an hour, 4 hours, a day, a week.
pub const CLASSES: [i64; 5] = [300, 3_600, 14_400, 86_400, 604_800];

/// The organizations with the most alerts that were resolved on that UTC day (days since 1970) or later, with their
/// numbers, the greatest first.
pub async fn by_organization(
    db: &Db,
    within: &OrganizationsRead,
    since: i64,
    top: u64,
) -> Result<Vec<(OrgId, String, u64)>, StoreError> {
    let mut q = Q::new("SELECT o.id, o.name, CAST(SUM(d.resolved) AS BIGINT) FROM alert_history_days d");
    within.push_organizations_of(&mut q, "d");
    q.push(" WHERE d.day >= ?").arg(since);
    within.push(&mut q, "o", "id");
    q.push(" GROUP BY o.id, o.name HAVING SUM(d.resolved) > 0 ORDER BY 3 DESC, 2, 1 LIMIT ?").arg(top);
    let rows: Vec<(Uuid, String, i64)> = q.all(db).await?;
    Ok(rows.into_iter().map(|(id, name, n)| (OrgId(id), name, u64::try_from(n).unwrap_or(0))).collect())
}

/// How long alerts of one severity lasted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lasted {
    /// `critical`, `warning`, or none for all others.
    pub severity: Option<String>,
    /// How many lasted up to each of [`CLASSES`], and longer.
    pub classes: [u64; CLASSES.len() + 1],
    /// All their times together, in seconds.
    pub seconds: f64,
}

impl Lasted {
    /// How many there are.
    pub fn total(&self) -> u64 {
        self.classes.iter().sum()
    }
}

/// How long the matching alerts lasted, for each severity.
pub async fn lasted(
    db: &Db,
    within: &OrganizationsRead,
    filter: &HistoryFilter,
) -> Result<Vec<Lasted>, StoreError> {
    let seconds = "[[EXTRACT(EPOCH FROM h.ends_at - h.starts_at)||(h.ends_at - h.starts_at) / 1000000.0]]";
    let severity = "CASE WHEN h.severity IN ('critical', 'warning') THEN h.severity ELSE NULL END";
    let when = |(index, most)| format!("WHEN {seconds} <= {most} THEN {index}");
    let whens: Vec<String> = CLASSES.iter().enumerate().map(when).collect();
    let class = format!("CASE {} ELSE {} END", whens.join(" "), CLASSES.len());
    let mut q = Q::new(&format!(
        "SELECT {severity}, CAST({class} AS BIGINT), CAST(COUNT(*) AS BIGINT), \
         CAST(COALESCE(SUM({seconds}), 0) AS DOUBLE PRECISION)"
    ));
    push_from(&mut q, within, filter);
    q.push(" GROUP BY 1, 2 ORDER BY 1, 2");
    let rows: Vec<(Option<String>, i64, i64, f64)> = q.all(db).await?;
    let mut all: Vec<Lasted> = Vec::new();
    for (severity, class, n, seconds) in rows {
        let position = all.iter().position(|lasted| lasted.severity == severity);
        let index = position.unwrap_or_else(|| {
            all.push(Lasted { severity, ..Lasted::default() });
            all.len() - 1
        });
        let Some(lasted) = all.get_mut(index) else { continue };
        let class_index = usize::try_from(class).unwrap_or(CLASSES.len()).min(CLASSES.len());
        lasted.classes[class_index] += u64::try_from(n).unwrap_or(0);
        lasted.seconds += seconds;
    }
    Ok(all)
}
