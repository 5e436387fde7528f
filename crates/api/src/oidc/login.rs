//! `/oidc/login`: signing in without a client, and the page of the signed-in user.

use super::{
    authorize::{see_other, sign_in_page},
    cookies,
    form::Form,
    pages::{self, Notice},
    session_end,
};
use crate::extract::{Ctx, Service};
use axum::response::Response;
use bailiwick_identity::{
    Identity,
    oidc::{
        authorize::Parameters,
        login::{self, AccountPage},
    },
};
use http::HeaderMap;

/// `GET /oidc`.
pub async fn to_login(Service(identity): Service<Identity>, headers: HeaderMap) -> Response {
    see_other(pages::language_of(&headers), &login::address(&identity))
}

/// The page of the signed-in user; the sign-in page without one.
pub async fn show(Service(identity): Service<Identity>, Ctx(context): Ctx, headers: HeaderMap) -> Response {
    let language = pages::language_of(&headers);
    // Each request may store a row, so it is limited like the token endpoint.
    let counted = match identity.token_requests.count(identity.as_ref(), context.client_ip) {
        Ok(counted) => counted,
        Err(error) => return pages::fault(language, &error),
    };
    match login::land(&identity, counted, &cookies::read(&identity, &headers)).await {
        Ok(AccountPage::SignedIn { person, allowed, form_token }) => {
            pages::signed_in(language, &person, &allowed, &form_token)
        }
        Ok(AccountPage::SignIn { interaction, browser }) => {
            let mut response = see_other(language, &sign_in_page(&identity, interaction));
            cookies::set_browser(&identity, response.headers_mut(), &browser);
            response
        }
        Err(error) => pages::fault(language, &error),
    }
}

/// The page's form: the provider's sign-out, without a redirect to a client.
pub async fn sign_out(
    Service(identity): Service<Identity>,
    headers: HeaderMap,
    Form(parameters): Form,
) -> Response {
    let given = parameters.one("form_token").ok().flatten().unwrap_or_default();
    if login::is_form_token(&identity, &cookies::read(&identity, &headers), given) {
        session_end::end(&identity, &headers, &Parameters::default()).await
    } else {
        pages::notice(pages::language_of(&headers), Notice::Expired, None)
    }
}
