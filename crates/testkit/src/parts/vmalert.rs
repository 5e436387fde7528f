//! A real vmalert, for the alerts it sends.

use super::{
    Result, ports,
    process::{Process, Stop},
    programs,
    scratch::Scratch,
};

/// A vmalert with rules of its own. It ends when the value is dropped.
#[derive(Debug)]
pub struct Vmalert {
    process: Process,
}

impl Vmalert {
    /// Starts one as a firewall does: with the base address of the alert router, a name and a file with a password.
    /// `source` answers its queries (as Prometheus's `/api/v1/query`); the rules (YAML) are evaluated every second.
    ///
    /// # Errors
    /// When the program is missing, refuses the rules or does not become ready.
    pub async fn start(
        source: &str,
        notifier: &str,
        (user, password): (&str, &str),
        rules: &str,
    ) -> Result<Self> {
        let program = programs::find(&["vmalert"], "victoria-metrics", &[])?;
        let scratch = Scratch::new("vmalert")?;
        let rules = scratch.write("rules.yml", rules)?;
        let secret = scratch.write("password", password)?;
        let port = ports::spare()?;
        let arguments = [
            format!("-datasource.url={source}"),
            format!("-notifier.url={notifier}"),
            format!("-notifier.basicAuth.username={user}"),
            format!("-notifier.basicAuth.passwordFile={}", secret.display()),
            format!("-rule={}", rules.display()),
            "-evaluationInterval=1s".to_owned(),
            format!("-httpListenAddr=127.0.0.1:{port}"),
            "-loggerLevel=WARN".to_owned(),
        ];
        let process = Process::start(scratch, &program, arguments, Stop::Kill)?;
        let health = format!("http://127.0.0.1:{port}/health");
        process.wait_until_ready(|| super::answers_ok(health.clone())).await?;
        Ok(Self { process })
    }

    /// Its log so far (warnings and errors).
    #[must_use]
    pub fn log(&self) -> String {
        self.process.output()
    }
}

/// The answer of a source of measurements while a rule holds for one series, or for none.
#[must_use]
pub fn measured(series: Option<&serde_json::Value>) -> serde_json::Value {
    let result: Vec<serde_json::Value> =
        series.into_iter().map(|labels| serde_json::json!({"metric": labels, "value": [0, "1"]})).collect();
    serde_json::json!({"status": "success", "data": {"resultType": "vector", "result": result}})
}

#[cfg(test)]
mod tests {
    use super::super::recorder::{Answer, Recorder};
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn a_rule_that_holds_is_pushed_with_the_credentials() {
        let sink = Recorder::start(|_| Answer::status(200)).await.unwrap();
        let source =
            Recorder::start(|_| Answer::json(200, &measured(Some(&json!({"device": "sda"}))))).await.unwrap();
        let rules = "groups: [{name: all, rules: [{alert: Always, expr: wanted == 1}]}]\n";
        let below = format!("{}/below", sink.url());
        let part = Vmalert::start(&source.url(), &below, ("me", "secret"), rules).await.unwrap();
        let sent = sink.wait_for(1).await.unwrap();
        assert_eq!((sent[0].method.as_str(), sent[0].path.as_str()), ("POST", "/below/api/v2/alerts"));
        assert_eq!(sent[0].value("authorization"), Some("Basic bWU6c2VjcmV0"));
        let labels = &sent[0].json().unwrap()[0]["labels"];
        assert_eq!(
            (&labels["alertname"], &labels["device"]),
            (&json!("Always"), &json!("sda")),
            "{}",
            part.log()
        );
    }
}
