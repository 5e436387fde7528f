//! A new password for a user: a chosen one, or one that is made and shown once.

use super::{address, head};
use crate::{
    failure::Outcome,
    form::{Form, problems},
    page,
    pages::done,
    session::Session,
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_directory::users::{self, UserRecord};
use bailiwick_domain::{UserId, validate::generate_password};
use bailiwick_identity::passwords;
use bailiwick_policy::Action;
use bailiwick_web::PathId;
use http::StatusCode;
use serde_json::{Value, json};

/// `GET /console/users/{id}/password`.
pub(crate) async fn show(State(app): State<App>, session: Session, PathId(id): PathId<UserId>) -> Outcome {
    let record = users::load_for(&app.directory, &session.caller, Action::SetPassword, id).await?;
    passwords::check_mode(&app.identity)?;
    form(&session, &record, None)
}

fn form(session: &Session, record: &UserRecord, wrong: Option<Value>) -> Outcome<Response> {
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let user = &record.view.user;
    let values = json!({
        "crumbs": head::crumbs(session, user),
        "href": address(user.id),
        "name": user.name,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, status, "users/password.html", values))
}

/// `POST /console/users/{id}/password`: without a password, one is made.
pub(crate) async fn set(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<UserId>,
    sent: Form,
) -> Outcome {
    let chosen = sent.text("password");
    let is_made = chosen.is_empty();
    let password = if is_made { generate_password(&*app.platform.entropy) } else { chosen };
    let body = || Ok(Some(password.clone()));
    match users::set_password(&app.directory, &session.caller, &session.context, id, body).await {
        Ok(()) => {}
        Err(error) => {
            return match problems(session.layout.language, &error) {
                Some(wrong) => form(&session, &head::load(&app, &session, id).await?, Some(wrong)),
                None => Err(error.into()),
            };
        }
    }
    let record = head::load(&app, &session, id).await?;
    let user = &record.view.user;
    if !is_made {
        return Ok(done(&address(user.id), "password"));
    }
    let values = json!({
        "crumbs": head::crumbs(&session, user),
        "href": address(user.id),
        "name": user.name,
        "username": user.username,
        "password": password,
    });
    Ok(page::show(&session.layout, "users/password_made.html", values))
}
