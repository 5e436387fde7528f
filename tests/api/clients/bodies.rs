//! Bodies as clients send them: whole objects, unknown fields, nothing at all (spec: acceptance#guarantees rule 19;
//! checklist 11).

use super::{entities::Entity, *};
use bailiwick_testkit::{Call, api_test};

/// Adds the fields that the application sends back with every form: fields of the answer, and fields that an older
/// release once had.
fn with_more(mut body: Value) -> Value {
    let more = [
        ("logto_id", json!("whatever")),
        ("branding", json!({"color": "red", "deep": [[{"a": null}]]})),
        ("created_at", json!("2020-01-01T00:00:00Z")),
        ("created_by", json!({"user_id": 7})),
        ("deleted_at", Value::Null),
        ("suspended_at", json!(false)),
        ("systems_count", json!(9_007_199_254_740_993_u64)),
        ("rebranding_enabled", json!("yes")),
        ("zzz_not_known_to_anybody", json!([1, "a", {}])),
    ];
    for (name, value) in more {
        body[name] = value;
    }
    body
}

async fn expect(call: Call, status: u16) -> Value {
    call.send().await.expect(status).data()
}

// Proves spec: clients#checklist 11, acceptance#guarantees 19.
api_test!(unknown_and_read_only_fields_are_no_error, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let running = t.serve().await;
    let spa = Spa::new(&running, "/backend/api", &owner.token);
    // Each page of one thing sends the whole object back (entities.rs), here with more in it.
    for (entity, other) in Entity::all(&tree, 0).into_iter().zip(Entity::all(&tree, 1)) {
        let id = entity.whole_life(&spa).await;
        let path = format!("{}/{id}", entity.path);
        let before = spa.get(&path).await.expect(200).data();
        let mut whole = with_more(before.clone());
        whole["name"] = json!("Changed");
        spa.put(&path, whole).await.expect(200);
        let after = spa.get(&path).await.expect(200).data();
        assert_eq!(after["name"], "Changed");
        for field in
            ["created_at", "created_by", "deleted_at", "suspended_at", "logto_id", "rebranding_enabled"]
        {
            assert_eq!(after.get(field), before.get(field), "{path} {field}");
        }
        spa.post(other.path, with_more(other.form())).await.expect(201);
    }
    let application = t.application(&t.system(tree.customer).await).await;
    let path = format!("/applications/{application}");
    let mut whole = with_more(spa.get(&path).await.expect(200).data());
    whole["notes"] = json!("n");
    assert_eq!(spa.put(&path, whole).await.expect(200).data()["notes"], "n");
    let assign = with_more(json!({"organization_id": tree.customer}));
    spa.send(Method::PATCH, &format!("{path}/assign"), Some(assign)).await.expect(200);
    let user = t.user(tree.customer, &["reader"]).await;
    let password = with_more(json!({"password": "Trombone-47-Quux!", "confirm_password": "x"}));
    spa.send(Method::PATCH, &format!("/users/{}/password", user.id), Some(password)).await.expect(200);
    let layer = with_more(json!({"enabled": {"email": true, "sms": 1}, "email_recipients": []}));
    spa.post("/alerts/config", layer).await.expect(200);

    let user = t.user(tree.customer, &["reader"]).await;
    let own = Spa::new(&running, "/api", &user.token);
    own.post("/me/change-info", with_more(json!({"name": "Nina", "phone": ""}))).await.expect(200);
    own.post("/impersonate/consent", with_more(json!({"duration_hours": 2}))).await.expect(200);
    let acting = own_and_back(&t, &tree, &user.id.to_string()).await;
    let refresh = with_more(json!({"refresh_token": acting}));
    own.post("/auth/refresh", refresh).await.expect(200);
    let made = expect(
        t.post("/api/systems")
            .bearer(&owner.token)
            .json(with_more(json!({"name": "S", "organization_id": tree.customer}))),
        201,
    )
    .await;
    let secret = with_more(json!({"system_secret": made["system_secret"]}));
    own.post("/systems/register", secret).await.expect(200);
});

// Proves spec: clients#checklist 11, acceptance#guarantees 19.
api_test!(nor_where_passwords_keys_files_and_alerts_are_handled, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let running = t.serve().await;
    let spa = Spa::new(&running, "/backend/api", &owner.token);
    // Import: the whole preview comes back.
    let preview = crate::imports::validated(&t, &owner, "customers", &["Nuova,,IT77,,,,,,,"]).await;
    let mut whole = with_more(preview);
    whole["override"] = json!(true);
    let done = spa.post("/customers/import/confirm", whole).await.expect(200).data();
    assert_eq!(done["created"], 1, "{done}");
    let made =
        spa.post("/systems", json!({"name": "S", "organization_id": tree.customer})).await.expect(201).data();
    let path = format!("/systems/{}/regenerate-secret", text(&made, "id"));
    spa.post(&path, with_more(json!({}))).await.expect(200);

    // Alerts.
    let client = crate::proxy::Client { test: &t, system: t.system(tree.customer).await };
    client.push(r#"[{"labels":{"alertname":"A"}}]"#).await.expect(200);
    let listed = client.get("/api/v2/alerts").await.expect(200).json();
    let alert = json!({"fingerprint": listed[0]["fingerprint"]});
    let query = format!("?organization_id={}", tree.customer);
    let merged = |more: Value| {
        let mut body = with_more(alert.clone());
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    spa.post(&format!("/alerts/assignment{query}"), merged(json!({"note": "n"}))).await.expect(200);
    spa.post(&format!("/alerts/notes{query}"), merged(json!({"text": "n"}))).await.expect(200);
    let silence = merged(json!({"comment": "c", "duration_minutes": 5}));
    for (path, one) in [
        (format!("/systems/{}/alerts/silences", client.system.id), String::new()),
        ("/alerts/silences".to_owned(), query.clone()),
    ] {
        let made = spa.post(&format!("{path}{one}"), silence.clone()).await.expect(200).data();
        let id = text(&made, "silence_id");
        let update = with_more(json!({"comment": "d", "end_at": t.app.platform.now().plus(HOUR).rfc3339(0)}));
        let changed = spa.put(&format!("{path}/{id}{one}"), update).await.expect(200).data();
        spa.delete(&format!("{path}/{}{one}", text(&changed, "silence_id"))).await.expect(200);
    }

    // Events.
    let hook = with_more(json!({"name": "H", "url": "https://9.9.9.9/hook", "types": ["*"]}));
    let made = spa.post("/events/subscriptions", hook).await.expect(201).data();
    let path = format!("/events/subscriptions/{}", text(&made["subscription"], "id"));
    let mut shown = with_more(spa.get(&path).await.expect(200).data()["subscription"].clone());
    shown["name"] = json!("Other");
    let shown = spa.put(&path, shown).await.expect(200).data();
    assert_eq!(shown["subscription"]["name"], "Other");

    // A person's own.
    let key = json!({"name": "CI", "mode": "read", "password": bailiwick_testkit::engine::OWNER_PASSWORD});
    spa.post("/me/api-keys", with_more(key)).await.expect(201);
    let password = bailiwick_testkit::engine::OWNER_PASSWORD;
    let new = json!({"current_password": password, "new_password": "Other-Window-93-Rivers"});
    spa.post("/me/change-password", with_more(new)).await.expect(200);
    let unknown = with_more(json!({"access_token": "no such token"}));
    t.post("/api/auth/exchange").json(unknown).send().await.expect_message(401, "invalid access token");
});

const HOUR: std::time::Duration = std::time::Duration::from_secs(3600);

/// Acts as the user and comes back; the new refresh token.
async fn own_and_back(t: &Test, tree: &bailiwick_testkit::seed::Tree, user: &str) -> String {
    let actor = t.user(tree.distributor, &["super"]).await;
    let start = t.post("/api/impersonate").bearer(&actor.token).json(with_more(json!({"user_id": user})));
    let token = text(&expect(start, 200).await, "token");
    let back = expect(t.delete("/api/impersonate").bearer(&token), 200).await;
    text(&back, "refresh_token")
}

// Proves spec: clients#checklist 11.
api_test!(actions_take_an_empty_object_an_empty_body_and_none, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let running = t.serve().await;
    let spa = Spa::new(&running, "", &owner.token);
    let user = t.user(tree.customer, &["reader"]).await.id.to_string();
    let system = t.system(tree.customer).await;
    let things = [
        format!("/distributors/{}", tree.other_distributor),
        format!("/resellers/{}", tree.other_reseller),
        format!("/customers/{}", tree.other_customer),
        format!("/users/{user}"),
        format!("/systems/{}", system.id),
    ];
    let application = t.application(&t.system(tree.customer).await).await;
    // `{}` with its type, a type without a body, and neither.
    for body in [Some("{}"), Some(""), None] {
        for thing in &things {
            for action in ["suspend", "reactivate", "delete", "restore"] {
                if action == "delete" {
                    spa.delete(thing).await.expect(200);
                    continue;
                }
                let url = format!("{}/api{thing}/{action}", running.url);
                let request = spa.http.patch(url).bearer_auth(&owner.token);
                let request = match body {
                    Some(body) => request.header("content-type", "application/json").body(body),
                    None => request,
                };
                let reply = reply(request.send().await.unwrap()).await;
                assert_eq!(reply.status, 200, "{thing}/{action} with {body:?}: {}", reply.text());
            }
        }
        let made = json!({"name": "S", "organization_id": tree.customer, "notes": ""});
        let made = spa.post("/systems", made).await.expect(201).data();
        let path = format!("/api/systems/{}/regenerate-secret", text(&made, "id"));
        let call = t.post(&path).bearer(&owner.token);
        match body {
            Some(body) => call.header("content-type", "application/json").body(body),
            None => call,
        }
        .send()
        .await
        .expect(200);
        let patch = async |path: &str| {
            let call = t.patch(path).bearer(&owner.token);
            let call = match body {
                Some(body) => call.header("content-type", "application/json").body(body),
                None => call,
            };
            call.send().await
        };
        let reseller =
            t.organization(tree.distributor, bailiwick_domain::OrgType::Reseller, "To promote").await;
        patch(&format!("/api/resellers/{reseller}/promote")).await.expect(200);
        for action in ["enable", "disable"] {
            patch(&format!("/api/rebranding/{}/{action}", tree.customer)).await.expect(200);
        }
        // The one action that needs an argument reports it, whatever the body.
        let refused = patch(&format!("/api/applications/{application}/assign")).await;
        refused.expect_fields(&[("organization_id", "required")]);
        patch(&format!("/api/applications/{application}/unassign")).await.expect(200);
    }
});

// Proves spec: clients#checklist 11.
api_test!(numbers_of_64_bits_come_back_as_they_were, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let system = t.system(tree.customer).await;
    let document = r#"{"$schema":"x","uuid":"1b671a64-40d5-491e-99b0-da01ff1f3341","installation":"nethsecurity",
        "facts":{"big":9223372036854775807,"unsigned":18446744073709551615,"small":-9223372036854775808,"precise":0.1}}"#;
    let call = t.post("/collect/api/systems/inventory").basic(&system.key, &system.secret);
    call.header("content-type", "application/json").body(document).send().await.expect(202);
    settle(&t).await;
    let path = format!("/api/systems/{}/inventory/latest", system.id);
    let latest = t.get(&path).bearer(&owner.token).send().await.expect(200);
    for number in ["9223372036854775807", "18446744073709551615", "-9223372036854775808", "0.1"] {
        assert!(latest.text().contains(&format!(":{number}")), "{number}: {}", latest.text());
    }
});
