//! Suspend, reactivate, delete, restore, destroy (spec: users#effective-state, users#operations; guarantees#identity
//! rules 2, 4, 10, 14; authorization#guarantees rules 2, 12, 16, 17).

use super::{body, get, post, put};
use bailiwick_domain::UserId;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Engine, Persona, Reply, Test, api_test};
use serde_json::{Value, json};

const NOT_FOUND: &str = "user not found";

/// One of the five operations; their bodies are ignored.
async fn act(t: &Test, who: &Persona, what: &str, id: impl std::fmt::Display) -> Reply {
    let call = match what {
        "delete" => t.delete(&format!("/api/users/{id}")),
        "destroy" => t.delete(&format!("/api/users/{id}/destroy")),
        _ => t.patch(&format!("/api/users/{id}/{what}")),
    };
    call.bearer(&who.token).body("{").send().await
}

const DONE: [(&str, &str); 5] = [
    ("suspend", "user suspended successfully"),
    ("reactivate", "user reactivated successfully"),
    ("delete", "user deleted successfully"),
    ("restore", "user restored successfully"),
    ("destroy", "user permanently destroyed"),
];

async fn done(t: &Test, who: &Persona, what: &str, id: impl std::fmt::Display) {
    let (_, message) = DONE.into_iter().find(|(name, _)| *name == what).unwrap();
    assert_eq!(act(t, who, what, id).await.expect_message(200, message).data(), Value::Null);
}

async fn state(t: &Test, who: &Persona, id: UserId) -> (Value, Value) {
    let data = get(t, who, &format!("/api/users/{id}")).await.expect(200).data();
    (data["suspended_at"].clone(), data["suspended_by_org_id"].clone())
}

/// Kept counters against rows.
async fn counters_are_true(t: &Test) {
    let wrong: Vec<(i64, i64)> = Q::new(
        "SELECT n.users, CAST((SELECT COUNT(*) FROM users u WHERE u.organization_id = n.organization_id \
         AND u.deleted_at IS NULL) AS BIGINT) FROM organization_counts n",
    )
    .all(&t.app.platform.db)
    .await
    .unwrap();
    assert!(wrong.iter().all(|(stored, rows)| stored == rows), "{wrong:?}");
}

/// The processes that serve this database.
async fn processes(t: &Test) -> Option<Test> {
    match t.engine {
        Engine::Postgres => Some(t.replica().await),
        Engine::Sqlite => None,
    }
}

/// Every credential of the user is refused in every process, by the very next call.
async fn refused(t: &Test, other: Option<&Test>, user: &Persona, message: &str, data: Value, refresh: &str) {
    for process in [Some(t), other].into_iter().flatten() {
        for path in ["/api/me", "/api/users"] {
            let reply = get(process, user, path).await.expect_message(401, message);
            assert_eq!(reply.data(), data);
        }
        let again = json!({"refresh_token": user.refresh_token});
        process.post("/api/auth/refresh").json(again).send().await.expect_message(401, refresh);
    }
}

api_test!(
    // Proves spec: acceptance#scenarios 17, guarantees#identity 10 14, authorization#guarantees 16.
    a_suspended_users_very_next_call_is_refused_everywhere,
    |t| async move {
        let tree = t.tree().await;
        let other = processes(&t).await;
        let d = t.user(tree.distributor, &["admin"]).await;
        let user = t.user(tree.customer, &["reader"]).await;
        get(&t, &user, "/api/users").await.expect(200);
        if let Some(other) = &other {
            get(other, &user, "/api/users").await.expect(200);
        }
        done(&t, &d, "suspend", user.id).await;
        let reason = json!({"reason": "user suspended by administrator"});
        let text = "user account has been suspended";
        refused(&t, other.as_ref(), &user, text, reason, text).await;
        assert_eq!(state(&t, &d, user.id).await, (json!(t.app.platform.now()), Value::Null));
        act(&t, &d, "suspend", user.id).await.expect_message(400, "user not found or already suspended");
        // Rule 14: the suspension is over, the sessions from before are not back.
        done(&t, &d, "reactivate", user.id).await;
        let reason = json!({"reason": "user suspended"});
        refused(
            &t,
            other.as_ref(),
            &user,
            "token has been revoked",
            reason,
            "refresh token has been revoked",
        )
        .await;
        let again = t.session(user.id).await;
        get(&t, &again, "/api/users").await.expect(200);
        let reply = act(&t, &d, "reactivate", user.id).await;
        let reply = reply.expect_message(400, "user not found or not suspended");
        assert_eq!(reply.data(), json!({"type": "validation_error", "errors": []}));
        counters_are_true(&t).await;
    }
);

// Proves spec: acceptance#scenarios 17, guarantees#identity 10, authorization#guarantees 17.
api_test!(a_deleted_users_next_call_is_refused, |t| async move {
    let tree = t.tree().await;
    let other = processes(&t).await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let user = t.user(tree.customer, &["reader"]).await;
    let total = async || get(&t, &d, "/api/users").await.data()["pagination"]["total_count"].clone();
    assert_eq!(total().await, 2);
    act(&t, &d, "restore", user.id).await.expect_message(400, "user is not deleted");
    done(&t, &d, "suspend", user.id).await;
    done(&t, &d, "delete", user.id).await;
    assert_eq!(total().await, 1);
    let (text, revoked) = ("token has been revoked", "refresh token has been revoked");
    let reply = get(&t, &user, "/api/me").await.expect(401);
    assert!([text, "user account has been suspended"].contains(&reply.message().as_str()));
    for what in ["suspend", "reactivate", "delete"] {
        act(&t, &d, what, user.id).await.expect_message(404, NOT_FOUND);
    }
    get(&t, &d, &format!("/api/users/{}", user.id)).await.expect_message(404, NOT_FOUND);
    let deleted = get(&t, &d, "/api/users?status=deleted").await.expect(200).data();
    assert_eq!(deleted["users"][0]["deleted_at"], json!(t.app.platform.now()));
    counters_are_true(&t).await;
    // The own suspension outlives the deletion.
    done(&t, &d, "restore", user.id).await;
    assert_eq!(total().await, 2);
    assert_eq!(state(&t, &d, user.id).await.0, json!(t.app.platform.now()));
    done(&t, &d, "reactivate", user.id).await;
    let again = t.session(user.id).await;
    done(&t, &d, "delete", user.id).await;
    let reason = json!({"reason": "user deleted"});
    refused(&t, other.as_ref(), &again, text, reason.clone(), revoked).await;
    done(&t, &d, "restore", user.id).await;
    refused(&t, other.as_ref(), &again, text, reason, revoked).await;
    get(&t, &t.session(user.id).await, "/api/me").await.expect(200);
    counters_are_true(&t).await;
});

// Proves spec: acceptance#scenarios 17.
api_test!(a_destroyed_user_is_gone_for_good, |t| async move {
    let tree = t.tree().await;
    let other = processes(&t).await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let (live, gone) = (t.user(tree.customer, &["reader"]).await, t.user(tree.customer, &["reader"]).await);
    act(&t, &d, "destroy", live.id).await.expect_message(403, "insufficient permissions");
    let username = get(&t, &d, &format!("/api/users/{}", live.id)).await.data()["username"].clone();
    done(&t, &d, "delete", gone.id).await;
    for user in [&live, &gone] {
        done(&t, &owner, "destroy", user.id).await;
        refused(&t, other.as_ref(), user, "invalid token", Value::Null, "invalid refresh token").await;
        act(&t, &owner, "destroy", user.id).await.expect_message(404, NOT_FOUND);
        act(&t, &owner, "restore", user.id).await.expect_message(404, NOT_FOUND);
    }
    counters_are_true(&t).await;
    // The user name is free, which a deletion does not achieve.
    let mut new = body("new@example.org", &["reader"], tree.customer);
    new["username"] = username;
    post(&t, &d, new).await.expect(201);
    // The audit log keeps the user's data, and no row points to the user.
    let rows: Vec<(String, Option<Value>)> =
        Q::new("SELECT action, after FROM audit_log WHERE object_id = ? ORDER BY id")
            .bind(gone.id)
            .all(&t.app.platform.db)
            .await
            .unwrap();
    let actions: Vec<&str> = rows.iter().map(|r| r.0.as_str()).collect();
    assert_eq!(actions, ["user.delete", "user.destroy"]);
    assert!(rows[0].1.as_ref().is_some_and(|v| v["deleted_at"].is_string()) && rows[1].1.is_none());
    for table in ["session_chains", "oidc_logins", "oidc_grants"] {
        let mut q = Q::new(&format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {table} WHERE user_id IN ("));
        q.list([live.id, gone.id]).push(")");
        assert_eq!(q.count(&t.app.platform.db).await.unwrap(), 0, "{table}");
    }
});

api_test!(what_the_organization_decides_a_user_cannot_be_freed_of, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (a, b) = (t.user(tree.customer, &["reader"]).await, t.user(tree.customer, &["reader"]).await);
    t.suspend_organization(tree.reseller).await;
    let cascade = "user was suspended by organization cascade, the organization must be reactivated first";
    act(&t, &owner, "reactivate", a.id).await.expect_message(403, cascade);
    assert_eq!(state(&t, &owner, a.id).await.1, json!(tree.reseller));
    // A suspension is possible on top of an inherited one; the user's own mark is shown then.
    done(&t, &owner, "suspend", a.id).await;
    assert_eq!(state(&t, &owner, a.id).await.1, Value::Null);
    act(&t, &owner, "reactivate", a.id).await.expect_message(403, cascade);
    done(&t, &owner, "delete", b.id).await;
    t.delete_organization(tree.distributor).await;
    let first = "user's organization is deleted and must be restored first";
    for user in [&a, &b] {
        act(&t, &owner, "restore", user.id).await.expect_message(400, first);
        act(&t, &owner, "suspend", user.id).await.expect_message(404, NOT_FOUND);
        act(&t, &owner, "delete", user.id).await.expect_message(404, NOT_FOUND);
    }
    done(&t, &owner, "destroy", a.id).await;
    done(&t, &owner, "destroy", b.id).await;
    counters_are_true(&t).await;
});

api_test!(a_restored_user_needs_their_address, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let with = |email: &str, phone: &str| {
        let mut new = body(email, &["reader"], tree.customer);
        new["phone"] = json!(phone);
        new
    };
    let first = post(&t, &d, with("a@example.org", "0123456789")).await.expect(201).data();
    let id: UserId = first["id"].as_str().unwrap().parse().unwrap();
    done(&t, &d, "delete", id).await;
    let second = post(&t, &d, with("A@Example.org", "0123456789")).await.expect(201).data();
    let reply = act(&t, &d, "restore", id).await;
    // Colleagues share a phone.
    let reply = reply.expect_fields(&[("email", "already_exists")]);
    assert_eq!(reply.data()["errors"][0]["value"], "a@example.org");
    get(&t, &d, &format!("/api/users/{id}")).await.expect(404);
    let second = second["id"].as_str().unwrap();
    put(&t, &d, second, json!({"email": "b@example.org"})).await.expect(200);
    done(&t, &d, "restore", id).await;
    // Of two users who are restored at once with the same address, one stays deleted.
    let third = post(&t, &d, with("c@example.org", "")).await.expect(201).data();
    let third: UserId = third["id"].as_str().unwrap().parse().unwrap();
    done(&t, &d, "delete", third).await;
    let fourth = post(&t, &d, with("c@example.org", "")).await.expect(201).data();
    let fourth: UserId = fourth["id"].as_str().unwrap().parse().unwrap();
    done(&t, &d, "delete", fourth).await;
    let (x, y) = tokio::join!(act(&t, &d, "restore", third), act(&t, &d, "restore", fourth));
    let mut outcomes = [x.status.as_u16(), y.status.as_u16()];
    outcomes.sort_unstable();
    assert_eq!(outcomes, [200, 400], "{} {}", x.text(), y.text());
    counters_are_true(&t).await;
});

api_test!(
    // Proves spec: guarantees#identity 2, authorization#guarantees 2 12.
    reach_rank_and_oneself_hold_for_every_change_of_state,
    |t| async move {
        let tree = t.tree().await;
        let owner = t.owner().await;
        let d = t.user(tree.distributor, &["super"]).await;
        let foreign = t.user(tree.other_customer, &["reader"]).await;
        let gone = t.user(tree.other_customer, &["reader"]).await;
        done(&t, &owner, "delete", gone.id).await;
        let absent = act(&t, &d, "delete", "01950000-0000-7000-8000-000000000000").await;
        let absent = absent.expect_message(404, NOT_FOUND).body;
        for (what, _) in DONE {
            for id in [foreign.id.to_string(), gone.id.to_string(), "x".to_owned(), owner.id.to_string()] {
                assert_eq!(act(&t, &d, what, &id).await.expect(404).body, absent, "{what} {id}");
            }
            let own = "cannot perform administrative actions on yourself";
            act(&t, &d, what, d.id.to_string().to_uppercase()).await.expect_message(403, own);
        }
        let backoffice = t.user(tree.distributor, &["backoffice"]).await;
        let admin = t.user(tree.customer, &["admin"]).await;
        let gone = t.user(tree.customer, &["admin"]).await;
        done(&t, &owner, "delete", gone.id).await;
        let outranked = "insufficient privileges to manage this user";
        for (what, id) in
            [("suspend", admin.id), ("reactivate", admin.id), ("delete", admin.id), ("restore", gone.id)]
        {
            let data = act(&t, &backoffice, what, id).await.expect_message(403, outranked).data();
            assert_eq!(data["current_org_role"], "distributor");
            assert_eq!(
                data["missing_permissions"],
                json!(["manage:systems", "read:alerts", "manage:alerts"])
            );
        }
        // The rank is checked before the state. A role restricted to owners outranks a caller with the same
        // permissions.
        let boss = t.user(tree.customer, &["super"]).await;
        for what in ["suspend", "reactivate", "delete", "restore", "destroy"] {
            let reply = act(&t, &d, what, boss.id).await.expect_message(403, outranked);
            assert_eq!(reply.data()["role_id"], "super", "{what}");
        }
        let reader = t.user(tree.distributor, &["reader"]).await;
        for (what, _) in DONE {
            act(&t, &reader, what, admin.id).await.expect_message(403, "insufficient permissions");
        }
        get(&t, &admin, "/api/me").await.expect(200);
        counters_are_true(&t).await;
    }
);

api_test!(of_parallel_changes_of_state_one_is_done, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let user = t.user(tree.customer, &["reader"]).await;
    for (what, refusal) in
        [("suspend", 400), ("reactivate", 400), ("delete", 404), ("restore", 400), ("destroy", 404)]
    {
        let (a, b) = tokio::join!(act(&t, &owner, what, user.id), act(&t, &owner, what, user.id));
        let mut outcomes = [a.status.as_u16(), b.status.as_u16()];
        outcomes.sort_unstable();
        assert_eq!(outcomes, [200, refusal], "{what}: {} {}", a.text(), b.text());
        counters_are_true(&t).await;
    }
});
