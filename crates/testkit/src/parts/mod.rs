//! Real parts for tests: PostgreSQL, Prometheus Alertmanager, Prometheus, vmalert, a mail server, an OpenID Connect
//! provider, a consumer of webhooks, an object storage, a browser driver and a recording HTTP upstream.
//!
//! Every part is a real program on a spare loopback port with its state in a private temporary directory. A part
//! ends when its value is dropped, and at the latest when the test process ends, however that happens (see
//! [`process`]). Nothing here is skipped when a program is missing: starting the part fails and says how to install it.
//!
//! To add a part: make a [`scratch::Scratch`], take a port from [`ports::spare`], find the program with
//! [`programs::find`], start it with [`process::Process::start`] and wait with
//! [`process::Process::wait_until_ready`]; then a test below that really starts it.

pub mod alertmanager;
pub mod chromedriver;
pub mod configurations;
pub mod event_consumer;
pub mod identity_provider;
pub mod logto;
pub mod ports;
pub mod postgres;
pub mod process;
pub mod programs;
pub mod prometheus;
pub mod recorder;
pub mod s3;
pub mod scratch;
pub mod smtp;
pub mod vmalert;

/// Why a part could not be started or did not do its work; the text is for the person who runs the tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartError(String);

impl PartError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// An error of the operating system with the attempted action.
    pub(crate) fn io(doing: &str, error: &std::io::Error) -> Self {
        Self(format!("{doing}: {error}"))
    }
}

impl std::fmt::Display for PartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PartError {}

/// The result of everything in this module.
pub type Result<T> = std::result::Result<T, PartError>;

/// Whether an HTTP GET of this address returns 200; used to detect that a part has started.
pub(crate) async fn answers_ok(url: String) -> bool {
    reqwest::get(url).await.is_ok_and(|answer| answer.status() == reqwest::StatusCode::OK)
}
