//! A provider that is gone, slow, hanging or talking nonsense (spec: authentication#exchange, guarantees#identity rules
//! 36, 37).

use super::{
    attacks::{Forge, answer, forge_test},
    *,
};
use bailiwick_testkit::parts::recorder::Answer;
use futures_util::future::join_all;
use serde_json::json;
use std::time::Duration;

const GONE: (u16, &str) = (502, "identity provider unreachable");
const LATE: (u16, &str) = (504, "identity provider timeout");

/// Both ways in give the same answer, and no text of the provider.
async fn fails(t: &Test, token: &str, (status, message): (u16, &str)) {
    for reply in [exchange(t, token).await, profile(t, token).await] {
        assert!(!reply.text().contains("secret"), "{}", reply.text());
        let reply = reply.expect_message(status, message);
        assert_eq!(reply.data(), Value::Null);
    }
}

/// A token opens a session at a provider that is well, as soon as the machine is fast enough for the little time that
/// it has.
async fn opens(t: &Test, token: &str) {
    let is_open = async || {
        let reply = exchange(t, token).await;
        if reply.status != 200 {
            // A failure is remembered for a second.
            t.advance(Duration::from_secs(1));
        }
        reply.status == 200
    };
    eventually("the provider answers in time", is_open).await;
}

fn hasty(issuer: &mut Issuer) {
    issuer.keys_timeout = Duration::from_millis(700);
    issuer.times.total = Duration::from_millis(700);
}

// Proves spec: guarantees#identity 36 37.
forge_test!(a_provider_that_is_gone_and_comes_back, |_issuer| {}, |t, f| async move {
    f.upstream.answer_by(|_| Answer::dropped());
    t.advance(Duration::from_secs(3600));
    let token = f.later(&t);
    fails(&t, &token, GONE).await;
    fails(&t, "opaque", GONE).await;
    // Everything else goes on.
    t.get("/api/health").send().await.expect(200);
    let owner = t.owner().await;
    let roles = t.get("/api/roles").bearer(&owner.token).send().await.expect(200).data();
    assert_eq!(roles["roles"].as_array().unwrap().len(), 5);
    let again = json!({"refresh_token": owner.refresh_token});
    t.post("/api/auth/refresh").json(again).send().await.expect(200);
    f.recover();
    fails(&t, &token, GONE).await;
    t.advance(Duration::from_secs(1));
    exchange(&t, &token).await.expect(200);
    // The known keys last; an opaque token needs the provider each time.
    f.upstream.answer_by(|_| Answer::dropped());
    exchange(&t, &token).await.expect(200);
    fails(&t, "opaque", GONE).await;
    t.advance(Duration::from_secs(299));
    exchange(&t, &token).await.expect(200);
    t.advance(Duration::from_secs(1));
    fails(&t, &token, GONE).await;
});

forge_test!(users_and_organizations_are_managed_without_the_provider, |_issuer| {}, |t, f| async move {
    f.upstream.answer_by(|_| Answer::dropped());
    let owner = t.owner().await;
    let body = json!({"name": "Customer", "custom_data": {"vat": "IT90000000017"}});
    let made = t.post("/api/customers").bearer(&owner.token).json(body).send().await.expect(201).data();
    let body = json!({"email": "m@example.org", "name": "M", "user_role_ids": ["reader"], "organization_id": made["id"]});
    let made = t.post("/api/users").bearer(&owner.token).json(body).send().await.expect(201).data();
    let path = format!("/api/users/{}", made["id"].as_str().unwrap());
    t.put(&path).bearer(&owner.token).json(json!({"name": "N"})).send().await.expect(200);
    t.patch(&format!("{path}/suspend")).bearer(&owner.token).send().await.expect(200);
    t.patch(&format!("{path}/reactivate")).bearer(&owner.token).send().await.expect(200);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    t.patch(&format!("{path}/restore")).bearer(&owner.token).send().await.expect(200);
    t.delete(&format!("{path}/destroy")).bearer(&owner.token).send().await.expect(200);
});

forge_test!(a_provider_that_hangs, |issuer| hasty(issuer), |t, f| async move {
    let never = || Answer::status(200).after(Duration::from_secs(600));
    opens(&t, &f.good()).await;
    f.upstream.answer_by(move |_| never());
    fails(&t, "opaque", LATE).await;
    t.advance(Duration::from_secs(3600));
    let later = f.later(&t);
    fails(&t, &later, LATE).await;
    fails(&t, "opaque", LATE).await;
    // An answer that begins and does not end, as soon as the machine is fast enough for it to come in time.
    let raw = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{";
    f.upstream.answer_by(move |_| Answer::raw(raw));
    let has_come = async || {
        t.advance(Duration::from_secs(1));
        exchange(&t, &later).await.status == GONE.0
    };
    eventually("the beginning comes in time", has_come).await;
    fails(&t, &later, GONE).await;
    t.advance(Duration::from_secs(1));
    f.recover();
    opens(&t, &later).await;
});

forge_test!(
    a_provider_that_takes_all_the_time_there_is,
    |issuer| issuer.patience = Duration::from_secs(1),
    |t, f| async move {
        opens(&t, &f.good()).await;
        f.upstream.answer_by(|_| Answer::status(200).after(Duration::from_secs(600)));
        fails(&t, "opaque", LATE).await;
    }
);

/// Answers that are none, and the description of another issuer.
fn nonsense(url: &str) -> (Vec<Answer>, Value) {
    let large = "x".repeat(1024 * 1024 + 1);
    let other = json!({"issuer": "https://secret.example", "jwks_uri": format!("{url}/jwks"),
        "introspection_endpoint": format!("{url}/introspect"), "userinfo_endpoint": format!("{url}/me")});
    let all = vec![
        Answer::raw("secret garbage\r\n\r\n"),
        Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"secret\""),
        Answer::status(200).body("secret"),
        Answer::json(200, &json!(["secret"])),
        Answer::status(302).header("location", "http://secret.example/"),
        Answer::json(500, &json!({"error": "secret"})),
        Answer::json(429, &json!({"error": "secret"})),
        Answer::json(404, &json!({"error": "secret"})),
        Answer::status(200).body(large.clone()),
        Answer::json(200, &json!({"keys": [], "issuer": "secret", "x": large})),
        Answer::json(200, &other),
    ];
    (all, other)
}

/// A provider that has never described itself.
async fn never_described(engine: Engine) {
    let f = Forge::start().await;
    let (url, keys) = (f.upstream.url(), f.keys());
    f.upstream.answer_by(|_| Answer::dropped());
    let t = Test::with(engine, settings(&url, |_| {})).await;
    fails(&t, "opaque", GONE).await;
    t.clock.set(Ts::from_secs(jiff::Timestamp::now().as_second()));
    for bad in nonsense(&url).0 {
        let keys = keys.clone();
        f.upstream.answer_by(move |request| match request.path.as_str() {
            "/jwks" => Answer::json(200, &keys),
            _ => bad.clone(),
        });
        t.advance(Duration::from_secs(1));
        fails(&t, &f.good(), GONE).await;
        fails(&t, "opaque", GONE).await;
    }
}
on_both!(a_provider_that_has_never_described_itself, never_described);

forge_test!(the_old_description_goes_on_while_there_is_no_other, |_issuer| {}, |t, f| async move {
    let (url, keys) = (f.upstream.url(), f.keys());
    f.upstream.answer_by(move |request| match request.path.as_str() {
        "/.well-known/openid-configuration" => Answer::status(500),
        _ => answer(&url, &keys, request),
    });
    t.advance(Duration::from_secs(7200));
    drop(f.upstream.take());
    exchange(&t, &f.later(&t)).await.expect(200);
    exchange(&t, &f.later(&t)).await.expect(200);
    refused(&t, "opaque", "introspection refuses it").await;
    let request_count =
        |path: &str| f.upstream.requests().iter().filter(|request| request.path == path).count();
    let description = "/.well-known/openid-configuration";
    assert_eq!((request_count(description), request_count("/jwks"), request_count("/introspect")), (1, 1, 3));
    // It is tried again a minute later.
    t.advance(Duration::from_secs(60));
    refused(&t, "opaque", "introspection refuses it").await;
    assert_eq!(request_count(description), 2);
});

forge_test!(answers_that_are_none, |_issuer| {}, |t, f| async move {
    let (url, keys) = (f.upstream.url(), f.keys());
    let description = json!({"issuer": url, "jwks_uri": format!("{url}/jwks"),
        "introspection_endpoint": format!("{url}/introspect"), "userinfo_endpoint": format!("{url}/me")});
    let (nonsense, other) = nonsense(&url);
    for bad in nonsense {
        for endpoint in ["/.well-known/openid-configuration", "/jwks", "/introspect"] {
            // A set of keys may be empty and a description may have more fields.
            if endpoint != "/.well-known/openid-configuration" && bad == Answer::json(200, &other) {
                continue;
            }
            let (bad, keys, description) = (bad.clone(), keys.clone(), description.clone());
            f.upstream.answer_by(move |request| match request.path.as_str() {
                path if path == endpoint => bad.clone(),
                "/jwks" => Answer::json(200, &keys),
                _ => Answer::json(200, &description),
            });
            t.advance(Duration::from_secs(3600));
            if endpoint == "/.well-known/openid-configuration" {
                // The one that is known goes on.
                exchange(&t, &f.later(&t)).await.expect(200);
                continue;
            }
            let token = if endpoint == "/introspect" { "opaque".to_owned() } else { f.later(&t) };
            fails(&t, &token, GONE).await;
        }
    }
    // The service's own credentials are wrong there: the tokens are not to blame.
    for status in [401, 403] {
        let (url, keys) = (url.clone(), keys.clone());
        f.upstream.answer_by(move |request| match request.path.as_str() {
            "/introspect" => Answer::json(status, &json!({"error": "secret"})),
            "/jwks" => Answer::json(200, &keys),
            _ => Answer::json(
                200,
                &json!({"issuer": url, "jwks_uri": format!("{url}/jwks"),
                "introspection_endpoint": format!("{url}/introspect")}),
            ),
        });
        t.advance(Duration::from_secs(3600));
        fails(&t, "opaque", GONE).await;
    }
});

forge_test!(concurrent_sign_ins_fetch_the_keys_once, |_issuer| {}, |t, f| async move {
    t.advance(Duration::from_secs(4000));
    let token = f.later(&t);
    drop(f.upstream.take());
    let replies = join_all((0..20).map(|_| exchange(&t, &token))).await;
    assert!(replies.iter().all(|reply| reply.status == 200));
    let paths = |all: Vec<bailiwick_testkit::parts::recorder::Recorded>| -> Vec<String> {
        all.into_iter().map(|request| request.path).collect()
    };
    assert_eq!(paths(f.upstream.take()), ["/.well-known/openid-configuration", "/jwks"]);
    // An unknown key: the service asks for the keys once in 10 s, for all requests.
    let mut claims = f.claims();
    claims["exp"] = json!(t.app.platform.now().secs() + 600);
    let header = jsonwebtoken::Header { kid: Some("other".to_owned()), ..Forge::header() };
    let unknown = f.sign(&header, &claims);
    for seconds in [0, 10, 9, 1] {
        t.advance(Duration::from_secs(seconds));
        let replies = join_all((0..20).map(|_| exchange(&t, &unknown))).await;
        assert!(replies.iter().all(|reply| reply.status == 401));
        let expected: &[&str] = if matches!(seconds, 10 | 1) { &["/jwks"] } else { &[] };
        assert_eq!(paths(f.upstream.take()), expected, "{seconds}");
    }
    exchange(&t, &token).await.expect(200);
});
