//! Many groups of many tenants at the same moment.

use super::*;
use bailiwick_domain::OrgType;
use std::collections::BTreeSet;

/// Tenants, all below one reseller whose webhook hears of every alert.
const TENANTS: usize = 25;

/// Alerts of each, every one of them a group.
const ALERTS: usize = 20;

on_both!(each_is_told_once_and_soon, |engine| async {
    let told = Told::start(engine).await;
    let tree = told.t.tree().await;
    let layer = json!({"enabled": {"webhook": true},
        "webhook_recipients": [{"name": "hook", "url": format!("{}/hook", told.hook.url())}]});
    told.t.alert_layer(tree.reseller, layer).await;
    let mut expected = BTreeSet::new();
    for n in 0..TENANTS {
        let tenant = told.t.organization(tree.reseller, OrgType::Customer, &format!("Tenant {n}")).await;
        let system = told.t.system(tenant).await;
        let alerts: Vec<Value> =
            (0..ALERTS).map(|i| json!({"labels": {"alertname": format!("A{n}x{i}")}})).collect();
        expected.extend((0..ALERTS).map(|i| format!("A{n}x{i}")));
        Client { test: &told.t, system }.push(&json!(alerts).to_string()).await.expect(200);
    }
    deliver::run_until_idle(&told.t.app).await.unwrap();
    assert_eq!(told.hook.requests().len(), 0);
    told.t.advance(30 * SECOND);
    told.hook.wait_for(expected.len(), 300 * SECOND).await.unwrap();
    deliver::run_until_idle(&told.t.app).await.unwrap();
    let heard: Vec<String> = told
        .hook
        .take()
        .iter()
        .map(|r| r.json().unwrap()["commonLabels"]["alertname"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(heard.len(), expected.len());
    assert_eq!(heard.into_iter().collect::<BTreeSet<_>>(), expected);
});
