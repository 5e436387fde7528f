//! Suspend, reactivate, delete, restore, destroy: what cannot be taken back by a click is asked first.

use super::address;
use crate::{
    components::question::{Crumb, Question, lifecycle_action},
    failure::Outcome,
    form::Form,
    pages::done,
    session::Session,
    texts,
};
use axum::extract::{Path, State};
use bailiwick_app::App;
use bailiwick_domain::{Error, ObjectKind, SystemId};
use bailiwick_fleet::systems::{self, SystemRecord};
use bailiwick_policy::{Action, decide};

fn action(word: &str) -> Outcome<Action> {
    Ok(lifecycle_action(word).ok_or(Error::NotFound(ObjectKind::Page))?)
}

/// `GET /console/systems/{id}/{step}`.
pub(crate) async fn ask(
    State(app): State<App>,
    session: Session,
    Path((id, word)): Path<(String, String)>,
) -> Outcome {
    let id: Option<SystemId> = id.parse().ok();
    let found = systems::load_for(&app.fleet, &session.caller, action(&word)?, id).await?;
    question(&session, &found, &word, false)
}

fn question(session: &Session, record: &SystemRecord, word: &str, is_wrong: bool) -> Outcome {
    let system = &record.system;
    let is_deleted = system.deleted.is_set();
    let may_destroy = decide(&session.caller, Action::Destroy, &record.target()).is_allowed();
    let here = address(system.id);
    let list = texts::find(session.layout.language, "nav_systems").unwrap_or_default();
    let other = (may_destroy && word == "restore").then(|| (format!("{here}/destroy"), "do_destroy"));
    Question {
        word,
        area: None,
        name: &system.name,
        crumbs: vec![
            Crumb::link("/console/systems", list),
            Crumb::text(&*system.organization.name),
            Crumb::text(&*system.name),
        ],
        action: format!("{here}/{word}"),
        back: if is_deleted { "/console/systems?status=deleted".to_owned() } else { here },
        details: Vec::new(),
        types_name: word == "destroy",
        is_wrong,
        other,
    }
    .page(session)
}

/// `POST /console/systems/{id}/{step}`.
pub(crate) async fn take(
    State(app): State<App>,
    session: Session,
    Path((id, word)): Path<(String, String)>,
    form: Form,
) -> Outcome {
    let id: Option<SystemId> = id.parse().ok();
    let (caller, context) = (&session.caller, &session.context);
    let wanted = action(&word)?;
    if wanted == Action::Destroy {
        let found = systems::load_for(&app.fleet, caller, wanted, id).await?;
        if form.text("name") != found.system.name {
            return question(&session, &found, &word, true);
        }
    }
    match wanted {
        Action::Suspend => systems::suspend(&app.fleet, caller, context, id).await?,
        Action::Reactivate => systems::reactivate(&app.fleet, caller, context, id).await?,
        Action::Delete => systems::delete(&app.fleet, caller, context, id).await?,
        Action::Restore => systems::restore(&app.fleet, caller, context, id).await?,
        _ => systems::destroy(&app.fleet, caller, context, id).await?,
    }
    let is_gone = matches!(wanted, Action::Delete | Action::Destroy);
    let to = id.filter(|_| !is_gone).map_or_else(|| "/console/systems".to_owned(), address);
    Ok(done(&to, &word))
}
