//! How a system gets in: its key, its secret, the command that registers it, whether it can be reached.

use super::head;
use crate::{components::time::When, failure::Outcome, form::Form, page, session::Session};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_domain::SystemId;
use bailiwick_fleet::systems::{self, Created, Reachability, SystemRecord};
use bailiwick_web::PathId;
use serde_json::{Value, json};

/// `GET /console/systems/{id}/access`.
pub(crate) async fn show(State(app): State<App>, session: Session, PathId(id): PathId<SystemId>) -> Outcome {
    let record = head::load(&app, &session, id).await?;
    tab(&app, &session, &record, None).await
}

/// `POST /console/systems/{id}/reachability`.
pub(crate) async fn reachability(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<SystemId>,
) -> Outcome {
    let record = head::load(&app, &session, id).await?;
    let reached = systems::reachability(&app.fleet, &session.caller, id).await?;
    tab(&app, &session, &record, Some(reached)).await
}

async fn tab(app: &App, session: &Session, record: &SystemRecord, reached: Option<Reachability>) -> Outcome {
    let system = &record.system;
    let reached: Option<Value> = reached.map(|r| json!({"is_reached": r.reachable, "url": r.url}));
    let values = json!({
        "head": head::head(app, session, record, "access").await?,
        "key": system.registered_at.map(|_| system.system_key.as_str()),
        "registered": When::maybe(session.layout.language, session.layout.now, system.registered_at),
        "command": command(app, "<secret>"),
        "may_regenerate": head::may_regenerate(&session.caller, record),
        "fqdn": system.fqdn,
        "reached": reached,
    });
    Ok(page::show(&session.layout, "systems/access.html", values))
}

/// `POST /console/systems/{id}/secret`.
pub(crate) async fn regenerate(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<SystemId>,
    form: Form,
) -> Outcome {
    let force = || Ok(form.has("force"));
    let renewed =
        systems::regenerate_secret(&app.fleet, &session.caller, &session.context, id, force).await?;
    Ok(secret(&app, &session, &renewed, false))
}

/// The page that shows a secret this once.
pub(super) fn secret(app: &App, session: &Session, created: &Created, is_new: bool) -> Response {
    let secret = created.secret.reveal();
    let values = json!({
        "name": created.system.name,
        "href": super::address(created.system.id),
        "key": created.system.system_key,
        "secret": secret,
        "command": command(app, &secret),
        "is_new": is_new,
    });
    page::show(&session.layout, "systems/secret.html", values)
}

/// What registers a system, ready to be pasted there.
fn command(app: &App, secret: &str) -> String {
    let base = format!("{}{}", app.settings.public_url, app.settings.api_base_url);
    format!(
        "curl -sS --fail-with-body {base}/systems/register -H 'content-type: application/json' -d '{{\"system_secret\":\"{secret}\"}}'"
    )
}
