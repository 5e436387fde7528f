//! What the person says of themselves, their picture and their password.

use super::{HERE, head, own};
use crate::{
    components::picture::{address_of, reason},
    failure::Outcome,
    form::{Form, problems},
    page,
    pages::done,
    session::Session,
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_directory::{
    avatars::{self, Whose},
    users::{self, OwnInfo},
};
use bailiwick_domain::Error;
use bailiwick_identity::{
    auth,
    passwords::{self, OwnChange},
};
use bailiwick_web::{Upload, picture};
use http::StatusCode;
use serde_json::{Value, json};

/// `GET /console/account`.
pub(crate) async fn show(State(app): State<App>, session: Session) -> Outcome {
    own(&session)?;
    render(&app, &session, &ProfileView::default()).await
}

/// What a page shows besides what is stored.
#[derive(Default)]
struct ProfileView<'s> {
    /// The fields as sent.
    sent: Option<&'s Form>,
    wrong: Option<Value>,
    /// Why a picture was not taken.
    refused: Option<&'static str>,
}

async fn render(app: &App, session: &Session, shown: &ProfileView<'_>) -> Outcome<Response> {
    let me = auth::object_of(&session.caller)?;
    let text = |name: &str, stored: &str| match shown.sent {
        Some(form) => form.text(name),
        None => stored.to_owned(),
    };
    let is_refused = shown.wrong.is_some() || shown.refused.is_some();
    let status = if is_refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let values = json!({
        "head": head(app, session, "profile"),
        "name": text("name", &me.name),
        "email": text("email", &me.email),
        "phone": text("phone", me.phone.as_deref().unwrap_or_default()),
        "username": me.username,
        "organization": me.organization_name,
        "level": me.org_role_id,
        "roles": me.user_roles,
        "picture": address_of(app, me.id).await?,
        "refused": shown.refused,
        "has_password": passwords::check_mode(&app.identity).is_ok(),
        "wrong": shown.wrong.clone().unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, status, "account/profile.html", values))
}

/// The form again with what is wrong, or the error.
async fn again(app: &App, session: &Session, sent: Option<&Form>, error: Error) -> Outcome {
    match problems(session.layout.language, &error) {
        Some(wrong) => {
            render(app, session, &ProfileView { sent, wrong: Some(wrong), ..ProfileView::default() }).await
        }
        None => Err(error.into()),
    }
}

/// `POST /console/account`.
pub(crate) async fn save(State(app): State<App>, session: Session, sent: Form) -> Outcome {
    own(&session)?;
    let body = || {
        Ok(OwnInfo {
            name: Some(sent.text("name")),
            email: Some(sent.text("email").trim().to_owned()),
            phone: Some(sent.text("phone")),
        })
    };
    match users::change_own_info(&app.directory, &session.caller, &session.context, body).await {
        Ok(_) => Ok(done(HERE, "saved")),
        Err(error) => again(&app, &session, Some(&sent), error).await,
    }
}

/// `POST /console/account/password`.
pub(crate) async fn change_password(State(app): State<App>, session: Session, sent: Form) -> Outcome {
    own(&session)?;
    let body = || Ok(OwnChange { current: sent.text("current_password"), new: sent.text("new_password") });
    match passwords::change_own(&app.identity, &session.caller, &session.context, body).await {
        Ok(()) => Ok(done(HERE, "own_password")),
        Err(error) => again(&app, &session, None, error).await,
    }
}

/// `POST /console/account/picture`.
pub(crate) async fn upload(State(app): State<App>, session: Session, sent: Upload) -> Outcome {
    own(&session)?;
    match avatars::upload(&app.directory, &session.caller, &session.context, Whose::Own, picture(sent)).await
    {
        Ok(_) => Ok(done(HERE, "picture")),
        Err(error) => match reason(&error) {
            Some(refused) => {
                render(&app, &session, &ProfileView { refused: Some(refused), ..ProfileView::default() })
                    .await
            }
            None => Err(error.into()),
        },
    }
}

/// `POST /console/account/picture/remove`.
pub(crate) async fn remove_picture(State(app): State<App>, session: Session, _: Form) -> Outcome {
    own(&session)?;
    avatars::remove(&app.directory, &session.caller, &session.context, Whose::Own).await?;
    Ok(done(HERE, "picture_removed"))
}
