//! Systems, management side: create, read, list, change, and the registration (spec: systems#system, systems#list;
//! guarantees#systems).

use bailiwick_domain::{OrgId, OrgType};
use bailiwick_events as events;
use bailiwick_store::{epoch::AffectedSystems, sql::Q};
use bailiwick_testkit::{Persona, Reply, Test, api_test};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

mod backups;
mod found;
mod legacy;
mod lifecycle;
mod list;
mod pages;
mod reachability;
mod reassign;
mod register;
mod stats;
mod statuses;

async fn post(t: &Test, who: &Persona, body: Value) -> Reply {
    t.post("/api/systems").bearer(&who.token).json(body).send().await
}

async fn get(t: &Test, who: &Persona, path: &str) -> Reply {
    t.get(&format!("/api/systems{path}")).bearer(&who.token).send().await
}

async fn put(t: &Test, who: &Persona, id: &str, body: Value) -> Reply {
    t.put(&format!("/api/systems/{id}")).bearer(&who.token).json(body).send().await
}

async fn register(t: &Test, secret: &str) -> Reply {
    t.post("/api/systems/register").json(json!({"system_secret": secret})).send().await
}

/// A new system's answer.
async fn made(t: &Test, who: &Persona, org: OrgId, name: &str) -> Value {
    post(t, who, json!({"name": name, "organization_id": org})).await.expect(201).data()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

#[track_caller]
fn names(reply: &Reply) -> Vec<String> {
    assert_eq!(reply.message(), "systems retrieved successfully", "{}", reply.text());
    let data = reply.data();
    data["systems"].as_array().unwrap().iter().map(|s| text(s, "name").to_owned()).collect()
}

/// `total_count` of a list.
async fn count(t: &Test, who: &Persona, query: &str) -> u64 {
    get(t, who, query).await.expect(200).data()["pagination"]["total_count"].as_u64().unwrap()
}

async fn change(t: &Test, q: Q) {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    assert!(q.run(&mut tx).await.unwrap() > 0);
    tx.bump_auth_epoch(AffectedSystems::All).await.unwrap();
    tx.commit().await.unwrap();
}

// Proves spec: guarantees#systems 5.
api_test!(a_new_system_shows_its_key_and_secret_once, |t| async move {
    let tree = t.tree().await;
    let r = t.user(tree.reseller, &["admin"]).await;
    let sent = json!({
        "name": "Milan cluster", "organization_id": tree.customer, "notes": "rack 4",
        "custom_data": {"site": "milan", "createdBy": "x", "type": "y"}, "type": "ns8", "fqdn": "ignored"
    });
    let made = post(&t, &r, sent).await.expect_message(201, "system created successfully").data();
    let (key, secret) = (text(&made, "system_key"), text(&made, "system_secret"));
    let groups: Vec<&str> = key.split('-').collect();
    assert!(groups.len() == 9 && groups[0] == "SYS" && groups[1..].iter().all(|g| g.len() == 4));
    let (public, hidden) = secret.strip_prefix("my_").unwrap().split_once('.').unwrap();
    assert_eq!((public.len(), hidden.len()), (20, 40));
    let me = t.get("/api/me").bearer(&r.token).send().await.expect(200).data();
    let mut expected = json!({
        "id": made["id"], "name": "Milan cluster", "type": null, "status": "unknown", "fqdn": "", "ipv4_address": "",
        "ipv6_address": "", "version": "", "custom_data": {"site": "milan"},
        "organization": {"id": tree.customer, "logto_id": tree.customer, "name": "Alfa Customer", "type": "customer"},
        "system_key": key, "system_secret": secret, "notes": "rack 4", "created_at": t.app.platform.now(),
        "updated_at": t.app.platform.now(), "deleted_at": null, "registered_at": null, "suspended_at": null,
        "suspended_by_org_id": null, "deleted_by_org_id": null,
        "created_by": {"user_id": r.id, "username": me["username"], "name": me["name"], "email": me["email"],
            "organization_id": tree.reseller, "organization_name": "Alfa Reseller"},
        "rebranding_enabled": false, "heartbeat_status": "unknown", "heartbeat_minutes": null
    });
    assert_eq!(made, expected);
    // Rule 5: neither is seen again until it is registered; then the key is.
    let path = format!("/{}", text(&made, "id"));
    expected["system_key"] = json!("");
    expected.as_object_mut().unwrap().remove("system_secret");
    assert_eq!(
        get(&t, &r, &path).await.expect_message(200, "system retrieved successfully").data(),
        expected
    );
    assert_eq!(get(&t, &r, "").await.expect(200).data()["systems"], json!([expected]));
    register(&t, secret).await.expect(200);
    let shown = get(&t, &r, &path).await.expect(200).data();
    assert_eq!((text(&shown, "system_key"), shown.get("system_secret")), (key, None));
    // Nothing readable of the secret is stored.
    let (stored,): (String,) =
        Q::new("SELECT secret_hash FROM systems").one(&t.app.platform.db).await.unwrap();
    assert!(stored.len() == 97 && !stored.contains(hidden));
});

/// The events of a system, the oldest first, and its audit record, the newest first.
async fn recorded(t: &Test, who: &Persona, id: &str) -> [Vec<Value>; 2] {
    events::number_all(&t.app.events).await.unwrap();
    let ask = async |path: &str, rows: &str| {
        let path = format!("/api/{path}page_size=100&object_id={id}");
        let data = t.get(&path).bearer(&who.token).send().await.expect(200).data();
        data[rows].as_array().unwrap().clone()
    };
    [ask("events?sort_direction=asc&", "events").await, ask("audit?", "audit").await]
}

// Proves spec: guarantees#systems 5.
api_test!(events_and_audit_show_the_key_of_a_registered_system_only, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let act = async |id: &str, method: &str, path: &str, body: Value| {
        let call = t.call(method.parse().unwrap(), &format!("/api/systems/{id}{path}"));
        call.bearer(&owner.token).json(body).send().await.expect(200).data()
    };
    let kept =
        |event: &Value| (text(event, "type").to_owned(), text(&event["data"], "system_key").to_owned());
    // Never registered.
    let fresh = made(&t, &owner, tree.customer, "Fresh").await;
    let (id, key) = (text(&fresh, "id"), text(&fresh, "system_key"));
    for (method, path) in [
        ("PUT", ""),
        ("PATCH", "/suspend"),
        ("PATCH", "/reactivate"),
        ("DELETE", ""),
        ("PATCH", "/restore"),
        ("POST", "/regenerate-secret"),
        ("DELETE", "/destroy"),
    ] {
        act(id, method, path, json!({"notes": "n"})).await;
    }
    for rows in recorded(&t, &owner, id).await {
        assert_eq!(rows.len(), 8);
        assert!(!json!(rows).to_string().contains(key), "{rows:#?}");
    }
    // Registered, and not any more.
    let other = made(&t, &owner, tree.customer, "Other").await;
    let (id, key, secret) = (text(&other, "id"), text(&other, "system_key"), text(&other, "system_secret"));
    register(&t, secret).await.expect(200);
    act(id, "PUT", "", json!({"notes": "n"})).await;
    let moved = act(id, "PUT", "", json!({"organization_id": tree.reseller})).await;
    assert_eq!(text(&moved, "system_key"), key);
    t.post("/systems/unregister").basic(key, secret).send().await.expect(200);
    let renewed = act(id, "POST", "/regenerate-secret", json!({})).await;
    register(&t, text(&renewed, "system_secret")).await.expect(200);
    act(id, "POST", "/regenerate-secret", json!({"force": true})).await;
    let [events, audit] = recorded(&t, &owner, id).await;
    let expected = [
        ("created", ""),
        ("registered", key),
        ("updated", key),
        ("left", key),
        ("reassigned", key),
        ("unregistered", ""),
        ("secret_changed", ""),
        ("registered", key),
        ("secret_changed", ""),
    ];
    let expected = expected.map(|(what, key)| (format!("system.{what}"), key.to_owned()));
    assert_eq!(events.iter().map(kept).collect::<Vec<_>>(), expected);
    let (before, after) = (&audit[0]["before"], &audit[0]["after"]);
    assert_eq!((text(before, "system_key"), text(after, "system_key")), (key, ""));
    // Registered from the start.
    let born = json!({"name": "Born", "organization_id": tree.customer,
        "created_at": "2020-01-01T00:00:00Z", "registered_at": "2020-01-01T00:00:00Z"});
    let born = post(&t, &owner, born).await.expect(201).data();
    let [events, audit] = recorded(&t, &owner, text(&born, "id")).await;
    assert_eq!(events[0]["data"]["system_key"], born["system_key"]);
    assert_eq!(audit[0]["after"]["system_key"], born["system_key"]);
});

// Proves spec: guarantees#systems 7.
api_test!(wrong_fields_of_a_new_system, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    post(&t, &owner, json!({})).await.expect_fields(&[("name", "required"), ("organization_id", "required")]);
    post(&t, &owner, json!({"name": " ", "organization_id": tree.customer}))
        .await
        .expect_fields(&[("name", "required")]);
    let long = json!({"name": "x".repeat(256), "organization_id": tree.customer, "notes": "a\0",
        "custom_data": {"a": 1, "b": "c\0"}});
    post(&t, &owner, long).await.expect_fields(&[
        ("name", "too_long"),
        ("custom_data.a", "wrong_type"),
        ("custom_data.b", "invalid_format"),
        ("notes", "invalid_format"),
    ]);
    for body in [json!({"name": 7}), json!({"custom_data": []})] {
        post(&t, &owner, body).await.expect_message(400, "validation failed");
    }
    assert_eq!(count(&t, &owner, "").await, 0);
});

api_test!(notes_and_free_data_have_a_largest_size, |t| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let sent = |chars: usize, bytes: usize| {
        let data = "x".repeat(bytes - r#"{"n":""}"#.len());
        json!({"name": "S", "organization_id": tree.customer, "notes": "é".repeat(chars),
            "custom_data": {"n": data}})
    };
    let (fits, large) = (sent(16_384, 64 * 1024), sent(16_385, 64 * 1024 + 1));
    let (notes, data) = (("notes", "too_long"), ("custom_data", "too_long"));
    post(&t, &owner, large.clone()).await.expect_fields(&[data, notes]);
    let made = post(&t, &owner, fits).await.expect(201).data();
    let id = text(&made, "id");
    put(&t, &owner, id, large.clone()).await.expect_fields(&[notes, data]);
    // What is stored stays, and may be sent back.
    let q = Q::new("UPDATE systems SET notes = ?, custom_data = ? WHERE id = ?");
    let q = q.bind(text(&large, "notes")).bind(large["custom_data"].clone());
    change(&t, q.bind(id.parse::<bailiwick_domain::SystemId>().unwrap())).await;
    put(&t, &owner, id, large).await.expect(200);
});

api_test!(a_home_out_of_reach_is_one_refusal, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    t.delete_organization(tree.customer).await;
    let unknown = t.app.platform.fresh::<OrgId>();
    for org in
        [json!(tree.owner), json!(tree.other_customer), json!(tree.customer), json!(unknown), json!("x")]
    {
        // The reference comes before the fields (spec: conventions#order-of-checks).
        post(&t, &d, json!({"name": "", "organization_id": org}))
            .await
            .expect_message(403, "access denied: organization not in your hierarchy");
    }
    let reader = t.user(tree.distributor, &["reader"]).await;
    post(&t, &reader, json!({})).await.expect_message(403, "insufficient permissions");
});

api_test!(attribution_and_times_are_for_owners_and_distributors, |t| async move {
    let tree = t.tree().await;
    let (d, r) = (t.user(tree.distributor, &["admin"]).await, t.user(tree.reseller, &["admin"]).await);
    let with = |key: &str, value: Value| {
        let mut body = json!({"name": "S", "organization_id": tree.customer});
        body[key] = value;
        body
    };
    let made =
        post(&t, &d, with("created_by_organization_id", json!(tree.reseller))).await.expect(201).data();
    let creator = &made["created_by"];
    assert_eq!(
        (&creator["organization_id"], &creator["organization_name"]),
        (&json!(tree.reseller), &json!("Alfa Reseller"))
    );
    assert_eq!((&creator["user_id"], &creator["on_behalf_of"]), (&json!(d.id), &json!(true)));
    for (who, key, value) in [
        (&r, "created_by_organization_id", json!(tree.reseller)),
        (&d, "created_by_organization_id", json!(tree.customer)),
        (&d, "created_by_organization_id", json!(tree.other_reseller)),
        (&r, "created_at", json!("2020-01-01T00:00:00Z")),
        (&r, "registered_at", json!("2020-01-01T00:00:00Z")),
    ] {
        let reply = post(&t, who, with(key, value)).await.expect(403);
        assert!(reply.message().starts_with("access denied: "), "{}", reply.text());
    }
    let times = |created: &str, registered: &str| json!({"name": "S", "organization_id": tree.customer, "created_at": created, "registered_at": registered});
    let tomorrow = t.app.platform.now().plus(Duration::from_secs(86_400)).to_string();
    for (created, registered, errors) in [
        (
            tomorrow.as_str(),
            "2020-01-01T00:00:00Z",
            vec![("created_at", "cannot_be_in_future"), ("registered_at", "cannot_precede_created_at")],
        ),
        ("2020-01-02T00:00:00Z", tomorrow.as_str(), vec![("registered_at", "cannot_be_in_future")]),
        (
            "2020-01-02T00:00:00Z",
            "2020-01-01T00:00:00Z",
            vec![("registered_at", "cannot_precede_created_at")],
        ),
    ] {
        post(&t, &d, times(created, registered)).await.expect_fields(&errors);
    }
    for key in ["created_at", "registered_at"] {
        for other in ["2020-01-01", "2020-01-01 10:00:00Z", "2020-01-01T10:00Z", "-004000-01-01T00:00:00Z"] {
            post(&t, &d, with(key, json!(other))).await.expect_fields(&[(key, "invalid_format")]);
        }
    }
    let born =
        post(&t, &d, times("2020-01-01T00:00:00Z", "2020-01-02T00:00:00+01:00")).await.expect(201).data();
    assert_eq!(text(&born, "created_at"), "2020-01-01T00:00:00.000000Z");
    assert_eq!(text(&born, "registered_at"), "2020-01-01T23:00:00.000000Z");
    let secret = text(&born, "system_secret");
    t.get("/systems/info").basic(text(&born, "system_key"), secret).send().await.expect(200);
});

// Proves spec: guarantees#identity 4, guarantees#systems 8, authorization#guarantees 26.
api_test!(foreign_and_absent_are_the_same_bytes, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let foreign = made(&t, &owner, tree.other_customer, "foreign").await;
    let (gone, doomed) =
        (made(&t, &owner, tree.customer, "gone").await, made(&t, &owner, tree.reseller, "doomed").await);
    t.delete_system(text(&gone, "id").parse().unwrap()).await;
    let c = t.user(tree.customer, &["admin"]).await;
    let absent =
        get(&t, &c, "/01950000-0000-7000-8000-000000000000").await.expect_message(404, "system not found");
    assert_eq!(absent.text(), r#"{"code":404,"message":"system not found","data":null}"#);
    for id in [text(&foreign, "id"), text(&gone, "id"), text(&doomed, "id"), "nonsense"] {
        assert_eq!(get(&t, &c, &format!("/{id}")).await.expect(404).body, absent.body, "{id}");
        assert_eq!(put(&t, &c, id, json!("no object")).await.expect(404).body, absent.body, "{id}");
        assert_eq!(get(&t, &c, &format!("/{id}/inventory/latest")).await.expect(404).body, absent.body);
    }
    let reader = t.user(tree.other_customer, &["reader"]).await;
    get(&t, &reader, &format!("/{}", text(&foreign, "id"))).await.expect(200);
    put(&t, &reader, text(&foreign, "id"), json!({})).await.expect_message(403, "insufficient permissions");
});

// Proves spec: acceptance#scenarios 24, guarantees#systems 6.
api_test!(a_change_keeps_what_it_does_not_name, |t| async move {
    let tree = t.tree().await;
    let c = t.user(tree.customer, &["support"]).await;
    let sent =
        json!({"name": "Old", "organization_id": tree.customer, "notes": "n", "custom_data": {"a": "1"}});
    let made = post(&t, &c, sent).await.expect(201).data();
    let id = text(&made, "id").to_owned();
    t.advance(Duration::from_secs(60));
    // Rule 6, and fields that clients send back without wanting to change them.
    let form = json!({"id": id, "name": "", "type": "x", "fqdn": "y", "system_key": "z", "organization_id": tree.customer,
        "notes": null, "custom_data": null, "version": 3});
    let updated = put(&t, &c, &id, form).await.expect_message(200, "system updated successfully").data();
    assert_eq!(
        (&updated["name"], &updated["notes"], &updated["custom_data"]),
        (&json!("Old"), &json!("n"), &json!({"a": "1"}))
    );
    assert_eq!(
        (&updated["type"], &updated["fqdn"], &updated["updated_at"]),
        (&Value::Null, &json!(""), &json!(t.app.platform.now()))
    );
    let body = json!({"name": "Nèw", "notes": "", "custom_data": {"b": "2", "createdAt": "x"}});
    let changed = put(&t, &c, &id, body).await.expect(200).data();
    assert_eq!((&changed["name"], &changed["notes"]), (&json!("Nèw"), &json!("")));
    assert_eq!(changed["custom_data"], json!({"b": "2"}));
    assert_eq!(get(&t, &c, &format!("/{id}")).await.expect(200).data(), changed);
    assert_eq!((count(&t, &c, "?search=n%C3%88w").await, count(&t, &c, "?search=old").await), (1, 0));
    put(&t, &c, &id, json!({"name": "  ", "notes": "\0", "custom_data": {"x": null}}))
        .await
        .expect_fields(&[("name", "required"), ("notes", "invalid_format"), ("custom_data.x", "wrong_type")]);
    assert_eq!(get(&t, &c, &format!("/{id}")).await.expect(200).data(), changed);
    let (rows,): (i64,) =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM audit_log WHERE object_type = 'system'")
            .one(&t.app.platform.db)
            .await
            .unwrap();
    assert_eq!(rows, 3);
});

/// Runs `n` futures side by side in this task.
pub async fn futures<F: Future>(n: usize, make: impl Fn(usize) -> F) -> Vec<F::Output> {
    let mut running: Vec<_> = (0..n).map(|i| Box::pin(make(i))).collect();
    let mut done: Vec<Option<F::Output>> = (0..n).map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, slot) in running.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let std::task::Poll::Ready(output) = future.as_mut().poll(context)
            {
                *slot = Some(output);
            }
        }
        if done.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

api_test!(the_tree_keeps_a_system_in_its_organization, |t| async move {
    let tree = t.tree().await;
    let extra = t.organization(tree.distributor, OrgType::Customer, "Direct").await;
    let d = t.user(tree.distributor, &["admin"]).await;
    made(&t, &d, extra, "direct").await;
    assert_eq!(count(&t, &d, "").await, 1);
    assert_eq!(count(&t, &t.user(tree.reseller, &["admin"]).await, "").await, 0);
    assert_eq!(count(&t, &t.user(extra, &["admin"]).await, "").await, 1);
});
