//! Users (spec: users#operations).

use super::PAGE_SIZE;
use crate::{
    envelope::{Answer, Cached, Gzip},
    error::Outcome,
    extract::{Ctx, JsonBody, Params, PathId, Service, Who},
    wire::{
        roles::UserFilters,
        stats::{TrendOutput, UserTotals},
        users::{PasswordInput, UserInput, UserList, UserOutput},
    },
};
use axum::response::{IntoResponse, Response};
use bailiwick_directory::{Directory, users};
use bailiwick_domain::{CursorPage, UserId};
use bailiwick_platform::conditions::Version;
use bailiwick_web::{choice_search, user_query};

/// `GET /users`.
pub async fn list(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    gzip: Gzip,
    params: Params,
) -> Outcome<Response> {
    let query = user_query(&params, PAGE_SIZE);
    let of = |page| UserList::of(page, params.one("sort_by"), params.one("sort_direction"));
    let answer = |list| Answer::ok("users retrieved successfully", list);
    let Some(cursor) = params.cursor()? else {
        let write = |page| answer(of(page)).write();
        return Ok(Cached(users::list(&directory, &caller, query, write).await?, gzip).into_response());
    };
    let CursorPage { page, next_cursor } = users::walk(&directory, &caller, query, cursor).await?;
    let list = of(page);
    Ok(answer(UserList { pagination: list.pagination.walked(next_cursor), ..list }).into_response())
}

/// `POST /users`.
pub async fn create(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<UserOutput>> {
    let body = || Ok(body.parse::<UserInput>()?.into());
    let created = users::create(&directory, &caller, &request, body).await?;
    Ok(Answer::created("user created successfully", created.into()))
}

/// `GET /users/{id}`.
pub async fn show(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Response> {
    let found = users::get(&directory, &caller, id).await?;
    let version = Version::of(&directory.platform, &found.user)?;
    let answer = Answer::ok("user retrieved successfully", UserOutput::alone(found));
    Ok(answer.tagged(&directory.platform, &request, &version)?)
}

/// `PUT /users/{id}`.
pub async fn update(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
    body: JsonBody,
) -> Outcome<Answer<UserOutput>> {
    let body = || Ok(body.parse::<UserInput>()?.into());
    let updated = users::update(&directory, &caller, &request, id, body).await?;
    Ok(Answer::ok("user updated successfully", updated.into()))
}

/// `PATCH /users/{id}/password`.
pub async fn set_password(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
    body: JsonBody,
) -> Outcome<Answer<()>> {
    let body = || Ok(body.parse::<PasswordInput>()?.password);
    users::set_password(&directory, &caller, &request, id, body).await?;
    Ok(Answer::ok("password reset successfully", ()))
}

/// `PATCH /users/{id}/suspend`.
pub async fn suspend(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<()>> {
    users::suspend(&directory, &caller, &request, id).await?;
    Ok(Answer::ok("user suspended successfully", ()))
}

/// `PATCH /users/{id}/reactivate`.
pub async fn reactivate(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<()>> {
    users::reactivate(&directory, &caller, &request, id).await?;
    Ok(Answer::ok("user reactivated successfully", ()))
}

/// `DELETE /users/{id}`.
pub async fn delete(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<()>> {
    users::delete(&directory, &caller, &request, id).await?;
    Ok(Answer::ok("user deleted successfully", ()))
}

/// `PATCH /users/{id}/restore`.
pub async fn restore(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<()>> {
    users::restore(&directory, &caller, &request, id).await?;
    Ok(Answer::ok("user restored successfully", ()))
}

/// `DELETE /users/{id}/destroy`.
pub async fn destroy(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<()>> {
    users::destroy(&directory, &caller, &request, id).await?;
    Ok(Answer::ok("user permanently destroyed", ()))
}

/// `GET /users/totals`.
pub async fn totals(Service(directory): Service<Directory>, Who(caller): Who, gzip: Gzip) -> Outcome<Cached> {
    let write = |found: users::Totals| {
        let enabled = found.total.saturating_sub(found.suspended);
        let totals = UserTotals { total: found.total, enabled, suspended: found.suspended };
        Answer::ok("users totals retrieved", totals).write()
    };
    Ok(Cached(users::totals(&directory, &caller, write).await?, gzip))
}

/// `GET /users/trend`.
pub async fn trend(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    gzip: Gzip,
    params: Params,
) -> Outcome<Cached> {
    let write = |trend| Answer::ok("users trend retrieved successfully", TrendOutput::from(trend)).write();
    Ok(Cached(users::trend(&directory, &caller, params.one("period"), write).await?, gzip))
}

/// `GET /filters/users`.
pub async fn filters(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    gzip: Gzip,
    params: Params,
) -> Outcome<Cached> {
    let search = choice_search(&params);
    let write =
        |choices| Answer::ok("user filters retrieved successfully", UserFilters::from(choices)).write();
    Ok(Cached(users::choices(&directory, &caller, search.as_ref(), write).await?, gzip))
}
