//! A real vmalert, started as a firewall starts it (spec: clients#appliances, clients#alertmanager-clients).

use super::{prometheus::until, wall_clock, *};
use bailiwick_testkit::{
    api_test,
    parts::{
        recorder::{Answer, Recorder},
        vmalert::{Vmalert, measured},
    },
};
use serde_json::{Value, json};

const RULES: &str = "groups:\n  - name: wan\n    rules:\n      - alert: WanDown\n        expr: wan_up == 0\n        \
     labels: {severity: critical, service: network}\n        \
     annotations: {summary_en: 'no link on {{ $labels.interface }}', summary_it: 'nessun link su {{ $labels.interface }}'}\n";

// Proves spec: acceptance#scenarios 35.
api_test!(what_a_vmalert_sends_fires_and_ends, |s| generous(s), |t| async move {
    t.clock.set(wall_clock());
    let own = Client::new(&t).await;
    let beside = Client { test: &t, system: t.system(t.tree().await.customer).await };
    let service = t.serve().await;
    let down = measured(Some(&json!({"interface": "eth1"})));
    let source = Recorder::start(move |_| Answer::json(200, &down)).await.unwrap();
    let notifier = format!("{}/collect/api/services/mimir/alertmanager", service.url);
    let credentials = (own.system.key.as_str(), own.system.secret.as_str());
    let part = Vmalert::start(&source.url(), &notifier, credentials, RULES).await.unwrap();

    let listed = async || {
        let list = own.get("/api/v2/alerts").await.expect(200).json();
        list.as_array().unwrap().first().cloned()
    };
    let alert: Value = until(&t, || part.log(), "the alert", listed).await;
    let labels = &alert["labels"];
    for (name, value) in
        [("alertname", "WanDown"), ("interface", "eth1"), ("severity", "critical"), ("alertgroup", "wan")]
    {
        assert_eq!(labels[name], value, "{labels}");
    }
    assert_eq!(labels["system_key"], own.system.key.as_str());
    assert_eq!(alert["annotations"]["summary_it"], "nessun link su eth1");
    assert_eq!(beside.alert_names("").await, [""; 0]);

    // vmalert reports the end of an alert that no longer holds, several times.
    source.answer_by(|_| Answer::json(200, &measured(None)));
    let over = async || own.alert_names("").await.is_empty().then_some(());
    until(&t, || part.log(), "its end", over).await;
    assert!(!part.log().contains("failed to send"), "{}", part.log());
});
