//! A real Prometheus, for the alerts it sends.

use super::{
    Result, ports,
    process::{Process, Stop},
    programs,
    scratch::Scratch,
};

/// A Prometheus of its own with an empty database. It ends when the value is dropped.
#[derive(Debug)]
pub struct Prometheus {
    url: String,
    process: Process,
}

impl Prometheus {
    /// Starts one with the given configuration and the rules beside it as `rules.yml` (both YAML), and waits until it
    /// is ready.
    ///
    /// # Errors
    /// When the program is missing, refuses the configuration or does not become ready.
    pub async fn start(configuration: &str, rules: &str) -> Result<Self> {
        let program = programs::find(&["prometheus"], "prometheus", &[])?;
        let scratch = Scratch::new("prometheus")?;
        scratch.write("rules.yml", rules)?;
        let file = scratch.write("prometheus.yml", configuration)?;
        let port = ports::spare()?;
        let url = format!("http://127.0.0.1:{port}");
        let arguments = [
            format!("--config.file={}", file.display()),
            format!("--storage.tsdb.path={}", scratch.path().join("storage").display()),
            format!("--web.listen-address=127.0.0.1:{port}"),
            // It finds its Alertmanagers some seconds after the first evaluation. Alerts before that are only sent
            // again after this delay, which is a minute by default.
            "--rules.alert.resend-delay=1s".to_owned(),
            "--log.level=warn".to_owned(),
        ];
        let process = Process::start(scratch, &program, arguments, Stop::Kill)?;
        process.wait_until_ready(|| super::answers_ok(format!("{url}/-/ready"))).await?;
        Ok(Self { url, process })
    }

    /// Its address, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its log so far (warnings and errors).
    #[must_use]
    pub fn log(&self) -> String {
        self.process.output()
    }
}

/// A configuration that sends the alerts of the rules beside it to an Alertmanager at `address` (`127.0.0.1:8080`),
/// below `prefix`, with Basic credentials. Rules are evaluated every second.
#[must_use]
pub fn sending_configuration(address: &str, prefix: &str, (user, password): (&str, &str)) -> String {
    format!(
        "global: {{evaluation_interval: 1s}}\nrule_files: [rules.yml]\nalerting:\n  alertmanagers:\n    - scheme: http\n      \
         path_prefix: '{prefix}'\n      basic_auth: {{username: '{user}', password: '{password}'}}\n      \
         static_configs: [{{targets: ['{address}']}}]\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::recorder::{Answer, Recorder};
    use super::*;

    #[tokio::test]
    async fn a_rule_that_holds_is_pushed_with_the_credentials() {
        let sink = Recorder::start(|_| Answer::status(200)).await.unwrap();
        let address = sink.url().trim_start_matches("http://").to_owned();
        let rules = "groups: [{name: all, rules: [{alert: Always, expr: vector(1)}]}]\n";
        let configuration = sending_configuration(&address, "/below", ("me", "secret"));
        let part = Prometheus::start(&configuration, rules).await.unwrap();
        let sent = sink.wait_for(1).await.unwrap();
        assert_eq!((sent[0].method.as_str(), sent[0].path.as_str()), ("POST", "/below/api/v2/alerts"));
        assert_eq!(sent[0].value("authorization"), Some("Basic bWU6c2VjcmV0"));
        assert_eq!(sent[0].json().unwrap()[0]["labels"]["alertname"], "Always");
        let url = format!("{}/-/ready", part.url());
        drop(part);
        assert!(!crate::parts::answers_ok(url).await);
    }

    #[tokio::test]
    async fn a_wrong_configuration_is_an_error_that_says_so() {
        let error = Prometheus::start("no: such\n", "").await.unwrap_err();
        assert!(error.to_string().contains("ended at once"), "{error}");
    }
}
