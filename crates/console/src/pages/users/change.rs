//! A user goes to another organization, or lets the person act for them.

use super::{address, head};
use crate::{
    components::organizations::{Picked, ToHave, offered},
    failure::Outcome,
    form::{Form, problems},
    page,
    pages::done,
    session::Session,
};
use axum::{
    extract::{Path, State},
    response::Response,
};
use bailiwick_app::App;
use bailiwick_directory::users::{self, UserBody, UserRecord};
use bailiwick_domain::{Error, UserId};
use bailiwick_identity::{console, impersonation};
use bailiwick_policy::{Action, Refusal, Resource, gate};
use bailiwick_web::PathId;
use http::StatusCode;
use serde_json::{Value, json};

/// `GET /console/users/{id}/move`.
pub(crate) async fn show(State(app): State<App>, session: Session, PathId(id): PathId<UserId>) -> Outcome {
    let record = users::load_for(&app.directory, &session.caller, Action::Update, id).await?;
    let present = Picked::of(record.view.user.organization.id.to_string());
    form(&app, &session, &record, &present, None).await
}

async fn form(
    app: &App,
    session: &Session,
    record: &UserRecord,
    picked: &Picked,
    wrong: Option<Value>,
) -> Outcome<Response> {
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let user = &record.view.user;
    let values = json!({
        "crumbs": head::crumbs(session, user),
        "href": address(user.id),
        "name": user.name,
        "offered": offered(app, session, ToHave::User, picked).await?,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, status, "users/move.html", values))
}

/// `POST /console/users/{id}/move`.
pub(crate) async fn relocate(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<UserId>,
    sent: Form,
) -> Outcome {
    let picked = Picked::sent(&sent, "organization_id");
    if picked.is_search {
        let record = users::load_for(&app.directory, &session.caller, Action::Update, id).await?;
        return form(&app, &session, &record, &picked, None).await;
    }
    let body = || Ok(UserBody { organization_id: Some(picked.id.clone()), ..UserBody::default() });
    match users::update(&app.directory, &session.caller, &session.context, id, body).await {
        Ok(view) => Ok(done(&address(view.user.id), "user_move")),
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => {
                let record = head::load(&app, &session, id).await?;
                form(&app, &session, &record, &picked, Some(wrong)).await
            }
            None => Err(error.into()),
        },
    }
}

/// `POST /console/users/{id}/impersonate`: begins, and goes on in this browser as the user.
pub(crate) async fn impersonate(
    State(app): State<App>,
    session: Session,
    Path(id): Path<String>,
    _: Form,
) -> Outcome {
    let caller = &session.caller;
    if caller.acting_for().is_some() {
        return Err(Error::from(Refusal::AlreadyImpersonating).into());
    }
    gate(caller, Action::Impersonate, Resource::Users).map_err(Error::from)?;
    impersonation::start(&app.identity, caller, &session.context, || Ok(id)).await?;
    console::go_on(&app.identity, &session.browser).await?;
    Ok(page::see_other("/console/"))
}
