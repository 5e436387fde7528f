//! A consumer of webhooks that verifies with the stock library of Standard Webhooks (standardwebhooks of npm).

use super::{
    PartError, Result, answers_ok, identity_provider, ports,
    process::{Process, Stop},
    programs,
    scratch::Scratch,
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

const PROGRAM: &str = include_str!("../../provider/consumer.mjs");

/// The running consumer. It ends when the value is dropped; the accepted ids stay in its file.
#[derive(Debug)]
pub struct EventConsumer {
    port: u16,
    file: PathBuf,
    secrets: String,
    _process: Process,
}

impl EventConsumer {
    /// A port for one that is started once its secret is known.
    ///
    /// # Errors
    /// When none can be had.
    pub fn port() -> Result<u16> {
        ports::spare()
    }

    /// Starts one that accepts any of these secrets and writes the ids of accepted events to this file.
    ///
    /// # Errors
    /// When node or the library are not installed, or it does not come up.
    pub async fn start(port: u16, file: &Path, secrets: &[&str]) -> Result<Self> {
        Self::run(port, file.to_owned(), secrets.join(",")).await
    }

    async fn run(port: u16, file: PathBuf, secrets: String) -> Result<Self> {
        let node = programs::find(&["node", "nodejs"], "nodejs", &[])?;
        let modules = identity_provider::modules_with("standardwebhooks")?;
        let scratch = Scratch::new("event-consumer")?;
        let program = scratch.write("consumer.mjs", PROGRAM)?;
        let arguments =
            [program, modules, PathBuf::from(port.to_string()), file.clone(), PathBuf::from(&secrets)];
        let process = Process::start(scratch, &node, arguments, Stop::Kill)?;
        let address = format!("http://127.0.0.1:{port}/");
        process.wait_until_ready(|| answers_ok(address.clone())).await?;
        Ok(Self { port, file, secrets, _process: process })
    }

    /// Kills it; the returned future starts it again.
    pub fn kill(self) -> impl Future<Output = Result<Self>> {
        let Self { port, file, secrets, _process } = self;
        drop(_process);
        Self::run(port, file, secrets)
    }

    /// Ids of the events it has taken, each once.
    #[must_use]
    pub fn taken(&self) -> BTreeSet<String> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Numbers of repeated and of refused events since its start.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn figures(&self) -> Result<(u64, u64)> {
        let failed = |e: reqwest::Error| PartError::new(format!("the event consumer: {e}"));
        let answer = reqwest::get(format!("http://127.0.0.1:{}/", self.port)).await.map_err(failed)?;
        let text = answer.text().await.map_err(failed)?;
        let figures: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let figure = |name: &str| figures[name].as_u64().unwrap_or_default();
        Ok((figure("duplicates"), figure("refused")))
    }
}
