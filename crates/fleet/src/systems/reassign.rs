//! Moves a system to another organization: `PUT /systems/{id}` with another `organization_id` (spec:
//! systems#reassignment).
//!
//! First its backups are copied, which takes time and may fail; then one transaction moves everything; then a job
//! cleans up ([`super::transfer`]). The job is enqueued before the first copy, so a crash leaves nothing behind. Two
//! leases keep moves of one system apart from each other and from the cleanup of earlier ones.

use super::{
    create::home,
    transfer::{self, Cleanup, LOCK},
    update::{Change, apply, check_registered, editable},
};
use crate::{Fleet, backup_objects};
use bailiwick_domain::{
    AuditAction, Error, Happening, ObjectKind, OrgId, ReassignmentId, Result, System, SystemId,
};
use bailiwick_events::EventDraft;
use bailiwick_platform::{
    RequestContext, audit,
    limits::unavailable,
    retry_on_conflict::{Aborted, retry_on_conflict},
};
use bailiwick_policy::{Action, Caller, decide, hierarchy};
use bailiwick_store::{
    backups::{self, Backup},
    epoch::AffectedSystems,
    history::expiry::move_system,
    leases,
    systems::{self, reassignments},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

/// Longest time for the copies, well within the lock.
const COPYING: Duration = Duration::from_secs(240);
/// Longest time a move waits for the cleanup of the previous one, and the time between two checks.
const WAITING: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);
/// How often backups that arrive meanwhile are copied after the others.
const ROUNDS: usize = 5;

/// Name of the lock that only moves of a system take: a move that finds it taken is refused.
fn lock(system: SystemId) -> String {
    format!("reassignment:{system}")
}

fn in_progress() -> Error {
    Error::conflict("system reassignment is already in progress")
}

/// Moves a system, which the first checks loaded as `previous`, and applies the other changes.
pub(super) async fn reassign(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    previous: System,
    to: OrgId,
    change: Change,
) -> Result<System> {
    let work = Work {
        service: service.clone(),
        caller: caller.clone(),
        ctx: ctx.clone(),
        id: service.platform.fresh(),
        holder: service.platform.fresh(),
        previous,
        to,
        change,
        copies: BTreeMap::new(),
    };
    // A task of its own: a client that disconnects must leave neither the lock nor copies behind.
    let task = service.platform.tasks.spawn(work.run());
    task.await.map_err(Error::internal)?
}

/// A move under way.
struct Work {
    service: Fleet,
    caller: Caller,
    ctx: RequestContext,
    id: ReassignmentId,
    holder: Uuid,
    previous: System,
    to: OrgId,
    change: Change,
    /// The copies that are made or begun: the key of the original, and that of the copy.
    copies: BTreeMap<String, String>,
}

/// The result of an attempt to write.
enum Written {
    Moved(Box<System>),
    /// Backups arrived that are not copied yet.
    MoreBackups,
}

impl Work {
    async fn run(mut self) -> Result<System> {
        if !self.take(&lock(self.previous.id)).await? {
            return Err(in_progress());
        }
        let outcome = self.locked().await;
        if outcome.is_err() {
            self.give_up().await;
        }
        // After any result there may be something to clean up.
        self.service.transfers.wake();
        outcome
    }

    async fn take(&self, name: &str) -> Result<bool> {
        let now = self.service.platform.now();
        Ok(leases::take(&self.service.platform.db, name, self.holder, now, now.plus(LOCK)).await?)
    }

    /// Keeps the cleanup of earlier moves from running.
    async fn stop_clearing(&self) -> Result<()> {
        let (name, deadline) = (transfer::lock(self.previous.id), Instant::now() + WAITING);
        while !self.take(&name).await? {
            if Instant::now() >= deadline {
                return Err(unavailable("what is cleared up behind the move before takes long"));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    async fn locked(&mut self) -> Result<System> {
        self.stop_clearing().await?;
        let deadline = Instant::now() + COPYING;
        for _ in 0..ROUNDS {
            let copied = timeout_at(deadline, self.copy()).await;
            copied.map_err(|_| Error::UpstreamTimeout("backup storage timed out".into()))??;
            let work: &Work = self;
            if let Written::Moved(system) = retry_on_conflict("a move", || work.write()).await? {
                return Ok(*system);
            }
        }
        Err(unavailable("backups of a system arrive faster than they are copied"))
    }

    /// Copies the backups that are not copied yet.
    async fn copy(&mut self) -> Result<()> {
        let mut missing = backups::list(&self.service.platform.db, self.previous.id).await?;
        missing.retain(|backup| !self.copies.contains_key(&backup.object_key));
        if missing.is_empty() {
            return Ok(());
        }
        for backup in &missing {
            let copy = backup_objects::object_key(self.to, &self.previous.system_key, &backup.id);
            self.copies.insert(backup.object_key.clone(), copy);
        }
        let mut tx = self.service.platform.db.begin().await?;
        let now = self.service.platform.now();
        transfer::enqueue(&mut tx, &self.service, self.behind(None), now.plus(LOCK)).await?;
        tx.commit().await?;
        for backup in &missing {
            let Some(copy) = self.copies.get(&backup.object_key) else { continue };
            if let Err(e) = backup_objects::copy(&self.service, backup, copy).await {
                // A backup that was deleted meanwhile, perhaps with its system, needs no copy.
                if backups::by_object(&self.service.platform.db, &backup.object_key).await?.is_some() {
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    /// Moves everything at once, if it still may.
    async fn write(&self) -> Result<Written, Aborted> {
        let (service, id, now) = (&self.service, self.previous.id, self.service.platform.now());
        let mut tx = service.platform.db.begin().await?;
        let record = systems::lock(&mut tx, id).await?.ok_or(Error::NotFound(ObjectKind::System))?;
        let target = decide(&self.caller, Action::Update, &record.target()).granted()?;
        self.ctx.check_conditions(&service.platform, &record.system)?;
        let to = self.to.to_string();
        let (granted, node, _) = home(&mut tx, &self.caller, Action::Update, &to).await?;
        check_registered(&record.system, to)?;
        // Another move was faster, or a lock has expired.
        let mut is_ours = record.system.organization.id == self.previous.organization.id;
        for name in [lock(id), transfer::lock(id)] {
            is_ours &= leases::give_back(&mut tx, &name, self.holder, now).await?;
        }
        if !is_ours {
            return Err(in_progress().into());
        }
        let backups = backups::list(&mut tx, id).await?;
        if !backups.iter().all(|backup| self.copies.contains_key(&backup.object_key)) {
            return Ok(Written::MoreBackups);
        }
        let (before, from) = (audited(&record.system), record.system.organization.id);
        let history_rows = move_system(&mut tx, &record.system.system_key, from, self.to, now).await?;
        let apps_unassigned = reassignments::move_to(&mut tx, &target, &granted, &node.path, now).await?;
        // As it is there: a search must not find it by a creator whom its new readers are not shown.
        let moved = systems::get(&mut tx, id).await?.ok_or(Error::NotFound(ObjectKind::System))?;
        let mut system = moved.system;
        apply(&mut system, self.change.clone())?;
        system.updated_at = now;
        systems::update(&mut tx, &target, &system).await?;
        for backup in &backups {
            if let Some(copy) = self.copies.get(&backup.object_key) {
                backups::relocate(&mut tx, &backup.id, self.to, copy).await?;
            }
        }
        reassignments::record(&mut tx, &self.record(&backups, history_rows, apps_unassigned)).await?;
        transfer::enqueue(&mut tx, service, self.behind(Some(now.plus(transfer::IN_FLIGHT))), now).await?;
        let after = systems::get(&mut tx, id).await?.ok_or(Error::NotFound(ObjectKind::System))?;
        let after = after.seen_from(&hierarchy(&self.caller)).system;
        let event = audit::Event {
            action: AuditAction::SystemReassign,
            object_type: "system",
            object_id: id.0,
            before: Some(before),
            after: Some(audited(&after)),
        };
        audit::record(&mut tx, now, &self.caller, &self.ctx, event).await?;
        // As it was while it could be read there.
        EventDraft::system(Happening::Left, &self.previous)
            .left(&self.previous.organization)
            .write(&mut tx, now)
            .await?;
        EventDraft::system(Happening::Reassigned, &after).write(&mut tx, now).await?;
        tx.bump_auth_epoch(AffectedSystems::Systems(vec![id])).await?;
        tx.commit().await?;
        Ok(Written::Moved(Box::new(after)))
    }

    fn record(
        &self,
        backups: &[Backup],
        history_rows: u64,
        apps_unassigned: u64,
    ) -> reassignments::Reassignment<'_> {
        reassignments::Reassignment {
            id: self.id,
            system_id: self.previous.id,
            system_key: &self.previous.system_key,
            from: self.previous.organization.id,
            to: self.to,
            actor: self.caller.acting_for().or(self.caller.user_id()),
            actor_ip: self.ctx.client_ip.to_string(),
            user_agent: self.ctx.user_agent.as_deref(),
            backups_copied: backups.len() as u64,
            history_rows,
            apps_unassigned,
            occurred_at: self.service.platform.now(),
        }
    }

    fn behind(&self, settled_at: Option<bailiwick_domain::Ts>) -> Cleanup {
        Cleanup {
            reassignment: Some(self.id),
            system: self.previous.id,
            system_key: self.previous.system_key.clone(),
            from: self.previous.organization.id,
            originals: self.copies.keys().cloned().collect(),
            copies: self.copies.values().cloned().collect(),
            settled_at,
        }
    }

    /// Releases the lock and has the copies removed. If this fails as well, the lock expires and the job removes the
    /// copies.
    async fn give_up(&self) {
        let given_up = async {
            for name in [lock(self.previous.id), transfer::lock(self.previous.id)] {
                leases::release(&self.service.platform.db, &name, self.holder).await?;
            }
            if !self.copies.is_empty() {
                let mut tx = self.service.platform.db.begin().await?;
                transfer::enqueue(&mut tx, &self.service, self.behind(None), self.service.platform.now())
                    .await?;
                tx.commit().await?;
            }
            Ok::<(), Error>(())
        };
        if let Err(e) = given_up.await {
            tracing::warn!(system = %self.previous.id, error = %e, "a move that failed is cleared up later");
        }
    }
}

fn audited(system: &System) -> Value {
    let mut state = editable(system);
    state["organization_id"] = json!(system.organization.id);
    state
}
