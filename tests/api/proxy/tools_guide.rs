//! The snippets of docs/tools.md: what they name is given to the programs themselves where Debian has them, else to their requests
//! (spec: clients#alertmanager-clients, alerts-of-organizations). The process test of metrics asks what Alloy asks.

use super::{prometheus::until, wall_clock, *};
use bailiwick_domain::OrgId;
use bailiwick_policy::KeyMode;
use bailiwick_testkit::{
    api_test,
    parts::{
        alertmanager::amtool,
        prometheus::Prometheus,
        recorder::{Answer, Recorder},
        vmalert::{Vmalert, measured},
    },
};
use serde_json::{Value, json};

/// A customer with a system, and a person two levels above with an API key.
struct Fleet<'t> {
    own: Client<'t>,
    organization: OrgId,
    key: String,
    url: String,
}

impl<'t> Fleet<'t> {
    async fn new(t: &'t Test, url: &str) -> Fleet<'t> {
        t.clock.set(wall_clock());
        let tree = t.tree().await;
        let own = Client { test: t, system: t.system(tree.customer).await };
        let admin = t.user(tree.distributor, &["admin"]).await;
        let (_, key) = t.api_key(admin.id, KeyMode::Write).await;
        Fleet { own, organization: tree.distributor, key, url: url.to_owned() }
    }

    /// The first block of code after an anchor, with the words of this fleet.
    fn snippet(&self, anchor: &str) -> String {
        let page = include_str!("../../../docs/tools.md");
        let (_, rest) = page.split_once(&format!("<a id=\"{anchor}\"></a>")).expect("the anchor");
        let (_, rest) = rest.split_once("```").expect("a block");
        let (_, rest) = rest.split_once('\n').expect("its language");
        let (code, _) = rest.split_once("```").expect("its end");
        let host = self.url.trim_start_matches("http://");
        [
            ("https://", "http://"),
            ("scheme: https", "scheme: http"),
            ("fleet.example.org", host),
            ("SYSTEM_KEY", &self.own.system.key),
            ("SYSTEM_SECRET", &self.own.system.secret),
            ("ORGANIZATION_ID", &self.organization.to_string()),
            ("API_KEY", &self.key),
        ]
        .iter()
        .fold(code.to_owned(), |text, (word, value)| text.replace(word, value))
    }

    /// Waits until an alert of this name is listed for the person.
    async fn hears(&self, name: &str, log: impl Fn() -> String) -> Value {
        let path = format!("/api/organizations/{}/tree/alertmanager/api/v2/alerts", self.organization);
        let listed = async || {
            let call = self.own.test.get(&path).basic("me", &self.key);
            let list = call.send().await.expect(200).json();
            list.as_array().unwrap().iter().find(|alert| alert["labels"]["alertname"] == name).cloned()
        };
        until(self.own.test, log, name, listed).await
    }
}

/// The value after a word of a snippet, up to the end of the line or a space.
fn value<'s>(snippet: &'s str, word: &str) -> &'s str {
    let (_, rest) = snippet.split_once(word).unwrap_or_else(|| panic!("no {word} in {snippet}"));
    rest.lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .trim_matches(['"', ',', '}', ']'])
}

api_test!(prometheus_as_in_the_guide, |s| generous(s), |t| async move {
    let service = t.serve().await;
    let fleet = Fleet::new(&t, &service.url).await;
    let snippet = fleet.snippet("prometheus");
    let configuration = format!("global: {{evaluation_interval: 1s}}\nrule_files: [rules.yml]\n{snippet}");
    let rules = "groups: [{name: all, rules: [{alert: Always, expr: vector(1)}]}]\n";
    let part = Prometheus::start(&configuration, rules).await.unwrap();
    let alert = fleet.hears("Always", || part.log()).await;
    assert_eq!(alert["labels"]["system_key"], fleet.own.system.key.as_str());
});

api_test!(vmalert_as_in_the_guide, |s| generous(s), |t| async move {
    let service = t.serve().await;
    let fleet = Fleet::new(&t, &service.url).await;
    let snippet = fleet.snippet("vmalert");
    let source =
        Recorder::start(|_| Answer::json(200, &measured(Some(&json!({"interface": "eth1"}))))).await.unwrap();
    let user = value(&snippet, "-notifier.basicAuth.username=");
    let rules = "groups: [{name: all, rules: [{alert: WanDown, expr: wan_up == 0}]}]\n";
    let notifier = value(&snippet, "-notifier.url=");
    let part =
        Vmalert::start(&source.url(), notifier, (user, &fleet.own.system.secret), rules).await.unwrap();
    fleet.hears("WanDown", || part.log()).await;
});

/// Runs the lines of a snippet in a shell that finds amtool; returns what they print.
async fn run(snippet: &str) -> String {
    let amtool = amtool().unwrap();
    let path =
        format!("{}:{}", amtool.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let output = tokio::process::Command::new("sh")
        .args(["-euc", snippet])
        .env("PATH", path)
        // The tool runs without any user's settings.
        .env("HOME", "/nonexistent")
        .env_remove("XDG_CONFIG_HOME")
        .stdin(std::process::Stdio::null())
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

api_test!(amtool_as_in_the_guide, |s| generous(s), |t| async move {
    let service = t.serve().await;
    let fleet = Fleet::new(&t, &service.url).await;
    let printed = run(&fleet.snippet("amtool-of-a-system")).await;
    assert!(printed.contains("disk is full"), "{printed}");
    let id = printed.trim().lines().last().unwrap();
    uuid::Uuid::parse_str(id).expect("the id of a silence");
    fleet.own.delete(&format!("/api/v2/silence/{id}")).await.expect(200);

    t.clock.set(wall_clock());
    let printed = run(&fleet.snippet("amtool-of-an-organization")).await;
    assert!(printed.contains("DiskFull"), "{printed}");
    let silences = fleet.own.get("/api/v2/silences").await.expect(200).json();
    let all = silences.as_array().unwrap();
    assert_eq!(all.len(), 2, "{silences}");
    assert!(all.iter().all(|silence| silence["status"]["state"] == "expired"), "{silences}");
});

api_test!(grafana_and_karma_as_in_the_guide, |s| generous(s), |t| async move {
    let fleet = Fleet::new(&t, "http://fleet.test").await;
    fleet.own.push(r#"[{"labels": {"alertname": "DiskFull", "severity": "critical"}}]"#).await.expect(200);
    crate::alerts::written(&t).await;
    let grafana = fleet.snippet("grafana");
    let karma = fleet.snippet("karma");
    let basic = (value(&grafana, "basicAuthUser:"), value(&grafana, "basicAuthPassword:"));
    for (url, is_grafana) in [(value(&grafana, " url:"), true), (value(&karma, "uri:"), false)] {
        let root = url.trim_start_matches("http://fleet.test");
        let call = |method: &str, path: &str| {
            let call = t.call(method.parse().unwrap(), &format!("{root}{path}"));
            if is_grafana {
                call.basic(basic.0, basic.1)
            } else {
                call.bearer(value(&karma, "Authorization: Bearer"))
            }
        };
        // Grafana knows a plain router from one of many tenants by where a status is and where none is.
        for (path, is_there) in [
            ("/api/v2/status", true),
            ("/alertmanager/api/v2/status", false),
            ("/api/v1/status/buildinfo", false),
            ("/metrics", true),
        ] {
            let reply = call("GET", path).send().await;
            assert_eq!(reply.status == 200, is_there, "{path}: {}", reply.status);
            assert!(!reply.status.is_server_error(), "{path}");
        }
        let groups =
            call("GET", "/api/v2/alerts/groups?active=true&silenced=true&inhibited=true").send().await;
        let groups = groups.expect(200).json();
        let alert = &groups[0]["alerts"][0];
        assert_eq!(alert["labels"]["alertname"], "DiskFull");
        // Both write a silence with the labels of the alert.
        let labels = alert["labels"].as_object().unwrap().iter();
        let matchers: Vec<Value> = labels
            .map(|(name, value)| json!({"name": name, "value": value, "isRegex": false, "isEqual": true}))
            .collect();
        let silence = json!({
            "matchers": matchers, "startsAt": t.app.platform.now().rfc3339(3), "createdBy": "ada", "comment": "at work",
            "endsAt": wall_clock().plus(std::time::Duration::from_secs(3600)).rfc3339(3),
        });
        let made = call("POST", "/api/v2/silences").json(silence).send().await.expect(200).json();
        let id = made["silenceID"].as_str().unwrap();
        let silenced = call("GET", "/api/v2/alerts?silenced=true").send().await.expect(200).json();
        assert_eq!(silenced[0]["status"]["silencedBy"], json!([id]));
        let listed = call("GET", "/api/v2/silences").send().await.expect(200).json();
        assert!(listed.as_array().unwrap().iter().any(|silence| silence["id"] == id), "{listed}");
        call("DELETE", &format!("/api/v2/silence/{id}")).send().await.expect(200);
    }
});
