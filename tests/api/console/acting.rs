//! Impersonation in the console: the band, whose rights count, what is recorded, the way out.

use super::{Browser, set_cookie};
use bailiwick_testkit::api_test;
use serde_json::json;

api_test!(somebody_acts_as_another_person_and_comes_back, |t| async move {
    let tree = t.tree().await;
    let by = t.user(tree.distributor, &["super"]).await;
    let target = t.user(tree.customer, &["reader"]).await;
    let system = t.system(tree.customer).await;
    let consent = t.post("/api/impersonate/consent").bearer(&target.token);
    consent.json(json!({"duration_hours": 2})).send().await.expect(200);
    let started = t.post("/api/impersonate").bearer(&by.token).json(json!({"user_id": target.id}));
    let session = started.send().await.expect(200).data()["session_id"].as_str().unwrap().to_owned();

    let mut browser = Browser::of(&t, &by).await;
    let home = browser.get("/console/").await.expect(200).text();
    assert!(home.contains("impersonation of") && home.contains("/console/acting/go-on"), "{home}");
    browser.post("/console/acting/go-on", &[]).await.expect(303);
    let acting = browser.get(&format!("/console/systems/{}", system.id)).await.expect(200).text();
    assert!(acting.contains("You act as") && !acting.contains(&format!("{}/edit", system.id)), "{acting}");
    browser.post(&format!("/console/systems/{}/suspend", system.id), &[]).await.expect(403);
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
});

api_test!(an_impersonation_that_is_over_leads_out, |t| async move {
    let tree = t.tree().await;
    let by = t.user(tree.distributor, &["super"]).await;
    let target = t.user(tree.customer, &["admin"]).await;
    let consent = t.post("/api/impersonate/consent").bearer(&target.token);
    consent.json(json!({"duration_hours": 2})).send().await.expect(200);
    t.post("/api/impersonate").bearer(&by.token).json(json!({"user_id": target.id})).send().await.expect(200);
    let browser = Browser::of(&t, &by).await;
    browser.post("/console/acting/go-on", &[]).await.expect(303);
    t.delete("/api/impersonate/consent").bearer(&target.token).send().await.expect(200);
    let over = browser.get("/console/systems").await.expect(401).text();
    assert!(over.contains("The impersonation is over") && over.contains("/console/acting/back"));
    browser.post("/console/acting/back", &[]).await.expect(303);
    browser.get("/console/systems").await.expect(200);
});
