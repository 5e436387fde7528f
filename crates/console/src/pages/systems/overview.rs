//! What is known of a system: its columns, and the facts of its newest document.

use super::{head, list::product};
use crate::{
    components::{facts, time::When},
    failure::Outcome,
    page,
    session::Session,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_domain::SystemId;
use bailiwick_fleet::inventory;
use bailiwick_web::PathId;
use serde_json::{Value, json};

/// `GET /console/systems/{id}`.
pub(crate) async fn show(State(app): State<App>, session: Session, PathId(id): PathId<SystemId>) -> Outcome {
    let record = head::load(&app, &session, id).await?;
    let latest = inventory::latest(&app.fleet, &session.caller, id).await?;
    let (layout, system) = (&session.layout, &record.system);
    let when = |at| When::maybe(layout.language, layout.now, at);
    let document = latest.as_ref().map(|latest| {
        let value: Value = serde_json::from_str(&latest.document).unwrap_or_default();
        json!({
            "cards": facts::cards(layout.language, &value),
            "at": when(Some(latest.record.timestamp)),
            "href": format!("{}/documents/{}", super::address(system.id), latest.record.id),
        })
    });
    let custom: Vec<(String, String)> = system
        .custom_data
        .iter()
        .map(|(key, value)| (key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let addresses = [&system.ipv4_address, &system.ipv6_address];
    let addresses: Vec<&String> = addresses.into_iter().filter(|address| !address.is_empty()).collect();
    let values = json!({
        "head": head::head(&app, &session, &record, "overview").await?,
        "product": product(layout.language, system.system_type.as_deref()),
        "version": system.version,
        "fqdn": system.fqdn,
        "addresses": addresses,
        "created": when(Some(system.created_at)),
        "created_by": system.created_by.name,
        "created_by_organization": system.created_by.organization_name,
        "registered": when(system.registered_at),
        "heartbeat": when(system.last_heartbeat),
        "inventory": when(system.last_inventory),
        "notes": system.notes,
        "custom": custom,
        "document": document,
    });
    Ok(page::show(layout, "systems/overview.html", values))
}
