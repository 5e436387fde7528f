//! What people do with an application: notes, assignment, deletion.

use super::{
    address,
    detail::{crumbs, load},
    name_of,
};
use crate::{
    components::{
        organizations::{Picked, ToHave, offered},
        question::Question,
    },
    failure::Outcome,
    form::{Form, problems},
    page,
    pages::done,
    session::Session,
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_fleet::applications::{self, ApplicationRecord, ApplicationRef};
use bailiwick_policy::Action;
use bailiwick_web::PathId;
use http::StatusCode;
use serde_json::{Value, json};

type Which = PathId<ApplicationRef>;

fn named(PathId(which): &Which) -> ApplicationRef {
    which.clone().unwrap_or(ApplicationRef::Nonsense)
}

const fn status(wrong: Option<&Value>) -> StatusCode {
    if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK }
}

/// `GET /console/applications/{id}/edit`.
pub(crate) async fn show_notes(State(app): State<App>, session: Session, which: Which) -> Outcome {
    let found = load(&app, &session, Action::Update, which).await?;
    let notes = found.notes.clone().unwrap_or_default();
    Ok(notes_form(&session, &found, &notes, None))
}

fn notes_form(session: &Session, found: &ApplicationRecord, notes: &str, wrong: Option<Value>) -> Response {
    let code = status(wrong.as_ref());
    let values = json!({
        "crumbs": crumbs(session, found, false),
        "href": address(found.id),
        "name": name_of(found),
        "notes": notes,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    page::render(&session.layout, code, "applications/notes.html", values)
}

/// `POST /console/applications/{id}/edit`.
pub(crate) async fn set_notes(State(app): State<App>, session: Session, which: Which, sent: Form) -> Outcome {
    let notes = sent.text("notes");
    let body = || Ok(Some(notes.clone()));
    match applications::set_notes(&app.fleet, &session.caller, &session.context, named(&which), body).await {
        Ok(changed) => Ok(done(&address(changed.id), "saved")),
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => {
                let found = load(&app, &session, Action::Update, which).await?;
                Ok(notes_form(&session, &found, &notes, Some(wrong)))
            }
            None => Err(error.into()),
        },
    }
}

/// `GET /console/applications/{id}/assign`.
pub(crate) async fn show_assign(State(app): State<App>, session: Session, which: Which) -> Outcome {
    let found = load(&app, &session, Action::Update, which).await?;
    let present = found.organization.as_ref().map(|organization| organization.id.to_string());
    assign_form(&app, &session, &found, &Picked::of(present.unwrap_or_default()), None).await
}

async fn assign_form(
    app: &App,
    session: &Session,
    found: &ApplicationRecord,
    picked: &Picked,
    wrong: Option<Value>,
) -> Outcome {
    let code = status(wrong.as_ref());
    let values = json!({
        "crumbs": crumbs(session, found, false),
        "href": address(found.id),
        "name": name_of(found),
        "offered": offered(app, session, ToHave::Anything, picked).await?,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, code, "applications/assign.html", values))
}

/// `POST /console/applications/{id}/assign`.
pub(crate) async fn assign(State(app): State<App>, session: Session, which: Which, sent: Form) -> Outcome {
    let picked = Picked::sent(&sent, "organization_id");
    if picked.is_search {
        let found = load(&app, &session, Action::Update, which).await?;
        return assign_form(&app, &session, &found, &picked, None).await;
    }
    let body = || Ok(Some(picked.id.clone()));
    match applications::assign(&app.fleet, &session.caller, &session.context, named(&which), body).await {
        Ok(changed) => Ok(done(&address(changed.id), "assigned")),
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => {
                let found = load(&app, &session, Action::Update, which).await?;
                assign_form(&app, &session, &found, &picked, Some(wrong)).await
            }
            None => Err(error.into()),
        },
    }
}

/// `POST /console/applications/{id}/unassign`.
pub(crate) async fn unassign(State(app): State<App>, session: Session, which: Which) -> Outcome {
    let changed =
        applications::unassign(&app.fleet, &session.caller, &session.context, named(&which)).await?;
    Ok(done(&address(changed.id), "unassigned"))
}

/// `GET /console/applications/{id}/delete`.
pub(crate) async fn ask_delete(State(app): State<App>, session: Session, which: Which) -> Outcome {
    let found = load(&app, &session, Action::Delete, which).await?;
    let here = address(found.id);
    Question {
        word: "delete",
        area: Some("application"),
        name: name_of(&found),
        crumbs: crumbs(&session, &found, false),
        action: format!("{here}/delete"),
        back: here,
        details: Vec::new(),
        types_name: false,
        is_wrong: false,
        other: None,
    }
    .page(&session)
}

/// `POST /console/applications/{id}/delete`.
pub(crate) async fn delete(State(app): State<App>, session: Session, which: Which) -> Outcome {
    applications::delete(&app.fleet, &session.caller, &session.context, named(&which)).await?;
    Ok(done("/console/applications", "application_deleted"))
}
