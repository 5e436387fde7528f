//! A real Prometheus Alertmanager and its command-line tool.

use super::{
    PartError, Result, ports,
    process::{Process, Stop},
    programs,
    scratch::Scratch,
};
use std::{collections::BTreeMap, path::PathBuf, process::Output};

const PACKAGE: &str = "prometheus-alertmanager";

/// An Alertmanager of its own, without cluster, with empty storage. It ends when the value is dropped.
#[derive(Debug)]
pub struct Alertmanager {
    url: String,
    process: Process,
}

impl Alertmanager {
    /// Starts one with the given configuration (YAML) and waits until it is ready.
    ///
    /// # Errors
    /// When the program is missing, refuses the configuration or does not become ready.
    pub async fn start(configuration: &str) -> Result<Self> {
        Self::start_with(configuration, &BTreeMap::new()).await
    }

    /// As [`Alertmanager::start`], with template files beside the configuration.
    ///
    /// # Errors
    /// As there.
    pub async fn start_with(configuration: &str, templates: &BTreeMap<String, String>) -> Result<Self> {
        let program = programs::find(&["prometheus-alertmanager", "alertmanager"], PACKAGE, &[])?;
        let scratch = Scratch::new("alertmanager")?;
        for (name, text) in templates {
            scratch.write(name, text)?;
        }
        let file = scratch.write("alertmanager.yml", configuration)?;
        let port = ports::spare()?;
        let url = format!("http://127.0.0.1:{port}");
        let arguments = [
            format!("--config.file={}", file.display()),
            format!("--storage.path={}", scratch.path().join("storage").display()),
            format!("--web.listen-address=127.0.0.1:{port}"),
            "--cluster.listen-address=".to_owned(),
            "--log.level=warn".to_owned(),
        ];
        let process = Process::start(scratch, &program, arguments, Stop::Kill)?;
        process.wait_until_ready(|| super::answers_ok(format!("{url}/-/ready"))).await?;
        Ok(Self { url, process })
    }

    /// Replaces configuration and templates as an operator does: the files, then a reload.
    ///
    /// # Errors
    /// When a file cannot be written or the program refuses the configuration.
    pub async fn configure(&self, configuration: &str, templates: &BTreeMap<String, String>) -> Result<()> {
        let yaml = ("alertmanager.yml", configuration);
        let templates = templates.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        for (name, text) in templates.chain([yaml]) {
            std::fs::write(self.process.directory().join(name), text)
                .map_err(|error| PartError::io("cannot write a configuration", &error))?;
        }
        let refused = |error: reqwest::Error| PartError::new(format!("the reload is refused: {error}"));
        let reload = reqwest::Client::new().post(format!("{}/-/reload", self.url)).send().await;
        reload.and_then(reqwest::Response::error_for_status).map_err(refused)?;
        Ok(())
    }

    /// Its address, without a slash at the end: `http://127.0.0.1:15093`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its log so far (warnings and errors).
    #[must_use]
    pub fn log(&self) -> String {
        self.process.output()
    }

    /// Runs `amtool` against this Alertmanager and returns its output, whatever its exit status.
    ///
    /// # Errors
    /// When amtool is missing or cannot be started.
    pub async fn amtool(&self, arguments: &[&str]) -> Result<Output> {
        tokio::process::Command::new(amtool()?)
            .arg(format!("--alertmanager.url={}", self.url))
            .args(arguments)
            // It must not read files from the home directory of the user who runs the tests.
            .env("HOME", self.process.directory())
            .env_remove("XDG_CONFIG_HOME")
            .stdin(std::process::Stdio::null())
            .output()
            .await
            .map_err(|error| PartError::io("cannot run amtool", &error))
    }
}

/// The path of Alertmanager's command-line tool.
///
/// # Errors
/// When it is not installed; the text says how to install it.
pub fn amtool() -> Result<PathBuf> {
    programs::find(&["amtool"], PACKAGE, &[])
}

/// A configuration that keeps alerts and sends no notifications.
pub const SILENT_CONFIGURATION: &str = "route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n";

/// A configuration that sends every alert to one webhook at once (groups of one alert, no waiting).
#[must_use]
pub fn webhook_configuration(url: &str) -> String {
    format!(
        "route:\n  receiver: webhook\n  group_by: ['...']\n  group_wait: 0s\n  group_interval: 1s\n  \
         repeat_interval: 1h\nreceivers:\n  - name: webhook\n    webhook_configs:\n      - url: '{url}'\n        \
         send_resolved: true\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::recorder::{Answer, Recorder};
    use super::*;

    #[tokio::test]
    async fn an_alert_is_kept_and_listed() {
        let part = Alertmanager::start(SILENT_CONFIGURATION).await.unwrap();
        let added = part.amtool(&["alert", "add", "alertname=DiskFull", "severity=critical"]).await.unwrap();
        assert!(added.status.success(), "{added:?}");
        let listed = part.amtool(&["alert", "query", "-o", "json"]).await.unwrap();
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!(listed[0]["labels"]["alertname"], "DiskFull");
        let url = format!("{}/-/ready", part.url());
        drop(part);
        assert!(!crate::parts::answers_ok(url).await);
    }

    #[tokio::test]
    async fn an_alert_reaches_the_webhook() {
        let sink = Recorder::start(|_| Answer::status(200)).await.unwrap();
        let part = Alertmanager::start(&webhook_configuration(&sink.url())).await.unwrap();
        part.amtool(&["alert", "add", "alertname=DiskFull"]).await.unwrap();
        let sent = sink.wait_for(1).await.unwrap();
        assert_eq!(sent[0].json().unwrap()["alerts"][0]["labels"]["alertname"], "DiskFull");
    }

    #[tokio::test]
    async fn a_wrong_configuration_is_an_error_that_says_so() {
        let error = Alertmanager::start("route: {}\n").await.unwrap_err();
        assert!(error.to_string().contains("ended at once"), "{error}");
    }
}
