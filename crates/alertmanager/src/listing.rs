//! Alerts and silences as clients see them, and which of them a caller sees (spec: alerts#answers,
//! alert-router#listing, alert-router#groups, silences#expire-and-list).
//!
//! Both routers use it: the embedded one with the rows it stored, the remote one with the answers it received.

use crate::{
    AlertsQuery, Fingerprint, Labels, Matcher, Nanos, PostedAlert, SilencesQuery, sender_labels::SYSTEM_KEY,
    silence::is_owned,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{cmp::Ordering, collections::HashSet};
use uuid::Uuid;

/// The only receiver that systems see.
pub const NEUTRAL_RECEIVER: &str = "default";
/// Bytes of an alert or a silence besides its texts.
const REST: usize = 256;
/// Bytes of one of its matchers, receivers or ids besides the texts.
const ENTRY: usize = 64;

/// State of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlertState {
    /// Firing, not silenced.
    Active,
    /// Silenced or inhibited.
    Suppressed,
    /// Some remote routers leave the status open; never shown to clients.
    Unprocessed,
}

impl AlertState {
    /// All of them.
    pub const ALL: [AlertState; 3] = [AlertState::Active, AlertState::Suppressed, AlertState::Unprocessed];
}

/// State of a silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SilenceState {
    /// In force.
    Active,
    /// Not yet in force.
    Pending,
    /// Over.
    Expired,
}

impl SilenceState {
    /// All of them.
    pub const ALL: [SilenceState; 3] = [SilenceState::Active, SilenceState::Pending, SilenceState::Expired];
}

/// State of an alert and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertStatus {
    /// Ids of inhibiting alerts.
    #[serde(default, deserialize_with = "null_is_default")]
    pub inhibited_by: Vec<String>,
    /// Names of time intervals.
    #[serde(default, deserialize_with = "null_is_default")]
    pub muted_by: Vec<String>,
    /// Ids of silences, sorted.
    #[serde(default, deserialize_with = "null_is_default")]
    pub silenced_by: Vec<String>,
    /// The state.
    pub state: AlertState,
}

/// A receiver in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receiver {
    /// Its name.
    pub name: String,
}

/// One alert in an answer: exactly the fields of spec: alerts#answers. Unknown fields are not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedAlert {
    /// Texts for people.
    #[serde(default, deserialize_with = "null_is_default")]
    pub annotations: Labels,
    /// End; for a firing alert the time by which it must be refreshed.
    #[serde(serialize_with = "in_millis")]
    pub ends_at: Nanos,
    /// Identity within the tenant.
    pub fingerprint: Fingerprint,
    /// The receivers that are notified.
    #[serde(default, deserialize_with = "null_is_default")]
    pub receivers: Vec<Receiver>,
    /// Start.
    #[serde(serialize_with = "in_millis")]
    pub starts_at: Nanos,
    /// State.
    pub status: AlertStatus,
    /// Last push.
    #[serde(serialize_with = "in_millis")]
    pub updated_at: Nanos,
    /// Address that produced it.
    #[serde(
        rename = "generatorURL",
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub generator_url: String,
    /// Labels.
    pub labels: Labels,
}

impl ListedAlert {
    /// About how many bytes it holds.
    pub fn size(&self) -> usize {
        let status = &self.status;
        let ids = [&status.inhibited_by, &status.muted_by, &status.silenced_by].into_iter().flatten();
        let receivers = self.receivers.iter().map(|receiver| &receiver.name);
        let entries: usize = receivers.chain(ids).map(|text| text.len() + ENTRY).sum();
        self.labels.size() + self.annotations.size() + self.generator_url.len() + entries + REST
    }

    /// The push that ends this alert.
    pub fn ended(self, now: Nanos) -> PostedAlert {
        let starts_at = Some(self.starts_at.min(now));
        let mut ended = PostedAlert::of(self.labels);
        (ended.starts_at, ended.ends_at) = (starts_at, Some(now));
        ended
    }
}

/// State of a silence in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilenceStatus {
    /// The state.
    pub state: SilenceState,
}

/// One silence in an answer: exactly the fields of spec: alerts#answers. Unknown fields are not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSilence {
    /// Its id.
    pub id: Uuid,
    /// State.
    pub status: SilenceStatus,
    /// Last change.
    #[serde(serialize_with = "in_millis")]
    pub updated_at: Nanos,
    /// Free texts.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Labels::is_empty")]
    pub annotations: Labels,
    /// Comment.
    #[serde(default, deserialize_with = "null_is_default")]
    pub comment: String,
    /// Author.
    #[serde(default, deserialize_with = "null_is_default")]
    pub created_by: String,
    /// End.
    #[serde(serialize_with = "in_millis")]
    pub ends_at: Nanos,
    /// All must match.
    pub matchers: Vec<Matcher>,
    /// Start.
    #[serde(serialize_with = "in_millis")]
    pub starts_at: Nanos,
}

impl ListedSilence {
    /// About how many bytes it holds.
    pub fn size(&self) -> usize {
        let matchers: usize = self.matchers.iter().map(|m| m.name.len() + m.value.len() + ENTRY).sum();
        matchers + self.comment.len() + self.created_by.len() + self.annotations.size() + REST
    }
}

/// One group in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AlertGroup {
    /// Its alerts in the order of spec: alert-router#groups.
    pub alerts: Vec<ListedAlert>,
    /// The labels its alerts share.
    pub labels: Labels,
    /// The receiver that is notified.
    pub receiver: Receiver,
}

fn in_millis<S: Serializer>(time: &Nanos, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&time.millis())
}

fn null_is_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(d: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(d)?.unwrap_or_default())
}

/// The bytes of an answer: JSON and a newline. Fails only for a value that JSON cannot express.
pub fn render<T: Serialize + ?Sized>(answer: &T) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string(answer)?;
    text.push('\n');
    Ok(text)
}

/// The reader of the answer.
#[derive(Clone, Copy, Debug)]
pub enum Viewer<'a> {
    /// A system: sees its own alerts and silences and one neutral receiver.
    System {
        /// Its public key.
        system_key: &'a str,
        /// Its organization, the tenant.
        organization_id: &'a str,
    },
    /// A reader who may see the whole tenant.
    Tenant,
}

impl Viewer<'_> {
    fn sees_alert(&self, labels: &Labels) -> bool {
        match self {
            Viewer::System { system_key, organization_id } => {
                labels.get(SYSTEM_KEY) == Some(system_key)
                    && labels.get("organization_id").is_none_or(|o| o == *organization_id)
            }
            Viewer::Tenant => true,
        }
    }

    /// Whether the viewer sees a silence with these matchers.
    pub fn sees_silence(&self, matchers: &[Matcher]) -> bool {
        match self {
            Viewer::System { system_key, .. } => is_owned(matchers, system_key),
            Viewer::Tenant => true,
        }
    }
}

/// The alerts that the viewer sees and the query selects, by fingerprint. `silences` are those of the tenant: a system
/// sees only its own, but an alert that another system's silence mutes stays suppressed.
pub fn select_alerts(
    mut alerts: Vec<ListedAlert>,
    silences: &[ListedSilence],
    query: &AlertsQuery,
    viewer: &Viewer<'_>,
) -> Vec<ListedAlert> {
    alerts.retain(|a| {
        viewer.sees_alert(&a.labels) && query.selects(&a.labels) && passes_flags(&a.status, query)
    });
    if let Viewer::System { .. } = viewer {
        let owned: HashSet<String> =
            silences.iter().filter(|s| viewer.sees_silence(&s.matchers)).map(|s| s.id.to_string()).collect();
        for alert in &mut alerts {
            alert.receivers = vec![Receiver { name: NEUTRAL_RECEIVER.to_owned() }];
            alert.status.silenced_by.retain(|id| owned.contains(id));
            alert.status.inhibited_by.clear();
            alert.status.muted_by.clear();
        }
    }
    alerts.retain(|a| a.receivers.iter().any(|r| query.wants_receiver(&r.name)));
    alerts.sort_by_key(|a| a.fingerprint);
    alerts
}

fn passes_flags(status: &AlertStatus, query: &AlertsQuery) -> bool {
    (query.active || status.state != AlertState::Active)
        && (query.silenced || status.silenced_by.is_empty())
        && (query.inhibited || status.inhibited_by.is_empty())
}

/// The silences that the viewer sees and the query selects, in order.
pub fn select_silences(
    mut silences: Vec<ListedSilence>,
    query: &SilencesQuery,
    viewer: &Viewer<'_>,
) -> Vec<ListedSilence> {
    silences.retain(|s| {
        let wanted = match s.status.state {
            SilenceState::Active => query.active,
            SilenceState::Pending => query.pending,
            SilenceState::Expired => query.expired,
        };
        wanted && viewer.sees_silence(&s.matchers) && query.filters.iter().all(|f| s.matchers.contains(f))
    });
    silences.sort_by(silence_order);
    silences
}

/// Active by end, pending by start, expired by end from the latest; ties by id.
fn silence_order(a: &ListedSilence, b: &ListedSilence) -> Ordering {
    let (x, y) = (a.status.state, b.status.state);
    let by_time = match x {
        SilenceState::Active => a.ends_at.cmp(&b.ends_at),
        SilenceState::Pending => a.starts_at.cmp(&b.starts_at),
        SilenceState::Expired => b.ends_at.cmp(&a.ends_at),
    };
    x.cmp(&y).then(by_time).then_with(|| a.id.cmp(&b.id))
}

/// The labels by which systems see their alerts grouped.
const GROUP_BY: [&str; 3] = ["alertname", "organization_id", SYSTEM_KEY];

/// Groups alerts for a system (spec: alerts#neutral-answers), each group with the neutral receiver.
pub fn group_alerts(alerts: Vec<ListedAlert>) -> Vec<AlertGroup> {
    let mut keyed: Vec<(Labels, ListedAlert)> = alerts
        .into_iter()
        .map(|alert| {
            let key = GROUP_BY.iter().filter_map(|name| Some((*name, alert.labels.get(name)?))).collect();
            (key, alert)
        })
        .collect();
    keyed.sort_by(|(ka, a), (kb, b)| ka.set_order(kb).then_with(|| alert_order(&a.labels, &b.labels)));
    let mut groups: Vec<AlertGroup> = Vec::new();
    for (labels, alert) in keyed {
        match groups.last_mut() {
            Some(group) if group.labels == labels => group.alerts.push(alert),
            _ => groups.push(AlertGroup {
                alerts: vec![alert],
                labels,
                receiver: Receiver { name: NEUTRAL_RECEIVER.to_owned() },
            }),
        }
    }
    groups
}

/// The order of alerts in a group and in a notification: by `job`, then `instance` (an alert that has the label comes
/// first), then by label set.
pub fn alert_order(a: &Labels, b: &Labels) -> Ordering {
    for name in ["job", "instance"] {
        let order = match (a.get(name), b.get(name)) {
            (Some(x), Some(y)) => x.cmp(y),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        };
        if order.is_ne() {
            return order;
        }
    }
    a.set_order(b)
}

#[cfg(test)]
mod tests;
