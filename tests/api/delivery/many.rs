//! Many groups of many tenants at the same moment.

use super::*;
use bailiwick_domain::OrgType;
use std::collections::BTreeSet;

/// Tenants, all below one reseller with a webhook that is notified of every alert.
const TENANTS: usize = 25;

/// Alerts of each, every one of them a group.
const ALERTS: usize = 20;

on_both!(each_alert_is_sent_once_and_soon, |engine| async {
    let test = DeliveryTest::start(engine).await;
    let tree = test.t.tree().await;
    let layer = json!({"enabled": {"webhook": true},
        "webhook_recipients": [{"name": "hook", "url": format!("{}/hook", test.hook.url())}]});
    test.t.alert_layer(tree.reseller, layer).await;
    let mut expected = BTreeSet::new();
    for n in 0..TENANTS {
        let tenant = test.t.organization(tree.reseller, OrgType::Customer, &format!("Tenant {n}")).await;
        let system = test.t.system(tenant).await;
        let alerts: Vec<Value> =
            (0..ALERTS).map(|i| json!({"labels": {"alertname": format!("A{n}x{i}")}})).collect();
        expected.extend((0..ALERTS).map(|i| format!("A{n}x{i}")));
        Client { test: &test.t, system }.push(&json!(alerts).to_string()).await.expect(200);
    }
    notify::run_until_idle(&test.t.app.alerts).await.unwrap();
    assert_eq!(test.hook.requests().len(), 0);
    test.t.advance(30 * SECOND);
    test.hook.wait_within(expected.len(), 300 * SECOND).await.unwrap();
    notify::run_until_idle(&test.t.app.alerts).await.unwrap();
    let received: Vec<String> = test
        .hook
        .take()
        .iter()
        .map(|r| r.json().unwrap()["commonLabels"]["alertname"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(received.len(), expected.len());
    assert_eq!(received.into_iter().collect::<BTreeSet<_>>(), expected);
});

on_both!(a_large_group_is_sent_whole_to_each_of_many_recipients, |engine| async {
    const ALERTS: usize = 400;
    let test = DeliveryTest::start(engine).await;
    let organization = test.system_organization().await;
    let hooks: Vec<Value> = (0..5)
        .map(|n| json!({"name": format!("hook {n}"), "url": format!("{}/{n}", test.hook.url())}))
        .collect();
    let mails: Vec<Value> = (0..3).map(|n| json!({"address": format!("noc{n}@example.org")})).collect();
    let layer = json!({"enabled": {"email": true, "webhook": true},
        "email_recipients": mails, "webhook_recipients": hooks});
    test.t.alert_layer(organization, layer).await;
    // The first one is tried again.
    let refused = std::sync::atomic::AtomicBool::new(false);
    test.hook.answer_by(move |_| {
        let is_first = !refused.swap(true, std::sync::atomic::Ordering::SeqCst);
        Answer::status(if is_first { 503 } else { 200 })
    });
    let alerts: Vec<Value> = (0..ALERTS)
        .map(|n| {
            json!({"labels": {"alertname": "Many", "severity": "critical", "n": n.to_string()},
                "annotations": {"summary": "x".repeat(1000)}})
        })
        .collect();
    test.client().push(&json!(alerts).to_string()).await.expect(200);
    test.after(30 * SECOND).await;
    let requests = test.hook.take();
    assert_eq!(requests.len(), 6);
    for request in &requests {
        assert_eq!(request.body, requests[0].body);
    }
    assert_eq!(requests[0].json().unwrap()["alerts"].as_array().unwrap().len(), ALERTS);
    let paths: BTreeSet<&str> = requests.iter().map(|r| r.path.as_str()).collect();
    assert_eq!(paths.len(), 5);
    let mails = test.mails();
    assert_eq!(mails.len(), 3);
    assert!(mails.iter().all(|m| m.subject().starts_with("[FIRING:400] Many") && m.text == mails[0].text));
});
