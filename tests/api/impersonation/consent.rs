//! Giving, reading and withdrawing consent, and its place in lists.

use super::{NO_CONSENT, acting, agree, is_over, is_withdrawn, me, start, starting, status, text, withdraw};
use bailiwick_testkit::{Engine, Persona, Test, api_test};
use serde_json::{Value, json};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

// Proves spec: acceptance#scenarios 18.
api_test!(consent_is_given_for_some_hours, |t| async move {
    let user = t.owner().await;
    let call = || t.post("/api/impersonate/consent").bearer(&user.token);
    for (body, hours) in [
        (json!({}), 1),
        (json!({"duration_hours": null}), 1),
        (json!({"duration_hours": 0}), 1),
        (json!({"duration_hours": 1}), 1),
        (json!({"duration_hours": 168}), 168),
    ] {
        let reply = call().json(body.clone()).send().await;
        let reply = reply.expect_message(200, "impersonation consent enabled successfully");
        let consent = reply.data()["consent"].take();
        let expires_at = t.app.platform.now().plus(HOUR * hours);
        assert_eq!(
            consent,
            json!({"id": consent["id"], "user_id": user.id, "expires_at": expires_at,
                "max_duration_minutes": hours * 60, "created_at": t.app.platform.now(), "active": true}),
            "{body}"
        );
    }
    for hours in [-1, 169, i64::MAX] {
        let reply = call().json(json!({"duration_hours": hours})).send().await;
        let reply = reply.expect_fields(&[("duration_hours", "out_of_range")]);
        assert_eq!(reply.data()["errors"][0]["value"], hours.to_string());
    }
    for body in ["", "[]", "{", r#"{"duration_hours":1.5}"#, r#"{"duration_hours":"1"}"#] {
        let reply = call().body(body).send().await.expect(400);
        assert!(reply.message().starts_with("invalid request body: "), "{body}: {}", reply.text());
        assert_eq!(reply.data()["type"], "validation_error");
    }
    let read = t.get("/api/impersonate/consent").bearer(&user.token);
    let reply = read.send().await.expect_message(200, "consent status retrieved successfully");
    assert_eq!(reply.data()["consent"]["max_duration_minutes"], 168 * 60);
    for _ in 0..2 {
        let reply = t.delete("/api/impersonate/consent").bearer(&user.token).send().await;
        let reply = reply.expect_message(200, "impersonation consent disabled successfully");
        assert_eq!(reply.data(), Value::Null);
    }
    let read = t.get("/api/impersonate/consent").bearer(&user.token);
    let reply = read.send().await.expect_message(200, "no active impersonation consent");
    assert_eq!(reply.data(), json!({"consent": null}));
});

// Proves spec: authorization#guarantees 23.
scope_of_consent_test!(owner_users_give_and_withdraw_consent_like_everybody, |t| async move {
    let owner = t.owner().await;
    let second = t.user(owner.org, &["super"]).await;
    starting(&t, &second.token, &owner).send().await.expect_message(403, NO_CONSENT);
    agree(&t, &owner, 1).await;
    let started = start(&t, &second, &owner).await;
    assert_eq!(me(&t, &text(&started["token"])).await.expect(200).data()["id"], json!(owner.id));
    withdraw(&t, &owner).await;
    is_withdrawn(me(&t, &text(&started["token"])).await);
    // No user below the owner outranks the owner.
    agree(&t, &owner, 1).await;
    let below = t.user(t.tree().await.distributor, &["super"]).await;
    let reply = starting(&t, &below.token, &owner).send().await;
    let reply = reply.expect_message(403, "insufficient privileges to manage this user");
    assert_eq!(reply.data()["role_id"], "super");
});

// Proves spec: acceptance#scenarios 20, guarantees#identity 22 23, authorization#guarantees 19.
api_test!(a_withdrawal_ends_the_session, |t| async move {
    let a = acting(&t).await;
    withdraw(&t, &a.target).await;
    is_withdrawn(me(&t, &a.token).await);
    assert_eq!(status(&t, &a.actor.token).await, json!({"is_impersonating": false}));
    agree(&t, &a.target, 1).await;
    is_withdrawn(me(&t, &a.token).await);
    let again = start(&t, &a.actor, &a.target).await;
    me(&t, &text(&again["token"])).await.expect(200);
    is_withdrawn(me(&t, &a.token).await);
    // A new consent in the place of one that is still live does the same.
    agree(&t, &a.target, 1).await;
    is_withdrawn(me(&t, &text(&again["token"])).await);
    start(&t, &a.actor, &a.target).await;
});

/// `can_be_impersonated` of a user, which the list and the single read give alike.
async fn impersonation_flag(t: &Test, who: &Persona, user: &Persona) -> Value {
    let list = t.get("/api/users?page_size=100").bearer(&who.token).send().await.expect(200).data();
    let rows = list["users"].as_array().unwrap().clone();
    let row = rows.into_iter().find(|row| row["id"] == json!(user.id)).unwrap();
    let one = t.get(&format!("/api/users/{}", user.id)).bearer(&who.token).send().await.expect(200).data();
    assert_eq!(row.get("can_be_impersonated"), one.get("can_be_impersonated"));
    row.get("can_be_impersonated").cloned().unwrap_or(Value::Null)
}

api_test!(lists_show_at_once_who_can_be_impersonated, |t| async move {
    let tree = t.tree().await;
    let replica = if t.engine == Engine::Postgres { Some(t.replica().await) } else { None };
    let processes: Vec<&Test> = std::iter::once(&t).chain(&replica).collect();
    let owner = t.owner().await;
    let admin = t.user(tree.owner, &["admin"]).await;
    let user = t.user(tree.customer, &["admin"]).await;
    let other = t.user(tree.other_customer, &["reader"]).await;
    let below = t.user(tree.distributor, &["super"]).await;
    let all_say = async |who: &Persona, about: &Persona, expected: Value| {
        for t in &processes {
            assert_eq!(impersonation_flag(t, who, about).await, expected);
        }
    };
    all_say(&owner, &user, json!(false)).await;
    all_say(&admin, &user, Value::Null).await;
    agree(&t, &user, 1).await;
    all_say(&owner, &user, json!(true)).await;
    all_say(&admin, &user, Value::Null).await;
    agree(&t, &other, 2).await;
    withdraw(&t, &user).await;
    all_say(&owner, &user, json!(false)).await;
    agree(&t, &user, 1).await;
    agree(&t, &owner, 1).await;
    all_say(&owner, &owner, json!(false)).await;
    // Time alone.
    all_say(&owner, &user, json!(true)).await;
    t.advance(HOUR - Duration::from_secs(1));
    let (owner, below) = (t.session(owner.id).await, t.session(below.id).await);
    all_say(&owner, &user, json!(true)).await;
    t.advance(Duration::from_secs(1));
    all_say(&owner, &user, json!(false)).await;
    all_say(&owner, &other, json!(true)).await;
    t.advance(HOUR);
    let owner = t.session(owner.id).await;
    all_say(&owner, &other, json!(false)).await;
    // State and rank.
    let user = t.session(user.id).await;
    agree(&t, &user, 8).await;
    all_say(&owner, &user, json!(true)).await;
    t.suspend_user(user.id).await;
    all_say(&owner, &user, json!(false)).await;
    let boss = t.user(tree.distributor, &["super"]).await;
    agree(&t, &boss, 8).await;
    all_say(&owner, &boss, json!(true)).await;
    let below = t.session(below.id).await;
    all_say(&below, &boss, json!(false)).await;
});

scope_of_consent_test!(with_the_scope_consent_the_tree_does_not_count, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let outside = t.user(tree.other_customer, &["admin"]).await;
    agree(&t, &outside, 1).await;
    let started = start(&t, &actor, &outside).await;
    me(&t, &text(&started["token"])).await.expect(200);
});

api_test!(the_tree_counts_beside_the_consent, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let inside = t.user(tree.customer, &["admin"]).await;
    let outside = t.user(tree.other_customer, &["admin"]).await;
    agree(&t, &inside, 1).await;
    agree(&t, &outside, 1).await;
    let refused = starting(&t, &actor.token, &outside).send().await.expect_message(403, NO_CONSENT);
    let unknown = json!({"user_id": "0195fada-0000-7000-8000-00000000dead"});
    let unknown = t.post("/api/impersonate").bearer(&actor.token).json(unknown).send().await;
    assert_eq!(refused.body, unknown.body);
    let started = start(&t, &actor, &inside).await;
    me(&t, &text(&started["token"])).await.expect(200);
    // The target leaves the hierarchy, and the session ends.
    let owner = t.owner().await;
    let home = json!({"organization_id": tree.other_customer.to_string()});
    let path = format!("/api/users/{}", inside.id);
    t.put(&path).bearer(&owner.token).json(home).send().await.expect(200);
    is_over(me(&t, &text(&started["token"])).await);
    assert_eq!(status(&t, &actor.token).await, json!({"is_impersonating": false}));
});
