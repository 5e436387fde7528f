//! Counters of requests by route. Each worker of the HTTP server has its own counters, so that no core waits for
//! another.

use bailiwick_domain::metrics::{ANSWERS, Counter, Gauge, Histogram, Times};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The name of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteName {
    pub method: String,
    /// Path with the names of its parameters.
    pub route: String,
}

/// Classes of status codes.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The counters of all workers of a process.
#[derive(Debug, Default)]
pub struct HttpMetrics(Mutex<Vec<Arc<WorkerMetrics>>>);

/// The counters of one worker.
#[derive(Debug)]
pub struct WorkerMetrics {
    names: Arc<[RouteName]>,
    series: Box<[Series]>,
    in_flight: Gauge,
}

#[derive(Debug)]
struct Series {
    classes: [Counter; CLASSES.len()],
    times: Histogram,
}

/// The answers of one route.
#[derive(Clone, Debug)]
pub struct RouteMetrics {
    pub name: RouteName,
    /// Number of answers of each class of status that occurred.
    pub classes: Vec<(&'static str, u64)>,
    /// Their durations.
    pub times: Times,
}

/// A request in progress. A request whose client disconnects before the answer is not counted among the answered.
#[derive(Debug)]
pub struct RequestTimer<'w> {
    worker: &'w WorkerMetrics,
    began: Instant,
}

impl HttpMetrics {
    /// Adds a worker. All workers have the same `names`.
    pub fn worker(&self, names: Arc<[RouteName]>) -> Arc<WorkerMetrics> {
        let fresh = |_: &RouteName| Series { classes: Default::default(), times: Histogram::new(&ANSWERS) };
        let series = names.iter().map(fresh).collect();
        let worker = Arc::new(WorkerMetrics { names, series, in_flight: Gauge::default() });
        self.all(|workers| workers.push(worker.clone()));
        worker
    }

    fn all<T>(&self, access: impl FnOnce(&mut Vec<Arc<WorkerMetrics>>) -> T) -> T {
        access(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Requests in work.
    pub fn in_flight(&self) -> i64 {
        self.all(|workers| workers.iter().map(|worker| worker.in_flight.get()).sum())
    }

    /// The answers so far, of the routes that have answered.
    pub fn answered(&self) -> Vec<RouteMetrics> {
        let workers = self.all(|workers| workers.clone());
        let Some(first) = workers.first() else { return Vec::new() };
        let mut all = Vec::new();
        for (n, name) in first.names.iter().enumerate() {
            let mut own = workers.iter().filter_map(|worker| worker.series.get(n));
            let Some(series) = own.next() else { continue };
            let mut times = series.times.read();
            let mut classes: Vec<u64> = series.classes.iter().map(Counter::get).collect();
            for more in own {
                times.add(&more.times.read());
                classes.iter_mut().zip(&more.classes).for_each(|(sum, more)| *sum += more.get());
            }
            let counted = CLASSES.iter().copied().zip(classes).filter(|(_, n)| *n > 0).collect::<Vec<_>>();
            if !counted.is_empty() {
                all.push(RouteMetrics { name: name.clone(), classes: counted, times });
            }
        }
        all
    }
}

impl WorkerMetrics {
    /// The index of a route; `None` if there is no such route.
    pub fn index_of(&self, method: &str, route: &str) -> Option<usize> {
        self.names.iter().position(|name| name.method == method && name.route == route)
    }

    /// The name of a route by its index.
    pub fn name(&self, index: usize) -> Option<&RouteName> {
        self.names.get(index)
    }

    /// Begins a request.
    pub fn begin(&self) -> RequestTimer<'_> {
        self.in_flight.raise();
        RequestTimer { worker: self, began: Instant::now() }
    }

    fn note(&self, index: usize, status: u16, took: Duration) {
        let Some(series) = self.series.get(index) else { return };
        if let Some(class) = usize::from(status / 100).checked_sub(1).and_then(|n| series.classes.get(n)) {
            class.one();
        }
        series.times.note(took);
    }
}

impl RequestTimer<'_> {
    /// Counts the answer.
    pub fn answered(self, index: usize, status: u16) {
        self.worker.note(index, status, self.began.elapsed());
    }
}

impl Drop for RequestTimer<'_> {
    fn drop(&mut self) {
        self.worker.in_flight.lower();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_count_for_themselves_and_are_added_up() {
        let name = |route: &str| RouteName { method: "GET".into(), route: route.into() };
        let names: Arc<[RouteName]> = [name("/a"), name("/b"), name("/c")].into();
        let http = HttpMetrics::default();
        let (one, two) = (http.worker(names.clone()), http.worker(names));
        let index = one.index_of("GET", "/b").unwrap();
        one.begin().answered(index, 200);
        two.begin().answered(index, 204);
        two.begin().answered(index, 404);
        let open = two.begin();
        assert_eq!((http.in_flight(), one.index_of("GET", "/d")), (1, None));
        drop(open);
        let answered = http.answered();
        assert_eq!(answered.len(), 1);
        let RouteMetrics { name, classes, times } = &answered[0];
        assert_eq!((name.route.as_str(), times.count(), http.in_flight()), ("/b", 3, 0));
        assert_eq!(classes, &[("2xx", 2), ("4xx", 1)]);
    }
}
