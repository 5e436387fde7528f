//! Shared by the trends of systems and applications: rows that appeared and disappeared, by UTC day.

use crate::{sql::Q, time::utc_day};
use bailiwick_domain::Ts;

/// Ends `WITH gone AS (…), changes (day, n) AS (SELECT <day>, COUNT(*) FROM <present rows>`. `gone` has `created_at`,
/// `deleted_at` (the own mark) and `gone_at` (the earliest mark that counts). Rows with an own mark are not among the
/// present rows, so those created since `since` are added before all removed ones are subtracted.
pub(crate) fn push_gone(q: &mut Q, since: Ts) {
    q.push(&format!(
        " GROUP BY 1 UNION ALL SELECT {}, COUNT(*) FROM gone x WHERE x.deleted_at IS NOT NULL \
         AND x.created_at >= ? AND x.gone_at >= ? GROUP BY 1",
        utc_day("x.created_at")
    ));
    q.arg(since).arg(since);
    q.push(&format!(
        " UNION ALL SELECT {}, -COUNT(*) FROM gone x WHERE x.gone_at >= ? GROUP BY 1) \
         SELECT day, CAST(SUM(n) AS BIGINT) FROM changes GROUP BY day ORDER BY day",
        utc_day("x.gone_at")
    ));
    q.arg(since);
}
