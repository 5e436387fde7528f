//! What a new silence would silence, without making it.

use super::{
    alert_query::{ActiveAlert, decorate},
    silence_orders::{NewSilence, Order},
    silences::{CallerContext, SilenceScope, find, sender},
    to_error,
};
use crate::Alerts;
use bailiwick_alerting::{
    AlertsQuery, Matcher,
    active_silence::{ActiveSilence, is_silenced},
};
use bailiwick_domain::{Error, Result, Ts};
use bailiwick_policy::Action;
use uuid::Uuid;

/// Alerts that are shown.
const SHOWN: usize = 100;

/// A silence that has not been made.
#[derive(Clone, Debug)]
pub struct SilencePreview {
    /// What its alerts have in common.
    pub matchers: Vec<Matcher>,
    pub ends_at: Ts,
    pub comment: String,
    /// The alerts of the system that it would silence now, at most 100.
    pub alerts: Vec<ActiveAlert>,
    /// How many these are in all.
    pub total: usize,
}

/// What [`super::create_silence`] would make, with all its checks.
///
/// # Errors
/// As [`super::create_silence`].
pub async fn preview_silence(
    service: &Alerts,
    by: CallerContext<'_>,
    place: &SilenceScope,
    body: impl FnOnce() -> Result<NewSilence>,
) -> Result<SilencePreview> {
    let found = find(service, by.caller, Action::Silence, place).await?;
    if !found.is_registered {
        return Err(Error::bad_request("system is not registered"));
    }
    let new = body()?;
    new.check(service)?;
    let router = service.alerting().for_people();
    let labels = router.unsilenced_alert(service, &found, &new.fingerprint).await?;
    let order = Order::new(service, by.caller, &new, &labels)?;
    let posted = order.posted;
    let mut others = AlertsQuery::default();
    others.silenced = false;
    let who = sender(found.tenant, labels.value("system_key"), &by.ctx.request_id);
    let listed = crate::list_alerts(service, router, &who, &others);
    let mut alerts = listed.await.map_err(to_error)?;
    let silence = ActiveSilence::new(Uuid::nil(), &posted.matchers);
    // Before the alerts get the present names of their system: the silence has those of its alert. All its matchers are
    // literal.
    let sets: Vec<_> = alerts.iter().map(|alert| &alert.labels).collect();
    let mut silenced = is_silenced(&sets, &[silence], service.alerting().judging.expressions()).into_iter();
    alerts.retain(|_| silenced.next().unwrap_or_default());
    let total = alerts.len();
    alerts.truncate(SHOWN);
    let alerts = decorate(service, alerts.into_iter().map(|alert| (found.tenant, alert)).collect()).await?;
    Ok(SilencePreview {
        matchers: posted.matchers,
        ends_at: posted.ends_at.to_ts(),
        comment: posted.comment,
        alerts,
        total,
    })
}
