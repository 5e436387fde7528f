//! The list of the history (spec: alert-management#figures).

use super::{OrganizationsRead, push_search, word};
use crate::{Db, StoreError, filters::push_in, sql::Q, time::TsCodec};
use bailiwick_domain::{Keywords, OrgId, Page, PageRequest, Parameter, SortDirection, Ts};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// Filters; none = not given, an empty list = given, but nothing can match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryFilter {
    /// Keys of systems.
    pub system_keys: Option<Vec<String>>,
    /// Names, exact.
    pub names: Option<Vec<String>>,
    /// Severities, exact.
    pub severities: Option<Vec<String>>,
    /// `firing`, `resolved`; none = resolved only.
    pub statuses: Option<Vec<String>>,
    /// Created or resolved at this time or later.
    pub from: Option<Ts>,
    /// Created or resolved before this time.
    pub before: Option<Ts>,
    /// Text that must occur in the name, the summary, or the name of the system or organization, ignoring case.
    pub search: Option<String>,
    /// One alert of each organization.
    pub fingerprint: Option<String>,
}

impl HistoryFilter {
    /// The words of `status`.
    pub const STATUSES: Keywords<&'static str> =
        Keywords::of(&[(word(true), word(true)), (word(false), word(false))]);

    /// The keys of a query, without its times.
    pub const FILTERS: &[Parameter<HistoryFilter>] = &[
        Parameter::words(
            "status",
            || HistoryFilter::STATUSES.list(),
            |filter, words| {
                let known = words.iter().filter_map(|word| HistoryFilter::STATUSES.parse(word));
                filter.statuses = Some(known.map(str::to_owned).collect());
            },
        ),
        Parameter::each("severity", |filter, words| filter.severities = Some(words)),
        Parameter::each("system_key", |filter, keys| filter.system_keys = Some(keys)),
        Parameter::each("alertname", |filter, names| filter.names = Some(names)),
        Parameter::text("search", |filter, text| filter.search = Some(text)),
    ];

    /// Appends ` AND …` by the columns of `h`.
    pub(super) fn push(&self, q: &mut Q) {
        match &self.statuses {
            Some(statuses) => push_in(q, "h.status", statuses),
            None => drop(q.push(" AND h.status = 'resolved'")),
        }
        for (column, values) in [
            ("h.system_key", &self.system_keys),
            ("h.alertname", &self.names),
            ("h.severity", &self.severities),
        ] {
            if let Some(values) = values {
                push_in(q, column, values);
            }
        }
        if let Some(fingerprint) = &self.fingerprint {
            push_in(q, "h.fingerprint", std::slice::from_ref(fingerprint));
        }
        if let Some(text) = &self.search {
            push_search(q, text);
        }
        if let Some(from) = self.from {
            q.push(" AND h.created_at >= ?").arg(from);
        }
        if let Some(before) = self.before {
            q.push(" AND h.created_at < ?").arg(before);
        }
    }
}

/// The order of the list; the number of the row decides between equals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryOrder {
    Id,
    Alertname,
    Severity,
    Status,
    StartsAt,
    EndsAt,
    #[default]
    CreatedAt,
}

impl HistoryOrder {
    /// The words of `sort_by`.
    pub const WORDS: Keywords<HistoryOrder> = Keywords::of(&[
        ("id", HistoryOrder::Id),
        ("alertname", HistoryOrder::Alertname),
        ("severity", HistoryOrder::Severity),
        ("status", HistoryOrder::Status),
        ("starts_at", HistoryOrder::StartsAt),
        ("ends_at", HistoryOrder::EndsAt),
        ("created_at", HistoryOrder::CreatedAt),
    ]);

    /// Rows without an end or a severity come first in ascending order on both engines.
    const fn terms(self) -> &'static [&'static str] {
        match self {
            HistoryOrder::Id => &["h.id"],
            HistoryOrder::Alertname => &["h.alertname", "h.id"],
            HistoryOrder::Severity => &["COALESCE(h.severity, '')", "h.id"],
            HistoryOrder::Status => &["h.status", "h.id"],
            HistoryOrder::StartsAt => &["h.starts_at", "h.id"],
            HistoryOrder::EndsAt => &["(h.ends_at IS NOT NULL)", "h.ends_at", "h.id"],
            HistoryOrder::CreatedAt => &["h.created_at", "h.id"],
        }
    }
}

/// One occurrence of an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Number.
    pub id: i64,
    /// Tenant.
    pub organization_id: OrgId,
    pub system_key: String,
    /// Name, maybe empty.
    pub alertname: String,
    pub severity: Option<String>,
    /// `firing` or `resolved`.
    pub status: String,
    /// Identity within the tenant.
    pub fingerprint: String,
    pub starts_at: Ts,
    pub ends_at: Option<Ts>,
    /// Text for lists.
    pub summary: Option<String>,
    /// JSON object.
    pub labels: String,
    /// JSON object.
    pub annotations: String,
    /// The receiver that was notified.
    pub receiver: Option<String>,
    /// When it was created or resolved.
    pub created_at: Ts,
}

#[derive(FromRow)]
struct Row {
    id: i64,
    organization_id: Uuid,
    system_key: String,
    alertname: String,
    severity: Option<String>,
    status: String,
    fingerprint: String,
    starts_at: TsCodec,
    ends_at: Option<TsCodec>,
    summary: Option<String>,
    labels: String,
    annotations: String,
    receiver: Option<String>,
    created_at: TsCodec,
}

impl From<Row> for Record {
    fn from(r: Row) -> Record {
        Record {
            id: r.id,
            organization_id: OrgId(r.organization_id),
            system_key: r.system_key,
            alertname: r.alertname,
            severity: r.severity,
            status: r.status,
            fingerprint: r.fingerprint,
            starts_at: r.starts_at.0,
            ends_at: r.ends_at.map(Ts::from),
            summary: r.summary,
            labels: r.labels,
            annotations: r.annotations,
            receiver: r.receiver,
            created_at: r.created_at.0,
        }
    }
}

/// A page of the history with the true total.
pub async fn list(
    db: &Db,
    within: &OrganizationsRead,
    filter: &HistoryFilter,
    (order, direction): (HistoryOrder, SortDirection),
    request: PageRequest,
) -> Result<Page<Record>, StoreError> {
    let total = total(db, within, filter).await?;
    // Otherwise all alerts that fire would be passed over in search of a resolved one.
    if request.offset() >= total {
        return Ok(Page { rows: Vec::new(), total, request });
    }
    let mut q = Q::new(
        "SELECT h.id, h.organization_id, h.system_key, h.alertname, h.severity, h.status, h.fingerprint, \
         h.starts_at, h.ends_at, h.summary, CAST(h.labels AS TEXT) AS labels, \
         CAST(h.annotations AS TEXT) AS annotations, h.receiver, h.created_at FROM (SELECT h.id",
    );
    push_from(&mut q, within, filter);
    push_order(&mut q, order, direction);
    q.push(" LIMIT ? OFFSET ?").arg(request.page_size).arg(request.offset());
    q.push(") page [[JOIN||CROSS JOIN]] alert_history h ON h.id = page.id");
    push_order(&mut q, order, direction);
    let rows: Vec<Row> = q.all(db).await?;
    Ok(Page { rows: rows.into_iter().map(Record::from).collect(), total, request })
}

async fn total(db: &Db, within: &OrganizationsRead, filter: &HistoryFilter) -> Result<u64, StoreError> {
    if *filter == HistoryFilter::default() {
        return super::stats::resolved(db, within).await;
    }
    let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT)");
    push_from(&mut q, within, filter);
    q.count(db).await
}

pub(super) fn push_from(q: &mut Q, within: &OrganizationsRead, filter: &HistoryFilter) {
    // The outer join keeps SQLite from reading all organizations beforehand.
    q.push(
        " FROM alert_history h [[JOIN||LEFT JOIN]] organizations o ON o.id = h.organization_id WHERE 1 = 1",
    );
    within.push(q, "h", "organization_id");
    filter.push(q);
}

fn push_order(q: &mut Q, order: HistoryOrder, direction: SortDirection) {
    let word = direction.as_str();
    let terms: Vec<String> = order.terms().iter().map(|term| format!("{term} {word}")).collect();
    q.push(&format!(" ORDER BY {}", terms.join(", ")));
}
