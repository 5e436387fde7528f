//! What happens when: an endless fleet cut at the end of the run. The same seed gives the same events.
//!
//! Each kind is a number of subjects that do the same thing once in each period: subject `s` for the `n`th time at its own
//! phase + `n` periods, up to a twentieth of a period earlier or later. The times depend on nothing that the service does.

use crate::random::below;
use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

/// What a system or a person does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// A system says that it lives.
    Heartbeat,
    /// A system sends its inventory.
    Inventory,
    /// A system posts its alerts: for the first time, once more, or resolved.
    Alert,
    /// A system reads its own alerts.
    OwnAlerts,
    /// A system comes back on a connection of its own and asks what it is; a heartbeat follows.
    Restart,
    /// A new system registers; its first heartbeat and its first inventory follow.
    Registration,
    /// A person opens a list.
    List,
    /// A person searches.
    Search,
    /// A person's page of alerts asks again.
    Watch,
}

impl Kind {
    pub(crate) const ALL: [Kind; 9] = [
        Kind::Heartbeat,
        Kind::Inventory,
        Kind::Alert,
        Kind::OwnAlerts,
        Kind::Restart,
        Kind::Registration,
        Kind::List,
        Kind::Search,
        Kind::Watch,
    ];

    /// The word of options and reports.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Kind::Heartbeat => "heartbeat",
            Kind::Inventory => "inventory",
            Kind::Alert => "alert",
            Kind::OwnAlerts => "own-alerts",
            Kind::Restart => "restart",
            Kind::Registration => "registration",
            Kind::List => "list",
            Kind::Search => "search",
            Kind::Watch => "watch",
        }
    }

    pub(crate) fn of(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    /// Microseconds after the start.
    pub due: u64,
    pub kind: Kind,
    /// The number of the system, person or source among those of its kind.
    pub subject: u32,
    /// How often the subject has done it before.
    pub turn: u32,
}

/// The fleet as the schedule sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub systems: u32,
    /// Systems that have alerts.
    pub alerting: u32,
    /// People who have a page open.
    pub people: u32,
}

/// Subjects that do something, and how often each does it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stream {
    pub kind: Kind,
    pub subjects: u32,
    pub period: Duration,
}

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// The rare kinds happen at least this often in a whole fleet, so that a short run with a small fleet has them.
const RARE: Duration = Duration::from_secs(5);

/// What a fleet of this size does by itself.
pub(crate) fn streams(size: Size) -> Vec<Stream> {
    let Size { systems, alerting, people } = size;
    // One source for the fleet: each system once in `days`, but no more rarely than `RARE`.
    let rare = |kind, days| {
        let period = (DAY * days).checked_div(systems).unwrap_or(RARE).min(RARE);
        Stream { kind, subjects: u32::from(systems > 0), period }
    };
    let each = |kind, subjects, period| Stream { kind, subjects, period };
    vec![
        each(Kind::Heartbeat, systems, MINUTE),
        each(Kind::Inventory, systems, DAY),
        each(Kind::Alert, alerting, MINUTE),
        each(Kind::OwnAlerts, alerting, MINUTE),
        rare(Kind::Restart, 7),
        rare(Kind::Registration, 30),
        each(Kind::List, people, Duration::from_secs(30)),
        each(Kind::Search, people, MINUTE),
        each(Kind::Watch, people, Duration::from_secs(20)),
    ]
}

/// How much faster than by itself a kind goes: the factor of the run times the share of the kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pace {
    pub speed: f64,
    /// Shares of kinds; the others have 1. A share of 0 leaves a kind out.
    pub shares: Vec<(Kind, f64)>,
}

impl Pace {
    /// The streams at this pace.
    pub(crate) fn of(&self, streams: Vec<Stream>) -> Vec<Stream> {
        let share = |kind| self.shares.iter().find(|(k, _)| *k == kind).map_or(1.0, |(_, share)| *share);
        streams
            .into_iter()
            .filter(|stream| stream.subjects > 0 && share(stream.kind) > 0.0)
            .map(|stream| {
                let period = stream.period.as_secs_f64() / (self.speed * share(stream.kind));
                Stream { period: Duration::from_secs_f64(period.min(1e9)), ..stream }
            })
            .collect()
    }
}

/// The events in the order in which they are due.
#[derive(Debug)]
pub(crate) struct Schedule {
    seed: u64,
    end: u64,
    streams: Vec<Stream>,
    /// The next event of each subject, with its stream.
    next: BinaryHeap<Reverse<(Event, usize)>>,
}

impl Schedule {
    pub(crate) fn new(seed: u64, streams: Vec<Stream>, length: Duration) -> Schedule {
        let end = micros(length);
        let mut schedule = Schedule { seed, end, streams, next: BinaryHeap::new() };
        for at in 0..schedule.streams.len() {
            for subject in 0..schedule.streams[at].subjects {
                schedule.plan(at, subject, 0);
            }
        }
        schedule
    }

    fn plan(&mut self, at: usize, subject: u32, turn: u32) {
        let Stream { kind, period, .. } = self.streams[at];
        let period = micros(period).max(1);
        let words = |turn: u64| [self.seed, kind as u64, u64::from(subject), turn];
        // The first time of a subject is in the period that begins just before the run, so that no moment has fewer or more.
        let phase = below(period, &words(u64::MAX));
        let late = below(period / 10 + 1, &words(u64::from(turn)));
        let Some(due) = (phase + late + period * u64::from(turn)).checked_sub(period / 10) else {
            return self.plan(at, subject, turn + 1);
        };
        if due < self.end {
            self.next.push(Reverse((Event { due, kind, subject, turn }, at)));
        }
    }
}

impl Iterator for Schedule {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let Reverse((event, at)) = self.next.pop()?;
        self.plan(at, event.subject, event.turn + 1);
        Some(event)
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    const SIZE: Size = Size { systems: 6_000, alerting: 12, people: 10 };
    const REAL: Pace = Pace { speed: 1.0, shares: Vec::new() };

    fn events(seed: u64, pace: &Pace, seconds: u64) -> Vec<Event> {
        Schedule::new(seed, pace.of(streams(SIZE)), Duration::from_secs(seconds)).collect()
    }

    fn count(events: &[Event], kind: Kind) -> usize {
        events.iter().filter(|e| e.kind == kind).count()
    }

    /// Whether a number is so near to what is expected of it.
    fn near(counted: usize, expected: f64) -> bool {
        (counted as f64 - expected).abs() <= 4.0 * expected.sqrt() + 1.0
    }

    #[test]
    fn rates_are_those_of_the_fleet() {
        let events = events(1, &REAL, 300);
        for (kind, expected) in [
            (Kind::Heartbeat, 6_000.0 * 5.0),
            (Kind::Inventory, 6_000.0 * 300.0 / 86_400.0),
            (Kind::Alert, 12.0 * 5.0),
            (Kind::OwnAlerts, 12.0 * 5.0),
            (Kind::Restart, 60.0),
            (Kind::Registration, 60.0),
            (Kind::List, 100.0),
            (Kind::Search, 50.0),
            (Kind::Watch, 150.0),
        ] {
            assert!(near(count(&events, kind), expected), "{kind:?}: {}", count(&events, kind));
        }
        let by_second = |from: u64| {
            let span = from * 1_000_000..(from + 1) * 1_000_000;
            events.iter().filter(|e| e.kind == Kind::Heartbeat && span.contains(&e.due)).count()
        };
        assert!(
            (1..299).all(|second| near(by_second(second), 100.0)),
            "no second has much more than its share"
        );
    }

    #[test]
    fn rare_kinds_follow_the_size_of_a_large_fleet() {
        let large = streams(Size { systems: 1_000_000, alerting: 2_000, people: 1_000 });
        let period = |kind| large.iter().find(|s| s.kind == kind).unwrap().period.as_secs_f64();
        assert!((period(Kind::Restart) - 7.0 * 86_400.0 / 1e6).abs() < 1e-6);
        assert!((period(Kind::Registration) - 30.0 * 86_400.0 / 1e6).abs() < 1e-6);
    }

    #[test]
    fn each_system_keeps_its_period_with_jitter() {
        let mut last: HashMap<u32, Event> = HashMap::new();
        let mut gaps = Vec::new();
        for event in events(1, &REAL, 300).into_iter().filter(|e| e.kind == Kind::Heartbeat) {
            if let Some(before) = last.insert(event.subject, event) {
                assert_eq!(event.turn, before.turn + 1);
                gaps.push(event.due - before.due);
            }
        }
        assert!(gaps.iter().all(|gap| (54_000_000..=66_000_000).contains(gap)));
        let mean = gaps.iter().sum::<u64>() / gaps.len() as u64;
        assert!((59_900_000..60_100_000).contains(&mean), "{mean}");
        gaps.sort_unstable();
        gaps.dedup();
        assert!(gaps.len() > 10_000, "the gaps differ");
    }

    #[test]
    fn events_come_in_order_within_the_run_and_a_seed_reproduces_them() {
        let first = events(1, &REAL, 60);
        assert!(first.is_sorted() && first.iter().all(|e| e.due < 60_000_000));
        assert_eq!(first, events(1, &REAL, 60));
        assert_ne!(first, events(2, &REAL, 60));
    }

    #[test]
    fn speed_and_shares_change_the_rates() {
        let pace = Pace { speed: 10.0, shares: vec![(Kind::Heartbeat, 0.1), (Kind::Search, 0.0)] };
        let events = events(1, &pace, 60);
        assert!(near(count(&events, Kind::Heartbeat), 6_000.0));
        assert!(near(count(&events, Kind::Inventory), 6_000.0 / 144.0));
        assert_eq!(count(&events, Kind::Search), 0);
        assert!(near(count(&events, Kind::Watch), 300.0));
    }

    #[test]
    fn words_name_their_kinds() {
        assert!(Kind::ALL.into_iter().all(|kind| Kind::of(kind.word()) == Some(kind)));
        assert_eq!(Kind::of("others"), None);
    }
}
