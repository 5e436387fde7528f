//! Measures how long each test takes, to find slow ones.

use std::{io::Write, time::Instant};

/// If this variable is set, every test of [`api_test!`](crate::api_test) writes its time to standard error.
pub const VARIABLE: &str = "BAILIWICK_TEST_TIMES";

/// Runs a test and writes `time SECONDS NAME` when [`VARIABLE`] is set: the time from its start to its end, which other
/// tests at the same moment make longer.
///
/// # Panics
/// When the test does, and when standard error is closed.
pub async fn timed(name: &str, test: impl Future<Output = ()>) {
    let begun = Instant::now();
    test.await;
    if std::env::var_os(VARIABLE).is_some() {
        writeln!(std::io::stderr(), "time {:.2} {name}", begun.elapsed().as_secs_f64())
            .expect("standard error");
    }
}
