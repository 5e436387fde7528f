//! The record of actions on an alert, notes, and taking charge (spec: alert-management#handling).

use super::{
    lists::{client, fire, get, in_both_modes, names},
    silences::{audited, fingerprint},
    *,
};
use bailiwick_testkit::{Persona, Reply};

async fn post(t: &Test, who: &Persona, path: &str, body: Value) -> Reply {
    t.post(&format!("/api{path}")).bearer(&who.token).json(body).send().await
}

async fn events(t: &Test, who: &Persona, organization: OrgId, alert: &str) -> Vec<Value> {
    let path = format!("/alerts/activity/{alert}?organization_id={organization}");
    let reply = get(t, who, &path).await.expect_message(200, "alert activity retrieved successfully");
    reply.data()["events"].as_array().unwrap().clone()
}

// Proves spec: acceptance#scenarios 33.
in_both_modes!(who_takes_charge_and_what_he_does_is_on_record, |t| async {
    let tree = t.tree().await;
    let c = client(t, tree.customer).await;
    fire(&c, &[json!({"alertname": "A"})]).await;
    let alert = fingerprint(&c, "A").await;
    let (ada, bob) = (t.user(tree.customer, &["admin"]).await, t.user(tree.distributor, &["admin"]).await);
    let query = format!("?organization_id={}", tree.customer);
    let taken = post(t, &ada, "/alerts/assignment", json!({"fingerprint": alert, "note": " mine "})).await;
    let taken = taken.expect_message(200, "alert assigned successfully").data()["assignment"].clone();
    assert_eq!(taken["assigned_user_id"], ada.id.to_string());
    assert_eq!(taken["assigned_user_org_id"], tree.customer.to_string());
    assert_eq!(
        (&taken["assigned_user_org_name"], &taken["fingerprint"]),
        (&json!("Alfa Customer"), &json!(alert))
    );
    let listed = get(t, &ada, &format!("/alerts?assigned_user_id={}", ada.id)).await.expect(200).data();
    let shown = &listed["alerts"][0]["assigned_to"];
    assert_eq!(
        (&shown["user_id"], &shown["assigned_at"]),
        (&taken["assigned_user_id"], &taken["assigned_at"])
    );
    for field in ["user_name", "user_org_id", "user_org_name"] {
        assert_eq!(shown[field], taken[&format!("assigned_{field}")], "{field}: {taken}");
        assert!(shown[field].as_str().is_some_and(|text| !text.is_empty()), "{shown}");
    }
    assert_eq!(names(t, &ada, "/alerts?assigned_user_id=none").await, [""; 0]);
    assert_eq!(
        names(t, &ada, &format!("/alerts?assigned_user_id=none&assigned_user_id={}", ada.id)).await,
        ["A"]
    );
    // Another user takes over.
    t.advance(Duration::from_secs(1));
    let path = format!("/alerts/assignment{query}");
    post(t, &bob, &path, json!({"fingerprint": alert})).await.expect(200);
    let noted =
        post(t, &bob, &format!("/alerts/notes{query}"), json!({"fingerprint": alert, "text": " hm\n"})).await;
    noted.expect_message(200, "alert note added successfully");
    let silences = format!("/alerts/silences{query}");
    let body = json!({"fingerprint": alert, "comment": "quiet", "duration_minutes": 5});
    let made = post(t, &bob, &silences, body).await.expect(200).data();
    let silence = made["silence_id"].as_str().unwrap().to_owned();
    t.delete(&format!("/api/alerts/silences/{silence}{query}")).bearer(&bob.token).send().await.expect(200);
    let entries = events(t, &ada, tree.customer, &alert).await;
    let actions: Vec<&str> = entries.iter().map(|e| e["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["unsilenced", "silenced", "note_added", "assigned", "assigned"]);
    assert_eq!(entries[0]["silence_id"], silence.as_str());
    assert_eq!(entries[1]["details"]["comment"], "quiet");
    assert_eq!(entries[1]["details"]["duration_minutes"], 5);
    assert_eq!(entries[2]["details"], json!({"text": "hm"}));
    assert_eq!(entries[4]["details"], json!({"note": "mine"}));
    let ada_name = entries[4]["actor_name"].clone();
    assert_eq!(entries[3]["details"], json!({"reassigned_from": ada_name}));
    assert_eq!(entries[3]["actor_user_id"], bob.id.to_string());
    assert_eq!(entries[0]["organization_id"], tree.customer.to_string());
    assert_eq!(entries[0]["fingerprint"], alert.as_str());
    let expected =
        ["alert.assign", "alert.assign", "alert.note", "alert_silence.create", "alert_silence.delete"];
    assert_eq!(audited(t).await, expected);
    // It ends with the alert.
    t.advance(Duration::from_secs(1));
    let end = json!([{"labels": {"alertname": "A"}, "endsAt": t.app.platform.now().rfc3339(6)}]);
    c.push(&end.to_string()).await.expect(200);
    written(t).await;
    let entries = events(t, &ada, tree.customer, &alert).await;
    assert_eq!((&entries[0]["action"], entries[0].get("actor_user_id")), (&json!("unassigned"), None));
    assert_eq!(entries[0]["details"]["assigned_user_id"], bob.id.to_string());
    post(t, &ada, "/alerts/assignment", json!({"fingerprint": alert}))
        .await
        .expect_message(404, "alert not found");
});

in_both_modes!(alerts_go_by_who_takes_care_of_them, |t| async {
    let tree = t.tree().await;
    let c = client(t, tree.customer).await;
    fire(&c, &["A", "B", "C"].map(|name| json!({"alertname": name}))).await;
    let (ada, bob) = (t.user(tree.customer, &["admin"]).await, t.user(tree.customer, &["admin"]).await);
    for (who, name, alert) in [(&ada, "ada", "C"), (&bob, "Bob", "A")] {
        t.post("/api/me/change-info").bearer(&who.token).json(json!({"name": name})).send().await.expect(200);
        let body = json!({"fingerprint": fingerprint(&c, alert).await});
        post(t, who, "/alerts/assignment", body).await.expect(200);
    }
    // Alerts without an assigned user come first, and case does not count.
    for (direction, expected) in [("asc", "BCA"), ("desc", "ACB")] {
        let path = format!("/alerts?sort_by=assigned_user_name&sort_direction={direction}");
        assert_eq!(names(t, &ada, &path).await.concat(), expected, "{direction}");
    }
});

api_test!(records_are_those_of_the_organization_and_bounded, |t| async move {
    let tree = t.tree().await;
    let c = client(&t, tree.customer).await;
    fire(&c, &[json!({"alertname": "A"})]).await;
    let alert = fingerprint(&c, "A").await;
    let owner = t.owner().await;
    let distributor = t.user(tree.distributor, &["admin"]).await;
    let reader = t.user(tree.customer, &["reader"]).await;
    let query = format!("?organization_id={}", tree.customer);
    for n in 0..120 {
        let body = json!({"fingerprint": alert, "text": n.to_string()});
        post(&t, &owner, &format!("/alerts/notes{query}"), body).await.expect(200);
    }
    let count = async |limit: &str| {
        let path = format!("/alerts/activity/{alert}{query}&limit={limit}");
        get(&t, &reader, &path).await.expect(200).data()["events"].as_array().unwrap().len()
    };
    for (limit, n) in [("", 100), ("7", 7), ("0", 100), ("-1", 100), ("x", 100), ("501", 120), ("110", 110)] {
        assert_eq!(count(limit).await, n, "{limit}");
    }
    // The same fingerprint elsewhere is another alert.
    assert_eq!(events(&t, &owner, tree.reseller, &alert).await, [Value::Null; 0]);
    assert_eq!(events(&t, &owner, tree.customer, "%00").await, [Value::Null; 0]);
    let refused = "access denied: organization not in your hierarchy";
    let missing = "organization_id query parameter is required";
    let note = json!({"fingerprint": alert, "text": "x"});
    for (query, status, text) in [
        (String::new(), 400, missing),
        ("?organization_id=".to_owned(), 400, missing),
        (format!("{query}&organization_id={}", tree.reseller), 400, missing),
        (format!("?organization_id={}", tree.other_customer), 403, refused),
        ("?organization_id=0195fada-0000-7000-8000-00000000dead".to_owned(), 403, refused),
        ("?organization_id=x".to_owned(), 403, refused),
    ] {
        let path = format!("/alerts/activity/{alert}{query}");
        get(&t, &distributor, &path).await.expect_message(status, text);
        post(&t, &distributor, &format!("/alerts/notes{query}"), note.clone())
            .await
            .expect_message(status, text);
        post(&t, &distributor, &format!("/alerts/assignment{query}"), note.clone())
            .await
            .expect_message(status, text);
    }
    let path = format!("/alerts/notes{query}");
    for (body, fields) in [
        (json!({}), vec![("fingerprint", "required"), ("text", "required")]),
        (json!({"fingerprint": alert, "text": "  "}), vec![("text", "required")]),
        (json!({"fingerprint": alert, "text": "x".repeat(2001)}), vec![("text", "too_long")]),
        (json!({"fingerprint": alert, "text": "a\0"}), vec![("text", "invalid_format")]),
    ] {
        post(&t, &owner, &path, body).await.expect_fields(&fields);
    }
    post(&t, &owner, &path, json!({"fingerprint": alert, "text": "é".repeat(2000)})).await.expect(200);
    let long = json!({"fingerprint": alert, "note": "x".repeat(2001)});
    post(&t, &owner, &format!("/alerts/assignment{query}"), long)
        .await
        .expect_fields(&[("note", "too_long")]);
    for path in ["/alerts/notes", "/alerts/assignment"] {
        post(&t, &reader, path, note.clone()).await.expect_message(403, "insufficient permissions");
    }
    // An alert is not active after its time has passed, even if no sweep has ended it yet.
    t.advance(MINUTE * 361);
    let again = t.session(owner.id).await;
    let path = format!("/alerts/assignment{query}");
    post(&t, &again, &path, json!({"fingerprint": alert})).await.expect_message(404, "alert not found");
});
