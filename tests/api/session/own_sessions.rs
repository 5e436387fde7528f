//! The caller's own sessions (spec: account#sessions).

use super::*;
use bailiwick_store::sessions::{Chain, Device};

async fn list(t: &Test, session: &Session) -> Vec<Value> {
    let reply = t.get("/api/me/sessions").bearer(&session.token).send().await;
    let data = reply.expect_message(200, "sessions retrieved successfully").data();
    data["sessions"].as_array().unwrap().clone()
}

async fn exchanged(t: &Test, provider: &str, name: &str) -> String {
    let call = t.post("/api/auth/exchange").header("user-agent", name);
    let data = call.json(json!({"access_token": provider})).send().await.expect(200).data();
    data["token"].as_str().unwrap().to_owned()
}

api_test!(sessions_say_what_they_were_begun_with, |t| async move {
    let user = user(&t).await;
    let (provider, _) = provider_token(&t, user, "bailiwick").await;
    let token = exchanged(&t, &provider, &"x".repeat(300)).await;
    t.advance(Duration::from_secs(60));
    let own = session(&t, user).await;
    let sessions = list(&t, &own).await;
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0]["id"], json!(own.chain.to_string()), "the newest first");
    assert_eq!((&sessions[0]["is_present"], &sessions[0]["user_agent"]), (&json!(true), &Value::Null));
    assert_eq!(sessions[1]["user_agent"].as_str().unwrap().len(), 200);
    assert_eq!(sessions[1]["client_ip"], json!("127.0.0.1"));
    assert_eq!((&sessions[1]["is_present"], &sessions[1]["kind"]), (&json!(false), &json!("application")));
    t.get("/api/me").bearer(&token).send().await.expect(200);
});

api_test!(a_session_is_ended_with_the_browser_login_it_came_from, |t| async move {
    let user = user(&t).await;
    let own = session(&t, user).await;
    let (provider, login) = provider_token(&t, user, "bailiwick").await;
    let (one, two) = (exchanged(&t, &provider, "one").await, exchanged(&t, &provider, "two").await);
    let sessions = list(&t, &own).await;
    let id = |name: &str| {
        sessions.iter().find(|s| s["user_agent"] == name).unwrap()["id"].as_str().unwrap().to_owned()
    };
    // From the same browser: only that one.
    let end = |token: &str, id: &str| t.delete(&format!("/api/me/sessions/{id}")).bearer(token).send();
    end(&two, &id("one")).await.expect_message(200, "session ended successfully");
    t.get("/api/me").bearer(&one).send().await.expect(401);
    t.get("/api/me").bearer(&two).send().await.expect(200);
    end(&two, &id("one")).await.expect_message(404, "session not found");
    // From elsewhere: the login too.
    end(&own.token, &id("two")).await.expect(200);
    t.get("/api/me").bearer(&two).send().await.expect(401);
    let open = auth::open_of(&t.app.identity, user).await.unwrap();
    assert!(open.logins.iter().all(|open| open.id != login) && open.chains.len() == 1);
    t.post("/api/auth/exchange").json(json!({"access_token": provider})).send().await.expect(401);
    let own_id = own.chain.to_string();
    end(&own.token, &own_id).await.expect(200);
    assert_reason(me(&t, &own).await, "token has been revoked", "user logout");
});

/// More sessions and logins of the user than a list shows.
async fn begin_many(t: &Test, user: UserId) {
    t.advance(Duration::from_secs(1));
    let now = t.app.platform.now();
    let later = now.plus(Duration::from_secs(3600));
    let mut tx = t.app.platform.db.begin().await.unwrap();
    for n in 0..500 {
        logins::insert(&mut tx, &login(t, user), format!("cookie {n}").as_bytes()).await.unwrap();
        let chain = Chain {
            id: t.app.platform.fresh(),
            user_id: user,
            login_id: None,
            created_at: now,
            signed_in_at: now,
            methods: None,
            issuer_session: None,
            refresh_id: t.app.platform.fresh(),
            refresh_issued_at: now,
            expires_at: later,
            revoked: None,
        };
        bailiwick_store::sessions::insert(&mut tx, &chain, &Device::default()).await.unwrap();
    }
    tx.commit().await.unwrap();
}

api_test!(a_session_older_than_those_of_the_list_ends_like_any_other, |t| async move {
    let user = user(&t).await;
    let (provider, login) = provider_token(&t, user, "bailiwick").await;
    let (one, two) = (exchanged(&t, &provider, "one").await, exchanged(&t, &provider, "two").await);
    begin_many(&t, user).await;
    let three = exchanged(&t, &provider, "three").await;
    let own = session(&t, user).await;
    assert!(list(&t, &own).await.iter().all(|session| session["user_agent"] != "one"));
    let end = async |caller: &str, of: &str| {
        let path = format!("/api/me/sessions/{}", part(of, 1)["sid"].as_str().unwrap());
        t.delete(&path).bearer(caller).send().await
    };
    // The request comes from the same login, which stays.
    for ended in [&three, &one] {
        end(&two, ended).await.expect(200);
        t.get("/api/me").bearer(ended).send().await.expect(401);
        t.get("/api/me").bearer(&two).send().await.expect(200);
    }
    auth::end_open(&t.app.identity, user, Some(login.0)).await.unwrap();
    t.get("/api/me").bearer(&two).send().await.expect(401);
});

api_test!(all_other_sessions_end_at_once, |t| async move {
    let user = user(&t).await;
    let (own, other) = (session(&t, user).await, session(&t, user).await);
    let (provider, _) = provider_token(&t, user, "bailiwick").await;
    let third = exchanged(&t, &provider, "three").await;
    let reply = t.delete("/api/me/sessions").bearer(&own.token).send().await;
    reply.expect_message(200, "other sessions ended successfully");
    me(&t, &other).await.expect(401);
    t.get("/api/me").bearer(&third).send().await.expect(401);
    assert_eq!(list(&t, &own).await.len(), 1);
});

api_test!(the_sessions_of_others_are_missing, |t| async move {
    let (user, owner) = (user(&t).await, t.owner().await);
    let theirs = session(&t, user).await;
    for id in
        [theirs.chain.to_string(), t.app.platform.fresh::<uuid::Uuid>().to_string(), "nonsense".to_owned()]
    {
        let end = t.delete(&format!("/api/me/sessions/{id}")).bearer(&owner.token).send().await;
        end.expect_message(404, "session not found");
    }
    me(&t, &theirs).await.expect(200);
});
