//! The person's second factors: what there is, and what of it is renamed, removed or made anew.

use super::{FACTORS, HERE, head, own};
use crate::{
    components::{
        question::{Crumb, Question},
        time::When,
    },
    failure::Outcome,
    form::{Form, problems},
    page,
    pages::done,
    session::Session,
    texts,
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_domain::{Error, ObjectKind};
use bailiwick_identity::factors::{
    Passkey,
    account::{self, Overview},
    account_passkeys,
};
use bailiwick_web::PathId;
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

/// Where the overview is.
pub(super) fn here() -> String {
    format!("{HERE}/{FACTORS}")
}

/// The way to the overview.
pub(super) fn crumbs(session: &Session) -> Vec<Crumb> {
    let text = |key| texts::find(session.layout.language, key).unwrap_or_default();
    vec![Crumb::link(HERE, text("nav_account")), Crumb::link(here(), text("account_factors"))]
}

/// Whether only one factor is left of those that a person must have.
fn is_last(overview: &Overview) -> bool {
    overview.passkeys.len() + usize::from(overview.totp.is_some()) == 1
}

/// `GET /console/account/factors`.
pub(crate) async fn show(State(app): State<App>, session: Session) -> Outcome {
    let (layout, overview) = (&session.layout, account::overview(&app.identity, &session.caller).await?);
    let when = |at| When::maybe(layout.language, layout.now, at);
    let passkey = |passkey: &Passkey| {
        json!({
            "name": passkey.name,
            "href": format!("{}/passkeys/{}", here(), passkey.id),
            "added": when(Some(passkey.created_at)),
            "used": when(passkey.last_used_at),
        })
    };
    let totp = overview
        .totp
        .as_ref()
        .map(|totp| json!({"added": when(Some(totp.created_at)), "used": when(totp.last_used_at)}));
    let is_last = is_last(&overview);
    let values = json!({
        "head": head(&app, &session, FACTORS),
        "is_required": overview.is_required,
        "has_any": !overview.passkeys.is_empty() || overview.totp.is_some(),
        "may_remove": !(overview.is_required && is_last),
        "grace_until": when(overview.grace_until),
        "are_passkeys_possible": overview.are_passkeys_possible,
        "has_all_passkeys": overview.passkeys.len() >= account_passkeys::MOST,
        "passkeys": overview.passkeys.iter().map(passkey).collect::<Vec<_>>(),
        "totp": totp,
        "codes_left": overview.recovery_codes_left,
    });
    Ok(page::show(layout, "account/factors.html", values))
}

/// The person's passkey of this id.
async fn passkey(app: &App, session: &Session, id: Option<Uuid>) -> Outcome<(Overview, Passkey)> {
    let overview = account::overview(&app.identity, &session.caller).await?;
    let found = overview.passkeys.iter().find(|passkey| Some(passkey.id) == id).cloned();
    let found = found.ok_or(Error::NotFound(ObjectKind::Passkey))?;
    Ok((overview, found))
}

/// `GET /console/account/factors/passkeys/{id}/rename`.
pub(crate) async fn show_rename(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<Uuid>,
) -> Outcome {
    let (_, passkey) = passkey(&app, &session, id).await?;
    rename_form(&session, &passkey, &passkey.name, None)
}

fn rename_form(session: &Session, passkey: &Passkey, name: &str, wrong: Option<Value>) -> Outcome<Response> {
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let values = json!({
        "crumbs": crumbs(session),
        "present": passkey.name,
        "name": name,
        "href": here(),
        "action": format!("{}/passkeys/{}/rename", here(), passkey.id),
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, status, "account/rename_passkey.html", values))
}

/// `POST /console/account/factors/passkeys/{id}/rename`.
pub(crate) async fn rename(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<Uuid>,
    sent: Form,
) -> Outcome {
    own(&session)?;
    let name = sent.text("name");
    let body = || Ok(name.clone());
    match account_passkeys::rename(&app.identity, &session.caller, &session.context, id, body).await {
        Ok(()) => Ok(done(&here(), "passkey_renamed")),
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => {
                let (_, passkey) = passkey(&app, &session, id).await?;
                rename_form(&session, &passkey, &name, Some(wrong))
            }
            None => Err(error.into()),
        },
    }
}

/// Asks before something goes; `area`: in the keys of the texts.
fn question(
    session: &Session,
    (area, word): (&str, &str),
    name: &str,
    path: &str,
    details: Vec<String>,
) -> Outcome {
    Question {
        word,
        area: Some(area),
        name,
        crumbs: crumbs(session),
        action: format!("{}{path}", here()),
        back: here(),
        details,
        types_name: false,
        is_wrong: false,
        other: None,
    }
    .page(session)
}

/// What goes with a factor.
fn goes(session: &Session, overview: &Overview) -> Vec<String> {
    let text = texts::find(session.layout.language, "goes_recovery_codes").unwrap_or_default();
    if is_last(overview) { vec![text.to_owned()] } else { Vec::new() }
}

/// `GET /console/account/factors/passkeys/{id}/remove`.
pub(crate) async fn ask_passkey(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<Uuid>,
) -> Outcome {
    let (overview, passkey) = passkey(&app, &session, id).await?;
    let path = format!("/passkeys/{}/remove", passkey.id);
    question(&session, ("passkey", "remove"), &passkey.name, &path, goes(&session, &overview))
}

/// `POST /console/account/factors/passkeys/{id}/remove`.
pub(crate) async fn remove_passkey(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<Uuid>,
    _: Form,
) -> Outcome {
    own(&session)?;
    account_passkeys::remove(&app.identity, &session.caller, &session.context, id).await?;
    Ok(done(&here(), "passkey_removed"))
}

/// `GET /console/account/factors/authenticator/remove`.
pub(crate) async fn ask_authenticator(State(app): State<App>, session: Session) -> Outcome {
    let overview = account::overview(&app.identity, &session.caller).await?;
    if overview.totp.is_none() {
        return Err(Error::NotFound(ObjectKind::SecondFactor).into());
    }
    let details = goes(&session, &overview);
    question(&session, ("authenticator", "remove"), "", "/authenticator/remove", details)
}

/// `POST /console/account/factors/authenticator/remove`.
pub(crate) async fn remove_authenticator(State(app): State<App>, session: Session, _: Form) -> Outcome {
    own(&session)?;
    account::remove_totp(&app.identity, &session.caller, &session.context).await?;
    Ok(done(&here(), "authenticator_removed"))
}

/// `GET /console/account/factors/recovery-codes`.
pub(crate) async fn ask_codes(State(app): State<App>, session: Session) -> Outcome {
    account::overview(&app.identity, &session.caller).await?;
    question(&session, ("codes", "renew"), "", "/recovery-codes", Vec::new())
}

/// `POST /console/account/factors/recovery-codes`: the page that shows them this once.
pub(crate) async fn new_codes(State(app): State<App>, session: Session, _: Form) -> Outcome {
    own(&session)?;
    let codes = account::new_recovery_codes(&app.identity, &session.caller, &session.context).await?;
    Ok(shown_codes(&session, &codes, "codes_renewed"))
}

/// The page that shows recovery codes once. `note`: what was done.
pub(super) fn shown_codes(session: &Session, codes: &[String], note: &str) -> Response {
    let values = json!({
        "crumbs": crumbs(session),
        "codes": codes,
        "all": codes.join("\n"),
        "note": note,
        "href": here(),
    });
    page::show(&session.layout, "account/recovery_codes.html", values)
}
