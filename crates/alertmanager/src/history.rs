//! The rules of the alert history (spec: alert-management#history): one row for each occurrence of an alert.
//!
//! Pure: the relevant rows of one alert go in ([`Occurrences`]), the events are applied in order, and the changed rows
//! come out. The caller that stores them locks the tenant meanwhile, so that no other process changes the same rows.

use crate::Labels;
use bailiwick_domain::Ts;

/// State of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not over.
    Firing,
    /// Over.
    Resolved,
}

impl Status {
    /// Its word in rows and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Firing => "firing",
            Status::Resolved => "resolved",
        }
    }

    /// From its word.
    pub fn parse(word: &str) -> Option<Status> {
        [Status::Firing, Status::Resolved].into_iter().find(|s| s.as_str() == word)
    }
}

/// One occurrence of an alert, without its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Number of its row; none: not stored yet.
    pub id: Option<i64>,
    /// State.
    pub status: Status,
    /// Start; with tenant and fingerprint the key of the row.
    pub starts_at: Ts,
    /// End; none while it fires, or when no end was reported.
    pub ends_at: Option<Ts>,
    /// While it fires, when it ends by itself.
    pub expires_at: Option<Ts>,
    /// The receiver that was notified, if the router has reported it.
    pub receiver: Option<String>,
    /// When the row was made; once it is resolved, when the resolution was received.
    pub created_at: Ts,
}

/// An event of an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertEvent {
    /// When.
    pub at: Ts,
    /// The kind of event.
    pub what: AlertEventKind,
    /// Its annotations.
    pub annotations: Labels,
}

/// The kind of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlertEventKind {
    /// It fires.
    Firing {
        /// Start, if the sender gave one.
        start: Option<Ts>,
        /// When it ends unless it is refreshed.
        until: Ts,
    },
    /// It is over.
    Resolved {
        /// Start, if the sender gave one.
        start: Option<Ts>,
        /// End.
        end: Ts,
    },
    /// The alert is over, and the router has notified a receiver (spec: alerts#history-webhook).
    Delivered {
        /// Start; none when the router gave the zero time.
        start: Option<Ts>,
        /// End; none when the router gave the zero time.
        end: Option<Ts>,
        /// The receiver; it keeps milliseconds only.
        receiver: String,
    },
}

impl AlertEvent {
    /// The range of starts (the second excluded) of occurrences, besides the open one, that this event may concern.
    pub fn start_range(&self) -> Option<(Ts, Ts)> {
        match self.what {
            AlertEventKind::Firing { start, .. } => Some(start.unwrap_or(self.at)).map(|s| (s, Ts(s.0 + 1))),
            AlertEventKind::Resolved { start, .. } => start.map(|s| (s, Ts(s.0 + 1))),
            AlertEventKind::Delivered { start, end, .. } => {
                let start = start.or(end).unwrap_or(self.at);
                Some((Ts(start.millis() * 1000), Ts(start.millis() * 1000 + 1000)))
            }
        }
    }
}

impl AlertEventKind {
    /// The latest start of the occurrences that this event may concern besides those of [`AlertEvent::start_range`].
    pub const fn began_by(&self) -> Option<Ts> {
        match self {
            AlertEventKind::Resolved { start: Some(_), end } => Some(*end),
            AlertEventKind::Delivered { start, end: Some(end), .. } if says_no_start(*start, *end) => {
                Some(*end)
            }
            _ => None,
        }
    }
}

/// A router that received an end and no start uses the end as the start, each time again. So its report of such an
/// alert does not say when the alert began.
const fn says_no_start(start: Option<Ts>, end: Ts) -> bool {
    match start {
        Some(start) => start.0 == end.0,
        None => true,
    }
}

/// A row and the changes to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// As it is now.
    pub row: Occurrence,
    /// As it was stored.
    pub stored: Option<Occurrence>,
    /// New texts; none keeps the stored ones.
    pub annotations: Option<Labels>,
}

impl Kept {
    /// Whether there is something to write.
    pub fn is_changed(&self) -> bool {
        self.annotations.is_some() || self.stored.as_ref() != Some(&self.row)
    }
}

/// The relevant rows of one alert: the open one, those with a start in the given range, and the last one that began by
/// the given end.
#[derive(Clone, Debug, Default)]
pub struct Occurrences(Vec<Kept>);

impl Occurrences {
    /// From stored rows; one given twice counts once.
    pub fn new(stored: impl IntoIterator<Item = Occurrence>) -> Occurrences {
        let mut occurrences: Vec<Kept> = Vec::new();
        for row in stored {
            if occurrences.iter().all(|k| k.row.id != row.id) {
                occurrences.push(Kept { stored: Some(row.clone()), row, annotations: None });
            }
        }
        Occurrences(occurrences)
    }

    /// Applies an event.
    pub fn apply(&mut self, event: AlertEvent) {
        let started = event.start_range().and_then(|range| self.started(range));
        let AlertEvent { at, what, annotations } = event;
        if let (AlertEventKind::Firing { start: Some(start), .. }, Some(open)) = (&what, self.open()) {
            let open = &mut self.0[open].row;
            if open.has_expired_before(*start) {
                open.ends(open.expires_at, at);
            }
        }
        match (what, self.open()) {
            (AlertEventKind::Firing { start, until }, Some(open)) => {
                let open = &mut self.0[open];
                if let Some(earlier) = start.filter(|s| *s < open.row.starts_at && started.is_none()) {
                    open.row.starts_at = earlier;
                }
                open.row.expires_at = Some(until);
                open.annotations = Some(annotations);
            }
            (AlertEventKind::Firing { start, until }, None) => match started {
                Some(same) => self.0[same].goes_on(at, until, annotations),
                None => {
                    let start = start.unwrap_or(at);
                    self.add(Status::Firing, (start, None), Some(until), at, annotations);
                }
            },
            (AlertEventKind::Resolved { end, .. }, Some(open)) => self.0[open].row.ends(Some(end), at),
            (AlertEventKind::Resolved { start: Some(start), end }, None) => {
                match started.or_else(|| self.during((start, end))) {
                    Some(same) => self.0[same].row.ends_later(Some(end)),
                    None => self.add(Status::Resolved, (start, Some(end)), None, at, annotations),
                }
            }
            (AlertEventKind::Resolved { start: None, .. }, None) => {}
            (AlertEventKind::Delivered { start, end, receiver }, open) => {
                let told_until = end.unwrap_or(at);
                // A row that began after the reported end is another occurrence.
                let open = open.filter(|open| self.0[*open].row.starts_at <= told_until);
                let same = || {
                    let end = end.filter(|end| says_no_start(start, *end))?;
                    self.during((end, end))
                };
                let index = started.or(open).or_else(same).unwrap_or_else(|| {
                    let start = start.unwrap_or(told_until);
                    self.add(Status::Resolved, (start, end), None, at, annotations);
                    self.0.len() - 1
                });
                let row = &mut self.0[index].row;
                match row.status {
                    Status::Firing => row.ends(end, at),
                    Status::Resolved => row.ends_later(end),
                }
                row.receiver = Some(receiver);
            }
        }
    }

    /// The rows to be written.
    pub fn into_changed(self) -> impl Iterator<Item = Kept> {
        self.0.into_iter().filter(Kept::is_changed)
    }

    /// Whether an occurrence has ended since it was stored: the one that fired, or one that is new and over already.
    pub fn is_over(&self) -> bool {
        let has_ended = |k: &Kept| {
            let fired = k.stored.as_ref().is_some_and(|s| s.status == Status::Firing);
            fired && k.row.status == Status::Resolved
        };
        let was_over = |k: &Kept| k.stored.as_ref().is_some_and(|s| s.status == Status::Resolved);
        let is_over = self.0.iter().all(|k| k.row.status == Status::Resolved);
        self.0.iter().any(has_ended) || is_over && !self.0.iter().all(was_over)
    }

    fn open(&self) -> Option<usize> {
        self.0.iter().position(|k| k.row.status == Status::Firing)
    }

    fn started(&self, (from, before): (Ts, Ts)) -> Option<usize> {
        self.0.iter().position(|k| k.row.starts_at >= from && k.row.starts_at < before)
    }

    /// The last occurrence that ended after the first of these times and began by the second: a sender that repeats an
    /// end may no longer know the start.
    fn during(&self, (start, end): (Ts, Ts)) -> Option<usize> {
        let overlaps = |row: &Occurrence| row.starts_at <= end && row.ends_at.is_none_or(|e| e >= start);
        let all = self.0.iter().enumerate().filter(|(_, k)| overlaps(&k.row));
        all.max_by_key(|(_, k)| k.row.starts_at).map(|(index, _)| index)
    }

    fn add(
        &mut self,
        status: Status,
        (starts_at, ends_at): (Ts, Option<Ts>),
        expires_at: Option<Ts>,
        created_at: Ts,
        annotations: Labels,
    ) {
        let row = Occurrence { id: None, status, starts_at, ends_at, expires_at, receiver: None, created_at };
        self.0.push(Kept { row, stored: None, annotations: Some(annotations) });
    }
}

impl Occurrence {
    /// Whether this occurrence still fires but expired before `start`. An alert with that start is a new occurrence.
    pub fn has_expired_before(&self, start: Ts) -> bool {
        self.status == Status::Firing && self.expires_at.is_some_and(|expiry| expiry < start)
    }

    /// Ends, but not before its start, whatever the sender's clock says.
    fn ends(&mut self, end: Option<Ts>, at: Ts) {
        self.status = Status::Resolved;
        self.ends_at = end.map(|end| end.max(self.starts_at));
        self.expires_at = None;
        self.created_at = at;
    }

    /// Already over; of two ends the later one counts.
    fn ends_later(&mut self, end: Option<Ts>) {
        self.ends_at = self.ends_at.max(end);
    }
}

impl Kept {
    /// The same occurrence still fires: its end was only assumed.
    fn goes_on(&mut self, at: Ts, until: Ts, annotations: Labels) {
        // An event from before the row's end that another process has reported late.
        if self.row.created_at > at {
            return;
        }
        self.row.status = Status::Firing;
        self.row.ends_at = None;
        self.row.expires_at = Some(until);
        self.row.created_at = at;
        self.annotations = Some(annotations);
    }
}

/// The text about an alert that lists show.
pub fn summary(annotations: &Labels) -> Option<&str> {
    ["summary", "summary_en"].into_iter().find_map(|name| annotations.get(name).filter(|v| !v.is_empty()))
}

#[cfg(test)]
mod tests;
