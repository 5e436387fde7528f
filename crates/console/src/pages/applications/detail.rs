//! One application: what documents say of it, to whom it is assigned, what may be done with it.

use super::{address, name_of};
use crate::{
    components::{document, question::Crumb, time::When},
    failure::Outcome,
    links, page,
    session::Session,
    texts,
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_fleet::applications::{self, ApplicationRecord, ApplicationRef};
use bailiwick_policy::{Action, Permission, decide};
use bailiwick_web::PathId;
use serde_json::{Value, json};

/// The application that an address names, if the person may do this with it.
pub(super) async fn load(
    app: &App,
    session: &Session,
    action: Action,
    PathId(which): PathId<ApplicationRef>,
) -> Outcome<ApplicationRecord> {
    let which = which.unwrap_or(ApplicationRef::Nonsense);
    let found = applications::get(&app.fleet, &session.caller, which).await?;
    decide(&session.caller, action, &found.target()).granted()?;
    Ok(found)
}

/// The way to an application.
pub(super) fn crumbs(session: &Session, found: &ApplicationRecord, is_last: bool) -> Vec<Crumb> {
    let list = texts::find(session.layout.language, "nav_applications").unwrap_or_default();
    let mut crumbs = vec![Crumb::link("/console/applications", list)];
    let system = found.system_name.as_str();
    crumbs.push(if session.caller.holds(Permission::ReadSystems) {
        Crumb::link(format!("{}/applications", links::system(found.system_id)), system)
    } else {
        Crumb::text(system)
    });
    if !is_last {
        crumbs.push(Crumb::link(address(found.id), name_of(found)));
    }
    crumbs
}

/// `GET /console/applications/{id}`.
pub(crate) async fn show(
    State(app): State<App>,
    session: Session,
    which: PathId<ApplicationRef>,
) -> Outcome<Response> {
    let found = load(&app, &session, Action::Read, which).await?;
    let layout = &session.layout;
    let when = |at| When::maybe(layout.language, layout.now, at);
    let may = |action| decide(&session.caller, action, &found.target()).is_allowed();
    let organization = found.organization.as_ref();
    let values = json!({
        "crumbs": crumbs(&session, &found, true),
        "href": address(found.id),
        "name": name_of(&found),
        "status": found.status,
        "has_errors": found.has_errors,
        "product": found.name.as_deref().unwrap_or(&found.instance_of),
        "type": found.instance_of,
        "version": found.version,
        "module": found.module_id,
        "node": found.node_label.clone().or_else(|| found.node_id.map(|id| id.to_string())),
        "source": found.source,
        "url": found.url.as_deref().filter(|url| is_web(url)),
        "system": found.system_name,
        "system_href": session.caller.holds(Permission::ReadSystems).then(|| links::system(found.system_id)),
        "organization": organization.map(|organization| organization.name.as_str()),
        "organization_href": organization.map(|o| format!("/console/applications?organization_id={}", o.id)),
        "is_user_facing": found.is_user_facing,
        "first_seen": when(Some(found.first_seen_at)),
        "last_seen": when(found.last_inventory_at),
        "updated": when(Some(found.updated_at)),
        "notes": found.notes,
        "parts": parts(&found),
        "may_change": may(Action::Update),
        "may_delete": may(Action::Delete),
    });
    Ok(page::show(layout, "applications/detail.html", values))
}

/// Only such addresses become links: documents are written by others.
fn is_web(address: &str) -> bool {
    address.starts_with("https://") || address.starts_with("http://")
}

/// What documents say of it beyond the columns, folded.
fn parts(found: &ApplicationRecord) -> Vec<Value> {
    let all = [
        ("part_services", found.services_data.as_deref()),
        ("part_backup", found.backup_data.as_deref()),
        ("part_inventory", Some(found.inventory_data.as_str())),
    ];
    let part = |(title, text): (&str, Option<&str>)| {
        let text = text.filter(|text| text.len() <= document::FOLDED_UP_TO)?;
        let value: Value = serde_json::from_str(text).ok()?;
        let is_told = value.as_object().is_none_or(|map| !map.is_empty()) && !value.is_null();
        is_told.then(|| json!({"title": title, "folded": document::folded(&value)}))
    };
    all.into_iter().filter_map(part).collect()
}
