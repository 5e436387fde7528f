//! The caller's personal API keys (spec: account#api-keys).

use super::me::with_values;
use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Ctx, JsonBody, Params, PathId, Who},
    wire::api_keys::{ApiKeyHistory, ApiKeyInput, ApiKeyList, NewApiKeyOutput},
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_domain::ApiKeyId;
use bailiwick_identity::api_keys::{self, HistoryQuery};

/// Rows of a page unless the client says otherwise.
const PAGE_SIZE: u64 = 20;

/// `POST /me/api-keys`.
pub async fn create(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<NewApiKeyOutput>> {
    let body = || Ok(body.parse_request::<ApiKeyInput>()?.into());
    let (key, token) = api_keys::create(&app, &caller, &request, body).await.map_err(with_values)?;
    Ok(Answer::created("api key created successfully", NewApiKeyOutput { key: key.into(), token }))
}

/// `GET /me/api-keys`.
pub async fn list(State(app): State<App>, Who(caller): Who) -> Outcome<Answer<ApiKeyList>> {
    let keys = api_keys::list(&app, &caller).await?;
    let list = ApiKeyList { api_keys: keys.into_iter().map(Into::into).collect() };
    Ok(Answer::ok("api keys retrieved successfully", list))
}

/// `DELETE /me/api-keys/{id}`.
pub async fn revoke(
    State(app): State<App>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<ApiKeyId>,
) -> Outcome<Answer<()>> {
    api_keys::revoke(&app, &caller, &request, id).await?;
    Ok(Answer::ok("api key revoked successfully", ()))
}

/// `GET /me/api-keys/audit`.
pub async fn history(
    State(app): State<App>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<ApiKeyHistory>> {
    let query = HistoryQuery {
        page: params.page(PAGE_SIZE),
        event: params.many("event"),
        api_key_id: params.many("api_key_id"),
    };
    let page = api_keys::history(&app, &caller, query).await?;
    Ok(Answer::ok("api key audit retrieved successfully", page.into()))
}
