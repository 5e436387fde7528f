//! Users (contract 01 §5).

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Ctx, JsonBody, Params, PathId, Who},
    wire::users::{PasswordInput, UserInput, UserList, UserOutput},
};
use axum::extract::State;
use bailiwick_app::{
    App,
    users::{self, ListQuery},
};
use bailiwick_domain::{SortDirection, UserId};

/// Rows of a page unless the client says otherwise.
const PAGE_SIZE: u64 = 20;

/// `GET /users`.
pub async fn list(State(app): State<App>, Who(caller): Who, params: Params) -> Outcome<Answer<UserList>> {
    let page = users::list(&app, &caller, query(&params)).await?;
    let list = UserList::of(page, params.one("sort_by"), params.one("sort_direction"));
    Ok(Answer::ok("users retrieved successfully", list))
}

fn query(params: &Params) -> ListQuery {
    ListQuery {
        page: params.page(PAGE_SIZE),
        search: params.one("search").unwrap_or_default().to_owned(),
        sort_by: params.one("sort_by").unwrap_or_default().to_owned(),
        direction: SortDirection::parse(params.one("sort_direction").unwrap_or_default()),
        // Older clients say so; an organization has no such state.
        status: params.many("status").into_iter().map(active_is_enabled).collect(),
        organization_id: params.many("organization_id"),
        role: params.many("role"),
        created_by: params.many("created_by"),
    }
}

fn active_is_enabled(status: String) -> String {
    if status.eq_ignore_ascii_case("active") { "enabled".to_owned() } else { status }
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
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<UserOutput>> {
    let found = users::get(&app, &caller, id).await?;
    Ok(Answer::ok("user retrieved successfully", found.into()))
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
