//! Creates, changes and expires silences in the embedded router. A change, its activity record and its audit row are
//! one transaction.

use super::{
    find_silence::{CallerContext, SilenceTarget, sender},
    silence_orders::{Change, NO_SYSTEM, NewSilence, PreparedSilence, owner, refused},
    silence_records::{created, ended},
    to_error,
};
use crate::{Alerts, embedded, judging};
use bailiwick_alertmanager::{
    Labels, ListedSilence, Nanos, StoredAlert, StoredSilence,
    active_silence::{Expressions, active_silences, is_silenced},
};
use bailiwick_domain::{Error, ObjectKind, OrgId, Result};
use bailiwick_store::{
    Tx,
    history::{self, active},
    router as rows,
};
use uuid::Uuid;

/// Silences an alert; returns the id of the silence.
pub(super) async fn create(
    service: &Alerts,
    context: CallerContext<'_>,
    target: &SilenceTarget,
    new: &NewSilence,
) -> Result<Uuid> {
    let judged = unsilenced(service, target, &new.fingerprint).await?;
    let mut tx = service.platform.db.begin().await?;
    history::lock_for_writing(&mut tx, [target.tenant]).await?;
    // Only silences made since are judged while others wait for this transaction.
    let alert = stored_alert(&mut tx, service, target, &new.fingerprint).await?;
    let since = alert.silences.iter().filter(|s| !judged.silences.contains(s));
    check_unsilenced(&alert.labels, since, service.state.judging.expressions())?;
    let order = PreparedSilence::new(service, context.caller, new, &alert.labels)?;
    let now = order.posted.starts_at;
    write_new(tx, service, context, (target.tenant, &alert.system_key, &new.fingerprint), (order, now)).await
}

/// Creates a silence for a system rather than for one alert; returns its id.
pub(super) async fn create_for_system(
    service: &Alerts,
    context: CallerContext<'_>,
    (tenant, system_key): (OrgId, &str),
    order: PreparedSilence,
) -> Result<Uuid> {
    let mut tx = service.platform.db.begin().await?;
    history::lock_for_writing(&mut tx, [tenant]).await?;
    // The system may have left the tenant since it was looked up.
    if !active::has_system(&mut tx, tenant, system_key).await? {
        return Err(Error::bad_request(NO_SYSTEM));
    }
    let now = Nanos::from_ts(service.platform.now());
    write_new(tx, service, context, (tenant, system_key, ""), (order, now)).await
}

/// Writes a new silence and its records, and commits. The fingerprint is that of the alert it was made for, if one was
/// named.
async fn write_new(
    mut tx: Tx,
    service: &Alerts,
    context: CallerContext<'_>,
    (tenant, system_key, fingerprint): (OrgId, &str, &str),
    (order, now): (PreparedSilence, Nanos),
) -> Result<Uuid> {
    let who = sender(tenant, system_key, &context.ctx.request_id);
    let id = embedded::set_silence_in(&mut tx, service, &who, now, order.posted).await.map_err(refused)?;
    created(tx, service, context, (tenant, fingerprint.to_owned()), (id, order.details)).await?;
    Ok(id)
}

/// An active alert and the silences of its system.
struct AlertToSilence {
    system_key: String,
    labels: Labels,
    silences: Vec<ListedSilence>,
}

/// An active alert that is not silenced yet. Nothing is written.
async fn unsilenced(service: &Alerts, target: &SilenceTarget, fingerprint: &str) -> Result<AlertToSilence> {
    let mut tx = service.platform.db.begin().await?;
    let alert = stored_alert(&mut tx, service, target, fingerprint).await?;
    drop(tx);
    let judge = move |expressions: &Expressions| {
        check_unsilenced(&alert.labels, &alert.silences, expressions).map(|()| alert)
    };
    judging::by_person(service, target.tenant, judge).await?
}

/// The labels of an active alert that is not silenced yet.
pub(super) async fn unsilenced_alert(
    service: &Alerts,
    target: &SilenceTarget,
    fingerprint: &str,
) -> Result<Labels> {
    Ok(unsilenced(service, target, fingerprint).await?.labels)
}

fn check_unsilenced<'s>(
    labels: &Labels,
    silences: impl IntoIterator<Item = &'s ListedSilence>,
    expressions: &Expressions,
) -> Result<()> {
    match is_silenced(&[labels], &active_silences(silences), expressions)[..] {
        [true] => Err(Error::bad_request("alert is already silenced")),
        _ => Ok(()),
    }
}

/// An active alert, silenced or not.
async fn stored_alert(
    tx: &mut Tx,
    service: &Alerts,
    target: &SilenceTarget,
    fingerprint: &str,
) -> Result<AlertToSilence> {
    let keys = [(target.tenant, fingerprint.to_owned())];
    let payload = rows::alerts_by_key(tx, &keys).await?.pop();
    let stored = payload.and_then(|(_, _, payload)| embedded::read::<StoredAlert>(&payload));
    let now = service.platform.now();
    let is_listed = |a: &StoredAlert| a.is_listed(Nanos::from_ts(now), service.state.outage.get());
    let labels = stored.filter(is_listed).ok_or(Error::NotFound(ObjectKind::Alert))?.labels;
    let system_key = owner(target, &labels)?;
    if !active::has_system(tx, target.tenant, &system_key).await? {
        return Err(Error::NotFound(ObjectKind::Alert));
    }
    let silences = rows::silences_of_system(&mut *tx, target.tenant, &system_key, now).await?;
    let read = silences.iter().filter_map(|payload| embedded::read::<StoredSilence>(payload));
    let silences = read.map(|s| s.listed(Nanos::from_ts(now))).collect();
    Ok(AlertToSilence { system_key, labels, silences })
}

/// Changes a silence; returns its id, which may be a new one.
pub(super) async fn change(
    service: &Alerts,
    context: CallerContext<'_>,
    (tenant, system_key): (OrgId, &str),
    change: Change,
) -> Result<Uuid> {
    let who = sender(tenant, system_key, &context.ctx.request_id);
    let mut tx = service.platform.db.begin().await?;
    history::lock_for_writing(&mut tx, [tenant]).await?;
    let now = Nanos::from_ts(service.platform.now());
    let id = embedded::set_silence_in(&mut tx, service, &who, now, change.posted).await.map_err(refused)?;
    change.edit.recorded(tx, service, context, tenant, id).await
}

/// Ends a silence.
pub(super) async fn end(
    service: &Alerts,
    context: CallerContext<'_>,
    (tenant, system_key): (OrgId, &str),
    stored: &ListedSilence,
) -> Result<()> {
    let who = sender(tenant, system_key, &context.ctx.request_id);
    let mut tx = service.platform.db.begin().await?;
    history::lock_for_writing(&mut tx, [tenant]).await?;
    if !embedded::expire_silence_in(&mut tx, service, &who, stored.id).await.map_err(to_error)? {
        return Err(Error::NotFound(ObjectKind::Silence));
    }
    ended(tx, service, context, tenant, stored).await
}
