//! `GET /oidc/auth` and the way back into it.

use super::{
    cookies,
    form::{Form, Query},
    pages::{self, Language, Notice},
};
use crate::extract::{Ctx, PathId, Service};
use axum::response::{IntoResponse, Response};
use bailiwick_domain::Error;
use bailiwick_identity::{
    Identity,
    oidc::{
        authorize::{self, Authorized},
        consent,
        redirect::BrowserRedirect,
        scripted_sign_in,
        sign_in::{SignInError, SignedIn},
    },
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use uuid::Uuid;

/// An authorization request.
pub async fn authorize(
    Service(identity): Service<Identity>,
    Ctx(context): Ctx,
    Query(parameters): Query,
    headers: HeaderMap,
) -> Response {
    let language = pages::language_of(&headers);
    // Each request may store a row, so it is limited like the token endpoint.
    let counted = match identity.token_requests.count(identity.as_ref(), context.client_ip) {
        Ok(counted) => counted,
        Err(error) => return pages::fault(language, &error),
    };
    match authorize::authorize(&identity, counted, &parameters, &cookies::read(&identity, &headers)).await {
        Err(error) => pages::fault(language, &error),
        Ok(Authorized::Untrusted(refused)) => {
            pages::notice(language, Notice::BadRequest, Some(&refused.description))
        }
        Ok(Authorized::BrowserRedirect(onward)) => go_on(language, &onward),
        Ok(Authorized::SignIn { interaction, browser }) => {
            to_page(&identity, language, &sign_in_page(&identity, interaction), &browser)
        }
        Ok(Authorized::Consent { interaction, browser }) => {
            to_page(&identity, language, &consent::address(&identity, interaction), &browser)
        }
    }
}

/// `POST /oidc/auth`: sends a request that comes as a form (OpenID Connect Core §3.1.2.1) on to the GET. Browsers leave
/// `SameSite=Lax` cookies out of another site's form, but send them with the GET that follows.
pub async fn authorize_by_form(
    Service(identity): Service<Identity>,
    headers: HeaderMap,
    Form(parameters): Form,
) -> Response {
    see_other(pages::language_of(&headers), &parameters.request_address(&identity))
}

/// Where a scripted sign-in leads on.
pub async fn resume(
    Service(identity): Service<Identity>,
    Ctx(context): Ctx,
    PathId(id): PathId<Uuid>,
    headers: HeaderMap,
) -> Response {
    let language = pages::language_of(&headers);
    let Some(id) = id else { return pages::notice(language, Notice::Expired, None) };
    match scripted_sign_in::resume(&identity, &context, id, &cookies::read(&identity, &headers)).await {
        Ok(done) => signed_in(&identity, language, &done),
        Err(
            SignInError::NotIdentified
            | SignInError::MustReplacePassword
            | SignInError::MustProveFactor
            | SignInError::MustAddFactor,
        ) => see_other(language, &sign_in_page(&identity, id)),
        Err(SignInError::Fault(error)) => pages::fault(language, &error),
        Err(_) => pages::notice(language, Notice::Expired, None),
    }
}

/// The page that answers the request with this id.
pub fn sign_in_page(identity: &Identity, id: Uuid) -> String {
    format!("{}/sign-in/{id}", identity.settings.provider_issuer())
}

/// Redirects to the client, with the cookie of the login.
pub fn signed_in(identity: &Identity, language: Language, done: &SignedIn) -> Response {
    let mut response = go_on(language, &done.onward);
    if let Some(login) = &done.login {
        cookies::set_login(identity, response.headers_mut(), login);
    }
    response
}

/// Redirects to a page of a waiting request, with the cookie that binds it to the browser.
fn to_page(identity: &Identity, language: Language, address: &str, browser: &str) -> Response {
    let mut response = see_other(language, address);
    cookies::set_browser(identity, response.headers_mut(), browser);
    response
}

/// 303, or the page with the form that leads on.
pub fn go_on(language: Language, onward: &BrowserRedirect) -> Response {
    match onward {
        BrowserRedirect::Address(address) => see_other(language, address),
        BrowserRedirect::Form { action, fields } => pages::response_form(language, action, fields),
    }
}

/// 303.
pub fn see_other(language: Language, address: &str) -> Response {
    match HeaderValue::from_str(address) {
        Ok(location) => (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response(),
        Err(_) => pages::fault(language, &Error::internal("an address that is no header value")),
    }
}
