//! Alertmanager's own command-line tool, unmodified, against the embedded router and against a real one behind the
//! service (spec: clients#alertmanager-clients).

use super::{conformance::CONFIGURATION, wall_clock, *};
use bailiwick_testkit::{
    api_test,
    parts::alertmanager::{Alertmanager, amtool},
};
use serde_json::Value;

/// The tool at the interface of a running service.
struct Tool<'t> {
    test: &'t Test,
    url: String,
}

impl Tool<'_> {
    async fn output(&self, arguments: &[&str]) -> std::process::Output {
        self.test.clock.set(wall_clock());
        tokio::process::Command::new(amtool().unwrap())
            .arg(format!("--alertmanager.url={}", self.url))
            .args(arguments)
            // The tool runs without any user's settings.
            .env("HOME", "/nonexistent")
            .env_remove("XDG_CONFIG_HOME")
            .stdin(std::process::Stdio::null())
            .output()
            .await
            .unwrap()
    }

    async fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments).await;
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        let text = self.run(&[&["-o", "json"], arguments].concat()).await;
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {text}"))
    }
}

/// The steps of an operator with it in a day.
async fn a_day(tool: &Tool<'_>, key: &str) {
    tool.run(&[
        "alert",
        "add",
        "alertname=DiskFull",
        "severity=critical",
        "--annotation=summary=disk is full",
    ])
    .await;
    tool.run(&["alert", "add", "SwapFull", "node=1"]).await;
    let alerts = tool.json(&["alert", "query"]).await;
    assert_eq!(alerts.as_array().unwrap().len(), 2, "{alerts}");
    let alerts = tool.json(&["alert", "query", "alertname=DiskFull"]).await;
    assert_eq!(alerts[0]["labels"]["system_key"], key);
    assert_eq!(alerts[0]["annotations"]["summary"], "disk is full");
    assert_eq!(alerts[0]["status"]["state"], "active");
    assert!(tool.run(&["alert", "query"]).await.contains("SwapFull"));
    assert!(tool.run(&["-o", "extended", "alert", "query"]).await.contains("severity=\"critical\""));

    let id = tool
        .run(&["silence", "add", "alertname=DiskFull", "--comment=soon", "--author=ada", "--duration=1h"])
        .await;
    uuid::Uuid::parse_str(&id).expect("an id");
    let silences = tool.json(&["silence", "query"]).await;
    assert_eq!(silences[0]["id"], id);
    assert_eq!(silences[0]["createdBy"], "ada");
    assert_eq!(silences[0]["matchers"].as_array().unwrap().len(), 2);
    assert_eq!(tool.json(&["alert", "query"]).await.as_array().unwrap().len(), 1, "one is silenced");
    let silenced = tool.json(&["alert", "query", "--silenced"]).await;
    assert_eq!(silenced[0]["labels"]["alertname"], "DiskFull");
    assert_eq!(silenced[0]["status"]["silencedBy"][0], id);

    let updated = tool.json(&["silence", "update", "--duration=2h", "--comment=later", &id]).await;
    let updated = updated[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(updated, id, "the same matchers and start keep the id");
    assert_eq!(tool.json(&["silence", "query"]).await[0]["comment"], "later");
    let regex =
        tool.run(&["silence", "add", "alertname=~Swap.*", "node!=2", "--comment=x", "--duration=1h"]).await;
    assert_eq!(tool.json(&["silence", "query"]).await.as_array().unwrap().len(), 2);

    tool.run(&["silence", "expire", &id, &regex]).await;
    assert_eq!(tool.json(&["silence", "query"]).await.as_array().unwrap().len(), 0);
    assert_eq!(tool.json(&["silence", "query", "--expired"]).await.as_array().unwrap().len(), 2);
    assert_eq!(tool.json(&["alert", "query"]).await.as_array().unwrap().len(), 2);
    let unknown = tool.output(&["silence", "expire", "00000000-0000-4000-8000-000000000000"]).await;
    assert!(!unknown.status.success());

    tool.run(&["alert", "add", "SwapFull", "node=1", "--end", &wall_clock().rfc3339(0)]).await;
    assert_eq!(tool.json(&["alert", "query"]).await.as_array().unwrap().len(), 1);
    assert_eq!(
        tool.run(&["config", "show"]).await,
        "route:\n  receiver: default\nreceivers:\n- name: default"
    );
    assert!(tool.run(&["cluster", "show"]).await.contains("ready"));
}

fn address(service: &str, base: &str, system: &Seeded) -> String {
    let host = service.trim_start_matches("http://");
    format!("http://{}:{}@{host}{base}", system.key, system.secret)
}

// Proves spec: acceptance#scenarios 35.
api_test!(amtool_works_for_a_day, |s| generous(s), |t| async move {
    let real = Alertmanager::start(CONFIGURATION).await.unwrap();
    t.clock.set(wall_clock());
    let system = Client::new(&t).await.system;
    let url = real.url().to_owned();
    let p = t
        .replica_with(|s| {
            let remote =
                RemoteRouter { url, prefix: String::new(), kind: RouterKind::Plain, is_provisioned: false };
            s.alerting.router = Router::Remote(remote);
            patient(s);
        })
        .await;
    for (test, base) in [(&t, "/collect/api/services/mimir/alertmanager"), (&p, P)] {
        let service = test.serve().await;
        let tool = Tool { test, url: address(&service.url, base, &system) };
        a_day(&tool, &system.key).await;
    }
});

// Proves spec: acceptance#scenarios 32.
api_test!(another_organizations_system_sees_none_of_it, |s| generous(s), |t| async move {
    t.clock.set(wall_clock());
    let tree = t.tree().await;
    let (one, other) = (t.system(tree.customer).await, t.system(tree.other_customer).await);
    let service = t.serve().await;
    let tool = |system: &Seeded| Tool { test: &t, url: address(&service.url, P, system) };
    tool(&one).run(&["alert", "add", "alertname=DiskFull"]).await;
    let id = tool(&one).run(&["silence", "add", "alertname=DiskFull", "--comment=x", "--duration=1h"]).await;
    let theirs = tool(&other);
    assert_eq!(theirs.json(&["alert", "query", "--silenced", "--active"]).await.as_array().unwrap().len(), 0);
    assert_eq!(theirs.json(&["silence", "query", "--expired"]).await.as_array().unwrap().len(), 0);
    assert!(!theirs.output(&["silence", "expire", &id]).await.status.success());
    assert_eq!(tool(&one).json(&["silence", "query"]).await.as_array().unwrap().len(), 1);
});
