//! What an external issuer tells the service (OpenID Connect Back-Channel Logout 1.0).

use super::{error, form::Form};
use crate::extract::Service;
use axum::response::{IntoResponse, Response};
use bailiwick_identity::{Identity, oidc::ProviderError, relying_party};
use http::{HeaderValue, StatusCode, header};

/// `POST /oidc/backchannel-logout`: a person has signed out at the issuer.
pub async fn logout(Service(identity): Service<Identity>, Form(parameters): Form) -> Response {
    // Not limited: an issuer may send many from one address, and sends none again. Only tokens that it has signed cost
    // a read.
    let answer = async { relying_party::end_sessions(&identity, parameters.required("logout_token")?).await };
    let answer: Result<(), ProviderError> = answer.await;
    let mut response = match answer {
        Ok(()) => StatusCode::OK.into_response(),
        Err(refusal) => error::answer(refusal),
    };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
