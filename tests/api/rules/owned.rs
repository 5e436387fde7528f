//! A client cannot set the fields that only the server sets (spec: guarantees#identity rule 5, guarantees#organizations
//! rule 1, authorization#guarantees rule 5).

use bailiwick_testkit::{Persona, Test, api_test, seed::Tree};
use serde_json::{Map, Value, json};

/// Every key of a body that names a column or a reference, aimed at the other branch.
fn forged(tree: &Tree) -> Map<String, Value> {
    let other = json!(tree.other_distributor);
    let time = json!("2020-01-01T00:00:00Z");
    let Value::Object(forged) = json!({
        "id": other, "logto_id": other, "parent_id": other, "type": "owner", "p2": other, "p3": other,
        "createdBy": other, "createdByUser": {"user_id": other}, "createdAt": time, "created_at": time,
        "updated_at": time, "updatedBy": other, "updatedAt": time, "suspended_at": time, "deleted_at": time,
        "suspended_by_org_id": other, "deleted_by_org_id": other, "created_by": {"user_id": other, "name": "Forged"},
        "promotedFrom": {"level": "reseller"}, "promoted_from": {"level": "reseller"}, "rebranding_enabled": true,
        "rebranding_org_id": other, "logto_synced_at": time, "systems_count": 7, "owner_id": other,
        "role_ids": ["super"],
        "userRoleIds": ["super"], "organizationId": other, "email_verified": true, "latest_login_at": time,
        "password": "Forged-Horse-7-Battery", "password_hash": "x", "system_key": "SYS-1", "system_secret": "my_1.1",
        "status": "active", "registered_at": time, "last_heartbeat": time,
    }) else {
        return Map::new();
    };
    forged
}

/// The fields that a body adds inside `custom_data`.
fn forged_data(tree: &Tree) -> Value {
    let other = json!(tree.other_distributor);
    json!({"type": "distributor", "createdBy": other, "createdByUser": {"name": "Forged"}, "createdAt": "2020",
        "organizationId": other, "userRoleIds": ["super"], "city": "Ancona"})
}

fn with(mut body: Value, forged: Map<String, Value>, data: &Value) -> Value {
    for (key, value) in forged {
        if body.get(&key).is_none() {
            body[key] = value;
        }
    }
    for (key, value) in data.as_object().unwrap() {
        body["custom_data"][key] = value.clone();
    }
    body
}

/// An answer without the fields that differ between two equal creations.
fn comparable(mut data: Value) -> Value {
    for key in ["id", "logto_id", "username", "email", "system_key", "system_secret"] {
        data.as_object_mut().unwrap().remove(key);
    }
    if let Some(custom) = data["custom_data"].as_object_mut() {
        custom.remove("vat");
    }
    data
}

/// Makes one thing plainly and one with everything forged, changes both alike, and compares all answers.
async fn same(t: &Test, tree: &Tree, who: &Persona, path: &str, plain: [Value; 2], skip: &[&str]) {
    let data = json!({"city": "Ancona"});
    let mut forged = forged(tree);
    forged.retain(|key, _| !skip.contains(&key.as_str()));
    let post = async |body: Value| t.post(path).bearer(&who.token).json(body).send().await.expect(201).data();
    let [first, second] = plain;
    let a = post(with(first.clone(), Map::new(), &data)).await;
    let b = post(with(second, forged.clone(), &forged_data(tree))).await;
    assert_ne!(b["id"], json!(tree.other_distributor));
    assert_eq!(comparable(a.clone()), comparable(b.clone()), "POST {path}");
    let put = async |made: &Value, body: Value| {
        let path = format!("{path}/{}", made["id"].as_str().unwrap());
        let put = t.put(&path).bearer(&who.token).json(body).send().await.expect(200).data();
        let read = t.get(&path).bearer(&who.token).send().await.expect(200).data();
        assert_eq!(read, put, "{path}");
        read
    };
    let change = |forged, data| with(json!({"name": "Changed", "custom_data": {"vat": null}}), forged, data);
    let strip = |mut body: Value| {
        body["custom_data"].as_object_mut().unwrap().remove("vat");
        body
    };
    let a = put(&a, strip(change(Map::new(), &data))).await;
    let b = put(&b, strip(change(forged, &forged_data(tree)))).await;
    assert_eq!(comparable(a), comparable(b), "PUT {path}");
}

// Proves spec: guarantees#identity 5, guarantees#organizations 1, authorization#guarantees 5.
api_test!(no_body_sets_what_the_server_owns, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let owner = t.owner().await;
    let organization = |vat: &str| json!({"name": "N", "custom_data": {"vat": vat}});
    same(&t, &tree, &owner, "/api/distributors", [organization("1"), organization("2")], &[]).await;
    same(&t, &tree, &d, "/api/resellers", [organization("1"), organization("2")], &[]).await;
    same(&t, &tree, &d, "/api/customers", [organization("1"), organization("2")], &[]).await;
    let user = |email: &str| json!({"email": email, "name": "N", "user_role_ids": ["reader"], "organization_id": tree.customer});
    same(&t, &tree, &d, "/api/users", [user("a@example.org"), user("b@example.org")], &[]).await;
    let system = || json!({"name": "N", "organization_id": tree.customer});
    // These two are fields of a new system that an owner or distributor may set (spec: systems#get).
    same(&t, &tree, &d, "/api/systems", [system(), system()], &["created_at", "registered_at"]).await;
    // Nothing of it arrived in the other branch.
    let other = t.user(tree.other_distributor, &["admin"]).await;
    for (path, n) in [("resellers", 1), ("customers", 1), ("users", 1), ("systems", 0)] {
        let data = t.get(&format!("/api/{path}")).bearer(&other.token).send().await.expect(200).data();
        assert_eq!(data["pagination"]["total_count"], json!(n), "{path}");
    }
});
