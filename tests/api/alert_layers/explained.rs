//! The recipients that an alert would have, and the reasons, as an operator asks for them.

use super::*;
use bailiwick_alerting::Labels;
use bailiwick_alerts::config::{self, Explanation};
use bailiwick_testkit::api_test;

fn told(found: &Explanation) -> Vec<String> {
    let each = |c: &config::Channel| {
        let told = c.told.iter().map(|(who, from)| format!("{who} < {from}")).collect::<Vec<_>>().join("; ");
        format!("{} {}: {told}", c.name, c.why)
    };
    found.channels.iter().map(each).collect()
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().copied().collect()
}

api_test!(an_operator_is_told_who_is_told_and_why, |t| async move {
    let tree = t.tree().await;
    t.alert_layer(tree.owner, three()).await;
    t.alert_layer(
        tree.customer,
        json!({"enabled": {"webhook": true}, "email_recipients": [
        {"address": "noc@example.org", "severities": ["info"]}],
        "systems": [{"system_key": "SYS-1", "enabled": {"telegram": false},
            "email_recipients": [{"address": "one@example.org"}]}]}),
    )
    .await;
    let explain =
        async |pairs: &[(&str, &str)]| config::explain(&t.app, tree.customer, labels(pairs)).await.unwrap();
    let found = explain(&[("severity", "critical"), ("alertname", "A")]).await;
    assert_eq!(found.organization, ("Alfa Customer".to_owned(), "customer"));
    assert_eq!(found.receiver, Some(format!("{}-severity-critical-receiver", tree.customer)));
    assert_eq!(
        told(&found),
        [
            "email on by Owner: noc@example.org (it) < Owner, Alfa Customer",
            "webhook on by Alfa Customer: hook https://8.8.8.8/[REDACTED] < Owner",
            "telegram on by Owner: ",
        ]
    );
    let found = explain(&[("system_key", "SYS-1"), ("severity", "nonsense")]).await;
    assert_eq!(found.severity.as_str(), "info");
    assert_eq!(
        told(&found),
        [
            "email on by Owner: one@example.org (en) < the override for the system",
            "webhook on by Alfa Customer: hook https://8.8.8.8/[REDACTED] < Owner",
            "telegram off by the override for the system: ",
        ]
    );
    t.suspend_organization(tree.customer).await;
    let found = explain(&[]).await;
    assert_eq!(told(&found)[1], "webhook off: no organization has switched it on: ");
    let foreign = explain(&[("organization_id", "another")]).await;
    assert_eq!((foreign.receiver, foreign.route.as_str()), (None, "{}"));
    assert!(config::explain(&t.app, t.app.fresh(), labels(&[])).await.is_err());
});
