//! Logout tokens of an issuer end the sessions that they name (OpenID Connect Back-Channel Logout 1.0; spec:
//! authentication#back-channel-logout).

use super::{
    attacks::{Forge, KEY_ID},
    *,
};
use jsonwebtoken::Header;
use serde_json::json;

const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
const PATH: &str = "/oidc/backchannel-logout";

fn claims(forge: &Forge, t: &Test) -> Value {
    let now = t.app.platform.now().secs();
    json!({
        "iss": forge.upstream.url(), "aud": "bailiwick", "iat": now, "exp": now + 120, "jti": "x",
        "sub": "o", "sid": "at-the-desk", "events": {EVENT: {}},
    })
}

async fn send(t: &Test, token: &str) -> Reply {
    t.post(PATH).form(&[("logout_token", token)]).send().await
}

/// A session of the first user, from a session at the issuer.
async fn session(forge: &Forge, t: &Test, sid: Option<&str>) -> String {
    let mut token = forge.claims();
    token["exp"] = json!(t.app.platform.now().secs() + 600);
    token["sid"] = json!(sid);
    let token = forge.sign(&Forge::header(), &token);
    exchange(t, &token).await.expect(200).data()["token"].as_str().unwrap().to_owned()
}

async fn lives(t: &Test, token: &str) -> bool {
    let reply = t.get("/api/me").bearer(token).send().await;
    assert!(reply.status == 200 || reply.message() == "token has been revoked", "{}", reply.text());
    reply.status == 200
}

on_both!(the_sessions_of_a_session_at_the_issuer_end, the_sessions_end);

async fn the_sessions_end(engine: Engine) {
    let forge = Forge::start().await;
    let t = service(engine, settings(&forge.upstream.url(), for_us)).await;
    let desk = session(&forge, &t, Some("at-the-desk")).await;
    let phone = session(&forge, &t, Some("on-the-phone")).await;
    let unknown = session(&forge, &t, None).await;
    let typed = Header { typ: Some("logout+jwt".to_owned()), ..Forge::header() };
    send(&t, &forge.sign(&typed, &claims(&forge, &t))).await.expect(200);
    assert!(!lives(&t, &desk).await && lives(&t, &phone).await, "the one that was named");
    assert!(!lives(&t, &unknown).await, "it may be the one that was named");

    // By the session alone, as some issuers do it, and by the person alone.
    let mut by_session = claims(&forge, &t);
    by_session.as_object_mut().unwrap().remove("sub");
    by_session["sid"] = json!("on-the-phone");
    let reply = send(&t, &forge.sign(&Forge::header(), &by_session)).await.expect(200);
    assert_eq!((reply.body.len(), reply.header("cache-control")), (0, Some("no-store")));
    assert!(!lives(&t, &phone).await);
    let (one, other) = (session(&forge, &t, Some("a")).await, session(&forge, &t, Some("b")).await);
    let mut by_person = claims(&forge, &t);
    by_person.as_object_mut().unwrap().remove("sid");
    by_person["aud"] = json!(["another", "bailiwick"]);
    let by_person = forge.sign(&Forge::header(), &by_person);
    send(&t, &by_person).await.expect(200);
    assert!(!lives(&t, &one).await && !lives(&t, &other).await);

    // A token that comes again ends no session that began after it.
    t.advance(std::time::Duration::from_secs(90));
    let later = session(&forge, &t, Some("c")).await;
    send(&t, &by_person).await.expect(200);
    assert!(lives(&t, &later).await);
    // A token about a person without sessions here ends nothing.
    let mut of_nobody = claims(&forge, &t);
    (of_nobody["sub"], of_nobody["sid"]) = (json!("nobody"), json!("c"));
    send(&t, &forge.sign(&Forge::header(), &of_nobody)).await.expect(200);
    assert!(lives(&t, &later).await, "the session of another subject");
}

on_both!(nothing_but_a_logout_token_ends_a_session, only_logout_tokens);

async fn only_logout_tokens(engine: Engine) {
    let forge = Forge::start().await;
    let t = service(engine, settings(&forge.upstream.url(), for_us)).await;
    let live = session(&forge, &t, Some("at-the-desk")).await;
    let with = |key: &str, value: Value| {
        let mut claims = claims(&forge, &t);
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(key)),
            value => claims[key] = value,
        }
        forge.sign(&Forge::header(), &claims)
    };
    let now = t.app.platform.now().secs();
    let stranger = Forge::start().await;
    let good = forge.sign(&Forge::header(), &claims(&forge, &t));
    let (head, _) = good.rsplit_once('.').unwrap();
    let typed = Header { typ: Some("at+jwt".to_owned()), ..Forge::header() };
    let unknown_key = Header { kid: Some(format!("{KEY_ID}-2")), ..Forge::header() };
    for (what, token) in [
        ("no token", String::new()),
        ("no JWT", "x.y.z".to_owned()),
        ("no signature", format!("{head}.")),
        ("another key", stranger.sign(&Forge::header(), &claims(&forge, &t))),
        ("an unknown key", forge.sign(&unknown_key, &claims(&forge, &t))),
        ("another issuer", with("iss", json!("https://elsewhere.example.org"))),
        ("an access token", forge.later(&t)),
        ("called an access token", forge.sign(&typed, &claims(&forge, &t))),
        ("no event", with("events", Value::Null)),
        ("another event", with("events", json!({"http://schemas.openid.net/event/other": {}}))),
        ("an event that is no object", with("events", json!({EVENT: true}))),
        ("events that are no object", with("events", json!([EVENT]))),
        ("an ID token", with("nonce", json!("n"))),
        ("no client", with("aud", Value::Null)),
        ("another client", with("aud", json!(["another"]))),
        ("a third party", with("aud", json!("wiki"))),
        ("no end", with("exp", Value::Null)),
        ("over", with("exp", json!(now - 61))),
        ("not yet", with("nbf", json!(now + 61))),
        ("no time", with("iat", Value::Null)),
        ("a time without sense", with("iat", json!(1e300))),
        ("too long", with("padding", json!("x".repeat(20_000)))),
    ] {
        let reply = send(&t, &token).await;
        assert_eq!(
            (reply.status.as_u16(), &reply.json()["error"]),
            (400, &json!("invalid_request")),
            "{what}"
        );
        assert!(lives(&t, &live).await, "{what}");
    }
    let mut of_none = claims(&forge, &t);
    (of_none["sub"], of_none["sid"]) = (json!(null), json!(""));
    send(&t, &forge.sign(&Forge::header(), &of_none)).await.expect(400);
    t.post(PATH).form(&[("token", good.as_str())]).send().await.expect(400);
    t.get(PATH).send().await.expect(404);
    // The issuer cannot be asked for its keys: it may send the token again.
    forge.upstream.answer_by(|_| bailiwick_testkit::parts::recorder::Answer::status(500));
    let fresh = Test::with(engine, settings(&forge.upstream.url(), for_us)).await;
    send(&fresh, &good).await.expect(503);
    assert!(lives(&t, &live).await);
}

// In mode `embedded` there is no issuer, so the address does not exist.
bailiwick_testkit::api_test!(the_embedded_provider_takes_none, |t| async move {
    send(&t, "x.y.z").await.expect_message(404, "api not found");
});
