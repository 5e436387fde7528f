//! Alerts, their history and figures (spec: alert-management#active-alerts, alert-management#figures).

use super::{LONG_PAGE_SIZE, PAGE_SIZE};
use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Params, PathId, Service, Who},
    wire::alerts::{AlertFilters, AlertList, AlertStatistics, AlertTotals, AlertTrend, HistoryList},
};
use bailiwick_alerts::{
    Alerts,
    manage::{self, ActiveOrder, HistoryOrder, StatisticsQuery},
};
use bailiwick_domain::SystemId;
use bailiwick_web::alerts::{active, history as history_query, named};

/// `GET /alerts`.
pub async fn list(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<AlertList>> {
    let found = manage::active(&alerts, &caller, &named(&params), active(&params, LONG_PAGE_SIZE)).await?;
    let order = (params.one("sort_by"), params.falling(&ActiveOrder::WORDS));
    let list = AlertList::of(found.page, found.warnings, order);
    Ok(Answer::ok("alerts retrieved successfully", list))
}

/// `GET /systems/{id}/alerts`.
pub async fn list_of_system(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    PathId(system): PathId<SystemId>,
    params: Params,
) -> Outcome<Answer<AlertList>> {
    let page = manage::active_of_system(&alerts, &caller, system, active(&params, LONG_PAGE_SIZE)).await?;
    let order = (params.one("sort_by"), params.falling(&ActiveOrder::WORDS));
    let list = AlertList::of(page, Vec::new(), order);
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
            top: params.number("top", manage::TOP_MOST, manage::TOP),
        })
    };
    let statistics = manage::statistics(&alerts, &caller, &named(&params), query).await?;
    Ok(Answer::ok("alerts stats retrieved successfully", statistics.into()))
}

/// `GET /alerts/history`.
pub async fn history(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<HistoryList>> {
    let query = || history_query(&params, PAGE_SIZE);
    let page = manage::history(&alerts, &caller, &named(&params), query).await?;
    let list = HistoryList::of(page, (params.one("sort_by"), params.falling(&HistoryOrder::WORDS)))?;
    Ok(Answer::ok("alerts history retrieved successfully", list))
}

/// `GET /systems/{id}/alerts/history`.
pub async fn history_of_system(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    PathId(system): PathId<SystemId>,
    params: Params,
) -> Outcome<Answer<HistoryList>> {
    let query = || history_query(&params, PAGE_SIZE);
    let page = manage::history_of_system(&alerts, &caller, system, query).await?;
    let list = HistoryList::of(page, (params.one("sort_by"), params.falling(&HistoryOrder::WORDS)))?;
    Ok(Answer::ok("alerts history retrieved successfully", list))
}

/// `GET /filters/alerts`.
pub async fn filters(Service(alerts): Service<Alerts>, Who(caller): Who) -> Outcome<Answer<AlertFilters>> {
    let names = manage::catalogue(&alerts, &caller).await?;
    Ok(Answer::ok("alert filters retrieved successfully", names.into()))
}
