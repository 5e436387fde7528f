//! The counters of the service, and the text format in which Prometheus reads them (exposition format 0.0.4).
//!
//! A meter belongs to the part that it measures and is plain atomics: nothing is registered, locked or looked up where
//! it is used. The handler of the metrics page walks through the parts.

use std::{
    fmt::{Display, Write},
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Something that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn one(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// The present count.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// How many there are at the moment.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// One more.
    pub fn raise(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// One less.
    pub fn lower(&self) {
        self.0.fetch_sub(1, Relaxed);
    }

    /// How many there are.
    pub fn get(&self) -> i64 {
        self.0.load(Relaxed)
    }
}

/// Upper bounds of answers' times.
pub const ANSWERS: [Duration; 14] =
    milliseconds([1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000]);

/// Upper bounds of waits inside the process.
pub const WAITS: [Duration; 8] = milliseconds([1, 5, 10, 50, 100, 500, 1000, 5000]);

const fn milliseconds<const N: usize>(list: [u64; N]) -> [Duration; N] {
    let mut bounds = [Duration::ZERO; N];
    let mut n = 0;
    while n < N {
        bounds[n] = Duration::from_millis(list[n]);
        n += 1;
    }
    bounds
}

/// Times, counted by how long they are.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [Duration],
    /// One for each bound and one for values above all bounds.
    counts: Box<[AtomicU64]>,
    sum_nanos: AtomicU64,
}

impl Histogram {
    /// Nothing yet; `bounds` rise.
    pub fn new(bounds: &'static [Duration]) -> Histogram {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Histogram { bounds, counts, sum_nanos: AtomicU64::new(0) }
    }

    /// One more of this length.
    pub fn note(&self, took: Duration) {
        let index = self.bounds.iter().position(|bound| took <= *bound).unwrap_or(self.bounds.len());
        if let Some(count) = self.counts.get(index) {
            count.fetch_add(1, Relaxed);
        }
        self.sum_nanos.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// The recorded values.
    pub fn read(&self) -> Times {
        Times {
            bounds: self.bounds,
            counts: self.counts.iter().map(|count| count.load(Relaxed)).collect(),
            sum_nanos: self.sum_nanos.load(Relaxed),
        }
    }
}

/// The recorded values of a [`Histogram`].
#[derive(Clone, Debug)]
pub struct Times {
    bounds: &'static [Duration],
    counts: Vec<u64>,
    sum_nanos: u64,
}

impl Times {
    /// How many.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds the values of another histogram with the same bounds.
    pub fn add(&mut self, other: &Times) {
        for (mine, more) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*more);
        }
        self.sum_nanos = self.sum_nanos.saturating_add(other.sum_nanos);
    }
}

/// The kind of a family's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows; its name ends in `_total`.
    Counter,
    /// Can go up and down.
    Gauge,
    /// [`Times`].
    Histogram,
}

/// The page under construction.
#[derive(Debug, Default)]
pub struct Page(String);

/// Labels of a series: names and values.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Page {
    /// The content type of the text.
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Begins a family; its series follow.
    pub fn family(&mut self, name: &'static str, kind: MetricKind, help: &str) -> Family<'_> {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        Family { page: self, name }
    }

    /// A family of one series without labels.
    pub fn single(&mut self, name: &'static str, kind: MetricKind, help: &str, value: impl Display) {
        self.family(name, kind, help).value(&[], value);
    }

    /// The text.
    pub fn finish(self) -> String {
        self.0
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(text);
    }

    fn series(
        &mut self,
        name: &str,
        suffix: &str,
        labels: Labels<'_>,
        bound: Option<&str>,
        value: impl Display,
    ) {
        self.write(format_args!("{name}{suffix}"));
        let all = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
        let mut separator = '{';
        for (label, text) in all {
            self.write(format_args!("{separator}{label}=\""));
            for c in text.chars() {
                match c {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    c => self.0.push(c),
                }
            }
            self.0.push('"');
            separator = ',';
        }
        if separator == ',' {
            self.0.push('}');
        }
        self.write(format_args!(" {value}\n"));
    }
}

/// One family of a page.
#[derive(Debug)]
pub struct Family<'p> {
    page: &'p mut Page,
    name: &'static str,
}

impl Family<'_> {
    /// One series.
    pub fn value(&mut self, labels: Labels<'_>, value: impl Display) {
        self.page.series(self.name, "", labels, None, value);
    }

    /// The series of a histogram.
    pub fn times(&mut self, labels: Labels<'_>, times: &Times) {
        let mut so_far = 0_u64;
        for (bound, count) in times.bounds.iter().zip(&times.counts) {
            so_far = so_far.saturating_add(*count);
            let bound = bound.as_secs_f64().to_string();
            self.page.series(self.name, "_bucket", labels, Some(&bound), so_far);
        }
        let count = times.count();
        self.page.series(self.name, "_bucket", labels, Some("+Inf"), count);
        let sum = Duration::from_nanos(times.sum_nanos).as_secs_f64();
        self.page.series(self.name, "_sum", labels, None, sum);
        self.page.series(self.name, "_count", labels, None, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_prometheus_reads() {
        let histogram = Histogram::new(&WAITS[..2]);
        for ms in [1, 4, 90] {
            histogram.note(Duration::from_millis(ms));
        }
        let mut twice = histogram.read();
        twice.add(&histogram.read());
        let mut page = Page::default();
        let mut family = page.family("a_seconds", MetricKind::Histogram, "Times.");
        family.times(&[("of", "x\"\\\n")], &twice);
        page.single("b", MetricKind::Gauge, "One.", -3);
        let expected = "# HELP a_seconds Times.\n# TYPE a_seconds histogram\n\
            a_seconds_bucket{of=\"x\\\"\\\\\\n\",le=\"0.001\"} 2\n\
            a_seconds_bucket{of=\"x\\\"\\\\\\n\",le=\"0.005\"} 4\n\
            a_seconds_bucket{of=\"x\\\"\\\\\\n\",le=\"+Inf\"} 6\n\
            a_seconds_sum{of=\"x\\\"\\\\\\n\"} 0.19\n\
            a_seconds_count{of=\"x\\\"\\\\\\n\"} 6\n\
            # HELP b One.\n# TYPE b gauge\nb -3\n";
        assert_eq!(page.finish(), expected);
    }

    #[test]
    fn meters_count() {
        let (counter, gauge) = (Counter::default(), Gauge::default());
        counter.one();
        counter.add(4);
        gauge.raise();
        gauge.raise();
        gauge.lower();
        assert_eq!((counter.get(), gauge.get()), (5, 1));
        assert!(ANSWERS.is_sorted() && WAITS.is_sorted());
    }
}
