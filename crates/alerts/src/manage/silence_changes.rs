//! Creates, changes and expires silences for people (spec: alert-management#handling).

use super::{
    find_silence::{CallerContext, SilenceScope, find, look_up},
    remote_changes::deadline,
    silence_orders::{Change, NewSilence, SilenceChange},
};
use crate::Alerts;
use bailiwick_alertmanager::SilenceState;
use bailiwick_domain::{Error, Result};
use bailiwick_policy::Action;
use uuid::Uuid;

/// `POST /systems/{id}/alerts/silences`, `POST /alerts/silences`; returns the id of the silence.
///
/// # Errors
/// In the order of the specification, then the router's.
pub async fn create_silence(
    service: &Alerts,
    context: CallerContext<'_>,
    scope: &SilenceScope,
    body: impl FnOnce() -> Result<NewSilence>,
) -> Result<Uuid> {
    let target = find(service, context.caller, Action::Silence, scope).await?;
    if !target.is_registered {
        return Err(Error::bad_request("system is not registered"));
    }
    let new = body()?;
    new.check(service)?;
    service.state.for_people().create_silence(service, context, &target, &new).await
}

/// `PUT …/silences/{silence_id}`; returns its id, which may be a new one.
///
/// # Errors
/// 404 for one of another system or organization, 400 for fields; the router's.
pub async fn change_silence(
    service: &Alerts,
    context: CallerContext<'_>,
    scope: &SilenceScope,
    id: &str,
    body: impl FnOnce() -> Result<SilenceChange>,
) -> Result<Uuid> {
    let until = deadline(service);
    let target = find(service, context.caller, Action::Silence, scope).await?;
    let (key, stored) = look_up(service, &target, context.ctx, id).await?;
    let change = Change::new(service, &body()?, stored)?;
    let router = service.state.for_people();
    router.change_silence(service, context, (target.tenant, &key), change, until).await
}

/// `DELETE …/silences/{silence_id}`; one that is over already stays as it is.
///
/// # Errors
/// 404 for one of another system or organization; the router's.
pub async fn end_silence(
    service: &Alerts,
    context: CallerContext<'_>,
    scope: &SilenceScope,
    id: &str,
) -> Result<()> {
    let until = deadline(service);
    let target = find(service, context.caller, Action::Silence, scope).await?;
    let (key, stored) = look_up(service, &target, context.ctx, id).await?;
    if stored.status.state == SilenceState::Expired {
        return Ok(());
    }
    let router = service.state.for_people();
    router.end_silence(service, context, (target.tenant, &key), stored, until).await
}
