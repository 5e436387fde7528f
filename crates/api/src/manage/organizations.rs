//! Distributors, resellers and customers: one set of handlers; the route determines the family (spec:
//! organizations#operations).

use super::PAGE_SIZE;
use crate::{
    envelope::{Answer, Cached, Gzip},
    error::Outcome,
    extract::{Ctx, Family, JsonBody, Params, PathId, Service, Who},
    wire::{
        organization_state::{DeletedOutput, ReactivatedOutput, RestoredOutput, SuspendedOutput},
        organization_stats::{StatsOutput, TotalOutput},
        organizations::{OrganizationInput, OrganizationList, OrganizationOutput},
    },
};
use axum::response::{IntoResponse, Response};
use bailiwick_directory::{
    Directory,
    organizations::{self, Move},
};
use bailiwick_domain::{CursorPage, OrgId};
use bailiwick_platform::conditions::Version;
use bailiwick_web::organization_query;

/// `GET /{p}`.
pub async fn list(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Family(family): Family,
    gzip: Gzip,
    params: Params,
) -> Outcome<Response> {
    let query = organization_query(&params, family, PAGE_SIZE);
    let of = |page| OrganizationList::of(family, page, params.one("sort_by"), params.one("sort_direction"));
    let answer = |list| Answer::ok(format!("{} retrieved successfully", family.plural()), list);
    let Some(cursor) = params.cursor()? else {
        let write = |page| answer(of(page)).write();
        let list = organizations::list(&directory, &caller, family, query, write).await?;
        return Ok(Cached(list, gzip).into_response());
    };
    let CursorPage { page, next_cursor } =
        organizations::walk(&directory, &caller, family, query, cursor).await?;
    Ok(answer(of(page).walked(next_cursor)).into_response())
}

/// `POST /{p}`.
pub async fn create(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    body: JsonBody,
) -> Outcome<Answer<OrganizationOutput>> {
    let body = || Ok(body.parse::<OrganizationInput>()?.into());
    let created = organizations::create(&directory, &caller, &request, family, body).await?;
    Ok(Answer::created(format!("{} created successfully", family.as_str()), created.into()))
}

/// `GET /{p}/{id}`.
pub async fn show(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
) -> Outcome<Response> {
    let found = organizations::get(&directory, &caller, family, id).await?;
    let version = Version::of(&directory.platform, &found)?;
    let message = format!("{} retrieved successfully", family.as_str());
    Ok(Answer::ok(message, OrganizationOutput::from(found)).tagged(
        &directory.platform,
        &request,
        &version,
    )?)
}

/// `PUT /{p}/{id}`.
pub async fn update(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
    body: JsonBody,
) -> Outcome<Answer<OrganizationOutput>> {
    let body = || Ok(body.parse::<OrganizationInput>()?.into());
    let updated = organizations::update(&directory, &caller, &request, family, id, body).await?;
    Ok(Answer::ok(format!("{} updated successfully", family.as_str()), updated.into()))
}

/// `PATCH /{p}/{id}/suspend`.
pub async fn suspend(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
) -> Outcome<Answer<SuspendedOutput>> {
    let moved = organizations::change_state(&directory, &caller, &request, family, id, Move::Suspend).await?;
    Ok(Answer::ok(format!("{} suspended successfully", family.as_str()), moved.into()))
}

/// `PATCH /{p}/{id}/reactivate`.
pub async fn reactivate(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
) -> Outcome<Answer<ReactivatedOutput>> {
    let moved =
        organizations::change_state(&directory, &caller, &request, family, id, Move::Reactivate).await?;
    Ok(Answer::ok(format!("{} reactivated successfully", family.as_str()), moved.into()))
}

/// `DELETE /{p}/{id}`.
pub async fn soft_delete(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
) -> Outcome<Answer<DeletedOutput>> {
    let moved = organizations::change_state(&directory, &caller, &request, family, id, Move::Delete).await?;
    Ok(Answer::ok(format!("{} deleted successfully", family.as_str()), moved.into()))
}

/// `PATCH /{p}/{id}/restore`.
pub async fn restore(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
) -> Outcome<Answer<RestoredOutput>> {
    let moved = organizations::change_state(&directory, &caller, &request, family, id, Move::Restore).await?;
    Ok(Answer::ok(format!("{} restored successfully", family.as_str()), moved.into()))
}

/// `DELETE /{p}/{id}/destroy`.
pub async fn destroy(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
) -> Outcome<Answer<()>> {
    organizations::destroy(&directory, &caller, &request, family, id).await?;
    Ok(Answer::ok(format!("{} permanently destroyed", family.as_str()), ()))
}

/// `GET /{p}/{id}/stats`.
pub async fn stats(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Family(family): Family,
    PathId(id): PathId<OrgId>,
    gzip: Gzip,
) -> Outcome<Cached> {
    let write = |stats| {
        let message = format!("{} stats retrieved successfully", family.as_str());
        Answer::ok(message, StatsOutput::of(family, stats)).write()
    };
    Ok(Cached(organizations::stats(&directory, &caller, family, id, write).await?, gzip))
}

/// `GET /{p}/totals`.
pub async fn totals(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Family(family): Family,
) -> Outcome<Answer<TotalOutput>> {
    let total = organizations::family_total(&directory, &caller, family).await?;
    Ok(Answer::ok(format!("{} totals retrieved", family.plural()), TotalOutput { total }))
}
