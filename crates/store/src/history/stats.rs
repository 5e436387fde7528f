//! Figures over the history (spec: alert-management#figures): totals and trend from counters, statistics from the rows.

use super::{OrganizationsRead, list::HistoryFilter, list::push_from};
use crate::{
    Db, StoreError, Tx,
    sql::{Column, Q, ROWS, push_rows},
    time::TsCodec,
};
use bailiwick_domain::{OrgId, Ts};
use sqlx_macros::FromRow;

/// The most names of alerts that a filter offers.
const NAMES: u64 = 1000;

/// How many resolved rows there are.
pub async fn resolved(db: &Db, within: &OrganizationsRead) -> Result<u64, StoreError> {
    let mut q = Q::new("SELECT CAST(SUM(t.history) AS BIGINT) FROM alert_totals t");
    within.push_organizations_of(&mut q, "t");
    q.push(" WHERE 1 = 1");
    within.push(&mut q, "o", "id");
    q.count(db).await
}

/// Resolved rows by UTC day of their resolution (days since 1970), from that day on, in order.
pub async fn resolved_by_day(
    db: &Db,
    within: &OrganizationsRead,
    since: i64,
) -> Result<Vec<(i64, i64)>, StoreError> {
    let mut q = Q::new("SELECT d.day, CAST(SUM(d.resolved) AS BIGINT) FROM alert_history_days d");
    within.push_organizations_of(&mut q, "d");
    q.push(" WHERE d.day >= ?").arg(since);
    within.push(&mut q, "o", "id");
    q.push(" GROUP BY d.day ORDER BY d.day");
    q.all(db).await
}

/// Names of alerts with the last severity that they had in an organization, the most recent first. A name may occur
/// several times.
pub async fn names(db: &Db, within: &OrganizationsRead) -> Result<Vec<(String, Option<String>)>, StoreError> {
    let mut q = Q::new("SELECT n.alertname, n.severity, MAX(n.seen_at) FROM alert_names n");
    if within.is_everything() {
        // All organizations need not be read to know the few deleted ones.
        q.push(
            " WHERE n.organization_id NOT IN (SELECT d.id FROM organizations d WHERE d.eff_deleted_at IS NOT NULL)",
        );
    } else {
        q.push(" JOIN organizations o ON o.id = n.organization_id WHERE 1 = 1");
        within.push(&mut q, "o", "id");
    }
    q.push(" GROUP BY n.alertname, n.severity ORDER BY 3 DESC LIMIT ?").arg(NAMES);
    let rows: Vec<(String, Option<String>, TsCodec)> = q.all(db).await?;
    Ok(rows.into_iter().map(|(name, severity, _)| (name, severity)).collect())
}

/// A name and how many rows have it.
pub type Counted = (String, i64);

/// Statistics over rows of the history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// How many.
    pub total: u64,
    /// By severity; rows without one are left out.
    pub by_severity: Vec<Counted>,
    /// The most frequent names.
    pub top_names: Vec<Counted>,
    /// The systems with the most rows, by key.
    pub top_systems: Vec<Counted>,
    /// Mean time from start to end in seconds.
    pub mean_seconds: Option<f64>,
    /// First and last start.
    pub starts: Option<(Ts, Ts)>,
}

#[derive(FromRow)]
struct Sums {
    n: i64,
    mean: Option<f64>,
    first: Option<TsCodec>,
    last: Option<TsCodec>,
}

/// Statistics over the matching rows; `top`: how many names and systems.
pub async fn statistics(
    db: &Db,
    within: &OrganizationsRead,
    filter: &HistoryFilter,
    top: u64,
) -> Result<Statistics, StoreError> {
    let sums = async {
        let mut q = Q::new(
            "SELECT CAST(COUNT(*) AS BIGINT) AS n, \
             CAST(AVG([[EXTRACT(EPOCH FROM h.ends_at - h.starts_at)||(h.ends_at - h.starts_at) / 1000000.0]]) \
             AS DOUBLE PRECISION) AS mean, MIN(h.starts_at) AS first, MAX(h.starts_at) AS last",
        );
        push_from(&mut q, within, filter);
        q.one::<Sums>(db).await
    };
    let most = |column: &'static str, limit: u64| async move {
        let mut q = Q::new(&format!("SELECT {column}, CAST(COUNT(*) AS BIGINT)"));
        push_from(&mut q, within, filter);
        q.push(&format!(" AND {column} IS NOT NULL GROUP BY {column} ORDER BY 2 DESC, 1 LIMIT ?"));
        q.arg(limit);
        q.all::<Counted>(db).await
    };
    let (sums, by_severity, top_names, top_systems) =
        tokio::join!(sums, most("h.severity", NAMES), most("h.alertname", top), most("h.system_key", top));
    let sums = sums?;
    Ok(Statistics {
        total: u64::try_from(sums.n).unwrap_or(0),
        by_severity: by_severity?,
        top_names: top_names?,
        top_systems: top_systems?,
        mean_seconds: sums.mean,
        starts: sums.first.zip(sums.last).map(|(first, last)| (first.0, last.0)),
    })
}

/// A remote router's report on a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Active alerts, silenced ones too.
    pub active: u64,
    /// Critical ones.
    pub critical: u64,
    pub warning: u64,
    /// All others.
    pub info: u64,
    /// Silenced ones.
    pub muted: u64,
}

#[derive(FromRow)]
struct LiveRow {
    active: Option<i64>,
    critical: Option<i64>,
    warning: Option<i64>,
    info: Option<i64>,
    muted: Option<i64>,
}

/// The sums of the latest reports.
pub async fn live(db: &Db, within: &OrganizationsRead) -> Result<Live, StoreError> {
    let mut q = Q::new(
        "SELECT CAST(SUM(t.active) AS BIGINT) AS active, CAST(SUM(t.critical) AS BIGINT) AS critical, \
         CAST(SUM(t.warning) AS BIGINT) AS warning, CAST(SUM(t.info) AS BIGINT) AS info, \
         CAST(SUM(t.muted) AS BIGINT) AS muted FROM alert_totals t",
    );
    within.push_organizations_of(&mut q, "t");
    q.push(" WHERE t.active > 0");
    within.push(&mut q, "o", "id");
    let row: LiveRow = q.one(db).await?;
    let n = |n: Option<i64>| u64::try_from(n.unwrap_or(0)).unwrap_or(0);
    Ok(Live {
        active: n(row.active),
        critical: n(row.critical),
        warning: n(row.warning),
        info: n(row.info),
        muted: n(row.muted),
    })
}

/// The time of the oldest last report among tenants with firing alerts; none when there is no such tenant.
pub async fn oldest_live(db: &Db, within: &OrganizationsRead) -> Result<Option<Ts>, StoreError> {
    let mut q = Q::new(
        "SELECT MIN(CASE WHEN t.updated_at > h.created_at THEN t.updated_at ELSE h.created_at END) FROM alert_history h \
         JOIN organizations o ON o.id = h.organization_id \
         LEFT JOIN alert_totals t ON t.organization_id = h.organization_id WHERE h.status = 'firing'",
    );
    within.push(&mut q, "h", "organization_id");
    let (oldest,): (Option<TsCodec>,) = q.one(db).await?;
    Ok(oldest.map(|t| t.0))
}

/// Tenants to read from a remote router: those with firing alerts, now or at the last read, that were not read since
/// `before`; by id after `after`, at most `limit`.
pub async fn tenants_to_ask(
    db: &Db,
    before: Ts,
    after: Option<OrgId>,
    limit: u64,
) -> Result<Vec<OrgId>, StoreError> {
    let after = after.unwrap_or(OrgId(uuid::Uuid::nil()));
    let rows: Vec<(uuid::Uuid,)> =
        Q::new(TENANTS_TO_ASK).bind(after).bind(before).bind(limit).all(db).await?;
    Ok(rows.into_iter().map(|(id,)| OrgId(id)).collect())
}

const TENANTS_TO_ASK: &str = "SELECT o.id FROM organizations o \
     LEFT JOIN alert_totals t ON t.organization_id = o.id WHERE o.id > ? \
     AND (t.active > 0 OR EXISTS (SELECT 1 FROM alert_history h WHERE h.organization_id = o.id \
     AND h.status = 'firing')) AND (t.updated_at IS NULL OR t.updated_at < ?) ORDER BY o.id LIMIT ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![TENANTS_TO_ASK];

/// Stores a remote router's reports on tenants at `now`; tenants that no longer exist are left out.
pub async fn keep_live(tx: &mut Tx, tenants: &[(OrgId, Live)], now: Ts) -> Result<(), StoreError> {
    for chunk in tenants.chunks(ROWS) {
        let ints = |pick: fn(&Live) -> u64| {
            Column::Ints(chunk.iter().map(|(_, l)| i64::try_from(pick(l)).unwrap_or(i64::MAX)).collect())
        };
        let columns = vec![
            ("o", Column::Ids(chunk.iter().map(|(o, _)| o.0).collect())),
            ("active", ints(|l| l.active)),
            ("critical", ints(|l| l.critical)),
            ("warning", ints(|l| l.warning)),
            ("info", ints(|l| l.info)),
            ("muted", ints(|l| l.muted)),
        ];
        let mut q = Q::new(
            "INSERT INTO alert_totals (organization_id, active, critical, warning, info, muted, updated_at) \
             SELECT v.o, v.active, v.critical, v.warning, v.info, v.muted, ? FROM ",
        );
        q.arg(now);
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(
            " [[JOIN||CROSS JOIN]] organizations o ON o.id = v.o WHERE 1 = 1 ORDER BY v.o ON CONFLICT (organization_id) \
             DO UPDATE SET active = excluded.active, critical = excluded.critical, warning = excluded.warning, \
             info = excluded.info, muted = excluded.muted, updated_at = excluded.updated_at",
        );
        q.run(&mut *tx).await?;
    }
    Ok(())
}
