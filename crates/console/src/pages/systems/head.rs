//! What every tab of a system shows at its top: where it is, how it is and why, what may be done with it.

use super::address;
use crate::{
    components::{author::author, time::When},
    failure::Outcome,
    pages::organizations::readable_address,
    session::Session,
};
use bailiwick_app::App;
use bailiwick_domain::{OrgId, System, SystemId, org::Mark};
use bailiwick_fleet::systems::{self, SystemRecord};
use bailiwick_policy::{Action, Caller, Permission, Standing, SystemTarget, decide};
use serde::Serialize;
use serde_json::{Value, json};

/// An action that the person may take now.
#[derive(Clone, Debug, Serialize)]
struct Step {
    /// Its word in addresses and keys of texts.
    word: &'static str,
    /// Whether it is asked before it is done.
    asks: bool,
}

/// The system, if the person may read it.
pub(super) async fn load(app: &App, session: &Session, id: Option<SystemId>) -> Outcome<SystemRecord> {
    Ok(systems::load(&app.fleet, &session.caller, id).await?)
}

/// The head of a tab; `tab`: its word.
pub(super) async fn head(app: &App, session: &Session, record: &SystemRecord, tab: &str) -> Outcome<Value> {
    let (layout, system, caller) = (&session.layout, &record.system, &session.caller);
    let status = system.status();
    let when = |at| When::maybe(layout.language, layout.now, at);
    let (verb, mark) = match system.deleted.is_set() {
        true => ("delete", system.deleted),
        false => ("suspend", system.suspended),
    };
    // For people who may not read the organization.
    let beside =
        || format!("/console/systems?organization_id={}&include_hierarchy=true", system.organization.id);
    Ok(json!({
        "id": system.id.to_string(),
        "href": address(system.id),
        "name": system.name,
        "status": status.as_str(),
        "since": when(mark.at),
        "is_inherited": mark.by.is_some(),
        "from": origin(app, caller, mark).await?,
        "by": author(app, session, system.id.0, verb, mark).await?,
        "organization": system.organization.name,
        "organization_href": readable_address(caller, &system.organization).unwrap_or_else(beside),
        "heartbeat": when(system.last_heartbeat),
        "is_registered": system.registered_at.is_some(),
        "has_sent": system.last_inventory.is_some(),
        "tab": tab,
        "tabs": tabs(caller),
        "may_edit": may(caller, Action::Update, &record.target()),
        "steps": steps(caller, system, &record.target()),
    }))
}

/// The name of the organization that a mark is inherited from, if the person may see it.
async fn origin(app: &App, caller: &Caller, mark: Mark) -> Outcome<Option<String>> {
    let Some(id) = mark.by else { return Ok(None) };
    Ok(visible_name(app, caller, id).await?)
}

async fn visible_name(app: &App, caller: &Caller, id: OrgId) -> bailiwick_domain::Result<Option<String>> {
    bailiwick_directory::organizations::name_within(&app.directory, caller, id).await
}

fn may(caller: &Caller, action: Action, target: &SystemTarget) -> bool {
    decide(caller, action, target).is_allowed()
}

/// Tabs that the person may open.
fn tabs(caller: &Caller) -> Vec<&'static str> {
    let mut tabs = vec!["overview", "changes"];
    if caller.holds(Permission::ReadApplications) {
        tabs.push("applications");
    }
    tabs.extend(["alerts", "backups", "access"]);
    tabs
}

/// What can be done in the state the system is in.
fn steps(caller: &Caller, system: &System, target: &SystemTarget) -> Vec<Step> {
    let Standing { suspended, deleted, .. } = target.standing;
    let is_deleted = system.deleted.is_set();
    let rows = [
        ("suspend", false, Action::Suspend, !suspended && !is_deleted),
        ("reactivate", false, Action::Reactivate, suspended && !is_deleted),
        ("restore", false, Action::Restore, deleted),
        ("delete", true, Action::Delete, !is_deleted),
        ("destroy", true, Action::Destroy, true),
    ];
    let possible = rows.into_iter().filter(|(_, _, action, fits)| *fits && may(caller, *action, target));
    possible.map(|(word, asks, ..)| Step { word, asks }).collect()
}

/// Whether the person may have a new secret made for the system.
pub(super) fn may_regenerate(caller: &Caller, record: &SystemRecord) -> bool {
    may(caller, Action::RegenerateSecret, &record.target())
}
