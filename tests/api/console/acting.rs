//! Impersonation in the console: the band, whose rights count, what is recorded, the way out.

use super::{Browser, ORIGIN, set_cookie};
use bailiwick_testkit::api_test;
use serde_json::json;

api_test!(somebody_acts_as_another_person_and_comes_back, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let target = t.user(tree.customer, &["reader"]).await;
    let system = t.system(tree.customer).await;
    let consent = t.post("/api/impersonate/consent").bearer(&target.token);
    consent.json(json!({"duration_hours": 2})).send().await.expect(200);
    let started = t.post("/api/impersonate").bearer(&actor.token).json(json!({"user_id": target.id}));
    let session = started.send().await.expect(200).data()["session_id"].as_str().unwrap().to_owned();

    let mut browser = Browser::of(&t, &actor).await;
    let home = browser.get("/console/").await.expect(200).text();
    assert!(home.contains("impersonation of") && home.contains("/console/acting/go-on"), "{home}");
    browser.post("/console/acting/go-on", &[]).await.expect(303);
    let acting = browser.get(&format!("/console/systems/{}", system.id)).await.expect(200).text();
    assert!(acting.contains("You act as") && !acting.contains(&format!("{}/edit", system.id)), "{acting}");
    browser.post(&format!("/console/systems/{}/suspend", system.id), &[]).await.expect(403);
    browser.post("/console/preferences", &[("theme", "dark")]).await.expect(303);
    let back = browser.post("/console/acting/back", &[]).await.expect(303);
    browser.cookie = set_cookie(&back, "bailiwick-console").expect("a new cookie");
    let own = browser.get(&format!("/console/systems/{}", system.id)).await.expect(200).text();
    assert!(!own.contains("You act as") && own.contains(&format!("{}/edit", system.id)));

    let audit = t.get(&format!("/api/impersonate/sessions/{session}/audit")).bearer(&target.token);
    let audit = audit.send().await.expect(200).text();
    assert!(
        audit.contains(&format!("/console/systems/{}/suspend", system.id)) && audit.contains("403"),
        "{audit}"
    );
    assert!(audit.contains("/console/preferences"), "{audit}");
});

api_test!(forms_in_an_impersonation_are_recorded_without_their_secrets, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let target = t.user(tree.reseller, &["admin"]).await;
    let system = t.system(tree.customer).await;
    let consent = t.post("/api/impersonate/consent").bearer(&target.token);
    consent.json(json!({"duration_hours": 2})).send().await.expect(200);
    let started = t.post("/api/impersonate").bearer(&actor.token).json(json!({"user_id": target.id}));
    let session = started.send().await.expect(200).data()["session_id"].as_str().unwrap().to_owned();
    let browser = Browser::of(&t, &actor).await;
    browser.post("/console/acting/go-on", &[]).await.expect(303);
    let customer = tree.customer.to_string();
    let edit = [
        ("name", "Renamed"),
        ("notes", "Two\r\nlines"),
        ("data_key", "api_key"),
        ("data_value", "hunter2"),
        ("data_key", "rack"),
        ("data_value", "7"),
        ("organization_id", &*customer),
    ];
    browser.post(&format!("/console/systems/{}/edit", system.id), &edit).await.expect(303);
    let layer = [
        ("organization_id", &*customer),
        ("webhook_recipients.rows", "1"),
        ("webhook_recipients.0.name", "hook"),
        ("webhook_recipients.0.url", "hunter2-is-no-address"),
        ("webhook_recipients.0.severities", "critical"),
        ("webhook_recipients.0.severities", "info"),
        ("telegram_recipients.rows", "1"),
        ("telegram_recipients.0.bot_token", "1:hunter2"),
        ("email_recipients.0.address", "https://host.example/hunter2"),
    ];
    browser.post("/console/notifications/edit", &layer).await.expect(422);
    let password = [("new_password", "Hunter2-hunter2"), ("new_password_again", "Hunter2-hunter2")];
    browser.post(&format!("/console/users/{}/password", target.id), &password).await;
    browser.post(&format!("/console/systems/{}/suspend", system.id), &[]).await.expect(303);
    let odd = browser.call(axum::http::Method::POST, &format!("/console/systems/{}/suspend", system.id));
    let odd = odd.header("origin", ORIGIN).header("content-type", "application/x-www-form-urlencoded");
    odd.body("{\"password\":\"hunter2\"}").send().await;

    let audit =
        t.get(&format!("/api/impersonate/sessions/{session}/audit?page_size=100")).bearer(&target.token);
    let audit = audit.send().await.expect(200);
    assert!(!audit.text().to_lowercase().contains("hunter2"), "{}", audit.text());
    let entries = audit.data()["entries"].as_array().unwrap().clone();
    let data = |tail: &str| -> Vec<String> {
        let ours = entries.iter().filter(|e| e["api_endpoint"].as_str().is_some_and(|p| p.ends_with(tail)));
        ours.map(|e| e["request_data"].as_str().unwrap_or("none").to_owned()).collect()
    };
    let json_of = |tail: &str| -> serde_json::Value { serde_json::from_str(&data(tail)[0]).unwrap() };
    let edited = json_of(&format!("{}/edit", system.id));
    assert_eq!((&edited["name"], &edited["organization_id"]), (&json!("Renamed"), &json!(customer)));
    assert_eq!(edited["custom_data"], json!({"api_key": "[REDACTED]", "rack": "7"}));
    let layer = json_of("/notifications/edit");
    let hook = &layer["webhook_recipients"]["0"];
    assert_eq!((&hook["name"], &hook["severities"]), (&json!("hook"), &json!(["critical", "info"])));
    assert_eq!(layer["telegram_recipients"]["0"]["bot_token"], "[REDACTED]");
    assert_eq!(json_of("/password")["new_password"], "[REDACTED]");
    assert_eq!(data("/suspend"), ["none", "[22 bytes of application/x-www-form-urlencoded]"]);
});

api_test!(an_impersonation_that_is_over_leads_out, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let target = t.user(tree.customer, &["admin"]).await;
    let consent = t.post("/api/impersonate/consent").bearer(&target.token);
    consent.json(json!({"duration_hours": 2})).send().await.expect(200);
    let start = t.post("/api/impersonate").bearer(&actor.token).json(json!({"user_id": target.id}));
    start.send().await.expect(200);
    let browser = Browser::of(&t, &actor).await;
    browser.post("/console/acting/go-on", &[]).await.expect(303);
    t.delete("/api/impersonate/consent").bearer(&target.token).send().await.expect(200);
    let over = browser.get("/console/systems").await.expect(401).text();
    assert!(over.contains("The impersonation is over") && over.contains("/console/acting/back"));
    browser.post("/console/preferences", &[("theme", "dark")]).await.expect(303);
    browser.post("/console/acting/back", &[]).await.expect(303);
    browser.get("/console/systems").await.expect(200);
});
