//! What the service has acknowledged, and what of it is missing.

use crate::answers::Seen;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

/// How a request ended for its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Acknowledged; what was sent must be found again.
    Acknowledged,
    /// Refused, or never sent: it must have had no effect.
    Refused,
    /// No answer, or one of the service's faults: it may have had its effect or not.
    Doubtful,
}

/// Everything that was acknowledged. Systems by their numbers in the world.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// The newest acknowledged heartbeat of each system in microseconds; 0 is none.
    heartbeats: Vec<AtomicI64>,
    documents: Mutex<HashMap<usize, Documents>>,
    registrations: Mutex<Vec<usize>>,
}

/// The inventories of one system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Documents {
    /// Times of receipt in microseconds, with the revision that was sent.
    acknowledged: Vec<(i64, u32)>,
    /// Whether others may have arrived as well.
    is_doubtful: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger {
    pub(crate) fn new(systems: usize) -> Ledger {
        Ledger {
            heartbeats: (0..systems).map(|_| AtomicI64::new(0)).collect(),
            documents: Mutex::default(),
            registrations: Mutex::default(),
        }
    }

    /// A heartbeat was acknowledged with this time.
    pub(crate) fn heard(&self, system: usize, time: i64) {
        self.heartbeats[system].fetch_max(time, Ordering::Relaxed);
    }

    /// A document was acknowledged with this time of receipt, or may have arrived.
    pub(crate) fn documented(&self, system: usize, revision: u32, receipt: Option<i64>) {
        let mut documents = lock(&self.documents);
        let documents = documents.entry(system).or_default();
        match receipt {
            Some(time) => documents.acknowledged.push((time, revision)),
            None => documents.is_doubtful = true,
        }
    }

    /// A registration was acknowledged.
    pub(crate) fn registered(&self, system: usize) {
        lock(&self.registrations).push(system);
    }

    /// Systems with acknowledged heartbeats, and the newest of each.
    pub(crate) fn heartbeats(&self) -> Vec<(usize, i64)> {
        let times = self.heartbeats.iter().map(|time| time.load(Ordering::Relaxed));
        times.enumerate().filter(|(_, time)| *time != 0).collect()
    }

    /// Systems with acknowledged documents.
    pub(crate) fn documents(&self) -> Vec<(usize, Documents)> {
        let documents = lock(&self.documents);
        let known = documents.iter().filter(|(_, documents)| !documents.acknowledged.is_empty());
        let ordered: BTreeMap<_, _> = known.map(|(system, documents)| (*system, documents.clone())).collect();
        ordered.into_iter().collect()
    }

    /// Systems whose registration was acknowledged.
    pub(crate) fn registrations(&self) -> Vec<usize> {
        lock(&self.registrations).clone()
    }
}

/// What is missing of a heartbeat.
pub(crate) fn missing_heartbeat(acknowledged: i64, found: Option<i64>) -> Option<String> {
    match found {
        Some(found) if found >= acknowledged => None,
        Some(found) => Some(format!("the last heartbeat is {} ms older", (acknowledged - found) / 1000)),
        None => Some("there is no heartbeat".to_owned()),
    }
}

impl Documents {
    /// How many were acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.len() as u64
    }

    /// What is wrong with these records: the newest first, as their times and revisions. Equal documents in a row share a
    /// record, which has the time of the last of them. Revisions only grow, so each has one record, unless a document without
    /// an answer has arrived late.
    pub(crate) fn missing(&self, records: &[(i64, Option<u32>)]) -> Option<String> {
        let has = |revision| records.iter().any(|(_, found)| *found == Some(revision));
        if let Some((_, revision)) = self.acknowledged.iter().find(|(_, revision)| !has(*revision)) {
            return Some(format!("there is no record of revision {revision}"));
        }
        let mut seen = HashSet::new();
        let again =
            records.iter().filter_map(|(_, revision)| *revision).find(|revision| !seen.insert(*revision));
        if let Some(revision) = again.filter(|_| !self.is_doubtful) {
            return Some(format!("there are two records of revision {revision}"));
        }
        let (time, revision) = self.acknowledged.iter().max()?;
        let newest = records.iter().max();
        match newest {
            Some((found, _)) if found < time => {
                Some(format!("the newest record is {} ms older than a document", (time - found) / 1000))
            }
            Some((_, found)) if *found != Some(*revision) && !self.is_doubtful => {
                Some(format!("the newest record is of revision {found:?}, not {revision}"))
            }
            Some(_) => None,
            None => Some("there is no record".to_owned()),
        }
    }
}

/// The alerts of one system: all of them fire, repeat and resolve together, again and again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Alerts {
    outages: Vec<Outage>,
}

/// From the first post of the alerts to their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outage {
    number: u32,
    /// In milliseconds, which is what posts carry.
    starts_at: i64,
    is_acknowledged: bool,
    is_end_sent: bool,
    is_end_acknowledged: bool,
    is_doubtful: bool,
}

impl Alerts {
    /// The start of outage number `number` in milliseconds; `now` when it begins with this post.
    pub(crate) fn begin(&mut self, number: u32, now: i64) -> i64 {
        if let Some(last) = self.outages.last().filter(|last| last.number == number) {
            return last.starts_at;
        }
        self.outages.push(Outage {
            number,
            starts_at: now,
            is_acknowledged: false,
            is_end_sent: false,
            is_end_acknowledged: false,
            is_doubtful: false,
        });
        now
    }

    /// How the last post of the present outage ended.
    pub(crate) fn posted(&mut self, is_end: bool, fate: Fate) {
        let Some(outage) = self.outages.last_mut() else { return };
        outage.is_end_sent |= is_end && fate != Fate::Refused;
        match fate {
            Fate::Acknowledged if is_end => outage.is_end_acknowledged = true,
            Fate::Acknowledged => outage.is_acknowledged = true,
            Fate::Doubtful => outage.is_doubtful = true,
            Fate::Refused => {}
        }
    }

    /// How many outages were acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.outages.iter().filter(|outage| outage.is_acknowledged).count() as u64
    }

    /// Outages that must be in the history: begun and ended, with no doubt about them or about the one before. If the end
    /// of that one was refused, both are one to the service.
    fn ended(&self) -> impl Iterator<Item = &Outage> {
        let before = std::iter::once(None).chain(self.outages.iter().map(Some));
        let is_clear = |before: Option<&Outage>| {
            before.is_none_or(|b| !b.is_doubtful && (b.is_end_acknowledged || !b.is_acknowledged))
        };
        self.outages.iter().zip(before).filter_map(move |(outage, before)| {
            let is_whole = outage.is_acknowledged && outage.is_end_acknowledged && !outage.is_doubtful;
            (is_whole && is_clear(before)).then_some(outage)
        })
    }

    /// Whether the history is needed to say what is missing.
    pub(crate) fn has_history(&self) -> bool {
        self.ended().next().is_some()
    }

    /// What is missing, of alerts with these names, among the active ones and the resolved ones.
    pub(crate) fn missing(&self, names: &[&str], active: &[Seen], history: &[Seen]) -> Option<String> {
        for name in names {
            let is_active = active.iter().any(|(found, _)| found == name);
            if let Some(last) = self.outages.last().filter(|last| !last.is_doubtful) {
                if last.is_acknowledged && !last.is_end_sent && !is_active {
                    return Some(format!("{name} fires no more"));
                }
                if last.is_end_acknowledged && is_active {
                    return Some(format!("{name} fires still"));
                }
            }
            for Outage { number, starts_at, .. } in self.ended() {
                if !history.iter().any(|(found, start)| found == name && start / 1000 == *starts_at) {
                    return Some(format!("outage {number} of {name} is not in the history"));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_heartbeat_must_be_found() {
        let ledger = Ledger::new(3);
        for time in [5_000, 9_000, 7_000] {
            ledger.heard(1, time);
        }
        assert_eq!(ledger.heartbeats(), [(1, 9_000)]);
        assert_eq!(missing_heartbeat(9_000, Some(9_000)), None);
        assert_eq!(missing_heartbeat(9_000, Some(9_001)), None);
        assert!(missing_heartbeat(9_000, Some(8_999)).is_some());
        assert!(missing_heartbeat(9_000, None).is_some());
    }

    #[test]
    fn every_acknowledged_document_must_be_found() {
        let ledger = Ledger::new(3);
        for (time, revision) in [(10, 0), (20, 0), (30, 1)] {
            ledger.documented(2, revision, Some(time));
        }
        let documents = ledger.documents().remove(0).1;
        assert_eq!(documents.acknowledged(), 3);
        assert_eq!(documents.missing(&[(30, Some(1)), (20, Some(0))]), None);
        assert_eq!(documents.missing(&[(31, Some(1)), (20, Some(0)), (5, None)]), None);
        let lost = |records: &[(i64, Option<u32>)]| documents.missing(records).is_some();
        assert!(lost(&[]), "everything");
        assert!(lost(&[(30, Some(1))]), "the first revision");
        assert!(lost(&[(20, Some(0))]), "the second one");
        assert!(lost(&[(29, Some(1)), (20, Some(0))]), "the last time");
        assert!(lost(&[(40, Some(0)), (30, Some(1))]), "another one is the newest");
        assert!(lost(&[(30, Some(1)), (20, Some(0)), (10, Some(0))]), "one of them twice");
    }

    #[test]
    fn documents_without_an_answer_may_be_there_or_not() {
        let ledger = Ledger::new(1);
        ledger.documented(0, 0, None);
        assert_eq!(ledger.documents(), [], "nothing was acknowledged");
        ledger.documented(0, 0, Some(10));
        let documents = ledger.documents().remove(0).1;
        assert_eq!(documents.missing(&[(10, Some(0))]), None);
        assert_eq!(documents.missing(&[(20, Some(1)), (10, Some(0))]), None);
        assert!(documents.missing(&[(20, Some(1))]).is_some());
    }

    /// A system's posts: outage, whether the end, how it went.
    fn alerts(posts: &[(u32, bool, Fate)]) -> Alerts {
        let mut alerts = Alerts::default();
        for (number, is_end, fate) in posts {
            alerts.begin(*number, i64::from(*number) * 100);
            alerts.posted(*is_end, *fate);
        }
        alerts
    }

    fn seen(starts: &[i64]) -> Vec<Seen> {
        starts.iter().map(|ms| ("SwapFull".to_owned(), ms * 1000)).collect()
    }

    #[test]
    fn acknowledged_alerts_fire_until_their_end_and_are_in_the_history_then() {
        use Fate::Acknowledged as Yes;
        let missing = |alerts: &Alerts, active: &[i64], history: &[i64]| {
            alerts.missing(&["SwapFull"], &seen(active), &seen(history)).is_some()
        };
        let firing = alerts(&[(1, false, Yes), (1, false, Yes)]);
        assert!(!firing.has_history() && !missing(&firing, &[100], &[]));
        assert!(missing(&firing, &[], &[100]));
        let ended = alerts(&[(1, false, Yes), (1, true, Yes)]);
        assert!(ended.has_history() && !missing(&ended, &[], &[100]));
        assert!(missing(&ended, &[100], &[100]), "it fires still");
        assert!(missing(&ended, &[], &[200]), "not in the history");
        let again = alerts(&[(1, false, Yes), (1, true, Yes), (2, false, Yes)]);
        assert!(!missing(&again, &[200], &[100]));
        assert!(missing(&again, &[], &[100]) && missing(&again, &[200], &[]));
        assert_eq!(again.acknowledged(), 2);
        assert!(again.missing(&["SwapFull", "HighCpuUsage"], &seen(&[200]), &seen(&[100])).is_some());
    }

    #[test]
    fn doubt_about_a_post_demands_nothing() {
        use Fate::{Acknowledged as Yes, Doubtful, Refused as No};
        let demands = |posts: &[(u32, bool, Fate)]| {
            let alerts = alerts(posts);
            let nothing = alerts.missing(&["SwapFull"], &[], &[]).is_some();
            let fires = alerts.missing(&["SwapFull"], &seen(&[100, 200]), &seen(&[100, 200])).is_some();
            (nothing, fires)
        };
        assert_eq!(demands(&[(1, false, No)]), (false, false));
        assert_eq!(demands(&[(1, false, Doubtful)]), (false, false));
        assert_eq!(demands(&[(1, false, Yes), (1, true, Doubtful)]), (false, false));
        assert_eq!(demands(&[(1, false, Yes), (1, true, No)]), (true, false), "it goes on");
        let after_doubt = [(1, false, Yes), (1, true, Doubtful), (2, false, Yes), (2, true, Yes)];
        assert!(!alerts(&after_doubt).has_history());
        let after_refusal = [(1, false, Yes), (1, true, No), (2, false, Yes), (2, true, Yes)];
        assert!(!alerts(&after_refusal).has_history());
    }
}
