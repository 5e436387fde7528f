//! The state of a group that a flush sees.

use crate::{
    Fingerprint, Labels, Nanos, StoredAlert,
    active_silence::{ActiveSilence, Expressions, is_silenced},
    listing::alert_order,
    router::Outage,
};

/// One alert as a flush found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its identity.
    pub fingerprint: Fingerprint,
    /// The alert.
    pub alert: StoredAlert,
    /// Was it over?
    pub is_resolved: bool,
}

/// A group at the moment of a flush.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The alerts to report, without silenced ones, in the order of spec: alert-router#groups.
    pub alerts: Vec<Taken>,
    /// All resolved alerts, silenced or not: they leave the group when the flush succeeds, unless they change
    /// meanwhile.
    pub ended: Vec<Fingerprint>,
}

impl Snapshot {
    /// Looks at the alerts of a group.
    pub fn take(
        alerts: Vec<StoredAlert>,
        (silences, expressions): (&[ActiveSilence], &Expressions),
        now: Nanos,
        outage: Option<Outage>,
    ) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let sets: Vec<&Labels> = alerts.iter().map(|alert| &alert.labels).collect();
        let silenced = is_silenced(&sets, silences, expressions);
        for (alert, is_silenced) in alerts.into_iter().zip(silenced) {
            let fingerprint = alert.fingerprint();
            let is_resolved = alert.effective_end(outage) <= now;
            if is_resolved {
                snapshot.ended.push(fingerprint);
            }
            if !is_silenced {
                snapshot.alerts.push(Taken { fingerprint, alert, is_resolved });
            }
        }
        snapshot.alerts.sort_by(|a, b| alert_order(&a.alert.labels, &b.alert.labels));
        snapshot
    }

    /// Does any of them fire?
    pub fn is_firing(&self) -> bool {
        self.alerts.iter().any(|a| !a.is_resolved)
    }
}
