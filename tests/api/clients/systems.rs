//! A system's first day (contract 06 §6 scenarios 22 and 23).

use super::*;
use bailiwick_testkit::api_test;
use std::time::Duration;

api_test!(scenario_22_from_its_creation_to_its_silence, |t| async move {
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
    t.advance(Duration::from_secs(20 * 60 - 1));
    assert_eq!(status().await, "active");
    t.advance(Duration::from_secs(1));
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

api_test!(scenario_23_the_first_inventory_fills_the_system, |t| async move {
    let tree = t.tree().await;
    let running = t.serve().await;
    let owner = t.owner().await;
    let spa = Spa::new(&running, "/api", &owner.token);
    for (document, kind) in [(NS8, "ns8"), (NSEC, "nsec")] {
        let system = t.system(tree.customer).await;
        let path = format!("/systems/{}", system.id);
        let empty = spa.get(&path).await.expect(200).data();
        assert_eq!(
            (&empty["type"], &empty["version"], &empty["fqdn"]),
            (&Value::Null, &json!(""), &json!(""))
        );
        let call = t.post("/collect/api/systems/inventory").basic(&system.key, &system.secret);
        call.header("content-type", "application/json").body(document).send().await.expect(202);
        // Contact of any kind is a sign of life, whoever works on the document and when.
        settle(&t).await;
        let filled = spa.get(&path).await.expect(200).data();
        assert_eq!(filled["type"], kind);
        assert!(!text(&filled, "version").is_empty() && filled["last_inventory"].is_string(), "{filled}");
        let addresses = [text(&filled, "fqdn"), text(&filled, "ipv4_address"), text(&filled, "ipv6_address")];
        assert!(addresses.iter().any(|a| !a.is_empty()), "{filled}");
        let products = spa.get("/filters/systems").await.expect(200).data();
        assert!(products["products"].as_array().unwrap().contains(&json!(kind)), "{products}");
        let versions = products["versions"].to_string();
        assert!(versions.contains(&format!("{kind}:{}", text(&filled, "version"))), "{versions}");
        let applications =
            spa.get(&format!("/applications{}", page(&format!("&system_id={}", system.id)))).await;
        let applications = applications.expect(200).data()["applications"].as_array().unwrap().len();
        assert_eq!(applications > 0, kind == "ns8", "{applications}");
    }
});
