//! Suspend, reactivate, delete, restore, destroy, a new secret (spec: systems#life-cycle). Each raises the auth epoch
//! in its transaction, so that the very next system-facing request to any process sees it.

use super::{
    Created, load_for,
    transfer::{self, Cleanup},
};
use crate::{Fleet, backup_objects};
use bailiwick_domain::{
    AuditAction, Error, Happening, ObjectKind, Result, System, SystemId, Ts, validate::SystemSecret,
};
use bailiwick_events::EventDraft;
use bailiwick_identity::{auth::check_fresh_sign_in, credentials::hash_secret};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Action, Caller, Granted, Standing, decide, hierarchy};
use bailiwick_store::{
    Tx,
    epoch::AffectedSystems,
    systems::{self, lifecycle},
};
use serde_json::{Value, json};

/// PATCH `/systems/{id}/suspend`.
pub async fn suspend(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<SystemId>,
) -> Result<()> {
    let mut step = AllowedChange::begin(service, caller, ctx, Action::Suspend, id).await?;
    if step.standing.suspended {
        return Err(Error::bad_request("system is already suspended"));
    }
    lifecycle::set_suspended(&mut step.tx, &step.target, Some(step.now), step.now).await?;
    step.finish(caller, ctx, AuditAction::SystemSuspend, Happening::Suspended).await
}

/// PATCH `/systems/{id}/reactivate`: clears the own suspension.
pub async fn reactivate(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<SystemId>,
) -> Result<()> {
    let mut step = AllowedChange::begin(service, caller, ctx, Action::Reactivate, id).await?;
    if !step.standing.suspended {
        return Err(Error::bad_request("system is not suspended"));
    }
    lifecycle::set_suspended(&mut step.tx, &step.target, None, step.now).await?;
    step.finish(caller, ctx, AuditAction::SystemReactivate, Happening::Reactivated).await
}

/// DELETE `/systems/{id}`: soft.
pub async fn delete(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<SystemId>,
) -> Result<()> {
    let mut step = AllowedChange::begin(service, caller, ctx, Action::Delete, id).await?;
    lifecycle::set_deleted(&mut step.tx, &step.target, Some(step.now), step.now).await?;
    step.finish(caller, ctx, AuditAction::SystemDelete, Happening::Deleted).await
}

/// PATCH `/systems/{id}/restore`: registration, key, secret and suspension stay as before.
pub async fn restore(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<SystemId>,
) -> Result<()> {
    let mut step = AllowedChange::begin(service, caller, ctx, Action::Restore, id).await?;
    if !step.standing.deleted {
        return Err(Error::bad_request("system is not deleted"));
    }
    lifecycle::set_deleted(&mut step.tx, &step.target, None, step.now).await?;
    step.finish(caller, ctx, AuditAction::SystemRestore, Happening::Restored).await
}

/// DELETE `/systems/{id}/destroy`: permanent, for live and deleted systems.
pub async fn destroy(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<SystemId>,
) -> Result<()> {
    let mut step = AllowedChange::begin(service, caller, ctx, Action::Destroy, id).await?;
    backup_objects::bury_system(service, &mut step.tx, step.target.id()).await?;
    lifecycle::destroy(&mut step.tx, &step.target, &step.before, step.now).await?;
    let cleanup = Cleanup::after_destruction(&step.before, step.now);
    transfer::enqueue(&mut step.tx, service, cleanup, step.now).await?;
    step.finish(caller, ctx, AuditAction::SystemDestroy, Happening::Destroyed).await?;
    service.directory.objects.wake();
    service.transfers.wake();
    Ok(())
}

/// POST `/systems/{id}/regenerate-secret`. With `force` (from the body) also for a registered system; its registration
/// ends with the old secret.
pub async fn regenerate_secret(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<SystemId>,
    force: impl FnOnce() -> Result<bool>,
) -> Result<Created> {
    let mut step = AllowedChange::begin(service, caller, ctx, Action::RegenerateSecret, id).await?;
    check_fresh_sign_in(&service.identity, caller)?;
    if !force()? && step.before.registered_at.is_some() {
        return Err(Error::conflict("system is already registered"));
    }
    let secret = SystemSecret::generate(&*service.platform.entropy);
    let hash = hash_secret(secret.secret.reveal(), &*service.platform.entropy);
    lifecycle::set_secret(&mut step.tx, &step.target, &secret.public, &hash, step.now).await?;
    let system = System { registered_at: None, updated_at: step.now, ..step.before.clone() };
    step.finish(caller, ctx, AuditAction::SystemRegenerateSecret, Happening::SecretChanged).await?;
    Ok(Created { system, secret })
}

/// A change that was permitted on the locked row.
struct AllowedChange {
    tx: Tx,
    target: Granted<SystemId>,
    before: System,
    standing: Standing,
    now: Ts,
}

impl AllowedChange {
    async fn begin(
        service: &Fleet,
        caller: &Caller,
        ctx: &RequestContext,
        action: Action,
        id: Option<SystemId>,
    ) -> Result<AllowedChange> {
        // A caller without permission neither waits for the row nor makes others wait.
        let found = load_for(service, caller, action, id).await?;
        ctx.check_conditions(&service.platform, &found.system)?;
        let mut tx = service.platform.db.begin().await?;
        let held =
            systems::lock(&mut tx, found.system.id).await?.ok_or(Error::NotFound(ObjectKind::System))?;
        let target = decide(caller, action, &held.target()).granted()?;
        ctx.check_conditions(&service.platform, &held.system)?;
        let (standing, before) = (held.standing, held.seen_from(&hierarchy(caller)).system);
        Ok(AllowedChange { tx, target, before, standing, now: service.platform.now() })
    }

    async fn finish(
        mut self,
        caller: &Caller,
        ctx: &RequestContext,
        action: AuditAction,
        happening: Happening,
    ) -> Result<()> {
        self.tx.bump_auth_epoch(AffectedSystems::Systems(vec![self.target.id()])).await?;
        let after = systems::get(&mut self.tx, self.target.id()).await?;
        let event = audit::Event {
            action,
            object_type: "system",
            object_id: self.target.id().0,
            before: Some(audited(&self.before)),
            after: after.as_ref().map(|found| audited(&found.system)),
        };
        audit::record(&mut self.tx, self.now, caller, ctx, event).await?;
        // As it is now: a new secret ends the registration, and with it the key is no longer shown.
        let shown = after.as_ref().map_or(&self.before, |found| &found.system);
        let mut draft = EventDraft::system(happening, shown);
        if after.is_none() {
            draft = draft.without_subject();
        }
        draft.write(&mut self.tx, self.now).await?;
        Ok(self.tx.commit().await?)
    }
}

/// The fields that the audit keeps, without secrets and hashes.
fn audited(system: &System) -> Value {
    json!({
        "name": system.name, "organization_id": system.organization.id, "system_key": system.shown_key(),
        "registered_at": system.registered_at, "suspended_at": system.suspended.at, "deleted_at": system.deleted.at,
    })
}
