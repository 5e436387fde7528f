//! Suspend, reactivate, delete, restore (spec: organizations#life-cycle; guarantees#organizations rules 9, 13, 17 to
//! 22, 32).

use super::*;
use bailiwick_domain::OrgId;
use std::time::Duration;

async fn patch(t: &Test, who: &Persona, path: &str) -> Reply {
    t.patch(path).bearer(&who.token).send().await
}

async fn delete(t: &Test, who: &Persona, path: &str) -> Reply {
    t.delete(path).bearer(&who.token).send().await
}

fn path_of(family: &str, id: OrgId) -> String {
    format!("/api/{family}/{id}")
}

api_test!(the_answer_of_a_move_is_the_whole_entity, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let path = path_of("distributors", tree.distributor);
    let body = patch(&t, &owner, &format!("{path}/suspend")).await;
    let data = body.expect_message(200, "distributor suspended successfully").data();
    let read = get(&t, &owner, &path).await.expect(200).data();
    assert_eq!(data["distributor"], read);
    assert_eq!(
        (&read["suspended_at"], &read["suspended_by_org_id"]),
        (&json!(t.app.platform.now()), &Value::Null)
    );
    assert_eq!(read["created_at"], read["updated_at"]);
    assert!(read["created_by"].is_object());
    let expected = json!({"distributor": read, "suspended_resellers_count": 1, "suspended_customers_count": 1,
        "suspended_users_count": 0, "suspended_systems_count": 0});
    assert_eq!(data, expected);
    let customer = get(&t, &owner, &path_of("customers", tree.customer)).await.expect(200).data();
    assert_eq!(customer["suspended_by_org_id"], json!(tree.distributor));
    assert_eq!(customer["suspended_at"], read["suspended_at"]);
    // The body of a move is ignored, whatever it is.
    let call = t.patch(&format!("{path}/reactivate")).bearer(&owner.token).body("{");
    let data = call.send().await.expect_message(200, "distributor reactivated successfully").data();
    assert_eq!(
        (&data["distributor"]["suspended_at"], &data["reactivated_customers_count"]),
        (&Value::Null, &json!(1))
    );
    let path = path_of("customers", tree.customer);
    let data = delete(&t, &owner, &path).await.expect_message(200, "customer deleted successfully").data();
    assert_eq!(data, json!({"deleted_systems_count": 0, "deleted_users_count": 0}));
    let data = patch(&t, &owner, &format!("{path}/restore")).await.expect(200).data();
    assert_eq!(data, json!({"restored_systems_count": 0, "restored_users_count": 0}));
});

api_test!(
    // Proves spec: guarantees#organizations 17.
    a_reseller_suspended_on_its_own_stays_so_when_its_distributor_comes_back,
    |t| async move {
        let tree = t.tree().await;
        let owner = t.owner().await;
        let (d, r) = (path_of("distributors", tree.distributor), path_of("resellers", tree.reseller));
        patch(&t, &owner, &format!("{r}/suspend")).await.expect(200);
        t.advance(Duration::from_secs(60));
        patch(&t, &owner, &format!("{d}/suspend")).await.expect(200);
        patch(&t, &owner, &format!("{r}/reactivate")).await.expect_message(
            403,
            "reseller is suspended by a parent organization and cannot be reactivated directly",
        );
        patch(&t, &owner, &format!("{d}/reactivate")).await.expect(200);
        let customer = get(&t, &owner, &path_of("customers", tree.customer)).await.expect(200).data();
        assert_eq!(customer["suspended_by_org_id"], json!(tree.reseller));
        let reseller = get(&t, &owner, &r).await.expect(200).data();
        assert_eq!(reseller["suspended_by_org_id"], Value::Null);
        assert_eq!(reseller["suspended_at"], customer["suspended_at"]);
    }
);

// Proves spec: guarantees#organizations 9 22, authorization#guarantees 12.
api_test!(managers_of_a_branch_may_suspend_delete_and_restore_in_it, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let r = t.user(tree.reseller, &["admin"]).await;
    let reader = t.user(tree.distributor, &["reader"]).await;
    for verb in ["suspend", "reactivate", "restore"] {
        let own = format!("{}/{verb}", path_of("distributors", tree.distributor));
        patch(&t, &d, &own).await.expect_message(403, "insufficient permissions");
        let foreign = format!("{}/{verb}", path_of("resellers", tree.other_reseller));
        patch(&t, &d, &foreign).await.expect_message(404, "reseller not found");
        let wrong_family = format!("{}/{verb}", path_of("customers", tree.reseller));
        patch(&t, &d, &wrong_family).await.expect_message(404, "customer not found");
        let malformed = format!("/api/customers/none/{verb}");
        patch(&t, &d, &malformed).await.expect_message(404, "customer not found");
        let path = format!("{}/{verb}", path_of("resellers", tree.reseller));
        patch(&t, &r, &path).await.expect_message(403, "insufficient permissions");
        patch(&t, &reader, &path).await.expect_message(403, "insufficient permissions");
    }
    // Rule 9: the same holds for an organization that the caller cannot see any more.
    let path = path_of("resellers", tree.reseller);
    delete(&t, &d, &path).await.expect(200);
    delete(&t, &d, &path).await.expect_message(404, "reseller not found");
    let customer = path_of("customers", tree.customer);
    get(&t, &d, &customer).await.expect(404);
    get(&t, &t.owner().await, &customer).await.expect(404);
    patch(&t, &d, &format!("{customer}/restore"))
        .await
        .expect_message(403, "customer is deleted by a parent organization and cannot be restored directly");
    let foreign = t.user(tree.other_distributor, &["admin"]).await;
    patch(&t, &foreign, &format!("{path}/restore")).await.expect_message(404, "reseller not found");
    patch(&t, &d, &format!("{path}/restore")).await.expect_message(200, "reseller restored successfully");
    get(&t, &d, &customer).await.expect(200);
    // The owner organization is in no family.
    let owner = t.owner().await;
    for family in ["distributors", "resellers", "customers"] {
        patch(&t, &owner, &format!("{}/suspend", path_of(family, tree.owner))).await.expect(404);
        delete(&t, &owner, &path_of(family, tree.owner)).await.expect(404);
    }
});

// Proves spec: guarantees#organizations 13.
api_test!(a_taken_vat_number_stops_a_restoration, |t| async move {
    let owner = t.owner().await;
    let body = |vat: &str| json!({"name": "N", "custom_data": {"vat": vat}});
    let made = post(&t, &owner, "/api/resellers", body("it 1")).await.expect(201).data();
    let path = format!("/api/resellers/{}", made["id"].as_str().unwrap());
    delete(&t, &owner, &path).await.expect(200);
    let second = post(&t, &owner, "/api/resellers", body("IT1")).await.expect(201).data();
    let refused = patch(&t, &owner, &format!("{path}/restore")).await;
    let errors = refused.expect_fields(&[("custom_data.vat", "already exists")]).data();
    assert_eq!(errors["errors"][0]["value"], "it 1");
    get(&t, &owner, &path).await.expect(404);
    delete(&t, &owner, &format!("/api/resellers/{}", second["id"].as_str().unwrap())).await.expect(200);
    patch(&t, &owner, &format!("{path}/restore")).await.expect(200);
    // An organization that is hidden only through its parent keeps its number, so that the parent can always come back.
    let tree = t.tree().await;
    let taken = get(&t, &owner, &path_of("resellers", tree.reseller)).await.expect(200).data();
    delete(&t, &owner, &path_of("distributors", tree.distributor)).await.expect(200);
    let again = body(taken["custom_data"]["vat"].as_str().unwrap());
    post(&t, &owner, "/api/resellers", again).await.expect_fields(&[("custom_data.vat", "already exists")]);
    patch(&t, &owner, &format!("{}/restore", path_of("distributors", tree.distributor))).await.expect(200);
});

// Proves spec: guarantees#organizations 20, authorization#guarantees 16.
api_test!(every_credential_below_dies_with_the_answer, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    // SQLite belongs to one process, PostgreSQL to as many as there are.
    let mut replicas = vec![&t];
    let second = t.replica().await;
    if t.app.platform.db.is_postgres() {
        replicas.push(&second);
    }
    for (path, end, back) in [
        (path_of("distributors", tree.distributor), "suspend", "reactivate"),
        (path_of("resellers", tree.reseller), "delete", "restore"),
    ] {
        let user = t.user(tree.customer, &["admin"]).await;
        let other = t.user(tree.other_customer, &["admin"]).await;
        let system = t.system(tree.customer).await;
        let heartbeat = async |t: &Test| {
            t.post("/api/systems/heartbeat").basic(&system.key, &system.secret).send().await.status.as_u16()
        };
        let me = async |t: &Test, who: &Persona| get(t, who, "/api/me").await.status.as_u16();
        for t in &replicas {
            assert_eq!((heartbeat(t).await, me(t, &user).await), (200, 200));
        }
        let call = if end == "delete" { t.delete(&path) } else { t.patch(&format!("{path}/{end}")) };
        let data = call.bearer(&owner.token).send().await.expect(200).data();
        let mark = if end == "delete" { "deleted" } else { "suspended" };
        assert!(data[format!("{mark}_users_count")].as_u64() >= Some(1), "{data}");
        assert!(data[format!("{mark}_systems_count")].as_u64() >= Some(1), "{data}");
        for t in &replicas {
            assert!(matches!(heartbeat(t).await, 401 | 403));
            assert_eq!((me(t, &user).await, me(t, &other).await), (401, 200));
            let refresh = t.post("/api/auth/refresh").json(json!({"refresh_token": user.refresh_token}));
            refresh.send().await.expect(401);
        }
        assert!(bailiwick_identity::auth::issue_token(&t.app.identity, user.id).await.is_err());
        patch(&t, &owner, &format!("{path}/{back}")).await.expect(200);
        for t in &replicas {
            // Heartbeats are accepted again; earlier sessions stay revoked.
            assert_eq!((heartbeat(t).await, me(t, &user).await), (200, 401));
        }
        assert_eq!(me(&second, &t.session(user.id).await).await, 200);
    }
});

// Proves spec: guarantees#organizations 18.
api_test!(what_is_created_while_a_distributor_goes_is_down_with_it, |t| async move {
    let owner = t.owner().await;
    for end in ["suspend", "delete"] {
        let tree = t.tree().await;
        let path = path_of("distributors", tree.distributor);
        let create = async |n: usize| {
            let body = json!({"name": "N", "custom_data": {"vat": format!("{end}{n}")},
                "created_by_organization_id": tree.reseller});
            post(&t, &owner, "/api/customers", body).await.status.as_u16()
        };
        let mark = async || {
            let call = if end == "delete" { t.delete(&path) } else { t.patch(&format!("{path}/suspend")) };
            call.bearer(&owner.token).send().await.status.as_u16()
        };
        let (marked, ..) = tokio::join!(mark(), create(1), create(2), create(3), create(4));
        assert_eq!(marked, 200);
        let column = if end == "delete" { "eff_deleted_by" } else { "eff_suspended_by" };
        let up = format!("SELECT COUNT(*) FROM organizations WHERE p2 = ? AND id <> ? AND {column} IS NULL");
        let up = Q::new(&up)
            .bind(tree.distributor)
            .bind(tree.distributor)
            .count(&t.app.platform.db)
            .await
            .unwrap();
        assert_eq!(up, 0, "{end}");
    }
});

// Proves spec: guarantees#organizations 20.
api_test!(no_session_begun_beside_a_move_outlives_it, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let user = t.user(tree.customer, &["admin"]).await.id;
    let path = path_of("distributors", tree.distributor);
    for (end, back) in [("suspend", "reactivate"), ("delete", "restore")].repeat(3) {
        let mark = async || {
            let call = if end == "delete" { t.delete(&path) } else { t.patch(&format!("{path}/{end}")) };
            call.bearer(&owner.token).send().await.status.as_u16()
        };
        let begin = || bailiwick_identity::auth::issue_token(&t.app.identity, user);
        let (_, _, marked, ..) = tokio::join!(begin(), begin(), mark(), begin(), begin());
        assert_eq!(marked, 200);
        let live = Q::new("SELECT COUNT(*) FROM session_chains WHERE user_id = ? AND revoked_at IS NULL");
        assert_eq!(live.bind(user).count(&t.app.platform.db).await.unwrap(), 0, "{end}");
        patch(&t, &owner, &format!("{path}/{back}")).await.expect(200);
    }
});

api_test!(moves_are_audited, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let path = path_of("resellers", tree.reseller);
    patch(&t, &d, &format!("{path}/suspend")).await.expect(200);
    patch(&t, &d, &format!("{path}/suspend")).await.expect_message(400, "reseller is already suspended");
    patch(&t, &d, &format!("{path}/reactivate")).await.expect(200);
    delete(&t, &d, &path).await.expect(200);
    patch(&t, &d, &format!("{path}/restore")).await.expect(200);
    let rows: Vec<(String, Value, Value)> = Q::new(
        "SELECT action, before, after FROM audit_log WHERE actor_organization_id = ? AND object_id = ? ORDER BY id",
    )
    .bind(d.org)
    .bind(tree.reseller)
    .all(&t.app.platform.db)
    .await
    .unwrap();
    let now = json!(t.app.platform.now());
    let (suspended, deleted) = (|v: &Value| json!({"suspended_at": v}), |v: &Value| json!({"deleted_at": v}));
    let expected = [
        ("reseller.suspend".to_owned(), suspended(&Value::Null), suspended(&now)),
        ("reseller.reactivate".to_owned(), suspended(&now), suspended(&Value::Null)),
        ("reseller.delete".to_owned(), deleted(&Value::Null), deleted(&now)),
        ("reseller.restore".to_owned(), deleted(&now), deleted(&Value::Null)),
    ];
    assert_eq!(rows, expected);
});
