//! `GET, POST /oidc/session/end`.

use super::{
    authorize::see_other,
    cookies,
    form::{Form, Query},
    pages::{self, Notice},
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_identity::{
    Identity,
    oidc::{authorize::Parameters, sign_out},
};
use http::HeaderMap;

/// `GET /oidc/session/end`: ends the browser's login, with the parameters in the query.
pub async fn by_query(State(app): State<App>, headers: HeaderMap, Query(parameters): Query) -> Response {
    end(&app.identity, &headers, &parameters).await
}

/// `POST /oidc/session/end`: ends the browser's login, with the parameters in a form.
pub async fn by_form(State(app): State<App>, headers: HeaderMap, Form(parameters): Form) -> Response {
    end(&app.identity, &headers, &parameters).await
}

/// Ends the browser's login and leads on.
pub async fn end(identity: &Identity, headers: &HeaderMap, parameters: &Parameters) -> Response {
    let language = pages::language_of(headers);
    let outcome = async {
        sign_out::sign_out(identity, &cookies::read(identity, headers)).await?;
        sign_out::destination(identity, parameters).await
    };
    let mut response = match outcome.await {
        Ok(Some(address)) => see_other(language, &address),
        Ok(None) => pages::notice(language, Notice::SignedOut, None),
        Err(error) => return pages::fault(language, &error),
    };
    cookies::clear_login(identity, response.headers_mut());
    response
}
