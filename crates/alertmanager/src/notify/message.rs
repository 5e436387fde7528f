//! A message about a group, and the form webhooks receive (spec: alert-delivery#webhook-delivery).

use super::{Reason, Snapshot, Taken};
use crate::{Labels, Nanos};
use bailiwick_domain::json::write_str;

/// The message to one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Name of the receiver.
    pub receiver: &'a str,
    /// Why.
    pub reason: Reason,
    /// Of which alerts; there is at least one.
    pub snapshot: &'a Snapshot,
    /// The labels by which the alerts were grouped.
    pub group_labels: &'a Labels,
    /// Name of the group.
    pub group_key: &'a str,
    /// Public address of the service.
    pub external_url: &'a str,
}

impl Taken {
    /// `firing` or `resolved`.
    pub(super) const fn status(&self) -> &'static str {
        if self.is_resolved { "resolved" } else { "firing" }
    }
}

impl Message<'_> {
    /// `firing` if any alert is, else `resolved`.
    pub fn status(&self) -> &'static str {
        if self.snapshot.is_firing() { "firing" } else { "resolved" }
    }

    /// The labels that are equal in all alerts.
    pub(crate) fn common_labels(&self) -> Labels {
        common(self.snapshot.alerts.iter().map(|a| &a.alert.labels))
    }

    /// The annotations that are equal in all alerts.
    pub(super) fn common_annotations(&self) -> Labels {
        common(self.snapshot.alerts.iter().map(|a| &a.alert.annotations))
    }

    /// The body for a webhook: Alertmanager's version 4.
    pub fn webhook(&self) -> String {
        let mut out = String::with_capacity(512 + self.snapshot.alerts.len() * 512);
        out.push_str("{\"receiver\":");
        write_str(&mut out, self.receiver);
        out.push_str(",\"status\":\"");
        out.push_str(self.status());
        out.push_str("\",\"alerts\":[");
        for (i, taken) in self.snapshot.alerts.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            write_alert(&mut out, taken);
        }
        out.push_str("],\"notification_reason\":");
        write_str(&mut out, self.reason.as_str());
        for (key, labels) in [
            ("groupLabels", self.group_labels),
            ("commonLabels", &self.common_labels()),
            ("commonAnnotations", &self.common_annotations()),
        ] {
            out.push_str(",\"");
            out.push_str(key);
            out.push_str("\":");
            labels.write(&mut out);
        }
        out.push_str(",\"externalURL\":");
        write_str(&mut out, self.external_url);
        out.push_str(",\"version\":\"4\",\"groupKey\":");
        write_str(&mut out, self.group_key);
        out.push_str(",\"truncatedAlerts\":0}");
        out
    }
}

fn write_alert(out: &mut String, taken: &Taken) {
    let alert = &taken.alert;
    out.push_str("{\"status\":\"");
    out.push_str(taken.status());
    out.push_str("\",\"labels\":");
    alert.labels.write(out);
    out.push_str(",\"annotations\":");
    alert.annotations.write(out);
    out.push_str(",\"startsAt\":\"");
    alert.starts_at.write_exact(out);
    out.push_str("\",\"endsAt\":\"");
    if taken.is_resolved { alert.ends_at } else { Nanos::ZERO_TIME }.write_exact(out);
    out.push_str("\",\"generatorURL\":");
    write_str(out, &alert.generator_url);
    out.push_str(",\"fingerprint\":\"");
    out.push_str(&taken.fingerprint.to_string());
    out.push_str("\"}");
}

fn common<'l>(mut all: impl Iterator<Item = &'l Labels>) -> Labels {
    let mut common = all.next().cloned().unwrap_or_default();
    for labels in all {
        common.retain(|name, value| labels.get(name) == Some(value));
    }
    common
}
