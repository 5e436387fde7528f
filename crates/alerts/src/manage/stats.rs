//! History, trend, statistics and the catalogue of names (spec: alert-management#figures).

use super::{Named, cached_figures, fingerprint, tenant, within};
use crate::Alerts;
use bailiwick_alertmanager::sender_labels::is_server_owned;
use bailiwick_domain::{Error, OrgId, Page, PageRequest, Result, SortDirection, SystemId, Ts};
use bailiwick_fleet::systems;
use bailiwick_platform::{list_filters, trend::parse_period};
use bailiwick_policy::{Caller, Resource, Scope, list_scope};
use bailiwick_settings::CatalogueEntry;
use bailiwick_store::history::{
    OrganizationsRead,
    list::{self, HistoryFilter, HistoryOrder, Record},
    stats,
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, time::Duration};

pub(super) const DAY_SECS: i64 = 86_400;
/// Names in the list of statistics by default, and at most.
pub const TOP: u64 = 10;
pub const TOP_MOST: u64 = 50;
/// How long a request for statistics waits for a place.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// A list of the history as asked for.
#[derive(Clone, Debug)]
pub struct HistoryQuery {
    /// Filters.
    pub filter: HistoryFilter,
    pub order: (HistoryOrder, SortDirection),
    pub page: PageRequest,
}

/// A time of a filter as sent; an empty one is none.
///
/// # Errors
/// 400 that names the parameter.
pub fn time(name: &str, sent: Option<&str>) -> Result<Option<Ts>> {
    let Some(text) = sent.filter(|text| !text.is_empty()) else { return Ok(None) };
    let wrong =
        |_| Error::bad_request(format!("invalid {name}: must be RFC3339 (e.g. 2026-01-01T00:00:00Z)"));
    text.parse::<Ts>().map(Some).map_err(wrong)
}

fn check(filter: &HistoryFilter) -> Result<()> {
    list_filters::check_lengths([
        filter.system_keys.as_ref().map(Vec::len),
        filter.names.as_ref().map(Vec::len),
        filter.severities.as_ref().map(Vec::len),
        filter.statuses.as_ref().map(Vec::len),
    ])
}

/// `GET /alerts/history`.
///
/// # Errors
/// 403 for an organization out of reach.
pub async fn history(
    service: &Alerts,
    caller: &Caller,
    named: &Named,
    query: impl FnOnce() -> Result<HistoryQuery>,
) -> Result<Page<Record>> {
    let within = within(service, caller, named).await?;
    let query = query()?;
    check(&query.filter)?;
    Ok(list::list(&service.platform.db, &within, &query.filter, query.order, query.page)
        .await?
        .map(of_present_home))
}

/// `GET /systems/{id}/alerts/history`; filters by system do not count.
///
/// # Errors
/// 404 unless the caller may read the system.
pub async fn history_of_system(
    service: &Alerts,
    caller: &Caller,
    id: Option<SystemId>,
    query: impl FnOnce() -> Result<HistoryQuery>,
) -> Result<Page<Record>> {
    let found = systems::load(&service.fleet, caller, id).await?.system;
    let query = query()?;
    check(&query.filter)?;
    let within = OrganizationsRead::all(Scope::Organization(found.organization.id));
    let filter = HistoryFilter { system_keys: Some(vec![found.system_key]), ..query.filter };
    Ok(list::list(&service.platform.db, &within, &filter, query.order, query.page)
        .await?
        .map(of_present_home))
}

/// The occurrences of one alert of one organization, the newest first; one that fires is among them.
///
/// # Errors
/// 400 without an organization, 403 for one out of reach.
pub async fn occurrences(
    service: &Alerts,
    caller: &Caller,
    organizations: &[String],
    alert: &str,
    page: PageRequest,
) -> Result<(OrgId, Page<Record>)> {
    let tenant = tenant(service, caller, organizations).await?;
    if fingerprint(alert).is_err() {
        return Ok((tenant, Page { rows: Vec::new(), total: 0, request: page }));
    }
    let statuses = HistoryFilter::STATUSES.list().into_iter().map(str::to_owned).collect();
    let filter = HistoryFilter {
        fingerprint: Some(alert.to_owned()),
        statuses: Some(statuses),
        ..HistoryFilter::default()
    };
    let within = OrganizationsRead::all(Scope::Organization(tenant));
    let order = (HistoryOrder::StartsAt, SortDirection::Desc);
    let found = list::list(&service.platform.db, &within, &filter, order, page).await?;
    Ok((tenant, found.map(of_present_home)))
}

/// The row without what names another organization: it has moved with its system since, and its present readers may not
/// see that organization.
fn of_present_home(mut record: Record) -> Record {
    let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let (mut labels, mut annotations) = (object(&record.labels), object(&record.annotations));
    let home = record.organization_id.to_string();
    if labels.get("organization_id").is_some_and(|named| *named != home) {
        labels.retain(|name, _| !names_organization(name));
        annotations.retain(|name, _| !names_organization(name));
        record.labels = Value::Object(labels).to_string();
        record.annotations = Value::Object(annotations).to_string();
    }
    record
}

/// Whether the service says by this label or annotation to which organization the system belongs.
fn names_organization(name: &str) -> bool {
    is_server_owned(name) && name.starts_with("organization_")
}

/// Resolved alerts over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// Days looked back, today included.
    pub period: u16,
    /// Of the period.
    pub current: u64,
    /// Of as many days before it.
    pub previous: u64,
    /// Days since 1970 and their numbers, every day of the period.
    pub points: Vec<(i64, u64)>,
}

/// `GET /alerts/trend`. `period` as sent; none = 7.
///
/// # Errors
/// 403 for an organization out of reach, 400 for another period.
pub async fn trend(service: &Alerts, caller: &Caller, named: &Named, period: Option<&str>) -> Result<Trend> {
    let within = within(service, caller, named).await?;
    let period = parse_period(period)?;
    let today = service.platform.now().secs().div_euclid(DAY_SECS);
    let first = today - i64::from(period) + 1;
    let from = first - i64::from(period);
    let days = async { Ok(stats::resolved_by_day(&service.platform.db, &within, from).await?) };
    let days = cached_figures::of_history(service, "resolved by day", &within, &from, days).await?;
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    let previous = days.iter().filter(|(day, _)| *day < first).map(|(_, n)| count(*n)).sum();
    let mut points: BTreeMap<i64, u64> = (first..=today).map(|day| (day, 0)).collect();
    for (day, n) in days.into_iter().filter(|(day, _)| *day >= first) {
        // A row that another replica, slightly ahead, dates to tomorrow belongs to today.
        *points.entry(day.min(today)).or_default() += count(n);
    }
    Ok(Trend { period, current: points.values().sum(), previous, points: points.into_iter().collect() })
}

/// Statistics as asked for.
#[derive(Clone, Copy, Debug)]
pub struct StatisticsQuery {
    /// Resolved at this time or later.
    pub from: Option<Ts>,
    /// Resolved before this time.
    pub before: Option<Ts>,
    /// How many names and systems, from 1 to [`TOP_MOST`].
    pub top: u64,
}

/// Statistics over resolved alerts.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    pub figures: stats::Statistics,
    /// Mean time between two alerts in seconds.
    pub between_seconds: Option<f64>,
}

/// `GET /alerts/stats`.
///
/// # Errors
/// 403 for an organization out of reach, 400 for times that cannot be read or are turned, 503 while too many are made.
pub async fn statistics(
    service: &Alerts,
    caller: &Caller,
    named: &Named,
    query: impl FnOnce() -> Result<StatisticsQuery>,
) -> Result<Statistics> {
    let within = within(service, caller, named).await?;
    let query = query()?;
    if query.from.zip(query.before).is_some_and(|(from, before)| before <= from) {
        return Err(Error::bad_request("to_date must be after from_date"));
    }
    let filter = HistoryFilter { from: query.from, before: query.before, ..HistoryFilter::default() };
    let organization = caller.org().ok_or_else(|| Error::unauthenticated("authentication required"))?;
    let permits = &service.state.statistics;
    let _permit =
        permits.acquire(organization.id, LONGEST_WAIT, "statistics before these take too long").await?;
    let figures = stats::statistics(&service.platform.db, &within, &filter, query.top).await?;
    let seconds = |from: Ts, to: Ts| to.since(from).as_secs_f64();
    let between_seconds = match (query.from.zip(query.before), figures.starts) {
        (Some((from, to)), _) if figures.total > 0 => Some(seconds(from, to) / figures.total as f64),
        (None, Some((first, last))) if figures.total >= 2 => {
            Some(seconds(first, last) / (figures.total - 1) as f64)
        }
        _ => None,
    };
    Ok(Statistics { figures, between_seconds })
}

/// `GET /filters/alerts`: the configured names and those seen in the caller's history, by name.
///
/// # Errors
/// The database's.
pub async fn catalogue(service: &Alerts, caller: &Caller) -> Result<Vec<CatalogueEntry>> {
    let within = OrganizationsRead::all(list_scope(caller, Resource::Systems)?);
    let entries = &service.settings.alerting.catalogue;
    let mut all: BTreeMap<String, CatalogueEntry> =
        entries.iter().map(|e| (e.name.clone(), e.clone())).collect();
    let names = async { Ok(stats::names(&service.platform.db, &within).await?) };
    let names = cached_figures::of_history(service, "names in the history", &within, &(), names).await?;
    // The newest first: of a name with several severities the last one counts.
    for (name, severity) in names {
        let entry = all.entry(name);
        let name = entry.key().clone();
        entry.or_insert_with(|| CatalogueEntry {
            name,
            severity: severity.unwrap_or_else(|| "info".to_owned()),
            service: None,
        });
    }
    Ok(all.into_values().collect())
}
