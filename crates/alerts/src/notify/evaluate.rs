//! Decides which notifications the due groups need. All their rows are read together and evaluated off the request
//! threads.

use super::{
    of,
    render::RenderCache,
    scheduler::{Routings, id_in, read},
    send::Senders,
    send_group::GroupSend,
};
use crate::{Alerts, config::digest_of};
use bailiwick_alertmanager::{
    Nanos, StoredAlert, StoredSilence,
    active_silence::{ActiveSilence, Expressions},
    listing::SilenceState,
    notify::{self, SentNotification, Snapshot, decide, patience},
    receivers::AnyRecipient,
    router::Outage,
};
use bailiwick_domain::{Error, OrgId, Result, Ts};
use bailiwick_store::delivery::{self, Alert, Due, Finished, GroupKey, notification_log};
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

/// Flushes that notify no recipient, and the others with the time they are due again.
pub(super) struct Evaluated {
    pub(super) finished: Vec<Finished>,
    pub(super) to_send: Vec<(GroupSend, Ts)>,
}

/// Reads the alerts and past notifications of the groups, and decides.
pub(super) async fn evaluate(
    service: &Alerts,
    due: Vec<Due>,
    routings: Routings,
    now: Ts,
) -> Result<Evaluated> {
    let keys: Vec<GroupKey> = due.iter().map(|d| d.key.clone()).collect();
    let alerts = delivery::members(&service.platform.db, &keys).await?;
    let systems: HashSet<(OrgId, String)> =
        alerts.iter().map(|a| (a.organization_id, a.system_key.clone())).collect();
    let systems: Vec<(OrgId, String)> = systems.into_iter().collect();
    let silences = delivery::silences(&service.platform.db, &systems, now).await?;
    let notices = notification_log::notices(&service.platform.db, &keys).await?;
    of(service).senders.get_or_init(|| Senders::new(service));
    let service = service.clone();
    let judging = service.platform.tasks.clone().spawn_blocking(move || {
        let senders = of(&service).senders.get_or_init(|| Senders::new(&service));
        let outage = service.state.outage.get();
        let expressions = service.state.judging.expressions();
        Facts { routings: &routings, senders, outage, expressions, now }
            .judge(&due, alerts, &silences, notices)
    });
    judging.await.map_err(Error::internal)
}

/// The data that all groups of a round share.
struct Facts<'a> {
    routings: &'a Routings,
    senders: &'a Senders,
    outage: Option<Outage>,
    expressions: &'a Expressions,
    now: Ts,
}

impl Facts<'_> {
    fn judge(
        &self,
        due: &[Due],
        alerts: Vec<Alert>,
        silences: &[(OrgId, String, String)],
        notices: Vec<notification_log::Notice>,
    ) -> Evaluated {
        let mut members: HashMap<GroupKey, Vec<Alert>> = HashMap::new();
        for alert in alerts {
            members.entry((alert.organization_id, alert.group_id.clone())).or_default().push(alert);
        }
        let mut active: HashMap<(OrgId, String), Vec<ActiveSilence>> = HashMap::new();
        let now = Nanos::from_ts(self.now);
        for (tenant, system_key, payload) in silences {
            let silence = read::<StoredSilence>(payload).filter(|s| s.state(now) == SilenceState::Active);
            let in_force = silence.map(|s| ActiveSilence::new(s.id, &s.matchers));
            active.entry((*tenant, system_key.clone())).or_default().extend(in_force);
        }
        let mut by_group: HashMap<GroupKey, Vec<notification_log::Notice>> = HashMap::new();
        for notice in notices {
            by_group.entry(notice.group.clone()).or_default().push(notice);
        }
        let mut evaluated = Evaluated { finished: Vec::new(), to_send: Vec::new() };
        for one in due {
            let members = members.remove(&one.key).unwrap_or_default();
            let notices = by_group.remove(&one.key).unwrap_or_default();
            match self.flush(&one.key, members, &active, &notices) {
                Ok((flush, next)) => evaluated.to_send.push((flush, next)),
                Err(finished) => evaluated.finished.push(finished),
            }
        }
        evaluated
    }

    /// The notifications a group needs, or that it needs none.
    fn flush(
        &self,
        key: &GroupKey,
        members: Vec<Alert>,
        silences: &HashMap<(OrgId, String), Vec<ActiveSilence>>,
        notices: &[notification_log::Notice],
    ) -> std::result::Result<(GroupSend, Ts), Finished> {
        let nothing = |leaving, wait| Finished {
            key: key.clone(),
            started_at: None,
            leaving,
            is_misplaced: false,
            due_at: Some(self.now.plus(wait)),
        };
        let system_key = members.first().map(|m| m.system_key.clone()).unwrap_or_default();
        let revisions: HashMap<String, i64> =
            members.iter().map(|m| (m.fingerprint.clone(), m.revision)).collect();
        let bytes = members.iter().map(|m| m.payload.len()).sum();
        let alerts: Vec<StoredAlert> = members.iter().filter_map(|m| read(&m.payload)).collect();
        let routing = self.routings.get(&key.0);
        let to = alerts.first().zip(routing).and_then(|(first, r)| {
            Some((first, r.destination(&first.labels)?)).filter(|(first, to)| id_in(to, first) == key.1)
        });
        // A group without alerts ends; a group of another configuration is made again.
        let Some((first, to)) = to else {
            return Err(Finished { is_misplaced: true, ..nothing(Vec::new(), Duration::ZERO) });
        };
        let group_labels = to.group_labels(&first.labels);
        let now = Nanos::from_ts(self.now);
        let own = silences.get(&(key.0, system_key)).map_or(&[][..], Vec::as_slice);
        let snapshot = Snapshot::take(alerts, (own, self.expressions), now, self.outage);
        let leaving: Vec<(String, i64)> = snapshot
            .ended
            .iter()
            .filter_map(|f| revisions.get(&f.to_string()).map(|r| (f.to_string(), *r)))
            .collect();
        let receiver = routing.and_then(|r| r.plan.receiver(&to.receiver));
        let reachable = receiver.map(|r| self.senders.reachable(&r.recipients)).unwrap_or_default();
        let since = self.now.minus(notify::kept_for(to.repeat_interval));
        let reason = |one: &AnyRecipient| {
            let integration = digest_of(one);
            let entry = notices
                .iter()
                .find(|n| n.integration == integration && n.receiver == to.receiver && n.told_at >= since)
                .map(entry);
            decide(entry.as_ref(), &snapshot, now, to.repeat_interval)
        };
        let to_notify: Vec<_> =
            reachable.into_iter().filter_map(|one| reason(&one).map(|reason| (one, reason))).collect();
        if to_notify.is_empty() {
            return Err(nothing(leaving, to.group_interval));
        }
        let flush = GroupSend {
            key: key.clone(),
            started_at: self.now,
            group_key: to.group_key(&group_labels),
            group_labels,
            receiver: to.receiver.clone(),
            snapshot,
            to_notify,
            leaving,
            patience: patience(to.group_interval),
            bytes,
            texts: RenderCache::default(),
        };
        Ok((flush, self.now.plus(to.group_interval)))
    }
}

fn entry(notice: &notification_log::Notice) -> SentNotification {
    SentNotification {
        firing: SentNotification::read(&notice.firing),
        resolved: SentNotification::read(&notice.resolved),
        at: Some(Nanos::from_ts(notice.told_at)),
    }
}
