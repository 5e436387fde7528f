//! `PUT /systems/{id}` (spec: systems#update).

use super::{create::home, reassign};
use crate::Fleet;
use bailiwick_domain::{
    AuditAction, Error, Happening, ObjectKind, OrgId, Result, System, SystemId,
    validate::{self, Fields, Holder, client_keys, free_text, string_values},
};
use bailiwick_events::EventDraft;
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Action, Caller, Resource, decide, gate, hierarchy};
use bailiwick_store::{Tx, epoch::AffectedSystems, systems};
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

/// Changes a system the caller may change. A move to another organization and all other changes are applied together or
/// not at all.
pub async fn update(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<SystemId>,
    body: impl FnOnce() -> Result<Change>,
) -> Result<System> {
    gate(caller, Action::Update, Resource::Systems)?;
    let id = id.ok_or(Error::NotFound(ObjectKind::System))?;
    let mut tx = service.platform.db.begin().await?;
    let record = systems::lock(&mut tx, id).await?.ok_or(Error::NotFound(ObjectKind::System))?;
    let granted = decide(caller, Action::Update, &record.target()).granted()?;
    ctx.check_conditions(&service.platform, &record.system)?;
    let change = body()?;
    let shown_creator = record.clone().seen_from(&hierarchy(caller)).system.created_by;
    let mut system = record.system;
    let destination = destination(&mut tx, caller, &system, change.organization_id.as_deref()).await?;
    let before = editable(&system);
    let unmoved = system.clone();
    apply(&mut system, change.clone())?;
    if let Some(to) = destination {
        drop(tx);
        return reassign::reassign(service, caller, ctx, unmoved, to, change).await;
    }
    system.updated_at = service.platform.now();
    systems::update(&mut tx, &granted, &system).await?;
    // The system's alerts carry its name, which is cached with the credential.
    tx.bump_auth_epoch(AffectedSystems::Systems(vec![id])).await?;
    let event = audit::Event {
        action: AuditAction::SystemUpdate,
        object_type: "system",
        object_id: id.0,
        before: Some(before.clone()),
        after: Some(editable(&system)),
    };
    audit::record(&mut tx, system.updated_at, caller, ctx, event).await?;
    let draft = EventDraft::system(Happening::Updated, &system).with_changes(&before, &editable(&system));
    draft.write(&mut tx, system.updated_at).await?;
    tx.commit().await?;
    Ok(System { created_by: shown_creator, ..system })
}

/// The new organization, once the first two checks of spec: systems#reassignment have passed; none = the system stays.
async fn destination(
    tx: &mut Tx,
    caller: &Caller,
    system: &System,
    wanted: Option<&str>,
) -> Result<Option<OrgId>> {
    let Some(wanted) = wanted.filter(|id| !id.is_empty()) else { return Ok(None) };
    if wanted.parse().ok() == Some(system.organization.id) {
        return Ok(None);
    }
    let (granted, ..) = home(tx, caller, Action::Update, wanted).await?;
    check_registered(system, wanted)?;
    Ok(Some(granted.id()))
}

/// Only a registered system can go elsewhere.
pub(super) fn check_registered(system: &System, wanted: impl Into<String>) -> Result<()> {
    match system.registered_at {
        Some(_) => Ok(()),
        None => Err(Error::field_value("organization_id", "system_not_registered", wanted)),
    }
}

/// Applies the fields of a change, except the organization.
pub(super) fn apply(system: &mut System, change: Change) -> Result<()> {
    let mut fields = Fields::new();
    if let Some(name) = change.name.filter(|name| !name.is_empty() && *name != system.name) {
        fields.check("name", &name, validate::name(&name));
        system.name = name;
    }
    // What is stored was accepted under the rules of its time.
    if let Some(notes) = change.notes.filter(|notes| *notes != system.notes) {
        fields.check("notes", "", free_text(&notes));
        system.notes = notes;
    }
    if let Some(data) = change.custom_data {
        // The server's keys are ignored, whatever values the client sends.
        let data = client_keys(Holder::System, data);
        if data != system.custom_data {
            string_values(&mut fields, &data);
        }
        system.custom_data = data;
    }
    fields.finish()
}

/// The fields of a change that the audit keeps.
pub(super) fn editable(system: &System) -> Value {
    json!({"name": system.name, "notes": system.notes, "custom_data": system.custom_data})
}
