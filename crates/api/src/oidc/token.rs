//! The token endpoints: for clients, form-encoded.

use super::{error, form::Form};
use crate::{
    extract::authorization,
    extract::{Ctx, Service},
};
use axum::{
    Json,
    response::{IntoResponse, Response},
};
use bailiwick_identity::{
    Identity, TokenRequest,
    oidc::{
        Client, ClientCredentials, Code, OAuthError, ProviderError, authorize::Parameters, claims,
        clients::authenticate, tokens,
    },
};
use bailiwick_platform::RequestContext;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, StatusCode};

/// `POST /oidc/token`.
pub async fn token(
    Service(identity): Service<Identity>,
    Ctx(context): Ctx,
    headers: HeaderMap,
    Form(parameters): Form,
) -> Response {
    let answer = async {
        let (client, counted) = admit(&identity, &context, &headers, &parameters).await?;
        tokens::token(&identity, &client, counted, &parameters).await
    };
    match answer.await {
        Ok(answer) => Json(answer).into_response(),
        Err(refusal) => error::answer(refusal),
    }
}

/// `POST /oidc/token/revocation`.
pub async fn revoke(
    Service(identity): Service<Identity>,
    Ctx(context): Ctx,
    headers: HeaderMap,
    Form(parameters): Form,
) -> Response {
    let answer = async {
        let (client, counted) = admit(&identity, &context, &headers, &parameters).await?;
        tokens::revoke(&identity, &client, counted, parameters.required("token")?).await
    };
    match answer.await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(refusal) => error::answer(refusal),
    }
}

/// `POST /oidc/token/introspection`.
pub async fn introspect(
    Service(identity): Service<Identity>,
    Ctx(context): Ctx,
    headers: HeaderMap,
    Form(parameters): Form,
) -> Response {
    let answer = async {
        let (client, counted) = admit(&identity, &context, &headers, &parameters).await?;
        claims::introspect(&identity, &client, counted, parameters.required("token")?).await
    };
    match answer.await {
        Ok(answer) => Json(answer).into_response(),
        Err(refusal) => error::answer(refusal),
    }
}

/// The rate of the address, then the client. The request is still being counted over all processes.
async fn admit(
    identity: &Identity,
    context: &RequestContext,
    headers: &HeaderMap,
    parameters: &Parameters,
) -> Result<(Client, TokenRequest), ProviderError> {
    let counted = identity.token_requests.count(identity.as_ref(), context.client_ip)?;
    let known = credentials(headers, parameters).and_then(|given| authenticate(&identity.settings, &given));
    match known {
        Ok(client) => Ok((client, counted)),
        Err(refused) => {
            // Somebody may be guessing the secret of a client.
            counted.admitted().await?;
            Err(refused.into())
        }
    }
}

/// `client_secret_basic`, `client_secret_post` or `none`; never two of them (RFC 6749 §2.3).
fn credentials(headers: &HeaderMap, parameters: &Parameters) -> Result<ClientCredentials, OAuthError> {
    let form_id = parameters.one("client_id")?.map(str::to_owned);
    let form_secret = parameters.one("client_secret")?.map(str::to_owned);
    let Some(header) = authorization(headers) else {
        return Ok(ClientCredentials { id: form_id, secret: form_secret });
    };
    let invalid = || OAuthError::new(Code::InvalidClient, "client authentication failed");
    let (id, secret) = basic(header).ok_or_else(invalid)?;
    if form_secret.is_some() {
        return Err(OAuthError::new(Code::InvalidRequest, "more than one way of client authentication"));
    }
    if form_id.is_some_and(|form_id| form_id != id) {
        return Err(invalid());
    }
    Ok(ClientCredentials { id: Some(id), secret: Some(secret) })
}

/// Both halves are form-encoded before they are put together.
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = pair.split_once(':')?;
    let decoded = |text: &str| {
        let plain = text.replace('+', " ");
        percent_encoding::percent_decode_str(&plain).decode_utf8().ok().map(std::borrow::Cow::into_owned)
    };
    Some((decoded(id)?, decoded(secret)?))
}
