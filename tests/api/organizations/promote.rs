//! Promotion of a reseller to distributor (spec: organizations#promotion; guarantees#organizations rules 16, 20, 32).

use super::*;
use bailiwick_domain::{OrgId, OrgType};
use std::time::Duration;

async fn promote(t: &Test, who: &Persona, id: impl std::fmt::Display) -> Reply {
    t.patch(&format!("/api/resellers/{id}/promote")).bearer(&who.token).body("{").send().await
}

async fn places(t: &Test, table: &str, column: &str, id: OrgId) -> Vec<(uuid::Uuid, uuid::Uuid)> {
    let q = Q::new(&format!("SELECT p2, p3 FROM {table} WHERE {column} = ?"));
    q.bind(id).all(&t.app.platform.db).await.unwrap()
}

// Proves spec: acceptance#scenarios 15.
api_test!(a_reseller_becomes_a_distributor_with_all_it_has, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["super"]).await;
    let r = t.user(tree.reseller, &["admin"]).await;
    let c = t.user(tree.customer, &["admin"]).await;
    let (own, below) = (t.system(tree.reseller).await, t.system(tree.customer).await);
    let hidden = t.organization(tree.reseller, OrgType::Customer, "Hidden").await;
    t.delete(&format!("/api/customers/{hidden}")).bearer(&r.token).send().await.expect(200);
    let owner = t.owner().await;
    let before = get(&t, &owner, &format!("/api/resellers/{}", tree.reseller)).await.expect(200).data();
    t.advance(Duration::from_secs(60));
    // A distributor's super admin may give away an organization below their own.
    let reply = promote(&t, &d, tree.reseller).await;
    let data = reply.expect_message(200, "reseller promoted to distributor successfully").data();
    let now = t.app.platform.now();
    let me = get(&t, &d, "/api/me").await.expect(200).data();
    let promoter = json!({"user_id": d.id, "username": me["username"], "name": me["name"],
        "email": me["email"],
        "organization_id": tree.distributor, "organization_name": "Alfa Distributor"});
    let from = json!({"level": "reseller", "at": now, "detached_from_organization_id": tree.distributor,
            "by": promoter});
    let mut expected = before.clone();
    expected["promoted_from"] = from;
    expected["updated_at"] = json!(now);
    expected["custom_data"]["type"] = json!("distributor");
    expected["custom_data"]["createdBy"] = json!(tree.owner);
    assert_eq!(
        data,
        json!({"distributor": expected, "detached_from_organization_id": tree.distributor,
        "parent_organization_id": tree.owner, "customers_count": 1, "users_count": 1, "systems_count": 1,
        "members_role_switched": 1})
    );
    // Places are those of a distributor everywhere, deleted rows included.
    for (table, column, id) in [
        ("organizations", "id", tree.reseller),
        ("organizations", "id", tree.customer),
        ("organizations", "id", hidden),
        ("users", "organization_id", tree.customer),
        ("systems", "organization_id", tree.reseller),
        ("systems", "organization_id", tree.customer),
    ] {
        assert_eq!(places(&t, table, column, id).await, [(tree.reseller.0, tree.reseller.0)], "{table} {id}");
    }
    // Its people are distributors from the next request on and keep their sessions.
    let me = get(&t, &r, "/api/me").await.expect(200).data();
    assert_eq!((&me["org_role"], &me["organization_id"]), (&json!("Distributor"), &json!(tree.reseller)));
    get(&t, &r, "/api/resellers").await.expect(200);
    assert_eq!(names(get(&t, &r, "/api/customers").await, "customers"), ["Alfa Customer"]);
    get(&t, &c, "/api/me").await.expect(200);
    for system in [&own, &below] {
        t.post("/api/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
    }
    let audited =
        Q::new("SELECT COUNT(*) FROM audit_log WHERE action = 'reseller.promote' AND object_id = ?");
    assert_eq!(audited.bind(tree.reseller).count(&t.app.platform.db).await.unwrap(), 1);
});

// Proves spec: guarantees#organizations 20.
api_test!(former_parents_lose_a_promoted_reseller_at_once, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let owner = t.owner().await;
    let system = t.system(tree.customer).await;
    get(&t, &d, &format!("/api/systems/{}", system.id)).await.expect(200);
    promote(&t, &owner, tree.reseller).await.expect(200);
    get(&t, &d, &format!("/api/systems/{}", system.id)).await.expect_message(404, "system not found");
    let path = format!("/api/customers/{}", tree.customer);
    get(&t, &d, &path).await.expect_message(404, "customer not found");
    get(&t, &d, &format!("/api/resellers/{}", tree.reseller)).await.expect_message(404, "reseller not found");
    for (path, expected) in
        [("/api/customers/totals", 0), ("/api/resellers/totals", 0), ("/api/users/totals", 1)]
    {
        assert_eq!(get(&t, &d, path).await.expect(200).data()["total"], expected, "{path}");
    }
    let body = json!({"email": "x@example.org", "name": "X", "user_role_ids": ["reader"], "organization_id": tree.customer});
    post(&t, &d, "/api/users", body).await.expect(403);
});

// Proves spec: guarantees#organizations 32.
api_test!(the_promotion_shows_in_every_answer, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let done = promote(&t, &owner, tree.reseller).await.expect(200).data();
    let from = done["distributor"]["promoted_from"].clone();
    assert_eq!(from["by"]["email"], "owner@example.org");
    let path = format!("/api/distributors/{}", tree.reseller);
    let sent = json!({"description": "x", "custom_data": {"promotedFrom": {"level": "owner"}}});
    let action = async |verb: &str| {
        let reply = t.patch(&format!("{path}/{verb}")).bearer(&owner.token).send().await;
        reply.expect(200).data()["distributor"].clone()
    };
    let list = get(&t, &owner, "/api/distributors?search=reseller").await.expect(200).data();
    let shown = [
        get(&t, &owner, &path).await.expect(200).data(),
        put(&t, &owner, &path, sent).await.expect(200).data(),
        action("suspend").await,
        action("reactivate").await,
        list["distributors"][0].clone(),
    ];
    for entity in shown {
        assert_eq!(entity["promoted_from"], from, "{entity}");
        assert_eq!(entity["custom_data"].get("promotedFrom"), None);
    }
    let other = get(&t, &owner, &format!("/api/distributors/{}", tree.distributor)).await.expect(200).data();
    assert_eq!(other.get("promoted_from"), None);
    // After a PUT and a second look, the times belong together.
    promote(&t, &owner, tree.reseller).await.expect_message(404, "reseller not found");
});

api_test!(what_a_promotion_refuses, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let denied = "access denied to promote reseller";
    for (org, role) in [(tree.distributor, "admin"), (tree.reseller, "admin"), (tree.customer, "admin")] {
        let who = t.user(org, &[role]).await;
        // Before anything is checked.
        promote(&t, &who, tree.reseller).await.expect_message(403, denied);
        promote(&t, &who, "none").await.expect_message(403, denied);
    }
    let reader = t.user(tree.owner, &["reader"]).await;
    promote(&t, &reader, tree.reseller).await.expect_message(403, denied);
    let r = t.user(tree.reseller, &["super"]).await;
    promote(&t, &r, tree.reseller).await.expect_message(403, denied);
    let d = t.user(tree.distributor, &["super"]).await;
    for id in [tree.other_reseller, tree.customer, tree.distributor, tree.owner] {
        promote(&t, &d, id).await.expect_message(404, "reseller not found");
    }
    promote(&t, &owner, "none").await.expect_message(404, "reseller not found");
    // Suspended on its own, or from above.
    for id in [tree.reseller, tree.distributor] {
        t.suspend_organization(id).await;
        let reply = promote(&t, &owner, tree.reseller).await.expect_message(409, "validation failed");
        let errors = json!([{"key": "promote", "message": "organization_is_suspended"}]);
        assert_eq!(reply.data(), json!({"type": "validation_error", "errors": errors}));
        let family = if id == tree.reseller { "resellers" } else { "distributors" };
        t.patch(&format!("/api/{family}/{id}/reactivate")).bearer(&owner.token).send().await.expect(200);
    }
    t.delete_organization(tree.other_reseller).await;
    promote(&t, &owner, tree.other_reseller).await.expect_message(404, "reseller not found");
    t.patch(&format!("/api/resellers/{}/promote", tree.reseller)).send().await.expect(401);
});

api_test!(a_distributor_with_the_same_vat_stands_in_the_way, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let vat = bailiwick_store::organizations::get(&t.app.platform.db, tree.reseller)
        .await
        .unwrap()
        .unwrap()
        .vat
        .unwrap();
    let body = json!({"name": "Same", "custom_data": {"vat": format!(" {} ", vat.to_lowercase())}});
    let same = post(&t, &owner, "/api/distributors", body).await.expect(201).data();
    let reply =
        promote(&t, &owner, tree.reseller).await.expect_fields(&[("custom_data.vat", "already exists")]);
    assert_eq!(reply.data()["errors"][0]["value"], json!(vat));
    assert_eq!(
        get(&t, &owner, &format!("/api/resellers/{}", tree.reseller)).await.expect(200).data()["custom_data"]
            ["type"],
        "reseller"
    );
    let path = format!("/api/distributors/{}", same["id"].as_str().unwrap());
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    promote(&t, &owner, tree.reseller).await.expect(200);
    // And now it is the other one that cannot come back.
    let reply = t.patch(&format!("{path}/restore")).bearer(&owner.token).send().await;
    reply.expect_fields(&[("custom_data.vat", "already exists")]);
});

api_test!(two_promotions_of_one_reseller, |t| async move {
    let tree = t.tree().await;
    let (a, b) = (t.owner().await, t.owner().await);
    let (one, two) = tokio::join!(promote(&t, &a, tree.reseller), promote(&t, &b, tree.reseller));
    let mut answers = [one.status.as_u16(), two.status.as_u16()];
    answers.sort_unstable();
    assert_eq!(answers, [200, 404]);
});
