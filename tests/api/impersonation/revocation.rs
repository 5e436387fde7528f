//! The changes that end a session, and the answers to its token then: on the very next request, in every process.

use super::{
    Acting, acting, agree, audit_lines, is_over, is_withdrawn, me, only_session, start, status, text,
    withdraw,
};
use crate::session::{exchange, provider_token};
use bailiwick_domain::UserId;
use bailiwick_identity::auth;
use bailiwick_store::oidc::logins;
use bailiwick_testkit::{Engine, Persona, Reply, Test, api_test};
use serde_json::json;
use std::time::Duration;

#[track_caller]
fn target_is_out(reply: Reply, reason: &str) {
    let reply = reply.expect_message(401, "impersonated user account has been suspended");
    assert_eq!(reply.data(), json!({ "reason": reason }));
}

async fn put(t: &Test, id: UserId, body: serde_json::Value) {
    let owner = t.owner().await;
    t.put(&format!("/api/users/{id}")).bearer(&owner.token).json(body).send().await.expect(200);
}

async fn patch(t: &Test, path: String) {
    let owner = t.owner().await;
    t.patch(&path).bearer(&owner.token).send().await.expect(200);
}

async fn refresh(t: &Test, chain: &Persona) -> Reply {
    t.post("/api/auth/refresh").json(json!({"refresh_token": chain.refresh_token})).send().await
}

/// Checks that the session is over for every user, in the lists too, and that its end is recorded once.
async fn is_completed(t: &Test, a: &Acting) {
    let target = t.session(a.target.id).await;
    let session = only_session(t, &target).await;
    assert_eq!(session["status"], "completed");
    let lines = audit_lines(t, &target, &a.session).await;
    assert_eq!(lines.iter().filter(|line| *line == "session_end").count(), 1, "{lines:?}");
    assert_eq!(session["action_count"], lines.len());
}

// Proves spec: authorization#guarantees 21 16.
api_test!(the_impersonators_suspension_or_deletion_ends_it_for_good, |t| async move {
    let a = acting(&t).await;
    t.suspend_user(a.actor.id).await;
    is_over(me(&t, &a.token).await);
    patch(&t, format!("/api/users/{}/reactivate", a.actor.id)).await;
    is_over(me(&t, &a.token).await);
    is_completed(&t, &a).await;
    let actor = t.session(a.actor.id).await;
    assert_eq!(status(&t, &actor.token).await, json!({"is_impersonating": false}));
    let again = start(&t, &actor, &a.target).await;
    t.delete_user(a.actor.id).await;
    is_over(me(&t, &text(&again["token"])).await);
    patch(&t, format!("/api/users/{}/restore", a.actor.id)).await;
    is_over(me(&t, &text(&again["token"])).await);
    // Through the user's organization.
    let actor = t.session(a.actor.id).await;
    let again = text(&start(&t, &actor, &a.target).await["token"]);
    t.suspend_organization(a.actor.org).await;
    is_over(me(&t, &again).await);
    patch(&t, format!("/api/distributors/{}/reactivate", a.actor.org)).await;
    is_over(me(&t, &again).await);
});

// Proves spec: acceptance#scenarios 20, authorization#guarantees 16.
api_test!(the_targets_suspension_or_deletion_ends_it_for_good, |t| async move {
    let a = acting(&t).await;
    t.suspend_user(a.target.id).await;
    target_is_out(me(&t, &a.token).await, "user suspended by administrator");
    patch(&t, format!("/api/users/{}/reactivate", a.target.id)).await;
    target_is_out(me(&t, &a.token).await, "user suspended by administrator");
    is_completed(&t, &a).await;
    let again = text(&start(&t, &a.actor, &a.target).await["token"]);
    t.delete_user(a.target.id).await;
    target_is_out(me(&t, &again).await, "user deleted");
    patch(&t, format!("/api/users/{}/restore", a.target.id)).await;
    target_is_out(me(&t, &again).await, "user deleted");
    // Through the user's organization.
    let again = text(&start(&t, &a.actor, &a.target).await["token"]);
    t.suspend_organization(a.target.org).await;
    target_is_out(me(&t, &again).await, "organization suspended");
    patch(&t, format!("/api/customers/{}/reactivate", a.target.org)).await;
    target_is_out(me(&t, &again).await, "organization suspended");
    let again = text(&start(&t, &a.actor, &a.target).await["token"]);
    t.delete_organization(a.target.org).await;
    target_is_out(me(&t, &again).await, "user deleted");
});

api_test!(destruction_ends_it_and_leaves_the_record, |t| async move {
    let a = acting(&t).await;
    let owner = t.owner().await;
    let destroy = async |path: String| t.delete(&path).bearer(&owner.token).send().await.expect(200);
    destroy(format!("/api/users/{}/destroy", a.target.id)).await;
    target_is_out(me(&t, &a.token).await, "user deleted");
    let lines = audit_lines(&t, &a.actor, &a.session).await;
    assert_eq!(lines, ["session_start", "session_end", "GET /api/me 401"]);
    let target = t.user(a.target.org, &["reader"]).await;
    agree(&t, &target, 1).await;
    let started = start(&t, &a.actor, &target).await;
    destroy(format!("/api/users/{}/destroy", a.actor.id)).await;
    is_over(me(&t, &text(&started["token"])).await);
    let lines = audit_lines(&t, &target, &text(&started["session_id"])).await;
    assert_eq!(lines, ["session_start", "session_end", "GET /api/me 401"]);
    // With everything below an organization.
    let actor = t.user(a.actor.org, &["super"]).await;
    let started = start(&t, &actor, &target).await;
    destroy(format!("/api/customers/{}/destroy", target.org)).await;
    target_is_out(me(&t, &text(&started["token"])).await, "user deleted");
    assert_eq!(status(&t, &actor.token).await, json!({"is_impersonating": false}));
});

// Proves spec: guarantees#identity 38.
api_test!(what_revokes_the_chain_ends_the_session, |t| async move {
    let a = acting(&t).await;
    // Logout with another chain of the same person.
    let other = t.session(a.actor.id).await;
    t.post("/api/auth/logout").bearer(&other.token).send().await.expect(200);
    is_over(me(&t, &a.token).await);
    is_completed(&t, &a).await;
    // Password reset.
    let actor = t.session(a.actor.id).await;
    let token = text(&start(&t, &actor, &a.target).await["token"]);
    let owner = t.owner().await;
    let path = format!("/api/users/{}/password", a.actor.id);
    let body = json!({"password": "Quiet-Harbour-58-Lamps"});
    t.patch(&path).bearer(&owner.token).json(body).send().await.expect(200);
    is_over(me(&t, &token).await);
    // Late reuse of a refresh token of the chain; another chain's does nothing.
    let (actor, other) = (t.session(a.actor.id).await, t.session(a.actor.id).await);
    let token = text(&start(&t, &actor, &a.target).await["token"]);
    for (chain, ends) in [(&other, false), (&actor, true)] {
        refresh(&t, chain).await.expect(200);
        t.advance(Duration::from_secs(31));
        refresh(&t, chain).await.expect(401);
        if ends { is_over(me(&t, &token).await) } else { drop(me(&t, &token).await.expect(200)) }
    }
    // The session does not rest on the target's own sign-ins.
    let actor = t.session(a.actor.id).await;
    let token = text(&start(&t, &actor, &a.target).await["token"]);
    t.post("/api/auth/logout").bearer(&a.target.token).send().await.expect(200);
    me(&t, &token).await.expect(200);
    let path = format!("/api/users/{}/password", a.target.id);
    let body = json!({"password": "Quiet-Harbour-58-Lamps"});
    t.patch(&path).bearer(&owner.token).json(body).send().await.expect(200);
    me(&t, &token).await.expect(200);
});

// Proves spec: guarantees#identity 38.
api_test!(signing_out_at_the_provider_ends_the_session, |t| async move {
    let a = acting(&t).await;
    t.delete("/api/impersonate").bearer(&a.token).send().await.expect(200);
    let (provider, login) = provider_token(&t, a.actor.id, "bailiwick").await;
    let session = exchange(&t, &provider).await.expect(200).data();
    let actor = Persona { token: text(&session["token"]), ..a.actor.clone() };
    let started = start(&t, &actor, &a.target).await;
    me(&t, &text(&started["token"])).await.expect(200);
    // Coming back starts a chain of the same login, so that it ends with it too.
    let back = t.delete("/api/impersonate").bearer(&text(&started["token"])).send().await.expect(200).data();
    let again = start(&t, &actor, &a.target).await;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    logins::end(&mut tx, login, t.app.platform.now()).await.unwrap();
    auth::revoke_login_chains(&mut tx, t.app.platform.now(), login).await.unwrap();
    tx.commit().await.unwrap();
    is_over(me(&t, &text(&again["token"])).await);
    me(&t, &text(&back["token"])).await.expect_message(401, "token has been revoked");
});

// Proves spec: authorization#guarantees 41, guarantees#identity 38.
api_test!(a_promoted_target_ends_the_session, |t| async move {
    let a = acting(&t).await;
    let roles = |roles: &[&str]| json!({ "user_role_ids": roles });
    put(&t, a.target.id, roles(&["super"])).await;
    is_over(me(&t, &a.token).await);
    put(&t, a.target.id, roles(&["admin"])).await;
    is_over(me(&t, &a.token).await);
    is_completed(&t, &a).await;
    // The target can use at once the rights that they gain within the impersonator's own set, and loses a removed right
    // at once (rule 05-21).
    put(&t, a.target.id, roles(&["reader"])).await;
    let token = text(&start(&t, &a.actor, &a.target).await["token"]);
    let make = async || {
        let body = json!({"name": "S", "organization_id": a.target.org.to_string()});
        t.post("/api/systems").bearer(&token).json(body).send().await.status.as_u16()
    };
    assert_eq!(make().await, 403);
    put(&t, a.target.id, roles(&["support"])).await;
    assert_eq!(make().await, 201);
    put(&t, a.target.id, roles(&["reader"])).await;
    assert_eq!(make().await, 403);
});

// Proves spec: authorization#guarantees 21.
api_test!(an_impersonator_without_the_permission_is_out, |t| async move {
    let a = acting(&t).await;
    put(&t, a.actor.id, json!({"user_role_ids": ["admin"]})).await;
    is_over(me(&t, &a.token).await);
    put(&t, a.actor.id, json!({"user_role_ids": ["super"]})).await;
    is_over(me(&t, &a.token).await);
    is_completed(&t, &a).await;
    start(&t, &a.actor, &a.target).await;
});

// Proves spec: guarantees#identity 38.
api_test!(what_is_lost_and_regained_before_anybody_asks_has_ended_it, |t| async move {
    let a = acting(&t).await;
    let roles = |roles: &[&str]| json!({ "user_role_ids": roles });
    put(&t, a.actor.id, roles(&["admin"])).await;
    put(&t, a.actor.id, roles(&["super"])).await;
    is_over(me(&t, &a.token).await);
    is_completed(&t, &a).await;
    let token = text(&start(&t, &a.actor, &a.target).await["token"]);
    put(&t, a.target.id, roles(&["super"])).await;
    put(&t, a.target.id, roles(&["admin"])).await;
    is_over(me(&t, &token).await);
    // Through a move: in a customer organization the impersonator has no rights on customers.
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let target = t.user(tree.reseller, &["admin"]).await;
    agree(&t, &target, 2).await;
    let token = text(&start(&t, &actor, &target).await["token"]);
    for organization in [tree.customer, tree.distributor] {
        put(&t, actor.id, json!({"organization_id": organization.to_string()})).await;
    }
    is_over(me(&t, &token).await);
    // A change of the target within the impersonator's rights, and a change of another user, end nothing.
    let token = text(&start(&t, &actor, &target).await["token"]);
    put(&t, target.id, roles(&["reader"])).await;
    put(&t, a.actor.id, roles(&["admin"])).await;
    me(&t, &token).await.expect(200);
});

// Proves spec: guarantees#identity 38.
scope_of_consent_test!(a_promoted_organization_of_the_target_ends_it_for_good, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.other_reseller, &["super"]).await;
    let target = t.user(tree.reseller, &["admin"]).await;
    let (higher, other) = (t.user(tree.owner, &["super"]).await, t.user(tree.customer, &["admin"]).await);
    agree(&t, &target, 2).await;
    agree(&t, &other, 2).await;
    let token = text(&start(&t, &actor, &target).await["token"]);
    let bystander = text(&start(&t, &higher, &other).await["token"]);
    patch(&t, format!("/api/resellers/{}/promote", tree.reseller)).await;
    put(&t, target.id, json!({"organization_id": tree.customer.to_string()})).await;
    is_over(me(&t, &token).await);
    me(&t, &bystander).await.expect(200);
});

// Proves spec: acceptance#scenarios 20.
api_test!(an_expired_consent_ends_it, |t| async move {
    let a = acting(&t).await;
    t.advance(Duration::from_secs(7200 - 1));
    me(&t, &a.token).await.expect(200);
    t.advance(Duration::from_secs(1));
    is_withdrawn(me(&t, &a.token).await);
    let target = t.session(a.target.id).await;
    let session = only_session(&t, &target).await;
    assert_eq!((&session["status"], &session["duration_minutes"]), (&json!("completed"), &json!(120)));
    // Long past its own expiry the token gets the same answer, unless its impersonator is out as well.
    t.advance(Duration::from_secs(30 * 86_400));
    is_withdrawn(me(&t, &a.token).await);
    t.suspend_user(a.actor.id).await;
    is_over(me(&t, &a.token).await);
});

api_test!(time_alone_ends_it_for_everybody, |t| async move {
    let a = acting(&t).await;
    t.advance(Duration::from_secs(7200));
    let (actor, target) = (t.session(a.actor.id).await, t.session(a.target.id).await);
    // No request has used the session since.
    assert_eq!(only_session(&t, &target).await["status"], "completed");
    agree(&t, &target, 1).await;
    start(&t, &actor, &target).await;
    is_withdrawn(me(&t, &a.token).await);
});

// Proves spec: guarantees#identity 10.
api_test!(the_impersonators_side_comes_first_then_consent_then_target, |t| async move {
    let a = acting(&t).await;
    t.suspend_user(a.target.id).await;
    target_is_out(me(&t, &a.token).await, "user suspended by administrator");
    patch(&t, format!("/api/users/{}/reactivate", a.target.id)).await;
    let target = t.session(a.target.id).await;
    withdraw(&t, &target).await;
    t.suspend_user(a.target.id).await;
    is_withdrawn(me(&t, &a.token).await);
    t.suspend_user(a.actor.id).await;
    is_over(me(&t, &a.token).await);
});

// Proves spec: authorization#guarantees 21.
api_test!(the_next_request_in_another_process_is_refused, |t| async move {
    if t.engine != Engine::Postgres {
        return;
    }
    let other = t.replica().await;
    let a = acting(&t).await;
    me(&other, &a.token).await.expect(200);
    withdraw(&t, &a.target).await;
    is_withdrawn(me(&other, &a.token).await);
    agree(&other, &a.target, 1).await;
    let token = text(&start(&other, &a.actor, &a.target).await["token"]);
    me(&t, &token).await.expect(200);
    t.suspend_user(a.target.id).await;
    target_is_out(me(&other, &token).await, "user suspended by administrator");
    patch(&other, format!("/api/users/{}/reactivate", a.target.id)).await;
    let token = text(&start(&t, &a.actor, &a.target).await["token"]);
    me(&other, &token).await.expect(200);
    t.post("/api/auth/logout").bearer(&a.actor.token).send().await.expect(200);
    is_over(me(&other, &token).await);
    let actor = t.session(a.actor.id).await;
    let token = text(&start(&t, &actor, &a.target).await["token"]);
    other.delete("/api/impersonate").bearer(&actor.token).send().await.expect(200);
    is_over(me(&t, &token).await);
});
