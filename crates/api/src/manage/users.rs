//! Users (spec: users#operations).

use crate::{
    envelope::{Answer, Cached},
    error::Outcome,
    extract::{Ctx, Gzip, JsonBody, Params, PathId, Who},
    wire::{
        figures::{TrendOutput, UserTotals},
        roles::UserFilters,
        users::{PasswordInput, UserInput, UserList, UserOutput},
    },
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_directory::users::{self, ListQuery};
use bailiwick_domain::{SortDirection, UserId};
use bailiwick_platform::conditions::Version;

/// Rows of a page unless the client says otherwise.
const PAGE_SIZE: u64 = 20;

/// `GET /users`.
pub async fn list(State(app): State<App>, Who(caller): Who, gzip: Gzip, params: Params) -> Outcome<Cached> {
    let write = |page| {
        let list = UserList::of(page, params.one("sort_by"), params.one("sort_direction"));
        Answer::ok("users retrieved successfully", list).write()
    };
    Ok(Cached(users::list(&app, &caller, query(&params), write).await?, gzip))
}

pub(super) fn query(params: &Params) -> ListQuery {
    ListQuery {
        page: params.page(PAGE_SIZE),
        search: params.one("search").unwrap_or_default().to_owned(),
        sort_by: params.one("sort_by").unwrap_or_default().to_owned(),
        direction: SortDirection::parse(params.one("sort_direction").unwrap_or_default()),
        status: params.many("status"),
        organization_id: params.many("organization_id"),
        role: params.many("role"),
        created_by: params.many("created_by"),
    }
}

/// `POST /users`.
pub async fn create(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<UserOutput>> {
    let body = || Ok(body.parse::<UserInput>()?.into());
    let created = users::create(&app, &caller, &request, body).await?;
    Ok(Answer::created("user created successfully", created.into()))
}

/// `GET /users/{id}`.
pub async fn show(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Response> {
    let found = users::get(&app, &caller, id).await?;
    let version = Version::of(&app, &found.user)?;
    let answer = Answer::ok("user retrieved successfully", UserOutput::alone(found));
    Ok(answer.tagged(&app, &request, &version)?)
}

/// `PUT /users/{id}`.
pub async fn update(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
    body: JsonBody,
) -> Outcome<Answer<UserOutput>> {
    let body = || Ok(body.parse::<UserInput>()?.into());
    let updated = users::update(&app, &caller, &request, id, body).await?;
    Ok(Answer::ok("user updated successfully", updated.into()))
}

/// `PATCH /users/{id}/password`.
pub async fn set_password(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
    body: JsonBody,
) -> Outcome<Answer<()>> {
    let body = || Ok(body.parse::<PasswordInput>()?.password);
    users::set_password(&app, &caller, &request, id, body).await?;
    Ok(Answer::ok("password reset successfully", ()))
}

/// `PATCH /users/{id}/suspend`.
pub async fn suspend(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<()>> {
    users::suspend(&app, &caller, &request, id).await?;
    Ok(Answer::ok("user suspended successfully", ()))
}

/// `PATCH /users/{id}/reactivate`.
pub async fn reactivate(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<()>> {
    users::reactivate(&app, &caller, &request, id).await?;
    Ok(Answer::ok("user reactivated successfully", ()))
}

/// `DELETE /users/{id}`.
pub async fn delete(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<()>> {
    users::delete(&app, &caller, &request, id).await?;
    Ok(Answer::ok("user deleted successfully", ()))
}

/// `PATCH /users/{id}/restore`.
pub async fn restore(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<()>> {
    users::restore(&app, &caller, &request, id).await?;
    Ok(Answer::ok("user restored successfully", ()))
}

/// `DELETE /users/{id}/destroy`.
pub async fn destroy(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<()>> {
    users::destroy(&app, &caller, &request, id).await?;
    Ok(Answer::ok("user permanently destroyed", ()))
}

/// `GET /users/totals`.
pub async fn totals(State(app): State<App>, Who(caller): Who, gzip: Gzip) -> Outcome<Cached> {
    let write = |found: users::Totals| {
        let enabled = found.total.saturating_sub(found.suspended);
        let totals = UserTotals { total: found.total, enabled, suspended: found.suspended };
        Answer::ok("users totals retrieved", totals).write()
    };
    Ok(Cached(users::totals(&app, &caller, write).await?, gzip))
}

/// `GET /users/trend`.
pub async fn trend(State(app): State<App>, Who(caller): Who, gzip: Gzip, params: Params) -> Outcome<Cached> {
    let write = |trend| Answer::ok("users trend retrieved successfully", TrendOutput::from(trend)).write();
    Ok(Cached(users::trend(&app, &caller, params.text("period"), write).await?, gzip))
}

/// `GET /filters/users`.
pub async fn filters(State(app): State<App>, Who(caller): Who, gzip: Gzip) -> Outcome<Cached> {
    let write =
        |choices| Answer::ok("user filters retrieved successfully", UserFilters::from(choices)).write();
    Ok(Cached(users::choices(&app, &caller, write).await?, gzip))
}
