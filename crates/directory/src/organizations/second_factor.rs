//! The second factor that an organization requires of its users and of those below (spec: organizations#second-factor).

use super::in_reach;
use crate::Directory;
use bailiwick_domain::{AuditAction, Error, OrgId, OrgType, Result, Ts, validate::Fields};
use bailiwick_identity::factors as identity_factors;
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Action, Caller, may_relax};
use bailiwick_store::{
    factors::{self, Requirement},
    organizations,
};
use serde_json::json;

/// What an organization requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondFactorPolicy {
    /// Its own requirement.
    pub own: Option<OwnRequirement>,
    /// Whether an organization above requires a second factor already.
    pub is_required_above: bool,
    /// Whether the caller may change the organization's own requirement.
    pub may_change: bool,
}

/// A requirement of the organization itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnRequirement {
    /// The level of the user who has set it: nobody below that level can take it back.
    pub set_by: OrgType,
    /// When.
    pub set_at: Ts,
}

impl From<Requirement> for OwnRequirement {
    fn from(requirement: Requirement) -> OwnRequirement {
        OwnRequirement { set_by: requirement.set_by, set_at: requirement.set_at }
    }
}

fn check_on(service: &Directory) -> Result<()> {
    if identity_factors::is_on(&service.identity) {
        Ok(())
    } else {
        Err(Error::forbidden("second factors are not available"))
    }
}

/// What an organization within reach requires. `id`: none = malformed.
///
/// # Errors
/// `organization not found`; 403 where there are no second factors.
pub async fn second_factor_policy(
    service: &Directory,
    caller: &Caller,
    id: Option<OrgId>,
) -> Result<SecondFactorPolicy> {
    let id = in_reach(&service.platform.db, caller, Action::Read, id).await?.id();
    check_on(service)?;
    let own = factors::requirement(&service.platform.db, id).await?;
    let is_required_above = factors::is_required_above(&service.platform.db, id).await?;
    let may_change = own.is_none_or(|own| may_relax(caller, own.set_by)) && !caller.is_read_only();
    Ok(SecondFactorPolicy { own: own.map(OwnRequirement::from), is_required_above, may_change })
}

/// Sets the requirement or takes it back; the policy from now on. A requirement that a level above has set stays as it
/// is: setting it again changes nothing, and taking it back is refused. `id`: none = malformed.
///
/// # Errors
/// `organization not found`; 403 for a requirement from above, and where there are no second factors; the field.
pub async fn require_second_factor(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<OrgId>,
    body: impl FnOnce() -> Result<Option<bool>>,
) -> Result<SecondFactorPolicy> {
    in_reach(&service.platform.db, caller, Action::Update, id).await?;
    check_on(service)?;
    let mut fields = Fields::new();
    let wanted = body()?;
    if wanted.is_none() {
        fields.push("required", "required", "");
    }
    fields.finish()?;
    let wanted = wanted.unwrap_or_default();
    let mut tx = service.platform.db.begin().await?;
    if let Some(id) = id {
        organizations::lock(&mut tx, id).await?;
    }
    let id = in_reach(&mut tx, caller, Action::Update, id).await?.id();
    let (own, now) = (factors::requirement(&mut tx, id).await?, service.platform.now());
    let may_change = own.is_none_or(|own| may_relax(caller, own.set_by));
    if !wanted && !may_change {
        return Err(Error::forbidden(
            "only the level that requires the second factor, or one above, can take it back",
        ));
    }
    if let Some(level) = caller.org_type().filter(|_| may_change && (wanted || own.is_some())) {
        if wanted {
            factors::require(&mut tx, Requirement { organization: id, set_by: level, set_at: now }).await?;
        } else {
            factors::take_back(&mut tx, id).await?;
        }
        let event = audit::Event {
            action: AuditAction::OrganizationSecondFactor,
            object_type: "organization",
            object_id: id.0,
            before: Some(json!({"required": own.is_some()})),
            after: Some(json!({"required": wanted})),
        };
        audit::record(&mut tx, now, caller, ctx, event).await?;
    }
    tx.commit().await?;
    second_factor_policy(service, caller, Some(id)).await
}
