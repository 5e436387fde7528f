//! Suspend, reactivate, delete, restore, destroy: what cannot be taken back by a click is asked first.

use super::{address, head};
use crate::{
    components::question::{Question, lifecycle_action},
    failure::Outcome,
    form::Form,
    pages::done,
    session::Session,
};
use axum::extract::{Path, State};
use bailiwick_app::App;
use bailiwick_directory::users::{self, UserRecord};
use bailiwick_domain::{Error, ObjectKind, UserId};
use bailiwick_policy::{Action, decide};

fn action(word: &str) -> Outcome<Action> {
    Ok(lifecycle_action(word).ok_or(Error::NotFound(ObjectKind::Page))?)
}

/// `GET /console/users/{id}/{step}`.
pub(crate) async fn ask(
    State(app): State<App>,
    session: Session,
    Path((id, word)): Path<(String, String)>,
) -> Outcome {
    let id: Option<UserId> = id.parse().ok();
    let record = users::load_for(&app.directory, &session.caller, action(&word)?, id).await?;
    question(&session, &record, &word, false)
}

fn question(session: &Session, record: &UserRecord, word: &str, is_wrong: bool) -> Outcome {
    let user = &record.view.user;
    let may_destroy = decide(&session.caller, Action::Destroy, &record.target).is_allowed();
    let here = address(user.id);
    let other = (may_destroy && word == "restore").then(|| (format!("{here}/destroy"), "do_destroy"));
    Question {
        word,
        area: Some("user"),
        name: &user.name,
        crumbs: head::crumbs(session, user),
        action: format!("{here}/{word}"),
        back: if user.deleted.is_set() { "/console/users?status=deleted".to_owned() } else { here },
        details: Vec::new(),
        types_name: word == "destroy",
        is_wrong,
        other,
    }
    .page(session)
}

/// `POST /console/users/{id}/{step}`.
pub(crate) async fn take(
    State(app): State<App>,
    session: Session,
    Path((id, word)): Path<(String, String)>,
    form: Form,
) -> Outcome {
    let id: Option<UserId> = id.parse().ok();
    let (caller, context) = (&session.caller, &session.context);
    let wanted = action(&word)?;
    if wanted == Action::Destroy {
        let record = users::load_for(&app.directory, caller, wanted, id).await?;
        if form.text("name") != record.view.user.name {
            return question(&session, &record, &word, true);
        }
    }
    match wanted {
        Action::Suspend => users::suspend(&app.directory, caller, context, id).await?,
        Action::Reactivate => users::reactivate(&app.directory, caller, context, id).await?,
        Action::Delete => users::delete(&app.directory, caller, context, id).await?,
        Action::Restore => users::restore(&app.directory, caller, context, id).await?,
        _ => users::destroy(&app.directory, caller, context, id).await?,
    }
    let is_gone = matches!(wanted, Action::Delete | Action::Destroy);
    let to = id.filter(|_| !is_gone).map_or_else(|| "/console/users".to_owned(), address);
    Ok(done(&to, &format!("user_{word}")))
}
