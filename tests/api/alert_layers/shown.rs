//! The parts of a layer, and of the configuration in force, that each caller sees.

use super::*;
use bailiwick_domain::OrgId;
use bailiwick_policy::KeyMode;
use bailiwick_testkit::api_test;

const HIDDEN: &str = "https://8.8.8.8/[REDACTED]";

api_test!(secrets_are_shown_to_who_may_change_them_in_person, |t| async move {
    let tree = t.tree().await;
    t.alert_layer(tree.distributor, three()).await;
    let admin = t.user(tree.distributor, &["admin"]).await;
    let open = get(&t, &admin, "").await;
    assert_eq!(open["telegram_recipients"][0]["bot_token"], "12:secret");
    assert_eq!(open["config"]["webhook_receivers"][0]["url"], "https://8.8.8.8/h?key=secret");
    let (_, key) = t.api_key(admin.id, KeyMode::Write).await;
    let by_key = t.get(PATH).bearer(&key).send().await.expect(200);
    assert!(!by_key.text().contains("secret"), "{}", by_key.text());
    assert_eq!(by_key.data()["webhook_recipients"][0]["url"], HIDDEN);
    // A hidden value that is sent back as it was shown keeps the stored one.
    t.post(PATH).bearer(&key).json(by_key.data()).send().await.expect(200);
    assert_eq!(get(&t, &admin, "").await["telegram_recipients"], open["telegram_recipients"]);
    assert_eq!(get(&t, &admin, "").await["webhook_recipients"], open["webhook_recipients"]);

    let yaml = get(&t, &admin, "?format=yaml").await;
    let text = yaml["config"].as_str().unwrap();
    assert!(text.contains("bot_token: '[REDACTED]'") && !text.contains("secret"), "{text}");
    assert!(
        text.contains(&format!("organization_id=\\\"{}\\\"", tree.distributor))
            || text.contains(&tree.distributor.to_string())
    );
    let nobody = t.user(tree.other_distributor, &["admin"]).await;
    assert_eq!(get(&t, &nobody, "?format=yaml").await, json!({"config": null}));
});

async fn effective(t: &Test, who: &Persona, tenant: OrgId) -> Value {
    let path = format!("{PATH}/effective?organization_id={tenant}");
    let reply = t.get(&path).bearer(&who.token).send().await.expect(200);
    assert_eq!(reply.message(), "effective alerting configuration retrieved successfully");
    assert!(!reply.text().contains("secret"), "{}", reply.text());
    reply.data()
}

api_test!(what_is_in_force_is_shown_with_where_it_comes_from, |t| async move {
    let tree = t.tree().await;
    t.alert_layer(tree.owner, three()).await;
    let mails = |list: Value| json!({"enabled": {"email": true}, "email_recipients": list});
    let own = json!([{"address": "noc@example.org", "severities": ["info"]}, {"address": "own@example.org"}]);
    t.alert_layer(tree.reseller, mails(own)).await;
    let owner = t.owner().await;
    let merged = effective(&t, &owner, tree.customer).await;
    assert_eq!(merged["organization_id"], tree.customer.to_string());
    let roles: Vec<&str> = merged["chain"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l["organization_role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["owner", "distributor", "reseller", "customer"]);
    let has: Vec<bool> =
        merged["chain"].as_array().unwrap().iter().map(|l| l["has_layer"].as_bool().unwrap()).collect();
    assert_eq!(has, [true, false, true, false]);
    assert_eq!(merged["chain"][0]["updated_by_name"], "Seed");
    assert_eq!(merged["chain"][1]["layer"], Value::Null);
    assert_eq!(
        merged["effective"]["email_recipients"],
        json!([
        {"address": "noc@example.org", "severities": ["critical", "info"], "language": "it", "format": "html"},
        {"address": "own@example.org", "severities": [], "language": "en", "format": "html"}])
    );
    assert_eq!(merged["effective"]["webhook_recipients"][0]["url"], HIDDEN);
    assert!(merged["yaml"].as_str().unwrap().contains("noc@example.org"));

    // From below, those above are hidden whole; whether one's own address is among them does not show.
    let below = t.user(tree.reseller, &["super"]).await;
    let merged = effective(&t, &below, tree.customer).await;
    assert_eq!(
        merged["effective"]["email_recipients"],
        json!([
        {"address": "[REDACTED]", "severities": ["critical"], "language": "it", "format": "html"},
        {"address": "noc@example.org", "severities": ["info"], "language": "en", "format": "html"},
        {"address": "own@example.org", "severities": [], "language": "en", "format": "html"}])
    );
    let above = &merged["chain"][0];
    assert_eq!(
        (&above["updated_by_name"], &above["layer"]["email_recipients"][0]["address"]),
        (&Value::Null, &json!("[REDACTED]"))
    );
    assert_eq!(above["layer"]["webhook_recipients"][0]["name"], "[REDACTED]");
    let yaml = merged["yaml"].as_str().unwrap().to_owned();
    assert!(!yaml.contains("8.8.8.8") && yaml.contains("own@example.org"), "{yaml}");
    let listed = get(&t, &below, &format!("?format=yaml&organization_id={}", tree.customer)).await;
    assert_eq!(listed["config"], yaml);

    // A layer that does not count is shown, but not in force.
    t.suspend_organization(tree.reseller).await;
    let merged = effective(&t, &owner, tree.customer).await;
    assert_eq!(merged["chain"][2]["has_layer"], true);
    assert_eq!(merged["effective"]["email_recipients"].as_array().unwrap().len(), 1);
});
