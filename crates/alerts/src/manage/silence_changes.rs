//! Creates, changes and expires silences for people (spec: alert-management#handling).

use super::{
    remote_changes::deadline,
    silence_orders::{Change, NewSilence, SilenceChange},
    silences::{CallerContext, SilenceScope, find, look_up},
};
use crate::Alerts;
use bailiwick_alerting::SilenceState;
use bailiwick_domain::{Error, Result};
use bailiwick_policy::Action;
use uuid::Uuid;

/// `POST /systems/{id}/alerts/silences`, `POST /alerts/silences`; returns the id of the silence.
///
/// # Errors
/// In the order of the specification, then the router's.
pub async fn create_silence(
    service: &Alerts,
    by: CallerContext<'_>,
    place: &SilenceScope,
    body: impl FnOnce() -> Result<NewSilence>,
) -> Result<Uuid> {
    let found = find(service, by.caller, Action::Silence, place).await?;
    if !found.is_registered {
        return Err(Error::bad_request("system is not registered"));
    }
    let new = body()?;
    new.check(service)?;
    service.alerting().for_people().create_silence(service, by, &found, &new).await
}

/// `PUT …/silences/{silence_id}`; returns its id, which may be a new one.
///
/// # Errors
/// 404 for one of another system or organization, 400 for fields; the router's.
pub async fn change_silence(
    service: &Alerts,
    by: CallerContext<'_>,
    place: &SilenceScope,
    id: &str,
    body: impl FnOnce() -> Result<SilenceChange>,
) -> Result<Uuid> {
    let until = deadline(service);
    let found = find(service, by.caller, Action::Silence, place).await?;
    let (key, stored) = look_up(service, &found, by.ctx, id).await?;
    let change = Change::new(service, &body()?, stored)?;
    let router = service.alerting().for_people();
    router.change_silence(service, by, (found.tenant, &key), change, until).await
}

/// `DELETE …/silences/{silence_id}`; one that is over already stays as it is.
///
/// # Errors
/// 404 for one of another system or organization; the router's.
pub async fn end_silence(
    service: &Alerts,
    by: CallerContext<'_>,
    place: &SilenceScope,
    id: &str,
) -> Result<()> {
    let until = deadline(service);
    let found = find(service, by.caller, Action::Silence, place).await?;
    let (key, stored) = look_up(service, &found, by.ctx, id).await?;
    if stored.status.state == SilenceState::Expired {
        return Ok(());
    }
    let router = service.alerting().for_people();
    router.end_silence(service, by, (found.tenant, &key), stored, until).await
}
