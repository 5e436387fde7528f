//! Notes, deletion and assignment of an application (spec: applications#operations).

use super::{ApplicationRecord, ApplicationRef, load};
use crate::Fleet;
use bailiwick_domain::{
    ApplicationId, AuditAction, Error, Happening, ObjectKind, OrgId, Result, Ts,
    validate::{Fields, free_text},
};
use bailiwick_events::EventDraft;
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Action, Caller, Granted, decide, hierarchy, in_hierarchy};
use bailiwick_store::{Tx, applications, systems};
use serde_json::{Value, json};

/// `PUT /applications/{id}`. The body gives the notes: none keeps them, `""` clears them.
pub async fn set_notes(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    which: ApplicationRef,
    body: impl FnOnce() -> Result<Option<String>>,
) -> Result<ApplicationRecord> {
    let mut step = AllowedChange::begin(service, caller, ctx, Action::Update, &which).await?;
    let notes = body()?;
    let Some(notes) = notes else { return Ok(step.before.seen_from(&hierarchy(caller))) };
    let mut fields = Fields::new();
    // What is stored was accepted under the rules of its time.
    if step.before.notes.as_ref() != Some(&notes) {
        fields.check("notes", "", free_text(&notes));
    }
    fields.finish()?;
    let notes = Some(notes.as_str()).filter(|n| !n.is_empty());
    applications::set_notes(&mut step.tx, &step.target, notes, step.now).await?;
    step.finish(caller, ctx, AuditAction::ApplicationUpdate, Happening::Updated).await
}

/// `DELETE /applications/{id}`; the application returns with the next inventory that lists it.
pub async fn delete(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    which: ApplicationRef,
) -> Result<()> {
    let mut step = AllowedChange::begin(service, caller, ctx, Action::Delete, &which).await?;
    applications::delete(&mut step.tx, &step.target, step.before.system_id, step.now).await?;
    step.finish(caller, ctx, AuditAction::ApplicationDelete, Happening::Deleted).await.map(drop)
}

/// `PATCH /applications/{id}/assign`. The body names the organization.
pub async fn assign(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    which: ApplicationRef,
    body: impl FnOnce() -> Result<Option<String>>,
) -> Result<ApplicationRecord> {
    let mut step = AllowedChange::begin(service, caller, ctx, Action::Update, &which).await?;
    let named = body()?.filter(|id| !id.trim().is_empty());
    let named = named.ok_or_else(|| Error::field("organization_id", "required"))?;
    let found = match named.parse::<OrgId>() {
        Ok(id) => systems::lock_placement(&mut step.tx, id).await?,
        Err(_) => None,
    };
    let to = in_hierarchy(caller, found.as_ref().map(|(node, _)| node))?;
    applications::assign(&mut step.tx, &step.target, step.before.system_id, Some(&to), step.now).await?;
    step.finish(caller, ctx, AuditAction::ApplicationAssign, Happening::Assigned).await
}

/// `PATCH /applications/{id}/unassign`; a second call changes nothing.
pub async fn unassign(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    which: ApplicationRef,
) -> Result<ApplicationRecord> {
    let mut step = AllowedChange::begin(service, caller, ctx, Action::Update, &which).await?;
    if step.before.organization.is_none() {
        return Ok(step.before.seen_from(&hierarchy(caller)));
    }
    applications::assign(&mut step.tx, &step.target, step.before.system_id, None, step.now).await?;
    step.finish(caller, ctx, AuditAction::ApplicationUnassign, Happening::Unassigned).await
}

/// A change that was permitted on the locked row.
struct AllowedChange {
    tx: Tx,
    target: Granted<ApplicationId>,
    before: ApplicationRecord,
    now: Ts,
}

impl AllowedChange {
    async fn begin(
        service: &Fleet,
        caller: &Caller,
        ctx: &RequestContext,
        action: Action,
        which: &ApplicationRef,
    ) -> Result<AllowedChange> {
        // A caller without permission neither waits for the row nor makes others wait.
        let current = load(&service.platform.db, caller, action, which).await?;
        // A tag is that of the application as the caller sees it.
        let scope = hierarchy(caller);
        ctx.check_conditions(&service.platform, &current.clone().seen_from(&scope))?;
        let mut tx = service.platform.db.begin().await?;
        if !applications::hold_system(&mut tx, current.system_id).await? {
            return Err(Error::NotFound(ObjectKind::Application));
        }
        // The decision above may be outdated, so it is repeated on the locked row.
        let before = load(&mut tx, caller, action, which).await?;
        ctx.check_conditions(&service.platform, &before.clone().seen_from(&scope))?;
        let target = decide(caller, action, &before.target()).granted()?;
        Ok(AllowedChange { tx, target, before, now: service.platform.now() })
    }

    async fn finish(
        mut self,
        caller: &Caller,
        ctx: &RequestContext,
        action: AuditAction,
        happening: Happening,
    ) -> Result<ApplicationRecord> {
        let after = applications::get(&mut self.tx, self.target.id()).await?;
        let after = after.ok_or_else(|| Error::internal("a held application is gone"))?;
        let event = audit::Event {
            action,
            object_type: "application",
            object_id: self.target.id().0,
            before: Some(audited(&self.before)),
            after: Some(audited(&after)),
        };
        audit::record(&mut self.tx, self.now, caller, ctx, event).await?;
        let draft =
            EventDraft::application(happening, &after).with_changes(&audited(&self.before), &audited(&after));
        draft.write(&mut self.tx, self.now).await?;
        self.tx.commit().await?;
        Ok(after.seen_from(&hierarchy(caller)))
    }
}

/// The fields that the audit keeps.
fn audited(a: &ApplicationRecord) -> Value {
    json!({
        "system_id": a.system_id, "module_id": a.module_id, "organization_id": a.organization.as_ref().map(|o| o.id),
        "notes": a.notes, "deleted_at": a.deleted_at,
    })
}
