//! Webhooks: the list, and what is done with one at a click.

use super::{ALL, address, tabs};
use crate::{
    components::{
        list::{Address, PAGE_SIZE, Pager},
        question::{Crumb, Question},
        time::When,
    },
    failure::Outcome,
    page,
    pages::done,
    session::Session,
    texts,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::organizations::names_within;
use bailiwick_domain::{Error, OrgId};
use bailiwick_events::subscriptions::{self, Input, View};
use bailiwick_policy::{Action, Permission};
use bailiwick_web::{Params, PathId};
use http::Uri;
use serde_json::{Value, json};
use uuid::Uuid;

/// How deliveries to a webhook go, by a word.
pub(super) fn state(view: &View) -> &'static str {
    let s = &view.subscription;
    if s.disabled_reason.is_some() {
        "off"
    } else if !s.is_enabled {
        "paused"
    } else if s.failing_since.is_some() {
        "failing"
    } else if s.last_success_at.is_some() {
        "delivering"
    } else {
        "new"
    }
}

/// `GET /console/timeline/webhooks`.
pub(crate) async fn list(State(app): State<App>, session: Session, uri: Uri, params: Params) -> Outcome {
    if !session.caller.holds(Permission::ReadAlerts) {
        return Err(Error::insufficient_permissions().into());
    }
    let page = subscriptions::list(&app.events, &session.caller, params.page(PAGE_SIZE)).await?;
    let homes: Vec<OrgId> = page.rows.iter().map(|view| view.subscription.path.id).collect();
    let names = names_within(&app.directory, &session.caller, &homes).await?;
    let layout = &session.layout;
    let row = |view: &View| -> Value {
        let s = &view.subscription;
        json!({
            "href": address(s.id),
            "name": s.name,
            "url": view.url,
            "state": state(view),
            "organization": names.get(&s.path.id),
            "types": s.types,
            "pending": view.counts.pending,
            "dead": view.counts.dead,
            "last": When::maybe(layout.language, layout.now, s.last_success_at),
        })
    };
    let values = json!({
        "tab": "webhooks",
        "tabs": tabs(&session.caller),
        "rows": page.rows.iter().map(row).collect::<Vec<_>>(),
        "pager": Pager::of(&page, &Address::of(ALL, uri.query()))?,
        "may_manage": session.caller.holds(Permission::ManageAlerts),
    });
    Ok(page::show(layout, "events/webhooks.html", values))
}

/// The way to a webhook.
pub(super) fn crumbs(session: &Session, last: Option<(Uuid, &str)>) -> Vec<Crumb> {
    let text = |key| texts::find(session.layout.language, key).unwrap_or_default();
    let mut crumbs =
        vec![Crumb::link("/console/timeline", text("nav_events")), Crumb::link(ALL, text("tab_webhooks"))];
    crumbs.extend(last.map(|(id, name)| Crumb::link(address(id), name)));
    crumbs
}

async fn set_enabled(app: &App, session: &Session, id: Option<Uuid>, enabled: bool) -> Outcome {
    let input = || Ok(Input { enabled: Some(enabled), ..Input::default() });
    let changed = subscriptions::update(&app.events, &session.caller, &session.context, id, input).await?;
    let note = if enabled { "webhook_resumed" } else { "webhook_paused" };
    Ok(done(&address(changed.subscription.id), note))
}

/// `POST …/pause`.
pub(crate) async fn pause(State(app): State<App>, session: Session, PathId(id): PathId<Uuid>) -> Outcome {
    set_enabled(&app, &session, id, false).await
}

/// `POST …/resume`.
pub(crate) async fn resume(State(app): State<App>, session: Session, PathId(id): PathId<Uuid>) -> Outcome {
    set_enabled(&app, &session, id, true).await
}

async fn ask(app: &App, session: &Session, id: Option<Uuid>, action: Action, word: &str) -> Outcome {
    let (_, subscription) = subscriptions::load(&app.events, &session.caller, action, id).await?;
    let here = address(subscription.id);
    Question {
        word,
        area: Some("webhook"),
        name: &subscription.name,
        crumbs: crumbs(session, Some((subscription.id, &subscription.name))),
        action: format!("{here}/{word}"),
        back: here,
        details: Vec::new(),
        types_name: false,
        is_wrong: false,
        other: None,
    }
    .page(session)
}

/// `GET …/rotate`.
pub(crate) async fn ask_rotate(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<Uuid>,
) -> Outcome {
    ask(&app, &session, id, Action::Update, "rotate").await
}

/// `POST …/rotate`.
pub(crate) async fn rotate(State(app): State<App>, session: Session, PathId(id): PathId<Uuid>) -> Outcome {
    let rotated = subscriptions::rotate(&app.events, &session.caller, &session.context, id).await?;
    Ok(secret(&session, &rotated, false))
}

/// The page that shows a secret this once.
pub(super) fn secret(session: &Session, view: &View, is_new: bool) -> axum::response::Response {
    let s = &view.subscription;
    let values = json!({
        "crumbs": crumbs(session, Some((s.id, &s.name))),
        "href": address(s.id),
        "secret": view.secret,
        "is_new": is_new,
    });
    page::show(&session.layout, "events/secret.html", values)
}

/// `GET …/delete`.
pub(crate) async fn ask_delete(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<Uuid>,
) -> Outcome {
    ask(&app, &session, id, Action::Delete, "delete").await
}

/// `POST …/delete`.
pub(crate) async fn delete(State(app): State<App>, session: Session, PathId(id): PathId<Uuid>) -> Outcome {
    subscriptions::remove(&app.events, &session.caller, &session.context, id).await?;
    Ok(done(ALL, "webhook_deleted"))
}
