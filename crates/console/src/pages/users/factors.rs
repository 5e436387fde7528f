//! Help for a user who has lost their second factors: all of them are removed.

use super::{address, head};
use crate::{components::question::Question, failure::Outcome, form::Form, pages::done, session::Session};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::users;
use bailiwick_domain::{Error, UserId};
use bailiwick_identity::factors;
use bailiwick_policy::Action;
use bailiwick_web::PathId;

/// `GET /console/users/{id}/second-factors`.
pub(crate) async fn ask(State(app): State<App>, session: Session, PathId(id): PathId<UserId>) -> Outcome {
    let record = users::load_for(&app.directory, &session.caller, Action::SetPassword, id).await?;
    if !factors::is_on(&app.identity) {
        return Err(Error::forbidden("second factors are not available").into());
    }
    let user = &record.view.user;
    Question {
        word: "second-factors",
        area: Some("user"),
        name: &user.name,
        crumbs: head::crumbs(&session, user),
        action: format!("{}/second-factors", address(user.id)),
        back: address(user.id),
        details: Vec::new(),
        types_name: false,
        is_wrong: false,
        other: None,
    }
    .page(&session)
}

/// `POST /console/users/{id}/second-factors`.
pub(crate) async fn remove(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<UserId>,
    _: Form,
) -> Outcome {
    users::reset_second_factors(&app.directory, &session.caller, &session.context, id).await?;
    let to = id.map_or_else(|| "/console/users".to_owned(), address);
    Ok(done(&to, "user_second-factors"))
}
