//! Systems (spec: systems#list).

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Ctx, JsonBody, Params, PathId, Service, Who},
    wire::{
        stats::TrendOutput,
        system_stats::{SystemFilters, SystemTotals},
        systems::{
            NewSystemInput, ReachabilityOutput, RegenerateInput, SystemInput, SystemList, SystemOutput,
        },
    },
};
use axum::response::Response;
use bailiwick_domain::{OrgId, SortDirection, SystemId};
use bailiwick_fleet::{
    Fleet,
    systems::{self, StatusFilter, SystemFilter, SystemOrder, SystemQuery, VersionFilter},
};
use bailiwick_platform::conditions::Version;

/// Rows of a page unless the client says otherwise.
const PAGE_SIZE: u64 = 50;

/// `GET /systems`.
pub async fn list(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<SystemList>> {
    let page = systems::list(&fleet, &caller, query(&params)).await?;
    let list = SystemList::of(&fleet, page, params.one("sort_by"), params.one("sort_direction"));
    Ok(Answer::ok("systems retrieved successfully", list))
}

pub(super) fn query(params: &Params) -> SystemQuery {
    let direction = SortDirection::parse(params.one("sort_direction").unwrap_or_default());
    let order = SystemOrder::WORDS.parse(params.one("sort_by").unwrap_or_default());
    SystemQuery { filter: filter(params), order: order.map(|o| (o, direction)), page: params.page(PAGE_SIZE) }
}

fn filter(params: &Params) -> SystemFilter {
    let text = |key| params.text(key).map(str::to_owned);
    SystemFilter {
        search: text("search"),
        name: text("name"),
        system_key: text("system_key"),
        types: values(params, "type", Some),
        created_by: values(params, "created_by", |v| v.parse::<OrgId>().ok().map(|id| id.0)),
        versions: values(params, "version", |v| Some(version(&v))),
        organizations: values(params, "organization_id", |v| v.parse().ok()),
        include_hierarchy: params.is_true("include_hierarchy"),
        statuses: values(params, "status", |v| StatusFilter::WORDS.parse(&v)),
    }
}

/// A repeated key: absent = no filter; malformed values match nothing, so the filter may become empty.
pub(super) fn values<T>(params: &Params, key: &str, parse: impl Fn(String) -> Option<T>) -> Option<Vec<T>> {
    let sent = params.many(key);
    (!sent.is_empty()).then(|| sent.into_iter().filter_map(parse).collect())
}

pub(super) fn version(value: &str) -> VersionFilter {
    match value.split_once(':') {
        Some((product, version)) => {
            VersionFilter { product: Some(product.to_owned()), version: version.to_owned() }
        }
        None => VersionFilter { product: None, version: value.to_owned() },
    }
}

/// `GET /systems/totals`.
pub async fn totals(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<SystemTotals>> {
    let minutes = params.one("timeout").and_then(|t| t.parse().ok()).filter(|minutes| *minutes > 0);
    let totals = systems::totals(&fleet, &caller, minutes).await?;
    Ok(Answer::ok("systems totals retrieved", totals.into()))
}

/// `GET /systems/trend`.
pub async fn trend(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<TrendOutput>> {
    let trend = systems::trend(&fleet, &caller, params.one("period")).await?;
    let label = match trend.period {
        30 => "Last 30 days",
        180 => "Last 6 months",
        365 => "Last year",
        _ => "Last 7 days",
    };
    Ok(Answer::ok("systems trend retrieved successfully", TrendOutput::from(trend).labelled(label)))
}

/// `GET /filters/systems`.
pub async fn filters(Service(fleet): Service<Fleet>, Who(caller): Who) -> Outcome<Answer<SystemFilters>> {
    let choices = systems::choices(&fleet, &caller).await?;
    Ok(Answer::ok("system filters retrieved successfully", choices.into()))
}

/// `POST /systems`.
pub async fn create(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<SystemOutput>> {
    let body = || Ok(body.parse::<NewSystemInput>()?.into());
    let created = systems::create(&fleet, &caller, &request, body).await?;
    Ok(Answer::created("system created successfully", SystemOutput::created(&fleet, created)))
}

/// `GET /systems/{id}`.
pub async fn show(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<SystemId>,
) -> Outcome<Response> {
    let found = systems::get(&fleet, &caller, id).await?;
    let version = Version::of(&fleet, &found)?;
    let answer = Answer::ok("system retrieved successfully", SystemOutput::of(&fleet, found));
    Ok(answer.tagged(&fleet, &request, &version)?)
}

/// `PUT /systems/{id}`.
pub async fn update(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<SystemId>,
    body: JsonBody,
) -> Outcome<Answer<SystemOutput>> {
    let body = || Ok(body.parse::<SystemInput>()?.into());
    let updated = systems::update(&fleet, &caller, &request, id, body).await?;
    Ok(Answer::ok("system updated successfully", SystemOutput::of(&fleet, updated)))
}

/// `PATCH /systems/{id}/suspend`.
pub async fn suspend(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<SystemId>,
) -> Outcome<Answer<()>> {
    systems::suspend(&fleet, &caller, &request, id).await?;
    Ok(Answer::ok("system suspended successfully", ()))
}

/// `PATCH /systems/{id}/reactivate`.
pub async fn reactivate(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<SystemId>,
) -> Outcome<Answer<()>> {
    systems::reactivate(&fleet, &caller, &request, id).await?;
    Ok(Answer::ok("system reactivated successfully", ()))
}

/// `DELETE /systems/{id}`.
pub async fn delete(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<SystemId>,
) -> Outcome<Answer<()>> {
    systems::delete(&fleet, &caller, &request, id).await?;
    Ok(Answer::ok("system deleted successfully", ()))
}

/// `PATCH /systems/{id}/restore`.
pub async fn restore(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<SystemId>,
) -> Outcome<Answer<()>> {
    systems::restore(&fleet, &caller, &request, id).await?;
    Ok(Answer::ok("system restored successfully", ()))
}

/// `DELETE /systems/{id}/destroy`.
pub async fn destroy(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<SystemId>,
) -> Outcome<Answer<()>> {
    systems::destroy(&fleet, &caller, &request, id).await?;
    Ok(Answer::ok("system permanently destroyed", ()))
}

/// `POST /systems/{id}/regenerate-secret`; the body may be empty.
pub async fn regenerate_secret(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<SystemId>,
    body: JsonBody,
) -> Outcome<Answer<SystemOutput>> {
    let force = || Ok(body.parse_optional::<RegenerateInput>()?.force);
    let renewed = systems::regenerate_secret(&fleet, &caller, &request, id, force).await?;
    Ok(Answer::ok("system secret regenerated successfully", SystemOutput::created(&fleet, renewed)))
}

/// `GET /systems/{id}/reachability`.
pub async fn reachability(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    PathId(id): PathId<SystemId>,
) -> Outcome<Answer<ReachabilityOutput>> {
    let found = systems::reachability(&fleet, &caller, id).await?;
    let data = ReachabilityOutput { reachable: found.reachable, url: found.url };
    Ok(Answer::ok("reachability check completed", data))
}
