//! The three organization families: create, read, list, change (spec: organizations#operations).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use bailiwick_store::sql::Q;
use bailiwick_testkit::{Persona, Reply, Test, api_test};
use serde_json::{Value, json};

mod destroy;
mod lifecycle;
mod lists;
mod model;
mod promote;
mod stats;

async fn post(t: &Test, who: &Persona, path: &str, body: Value) -> Reply {
    t.post(path).bearer(&who.token).json(body).send().await
}

async fn put(t: &Test, who: &Persona, path: &str, body: Value) -> Reply {
    t.put(path).bearer(&who.token).json(body).send().await
}

async fn get(t: &Test, who: &Persona, path: &str) -> Reply {
    t.get(path).bearer(&who.token).send().await
}

/// Names of a list, in its order.
fn names(reply: Reply, family: &str) -> Vec<String> {
    let data = reply.expect_message(200, &format!("{family} retrieved successfully")).data();
    let rows = data[family].as_array().expect("rows").clone();
    rows.iter().map(|r| r["name"].as_str().expect("a name").to_owned()).collect()
}

api_test!(a_chain_from_distributor_to_customer, |t| async move {
    let owner = t.owner().await;
    let body = json!({
        "name": "Alfa Distribuzione", "description": "North area", "logto_id": "ignored",
        "custom_data": {"vat": "IT01234567890", "city": "Milano", "type": "reseller", "createdBy": "me",
            "createdAt": "never", "updatedBy": "x", "updatedAt": "y", "createdByUser": {}, "promotedFrom": {}},
        "created_by_organization_id": "ignored for distributors"
    });
    let made = post(&t, &owner, "/api/distributors", body).await;
    let d = made.expect_message(201, "distributor created successfully").data();
    let now = t.app.platform.now();
    let id = d["id"].as_str().unwrap().to_owned();
    let expected = json!({
        "id": id, "logto_id": id, "name": "Alfa Distribuzione", "description": "North area",
        "custom_data": {"vat": "IT01234567890", "city": "Milano", "type": "distributor",
            "createdBy": owner.org, "createdAt": now.rfc3339(0)},
        "created_at": now, "updated_at": now, "logto_synced_at": null, "logto_sync_error": null,
        "deleted_at": null, "deleted_by_org_id": null, "suspended_at": null, "suspended_by_org_id": null,
        "rebranding_enabled": false,
        "created_by": {"user_id": owner.id, "username": "owner", "name": "Owner", "email": "owner@example.org",
            "organization_id": owner.org, "organization_name": "Owner"}
    });
    assert_eq!(d, expected);
    assert_eq!(get(&t, &owner, &format!("/distributors/{id}")).await.expect(200).data(), expected);

    let d_admin = t.user(id.parse().unwrap(), &["admin"]).await;
    let body = json!({"name": "Beta", "custom_data": {"vat": "IT1"}});
    let r = post(&t, &d_admin, "/api/resellers", body).await.expect(201).data();
    assert_eq!((&r["description"], &r["custom_data"]["createdBy"]), (&json!(""), &json!(id)));
    let r_admin = t.user(r["id"].as_str().unwrap().parse().unwrap(), &["admin"]).await;
    let body =
        json!({"name": "Gamma", "custom_data": {"vat": "IT1"}, "created_by_organization_id": r_admin.org});
    let c = post(&t, &r_admin, "/api/customers", body).await.expect(201).data();
    assert_eq!(c["created_by"]["organization_name"], "Beta");
    assert_eq!(c["created_by"].get("on_behalf_of"), None);
    let listed = get(&t, &owner, "/api/distributors").await.expect(200).data();
    let counts = ["systems_count", "resellers_count", "customers_count", "applications_count"];
    assert_eq!(counts.map(|c| listed["distributors"][0][c].as_u64()), [Some(0), Some(1), Some(1), Some(0)]);
});

api_test!(who_may_create_what, |t| async move {
    let tree = t.tree().await;
    let body = || json!({"name": "N", "custom_data": {"vat": "1"}});
    for (org, allowed) in [
        (tree.distributor, ["resellers", "customers"].as_slice()),
        (tree.reseller, &["customers"]),
        (tree.customer, &[]),
    ] {
        let admin = t.user(org, &["admin"]).await;
        for family in ["distributors", "resellers", "customers"] {
            let reply = post(&t, &admin, &format!("/api/{family}"), body()).await;
            if allowed.contains(&family) {
                reply.expect(201);
            } else {
                // The permission is checked before the body.
                reply.expect_message(403, "insufficient permissions");
                let broken = t.post(&format!("/api/{family}")).bearer(&admin.token).body("{").send().await;
                broken.expect_message(403, "insufficient permissions");
            }
        }
        let reader = t.user(org, &["reader"]).await;
        post(&t, &reader, "/api/customers", body()).await.expect_message(403, "insufficient permissions");
    }
});

// Proves spec: guarantees#organizations 10.
api_test!(all_field_errors_come_together, |t| async move {
    let owner = t.owner().await;
    let send = async |body: Value| post(&t, &owner, "/api/customers", body).await;
    send(json!({})).await.expect_fields(&[("name", "cannot_be_empty"), ("custom_data.vat", "required")]);
    send(json!({"name": " ", "custom_data": {"vat": null, "type": "OWNER"}})).await.expect_fields(&[
        ("name", "cannot_be_empty"),
        ("custom_data.vat", "required"),
        ("custom_data.type", "organization type 'owner' is reserved and cannot be used"),
    ]);
    send(json!({"name": "n\0", "description": "d\0", "custom_data": {"vat": " ", "k": "\0"}}))
        .await
        .expect_fields(&[
            ("name", "invalid_format"),
            ("description", "invalid_format"),
            ("custom_data.vat", "cannot_be_empty"),
            ("custom_data.k", "invalid_format"),
        ]);
    let long = "x".repeat(256);
    send(json!({"name": long, "custom_data": {"vat": long}}))
        .await
        .expect_fields(&[("name", "too_long"), ("custom_data.vat", "too_long")]);
    let big = json!({"name": "n", "custom_data": {"vat": "1", "notes": "y".repeat(64 * 1024)}});
    send(big).await.expect_fields(&[("custom_data", "too_long")]);
    let number = send(json!({"name": "n", "custom_data": {"vat": 15}})).await;
    let error = number.expect_fields(&[("custom_data.vat", "cannot_be_empty")]).data()["errors"][0].clone();
    assert_eq!(error["value"], "15");
    send(json!({"name": 7})).await.expect_fields(&[("name", "wrong_type")]);
    send(json!({"name": "n", "custom_data": []})).await.expect_fields(&[("custom_data", "wrong_type")]);
    for body in ["", "{", "[1]", "{} x", "\u{feff}\u{feff}{}", "nul"] {
        let reply = t.post("/api/customers").bearer(&owner.token).body(body).send().await;
        let reply = reply.expect_message(400, "validation failed");
        assert_eq!(reply.data()["errors"][0]["key"], "unknown", "{body}");
    }
    let deep = format!("{{\"custom_data\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
    t.post("/api/customers")
        .bearer(&owner.token)
        .body(deep)
        .send()
        .await
        .expect_message(400, "validation failed");
    assert_eq!(names(get(&t, &owner, "/api/customers").await, "customers"), [""; 0]);
    // Characters that grow when they are folded fit every index.
    let growing: String =
        ('\u{3300}'..='\u{3357}').chain('\u{fdf0}'..='\u{fdfa}').cycle().take(255).collect();
    send(json!({"name": growing, "description": growing, "custom_data": {"vat": growing}})).await.expect(201);
});

api_test!(a_description_has_a_largest_length, |t| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let too_long = [("description", "too_long")];
    let new = json!({"name": "n", "description": "é".repeat(16_385), "custom_data": {"vat": "1"}});
    post(&t, &owner, "/api/customers", new).await.expect_fields(&too_long);
    let path = format!("/api/customers/{}", tree.customer);
    let write = async |description: &str| put(&t, &owner, &path, json!({"description": description})).await;
    write(&"é".repeat(16_384)).await.expect(200);
    write(&"é".repeat(16_385)).await.expect_fields(&too_long);
    // A stored one stays, and may be sent back.
    let stored = "x".repeat(20_000);
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let q = Q::new("UPDATE organizations SET description = ? WHERE id = ?").bind(&stored).bind(tree.customer);
    q.run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    write(&stored).await.expect(200);
    write(&format!("{stored}x")).await.expect_fields(&too_long);
});

// Proves spec: acceptance#scenarios 14, guarantees#organizations 11 12.
api_test!(vat_numbers_are_unique_in_their_level, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let body = |vat: &str| json!({"name": "N", "custom_data": {"vat": vat}});
    post(&t, &owner, "/api/distributors", body("IT 123")).await.expect(201);
    for same in ["it123", " IT123 ", "i t1 23"] {
        let reply = post(&t, &owner, "/api/distributors", body(same)).await;
        let errors = reply.expect_fields(&[("custom_data.vat", "already exists")]).data();
        assert_eq!(errors["errors"][0]["value"], same);
    }
    let r = post(&t, &owner, "/api/resellers", body("IT123")).await.expect(201).data();
    for _ in 0..2 {
        post(&t, &owner, "/api/customers", body("IT123")).await.expect(201);
    }
    // Fields first, uniqueness after.
    let both = json!({"name": "", "custom_data": {"vat": "IT123"}});
    post(&t, &owner, "/api/distributors", both).await.expect_fields(&[("name", "cannot_be_empty")]);
    // A foreign number is taken too, and a PUT meets the same rule but not its own value.
    let d_admin = t.user(tree.distributor, &["admin"]).await;
    let taken = [("custom_data.vat", "already exists")];
    post(&t, &d_admin, "/api/resellers", body("it123")).await.expect_fields(&taken);
    let path = format!("/api/resellers/{}", tree.reseller);
    put(&t, &d_admin, &path, json!({"custom_data": {"vat": "It123"}})).await.expect_fields(&taken);
    let own = format!("/api/resellers/{}", r["id"].as_str().unwrap());
    put(&t, &owner, &own, json!({"custom_data": {"vat": "it123"}})).await.expect(200);
    // Of parallel creations with one number exactly one succeeds.
    let race = async || post(&t, &owner, "/api/distributors", body("RACE 1")).await.status.as_u16();
    let mut outcomes: [u16; 4] = tokio::join!(race(), race(), race(), race()).into();
    outcomes.sort_unstable();
    assert_eq!(outcomes, [201, 400, 400, 400]);
});

api_test!(attribution, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let r = t.user(tree.reseller, &["admin"]).await;
    let send = async |who: &Persona, family: &str, parent: Value| {
        let body = json!({"name": "N", "custom_data": {"vat": "9"}, "created_by_organization_id": parent});
        post(&t, who, &format!("/api/{family}"), body).await
    };
    let made = send(&d, "customers", json!(tree.reseller)).await.expect(201).data();
    assert_eq!(made["custom_data"]["createdBy"], json!(tree.reseller));
    let creator = &made["created_by"];
    assert_eq!(creator["organization_id"], json!(tree.reseller));
    assert_eq!(
        (&creator["organization_name"], &creator["on_behalf_of"]),
        (&json!("Alfa Reseller"), &json!(true))
    );
    assert_eq!(creator["user_id"], json!(d.id));
    get(&t, &r, &format!("/api/customers/{}", made["id"].as_str().unwrap())).await.expect(200);
    for own in [json!(""), json!(d.org), Value::Null] {
        let made = send(&d, "customers", own).await.expect(201).data();
        assert_eq!(made["custom_data"]["createdBy"], json!(d.org));
    }
    let level = "access denied: only owner or distributor can set created_by_organization_id";
    let reach = "access denied: created_by_organization_id is not within your hierarchy";
    send(&r, "customers", json!(tree.distributor)).await.expect_message(403, level);
    let unknown = "01950000-0000-7000-8000-0000000000d1";
    for foreign in [json!(tree.other_reseller), json!(unknown), json!("nonsense"), json!(owner.org)] {
        let reply = send(&d, "customers", foreign).await.expect_message(403, reach);
        assert_eq!(reply.data(), Value::Null);
    }
    let wrong = "access denied: a reseller can only be attributed to a distributor";
    send(&owner, "resellers", json!(tree.reseller)).await.expect_message(403, wrong);
    let wrong = "access denied: created_by_organization_id must be a reseller or distributor";
    send(&owner, "customers", json!(tree.customer)).await.expect_message(403, wrong);
    // The reference is checked before the fields, the syntax before the reference.
    let body = json!({"created_by_organization_id": unknown});
    post(&t, &d, "/api/customers", body).await.expect_message(403, reach);
    let body = json!({"created_by_organization_id": unknown, "name": 1});
    post(&t, &d, "/api/customers", body).await.expect_fields(&[("name", "wrong_type")]);
    t.delete_organization(tree.other_reseller).await;
    send(&owner, "customers", json!(tree.other_reseller)).await.expect_message(403, reach);
});

// Proves spec: acceptance#scenarios 10, guarantees#identity 4, guarantees#organizations 3.
api_test!(what_is_out_of_reach_is_not_found, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let missing = get(&t, &d, "/api/customers/01950000-0000-7000-8000-000000000000").await;
    let missing = missing.expect_message(404, "customer not found");
    for id in [
        tree.other_customer.to_string(),
        tree.reseller.to_string(),
        tree.owner.to_string(),
        "not-an-id".to_owned(),
        tree.customer.to_string().replace('-', ""),
    ] {
        let reply = get(&t, &d, &format!("/api/customers/{id}")).await;
        assert_eq!((reply.status, &reply.body), (missing.status, &missing.body), "{id}");
        let reply = put(&t, &d, &format!("/api/customers/{id}"), json!({})).await;
        assert_eq!((reply.status, &reply.body), (missing.status, &missing.body), "PUT {id}");
    }
    let upper = tree.customer.to_string().to_uppercase();
    let answer = get(&t, &d, &format!("/api/customers/{upper}")).await.expect(200).data();
    assert_eq!(answer["id"], json!(tree.customer));
    // Every user reads their own organization, whatever permissions they hold; no user reads upwards.
    let support = t.user(tree.customer, &["support"]).await;
    get(&t, &support, &format!("/api/customers/{}", tree.customer)).await.expect(200);
    let other = get(&t, &support, &format!("/api/customers/{}", tree.other_customer)).await;
    other.expect_message(403, "insufficient permissions");
    let r = t.user(tree.reseller, &["admin"]).await;
    get(&t, &r, &format!("/api/resellers/{}", tree.reseller)).await.expect(200);
    get(&t, &r, &format!("/api/distributors/{}", tree.distributor)).await.expect(403);
    get(&t, &owner, &format!("/api/distributors/{}", tree.owner))
        .await
        .expect_message(404, "distributor not found");
    t.delete_organization(tree.distributor).await;
    let path = format!("/api/customers/{}", tree.customer);
    get(&t, &owner, &path).await.expect_message(404, "customer not found");
    put(&t, &owner, &path, json!({"name": "x"})).await.expect_message(404, "customer not found");
});

// Proves spec: guarantees#organizations 1, authorization#guarantees 5.
api_test!(a_put_merges_and_never_touches_what_the_server_owns, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let path = format!("/api/customers/{}", tree.customer);
    let before = get(&t, &d, &path).await.expect(200).data();
    t.advance(std::time::Duration::from_secs(60));
    let body = json!({
        "name": "Gamma Nuova", "created_by_organization_id": tree.distributor, "parent_id": tree.distributor,
        "type": "reseller", "suspended_at": "2020-01-01T00:00:00Z",
        "custom_data": {"city": "Asti", "createdBy": tree.distributor, "type": "distributor", "updatedBy": "x"}
    });
    let after = put(&t, &d, &path, body).await.expect_message(200, "customer updated successfully").data();
    let now = t.app.platform.now();
    let mut expected = before.clone();
    expected["name"] = json!("Gamma Nuova");
    expected["updated_at"] = json!(now);
    expected["custom_data"]["city"] = json!("Asti");
    expected["custom_data"]["updatedBy"] = json!(d.org);
    expected["custom_data"]["updatedAt"] = json!(now.rfc3339(0));
    assert_eq!(after, expected);
    assert_eq!(get(&t, &d, &path).await.expect(200).data(), expected);
    let unchanged = put(&t, &d, &path, json!({"name": null, "description": null, "custom_data": null})).await;
    assert_eq!(unchanged.expect(200).data(), expected);
    put(&t, &d, &path, json!({"name": " ", "custom_data": {"vat": null}}))
        .await
        .expect_fields(&[("name", "cannot_be_empty"), ("custom_data.vat", "required")]);
    put(&t, &d, &path, json!({"custom_data": {"vat": ""}}))
        .await
        .expect_fields(&[("custom_data.vat", "cannot_be_empty")]);
    let reserved = [("custom_data.type", "organization type 'owner' is reserved and cannot be used")];
    put(&t, &d, &path, json!({"custom_data": {"type": "owner"}})).await.expect_fields(&reserved);
    assert_eq!(get(&t, &d, &path).await.expect(200).data(), expected);
    // The own organization: only where the gate lets one through, which below the owner it never does.
    let own = format!("/api/distributors/{}", tree.distributor);
    put(&t, &d, &own, json!({"name": "x"})).await.expect_message(403, "insufficient permissions");
});

api_test!(a_creator_shows_the_present_name_of_his_organization, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let body = json!({"name": "N", "custom_data": {"vat": "1"}});
    let made = post(&t, &d, "/api/customers", body).await.expect(201).data();
    t.advance(std::time::Duration::from_secs(5));
    put(&t, &owner, &format!("/api/distributors/{}", tree.distributor), json!({"name": "Renamed"}))
        .await
        .expect(200);
    let read =
        get(&t, &d, &format!("/api/customers/{}", made["id"].as_str().unwrap())).await.expect(200).data();
    assert_eq!(read["created_by"]["organization_name"], "Renamed");
    assert_eq!(read["updated_at"], made["updated_at"]);
    // A customer without a known creator comes where the creator's empty name belongs.
    let alfa = t.user(tree.distributor, &["admin"]).await;
    for (who, name) in [(&d, "beta"), (&alfa, "Alfa")] {
        t.post("/api/me/change-info").bearer(&who.token).json(json!({"name": name})).send().await.expect(200);
    }
    post(&t, &alfa, "/api/customers", json!({"name": "M", "custom_data": {"vat": "2"}})).await.expect(201);
    for (direction, expected) in [("asc", ["M", "N"]), ("desc", ["N", "M"])] {
        let path = format!("/api/customers?sort_by=creator_name&sort_direction={direction}");
        let mut names = names(get(&t, &d, &path).await, "customers");
        assert_eq!(names.len(), 3);
        names.retain(|name| expected.contains(&name.as_str()));
        assert_eq!(names, expected);
    }
});

api_test!(changes_are_audited_and_refusals_are_not, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    type Row = (String, uuid::Uuid, uuid::Uuid, Option<Value>, Value, String);
    let rows = async || -> Vec<Row> {
        Q::new(
            "SELECT action, object_id, actor_user_id, before, after, request_id FROM audit_log \
             WHERE actor_organization_id = ? ORDER BY id",
        )
        .bind(d.org)
        .all(&t.app.platform.db)
        .await
        .unwrap()
    };
    let body = json!({"name": "N", "custom_data": {"vat": "1"}});
    let call = t.post("/api/customers").bearer(&d.token).header("x-request-id", "r-1").json(body);
    let id = call.send().await.expect(201).data()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/customers/{id}");
    put(&t, &d, &path, json!({"name": ""})).await.expect(400);
    put(&t, &d, &format!("/api/customers/{}", tree.other_customer), json!({"name": "x"})).await.expect(404);
    let call = t.put(&path).bearer(&d.token).header("x-request-id", "r-2").json(json!({"name": "M"}));
    call.send().await.expect(200);
    let entries = rows().await;
    let actions: Vec<_> = entries.iter().map(|r| (r.0.as_str(), r.5.as_str())).collect();
    assert_eq!(actions, [("customer.create", "r-1"), ("customer.update", "r-2")]);
    assert!(entries.iter().all(|r| r.1.to_string() == id && r.2 == d.id.0));
    assert_eq!((&entries[0].3, &entries[0].4["name"]), (&None, &json!("N")));
    assert_eq!((&entries[1].3.as_ref().unwrap()["name"], &entries[1].4["name"]), (&json!("N"), &json!("M")));
});
