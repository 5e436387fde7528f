//! `PUT /systems/{id}` (contract 03 §2.4).

use crate::{App, audit, context::RequestContext};
use bailiwick_domain::{
    Error, OrgId, Result, System, SystemId,
    validate::{Fields, Holder, client_keys, free_text, string_values, system_name},
};
use bailiwick_policy::{Action, Caller, SystemHome, decide};
use bailiwick_store::{Tx, systems};
use serde_json::{Map, Value, json};

/// A change as sent; none keeps.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Empty keeps.
    pub name: Option<String>,
    /// `""` clears.
    pub notes: Option<String>,
    /// Replaces the whole map.
    pub custom_data: Option<Map<String, Value>>,
    /// Another organization is a reassignment; empty keeps.
    pub organization_id: Option<String>,
}

/// Changes a system the caller may change.
pub async fn update(
    app: &App,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<SystemId>,
    body: impl FnOnce() -> Result<Change>,
) -> Result<System> {
    let id = id.ok_or(Error::NotFound("system"))?;
    let mut tx = app.db.begin().await?;
    let found = systems::lock(&mut tx, id).await?.ok_or(Error::NotFound("system"))?;
    let granted = decide(caller, Action::Update, &found.target()).granted()?;
    let change = body()?;
    let mut system = found.system;
    check_organization(&mut tx, caller, &system, change.organization_id.as_deref()).await?;
    let before = editable(&system);
    apply(&mut system, change)?;
    system.updated_at = app.now();
    systems::update(&mut tx, &granted, &system).await?;
    // Its name goes out with its alerts, from what is kept with the credential.
    tx.bump_auth_epoch().await?;
    let event = audit::Event {
        action: "system.update",
        object_type: "system",
        object_id: id.0,
        before: Some(before),
        after: Some(editable(&system)),
    };
    audit::record(&mut tx, system.updated_at, caller, ctx, event).await?;
    tx.commit().await?;
    Ok(system)
}

/// The first two checks of a reassignment (contract 03 §11.2).
async fn check_organization(
    tx: &mut Tx,
    caller: &Caller,
    system: &System,
    wanted: Option<&str>,
) -> Result<()> {
    let Some(wanted) = wanted.filter(|id| !id.is_empty()) else { return Ok(()) };
    let id = wanted.parse::<OrgId>().ok();
    if id == Some(system.organization.id) {
        return Ok(());
    }
    let found = match id {
        Some(id) => systems::home(tx, id).await?,
        None => None,
    };
    decide(caller, Action::Update, &SystemHome { place: found.map(|f| f.0) }).granted()?;
    if system.registered_at.is_none() {
        return Err(Error::field_value("organization_id", "system_not_registered", wanted));
    }
    Err(Error::NotImplemented)
}

fn apply(system: &mut System, change: Change) -> Result<()> {
    let mut fields = Fields::new();
    if let Some(name) = change.name.filter(|name| !name.is_empty()) {
        fields.check("name", &name, system_name(&name));
        system.name = name;
    }
    if let Some(notes) = change.notes {
        fields.check("notes", "", free_text(&notes));
        system.notes = notes;
    }
    if let Some(data) = change.custom_data {
        // The server's keys are ignored, whatever is under them.
        let data = client_keys(Holder::System, data);
        string_values(&mut fields, &data);
        system.custom_data = data;
    }
    fields.finish()
}

fn editable(system: &System) -> Value {
    json!({"name": system.name, "notes": system.notes, "custom_data": system.custom_data})
}
