//! Suspend, reactivate, delete, restore (spec: organizations#life-cycle): sets the organization's own mark, which
//! applies to everything below it, and in the same transaction ends every credential that loses its right.

use super::{VAT, alert_tenants, authorize_change, shown};
use crate::Directory;
use bailiwick_domain::{AuditAction, Error, Happening, OrgId, OrgType, Organization, Result, Ts};
use bailiwick_events::EventDraft;
use bailiwick_identity::{
    auth::{self, Reason},
    logto_sync,
};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Action, Caller};
use bailiwick_store::{
    Tx,
    epoch::AffectedSystems,
    organizations::{
        self, Held,
        lifecycle::{self, Affected, LifecycleMark},
    },
};
use serde_json::json;

/// A change between the states of spec: organizations#life-cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Sets the own suspension.
    Suspend,
    /// Clears it.
    Reactivate,
    /// Sets the own deletion.
    Delete,
    /// Clears it.
    Restore,
}

impl Move {
    const fn action(self) -> Action {
        match self {
            Move::Suspend => Action::Suspend,
            Move::Reactivate => Action::Reactivate,
            Move::Delete => Action::Delete,
            Move::Restore => Action::Restore,
        }
    }

    const fn audited(self, family: OrgType) -> AuditAction {
        match self {
            Move::Suspend => AuditAction::OrganizationSuspend(family),
            Move::Reactivate => AuditAction::OrganizationReactivate(family),
            Move::Delete => AuditAction::OrganizationDelete(family),
            Move::Restore => AuditAction::OrganizationRestore(family),
        }
    }

    const fn happening(self) -> Happening {
        match self {
            Move::Suspend => Happening::Suspended,
            Move::Reactivate => Happening::Reactivated,
            Move::Delete => Happening::Deleted,
            Move::Restore => Happening::Restored,
        }
    }

    const fn kind(self) -> LifecycleMark {
        match self {
            Move::Suspend | Move::Reactivate => LifecycleMark::Suspended,
            Move::Delete | Move::Restore => LifecycleMark::Deleted,
        }
    }

    /// The mark afterwards.
    const fn mark(self, now: Ts) -> Option<Ts> {
        match self {
            Move::Suspend | Move::Delete => Some(now),
            Move::Reactivate | Move::Restore => None,
        }
    }

    /// Why sessions end.
    const fn ends_sessions(self) -> Option<Reason> {
        match self {
            Move::Suspend => Some(Reason::Suspended),
            Move::Delete => Some(Reason::Deleted),
            Move::Reactivate | Move::Restore => None,
        }
    }

    /// See spec: organizations#life-cycle, for the rules that do not depend on the caller: the policy refuses changes
    /// of a mark that comes from above.
    fn check(self, family: OrgType, locked: &Held) -> Result<()> {
        let fits = match self {
            Move::Suspend => !locked.suspended.is_set(),
            Move::Reactivate => locked.suspended.is_set(),
            Move::Delete => true,
            Move::Restore => locked.deleted.is_set(),
        };
        if fits {
            return Ok(());
        }
        let problem = match self {
            Move::Suspend => "is already suspended",
            Move::Reactivate => "is not suspended",
            Move::Delete | Move::Restore => "is not deleted",
        };
        Err(Error::bad_request(format!("{} {problem}", family.as_str())))
    }
}

/// The result of a change of state.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The organization afterwards.
    pub organization: Organization,
    /// Rows below it whose effective state changed.
    pub affected: Affected,
}

/// Moves an organization of a family to another state. `id`: none = malformed.
pub async fn change_state(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    family: OrgType,
    id: Option<OrgId>,
    to: Move,
) -> Result<Moved> {
    let target_id =
        authorize_change(&service.platform.db, service, caller, ctx, to.action(), (family, id)).await?.id();
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    let locked = lifecycle::hold_marks(&mut tx, target_id).await?.ok_or(Error::NotFound(family.into()))?;
    // The decision above may be outdated, so it is repeated on the locked organization.
    let target = authorize_change(&mut tx, service, caller, ctx, to.action(), (family, id)).await?;
    to.check(family, &locked)?;
    let before = organizations::get(&mut tx, target_id).await?.ok_or(Error::NotFound(family.into()))?;
    let written = lifecycle::set(&mut tx, &target, family, to.kind(), to.mark(now)).await;
    let vat = before.vat.as_deref().unwrap_or_default();
    let affected = written.map_err(|e| Error::from(e).with_values(&[(VAT, vat)]))?;
    if let Some(reason) = to.ends_sessions() {
        auth::revoke_organization(&mut tx, now, (target_id, family), reason).await?;
    }
    alert_tenants::queue(service, &mut tx, target_id, family).await?;
    logto_sync::organization_moved(&service.identity, &mut tx, target_id).await?;
    // From the commit on, systems below are refused, or accepted again.
    tx.bump_auth_epoch(AffectedSystems::All).await?;
    let after = organizations::get(&mut tx, target_id).await?.ok_or(Error::NotFound(family.into()))?;
    record(&mut tx, now, caller, ctx, to, [&before, &after]).await?;
    tx.commit().await?;
    logto_sync::wake(&service.identity);
    Ok(Moved { organization: shown(service, caller, after).await?, affected })
}

async fn record(
    tx: &mut Tx,
    now: Ts,
    caller: &Caller,
    ctx: &RequestContext,
    to: Move,
    [before, after]: [&Organization; 2],
) -> Result<()> {
    let mark = |o: &Organization| match to.kind() {
        LifecycleMark::Suspended => json!({ "suspended_at": o.suspended.at }),
        LifecycleMark::Deleted => json!({ "deleted_at": o.deleted.at }),
    };
    let event = audit::Event {
        action: to.audited(after.org_type),
        object_type: after.org_type.as_str(),
        object_id: after.id.0,
        before: Some(mark(before)),
        after: Some(mark(after)),
    };
    audit::record(tx, now, caller, ctx, event).await?;
    Ok(EventDraft::organization(to.happening(), after.org_type, after.id, &after.details.name)
        .write(tx, now)
        .await?)
}
