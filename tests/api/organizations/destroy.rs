//! Destruction, stats and totals (spec: organizations#destruction, organizations#stats; guarantees#organizations rules
//! 9, 20, 23, 25).

use super::*;
use bailiwick_domain::OrgId;

async fn send(t: &Test, who: &Persona, family: &str, id: OrgId) -> Reply {
    t.delete(&format!("/api/{family}/{id}/destroy")).bearer(&who.token).send().await
}

async fn rows(t: &Test, table: &str, column: &str, id: OrgId) -> u64 {
    let q = Q::new(&format!("SELECT COUNT(*) FROM {table} WHERE {column} = ?"));
    q.bind(id).count(&t.app.platform.db).await.unwrap()
}

// Proves spec: guarantees#organizations 23.
api_test!(nothing_is_left_of_a_destroyed_subtree, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let user = t.user(tree.customer, &["admin"]).await;
    let creator = t.user(tree.reseller, &["admin"]).await;
    let system = t.system(tree.customer).await;
    let others = t.system(tree.other_customer).await;
    t.post("/api/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
    // A customer deleted before, and one created below that is elsewhere now.
    let hidden = t.organization(tree.reseller, bailiwick_domain::OrgType::Customer, "Hidden").await;
    t.delete(&format!("/api/customers/{hidden}")).bearer(&owner.token).send().await.expect(200);
    let mut tx = t.app.platform.db.begin().await.unwrap();
    for (table, id) in [("organizations", tree.other_customer.0), ("systems", others.id.0)] {
        let text = format!(
            "UPDATE {table} SET creator_org_id = ?, created_by = \
             [[jsonb_set(created_by, '{{organization_name}}', '\"old\"')||json_set(created_by, '$.organization_name', 'old')]] \
             WHERE id = ?"
        );
        assert_eq!(Q::new(&text).bind(creator.org).bind(id).run(&mut tx).await.unwrap(), 1);
    }
    tx.commit().await.unwrap();
    send(&t, &owner, "distributors", tree.distributor)
        .await
        .expect_message(200, "distributor permanently destroyed");
    for id in [tree.distributor, tree.reseller, tree.customer, hidden] {
        assert_eq!(rows(&t, "organizations", "id", id).await, 0);
        for table in ["organization_counts", "users", "systems"] {
            assert_eq!(rows(&t, table, "organization_id", id).await, 0, "{table}");
        }
    }
    let left = |table: &str, column: &str, id: uuid::Uuid| {
        Q::new(&format!("SELECT COUNT(*) FROM {table} WHERE {column} = ?")).bind(id)
    };
    assert_eq!(left("session_chains", "user_id", user.id.0).count(&t.app.platform.db).await.unwrap(), 0);
    assert_eq!(left("system_activity", "system_id", system.id.0).count(&t.app.platform.db).await.unwrap(), 0);
    get(&t, &user, "/api/me").await.expect(401);
    let heartbeat = t.post("/api/systems/heartbeat").basic(&system.key, &system.secret).send().await;
    heartbeat.expect(401);
    t.post("/api/systems/heartbeat").basic(&others.key, &others.secret).send().await.expect(200);
    // The last known name stays in the rows that it had created elsewhere.
    for path in [format!("/api/customers/{}", tree.other_customer), format!("/api/systems/{}", others.id)] {
        let read = get(&t, &owner, &path).await.expect(200).data();
        assert_eq!(read["created_by"]["organization_name"], "Alfa Reseller", "{path}");
    }
    send(&t, &owner, "distributors", tree.distributor).await.expect_message(404, "distributor not found");
    let audited =
        Q::new("SELECT COUNT(*) FROM audit_log WHERE action = 'distributor.destroy' AND object_id = ?");
    assert_eq!(audited.bind(tree.distributor).count(&t.app.platform.db).await.unwrap(), 1);
});

api_test!(
    // Proves spec: guarantees#organizations 9, authorization#guarantees 12.
    destroying_asks_for_its_own_permission_and_reaches_deleted_rows,
    |t| async move {
        let tree = t.tree().await;
        let owner = t.owner().await;
        let d = t.user(tree.distributor, &["super"]).await;
        send(&t, &d, "resellers", tree.other_reseller).await.expect(403);
        t.delete(&format!("/api/resellers/{}", tree.reseller)).bearer(&d.token).send().await.expect(200);
        send(&t, &d, "resellers", tree.reseller).await.expect_message(403, "insufficient permissions");
        send(&t, &owner, "customers", tree.reseller).await.expect_message(404, "customer not found");
        send(&t, &owner, "distributors", tree.owner).await.expect_message(404, "distributor not found");
        send(&t, &owner, "customers", tree.customer)
            .await
            .expect_message(200, "customer permanently destroyed");
        send(&t, &owner, "resellers", tree.reseller)
            .await
            .expect_message(200, "reseller permanently destroyed");
    }
);

// Proves spec: acceptance#scenarios 10.
api_test!(stats_and_totals_follow_the_tree, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let c = t.user(tree.customer, &["admin"]).await;
    t.system(tree.customer).await;
    t.system(tree.reseller).await;
    t.suspend_organization(tree.reseller).await;
    let stats = async |who: &Persona, family: &str, id: OrgId| {
        get(&t, who, &format!("/api/{family}/{id}/stats")).await.expect(200).data()
    };
    let expected = json!({"users_count": 1, "users_hierarchy_count": 2, "systems_count": 0,
        "systems_hierarchy_count": 2, "resellers_count": 1, "customers_count": 1, "applications_count": 0,
        "applications_hierarchy_count": 0});
    assert_eq!(stats(&d, "distributors", tree.distributor).await, expected);
    let expected = json!({"users_count": 0, "users_hierarchy_count": 1, "systems_count": 1,
        "systems_hierarchy_count": 2, "customers_count": 1, "applications_count": 0,
        "applications_hierarchy_count": 0});
    assert_eq!(stats(&owner, "resellers", tree.reseller).await, expected);
    let expected = json!({"users_count": 1, "systems_count": 1, "applications_count": 0});
    assert_eq!(stats(&d, "customers", tree.customer).await, expected);
    get(&t, &d, &format!("/api/customers/{}/stats", tree.other_customer))
        .await
        .expect_message(404, "customer not found");
    get(&t, &c, "/api/customers/totals").await.expect(401);
    let totals = async |who: &Persona| {
        let mut all = Vec::new();
        for family in ["resellers", "customers"] {
            let reply = get(&t, who, &format!("/api/{family}/totals")).await;
            let total =
                reply.expect_message(200, &format!("{family} totals retrieved")).data()["total"].clone();
            let listed = get(&t, who, &format!("/api/{family}")).await.expect(200).data();
            assert_eq!(total, listed["pagination"]["total_count"]);
            all.push(total.as_u64().unwrap());
        }
        all
    };
    assert_eq!((totals(&owner).await, totals(&d).await), (vec![2, 2], vec![1, 1]));
    t.delete_organization(tree.reseller).await;
    assert_eq!((totals(&owner).await, totals(&d).await), (vec![1, 1], vec![0, 0]));
    get(&t, &d, "/api/distributors/totals").await.expect_message(403, "insufficient permissions");
});

/// Where a row can name something: every id column of the schema.
async fn id_columns(t: &Test) -> Vec<(String, String)> {
    Q::new(
        "[[SELECT CAST(table_name AS TEXT), CAST(column_name AS TEXT) FROM information_schema.columns \
         WHERE table_schema = 'public' AND data_type = 'uuid'||SELECT m.name, c.name FROM sqlite_master m \
         JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.type = 'BLOB']] ORDER BY 1, 2",
    )
    .all(&t.app.platform.db)
    .await
    .unwrap()
}

/// Tables with rows that name one of these, apart from histories and columns that only record a creator or an actor.
async fn naming(t: &Test, ids: &[uuid::Uuid]) -> Vec<String> {
    let mut columns = Vec::new();
    for (table, column) in id_columns(t).await {
        let tells_who =
            column.starts_with("creator_") || column.starts_with("actor_") || column == "updated_by_org_id";
        if tells_who || table.contains("audit") {
            continue;
        }
        let mut q = Q::new(&format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {table} WHERE {column} IN ("));
        q.list(ids.iter().copied()).push(")");
        if q.count(&t.app.platform.db).await.unwrap() > 0 {
            columns.push(format!("{table}.{column}"));
        }
    }
    columns
}

// Proves spec: guarantees#organizations 23.
api_test!(no_row_anywhere_names_what_was_destroyed, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let mut ids = vec![tree.distributor.0, tree.reseller.0, tree.customer.0];
    for org in [tree.distributor, tree.reseller, tree.customer] {
        let user = t.user(org, &["admin"]).await;
        t.api_key(user.id, bailiwick_policy::KeyMode::Read).await;
        let refresh = json!({"refresh_token": user.refresh_token});
        t.post("/api/auth/refresh").json(refresh).send().await.expect(200);
        let system = t.system(org).await;
        let send = async |path: &str, body: Value| {
            let call = t.post(path).basic(&system.key, &system.secret).json(body);
            assert!(call.send().await.status.is_success(), "{path}");
        };
        send("/api/systems/heartbeat", json!({})).await;
        send("/api/systems/inventory", json!({"facts": {"x": 1}})).await;
        let router = "/api/services/mimir/alertmanager/api/v2";
        send(&format!("{router}/alerts"), json!([{"labels": {"alertname": "A"}}])).await;
        let silence = json!({"matchers": [{"name": "alertname", "value": "A", "isRegex": false}], "createdBy": "me",
            "comment": "c", "startsAt": "2026-03-04T10:00:00Z", "endsAt": "2026-03-04T12:00:00Z"});
        send(&format!("{router}/silences"), silence).await;
        ids.extend([user.id.0, system.id.0]);
    }
    let before = naming(&t, &ids).await;
    for expected in [
        "organizations.id",
        "users.id",
        "systems.id",
        "session_chains.user_id",
        "api_keys.user_id",
        "system_activity.system_id",
        "router_alerts.organization_id",
        "router_silences.organization_id",
        "organization_counts.organization_id",
    ] {
        assert!(before.iter().any(|found| found == expected), "{expected} is not in {before:?}");
    }
    assert!(before.iter().any(|found| found.starts_with("inventory_")), "{before:?}");
    send(&t, &owner, "distributors", tree.distributor).await.expect(200);
    bailiwick_events::number_all(&t.app.events).await.unwrap();
    assert_eq!(naming(&t, &ids).await, [""; 0]);
});
