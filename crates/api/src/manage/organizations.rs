//! Distributors, resellers and customers: one set of handlers, the route says which family (spec:
//! organizations#operations).

use crate::{
    envelope::{Answer, Cached},
    error::Outcome,
    extract::{Ctx, Family, Gzip, JsonBody, Params, PathId, Who},
    wire::{
        organization_figures::{StatsOutput, TotalOutput},
        organization_state::{DeletedOutput, ReactivatedOutput, RestoredOutput, SuspendedOutput},
        organizations::{OrganizationInput, OrganizationList, OrganizationOutput},
    },
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_directory::organizations::{self, ListQuery, Move};
use bailiwick_domain::{OrgId, SortDirection};
use bailiwick_platform::conditions::Version;

/// Rows of a page unless the client says otherwise.
const PAGE_SIZE: u64 = 20;

/// `GET /{p}`.
pub async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Family(family): Family,
    gzip: Gzip,
    params: Params,
) -> Outcome<Cached> {
    let write = |page| {
        let (sort_by, direction) = (params.one("sort_by"), params.one("sort_direction"));
        let list = OrganizationList::of(family, page, sort_by, direction);
        Answer::ok(format!("{} retrieved successfully", family.plural()), list).write()
    };
    Ok(Cached(organizations::list(&app, &caller, family, query(&params), write).await?, gzip))
}

pub(super) fn query(params: &Params) -> ListQuery {
    ListQuery {
        page: params.page(PAGE_SIZE),
        search: params.one("search").unwrap_or_default().to_owned(),
        sort_by: params.one("sort_by").unwrap_or_default().to_owned(),
        direction: SortDirection::parse(params.one("sort_direction").unwrap_or_default()),
        status: params.many("status"),
        created_by: params.many("created_by"),
        organization_id: params.many("organization_id"),
        include_hierarchy: params.is_true("include_hierarchy"),
    }
}

/// `POST /{p}`.
pub async fn create(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    body: JsonBody,
) -> Outcome<Answer<OrganizationOutput>> {
    let body = || Ok(body.parse::<OrganizationInput>()?.into());
    let created = organizations::create(&app, &caller, &request, family, body).await?;
    Ok(Answer::created(format!("{} created successfully", family.as_str()), created.into()))
}

/// `GET /{p}/{id}`.
pub async fn show(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
) -> Outcome<Response> {
    let found = organizations::get(&app, &caller, family, id).await?;
    let version = Version::of(&app, &found)?;
    let message = format!("{} retrieved successfully", family.as_str());
    Ok(Answer::ok(message, OrganizationOutput::from(found)).tagged(&app, &request, &version)?)
}

/// `PUT /{p}/{id}`.
pub async fn update(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
    body: JsonBody,
) -> Outcome<Answer<OrganizationOutput>> {
    let body = || Ok(body.parse::<OrganizationInput>()?.into());
    let updated = organizations::update(&app, &caller, &request, family, id, body).await?;
    Ok(Answer::ok(format!("{} updated successfully", family.as_str()), updated.into()))
}

/// `PATCH /{p}/{id}/suspend`.
pub async fn suspend(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
) -> Outcome<Answer<SuspendedOutput>> {
    let moved = organizations::change_state(&app, &caller, &request, family, id, Move::Suspend).await?;
    Ok(Answer::ok(format!("{} suspended successfully", family.as_str()), moved.into()))
}

/// `PATCH /{p}/{id}/reactivate`.
pub async fn reactivate(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
) -> Outcome<Answer<ReactivatedOutput>> {
    let moved = organizations::change_state(&app, &caller, &request, family, id, Move::Reactivate).await?;
    Ok(Answer::ok(format!("{} reactivated successfully", family.as_str()), moved.into()))
}

/// `DELETE /{p}/{id}`.
pub async fn soft_delete(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
) -> Outcome<Answer<DeletedOutput>> {
    let moved = organizations::change_state(&app, &caller, &request, family, id, Move::Delete).await?;
    Ok(Answer::ok(format!("{} deleted successfully", family.as_str()), moved.into()))
}

/// `PATCH /{p}/{id}/restore`.
pub async fn restore(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
) -> Outcome<Answer<RestoredOutput>> {
    let moved = organizations::change_state(&app, &caller, &request, family, id, Move::Restore).await?;
    Ok(Answer::ok(format!("{} restored successfully", family.as_str()), moved.into()))
}

/// `DELETE /{p}/{id}/destroy`.
pub async fn destroy(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
) -> Outcome<Answer<()>> {
    organizations::destroy(&app, &caller, &request, family, id).await?;
    Ok(Answer::ok(format!("{} permanently destroyed", family.as_str()), ()))
}

/// `GET /{p}/{id}/stats`.
pub async fn stats(
    State(app): State<App>,
    Who(caller): Who,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
    gzip: Gzip,
) -> Outcome<Cached> {
    let write = |stats| {
        let message = format!("{} stats retrieved successfully", family.as_str());
        Answer::ok(message, StatsOutput::of(family, stats)).write()
    };
    Ok(Cached(organizations::stats(&app, &caller, family, id, write).await?, gzip))
}

/// `GET /{p}/totals`.
pub async fn totals(
    State(app): State<App>,
    Who(caller): Who,
    Family(family): Family,
) -> Outcome<Answer<TotalOutput>> {
    let total = organizations::family_total(&app, &caller, family).await?;
    Ok(Answer::ok(format!("{} totals retrieved", family.plural()), TotalOutput { total }))
}
