//! Systems (spec: systems#list).

use super::LONG_PAGE_SIZE;
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
use bailiwick_domain::{CursorPage, SystemId};
use bailiwick_fleet::{Fleet, systems};
use bailiwick_platform::conditions::Version;
use bailiwick_web::{choice_search, system_query};

/// `GET /systems`.
pub async fn list(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<SystemList>> {
    let (query, cursor) = (system_query(&params, LONG_PAGE_SIZE), params.cursor()?);
    let of = |page| SystemList::of(&fleet, page, params.one("sort_by"), params.one("sort_direction"));
    let list = match cursor {
        None => of(systems::list(&fleet, &caller, query).await?),
        Some(cursor) => {
            let CursorPage { page, next_cursor } = systems::walk(&fleet, &caller, query, cursor).await?;
            let list = of(page);
            SystemList { pagination: list.pagination.walked(next_cursor), ..list }
        }
    };
    Ok(Answer::ok("systems retrieved successfully", list))
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
pub async fn filters(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<SystemFilters>> {
    let choices = systems::choices(&fleet, &caller, choice_search(&params).as_ref()).await?;
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
    let version = Version::of(&fleet.platform, &found)?;
    let answer = Answer::ok("system retrieved successfully", SystemOutput::of(&fleet, found));
    Ok(answer.tagged(&fleet.platform, &request, &version)?)
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
