//! The recipients that an alert would have, and the reasons, as an operator asks for them.

use super::*;
use bailiwick_alertmanager::Labels;
use bailiwick_alerts::config::{self, Explanation};
use bailiwick_domain::OrgId;
use bailiwick_identity::{auth::BearerRequest, callers::authenticate_bearer};
use bailiwick_policy::Caller;
use bailiwick_testkit::api_test;

fn channel_lines(explanation: &Explanation) -> Vec<String> {
    let each = |c: &config::Channel| {
        let who = |n: &config::Notified| n.recipient.clone().unwrap_or_else(|| "hidden".to_owned());
        let recipients = c
            .recipients
            .iter()
            .map(|n| format!("{} < {}", who(n), n.source()))
            .collect::<Vec<_>>()
            .join("; ");
        format!("{} {}: {recipients}", c.name, c.why)
    };
    explanation.channels.iter().map(each).collect()
}

async fn caller(t: &Test, user: &Persona) -> Caller {
    let header = format!("Bearer {}", user.token);
    let client_ip = [127, 0, 0, 1].into();
    let request = BearerRequest { authorization: Some(&header), client_ip, method: "GET", path: "/" };
    authenticate_bearer(&t.app.identity, &request).await.unwrap()
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().copied().collect()
}

api_test!(an_operator_sees_recipients_and_the_reason_for_each, |t| async move {
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
    let explain = async |pairs: &[(&str, &str)]| {
        config::explain(&t.app.alerts, tree.customer, labels(pairs)).await.unwrap()
    };
    let explanation = explain(&[("severity", "critical"), ("alertname", "A")]).await;
    assert_eq!(explanation.organization, ("Alfa Customer".to_owned(), "customer"));
    assert_eq!(explanation.receiver, Some(format!("{}-severity-critical-receiver", tree.customer)));
    assert_eq!(
        channel_lines(&explanation),
        [
            "email on by Owner: noc@example.org (it) < Owner, Alfa Customer",
            "webhook on by Alfa Customer: hook https://8.8.8.8/[REDACTED] < Owner",
            "telegram on by Owner: ",
            "slack off: no organization has switched it on: ",
            "teams off: no organization has switched it on: ",
            "pagerduty off: no organization has switched it on: ",
        ]
    );
    let explanation = explain(&[("system_key", "SYS-1"), ("severity", "nonsense")]).await;
    assert_eq!(explanation.severity.as_str(), "info");
    assert_eq!(
        channel_lines(&explanation)[..3],
        [
            "email on by Owner: one@example.org (en) < the override for the system",
            "webhook on by Alfa Customer: hook https://8.8.8.8/[REDACTED] < Owner",
            "telegram off by the override for the system: ",
        ]
    );
    t.suspend_organization(tree.customer).await;
    let explanation = explain(&[]).await;
    assert_eq!(channel_lines(&explanation)[1], "webhook off: no organization has switched it on: ");
    let foreign = explain(&[("organization_id", "another")]).await;
    assert_eq!((foreign.receiver, foreign.route.as_str()), (None, "{}"));
    assert!(config::explain(&t.app.alerts, t.app.platform.fresh(), labels(&[])).await.is_err());
});

api_test!(a_reader_sees_the_recipients_of_their_own_branch, |t| async move {
    let tree = t.tree().await;
    t.alert_layer(tree.owner, three()).await;
    let layer = json!({"enabled": {"email": true}, "email_recipients": [
        {"address": "noc@example.org", "severities": ["info"]}, {"address": "own@example.org"}]});
    t.alert_layer(tree.customer, layer).await;
    let customer = tree.customer.to_string();
    let explain = async |org: OrgId, severity: &str| {
        let user = t.user(org, &["super"]).await;
        let reader = caller(&t, &user).await;
        let labels = labels(&[("severity", severity)]);
        let explanation = config::explain_to(&t.app.alerts, &reader, Some(&customer), labels).await.unwrap();
        channel_lines(&explanation).remove(0)
    };
    let shown = |first: &str| {
        format!("email on by Owner, Alfa Customer: {first}; own@example.org (en) < Alfa Customer")
    };
    let whole = shown("noc@example.org (it) < Owner, Alfa Customer");
    assert_eq!(explain(tree.owner, "critical").await, whole);
    // The owner's layer notifies them of critical alerts.
    assert_eq!(explain(tree.customer, "critical").await, shown("hidden < Owner"));
    assert_eq!(explain(tree.reseller, "critical").await, shown("hidden < Owner"));
    // Of the others their own layer does, in its language.
    assert_eq!(explain(tree.customer, "info").await, shown("noc@example.org (en) < Alfa Customer"));
    let user = t.user(tree.distributor, &["super"]).await;
    let reader = caller(&t, &user).await;
    let foreign =
        config::explain_to(&t.app.alerts, &reader, Some(&tree.other_customer.to_string()), labels(&[])).await;
    assert!(foreign.is_err());
    let admin = t.user(tree.customer, &["admin"]).await;
    let reader = caller(&t, &admin).await;
    assert!(
        config::explain_to(&t.app.alerts, &reader, None, labels(&[])).await.is_err(),
        "needs config:alerts"
    );
});
