//! Systems, management side: create, read, list, change, and the registration (contract 03 §1, §2; §14).

use bailiwick_domain::{OrgId, OrgType};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Persona, Reply, Test, api_test};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

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
    let mut tx = t.app.db.begin().await.unwrap();
    assert!(q.run(&mut tx).await.unwrap() > 0);
    tx.bump_auth_epoch().await.unwrap();
    tx.commit().await.unwrap();
}

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
        "system_key": key, "system_secret": secret, "notes": "rack 4", "created_at": t.app.now(),
        "updated_at": t.app.now(), "deleted_at": null, "registered_at": null, "suspended_at": null,
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
    let (stored,): (String,) = Q::new("SELECT secret_hash FROM systems").one(&t.app.db).await.unwrap();
    assert!(stored.len() == 97 && !stored.contains(hidden));
});

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
        ("custom_data.a", "must be a string"),
        ("custom_data.b", "invalid_format"),
        ("notes", "invalid_format"),
    ]);
    for body in [json!({"name": 7}), json!({"custom_data": []})] {
        post(&t, &owner, body).await.expect_message(400, "validation failed");
    }
    assert_eq!(count(&t, &owner, "").await, 0);
});

api_test!(a_home_out_of_reach_is_one_refusal, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    t.delete_organization(tree.customer).await;
    let unknown = t.app.fresh::<OrgId>();
    for org in
        [json!(tree.owner), json!(tree.other_customer), json!(tree.customer), json!(unknown), json!("x")]
    {
        // The reference comes before the fields (contract 01 §1.5).
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
    let by = &made["created_by"];
    assert_eq!(
        (&by["organization_id"], &by["organization_name"]),
        (&json!(tree.reseller), &json!("Alfa Reseller"))
    );
    assert_eq!((&by["user_id"], &by["on_behalf_of"]), (&json!(d.id), &json!(true)));
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
    let tomorrow = t.app.now().plus(Duration::from_secs(86_400)).to_string();
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
    let born =
        post(&t, &d, times("2020-01-01T00:00:00Z", "2020-01-02T00:00:00+01:00")).await.expect(201).data();
    assert_eq!(text(&born, "created_at"), "2020-01-01T00:00:00.000000Z");
    assert_eq!(text(&born, "registered_at"), "2020-01-01T23:00:00.000000Z");
    let secret = text(&born, "system_secret");
    t.get("/systems/info").basic(text(&born, "system_key"), secret).send().await.expect(200);
});

api_test!(foreign_and_absent_are_the_same_bytes, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let foreign = made(&t, &owner, tree.other_customer, "foreign").await;
    let (gone, doomed) =
        (made(&t, &owner, tree.customer, "gone").await, made(&t, &owner, tree.reseller, "doomed").await);
    t.mark_system(text(&gone, "id").parse().unwrap(), "deleted_at").await;
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

api_test!(a_change_keeps_what_it_does_not_name, |t| async move {
    let tree = t.tree().await;
    let c = t.user(tree.customer, &["support"]).await;
    let sent =
        json!({"name": "Old", "organization_id": tree.customer, "notes": "n", "custom_data": {"a": "1"}});
    let made = post(&t, &c, sent).await.expect(201).data();
    let id = text(&made, "id").to_owned();
    t.advance(Duration::from_secs(60));
    // Rule 6, and what clients send back without wanting to change it.
    let form = json!({"id": id, "name": "", "type": "x", "fqdn": "y", "system_key": "z", "organization_id": tree.customer,
        "notes": null, "custom_data": null, "version": 3});
    let kept = put(&t, &c, &id, form).await.expect_message(200, "system updated successfully").data();
    assert_eq!(
        (&kept["name"], &kept["notes"], &kept["custom_data"]),
        (&json!("Old"), &json!("n"), &json!({"a": "1"}))
    );
    assert_eq!(
        (&kept["type"], &kept["fqdn"], &kept["updated_at"]),
        (&Value::Null, &json!(""), &json!(t.app.now()))
    );
    let body = json!({"name": "Nèw", "notes": "", "custom_data": {"b": "2", "createdAt": "x"}});
    let changed = put(&t, &c, &id, body).await.expect(200).data();
    assert_eq!((&changed["name"], &changed["notes"]), (&json!("Nèw"), &json!("")));
    assert_eq!(changed["custom_data"], json!({"b": "2"}));
    assert_eq!(get(&t, &c, &format!("/{id}")).await.expect(200).data(), changed);
    assert_eq!((count(&t, &c, "?search=n%C3%88w").await, count(&t, &c, "?search=old").await), (1, 0));
    put(&t, &c, &id, json!({"name": "  ", "notes": "\0", "custom_data": {"x": null}})).await.expect_fields(
        &[("name", "required"), ("notes", "invalid_format"), ("custom_data.x", "must be a string")],
    );
    assert_eq!(get(&t, &c, &format!("/{id}")).await.expect(200).data(), changed);
    let (rows,): (i64,) =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM audit_log WHERE object_type = 'system'")
            .one(&t.app.db)
            .await
            .unwrap();
    assert_eq!(rows, 3);
});

api_test!(a_move_is_checked_in_order, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let made = made(&t, &d, tree.customer, "S").await;
    let id = text(&made, "id");
    let to = |org: OrgId| json!({"organization_id": org});
    put(&t, &d, id, to(tree.other_customer))
        .await
        .expect_message(403, "access denied: organization not in your hierarchy");
    put(&t, &d, id, to(tree.reseller)).await.expect_fields(&[("organization_id", "system_not_registered")]);
    let upper = tree.customer.to_string().to_uppercase();
    put(&t, &d, id, json!({"organization_id": upper})).await.expect(200);
    register(&t, text(&made, "system_secret")).await.expect(200);
    put(&t, &d, id, to(tree.reseller)).await.expect(501);
    assert_eq!(get(&t, &d, &format!("/{id}")).await.data()["organization"]["id"], json!(tree.customer));
});

/// Systems of every status in the customer's organization, by name: `a…` active, `i…` inactive, and so on.
async fn zoo(t: &Test, who: &Persona, org: OrgId) {
    for (name, beat) in [("inactive 1", true), ("inactive 2", true), ("suspended b", true)] {
        let made = made(t, who, org, name).await;
        register(t, text(&made, "system_secret")).await.expect(200);
        if beat {
            let (key, secret) = (text(&made, "system_key"), text(&made, "system_secret"));
            t.post("/systems/heartbeat").basic(key, secret).send().await.expect(200);
        }
        if name == "suspended b" {
            t.mark_system(text(&made, "id").parse().unwrap(), "suspended_at").await;
        }
    }
    t.advance(t.app.settings.systems.liveness_timeout);
    for name in ["Active 1", "active 2", "unknown 1", "unknown 2", "suspended a", "deleted"] {
        let made = made(t, who, org, name).await;
        let (key, secret) = (text(&made, "system_key"), text(&made, "system_secret"));
        let id = text(&made, "id").parse().unwrap();
        match name {
            "suspended a" => t.mark_system(id, "suspended_at").await,
            "deleted" => {
                t.mark_system(id, "deleted_at").await;
                let less = "UPDATE organization_counts SET systems = systems - 1 WHERE organization_id = ?";
                change(t, Q::new(less).bind(org)).await;
            }
            "unknown 1" | "unknown 2" => {}
            _ => {
                register(t, secret).await.expect(200);
                t.post("/systems/heartbeat").basic(key, secret).send().await.expect(200);
            }
        }
    }
}

api_test!(each_status_is_a_filter_and_an_order, |t| async move {
    let tree = t.tree().await;
    let c = t.user(tree.customer, &["admin"]).await;
    zoo(&t, &c, tree.customer).await;
    let mut sum = 0;
    for (status, expected) in [
        ("active", vec!["Active 1", "active 2"]),
        ("inactive", vec!["inactive 1", "inactive 2"]),
        ("suspended", vec!["suspended a", "suspended b"]),
        ("unknown", vec!["unknown 1", "unknown 2"]),
        ("deleted", vec!["deleted"]),
        ("online", vec!["Active 1", "active 2"]),
        ("offline&status=online", vec!["Active 1", "active 2", "inactive 1", "inactive 2"]),
        (
            "no_inventory",
            vec!["Active 1", "active 2", "inactive 1", "inactive 2", "suspended a", "suspended b"],
        ),
        ("nonsense", vec![]),
        ("", vec![]),
        ("deleted&status=unknown", vec!["deleted", "unknown 1", "unknown 2"]),
    ] {
        let reply = get(&t, &c, &format!("?sort_by=name&status={status}")).await;
        assert_eq!(names(&reply), expected, "{status}");
        assert_eq!(reply.data()["pagination"]["total_count"], expected.len(), "{status}");
        if ["active", "inactive", "suspended", "unknown"].contains(&status) {
            let data = reply.data();
            assert!(data["systems"].as_array().unwrap().iter().all(|s| s["status"] == status));
            sum += expected.len();
        }
    }
    assert_eq!(count(&t, &c, "").await, sum as u64);
    assert_eq!(count(&t, &c, "?search=SUSP").await, 2);
    assert_eq!(count(&t, &c, "?search=activ").await, 4);
    // The runs of the order by status, cut into pages at every place.
    let all = names(&get(&t, &c, "?sort_by=status").await);
    let statuses: Vec<_> = all.iter().map(|n| n.split(' ').next().unwrap().to_lowercase()).collect();
    assert!(statuses.is_sorted(), "{all:?}");
    let mut reversed = names(&get(&t, &c, "?sort_by=status&sort_direction=desc").await);
    reversed.reverse();
    assert_eq!(reversed, all);
    for size in 1..=3 {
        let mut pages = Vec::new();
        for page in 1..=9 {
            pages.extend(names(&get(&t, &c, &format!("?sort_by=status&page_size={size}&page={page}")).await));
        }
        assert_eq!(pages, all, "pages of {size}");
    }
    let with_deleted =
        names(&get(&t, &c, "?sort_by=status&status=deleted&status=active&status=unknown").await);
    assert_eq!(with_deleted.iter().position(|n| n == "deleted"), Some(2));
});

api_test!(inherited_marks_name_where_they_come_from, |t| async move {
    let tree = t.tree().await;
    let (owner, d) = (t.owner().await, t.user(tree.distributor, &["admin"]).await);
    let made = made(&t, &d, tree.customer, "S").await;
    let path = format!("/{}", text(&made, "id"));
    t.suspend_organization(tree.reseller).await;
    let shown = get(&t, &d, &path).await.expect(200).data();
    assert_eq!(
        (&shown["status"], &shown["suspended_by_org_id"]),
        (&json!("suspended"), &json!(tree.reseller))
    );
    assert_eq!((count(&t, &d, "?status=suspended").await, count(&t, &d, "?status=unknown").await), (1, 0));
    t.mark_system(text(&made, "id").parse().unwrap(), "suspended_at").await;
    let shown = get(&t, &d, &path).await.expect(200).data();
    assert_eq!((&shown["status"], &shown["suspended_by_org_id"]), (&json!("suspended"), &Value::Null));
    t.delete_organization(tree.reseller).await;
    get(&t, &d, &path).await.expect(404);
    assert_eq!((count(&t, &owner, "").await, names(&get(&t, &owner, "").await).len()), (0, 0));
    let deleted = get(&t, &d, "?status=deleted").await.expect(200).data();
    assert_eq!(deleted["systems"][0]["deleted_by_org_id"], json!(tree.reseller));
    assert_eq!(
        (&deleted["systems"][0]["status"], &deleted["pagination"]["total_count"]),
        (&json!("deleted"), &json!(1))
    );
});

api_test!(lists_stay_inside_the_scope, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for (org, name) in [
        (tree.owner, "at owner"),
        (tree.distributor, "at D"),
        (tree.reseller, "at R"),
        (tree.customer, "at C"),
        (tree.other_distributor, "at D2"),
        (tree.other_reseller, "at R2"),
        (tree.other_customer, "at C2"),
    ] {
        made(&t, &owner, org, name).await;
    }
    let r = t.user(tree.reseller, &["reader"]).await;
    for (org, expected) in [
        (tree.owner, vec!["at C", "at C2", "at D", "at D2", "at R", "at R2", "at owner"]),
        (tree.distributor, vec!["at C", "at D", "at R"]),
        (tree.reseller, vec!["at C", "at R"]),
        (tree.customer, vec!["at C"]),
    ] {
        let who = if org == tree.owner { t.owner().await } else { t.user(org, &["reader"]).await };
        let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        expected.sort_by_key(|n| n.to_lowercase());
        for order in ["name", "organization_name", "status", "created_at", "creator_name"] {
            let reply = get(&t, &who, &format!("?sort_by={order}")).await;
            let found: BTreeSet<String> = names(&reply).into_iter().collect();
            assert_eq!(found, expected.iter().cloned().collect(), "{order}");
            assert_eq!(reply.data()["pagination"]["total_count"], expected.len(), "{order}");
        }
        assert_eq!(names(&get(&t, &who, "?sort_by=name").await), expected);
    }
    // A filter is ANDed with the scope; the hierarchy expands the filter only.
    let filter = |org: OrgId, more: &str| format!("?sort_by=name&organization_id={org}{more}");
    for (who, query, expected) in [
        (&owner, filter(tree.distributor, ""), vec!["at D"]),
        (&owner, filter(tree.distributor, "&include_hierarchy=true"), vec!["at C", "at D", "at R"]),
        (&owner, filter(tree.other_reseller, "&include_hierarchy=true"), vec!["at C2", "at R2"]),
        (&owner, filter(tree.customer, "&include_hierarchy=true"), vec!["at C"]),
        (&r, filter(tree.distributor, "&include_hierarchy=true"), vec!["at C", "at R"]),
        (&r, filter(tree.owner, "&include_hierarchy=true"), vec!["at C", "at R"]),
        (&r, filter(tree.other_reseller, "&include_hierarchy=true"), vec![]),
        (&r, "?organization_id=nonsense".to_owned(), vec![]),
        (&r, filter(tree.customer, &format!("&organization_id={}", tree.reseller)), vec!["at C", "at R"]),
    ] {
        let reply = get(&t, who, &query).await;
        assert_eq!(names(&reply), expected, "{query}");
        assert_eq!(reply.data()["pagination"]["total_count"], expected.len(), "{query}");
    }
});

api_test!(filters_and_searches, |t| async move {
    let tree = t.tree().await;
    let (d, r) = (t.user(tree.distributor, &["admin"]).await, t.user(tree.reseller, &["admin"]).await);
    for (who, name, kind, version, fqdn, v4) in [
        (&d, "Milan_1", "ns8", "3.19.2", "milan.example", "203.0.113.21"),
        (&d, "Milan%2", "ns8", "3.20", "MILAN2.example", ""),
        (&r, "Róma", "nsec", "8.7.1", "", "203.0.113.99"),
    ] {
        let made = made(&t, who, tree.customer, name).await;
        let id: bailiwick_domain::SystemId = text(&made, "id").parse().unwrap();
        let mut tx = t.app.db.begin().await.unwrap();
        let mut system = bailiwick_store::systems::lock(&mut tx, id).await.unwrap().unwrap().system;
        system.system_type = Some(kind.to_owned());
        (system.version, system.fqdn, system.ipv4_address) =
            (version.to_owned(), fqdn.to_owned(), v4.to_owned());
        bailiwick_store::systems::set_facts(&mut tx, &system).await.unwrap();
        tx.commit().await.unwrap();
    }
    let creator = t.get("/api/me").bearer(&r.token).send().await.expect(200).data();
    let email = text(&creator, "email").to_uppercase();
    for (query, expected) in [
        ("search=MILAN", vec!["Milan%2", "Milan_1"]),
        ("search=_1", vec!["Milan_1"]),
        ("search=%25", vec!["Milan%2"]),
        ("search=R%C3%93M", vec!["Róma"]),
        ("search=0.113.9", vec!["Róma"]),
        ("search=nsec", vec!["Róma"]),
        ("search=3.19", vec!["Milan_1"]),
        (&format!("search={email}"), vec!["Róma"]),
        ("search=nothing", vec![]),
        ("search=a%00b", vec![]),
        ("search=%1f", vec![]),
        ("search=unknown", vec!["Milan%2", "Milan_1", "Róma"]),
        ("name=ilan", vec!["Milan%2", "Milan_1"]),
        ("name=example", vec![]),
        ("name=%00", vec![]),
        ("system_key=x%00", vec![]),
        ("type=ns8", vec!["Milan%2", "Milan_1"]),
        ("type=ns8&type=nsec", vec!["Milan%2", "Milan_1", "Róma"]),
        ("type=NS8", vec![]),
        ("type=", vec![]),
        ("version=3.20", vec!["Milan%2"]),
        ("version=ns8:3.20&version=nsec:8.7.1", vec!["Milan%2", "Róma"]),
        ("version=nsec:3.20", vec![]),
        ("type=ns8&version=3.20&search=milan2", vec!["Milan%2"]),
        (&format!("created_by={}", r.id), vec!["Róma"]),
        (&format!("created_by={}&created_by=x", tree.distributor), vec!["Milan%2", "Milan_1"]),
        ("created_by=x", vec![]),
    ] {
        let reply = get(&t, &d, &format!("?sort_by=name&{query}")).await;
        assert_eq!(names(&reply), expected, "{query}");
        assert_eq!(reply.data()["pagination"]["total_count"], expected.len(), "{query}");
    }
    let long = format!("?search={}", "x".repeat(60_000));
    assert_eq!(count(&t, &d, &long).await, 0);
    let many = format!("?{}", "type=a&".repeat(1001));
    get(&t, &d, &many).await.expect_message(400, "too many filter values");
});

api_test!(every_order_is_total_and_pages_are_stable, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for (n, org) in
        [tree.customer, tree.other_customer, tree.reseller].into_iter().cycle().take(11).enumerate()
    {
        made(&t, &owner, org, if n % 3 == 0 { "same" } else { ["Beta", "alfa", "gamma", "Delta"][n % 4] })
            .await;
        t.advance(Duration::from_secs(n as u64 % 2));
    }
    let ids = |reply: Reply| -> Vec<String> {
        reply.expect(200).data()["systems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| text(s, "id").to_owned())
            .collect()
    };
    for order in [
        "name",
        "type",
        "status",
        "fqdn",
        "version",
        "system_key",
        "created_at",
        "updated_at",
        "creator_name",
        "organization_name",
    ] {
        let up = ids(get(&t, &owner, &format!("?sort_by={order}")).await);
        let mut down = ids(get(&t, &owner, &format!("?sort_by={order}&sort_direction=desc")).await);
        down.reverse();
        assert_eq!(up, down, "{order}");
        let mut pages = Vec::new();
        for page in 1..=4 {
            let reply = get(&t, &owner, &format!("?sort_by={order}&page_size=3&page={page}")).await;
            assert_eq!(reply.data()["pagination"]["sort_by"], order);
            pages.extend(ids(reply));
        }
        assert_eq!(pages, up, "{order}");
    }
    let default = ids(get(&t, &owner, "").await);
    let mut newest = ids(get(&t, &owner, "?sort_by=created_at").await);
    newest.reverse();
    assert_eq!(default, newest);
    assert_eq!(ids(get(&t, &owner, "?sort_by=nonsense&sort_direction=asc").await), default);
    let by_name = names(&get(&t, &owner, "?sort_by=name").await);
    assert!(by_name.is_sorted_by_key(|n| n.to_lowercase()), "{by_name:?}");
    let homes: Vec<String> = get(&t, &owner, "?sort_by=organization_name").await.data()["systems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| text(&s["organization"], "name").to_owned())
        .collect();
    assert!(homes.is_sorted(), "{homes:?}");
    // Rule 10.
    let past = get(&t, &owner, "?page=999&page_size=101").await.expect(200).data();
    assert_eq!((&past["systems"], &past["pagination"]["total_count"]), (&json!([]), &json!(11)));
    assert_eq!((&past["pagination"]["page_size"], &past["pagination"]["page"]), (&json!(100), &json!(999)));
    assert_eq!(count(&t, &owner, &format!("?page={}", u64::MAX)).await, 11);
    let first = get(&t, &owner, "?page=x&page_size=0").await.data();
    assert_eq!((&first["pagination"]["page"], &first["pagination"]["page_size"]), (&json!(1), &json!(50)));
});

api_test!(registration_in_the_order_of_the_contract, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for body in [
        "",
        "x",
        "[]",
        "{}",
        r#"{"system_secret":""}"#,
        r#"{"system_secret":7}"#,
        r#"{"system_secret":null}"#,
    ] {
        let reply = t.post("/api/systems/register").body(body.to_owned()).send().await;
        reply.expect_fields(&[("system_secret", "required")]);
    }
    for bad in ["x", "my_", "my_a", "my_a.b.c", "my_.b", "a.b", "my_a.\u{e9}", "my_a.\0"] {
        let reply = register(&t, bad).await.expect_message(400, "invalid system secret format");
        assert_eq!(reply.data(), Value::Null);
    }
    let made = made(&t, &owner, tree.customer, "S").await;
    let (secret, id) = (text(&made, "system_secret"), text(&made, "id").parse().unwrap());
    let wrong = format!("{}.{}", secret.split('.').next().unwrap(), "0".repeat(40));
    // Rule 14: whatever its state, only the right secret learns of it.
    for column in ["", "suspended_at", "deleted_at"] {
        if !column.is_empty() {
            t.mark_system(id, column).await;
        }
        for secret in [wrong.as_str(), "my_0123.0123", "my_unknown.0000000000000000000000000000000000000000"]
        {
            let reply = register(&t, secret).await.expect_message(401, "invalid system secret");
            assert_eq!(reply.data(), Value::Null);
        }
    }
    // Rule 16; deleted before suspended.
    register(&t, secret).await.expect_message(403, "system has been deleted");
    change(&t, Q::new("UPDATE systems SET deleted_at = NULL WHERE id = ?").bind(id)).await;
    register(&t, secret).await.expect_message(403, "system is suspended");
    change(&t, Q::new("UPDATE systems SET suspended_at = NULL WHERE id = ?").bind(id)).await;
    t.suspend_organization(tree.distributor).await;
    register(&t, secret).await.expect_message(403, "system is suspended");
    t.delete_organization(tree.distributor).await;
    register(&t, secret).await.expect_message(403, "system has been deleted");
    let (registered,): (Option<String>,) =
        Q::new("SELECT registered_from FROM systems WHERE id = ?").bind(id).one(&t.app.db).await.unwrap();
    assert_eq!(registered, None);
});

api_test!(a_lost_answer_may_be_asked_for_again, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let conflict = |reply: Reply| {
        let reply = reply.expect_message(409, "system is already registered");
        assert_eq!(reply.data(), Value::Null);
    };
    let made_1 = made(&t, &owner, tree.customer, "1").await;
    let (key, secret) = (text(&made_1, "system_key"), text(&made_1, "system_secret"));
    let first = register(&t, secret).await.expect_message(200, "system registered successfully");
    let data =
        json!({"system_key": key, "registered_at": t.app.now(), "message": "system registered successfully"});
    assert_eq!(first.data(), data);
    // Received at the very moment: a rival, not a repeat.
    conflict(register(&t, secret).await);
    t.advance(Duration::from_secs(1));
    assert_eq!(register(&t, secret).await.expect(200).body, first.body);
    let elsewhere = t.post("/systems/register").from("198.51.100.9").json(json!({"system_secret": secret}));
    conflict(elsewhere.send().await);
    t.advance(Duration::from_secs(119));
    assert_eq!(register(&t, secret).await.expect(200).body, first.body);
    t.advance(Duration::from_micros(1));
    conflict(register(&t, secret).await);
    // The first authenticated call ends it.
    let made_2 = made(&t, &owner, tree.customer, "2").await;
    let (key, secret) = (text(&made_2, "system_key"), text(&made_2, "system_secret"));
    register(&t, secret).await.expect(200);
    t.advance(Duration::from_secs(1));
    register(&t, secret).await.expect(200);
    t.get("/systems/info").basic(key, secret).send().await.expect(200);
    conflict(register(&t, secret).await);
});

api_test!(of_parallel_registrations_one_succeeds, |t| async move {
    let tree = t.tree().await;
    let made = made(&t, &t.owner().await, tree.customer, "S").await;
    let secret = text(&made, "system_secret");
    let replies = futures(8, |_| register(&t, secret)).await;
    let mut statuses: Vec<u16> = replies.iter().map(|r| r.status.as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
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

api_test!(guessing_secrets_is_limited, |t| async move {
    let tree = t.tree().await;
    let made = made(&t, &t.owner().await, tree.customer, "S").await;
    let secret = text(&made, "system_secret");
    let wrong = format!("{}.{}", secret.split('.').next().unwrap(), "0".repeat(40));
    for _ in 0..20 {
        register(&t, &wrong).await.expect(401);
    }
    let reply = register(&t, &wrong).await.expect_message(429, "rate limit exceeded");
    assert_eq!((reply.header("retry-after"), reply.data()), (Some("60"), Value::Null));
    register(&t, secret).await.expect(429);
    t.advance(Duration::from_secs(59));
    assert_eq!(register(&t, secret).await.expect(429).header("retry-after"), Some("1"));
    // Rule 43, and other secrets from here.
    let elsewhere = t.post("/systems/register").from("198.51.100.9").json(json!({"system_secret": wrong}));
    elsewhere.send().await.expect(401);
    register(&t, "my_0123.0123").await.expect(401);
    t.advance(Duration::from_secs(1));
    register(&t, secret).await.expect(200);
});

api_test!(the_tree_keeps_a_system_in_its_organization, |t| async move {
    let tree = t.tree().await;
    let extra = t.organization(tree.distributor, OrgType::Customer, "Direct").await;
    let d = t.user(tree.distributor, &["admin"]).await;
    made(&t, &d, extra, "direct").await;
    assert_eq!(count(&t, &d, "").await, 1);
    assert_eq!(count(&t, &t.user(tree.reseller, &["admin"]).await, "").await, 0);
    assert_eq!(count(&t, &t.user(extra, &["admin"]).await, "").await, 1);
});
