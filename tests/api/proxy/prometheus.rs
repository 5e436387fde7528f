//! A real Prometheus that knows nothing but the address of the interface and a system's credentials (spec:
//! clients#alertmanager-clients).

use super::{wall_clock, *};
use bailiwick_testkit::{
    api_test,
    parts::{
        prometheus::{Prometheus, sending_configuration},
        recorder::{Answer, Recorder},
    },
    patience,
};
use serde_json::Value;

/// One alert that always fires, and one that depends on a measured value.
const RULES: &str = "groups:\n  - name: all\n    rules:\n      - alert: Watchdog\n        expr: vector(1)\n        \
     labels: {severity: warning}\n        annotations: {summary: 'of {{ $value }} \"quoted\"', seen_by: '{{ .system_name }}'}\n      \
     - alert: Short\n        expr: wanted == 1\n        labels: {severity: critical, system_key: SYS-OTHER, organization_id: other}\n";

/// Asks until it is so; such programs look at their rules every second.
pub(super) async fn until<T>(
    t: &Test,
    log: impl Fn() -> String,
    what: &str,
    is_so: impl AsyncFn() -> Option<T>,
) -> T {
    let attempt = async || {
        // A real program has no clock of ours.
        t.clock.set(wall_clock());
        is_so().await
    };
    patience::found(|| format!("{what}\n{}", log()), attempt).await
}

// Proves spec: acceptance#scenarios 35.
api_test!(what_a_prometheus_sends_is_its_own, |s| generous(s), |t| async move {
    t.clock.set(wall_clock());
    let tree = t.tree().await;
    let own = Client { test: &t, system: t.system(tree.customer).await };
    let beside = Client { test: &t, system: t.system(tree.customer).await };
    let other = Client { test: &t, system: t.system(tree.other_customer).await };
    let service = t.serve().await;
    let address = service.url.trim_start_matches("http://");
    let credentials = (own.system.key.as_str(), own.system.secret.as_str());
    let measured = Recorder::start(|_| Answer::status(200).body("wanted 1\n")).await.unwrap();
    // Braces are Prometheus's own templates, so a placeholder of ours is written as a text of theirs.
    let rules = RULES.replace("'{{ .system_name }}'", "'{{ \"{{ .system_name }}\" }}'");
    let configuration = format!(
        "{}scrape_configs: [{{job_name: m, scrape_interval: 1s, static_configs: [{{targets: ['{}']}}]}}]\n",
        // As a cluster's module has it: below the collect address.
        sending_configuration(address, "/collect/api/services/mimir/alertmanager", credentials),
        measured.url().trim_start_matches("http://")
    );
    let part = Prometheus::start(&configuration, &rules).await.unwrap();

    let both = async || (own.alert_names("").await == ["Short", "Watchdog"]).then_some(());
    until(&t, || part.log(), "both alerts", both).await;
    let listed = own.get("/api/v2/alerts?filter=alertname%3DWatchdog").await.expect(200).json();
    let alert = &listed[0];
    assert_eq!(alert["labels"]["severity"], "warning");
    assert_eq!(alert["labels"]["system_key"], own.system.key);
    assert_eq!(alert["labels"]["organization_id"], tree.customer.to_string());
    assert_eq!(alert["annotations"]["summary"], "of 1 \"quoted\"");
    assert_eq!(alert["annotations"]["seen_by"], alert["annotations"]["system_name"]);
    assert!(alert["generatorURL"].as_str().unwrap().contains("/graph?"));
    for stranger in [&beside, &other] {
        assert_eq!(stranger.alert_names("").await, [""; 0]);
        assert_eq!(stranger.get("/api/v2/alerts/groups").await.expect(200).text(), "[]\n");
    }

    // The alerts that people see: those of the branch, and the owner.
    let (above, elsewhere) =
        (t.user(tree.distributor, &["admin"]).await, t.user(tree.other_distributor, &["admin"]).await);
    let owner = t.owner().await;
    let fetch = async |token: &str, path: &str| -> Vec<Value> {
        let reply = t.get(&format!("/api{path}")).bearer(token).send().await.expect(200);
        reply.data()["alerts"].as_array().unwrap().clone()
    };
    let watchdog = "/alerts?alertname=Watchdog";
    for who in [&owner, &above] {
        let alerts = fetch(&who.token, watchdog).await;
        assert_eq!(alerts.len(), 1);
        assert_eq!(alerts[0]["labels"]["system_key"], own.system.key);
        assert_eq!(alerts[0]["labels"]["organization_id"], tree.customer.to_string());
    }
    assert!(fetch(&elsewhere.token, watchdog).await.is_empty());
    assert!(
        fetch(&owner.token, &format!("{watchdog}&organization_id={}", tree.other_customer)).await.is_empty()
    );

    // Prometheus reports the end of an alert that no longer holds, and goes on reporting the rest.
    measured.answer_by(|_| Answer::status(200).body("wanted 0\n"));
    let one = async || (own.alert_names("").await == ["Watchdog"]).then_some(());
    until(&t, || part.log(), "the end of one", one).await;
    let history = async || {
        let rows = fetch(&t.session(owner.id).await.token, "/alerts/history").await;
        rows.into_iter().find(|row| row["alertname"] == "Short")
    };
    let row = until(&t, || part.log(), "its record", history).await;
    assert_eq!((&row["system_key"], &row["status"]), (&own.system.key.into(), &"resolved".into()));
    assert_eq!(row["organization_id"], tree.customer.to_string());
});
