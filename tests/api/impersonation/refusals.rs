//! Refusals of a start, and refusals of an impersonation token.

use super::{NO_CONSENT, acting, agree, me, start, starting, status, text, withdraw};
use bailiwick_api::routes::{Credential, table};
use bailiwick_domain::UserId;
use bailiwick_policy::KeyMode;
use bailiwick_testkit::{Persona, api_test};
use serde_json::{Value, json};
use std::time::Duration;

const UNKNOWN: &str = "0195fada-0000-7000-8000-00000000dead";

// Proves spec: acceptance#scenarios 19.
api_test!(users_without_consent_are_refused_alike, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let mut targets: Vec<(&str, UserId)> = Vec::new();
    let user = async |roles: &[&str]| t.user(tree.customer, roles).await;
    targets.push(("never agreed", user(&["reader"]).await.id));
    let gone = user(&["reader"]).await;
    agree(&t, &gone, 1).await;
    withdraw(&t, &gone).await;
    targets.push(("withdrawn", gone.id));
    // A higher user who has not agreed gets the same answer as a lower one.
    targets.push(("higher", t.owner().await.id));
    let expired = user(&["reader"]).await;
    agree(&t, &expired, 1).await;
    t.advance(Duration::from_secs(3600));
    targets.push(("expired", expired.id));
    for what in ["suspended", "deleted", "destroyed"] {
        let one = user(&["reader"]).await;
        agree(&t, &one, 8).await;
        match what {
            "suspended" => t.suspend_user(one.id).await,
            _ => t.delete_user(one.id).await,
        }
        if what == "destroyed" {
            let owner = t.owner().await;
            let path = format!("/api/users/{}/destroy", one.id);
            t.delete(&path).bearer(&owner.token).send().await.expect(200);
        }
        targets.push((what, one.id));
    }
    let below = t.user(tree.other_reseller, &["reader"]).await;
    agree(&t, &below, 8).await;
    t.suspend_organization(tree.other_distributor).await;
    targets.push(("organization suspended", below.id));
    let actor = t.session(actor.id).await;
    let ask = async |id: &str| {
        let reply = t.post("/api/impersonate").bearer(&actor.token).json(json!({"user_id": id})).send().await;
        reply.expect_message(403, NO_CONSENT)
    };
    let first = ask(UNKNOWN).await;
    assert_eq!(first.data(), Value::Null);
    assert_eq!(ask("nonsense").await.body, first.body);
    for (what, id) in targets {
        assert_eq!(ask(&id.to_string()).await.body, first.body, "{what}");
    }
});

// Proves spec: acceptance#scenarios 19.
scope_of_consent_test!(a_start_is_checked_in_its_order, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let admin = t.user(tree.distributor, &["admin"]).await;
    let target = t.user(tree.customer, &["reader"]).await;
    let post = |who: &Persona| t.post("/api/impersonate").bearer(&who.token);
    // The gate comes before the body.
    post(&admin).body("{").send().await.expect_message(403, "insufficient permissions");
    for body in ["", "{", "{}", r#"{"user_id":""}"#, r#"{"user_id":7}"#, r#"{"user_id":null}"#] {
        let reply = post(&actor).body(body).send().await.expect(400);
        assert!(reply.message().starts_with("invalid request body: "), "{body}: {}", reply.text());
        assert_eq!(reply.data()["type"], "validation_error");
    }
    agree(&t, &actor, 1).await;
    starting(&t, &actor.token, &actor).send().await.expect_message(400, "cannot impersonate yourself");
    // The answer names the rank only of a user who has agreed.
    let boss = t.user(tree.owner, &["super"]).await;
    starting(&t, &actor.token, &boss).send().await.expect_message(403, NO_CONSENT);
    agree(&t, &boss, 1).await;
    let reply = starting(&t, &actor.token, &boss).send().await;
    let reply = reply.expect_message(403, "insufficient privileges to manage this user");
    assert_eq!(reply.data()["current_org_role"], "distributor");
    agree(&t, &target, 1).await;
    start(&t, &actor, &target).await;
    // A live session before the body, and before oneself.
    for body in ["{", r#"{"user_id":""}"#] {
        post(&actor).body(body).send().await.expect(409);
    }
    starting(&t, &actor.token, &actor).send().await.expect(409);
});

// Proves spec: acceptance#scenarios 19, authorization#guarantees 2.
scope_of_consent_test!(no_impersonation_of_users_with_more_rights, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.reseller, &["super"]).await;
    let higher = t.user(tree.distributor, &["admin"]).await;
    agree(&t, &higher, 1).await;
    let reply = starting(&t, &actor.token, &higher).send().await;
    let reply = reply.expect_message(403, "insufficient privileges to manage this user");
    assert_eq!(reply.data()["missing_permissions"], json!(["read:resellers", "manage:resellers"]));
    let equal = t.user(tree.reseller, &["admin"]).await;
    agree(&t, &equal, 1).await;
    start(&t, &actor, &equal).await;
});

/// Operations that a token is refused because it is not its holder's own (spec:
/// impersonation#requests-while-impersonating).
const SELF_SERVICE: [&str; 23] = [
    "POST /auth/logout",
    "POST /me/change-password",
    "POST /me/change-info",
    "PUT /me/avatar",
    "DELETE /me/avatar",
    "GET /me/api-keys",
    "POST /me/api-keys",
    "DELETE /me/api-keys/{id}",
    "GET /me/api-keys/audit",
    "GET /me/sessions",
    "DELETE /me/sessions",
    "DELETE /me/sessions/{id}",
    "GET /me/second-factors",
    "POST /me/second-factors/passkeys/options",
    "POST /me/second-factors/passkeys",
    "PUT /me/second-factors/passkeys/{id}",
    "DELETE /me/second-factors/passkeys/{id}",
    "POST /me/second-factors/totp/options",
    "POST /me/second-factors/totp",
    "DELETE /me/second-factors/totp",
    "POST /me/second-factors/recovery-codes",
    "POST /impersonate/consent",
    "DELETE /impersonate/consent",
];

// Proves spec: guarantees#identity 20, authorization#guarantees 9.
api_test!(an_impersonator_does_nothing_in_the_targets_own_name, |t| async move {
    let a = acting(&t).await;
    let before = t.get("/api/impersonate/consent").bearer(&a.target.token).send().await.expect(200).body;
    let mut refused = Vec::new();
    for route in table() {
        if !matches!(route.credential, Credential::User) {
            continue;
        }
        let path = format!("/api{}", route.path.replace("{id}", UNKNOWN));
        let body = json!({"duration_hours": 168, "user_id": a.target.id, "name": "x"});
        let reply = t.call(route.method.clone(), &path).bearer(&a.token).json(body).send().await;
        if route.starts_impersonation() {
            let text = "cannot impersonate while already impersonating another user. exit current impersonation first.";
            assert_eq!(reply.expect_message(403, text).data(), Value::Null);
            continue;
        }
        let text = "self-service operations are not allowed during impersonation";
        let message = "self-service operations like changing password or profile are disabled during impersonation for security reasons";
        let reply = reply.expect_message(403, text);
        assert_eq!(reply.data(), json!({"reason": "impersonation_active", "message": message}), "{route:?}");
        refused.push(format!("{} {}", route.method, route.path));
    }
    refused.sort_unstable();
    let mut expected = SELF_SERVICE.map(str::to_owned);
    expected.sort_unstable();
    assert_eq!(refused, expected);
    let after = t.get("/api/impersonate/consent").bearer(&a.token).send().await.expect(200).body;
    assert_eq!(after, before);
    me(&t, &a.target.token).await.expect(200);
});

api_test!(the_self_guard_covers_both_people, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.customer, &["super"]).await;
    let target = t.user(tree.distributor, &["admin"]).await;
    let owner = t.owner().await;
    // The impersonator is in the target's hierarchy, and ranks below the target except for the permission to
    // impersonate.
    let roles = json!({"organization_id": tree.distributor.to_string()});
    t.put(&format!("/api/users/{}", actor.id)).bearer(&owner.token).json(roles).send().await.expect(200);
    agree(&t, &target, 1).await;
    let token = text(&start(&t, &actor, &target).await["token"]);
    let text = "cannot perform administrative actions on yourself";
    for id in [actor.id, target.id] {
        let path = format!("/api/users/{id}");
        t.put(&path).bearer(&token).json(json!({"name": "x"})).send().await.expect_message(403, text);
        t.delete(&path).bearer(&token).send().await.expect_message(403, text);
        for action in ["suspend", "reactivate", "restore", "password"] {
            let path = format!("{path}/{action}");
            t.patch(&path).bearer(&token).json(json!({})).send().await.expect_message(403, text);
        }
        t.get(&path).bearer(&token).send().await.expect(200);
    }
});

api_test!(keys_never_impersonate, |t| async move {
    let a = acting(&t).await;
    let (_, key) = t.api_key(a.actor.id, KeyMode::Write).await;
    let text = "this endpoint cannot be accessed with an api key";
    for route in table().into_iter().filter(|r| r.path.starts_with("/impersonate")) {
        let path = format!("/api{}", route.path.replace("{session_id}", &a.session));
        let reply = t.call(route.method.clone(), &path).bearer(&key).json(json!({})).send().await;
        reply.expect_message(403, text);
    }
    assert_eq!(status(&t, &a.actor.token).await["session_id"], json!(a.session));
});

// Proves spec: authorization#guarantees 27.
api_test!(a_token_of_another_kind_or_session_is_none, |t| async move {
    let a = acting(&t).await;
    // A refresh is not to be had with it, whatever is in the body.
    let reply = t.post("/api/auth/refresh").json(json!({"refresh_token": a.token})).send().await;
    reply.expect_message(401, "invalid refresh token");
    let mut forged = a.token.clone();
    let last = if forged.pop() == Some('A') { 'B' } else { 'A' };
    forged.push(last);
    for token in [&forged, &a.token[..a.token.len() - 4]] {
        let reply = me(&t, token).await.expect_message(401, "invalid token");
        assert_eq!(reply.data(), Value::Null);
        t.delete("/api/impersonate").bearer(token).send().await.expect_message(401, "invalid token");
        t.get("/api/user/profile").bearer(token).send().await.expect_message(401, "invalid token");
        // A route that needs no token does not look at it.
        t.get("/api/health").bearer(token).send().await.expect(200);
    }
});
