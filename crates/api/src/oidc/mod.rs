//! The embedded OpenID provider over HTTP (spec: openid-provider#endpoints), at the root of the host whatever the base
//! paths are.
//!
//! `/oidc/*` speaks OAuth's own language: bodies without envelope, errors in both shapes ([`error`]), pages for people
//! ([`pages`]). `/api/interaction*` is the sign-in for scripts. To add an endpoint: a handler in the module of its
//! kind, a line in [`router`], its address in `bailiwick_identity::oidc::claims::discovery`.

mod authorize;
mod back_channel;
mod consent;
mod cookies;
mod cors;
mod error;
mod form;
mod interaction;
mod login;
mod page_form;
mod pages;
mod recovery;
mod session_end;
mod sign_in;
mod token;
mod userinfo;

pub use cors::cors;

use crate::{extract::Service, route_metrics};
use axum::{
    Json, Router, middleware,
    response::{IntoResponse, Response},
};
use bailiwick_app::App;
use bailiwick_identity::{Identity, oidc::claims};
use bailiwick_web::routing::{get, patch, post, put};

/// Every route of the provider.
pub fn router() -> Router<App> {
    let scripts = Router::new()
        .route("/api/interaction", put(interaction::restart))
        .route("/api/interaction/identifiers", patch(interaction::identify))
        .route("/api/interaction/second-factor", post(interaction::second_factor))
        .route("/api/interaction/submit", post(interaction::submit))
        .route("/api/interaction/consent", post(interaction::consent))
        .route_layer(middleware::from_fn(interaction::programs_only));
    Router::new()
        .route("/oidc", get(login::to_login))
        .route("/oidc/login", get(login::show).merge(post(login::sign_out)))
        .route("/oidc/.well-known/openid-configuration", get(discovery))
        .route("/oidc/jwks", get(jwks))
        .route("/oidc/passkey.js", get(pages::passkey_script))
        .route("/oidc/form-post.js", get(pages::form_post_script))
        .route("/oidc/auth", get(authorize::authorize).merge(post(authorize::authorize_by_form)))
        .route("/oidc/auth/{id}", get(authorize::resume))
        .route("/oidc/sign-in/{id}", get(sign_in::show).merge(post(sign_in::submit)))
        .route("/oidc/consent", post(consent::withdraw))
        .route("/oidc/consent/{id}", get(consent::show).merge(post(consent::submit)))
        .route("/oidc/forgotten-password", get(recovery::show_forgotten).merge(post(recovery::ask)))
        .route(
            "/oidc/new-password/{token}",
            get(recovery::show_new_password).merge(post(recovery::new_password)),
        )
        .route(
            "/oidc/confirm-address/{token}",
            get(recovery::show_confirmation).merge(post(recovery::confirm)),
        )
        .route("/oidc/token", post(token::token))
        .route("/oidc/token/revocation", post(token::revoke))
        .route("/oidc/token/introspection", post(token::introspect))
        .route("/oidc/me", get(userinfo::userinfo).merge(post(userinfo::userinfo)))
        .route("/oidc/session/end", get(session_end::by_query).merge(post(session_end::by_form)))
        .merge(scripts)
        .route_layer(middleware::from_fn(route_metrics::mark))
}

/// The routes of a service where people sign in elsewhere: what the issuer calls.
pub fn issuer_router() -> Router<App> {
    Router::new()
        .route("/oidc/backchannel-logout", post(back_channel::logout))
        .route_layer(middleware::from_fn(route_metrics::mark))
}

async fn discovery(Service(identity): Service<Identity>) -> Response {
    Json(claims::discovery(&identity)).into_response()
}

async fn jwks(Service(identity): Service<Identity>) -> Response {
    match claims::jwks(&identity).await {
        Ok(keys) => Json(keys).into_response(),
        Err(refusal) => error::answer(refusal),
    }
}
