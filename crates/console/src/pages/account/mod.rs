//! The person's own account: profile, picture and password, second factors, API keys, sessions, who may act and has
//! acted for them.

mod factors;
mod impersonation;
mod keys;
mod new_factors;
mod profile;
mod sessions;

use crate::{
    failure::Outcome,
    rows::{PageRow, get, post},
    session::Session,
};
use bailiwick_app::App;
use bailiwick_identity::factors as second_factors;
use bailiwick_policy::own_account;
use serde_json::{Value, json};

/// Where the account is.
const HERE: &str = "/console/account";
/// Its tabs, in order. That of second factors is there where people can have them.
const TABS: [&str; 5] = ["profile", "keys", FACTORS, "sessions", "impersonation"];
const FACTORS: &str = "factors";

/// The pages.
pub(crate) fn rows() -> Vec<PageRow> {
    vec![
        get("/console/account", profile::show),
        post("/console/account", profile::save),
        post("/console/account/password", profile::change_password),
        post("/console/account/picture", profile::upload),
        post("/console/account/picture/remove", profile::remove_picture),
        get("/console/account/factors", factors::show),
        get("/console/account/factors/passkeys/new", new_factors::show_passkey),
        post("/console/account/factors/passkeys/new", new_factors::add_passkey),
        get("/console/account/factors/passkeys/{id}/rename", factors::show_rename),
        post("/console/account/factors/passkeys/{id}/rename", factors::rename),
        get("/console/account/factors/passkeys/{id}/remove", factors::ask_passkey),
        post("/console/account/factors/passkeys/{id}/remove", factors::remove_passkey),
        get("/console/account/factors/authenticator", new_factors::show_authenticator),
        post("/console/account/factors/authenticator", new_factors::add_authenticator),
        get("/console/account/factors/authenticator/remove", factors::ask_authenticator),
        post("/console/account/factors/authenticator/remove", factors::remove_authenticator),
        get("/console/account/factors/recovery-codes", factors::ask_codes),
        post("/console/account/factors/recovery-codes", factors::new_codes),
        get("/console/account/keys", keys::show),
        post("/console/account/keys", keys::create),
        get("/console/account/keys/{id}/revoke", keys::ask),
        post("/console/account/keys/{id}/revoke", keys::revoke),
        get("/console/account/sessions", sessions::show),
        post("/console/account/sessions/end", sessions::end_others),
        post("/console/account/sessions/{id}/end", sessions::end),
        get("/console/account/impersonation", impersonation::show),
        post("/console/account/impersonation/consent", impersonation::give),
        post("/console/account/impersonation/withdraw", impersonation::withdraw),
        get("/console/account/impersonation/{id}", impersonation::session),
    ]
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
