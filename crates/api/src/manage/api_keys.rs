//! The caller's personal API keys (spec: account#api-keys).

use super::PAGE_SIZE;
use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Ctx, JsonBody, Params, PathId, Service, Who},
    wire::api_keys::{ApiKeyHistory, ApiKeyInput, ApiKeyList, NewApiKeyOutput},
};
use bailiwick_domain::ApiKeyId;
use bailiwick_identity::{
    Identity,
    api_keys::{self, HistoryQuery},
};

/// `POST /me/api-keys`.
pub async fn create(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<NewApiKeyOutput>> {
    let body = || Ok(body.parse_request::<ApiKeyInput>()?.into());
    let (key, token) = api_keys::create(&identity, &caller, &request, body).await?;
    Ok(Answer::created("api key created successfully", NewApiKeyOutput { key: key.into(), token }))
}

/// `GET /me/api-keys`.
pub async fn list(Service(identity): Service<Identity>, Who(caller): Who) -> Outcome<Answer<ApiKeyList>> {
    let keys = api_keys::list(&identity, &caller).await?;
    let list = ApiKeyList { api_keys: keys.into_iter().map(Into::into).collect() };
    Ok(Answer::ok("api keys retrieved successfully", list))
}

/// `DELETE /me/api-keys/{id}`.
pub async fn revoke(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<ApiKeyId>,
) -> Outcome<Answer<()>> {
    api_keys::revoke(&identity, &caller, &request, id).await?;
    Ok(Answer::ok("api key revoked successfully", ()))
}

/// `GET /me/api-keys/audit`.
pub async fn history(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<ApiKeyHistory>> {
    let query = HistoryQuery {
        page: params.page(PAGE_SIZE),
        event: params.many("event"),
        api_key_id: params.many("api_key_id"),
    };
    let page = api_keys::history(&identity, &caller, query).await?;
    Ok(Answer::ok("api key audit retrieved successfully", page.into()))
}
