//! A session from its start to its end, and the records of it that both people read.

use super::{acting, agree, audit_lines, entries, is_over, me, only_session, start, starting, status, text};
use crate::session::part;
use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::{Value, json};
use std::time::Duration;

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

// Proves spec: acceptance#scenarios 18.
api_test!(a_session_gives_the_targets_rights_and_nothing_else, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let target = t.user(tree.customer, &["admin"]).await;
    agree(&t, &target, 2).await;
    let own = me(&t, &actor.token).await.data();
    let his = me(&t, &target.token).await.data();
    let started = start(&t, &actor, &target).await;
    let expires_at = t.app.platform.now().plus(Duration::from_secs(7200));
    assert_eq!(
        started,
        json!({"is_impersonating": true, "token": started["token"], "expires_in": 7200, "expires_at": expires_at,
            "session_id": started["session_id"], "impersonated_user": his, "impersonator": own})
    );
    let token = text(&started["token"]);
    let claims = part(&token, 1);
    assert_eq!(
        keys(&claims),
        [
            "aud",
            "exp",
            "iat",
            "impersonated_by",
            "is_impersonated",
            "iss",
            "jti",
            "nbf",
            "session_id",
            "sid",
            "sub",
            "token_type",
            "user"
        ]
    );
    assert_eq!(claims["token_type"], "impersonation");
    assert_eq!(claims["is_impersonated"], true);
    assert_eq!(
        (&claims["sub"], &claims["user"], &claims["impersonated_by"]),
        (&json!(target.id), &his, &own)
    );
    assert_eq!(claims["session_id"], started["session_id"]);
    assert_eq!(claims["exp"], expires_at.secs());
    assert_eq!(claims["sid"], part(&actor.token, 1)["sid"]);

    assert_eq!(me(&t, &token).await.expect(200).data(), his);
    let reply = t.get("/api/user/profile").bearer(&token).send().await.expect(200);
    assert_eq!(reply.data(), his);
    let reply = t.get("/api/user/permissions").bearer(&token).send().await.expect(200);
    assert_eq!(reply.data()["user_permissions"], his["user_permissions"]);
    // The target's organization counts, not the impersonator's.
    let path = format!("/api/customers/{}", tree.other_customer);
    t.get(&path).bearer(&token).send().await.expect_message(403, "insufficient permissions");
    t.get("/api/resellers").bearer(&token).send().await.expect_message(403, "insufficient permissions");
    let users = t.get("/api/users").bearer(&token).send().await.expect(200).data();
    assert_eq!(users["users"].as_array().unwrap().len(), 1);
    assert_eq!(users["users"][0]["id"], json!(target.id));
});

// Proves spec: acceptance#scenarios 21.
api_test!(both_read_the_session_and_what_was_done_in_it, |t| async move {
    let a = acting(&t).await;
    t.get("/api/users?search=x&page=2").bearer(&a.token).send().await.expect(200);
    t.get("/backend/api/users/totals").bearer(&a.token).send().await.expect(200);
    t.get("/resellers").bearer(&a.token).send().await.expect(403);
    t.advance(Duration::from_secs(600 + 31));
    let session = only_session(&t, &a.target).await;
    let name = |who: &Persona| {
        let t = &t;
        let token = who.token.clone();
        async move { me(t, &token).await.data() }
    };
    let (actor, target) = (name(&a.actor).await, name(&a.target).await);
    let expected = |end: Value, minutes: Value, count: u64, status: &str| {
        json!({"session_id": a.session, "impersonator_user_id": a.actor.id,
            "impersonated_user_id": a.target.id,
            "impersonator_username": actor["username"], "impersonated_username": target["username"],
            "impersonator_name": actor["name"], "impersonated_name": target["name"],
            "start_time": session["start_time"], "end_time": end, "duration_minutes": minutes,
            "action_count": count, "status": status})
    };
    assert_eq!(session, expected(Value::Null, Value::Null, 4, "active"));
    t.delete("/api/impersonate").bearer(&a.token).send().await.expect(200);
    let now = json!(t.app.platform.now());
    assert_eq!(only_session(&t, &a.target).await, expected(now, json!(11), 6, "completed"));
    let calls = [
        "session_start",
        "GET /api/users?search=x&page=2 200",
        "GET /backend/api/users/totals 200",
        "GET /resellers 403",
        "DELETE /api/impersonate 200",
        "session_end",
    ];
    for reader in [&a.target, &a.actor] {
        let path = format!("/api/impersonate/sessions/{}", a.session);
        let reply = t.get(&path).bearer(&reader.token).send().await;
        let reply = reply.expect_message(200, "session details retrieved successfully");
        assert_eq!(reply.data()["session"]["session_id"], json!(a.session));
        assert_eq!(audit_lines(&t, reader, &a.session).await, calls);
    }
    let entries = entries(&t, &a.target, &a.session).await;
    let call = &entries[1];
    assert_eq!(
        *call,
        json!({"id": call["id"], "session_id": a.session, "impersonator_user_id": a.actor.id,
            "impersonated_user_id": a.target.id, "action_type": "api_call", "api_endpoint": "/api/users?search=x&page=2",
            "http_method": "GET", "request_data": null, "response_status": 200,
            "response_status_text": "OK", "timestamp": call["timestamp"],
            "impersonator_username": actor["username"],
            "impersonated_username": target["username"], "impersonator_name": actor["name"],
            "impersonated_name": target["name"]})
    );
    for entry in [&entries[0], &entries[5]] {
        for field in
            ["api_endpoint", "http_method", "request_data", "response_status", "response_status_text"]
        {
            assert_eq!(entry[field], Value::Null, "{field}");
        }
    }
    let path = format!("/api/impersonate/sessions/{}/audit?page=2&page_size=4", a.session);
    let page = t.get(&path).bearer(&a.actor.token).send().await.expect(200).data();
    assert_eq!(page["entries"].as_array().unwrap().len(), 2);
    assert_eq!((&page["pagination"]["total_count"], &page["session_id"]), (&json!(6), &json!(a.session)));
});

/// Ids of a list, newest first.
async fn ids(t: &Test, token: &str, query: &str) -> Vec<String> {
    let path = format!("/api/impersonate/sessions{query}");
    let list = t.get(&path).bearer(token).send().await;
    let list = list.expect_message(200, "sessions retrieved successfully").data();
    let ids: Vec<String> =
        list["sessions"].as_array().unwrap().iter().map(|s| text(&s["session_id"])).collect();
    if ids.len() < 20 && !query.contains("page") {
        assert_eq!(list["pagination"]["total_count"], ids.len());
    }
    ids
}

// Proves spec: guarantees#identity 25, authorization#guarantees 35.
api_test!(sessions_belong_to_their_two_people, |t| async move {
    let tree = t.tree().await;
    let a = t.user(tree.distributor, &["super"]).await;
    let b = t.user(tree.distributor, &["super"]).await;
    let c = t.user(tree.customer, &["reader"]).await;
    let mut made = Vec::new();
    // More than a page of them, so that ownership does not hang on one.
    for n in 0..23 {
        let (actor, target) = if n % 2 == 0 { (&a, &c) } else { (&b, &c) };
        agree(&t, target, 1).await;
        let started = start(&t, actor, target).await;
        t.delete("/api/impersonate").bearer(&actor.token).send().await.expect(200);
        made.push(text(&started["session_id"]));
        t.advance(Duration::from_secs(1));
    }
    let newest = |parity: Option<usize>| {
        let mine = made.iter().enumerate().filter(|(n, _)| parity.is_none_or(|p| n % 2 == p));
        let mut ids: Vec<String> = mine.map(|(_, id)| id.clone()).collect();
        ids.reverse();
        ids
    };
    assert_eq!(ids(&t, &c.token, "?page_size=100").await, newest(None));
    assert_eq!(ids(&t, &c.token, "").await.len(), 20);
    assert_eq!(ids(&t, &c.token, "?page=2").await, newest(None)[20..]);
    assert_eq!(ids(&t, &a.token, "").await, [""; 0]);
    assert_eq!(ids(&t, &a.token, "?as=target").await, [""; 0]);
    assert_eq!(ids(&t, &a.token, "?as=impersonator").await, newest(Some(0)));
    assert_eq!(ids(&t, &a.token, "?as=any").await, newest(Some(0)));
    assert_eq!(ids(&t, &b.token, "?as=any").await, newest(Some(1)));
    assert_eq!(ids(&t, &c.token, "?as=impersonator").await, [""; 0]);
    assert_eq!(ids(&t, &c.token, "?as=everybody").await, [""; 0]);
    // The oldest one is its people's as much as the newest one.
    let unknown = "0195fada-0000-7000-8000-00000000dead";
    for tail in ["", "/audit"] {
        let read = async |token: &str, id: &str| {
            t.get(&format!("/api/impersonate/sessions/{id}{tail}")).bearer(token).send().await
        };
        for (token, id) in [(&a.token, &made[0]), (&c.token, &made[0]), (&b.token, &made[21])] {
            read(token, id).await.expect(200);
        }
        let missing = read(&a.token, unknown).await.expect_message(404, "session not found");
        for (token, id) in
            [(&b.token, made[0].as_str()), (&t.owner().await.token, &made[0]), (&a.token, "nonsense")]
        {
            assert_eq!(read(token, id).await.expect(404).body, missing.body);
        }
    }
});

// Proves spec: acceptance#scenarios 20.
api_test!(status_finds_the_session_again, |t| async move {
    let a = acting(&t).await;
    let own = status(&t, &a.token).await;
    assert_eq!(
        keys(&own),
        ["created_at", "expires_at", "impersonated_user", "impersonator", "is_impersonating", "session_id"]
    );
    t.advance(Duration::from_secs(90));
    // After a reload: another chain of the same person.
    let reloaded = t.session(a.actor.id).await;
    let session = status(&t, &reloaded.token).await;
    assert_eq!(session["session_id"], json!(a.session));
    assert_eq!(session["expires_in"], 7200 - 90);
    for field in ["created_at", "expires_at", "impersonated_user", "impersonator", "session_id"] {
        assert_eq!(session[field], own[field]);
    }
    let recovered = text(&session["token"]);
    assert_eq!(part(&recovered, 1)["sid"], part(&reloaded.token, 1)["sid"]);
    me(&t, &recovered).await.expect(200);
    me(&t, &a.token).await.expect(200);
    let page = t.get("/api/impersonate/status").bearer(&reloaded.token).send().await;
    page.expect_message(200, "currently impersonating");
    // The impersonator is one person, however many session chains they have.
    let reply = starting(&t, &reloaded.token, &a.target).send().await;
    let text = "you already have an active impersonation session. exit the current session before starting a new one.";
    let reply = reply.expect_message(409, text);
    assert_eq!(
        reply.data(),
        json!({"type": "conflict", "errors": [], "active_session": {"session_id": a.session,
            "impersonated_user_id": a.target.id, "created_at": own["created_at"], "expires_at": own["expires_at"]}})
    );
    let nobody = t.get("/api/impersonate/status").bearer(&a.target.token).send().await;
    let nobody = nobody.expect_message(200, "not currently impersonating");
    assert_eq!(nobody.data(), json!({"is_impersonating": false}));
    // The chain that the session is bound to now is the one that ends it.
    t.post("/api/auth/logout").bearer(&reloaded.token).send().await.expect(200);
    is_over(me(&t, &recovered).await);
    is_over(me(&t, &a.token).await);
});
