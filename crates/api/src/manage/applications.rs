//! Applications (spec: applications#operations).

use super::LONG_PAGE_SIZE;
use crate::{
    envelope::{Answer, Pagination},
    error::Outcome,
    extract::{Ctx, JsonBody, Params, PathId, Service, Who},
    wire::{
        applications::{
            ApplicationFilters, ApplicationInput, ApplicationList, ApplicationOutput, ApplicationSummary,
            ApplicationTotals, AssignInput,
        },
        stats::TrendOutput,
    },
};
use axum::response::Response;
use bailiwick_domain::{CursorPage, SortDirection};
use bailiwick_fleet::{
    Fleet,
    applications::{self, ApplicationRef, SummaryOrder, SummaryQuery},
};
use bailiwick_platform::conditions::Version;
use bailiwick_web::{application_query, choice_search};

/// `GET /applications`.
pub async fn list(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<ApplicationList>> {
    let (query, cursor) = (application_query(&params, LONG_PAGE_SIZE), params.cursor()?);
    let of = |page| ApplicationList::of(page, params.one("sort_by"), params.one("sort_direction"));
    let list = match cursor {
        None => of(applications::list(&fleet, &caller, query).await?)?,
        Some(cursor) => {
            let CursorPage { page, next_cursor } = applications::walk(&fleet, &caller, query, cursor).await?;
            let list = of(page)?;
            ApplicationList { pagination: list.pagination.walked(next_cursor), ..list }
        }
    };
    Ok(Answer::ok("applications retrieved successfully", list))
}

/// `GET /applications/{id}`.
pub async fn show(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    which: PathId<ApplicationRef>,
) -> Outcome<Response> {
    let found = applications::get(&fleet, &caller, named(which)).await?;
    let version = Version::of(&fleet.platform, &found)?;
    let answer = Answer::ok("application retrieved successfully", ApplicationOutput::of(found)?);
    Ok(answer.tagged(&fleet.platform, &request, &version)?)
}

fn named(PathId(which): PathId<ApplicationRef>) -> ApplicationRef {
    which.unwrap_or(ApplicationRef::Nonsense)
}

/// `PUT /applications/{id}`.
pub async fn update(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    which: PathId<ApplicationRef>,
    body: JsonBody,
) -> Outcome<Answer<ApplicationOutput>> {
    let notes = || Ok(body.parse_optional::<ApplicationInput>()?.notes);
    let updated = applications::set_notes(&fleet, &caller, &request, named(which), notes).await?;
    Ok(Answer::ok("application updated successfully", ApplicationOutput::of(updated)?))
}

/// `DELETE /applications/{id}`.
pub async fn delete(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    which: PathId<ApplicationRef>,
) -> Outcome<Answer<()>> {
    applications::delete(&fleet, &caller, &request, named(which)).await?;
    Ok(Answer::ok("application deleted successfully", ()))
}

/// `PATCH /applications/{id}/assign`.
pub async fn assign(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    which: PathId<ApplicationRef>,
    body: JsonBody,
) -> Outcome<Answer<ApplicationOutput>> {
    let to = || Ok(body.parse_optional::<AssignInput>()?.organization_id);
    let assigned = applications::assign(&fleet, &caller, &request, named(which), to).await?;
    Ok(Answer::ok("organization assigned successfully", ApplicationOutput::of(assigned)?))
}

/// `PATCH /applications/{id}/unassign`.
pub async fn unassign(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    which: PathId<ApplicationRef>,
) -> Outcome<Answer<ApplicationOutput>> {
    let freed = applications::unassign(&fleet, &caller, &request, named(which)).await?;
    Ok(Answer::ok("organization unassigned successfully", ApplicationOutput::of(freed)?))
}

/// `GET /applications/totals`.
pub async fn totals(Service(fleet): Service<Fleet>, Who(caller): Who) -> Outcome<Answer<ApplicationTotals>> {
    let totals = applications::totals(&fleet, &caller).await?;
    Ok(Answer::ok("application totals retrieved successfully", totals.into()))
}

/// `GET /applications/summary`.
pub async fn summary(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<ApplicationSummary>> {
    let direction = params.falling(&SummaryOrder::WORDS);
    let sort_by = params.one("sort_by");
    let query = SummaryQuery {
        organization_id: params.one("organization_id").map(str::to_owned),
        include_hierarchy: params.is_true("include_hierarchy"),
        system_id: params.one("system_id").map(str::to_owned),
        order: sort_by.and_then(|by| SummaryOrder::WORDS.parse(by)).unwrap_or(SummaryOrder::Count),
        direction: SortDirection::parse(direction),
        page: params.one("page_size").map(|_| params.page(LONG_PAGE_SIZE)),
    };
    let is_paged = query.page.is_some();
    let summary = applications::summary(&fleet, &caller, query).await?;
    let pagination = is_paged.then(|| Pagination::of(&summary.types, sort_by, Some(direction)));
    let output = ApplicationSummary::of(summary, pagination);
    Ok(Answer::ok("application type summary retrieved successfully", output))
}

/// `GET /applications/trend`.
pub async fn trend(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<TrendOutput>> {
    let trend = applications::trend(&fleet, &caller, params.one("period")).await?;
    let label = match trend.period {
        180 => "6 months",
        365 => "1 year",
        30 => "30 days",
        _ => "7 days",
    };
    let output = TrendOutput::from(trend).labelled(label).with_older_spelling();
    Ok(Answer::ok("applications trend retrieved successfully", output))
}

/// `GET /filters/applications`.
pub async fn filters(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<ApplicationFilters>> {
    let choices = applications::choices(&fleet, &caller, choice_search(&params).as_ref()).await?;
    Ok(Answer::ok("application filters retrieved successfully", choices.into()))
}
