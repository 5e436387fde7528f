//! A system's first day (spec: acceptance#scenarios scenarios 22 and 23).

use super::*;
use bailiwick_testkit::api_test;
use std::time::Duration;

// Proves spec: acceptance#scenarios 22.
api_test!(from_its_creation_to_its_silence, |t| async move {
    let tree = t.tree().await;
    let running = t.serve().await;
    let spa = Spa::new(&running, "/api", &t.user(tree.reseller, &["admin"]).await.token);
    let body = json!({"name": "Firewall", "organization_id": tree.customer, "notes": ""});
    let made = spa.post("/systems", body.clone()).await.expect(201).data();
    let (secret, path) = (text(&made, "system_secret"), format!("/systems/{}", text(&made, "id")));
    let status = async || text(&spa.get(&path).await.expect(200).data(), "status");
    let before = spa.get(&path).await.expect(200);
    assert!(!before.text().contains(&secret), "shown once");
    assert_eq!((&before.data()["system_key"], &before.data()["registered_at"]), (&json!(""), &Value::Null));
    assert_eq!(status().await, "unknown");
    let appliance = Spa::new(&running, "/backend/api", "");
    let done = appliance.post("/systems/register", json!({"system_secret": secret})).await.expect(200).data();
    let key = text(&done, "system_key");
    let after = spa.get(&path).await.expect(200).data();
    assert_eq!((&after["system_key"], after["registered_at"].is_string()), (&json!(key), true));
    assert_eq!(status().await, "unknown");
    let beat = || t.post("/collect/api/systems/heartbeat").basic(&key, &secret).send();
    beat().await.expect(200);
    assert_eq!(status().await, "active");
    t.pass(Duration::from_secs(20 * 60 - 1)).await;
    assert_eq!(status().await, "active");
    t.pass(Duration::from_secs(1)).await;
    assert_eq!(status().await, "inactive");
    // Both spellings, of the list's filter and of the totals.
    spa.post("/systems", body).await.expect(201);
    for (status, count) in [("inactive", 1), ("offline", 1), ("unknown", 1), ("active", 0), ("online", 0)] {
        let list =
            spa.get(&format!("/systems{}", page(&format!("&status={status}")))).await.expect(200).data();
        assert_eq!(list["pagination"]["total_count"], count, "{status}");
    }
    let totals = spa.get("/systems/totals").await.expect(200).data();
    for (field, older, count) in [("active", "alive", 0), ("inactive", "dead", 1), ("unknown", "zombie", 1)] {
        assert_eq!((&totals[field], &totals[older]), (&json!(count), &json!(count)), "{totals}");
    }
    assert_eq!((&totals["total"], &totals["timeout_minutes"]), (&json!(2), &json!(20)));
    beat().await.expect(200);
    assert_eq!(status().await, "active");
});

// Proves spec: acceptance#scenarios 23.
api_test!(the_first_inventory_fills_the_system, |t| async move {
    let tree = t.tree().await;
    let running = t.serve().await;
    let owner = t.owner().await;
    let spa = Spa::new(&running, "/api", &owner.token);
    for (document, columns, applications) in [
        (NS8, ["ns8", "3.19.2", "ns1.acme-demo.example", "203.0.113.21", "2001:db8:10::21"], 24),
        (NSEC, ["nsec", "8.7.1", "fw1.acme-demo.example", "203.0.113.130", "2001:db8:77::130"], 0),
    ] {
        let system = t.system(tree.customer).await;
        let path = format!("/systems/{}", system.id);
        let empty = spa.get(&path).await.expect(200).data();
        let read = ["type", "version", "fqdn", "ipv4_address", "ipv6_address"];
        let none = [Value::Null, json!(""), json!(""), json!(""), json!("")];
        assert_eq!(read.map(|name| empty[name].clone()), none);
        // As an appliance begins: a sign of life, which makes it active at once, then the document.
        t.post("/collect/api/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
        assert_eq!(spa.get(&path).await.expect(200).data()["status"], "active");
        let call = t.post("/collect/api/systems/inventory").basic(&system.key, &system.secret);
        call.header("content-type", "application/json").body(document).send().await.expect(202);
        // The service's own worker begins without a call from the test.
        let filled = soon("the first inventory", async || {
            let shown = spa.get(&path).await.expect(200).data();
            shown["last_inventory"].is_string().then_some(shown)
        })
        .await;
        assert_eq!(read.map(|name| text(&filled, name)), columns);
        assert_eq!(filled["status"], "active");
        let products = spa.get("/filters/systems").await.expect(200).data();
        assert!(products["products"].as_array().unwrap().contains(&json!(columns[0])), "{products}");
        let versions = products["versions"].to_string();
        assert!(versions.contains(&format!("{}:{}", columns[0], columns[1])), "{versions}");
        let query = format!("?page=1&page_size=100&system_id={}", system.id);
        let listed = spa.get(&format!("/applications{query}")).await.expect(200).data();
        assert_eq!(listed["pagination"]["total_count"], applications);
    }
    // A document alone is no sign of life (spec: systems#liveness).
    let silent = t.system(tree.customer).await;
    let call = t.post("/collect/api/systems/inventory").basic(&silent.key, &silent.secret);
    call.header("content-type", "application/json").body(NSEC).send().await.expect(202);
    settle(&t).await;
    assert_eq!(spa.get(&format!("/systems/{}", silent.id)).await.expect(200).data()["status"], "unknown");
});
