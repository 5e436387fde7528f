//! Times and errors by kind.

use crate::{answers::Wrong, schedule::Kind};
use hdrhistogram::Histogram;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Longer times count as this.
const LONGEST: Duration = Duration::from_secs(600);
/// So many findings are kept as texts.
const FINDINGS: usize = 20;

/// Everything that is counted during a run.
#[derive(Debug)]
pub(crate) struct Measures {
    kinds: Vec<Mutex<OfKind>>,
    findings: Mutex<Findings>,
}

/// The figures of one kind.
#[derive(Clone, Debug)]
pub(crate) struct OfKind {
    /// Due in the run.
    pub due: u64,
    /// Never sent: the service was too far behind.
    pub unsent: u64,
    /// Answered with success.
    pub good: u64,
    /// Microseconds from the moment it was due to the end of the answer, or of the patience.
    pub since_due: Histogram<u64>,
    /// Microseconds from the moment of sending.
    pub since_sent: Histogram<u64>,
    /// By a status, or a word for what went wrong.
    pub errors: BTreeMap<String, u64>,
}

/// Answers that should not have been given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    /// Answers with foreign data.
    pub foreign: u64,
    /// Texts about the first ones.
    pub texts: Vec<String>,
    /// Rows of lists that were the asker's own.
    pub own_rows: u64,
    /// Rows of organizations that the file of credentials does not name.
    pub unknown_rows: u64,
}

fn with<T, R>(mutex: &Mutex<T>, act: impl FnOnce(&mut T) -> R) -> R {
    act(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

fn histogram() -> Result<Histogram<u64>, String> {
    let longest = u64::try_from(LONGEST.as_micros()).unwrap_or(u64::MAX);
    Histogram::new_with_bounds(1, longest, 3).map_err(|why| why.to_string())
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Measures {
    /// # Errors
    /// None with these bounds.
    pub(crate) fn new() -> Result<Measures, String> {
        let of_kind = || {
            Ok(Mutex::new(OfKind {
                due: 0,
                unsent: 0,
                good: 0,
                since_due: histogram()?,
                since_sent: histogram()?,
                errors: BTreeMap::new(),
            }))
        };
        let kinds = Kind::ALL.iter().map(|_| of_kind()).collect::<Result<_, String>>()?;
        Ok(Measures { kinds, findings: Mutex::default() })
    }

    fn of(&self, kind: Kind) -> &Mutex<OfKind> {
        &self.kinds[kind as usize]
    }

    pub(crate) fn due(&self, kind: Kind) {
        with(self.of(kind), |of| of.due += 1);
    }

    pub(crate) fn unsent(&self, kind: Kind) {
        with(self.of(kind), |of| of.unsent += 1);
    }

    /// A request has ended; `error` is nothing for a success.
    pub(crate) fn ended(&self, kind: Kind, since_due: Duration, since_sent: Duration, error: Option<String>) {
        with(self.of(kind), |of| {
            of.since_due.saturating_record(micros(since_due));
            of.since_sent.saturating_record(micros(since_sent));
            match error {
                None => of.good += 1,
                Some(error) => *of.errors.entry(error).or_default() += 1,
            }
        });
    }

    /// An answer of success turned out to be wrong.
    pub(crate) fn wrong(&self, kind: Kind, wrong: &Wrong) {
        let word = match wrong {
            Wrong::Unreadable => "unreadable answer",
            Wrong::Foreign(_) => "answer with something of somebody else",
        };
        with(self.of(kind), |of| {
            of.good = of.good.saturating_sub(1);
            *of.errors.entry(word.to_owned()).or_default() += 1;
        });
        if let Wrong::Foreign(text) = wrong {
            self.foreign(text);
        }
    }

    /// Counts an answer with foreign data.
    pub(crate) fn foreign(&self, text: &str) {
        with(&self.findings, |findings| {
            findings.foreign += 1;
            if findings.texts.len() < FINDINGS {
                findings.texts.push(text.to_owned());
            }
        });
    }

    pub(crate) fn rows(&self, own: u64, unknown: u64) {
        with(&self.findings, |findings| {
            findings.own_rows += own;
            findings.unknown_rows += unknown;
        });
    }

    pub(crate) fn findings(&self) -> Findings {
        with(&self.findings, |findings| findings.clone())
    }

    /// The figures of each kind that was due.
    pub(crate) fn kinds(&self) -> Vec<(Kind, OfKind)> {
        let all = Kind::ALL.into_iter().map(|kind| (kind, with(self.of(kind), |of| of.clone())));
        all.filter(|(_, of)| of.due > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_errors_are_counted_by_kind() {
        let measures = Measures::new().unwrap();
        for ms in 1..=100 {
            measures.due(Kind::List);
            let error = (ms == 100).then(|| "503".to_owned());
            measures.ended(Kind::List, Duration::from_millis(ms), Duration::from_millis(1), error);
        }
        measures.ended(Kind::List, Duration::from_secs(10_000), Duration::ZERO, None);
        measures.wrong(Kind::List, &Wrong::Foreign("a row".to_owned()));
        let (kind, of) = measures.kinds().remove(0);
        assert_eq!((kind, of.due, of.good, measures.kinds().len()), (Kind::List, 100, 99, 1));
        assert!((49_900..50_200).contains(&of.since_due.value_at_quantile(0.495)));
        assert!(of.since_due.max() >= 600_000_000, "longer times are not dropped");
        let errors: Vec<_> = of.errors.iter().map(|(what, n)| (what.as_str(), *n)).collect();
        assert_eq!(errors, [("503", 1), ("answer with something of somebody else", 1)]);
        assert_eq!((measures.findings().foreign, measures.findings().texts), (1, vec!["a row".to_owned()]));
    }
}
