//! What a new silence would silence, without making it.

use super::{
    alert_query::{ActiveAlert, decorate},
    find_silence::{CallerContext, SilenceScope, find, sender},
    silence_orders::{NewSilence, PreparedSilence},
    to_error,
};
use crate::Alerts;
use bailiwick_alertmanager::{
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
    context: CallerContext<'_>,
    scope: &SilenceScope,
    body: impl FnOnce() -> Result<NewSilence>,
) -> Result<SilencePreview> {
    let target = find(service, context.caller, Action::Silence, scope).await?;
    if !target.is_registered {
        return Err(Error::bad_request("system is not registered"));
    }
    let new = body()?;
    new.check(service)?;
    let router = service.state.for_people();
    let labels = router.unsilenced_alert(service, &target, &new.fingerprint).await?;
    let order = PreparedSilence::new(service, context.caller, &new, &labels)?;
    let posted = order.posted;
    let mut others = AlertsQuery::default();
    others.silenced = false;
    let who = sender(target.tenant, labels.value("system_key"), &context.ctx.request_id);
    let listed = crate::list_alerts(service, router, &who, &others);
    let mut alerts = listed.await.map_err(to_error)?;
    let silence = ActiveSilence::new(Uuid::nil(), &posted.matchers);
    // Before the alerts get the present names of their system: the silence has those of its alert. All its matchers are
    // literal.
    let sets: Vec<_> = alerts.iter().map(|alert| &alert.labels).collect();
    let mut silenced = is_silenced(&sets, &[silence], service.state.judging.expressions()).into_iter();
    alerts.retain(|_| silenced.next().unwrap_or_default());
    let total = alerts.len();
    alerts.truncate(SHOWN);
    let alerts = decorate(service, alerts.into_iter().map(|alert| (target.tenant, alert)).collect()).await?;
    Ok(SilencePreview {
        matchers: posted.matchers,
        ends_at: posted.ends_at.to_ts(),
        comment: posted.comment,
        alerts,
        total,
    })
}
