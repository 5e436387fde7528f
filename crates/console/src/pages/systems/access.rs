//! How a system gets in: its key, its secret, the command that registers it, whether it can be reached.

use super::head;
use crate::{components::time::When, failure::Outcome, form::Form, page, session::Guest};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_domain::SystemId;
use bailiwick_fleet::systems::{self, Created, Reachability, SystemRecord};
use bailiwick_web::PathId;
use serde_json::{Value, json};

/// `GET /console/systems/{id}/access`.
pub(crate) async fn show(State(app): State<App>, guest: Guest, PathId(id): PathId<SystemId>) -> Outcome {
    let found = head::load(&app, &guest, id).await?;
    tab(&app, &guest, &found, None).await
}

/// `POST /console/systems/{id}/reachability`.
pub(crate) async fn reachability(
    State(app): State<App>,
    guest: Guest,
    PathId(id): PathId<SystemId>,
) -> Outcome {
    let found = head::load(&app, &guest, id).await?;
    let reached = systems::reachability(&app, &guest.caller, id).await?;
    tab(&app, &guest, &found, Some(reached)).await
}

async fn tab(app: &App, guest: &Guest, found: &SystemRecord, reached: Option<Reachability>) -> Outcome {
    let system = &found.system;
    let reached: Option<Value> = reached.map(|r| json!({"is_reached": r.reachable, "url": r.url}));
    let values = json!({
        "head": head::head(app, guest, found, "access").await?,
        "key": system.registered_at.map(|_| system.system_key.as_str()),
        "registered": When::maybe(guest.look.language, guest.look.now, system.registered_at),
        "command": command(app, "<secret>"),
        "may_regenerate": head::may_regenerate(&guest.caller, found),
        "fqdn": system.fqdn,
        "reached": reached,
    });
    Ok(page::show(&guest.look, "systems/access.html", values))
}

/// `POST /console/systems/{id}/secret`.
pub(crate) async fn regenerate(
    State(app): State<App>,
    guest: Guest,
    PathId(id): PathId<SystemId>,
    form: Form,
) -> Outcome {
    let force = || Ok(form.has("force"));
    let renewed = systems::regenerate_secret(&app, &guest.caller, &guest.context, id, force).await?;
    Ok(secret(&app, &guest, &renewed, false))
}

/// The page that shows a secret this once.
pub(super) fn secret(app: &App, guest: &Guest, created: &Created, is_new: bool) -> Response {
    let secret = created.secret.reveal();
    let values = json!({
        "name": created.system.name,
        "href": super::address(created.system.id),
        "key": created.system.system_key,
        "secret": secret,
        "command": command(app, &secret),
        "is_new": is_new,
    });
    page::show(&guest.look, "systems/secret.html", values)
}

/// What registers a system, ready to be pasted there.
fn command(app: &App, secret: &str) -> String {
    let base = format!("{}{}", app.settings.public_url, app.settings.api_base_url);
    format!(
        "curl -sS --fail-with-body {base}/systems/register -H 'content-type: application/json' -d '{{\"system_secret\":\"{secret}\"}}'"
    )
}
