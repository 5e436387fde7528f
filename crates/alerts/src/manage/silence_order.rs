//! What a new silence for an alert says, and the alert it is for (spec: silences#create-for-users), in both routers.

use super::{check_all, fingerprint, remote, silences::Found, text, told};
use crate::{Alerts, embedded};
use bailiwick_alerting::{
    Labels, ListedAlert, ListedSilence, Matcher, Nanos, PostedSilence, StoredAlert, StoredSilence,
    router::active_silences,
};
use bailiwick_domain::{Error, FieldError, ObjectKind, Result, Ts};
use bailiwick_outbound::RouterClient;
use bailiwick_policy::Caller;
use bailiwick_store::{Tx, alert_handling, history::active, router as rows};
use serde_json::{Value, json};
use std::time::Duration;

/// Minutes of a silence without an end.
const MINUTES: i64 = 60;
const MINUTES_MOST: i64 = 10_080;
const COMMENT: &str = "silenced from Bailiwick";

/// A silence to be made.
#[derive(Clone, Debug, Default)]
pub struct NewSilence {
    /// The alert.
    pub fingerprint: String,
    /// Comment.
    pub comment: String,
    /// Length.
    pub duration_minutes: Option<i64>,
    /// End as sent; wins.
    pub end_at: Option<String>,
}

impl NewSilence {
    /// Checks its fields, except the end.
    pub(super) fn check(&self, service: &Alerts) -> Result<()> {
        let minutes = self.duration_minutes.unwrap_or(MINUTES);
        let duration = match &self.end_at {
            None if !(1..=MINUTES_MOST).contains(&minutes) => {
                Err(FieldError::new("duration_minutes", "out_of_range").with_value(minutes.to_string()))
            }
            _ => Ok(()),
        };
        check_all([fingerprint(&self.fingerprint), comment(service, &self.comment), duration])
    }
}

/// The end as sent: after `now`, and within the longest silence counted from the start.
pub(super) fn end(service: &Alerts, sent: &str, start: Option<Ts>) -> std::result::Result<Ts, FieldError> {
    let now = service.now();
    let wrong = |code: &str| FieldError::new("end_at", code).with_value(sent);
    let is_time = sent.contains(['T', 't']) && sent.as_bytes().get(4) == Some(&b'-');
    let end = sent.parse::<Ts>().ok().filter(|_| is_time).ok_or_else(|| wrong("invalid_format"))?;
    if end <= now {
        return Err(wrong("must_be_future"));
    }
    if end.since(start.unwrap_or(now).min(now)) > service.settings.alerting.limits.content.silence_length {
        return Err(wrong("too_late"));
    }
    Ok(end)
}

pub(super) fn comment(service: &Alerts, sent: &str) -> std::result::Result<(), FieldError> {
    text("comment", sent, service.settings.alerting.limits.content.silence_bytes / 4)
}

/// The silence to be posted, and the details of its record.
pub(super) struct Order {
    pub(super) posted: PostedSilence,
    pub(super) details: Value,
}

impl Order {
    /// A wrong end is reported only when everything else is valid.
    pub(super) fn new(service: &Alerts, caller: &Caller, new: &NewSilence, labels: &Labels) -> Result<Order> {
        // Whole seconds, as the other routers' tools write it.
        let now = Ts::from_secs(service.now().secs());
        let ends_at = match &new.end_at {
            Some(sent) => end(service, sent, Some(now)).map_err(|wrong| Error::Invalid(vec![wrong]))?,
            None => {
                let minutes = new.duration_minutes.unwrap_or(MINUTES).unsigned_abs();
                now.plus(Duration::from_secs(minutes * 60))
            }
        };
        let words = Some(new.comment.trim()).filter(|c| !c.is_empty()).unwrap_or(COMMENT).to_owned();
        let details = json!({"comment": words, "duration_minutes": ends_at.since(now).as_secs() / 60,
            "end_at": ends_at.rfc3339(0)});
        let posted = PostedSilence {
            id: None,
            matchers: matchers(labels),
            starts_at: Nanos::from_ts(now),
            ends_at: Nanos::from_ts(ends_at),
            created_by: author(caller),
            comment: words,
            annotations: Labels::default(),
        };
        Ok(Order { posted, details })
    }
}

/// User name, else address, name, id, else the service.
fn author(caller: &Caller) -> String {
    let Some(who) = caller.identity() else { return "bailiwick".to_owned() };
    let names = [&who.username, &who.email, &who.name];
    let name = names.into_iter().find(|name| !name.trim().is_empty());
    name.cloned().unwrap_or_else(|| who.user_id.to_string())
}

/// Of every label that says something.
fn matchers(labels: &Labels) -> Vec<Matcher> {
    let told = labels.iter().filter(|(_, value)| !value.trim().is_empty());
    told.map(|(name, value)| Matcher::equal(name, value)).collect()
}

/// The active alert in the embedded router that is not silenced yet: the key of its system and its labels.
pub(super) async fn stored_alert(
    tx: &mut Tx,
    service: &Alerts,
    found: &Found,
    fingerprint: &str,
) -> Result<(String, Labels)> {
    let keys = [(found.tenant, fingerprint.to_owned())];
    let payload = rows::alerts_by_key(tx, &keys).await?.pop();
    let stored = payload.and_then(|(_, _, payload)| embedded::read::<StoredAlert>(&payload));
    let at = service.now();
    let is_listed = |a: &StoredAlert| a.is_listed(Nanos::from_ts(at), service.alerting().outage.get());
    let labels = stored.filter(is_listed).ok_or(Error::NotFound(ObjectKind::Alert))?.labels;
    let key = owner(found, &labels)?;
    if !active::has_system(tx, found.tenant, &key).await? {
        return Err(Error::NotFound(ObjectKind::Alert));
    }
    let silences = rows::silences_of_system(&mut *tx, found.tenant, &key, at).await?;
    let read = silences.iter().filter_map(|payload| embedded::read::<StoredSilence>(payload));
    let listed: Vec<ListedSilence> = read.map(|s| s.listed(Nanos::from_ts(at))).collect();
    if active_silences(&listed).iter().any(|s| s.silences(&labels)) {
        return Err(Error::bad_request("alert is already silenced"));
    }
    Ok((key, labels))
}

/// The same at a remote router.
pub(super) async fn told_alert(
    service: &Alerts,
    client: &RouterClient,
    found: &Found,
    fingerprint: &str,
) -> Result<ListedAlert> {
    let known = alert_handling::firing(&service.db, found.tenant, fingerprint).await?;
    let key = found.system_key.as_deref().or(known.as_deref());
    let alerts = remote::alerts_of(service, client, found.tenant, key).await.map_err(told)?;
    let alert = alerts.into_iter().find(|a| a.fingerprint.to_string() == fingerprint);
    let alert = alert.ok_or(Error::NotFound(ObjectKind::Alert))?;
    let key = owner(found, &alert.labels)?;
    let shown = active::shown(&service.db, &[((found.tenant, fingerprint.to_owned()), key)]).await?;
    if shown.iter().all(|(_, shown)| shown.system.is_none()) {
        return Err(Error::NotFound(ObjectKind::Alert));
    }
    if !alert.status.silenced_by.is_empty() {
        return Err(Error::bad_request("alert is already silenced"));
    }
    Ok(alert)
}

/// The key of the alert's system; if a system is named, it must be that one.
fn owner(found: &Found, labels: &Labels) -> Result<String> {
    let key = labels.value("system_key");
    if found.system_key.as_deref().is_some_and(|wanted| wanted != key) {
        return Err(Error::NotFound(ObjectKind::Alert));
    }
    if key.is_empty() {
        return Err(Error::bad_request("alert is not system-scoped (missing system_key label)"));
    }
    Ok(key.to_owned())
}
