//! Adding a second factor: the browser makes a passkey, or an authenticator application takes a secret.

use super::{
    factors::{crumbs, here, shown_codes},
    own,
};
use crate::{
    assets,
    failure::Outcome,
    form::{Form, problems},
    page,
    pages::done,
    session::Session,
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_events::mail;
use bailiwick_identity::factors::{
    account::{self as account_factors, NewTotp},
    account_passkeys::{self, NewPasskey},
};
use http::StatusCode;
use serde_json::{Value, json};

/// On to the overview, by way of the recovery codes if there are new ones.
fn added(app: &App, session: &Session, codes: &[String], note: &str) -> Response {
    mail::wake(&app.events);
    if codes.is_empty() { done(&here(), note) } else { shown_codes(session, codes, note) }
}

/// `GET /console/account/factors/passkeys/new`.
pub(crate) async fn show_passkey(State(app): State<App>, session: Session) -> Outcome {
    passkey_form(&app, &session, "", None).await
}

async fn passkey_form(app: &App, session: &Session, name: &str, wrong: Option<Value>) -> Outcome<Response> {
    let offer = account_passkeys::offer(&app.identity, &session.caller).await?;
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let wrong = wrong.unwrap_or_else(|| json!({}));
    let values = json!({
        "crumbs": crumbs(session),
        "href": here(),
        "script": assets::passkey_script(),
        "options": offer.options.to_string(),
        "state": offer.state,
        "name": name,
        "is_refused": wrong.get("credential").or(wrong.get("state")).is_some(),
        "wrong": wrong,
    });
    Ok(page::render(&session.layout, status, "account/new_passkey.html", values))
}

/// `POST /console/account/factors/passkeys/new`.
pub(crate) async fn add_passkey(State(app): State<App>, session: Session, sent: Form) -> Outcome {
    own(&session)?;
    let body = || {
        Ok(NewPasskey {
            state: sent.text("state"),
            credential: serde_json::from_str(&sent.text("credential")).unwrap_or(Value::Null),
            name: sent.text("name"),
        })
    };
    match account_passkeys::add(&app.identity, &session.caller, &session.context, body).await {
        Ok((_, codes)) => Ok(added(&app, &session, &codes, "passkey_added")),
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => passkey_form(&app, &session, &sent.text("name"), Some(wrong)).await,
            None => Err(error.into()),
        },
    }
}

/// `GET /console/account/factors/authenticator`.
pub(crate) async fn show_authenticator(State(app): State<App>, session: Session) -> Outcome {
    authenticator_form(&app, &session, None, None).await
}

/// The form; `before`: the state of the secret that the application may have already.
async fn authenticator_form(
    app: &App,
    session: &Session,
    before: Option<&str>,
    wrong: Option<Value>,
) -> Outcome<Response> {
    let has_one = account_factors::overview(&app.identity, &session.caller).await?.totp.is_some();
    let offer = account_factors::offer_totp(&app.identity, &session.caller, before).await?;
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let values = json!({
        "crumbs": crumbs(session),
        "href": here(),
        "is_replaced": has_one,
        "secret": offer.secret,
        "uri": offer.uri,
        "qr_code": offer.qr_code,
        "state": offer.state,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, status, "account/new_authenticator.html", values))
}

/// `POST /console/account/factors/authenticator`.
pub(crate) async fn add_authenticator(State(app): State<App>, session: Session, sent: Form) -> Outcome {
    own(&session)?;
    let state = sent.text("state");
    let body = || Ok(NewTotp { state: state.clone(), code: sent.text("code") });
    match account_factors::add_totp(&app.identity, &session.caller, &session.context, body).await {
        Ok(codes) => Ok(added(&app, &session, &codes, "authenticator_added")),
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => authenticator_form(&app, &session, Some(&state), Some(wrong)).await,
            None => Err(error.into()),
        },
    }
}
