//! What people ask of silences: the bodies, their checks, and the silences to be posted (spec:
//! silences#create-for-users, alert-management#handling). The same for both routers.

use super::{
    check_all,
    find_silence::{SilenceTarget, gone},
    fingerprint,
    silence_records::{Edit, as_it_was},
    text, to_error,
};
use crate::{Alerts, Fault};
use bailiwick_alertmanager::{Labels, ListedSilence, Matcher, Nanos, PostedSilence};
use bailiwick_domain::{Error, FieldError, ObjectKind, Result, Ts};
use bailiwick_policy::Caller;
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

/// Minutes of a silence without an end.
const MINUTES: i64 = 60;
const MINUTES_MOST: i64 = 10_080;
const COMMENT: &str = "silenced from Bailiwick";

/// A silence to be made.
#[derive(Clone, Debug, Default)]
pub struct NewSilence {
    /// The alert.
    pub fingerprint: String,
    pub comment: String,
    /// Length.
    pub duration_minutes: Option<i64>,
    /// End as sent; wins.
    pub end_at: Option<String>,
}

impl NewSilence {
    /// Checks every field but the end.
    pub(super) fn check(&self, service: &Alerts) -> Result<()> {
        let minutes = self.minutes();
        let duration = match &self.end_at {
            None if !(1..=MINUTES_MOST).contains(&minutes) => {
                Err(FieldError::new("duration_minutes", "out_of_range").with_value(minutes.to_string()))
            }
            _ => Ok(()),
        };
        check_all([fingerprint(&self.fingerprint), comment(service, &self.comment), duration])
    }

    fn minutes(&self) -> i64 {
        self.duration_minutes.unwrap_or(MINUTES)
    }
}

/// A silence to be changed.
#[derive(Clone, Debug, Default)]
pub struct SilenceChange {
    /// New end as sent.
    pub end_at: Option<String>,
    /// New comment; none keeps it.
    pub comment: Option<String>,
}

/// The end as sent: after `now`, and within the longest silence counted from the start.
fn end(service: &Alerts, sent: &str, start: Option<Ts>) -> std::result::Result<Ts, FieldError> {
    let now = service.platform.now();
    let wrong = |code: &str| FieldError::new("end_at", code).with_value(sent);
    let end = sent.parse::<Ts>().map_err(|_| wrong("invalid_format"))?;
    if end <= now {
        return Err(wrong("must_be_future"));
    }
    if end.since(start.unwrap_or(now).min(now)) > service.settings.alerting.limits.content.silence_length {
        return Err(wrong("too_late"));
    }
    Ok(end)
}

fn comment(service: &Alerts, sent: &str) -> std::result::Result<(), FieldError> {
    text("comment", sent, service.settings.alerting.limits.content.silence_bytes / 4)
}

/// The silence to be posted, and the details of its record.
pub(super) struct PreparedSilence {
    pub(super) posted: PostedSilence,
    pub(super) details: Value,
    /// The error for a fault of a remote router.
    pub(super) to_error: fn(Fault) -> Error,
}

impl PreparedSilence {
    /// A wrong end is reported only when everything else is valid.
    pub(super) fn new(
        service: &Alerts,
        caller: &Caller,
        new: &NewSilence,
        labels: &Labels,
    ) -> Result<PreparedSilence> {
        // Whole seconds, as the other routers' tools write it.
        let now = Ts::from_secs(service.platform.now().secs());
        let ends_at = match &new.end_at {
            Some(sent) => end(service, sent, Some(now)).map_err(|wrong| Error::Invalid(vec![wrong]))?,
            None => now.plus(Duration::from_secs(new.minutes().unsigned_abs() * 60)),
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
            compiled_bytes: 0,
        };
        Ok(PreparedSilence { posted, details, to_error })
    }

    /// A silence as a tool has written it.
    pub(super) fn of_tool(posted: PostedSilence) -> PreparedSilence {
        let details = details(&posted);
        PreparedSilence { posted, details, to_error: refused }
    }
}

/// No system of this key is within reach, or no longer.
pub(super) const NO_SYSTEM: &str = "matcher system_key does not match a system of this organization";

/// Says why the router refuses a silence, as systems hear it. For a remote router only tools hear it.
pub(super) fn refused(fault: Fault) -> Error {
    match fault {
        Fault::Rejected(reject) if (400..500).contains(&reject.status) && reject.status != 404 => {
            Error::bad_request(reject.text().to_owned())
        }
        fault => gone(fault),
    }
}

/// What the record of a silence shows.
fn details(posted: &PostedSilence) -> Value {
    json!({"comment": posted.comment, "end_at": posted.ends_at.to_ts().rfc3339(0)})
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
    let named = labels.iter().filter(|(_, value)| !value.trim().is_empty());
    named.map(|(name, value)| Matcher::equal(name, value)).collect()
}

/// The key of the alert's system; if a system is named, it must be that one.
pub(super) fn owner(target: &SilenceTarget, labels: &Labels) -> Result<String> {
    let key = labels.value("system_key");
    if target.system_key.as_deref().is_some_and(|wanted| wanted != key) {
        return Err(Error::NotFound(ObjectKind::Alert));
    }
    if key.is_empty() {
        return Err(Error::bad_request("alert is not system-scoped (missing system_key label)"));
    }
    Ok(key.to_owned())
}

/// A silence as it is to be, and as it was.
pub(super) struct Change {
    pub(super) posted: PostedSilence,
    pub(super) edit: Edit,
    /// The error for a fault of a remote router.
    pub(super) to_error: fn(Fault) -> Error,
}

impl Change {
    /// What was asked for, checked, applied to the stored silence.
    pub(super) fn new(service: &Alerts, change: &SilenceChange, stored: ListedSilence) -> Result<Change> {
        let ends_at = match change.end_at.as_deref() {
            None | Some("") => Err(FieldError::new("end_at", "required")),
            Some(sent) => end(service, sent, Some(stored.starts_at.to_ts())),
        };
        let words = change.comment.as_deref().unwrap_or_default();
        check_all([ends_at.clone().map(drop), comment(service, words)])?;
        let Ok(ends_at) = ends_at else { return Err(Error::field("end_at", "required")) };
        if Nanos::from_ts(ends_at) <= stored.starts_at {
            return Err(Error::field("end_at", "must_be_after_start"));
        }
        let words = Some(words.trim()).filter(|c| !c.is_empty()).unwrap_or(&stored.comment).to_owned();
        let before = (stored.id, as_it_was(&stored));
        let posted = PostedSilence {
            id: Some(stored.id),
            matchers: stored.matchers,
            starts_at: stored.starts_at,
            ends_at: Nanos::from_ts(ends_at),
            created_by: stored.created_by,
            comment: words,
            annotations: stored.annotations,
            // Those of the stored one count, as the matchers stay.
            compiled_bytes: 0,
        };
        Ok(Change::of(before, posted, gone))
    }

    /// A silence as a tool has written it, in place of the stored one.
    pub(super) fn of_tool(posted: PostedSilence, stored: &ListedSilence) -> Change {
        Change::of((stored.id, as_it_was(stored)), posted, refused)
    }

    fn of(
        (old, before): (Uuid, Option<Value>),
        posted: PostedSilence,
        to_error: fn(Fault) -> Error,
    ) -> Change {
        let edit = Edit { old, before, details: details(&posted) };
        Change { posted, edit, to_error }
    }
}
