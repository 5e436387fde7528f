//! The person's own account: profile, picture and password, API keys, sessions, who may act and has acted for them.

mod impersonation;
mod keys;
mod profile;
mod sessions;

use crate::{failure::Outcome, pages::note, session::Guest};
use axum::{
    Router,
    routing::{get, post},
};
use bailiwick_app::App;
use bailiwick_policy::own_account;
use bailiwick_web::Params;
use serde_json::{Value, json};

/// Where the account is.
const HERE: &str = "/console/account";
/// Its tabs, in order.
const TABS: [&str; 4] = ["profile", "keys", "sessions", "impersonation"];

/// Method and path of each page.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("GET", "/console/account"),
    ("POST", "/console/account"),
    ("POST", "/console/account/password"),
    ("POST", "/console/account/picture"),
    ("POST", "/console/account/picture/remove"),
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
        .route("/console/account", get(profile::show).post(profile::save))
        .route("/console/account/password", post(profile::change_password))
        .route("/console/account/picture", post(profile::upload))
        .route("/console/account/picture/remove", post(profile::remove_picture))
        .route("/console/account/keys", get(keys::show).post(keys::create))
        .route("/console/account/keys/{id}/revoke", get(keys::ask).post(keys::revoke))
        .route("/console/account/sessions", get(sessions::show))
        .route("/console/account/sessions/end", post(sessions::end_others))
        .route("/console/account/sessions/{id}/end", post(sessions::end))
        .route("/console/account/impersonation", get(impersonation::show))
        .route("/console/account/impersonation/consent", post(impersonation::give))
        .route("/console/account/impersonation/withdraw", post(impersonation::withdraw))
        .route("/console/account/impersonation/{id}", get(impersonation::session))
}

/// Refuses a person who impersonates another one, as the interface does.
fn own(guest: &Guest) -> Outcome<()> {
    Ok(own_account(&guest.caller)?)
}

/// What every tab shows at its top.
fn head(guest: &Guest, tab: &str, params: Option<&Params>) -> Value {
    json!({
        "href": HERE,
        "name": guest.caller.identity().map(|identity| identity.name.as_str()),
        "tab": tab,
        "tabs": TABS,
        "done": params.and_then(|params| note(guest, params)),
    })
}
