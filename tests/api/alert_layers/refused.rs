//! Refused configurations, and the words of the refusals.

use super::*;
use bailiwick_testkit::api_test;

fn fields(reply: &Reply) -> Vec<String> {
    let errors = reply.data()["errors"].as_array().expect("errors").clone();
    errors
        .iter()
        .map(|e| format!("{}: {}", e["key"].as_str().unwrap(), e["message"].as_str().unwrap()))
        .collect()
}

api_test!(wrong_bodies_name_their_fields_and_leak_no_secret, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let foreign = t.system(tree.distributor).await;
    for (body, text) in [
        (json!([]), "invalid request body: must be a JSON object"),
        (json!({"enabled": true}), "invalid request body: enabled has the wrong type"),
        (json!({"mail_enabled": true, "enabled": {}}), "invalid request body: mixed configuration forms"),
        (
            json!({"severities": [{"severity": "X"}]}),
            "invalid severity level: X. allowed: critical, warning, info",
        ),
        (json!({"email_template_lang": "fr"}), "invalid email_template_lang: allowed values are en, it"),
    ] {
        post(&t, &owner, "", body).await.expect_message(400, text);
    }
    for (body, expected) in [
        (json!({"email_recipients": [{"address": "x"}]}), "email_recipients.0.address: invalid_format"),
        (
            json!({"webhook_recipients": [{"name": "a", "url": "https://127.0.0.1/secret"}]}),
            "webhook_recipients.0.url: host_not_publicly_routable",
        ),
        (
            json!({"webhook_recipients": [{"name": "a", "url": "https://nowhere.invalid/secret"}]}),
            "webhook_recipients.0.url: dns_resolution_failed",
        ),
        (
            json!({"webhook_recipients": [{"name": "a", "url": "https://[::ffff:10.0.0.1]/secret"}]}),
            "webhook_recipients.0.url: host_not_publicly_routable",
        ),
        (
            json!({"webhook_recipients": [{"name": "a", "url": "https://8.8.8.8/[REDACTED]"}]}),
            "webhook_recipients.0.url: invalid_value",
        ),
        (
            json!({"telegram_recipients": [{"bot_token": "1:secret ", "chat_id": 1}]}),
            "telegram_recipients.0.bot_token: invalid_format",
        ),
        (
            json!({"telegram_receivers": [{"bot_token": "1:secret", "chat_id": 0}]}),
            "telegram_receivers.0.chat_id: invalid_value",
        ),
        (json!({"systems": [{"system_key": foreign.key}]}), "systems.0.system_key: invalid_value"),
    ] {
        let reply = post(&t, &owner, "", body.clone()).await.expect(400);
        assert_eq!(
            (reply.message(), fields(&reply)),
            ("validation failed".to_owned(), vec![expected.to_owned()]),
            "{body}"
        );
        assert!(!reply.text().contains("secret"), "{}", reply.text());
    }
    let huge = t.post(PATH).bearer(&owner.token).body("x".repeat(1_048_577)).send().await;
    huge.expect_message(413, "request body exceeds the configured maximum");
    assert_eq!(get(&t, &owner, "").await["config"], Value::Null, "nothing was stored");
});

api_test!(
    an_operator_lets_webhooks_in,
    |settings| {
        settings.alerting.allowed_hosts =
            bailiwick_settings::AllowedHosts::new(["localhost".to_owned()], Vec::new());
    },
    |t| async move {
        let owner = t.owner().await;
        let hook = |url: &str| json!({"webhook_recipients": [{"name": "a", "url": url}]});
        post(&t, &owner, "", hook("http://localhost:8065/hooks/x")).await.expect(200);
        post(&t, &owner, "", hook("http://127.0.0.1/hooks/x")).await.expect(400);
    }
);

api_test!(an_organization_out_of_reach_is_refused_like_none, |t| async move {
    const TEXT: &str = "access denied: organization not in your hierarchy";
    let tree = t.tree().await;
    let unknown = "0195fada-0000-7000-8000-00000000dead";
    for (org, foreign) in [
        (tree.owner, vec![]),
        (tree.distributor, vec![tree.owner, tree.other_distributor, tree.other_customer]),
        (tree.reseller, vec![tree.owner, tree.distributor, tree.other_reseller]),
    ] {
        let who = t.user(org, &["super"]).await;
        let named = foreign.iter().map(ToString::to_string);
        for id in named.chain([unknown.to_owned(), "x".to_owned()]) {
            let path = format!("{PATH}?organization_id={id}");
            for call in [
                t.get(&path),
                t.delete(&path),
                t.post(&path).body("{"),
                t.get(&path.replace("config", "config/effective")),
            ] {
                call.bearer(&who.token).send().await.expect_message(403, TEXT);
            }
        }
        let own = t.get(&format!("{PATH}/effective")).bearer(&who.token).send().await;
        own.expect_message(400, "organization_id query parameter is required");
    }
    t.delete_organization(tree.other_customer).await;
    let owner = t.owner().await;
    let deleted = format!("{PATH}?organization_id={}", tree.other_customer);
    t.get(&deleted).bearer(&owner.token).send().await.expect_message(403, TEXT);
    // For customers it is always their own organization, whatever the parameter.
    let customer = t.user(tree.customer, &["super"]).await;
    let query = format!("?organization_id={}", tree.owner);
    post(&t, &customer, &query, json!({"enabled": {"email": true}})).await.expect(200);
    assert_eq!(get(&t, &customer, "").await["enabled"]["email"], true);
    assert_eq!(get(&t, &owner, "").await["config"], Value::Null);
    let view =
        t.get(&format!("{PATH}/effective{query}")).bearer(&customer.token).send().await.expect(200).data();
    assert_eq!(view["organization_id"], tree.customer.to_string());
});
