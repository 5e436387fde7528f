//! Tokens that only a second look distinguishes from the service's own access tokens (spec:
//! authentication#identity-modes).

use super::{
    attacks::{Forge, answer, forge_test},
    *,
};
use bailiwick_testkit::parts::recorder::Answer;
use futures_util::future::join_all;
use jsonwebtoken::Header;
use serde_json::json;
use std::time::Duration;

/// Sets the answers of introspection and userinfo.
fn answer_with(f: &Forge, introspected: Value, person: Answer) {
    let (url, keys) = (f.upstream.url(), f.keys());
    f.upstream.answer_by(move |request| match request.path.as_str() {
        "/introspect" => Answer::json(200, &introspected),
        "/me" => person.clone(),
        _ => answer(&url, &keys, request),
    });
}

forge_test!(userinfo_fills_in_what_introspection_omits, |_issuer| {}, |t, f| async move {
    let active = json!({"active": true, "sub": "o", "client_id": "bailiwick", "email": "owner@example.org",
        "email_verified": true});
    let person = |sub: &str| Answer::json(200, &json!({"sub": sub}));
    answer_with(&f, active.clone(), Answer::status(401));
    refused(&t, "opaque", "userinfo takes no refresh token").await;
    answer_with(&f, active.clone(), person("x"));
    refused(&t, "opaque", "somebody else's").await;
    answer_with(&f, active.clone(), person("o"));
    exchange(&t, "opaque").await.expect(200);
    profile(&t, "opaque").await.expect(200);
    let mut bearer = active;
    bearer["token_type"] = json!("Bearer");
    answer_with(&f, bearer, Answer::status(401));
    exchange(&t, "opaque").await.expect(200);
});

forge_test!(
    a_token_without_a_client_must_say_that_it_opens_something,
    |issuer| issuer.accept_any_client = true,
    |t, f| async move {
        let mut claims = f.claims();
        claims["client_id"] = json!(null);
        refused(&t, &f.sign(&Forge::header(), &claims), "an ID token may look so").await;
        for typ in ["at+jwt", "application/AT+JWT"] {
            let header = Header { typ: Some(typ.to_owned()), ..Forge::header() };
            exchange(&t, &f.sign(&header, &claims)).await.expect(200);
        }
    }
);

forge_test!(
    a_token_without_a_client_that_is_meant_for_us,
    |issuer| {
        issuer.accept_any_client = true;
        for_us(issuer);
    },
    |t, f| async move {
        let mut claims = f.claims();
        claims["client_id"] = json!(null);
        exchange(&t, &f.sign(&Forge::header(), &claims)).await.expect(200);
    }
);

forge_test!(a_client_may_be_named_cid, |_issuer| {}, |t, f| async move {
    let claims_with = |client_id: Value, cid: &str| {
        let mut claims = f.claims();
        (claims["client_id"], claims["cid"]) = (client_id, json!(cid));
        claims
    };
    let (own, two) = (claims_with(Value::Null, "bailiwick"), claims_with(json!("bailiwick"), "wiki"));
    exchange(&t, &f.sign(&Forge::header(), &own)).await.expect(200);
    refused(&t, &f.sign(&Forge::header(), &two), "two clients").await;
    let introspection = |client_id: Value, cid: &str| {
        json!({"active": true, "token_type": "Bearer",
        "sub": "o", "client_id": client_id, "cid": cid})
    };
    answer_with(&f, introspection(Value::Null, "bailiwick"), Answer::status(401));
    exchange(&t, "opaque").await.expect(200);
    answer_with(&f, introspection(json!("bailiwick"), "wiki"), Answer::status(401));
    refused(&t, "another opaque", "two clients").await;
});

/// Tokens of any client, and one of the own named in a table only.
async fn one_is_named(engine: Engine) {
    let f = Forge::start().await;
    let mut settings = settings(&f.upstream.url(), |issuer| {
        issuer.client_ids.clear();
        issuer.accept_any_client = true;
    });
    let portal =
        Client { id: "portal".to_owned(), first_party: true, ..settings.provider.clients[0].clone() };
    settings.provider.clients.push(portal);
    let t = service(engine, settings).await;
    let token_for = |client: &str| {
        let mut claims = f.claims();
        claims["client_id"] = json!(client);
        f.sign(&Forge::header(), &claims)
    };
    refused(&t, &token_for("stranger"), "a stranger").await;
    exchange(&t, &token_for("portal")).await.expect(200);
}
on_both!(a_client_that_can_be_learnt_is_a_stranger_once_one_is_named, one_is_named);

forge_test!(an_unverified_address_is_checked_at_userinfo, |_issuer| {}, |t, f| async move {
    let mut claims = f.claims();
    claims["email_verified"] = json!(null);
    let token = f.sign(&Forge::header(), &claims);
    let person = |sub: &str, verified: bool| {
        Answer::json(200, &json!({"sub": sub, "email": "owner@example.org", "email_verified": verified}))
    };
    for (person, why) in [
        (person("o", false), "not known to be his"),
        (person("x", true), "somebody else's"),
        (Answer::json(200, &json!({"sub": "o", "email": "owner@example.org"})), "still not verified"),
        (Answer::status(403), "refused"),
    ] {
        answer_with(&f, json!({"active": false}), person);
        refused(&t, &token, why).await;
    }
    answer_with(&f, json!({"active": false}), person("o", true));
    exchange(&t, &token).await.expect(200);
});

/// Strangers make the service ask the provider.
async fn asked_in_vain(engine: Engine) {
    let f = Forge::start().await;
    let mut settings = settings(&f.upstream.url(), |_| {});
    settings.limits.token_requests_per_second = 1;
    settings.limits.token_request_burst = 6;
    let t = service(engine, settings).await;
    let owner = t.owner().await;
    // The clock was set: the bucket is full again.
    drop(f.upstream.take());
    for path in ["/api/user/profile", "/api/user/permissions"].repeat(3) {
        t.get(path).bearer("nobody").send().await.expect(401);
    }
    let requests = f.upstream.requests().len();
    for path in ["/api/user/profile", "/api/user/permissions"] {
        t.get(path).bearer("nobody").send().await.expect(429);
    }
    assert_eq!(f.upstream.requests().len(), requests);
    exchange(&t, "nobody").await.expect(429);
    // A session's token needs no question to the provider.
    profile(&t, &owner.token).await.expect(200);
    t.advance(Duration::from_secs(1));
    profile(&t, "nobody").await.expect(401);
}
on_both!(the_provider_is_asked_no_more_often_than_tokens_may_be_exchanged, asked_in_vain);

forge_test!(introspection_requests_do_not_delay_key_requests, |_issuer| {}, |t, f| async move {
    exchange(&t, &f.good()).await.expect(200);
    let (url, keys) = (f.upstream.url(), f.keys());
    f.upstream.answer_by(move |request| match request.path.as_str() {
        "/introspect" => Answer::status(200).after(Duration::from_secs(600)),
        _ => answer(&url, &keys, request),
    });
    drop(f.upstream.take());
    let tokens: Vec<String> = (0..50).map(|n| format!("opaque{n}")).collect();
    let hanging = join_all(tokens.iter().map(|token| exchange(&t, token)));
    let signing_in = async {
        f.upstream.wait_for(50).await.unwrap();
        t.advance(Duration::from_secs(300));
        exchange(&t, &f.later(&t)).await.expect(200);
    };
    tokio::select! {
        _ = hanging => panic!("a hanging request was answered"),
        () = signing_in => {}
    }
});
