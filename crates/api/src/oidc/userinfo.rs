//! `GET, POST /oidc/me`.

use super::{error, form::Form};
use crate::{extract::Service, extract::authorization};
use axum::{
    Json,
    response::{IntoResponse, Response},
};
use bailiwick_identity::{
    Identity, auth,
    oidc::{Code, OAuthError, claims},
};
use http::HeaderMap;

/// The claims that the bearer token opens. The token comes in the header or, RFC 6750 §2.2, in a form.
pub async fn userinfo(
    Service(identity): Service<Identity>,
    headers: HeaderMap,
    Form(form): Form,
) -> Response {
    let header = authorization(&headers);
    let in_form = form.one("access_token").ok().flatten();
    let token = match header {
        Some(_) => auth::bearer_token(header).ok(),
        None => in_form,
    };
    let Some(token) = token else {
        return error::answer(OAuthError::new(Code::InvalidToken, "a bearer token is needed").into());
    };
    match claims::userinfo(&identity, token).await {
        Ok(claims) => Json(claims).into_response(),
        Err(refusal) => error::answer(refusal),
    }
}
