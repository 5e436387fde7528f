//! Notes, assignments and the activity record of alerts (spec: alert-management#handling).

use super::{Assignment, alert_query::live, check_all, fingerprint, tenant, text};
use crate::Alerts;
use bailiwick_domain::{AuditAction, Error, FieldError, ObjectKind, OrgId, Result};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Caller, Scope};
use bailiwick_store::{
    Tx,
    alert_handling::{self, Doing},
    history::{self, OrganizationsRead},
};
use serde_json::{Value, json};
use uuid::Uuid;

pub use alert_handling::Event;

/// Longest note, in characters.
pub const MAX_NOTE_CHARS: usize = 2000;
/// Records shown by default, and at most.
const EVENTS: u64 = 100;
const EVENTS_MOST: u64 = 500;

/// `GET /alerts/activity/{fingerprint}`, with the organization. `limit` as sent.
///
/// # Errors
/// 400 without an organization, 403 for one out of reach.
pub async fn activity(
    service: &Alerts,
    caller: &Caller,
    organizations: &[String],
    alert: &str,
    limit: Option<&str>,
) -> Result<(OrgId, Vec<Event>)> {
    let tenant = tenant(service, caller, organizations).await?;
    let limit = limit.and_then(|n| n.parse().ok()).filter(|n| *n >= 1).unwrap_or(EVENTS).min(EVENTS_MOST);
    if fingerprint(alert).is_err() {
        return Ok((tenant, Vec::new()));
    }
    Ok((tenant, alert_handling::events(&service.platform.db, tenant, alert, limit).await?))
}

/// A note to be added.
#[derive(Clone, Debug, Default)]
pub struct NewNote {
    /// The alert.
    pub fingerprint: String,
    /// 1 to 2000 characters.
    pub text: String,
}

/// `POST /alerts/notes`.
///
/// # Errors
/// 400 without an organization, 403 for one out of reach, 400 for fields.
pub async fn add_note(
    service: &Alerts,
    caller: &Caller,
    ctx: &RequestContext,
    organizations: &[String],
    body: impl FnOnce() -> Result<NewNote>,
) -> Result<()> {
    let tenant = tenant(service, caller, organizations).await?;
    let note = body()?;
    let words = note.text.trim();
    let is_there = if words.is_empty() { Err(FieldError::new("text", "required")) } else { Ok(()) };
    check_all([fingerprint(&note.fingerprint), is_there, text("text", words, MAX_NOTE_CHARS)])?;
    let mut tx = service.platform.db.begin().await?;
    let held = history::lock_for_writing(&mut tx, [tenant]).await?;
    if !held.contains(tenant) {
        return Err(Error::forbidden("access denied: organization not in your hierarchy"));
    }
    let what = HandlingAction { action: "note_added", silence: None, details: json!({"text": words}) };
    record(&mut tx, service, caller, (tenant, &note.fingerprint), what).await?;
    let after = json!({"fingerprint": note.fingerprint, "text": words});
    audited(&mut tx, service, caller, ctx, (AuditAction::AlertNote, "alert", tenant.0), (None, Some(after)))
        .await?;
    tx.commit().await?;
    Ok(())
}

/// Taking charge of an alert.
#[derive(Clone, Debug, Default)]
pub struct Assign {
    /// The alert.
    pub fingerprint: String,
    /// At most 2000 characters.
    pub note: String,
}

/// `POST /alerts/assignment`: assigns the alert to the caller.
///
/// # Errors
/// 400 without an organization, 403 for one out of reach, 400 for fields, 404 `alert not found` unless it fires.
pub async fn assign(
    service: &Alerts,
    caller: &Caller,
    ctx: &RequestContext,
    organizations: &[String],
    body: impl FnOnce() -> Result<Assign>,
) -> Result<(OrgId, String, Assignment)> {
    let tenant = tenant(service, caller, organizations).await?;
    let request = body()?;
    let note = request.note.trim();
    check_all([fingerprint(&request.fingerprint), text("note", note, MAX_NOTE_CHARS)])?;
    let who = caller.identity().ok_or_else(Error::insufficient_permissions)?;
    let mut tx = service.platform.db.begin().await?;
    history::lock_for_writing(&mut tx, [tenant]).await?;
    let now = live(service, OrganizationsRead::all(Scope::Organization(tenant)));
    let alert = (tenant, request.fingerprint.as_str());
    let firing = alert_handling::firing_now(&mut tx, tenant, alert.1, now.now, now.spared).await?;
    let system_key = firing.ok_or(Error::NotFound(ObjectKind::Alert))?;
    let before = alert_handling::assigned(&mut tx, tenant, alert.1).await?;
    let assignment = Assignment {
        user_id: who.user_id,
        user_name: name_of(caller),
        user_org_id: who.organization.id,
        user_org_name: who.organization.name.clone(),
        assigned_at: now.now,
    };
    alert_handling::assign(&mut tx, (tenant, alert.1, &system_key), &assignment).await?;
    let mut details = serde_json::Map::new();
    if let Some((_, name)) = before.as_ref().filter(|(id, _)| *id != who.user_id) {
        details.insert("reassigned_from".to_owned(), json!(name));
    }
    if !note.is_empty() {
        details.insert("note".to_owned(), json!(note));
    }
    let what = HandlingAction { action: "assigned", silence: None, details: Value::Object(details) };
    record(&mut tx, service, caller, alert, what).await?;
    let record = |user: &Uuid| json!({"fingerprint": request.fingerprint, "assigned_user_id": user});
    let change = (before.map(|(id, _)| record(&id.0)), Some(record(&who.user_id.0)));
    audited(&mut tx, service, caller, ctx, (AuditAction::AlertAssign, "alert", tenant.0), change).await?;
    tx.commit().await?;
    Ok((tenant, request.fingerprint, assignment))
}

/// An action on an alert.
pub(super) struct HandlingAction {
    pub(super) action: &'static str,
    pub(super) silence: Option<Uuid>,
    pub(super) details: Value,
}

/// Records it in the transaction of the change.
pub(super) async fn record(
    tx: &mut Tx,
    service: &Alerts,
    caller: &Caller,
    (tenant, fingerprint): (OrgId, &str),
    what: HandlingAction,
) -> Result<()> {
    let Some(user) = caller.user_id() else { return Err(Error::insufficient_permissions()) };
    let doing = Doing {
        organization_id: tenant,
        fingerprint: fingerprint.to_owned(),
        action: what.action,
        actor: (user, name_of(caller)),
        silence_id: what.silence,
        details: what.details,
        at: service.platform.now(),
    };
    Ok(alert_handling::record(tx, doing).await?)
}

/// Writes the audit row: action, kind and id of the object, its state before and after.
pub(super) async fn audited(
    tx: &mut Tx,
    service: &Alerts,
    caller: &Caller,
    ctx: &RequestContext,
    (action, object_type, object_id): (AuditAction, &str, Uuid),
    (before, after): (Option<Value>, Option<Value>),
) -> Result<()> {
    let event = audit::Event { action, object_type, object_id, before, after };
    audit::record(tx, service.platform.now(), caller, ctx, event).await
}

/// The caller's name as people know it.
fn name_of(caller: &Caller) -> String {
    let names = caller.identity().map(|i| [&i.name, &i.username, &i.email]);
    let first = names.and_then(|names| names.into_iter().find(|name| !name.trim().is_empty()));
    first.cloned().unwrap_or_default()
}
