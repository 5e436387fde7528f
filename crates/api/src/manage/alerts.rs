//! Alerts, their history and figures (spec: alert-management#active-alerts, alert-management#figures).

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Params, PathId, Service, Who},
    wire::alerts::{AlertFilters, AlertList, AlertStatistics, AlertTotals, AlertTrend, HistoryList},
};
use bailiwick_alerts::{
    Alerts,
    manage::{
        self, ActiveFilter, ActiveOrder, AlertQuery, HistoryFilter, HistoryOrder, HistoryQuery, Named,
        StatisticsQuery,
    },
};
use bailiwick_domain::{Result, SortDirection, SystemId};
use bailiwick_web::values;

/// Rows of a page unless the client says otherwise.
const PAGE_SIZE: u64 = 50;
const HISTORY_PAGE_SIZE: u64 = 20;
/// The assignee of unassigned alerts.
const NOBODY: &str = "none";

/// The word of `include` that adds the organizations below the named ones.
pub(crate) const DESCENDANTS: &str = "descendants";

/// The organizations that the query names.
pub(super) fn named(params: &Params) -> Named {
    Named {
        ids: params.many("organization_id"),
        with_descendants: params.one("include") == Some(DESCENDANTS),
    }
}

fn query(params: &Params) -> AlertQuery {
    let words = |key| values(params, key, Some);
    let statuses = match (words("status"), words("state")) {
        (Some(status), Some(state)) => Some([status, state].concat()),
        (status, state) => status.or(state),
    };
    AlertQuery {
        statuses,
        filter: ActiveFilter {
            severities: words("severity"),
            system_keys: words("system_key"),
            names: words("alertname"),
            assignees: values(params, "assigned_user_id", |v| v.parse().ok()),
            or_unassigned: params.many("assigned_user_id").iter().any(|v| v == NOBODY),
        },
        order: params.one("sort_by").and_then(|by| ActiveOrder::WORDS.parse(by)).unwrap_or_default(),
        direction: SortDirection::parse(params.falling()),
        page: params.page(PAGE_SIZE),
    }
}

/// `GET /alerts`.
pub async fn list(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<AlertList>> {
    let found = manage::active(&alerts, &caller, &named(&params), query(&params)).await?;
    let list = AlertList::of(found.page, found.warnings, (params.one("sort_by"), params.falling()));
    Ok(Answer::ok("alerts retrieved successfully", list))
}

/// `GET /systems/{id}/alerts`.
pub async fn list_of_system(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    PathId(system): PathId<SystemId>,
    params: Params,
) -> Outcome<Answer<AlertList>> {
    let page = manage::active_of_system(&alerts, &caller, system, query(&params)).await?;
    let list = AlertList::of(page, Vec::new(), (params.one("sort_by"), params.falling()));
    Ok(Answer::ok("alerts retrieved successfully", list))
}

/// `GET /alerts/totals`.
pub async fn totals(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<AlertTotals>> {
    let totals = manage::totals(&alerts, &caller, &named(&params)).await?;
    Ok(Answer::ok("alerts totals retrieved successfully", totals.into()))
}

/// `GET /alerts/trend`.
pub async fn trend(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<AlertTrend>> {
    let trend = manage::trend(&alerts, &caller, &named(&params), params.one("period")).await?;
    Ok(Answer::ok("alerts trend retrieved successfully", trend.into()))
}

/// `GET /alerts/stats`.
pub async fn statistics(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<AlertStatistics>> {
    let query = || {
        Ok(StatisticsQuery {
            from: manage::time("from_date", params.one("from_date"))?,
            before: manage::time("to_date", params.one("to_date"))?,
            top: params.one("top").and_then(|top| top.parse().ok()),
        })
    };
    let statistics = manage::statistics(&alerts, &caller, &named(&params), query).await?;
    Ok(Answer::ok("alerts stats retrieved successfully", statistics.into()))
}

fn history_query(params: &Params) -> Result<HistoryQuery> {
    let words = |key| values(params, key, Some);
    let filter = HistoryFilter {
        system_keys: words("system_key"),
        names: words("alertname"),
        severities: words("severity"),
        statuses: values(params, "status", |v| HistoryFilter::STATUSES.parse(&v).map(str::to_owned)),
        from: manage::time("from_date", params.one("from_date"))?,
        before: manage::time("to_date", params.one("to_date"))?,
    };
    let order = params.one("sort_by").and_then(|by| HistoryOrder::WORDS.parse(by)).unwrap_or_default();
    let order = (order, SortDirection::parse(params.falling()));
    Ok(HistoryQuery { filter, order, page: params.page(HISTORY_PAGE_SIZE) })
}

/// `GET /alerts/history`.
pub async fn history(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<HistoryList>> {
    let query = || history_query(&params);
    let page = manage::history(&alerts, &caller, &named(&params), query).await?;
    let list = HistoryList::of(page, (params.one("sort_by"), params.falling()))?;
    Ok(Answer::ok("alerts history retrieved successfully", list))
}

/// `GET /systems/{id}/alerts/history`.
pub async fn history_of_system(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    PathId(system): PathId<SystemId>,
    params: Params,
) -> Outcome<Answer<HistoryList>> {
    let query = || history_query(&params);
    let page = manage::history_of_system(&alerts, &caller, system, query).await?;
    let list = HistoryList::of(page, (params.one("sort_by"), params.falling()))?;
    Ok(Answer::ok("alerts history retrieved successfully", list))
}

/// `GET /filters/alerts`.
pub async fn filters(Service(alerts): Service<Alerts>, Who(caller): Who) -> Outcome<Answer<AlertFilters>> {
    let names = manage::catalogue(&alerts, &caller).await?;
    Ok(Answer::ok("alert filters retrieved successfully", names.into()))
}
