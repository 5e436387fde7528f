//! Saving, reading back, removing.

use super::*;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Engine, api_test};
use futures_util::future::join_all;

// Proves spec: alert-guarantees#guarantees 18.
api_test!(what_is_saved_is_read_back_in_both_forms, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let none = json!({"email": null, "webhook": null, "telegram": null, "slack": null, "teams": null, "pagerduty": null});
    let nothing = json!({"enabled": none, "email_recipients": [], "webhook_recipients": [], "telegram_recipients": [],
        "slack_recipients": [], "teams_recipients": [], "pagerduty_recipients": [], "systems": [], "updated_by_name": null,
        "updated_at": null, "warnings": [], "config": null});
    assert_eq!(get(&t, &owner, "").await, nothing);

    let system = t.system(tree.owner).await;
    let mut layer = three();
    layer["enabled"]["webhook"] = json!(false);
    for channel in ["slack", "teams", "pagerduty"] {
        layer["enabled"][channel] = json!(true);
    }
    let mut off = none.clone();
    off["email"] = json!(false);
    layer["systems"] = json!([{"system_key": system.key, "enabled": off,
        "email_recipients": [{"address": "off@example.org", "severities": [], "language": "en", "format": "plain"}],
        "webhook_recipients": [], "telegram_recipients": [], "slack_recipients": [], "teams_recipients": [],
        "pagerduty_recipients": []}]);
    let reply = post(&t, &owner, "", layer.clone()).await.expect(200);
    assert_eq!(reply.message(), "alerting configuration updated successfully");
    // The owner, two branches of three.
    let warnings = ["email delivery is not configured", "telegram delivery is not available"];
    let off = [
        "webhook is switched off: its recipients are not notified".to_owned(),
        format!("email is switched off: its recipients of {} are not notified", system.key),
    ];
    let all: Vec<String> = warnings.into_iter().map(str::to_owned).chain(off).collect();
    assert_eq!(reply.data(), json!({"warnings": all, "propagated_to": 7, "affected_tenants": 7}));

    let shown = get(&t, &owner, "").await;
    for (key, value) in layer.as_object().unwrap() {
        assert_eq!(&shown[key], value, "{key}");
    }
    assert_eq!((&shown["updated_by_name"], &shown["warnings"]), (&json!("Owner"), &json!(warnings)));
    assert!(shown["updated_at"].as_str().is_some_and(|at| at.ends_with('Z')));
    let flat = shown["config"].clone();
    assert_eq!(flat["webhook_receivers"], json!([{"name": "hook", "url": "https://8.8.8.8/h?key=secret"}]));
    assert_eq!(flat["systems"][0]["mail_addresses"], json!(["off@example.org"]));

    // An older client sends the flat form back, a newer one the whole answer: no recipient is lost.
    post(&t, &owner, "", flat.clone()).await.expect(200);
    let saved = get(&t, &owner, "").await;
    assert_eq!(saved["config"], flat);
    for key in ["slack_recipients", "teams_recipients", "pagerduty_recipients"] {
        assert_eq!(saved[key], layer[key], "the flat form does not have {key}");
    }
    post(&t, &owner, "", shown.clone()).await.expect(200);
    let again = get(&t, &owner, "").await;
    for key in layer.as_object().unwrap().keys() {
        assert_eq!(again[key], shown[key], "{key}");
    }
});

api_test!(an_older_client_can_save_after_a_system_with_a_kept_override_has_left, |t| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    let query = format!("?organization_id={}", tree.customer);
    let (stays, leaves) = (t.system(tree.customer).await, t.system(tree.customer).await);
    let slack = json!([{"name": "ops", "url": "https://8.8.8.8/slack"}]);
    let one = |key: &str| json!({"system_key": key, "slack_recipients": slack});
    post(&t, &owner, &query, json!({"systems": [one(&stays.key), one(&leaves.key)]})).await.expect(200);
    let moved = json!({"organization_id": tree.other_customer});
    t.put(&format!("/api/systems/{}", leaves.id)).bearer(&owner.token).json(moved).send().await.expect(200);
    post(&t, &owner, &query, json!({"mail_addresses": ["a@example.org"]})).await.expect(200);
    let systems = get(&t, &owner, &query).await["systems"].clone();
    assert_eq!(systems.as_array().unwrap().len(), 1);
    assert_eq!(systems[0]["system_key"], stays.key.as_str());
    // One that the client names itself must be there.
    let named = json!({"systems": [{"system_key": leaves.key, "mail_enabled": true}]});
    post(&t, &owner, &query, named).await.expect(400);
});

api_test!(who_is_not_the_owner_only_adds, |t| async move {
    let tree = t.tree().await;
    let admin = t.user(tree.reseller, &["admin"]).await;
    let body = json!({"enabled": {"email": false, "webhook": true}});
    let saved = post(&t, &admin, "", body).await.expect(200).data();
    assert_eq!(saved, json!({"warnings": [], "propagated_to": 2, "affected_tenants": 2}));
    let shown = get(&t, &admin, "").await;
    assert_eq!((&shown["enabled"]["email"], &shown["enabled"]["webhook"]), (&json!(null), &json!(true)));
});

// Proves spec: acceptance#scenarios 34.
api_test!(both_spellings_are_one_and_the_audit_has_no_secret, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let query = format!("?organization_id={}", tree.customer);
    post(&t, &owner, &query, three()).await.expect(200);
    for (path, texts) in [
        (
            "/api/alerting/config",
            ["alerting configuration retrieved successfully", "all alerts disabled successfully"],
        ),
        (
            "/api/alerts/config",
            ["alerting layer retrieved successfully", "alerting layer removed successfully"],
        ),
    ] {
        let path = format!("{path}{query}");
        t.get(&path).bearer(&owner.token).send().await.expect_message(200, texts[0]);
        let removed = t.delete(&path).bearer(&owner.token).send().await;
        removed.expect_message(200, texts[1]);
        let again = t.delete(&path).bearer(&owner.token).send().await.expect(200).data();
        assert_eq!(again, json!({"warnings": [], "propagated_to": 1, "affected_tenants": 1}));
    }
    assert_eq!(get(&t, &owner, &query).await["config"], Value::Null);
    let rows: Vec<(String, Option<String>, Option<String>)> = Q::new(
        "SELECT action, CAST(before AS TEXT), CAST(after AS TEXT) FROM audit_log WHERE object_type = 'alert_config' ORDER BY at, id",
    )
    .all(&t.app.platform.db)
    .await
    .unwrap();
    let actions: Vec<&str> = rows.iter().map(|r| r.0.as_str()).collect();
    assert_eq!(actions, ["alert_config.update", "alert_config.remove"]);
    let snapshot = rows[0].2.clone().unwrap();
    assert!(rows[0].1.is_none() && rows[1].1.as_ref() == Some(&snapshot) && rows[1].2.is_none());
    assert!(snapshot.contains("noc@example.org") && !snapshot.contains("secret"), "{snapshot}");
});

// Proves spec: acceptance#scenarios 34.
api_test!(removing_clears_the_own_layer_only, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let query_of = |organization| format!("?organization_id={organization}");
    let others = [
        query_of(tree.owner),
        query_of(tree.distributor),
        query_of(tree.customer),
        query_of(tree.other_reseller),
    ];
    let mut before = Vec::new();
    for (n, query) in others.iter().chain([&query_of(tree.reseller)]).enumerate() {
        let body = json!({"email_recipients": [{"address": format!("n{n}@example.org")}]});
        post(&t, &owner, query, body).await.expect(200);
    }
    for query in &others {
        before.push(get(&t, &owner, query).await);
    }
    t.delete(&format!("{PATH}{}", query_of(tree.reseller))).bearer(&owner.token).send().await.expect(200);
    assert_eq!(get(&t, &owner, &query_of(tree.reseller)).await["config"], Value::Null);
    for (query, before) in others.iter().zip(before) {
        let after = get(&t, &owner, query).await;
        assert_eq!(
            (&after, after["email_recipients"].as_array().map(Vec::len)),
            (&before, Some(1)),
            "{query}"
        );
    }
});

// Each save keeps the webhook of the one before by its hidden form; with one of them lost it would be refused.
api_test!(saves_to_one_organization_follow_each_other, |t| async move {
    let owner = t.owner().await;
    let replica = if t.engine == Engine::Postgres { Some(t.replica().await) } else { None };
    post(&t, &owner, "", three()).await.expect(200);
    let hidden = json!({"name": "hook", "url": "https://8.8.8.8/[REDACTED]"});
    let saves = (0..4).map(|n| {
        let t = replica.as_ref().filter(|_| n % 2 == 1).unwrap_or(&t);
        let mails = json!([{"address": format!("n{n}@example.org")}]);
        post(t, &owner, "", json!({"email_recipients": mails, "webhook_recipients": [hidden]}))
    });
    for reply in join_all(saves).await {
        assert!(reply.status == 200, "{}", reply.text());
    }
    let shown = get(&t, &owner, "").await;
    assert_eq!(shown["webhook_recipients"][0]["url"], "https://8.8.8.8/h?key=secret");
    assert_eq!(shown["email_recipients"].as_array().unwrap().len(), 1);
    let (rows,): (i64,) =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM audit_log WHERE action = 'alert_config.update'")
            .one(&t.app.platform.db)
            .await
            .unwrap();
    assert_eq!(rows, 5);
});

// See spec: alert-configuration#opening.
api_test!(a_recipient_that_is_saved_opens_its_channel, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let reseller = t.user(tree.reseller, &["admin"]).await;
    let system = t.system(tree.customer).await;
    let customer = t.user(tree.customer, &["admin"]).await;
    let mails = |toggle: Value| json!({"enabled": {"email": toggle}, "email_recipients": [{"address": "noc@example.org"}]});
    let toggle = async |who: &Persona| get(&t, who, "").await["enabled"]["email"].clone();
    let off = |cause: &str| format!("email is switched off{cause}: its recipients are not notified");
    let warnings = |saved: &Value| -> Vec<String> {
        let all = saved["warnings"].as_array().unwrap().iter().map(|w| w.as_str().unwrap().to_owned());
        all.filter(|w| w.contains("switched off")).collect()
    };
    // No setting: as null, or by leaving the key out.
    let bare = json!({"email_recipients": [{"address": "noc@example.org"}]});
    for body in [mails(json!(null)), bare] {
        let saved = post(&t, &reseller, "", body).await.expect(200).data();
        assert_eq!((toggle(&reseller).await, warnings(&saved)), (json!(true), vec![]));
    }
    // An explicit "off" stays.
    let saved = post(&t, &reseller, "", mails(json!(false))).await.expect(200).data();
    assert_eq!((toggle(&reseller).await, warnings(&saved)), (json!(null), vec![off("")]));
    // Without recipients there is nothing to open.
    post(&t, &reseller, "", json!({"enabled": {"email": null}})).await.expect(200);
    assert_eq!(toggle(&reseller).await, json!(null));
    // The owner forbids it.
    post(&t, &owner, "", json!({"enabled": {"email": false}})).await.expect(200);
    let saved = post(&t, &customer, "", mails(json!(null))).await.expect(200).data();
    assert_eq!((toggle(&customer).await, warnings(&saved)), (json!(null), vec![off(" by Owner")]));
    // An explicit setting switches it on all the same, for those below too.
    let saved = post(&t, &reseller, "", mails(json!(true))).await.expect(200).data();
    assert_eq!((toggle(&reseller).await, warnings(&saved)), (json!(true), vec![]));
    let saved = post(&t, &customer, "", mails(json!(null))).await.expect(200).data();
    assert_eq!((toggle(&customer).await, warnings(&saved)), (json!(true), vec![]));
    // Overrides follow the same rule.
    let mut single = mails(json!(null));
    single["system_key"] = json!(system.key);
    post(&t, &customer, "", json!({"systems": [single.clone()]})).await.expect(200);
    let stored = get(&t, &customer, "").await;
    assert_eq!(stored["systems"][0]["enabled"]["email"], json!(true));
    single["enabled"]["email"] = json!(false);
    let saved = post(&t, &customer, "", json!({"systems": [single]})).await.expect(200).data();
    let warning = format!("email is switched off: its recipients of {} are not notified", system.key);
    assert_eq!(warnings(&saved), vec![warning]);
});
