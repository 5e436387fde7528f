//! The person's own account: profile, picture and password, second factors, API keys, sessions, who may act and has
//! acted for them.

mod factors;
mod impersonation;
mod keys;
mod new_factors;
mod profile;
mod sessions;

use crate::{failure::Outcome, session::Session};
use axum::Router;
use bailiwick_app::App;
use bailiwick_identity::factors as second_factors;
use bailiwick_policy::own_account;
use bailiwick_web::routing::{get, post};
use serde_json::{Value, json};

/// Where the account is.
const HERE: &str = "/console/account";
/// Its tabs, in order. That of second factors is there where people can have them.
const TABS: [&str; 5] = ["profile", "keys", FACTORS, "sessions", "impersonation"];
const FACTORS: &str = "factors";

/// Method and path of each page.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("GET", "/console/account"),
    ("POST", "/console/account"),
    ("POST", "/console/account/password"),
    ("POST", "/console/account/picture"),
    ("POST", "/console/account/picture/remove"),
    ("GET", "/console/account/factors"),
    ("GET", "/console/account/factors/passkeys/new"),
    ("POST", "/console/account/factors/passkeys/new"),
    ("GET", "/console/account/factors/passkeys/{id}/rename"),
    ("POST", "/console/account/factors/passkeys/{id}/rename"),
    ("GET", "/console/account/factors/passkeys/{id}/remove"),
    ("POST", "/console/account/factors/passkeys/{id}/remove"),
    ("GET", "/console/account/factors/authenticator"),
    ("POST", "/console/account/factors/authenticator"),
    ("GET", "/console/account/factors/authenticator/remove"),
    ("POST", "/console/account/factors/authenticator/remove"),
    ("GET", "/console/account/factors/recovery-codes"),
    ("POST", "/console/account/factors/recovery-codes"),
    ("GET", "/console/account/keys"),
    ("POST", "/console/account/keys"),
    ("GET", "/console/account/keys/{id}/revoke"),
    ("POST", "/console/account/keys/{id}/revoke"),
    ("GET", "/console/account/sessions"),
    ("POST", "/console/account/sessions/end"),
    ("POST", "/console/account/sessions/{id}/end"),
    ("GET", "/console/account/impersonation"),
    ("POST", "/console/account/impersonation/consent"),
    ("POST", "/console/account/impersonation/withdraw"),
    ("GET", "/console/account/impersonation/{id}"),
];

/// The pages.
pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/console/account", get(profile::show).merge(post(profile::save)))
        .route("/console/account/password", post(profile::change_password))
        .route("/console/account/picture", post(profile::upload))
        .route("/console/account/picture/remove", post(profile::remove_picture))
        .merge(factors_router())
        .route("/console/account/keys", get(keys::show).merge(post(keys::create)))
        .route("/console/account/keys/{id}/revoke", get(keys::ask).merge(post(keys::revoke)))
        .route("/console/account/sessions", get(sessions::show))
        .route("/console/account/sessions/end", post(sessions::end_others))
        .route("/console/account/sessions/{id}/end", post(sessions::end))
        .route("/console/account/impersonation", get(impersonation::show))
        .route("/console/account/impersonation/consent", post(impersonation::give))
        .route("/console/account/impersonation/withdraw", post(impersonation::withdraw))
        .route("/console/account/impersonation/{id}", get(impersonation::session))
}

fn factors_router() -> Router<App> {
    let here = |rest: &str| format!("{HERE}/{FACTORS}{rest}");
    Router::new()
        .route(&here(""), get(factors::show))
        .route(&here("/passkeys/new"), get(new_factors::show_passkey).merge(post(new_factors::add_passkey)))
        .route(&here("/passkeys/{id}/rename"), get(factors::show_rename).merge(post(factors::rename)))
        .route(&here("/passkeys/{id}/remove"), get(factors::ask_passkey).merge(post(factors::remove_passkey)))
        .route(
            &here("/authenticator"),
            get(new_factors::show_authenticator).merge(post(new_factors::add_authenticator)),
        )
        .route(
            &here("/authenticator/remove"),
            get(factors::ask_authenticator).merge(post(factors::remove_authenticator)),
        )
        .route(&here("/recovery-codes"), get(factors::ask_codes).merge(post(factors::new_codes)))
}

/// Refuses a person who impersonates another one, as the interface does.
fn own(session: &Session) -> Outcome<()> {
    Ok(own_account(&session.caller)?)
}

/// What every tab shows at its top.
fn head(app: &App, session: &Session, tab: &str) -> Value {
    let has_factors = second_factors::is_on(&app.identity);
    json!({
        "href": HERE,
        "name": session.caller.identity().map(|identity| identity.name.as_str()),
        "tab": tab,
        "tabs": TABS.iter().filter(|tab| has_factors || **tab != FACTORS).collect::<Vec<_>>(),
    })
}
