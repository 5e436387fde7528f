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
    form::{Form, etag, problems, problems_or_outdated},
    page,
    pages::done,
    session::Session,
};
use axum::extract::State;
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
    let record = load(&app, &session, Action::Update, which).await?;
    let notes = record.notes.clone().unwrap_or_default();
    notes_form(&app, &session, &record, &notes, None)
}

fn notes_form(
    app: &App,
    session: &Session,
    record: &ApplicationRecord,
    notes: &str,
    wrong: Option<Value>,
) -> Outcome {
    let code = status(wrong.as_ref());
    let values = json!({
        "crumbs": crumbs(session, record, false),
        "href": address(record.id),
        "name": name_of(record),
        "seen": etag(&app.platform, record)?,
        "notes": notes,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, code, "applications/notes.html", values))
}

/// `POST /console/applications/{id}/edit`.
pub(crate) async fn set_notes(State(app): State<App>, session: Session, which: Which, sent: Form) -> Outcome {
    let notes = sent.text("notes");
    let body = || Ok(Some(notes.clone()));
    let (caller, context) = (&session.caller, sent.conditional(&session.context));
    let error = match applications::set_notes(&app.fleet, caller, &context, named(&which), body).await {
        Ok(changed) => return Ok(done(&address(changed.id), "saved")),
        Err(error) => error,
    };
    let Some(wrong) = problems_or_outdated(session.layout.language, &error) else {
        return Err(error.into());
    };
    // As it is now, so that saving again replaces the other change knowingly.
    let record = load(&app, &session, Action::Update, which).await?;
    notes_form(&app, &session, &record, &notes, Some(wrong))
}

/// `GET /console/applications/{id}/assign`.
pub(crate) async fn show_assign(State(app): State<App>, session: Session, which: Which) -> Outcome {
    let record = load(&app, &session, Action::Update, which).await?;
    let present = record.organization.as_ref().map(|organization| organization.id.to_string());
    assign_form(&app, &session, &record, &Picked::of(present.unwrap_or_default()), None).await
}

async fn assign_form(
    app: &App,
    session: &Session,
    record: &ApplicationRecord,
    picked: &Picked,
    wrong: Option<Value>,
) -> Outcome {
    let code = status(wrong.as_ref());
    let values = json!({
        "crumbs": crumbs(session, record, false),
        "href": address(record.id),
        "name": name_of(record),
        "offered": offered(app, session, ToHave::Anything, picked).await?,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, code, "applications/assign.html", values))
}

/// `POST /console/applications/{id}/assign`.
pub(crate) async fn assign(State(app): State<App>, session: Session, which: Which, sent: Form) -> Outcome {
    let picked = Picked::sent(&sent, "organization_id");
    if picked.is_search {
        let record = load(&app, &session, Action::Update, which).await?;
        return assign_form(&app, &session, &record, &picked, None).await;
    }
    let body = || Ok(Some(picked.id.clone()));
    match applications::assign(&app.fleet, &session.caller, &session.context, named(&which), body).await {
        Ok(changed) => Ok(done(&address(changed.id), "assigned")),
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => {
                let record = load(&app, &session, Action::Update, which).await?;
                assign_form(&app, &session, &record, &picked, Some(wrong)).await
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
    let record = load(&app, &session, Action::Delete, which).await?;
    let here = address(record.id);
    Question {
        word: "delete",
        area: Some("application"),
        name: name_of(&record),
        crumbs: crumbs(&session, &record, false),
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
