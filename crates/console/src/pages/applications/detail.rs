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
pub(super) fn crumbs(session: &Session, record: &ApplicationRecord, is_last: bool) -> Vec<Crumb> {
    let list = texts::find(session.layout.language, "nav_applications").unwrap_or_default();
    let mut crumbs = vec![Crumb::link("/console/applications", list)];
    let system = record.system_name.as_str();
    crumbs.push(if session.caller.holds(Permission::ReadSystems) {
        Crumb::link(format!("{}/applications", links::system(record.system_id)), system)
    } else {
        Crumb::text(system)
    });
    if !is_last {
        crumbs.push(Crumb::link(address(record.id), name_of(record)));
    }
    crumbs
}

/// `GET /console/applications/{id}`.
pub(crate) async fn show(
    State(app): State<App>,
    session: Session,
    which: PathId<ApplicationRef>,
) -> Outcome<Response> {
    let record = load(&app, &session, Action::Read, which).await?;
    let layout = &session.layout;
    let when = |at| When::maybe(layout.language, layout.now, at);
    let may = |action| decide(&session.caller, action, &record.target()).is_allowed();
    let organization = record.organization.as_ref();
    let values = json!({
        "crumbs": crumbs(&session, &record, true),
        "href": address(record.id),
        "name": name_of(&record),
        "status": record.status,
        "has_errors": record.has_errors,
        "product": record.name.as_deref().unwrap_or(&record.instance_of),
        "type": record.instance_of,
        "version": record.version,
        "module": record.module_id,
        "node": record.node_label.clone().or_else(|| record.node_id.map(|id| id.to_string())),
        "source": record.source,
        "url": record.url.as_deref().filter(|url| is_web(url)),
        "system": record.system_name,
        "system_href": session.caller.holds(Permission::ReadSystems).then(|| links::system(record.system_id)),
        "organization": organization.map(|organization| organization.name.as_str()),
        "organization_href": organization.map(|o| format!("/console/applications?organization_id={}", o.id)),
        "is_user_facing": record.is_user_facing,
        "first_seen": when(Some(record.first_seen_at)),
        "last_seen": when(record.last_inventory_at),
        "updated": when(Some(record.updated_at)),
        "notes": record.notes,
        "parts": parts(&record),
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
fn parts(record: &ApplicationRecord) -> Vec<Value> {
    let all = [
        ("part_services", record.services_data.as_deref()),
        ("part_backup", record.backup_data.as_deref()),
        ("part_inventory", Some(record.inventory_data.as_str())),
    ];
    let part = |(title, text): (&str, Option<&str>)| {
        let text = text.filter(|text| text.len() <= document::FOLDED_UP_TO)?;
        let value: Value = serde_json::from_str(text).ok()?;
        let has_content = value.as_object().is_none_or(|map| !map.is_empty()) && !value.is_null();
        has_content.then(|| json!({"title": title, "folded": document::folded(&value)}))
    };
    all.into_iter().filter_map(part).collect()
}
