//! Many groups of many tenants at the same moment.

use super::*;
use bailiwick_domain::OrgType;
use std::{collections::BTreeSet, time::Instant};

/// Tenants, all below one reseller whose webhook hears of every alert. More of them for a measurement:
/// `BAILIWICK_DELIVERY_TENANTS=1000`.
fn tenants() -> usize {
    std::env::var("BAILIWICK_DELIVERY_TENANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(25)
}

/// Alerts of each, every one of them a group.
const ALERTS: usize = 20;

on_both!(each_is_told_once_and_soon, |engine| async {
    let told = Told::start(engine).await;
    let tree = told.t.tree().await;
    let layer = json!({"enabled": {"webhook": true},
        "webhook_recipients": [{"name": "hook", "url": format!("{}/hook", told.hook.url())}]});
    told.t.alert_layer(tree.reseller, layer).await;
    let mut expected = BTreeSet::new();
    for n in 0..tenants() {
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
    let due = Instant::now();
    told.hook.wait_for(1, 20 * SECOND).await.unwrap();
    let first = due.elapsed();
    told.hook.wait_for(expected.len(), 300 * SECOND).await.unwrap();
    let last = due.elapsed();
    println!(
        "{engine:?}: {} notifications, the first after {first:?}, the last after {last:?}",
        expected.len()
    );
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
