//! Forged tokens: every one is refused, whatever its claims. The issuer here is a script with a key of ours, so that
//! the tokens can be anything.

use super::*;
use bailiwick_testkit::parts::recorder::{Answer, Recorded, Recorder};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::json;

/// An issuer with keys that the test has.
pub struct Forge {
    pub upstream: Recorder,
    key: rcgen::KeyPair,
}

pub const KEY_ID: &str = "forged";

impl Forge {
    pub async fn start() -> Forge {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        let upstream = Recorder::start(|_| Answer::status(500)).await.unwrap();
        let forge = Forge { upstream, key };
        forge.recover();
        forge
    }

    /// Answers as it should from now on.
    pub fn recover(&self) {
        let (url, keys) = (self.upstream.url(), self.keys());
        self.upstream.answer_by(move |request| answer(&url, &keys, request));
    }

    pub fn keys(&self) -> Value {
        let point = self.key.public_key_raw();
        let [x, y] = [&point[1..33], &point[33..]].map(|half| URL_SAFE_NO_PAD.encode(half));
        json!({"keys": [{"kty": "EC", "crv": "P-256", "use": "sig", "kid": KEY_ID, "x": x, "y": y}]})
    }

    /// Claims of a good token.
    pub fn claims(&self) -> Value {
        let now = jiff::Timestamp::now().as_second();
        json!({
            "iss": self.upstream.url(), "sub": "o", "aud": AUDIENCE, "exp": now + 600, "iat": now,
            "client_id": "bailiwick", "email": "owner@example.org", "email_verified": true,
        })
    }

    pub fn header() -> Header {
        Header { kid: Some(KEY_ID.to_owned()), ..Header::new(Algorithm::ES256) }
    }

    pub fn sign(&self, header: &Header, claims: &Value) -> String {
        let key = EncodingKey::from_ec_der(&self.key.serialize_der());
        jsonwebtoken::encode(header, claims, &key).unwrap()
    }

    /// A good token by the service's clock.
    pub fn later(&self, t: &Test) -> String {
        let mut claims = self.claims();
        claims["exp"] = json!(t.app.platform.now().secs() + 600);
        self.sign(&Forge::header(), &claims)
    }

    pub fn good(&self) -> String {
        self.sign(&Forge::header(), &self.claims())
    }
}

pub fn answer(url: &str, keys: &Value, request: &Recorded) -> Answer {
    match request.path.as_str() {
        "/.well-known/openid-configuration" => Answer::json(
            200,
            &json!({
                "issuer": url,
                "jwks_uri": format!("{url}/jwks"),
                "introspection_endpoint": format!("{url}/introspect"),
                "userinfo_endpoint": format!("{url}/me"),
            }),
        ),
        "/jwks" => Answer::json(200, keys),
        "/introspect" => Answer::json(200, &json!({"active": false})),
        _ => Answer::status(404),
    }
}

/// `forge_test!(name, |issuer| { … }, |t, f| async move { … })`, on both engines.
macro_rules! forge_test {
    ($name:ident, |$issuer:pat_param| $change:expr, |$t:ident, $f:ident| $body:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            async fn on(engine: Engine) {
                let $f = Forge::start().await;
                let $t = service(engine, settings(&$f.upstream.url(), |$issuer: &mut Issuer| $change)).await;
                $body.await
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                on(Engine::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                on(Engine::Postgres).await;
            }
        }
    };
}
pub(crate) use forge_test;

/// A change to the claims of a good token.
type Change<'a> = &'a dyn Fn(&mut Value);

/// A token of these parts as they are.
fn assembled(header: &Value, claims: &Value, signature: &[u8]) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{}", part(header), part(claims), URL_SAFE_NO_PAD.encode(signature))
}

forge_test!(a_public_key_is_no_secret_and_no_signature_is_none, |_issuer| {}, |t, f| async move {
    exchange(&t, &f.good()).await.expect(200);
    let claims = f.claims();
    // HS256 with every text the public key is known by.
    let point = f.key.public_key_raw().to_vec();
    let prefix = "3059301306072a8648ce3d020106082a8648ce3d030107034200";
    let prefix = (0..prefix.len()).step_by(2).map(|i| u8::from_str_radix(&prefix[i..i + 2], 16).unwrap());
    let der: Vec<u8> = prefix.chain(point.clone()).collect();
    let text = base64::engine::general_purpose::STANDARD.encode(&der);
    let lines: Vec<&str> = [&text[..64], &text[64..]].to_vec();
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"));
    let secrets = [
        point.clone(),
        point[1..].to_vec(),
        der,
        pem.clone().into_bytes(),
        pem.trim_end().as_bytes().to_vec(),
        f.keys().to_string().into_bytes(),
    ];
    for (algorithm, secret) in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512]
        .into_iter()
        .flat_map(|a| secrets.iter().map(move |s| (a, s)))
    {
        let header = Header { kid: Some(KEY_ID.to_owned()), ..Header::new(algorithm) };
        let token = jsonwebtoken::encode(&header, &claims, &EncodingKey::from_secret(secret)).unwrap();
        refused(&t, &token, "a secret everybody has").await;
    }
    for word in ["none", "None", "NONE", "", "ES256K", "ES384", "RS256", "PS256", "HS256"] {
        for signature in [&b""[..], &[0; 64], &[0; 96]] {
            let token = assembled(&json!({"alg": word, "kid": KEY_ID}), &claims, signature);
            refused(&t, &token, word).await;
        }
    }
    let good = f.good();
    let (signed, signature) = good.rsplit_once('.').unwrap();
    refused(&t, &format!("{signed}."), "its signature taken off").await;
    refused(&t, &format!("{signed}.{signature}A"), "a longer signature").await;
    let changed = {
        let mut c = claims.clone();
        c["sub"] = json!("x");
        c
    };
    let body = URL_SAFE_NO_PAD.encode(changed.to_string());
    let head = signed.split('.').next().unwrap();
    refused(&t, &format!("{head}.{body}.{signature}"), "other claims").await;
});

forge_test!(a_token_does_not_bring_its_own_key, |_issuer| {}, |t, f| async move {
    let mine = Forge::start().await;
    let mut header = Forge::header();
    let jwk = mine.keys()["keys"][0].clone();
    header.jwk = Some(serde_json::from_value(jwk).unwrap());
    header.jku = Some(format!("{}/jwks", mine.upstream.url()));
    refused(&t, &mine.sign(&header, &f.claims()), "its own key").await;
    header.kid = None;
    refused(&t, &mine.sign(&header, &f.claims()), "its own key, unnamed").await;
    assert!(mine.upstream.requests().is_empty(), "the other keys were not requested");
    let unnamed = Header { kid: None, ..Forge::header() };
    exchange(&t, &f.sign(&unnamed, &f.claims())).await.expect(200);
});

forge_test!(claims_that_are_not_those_of_a_bearer_access_token, |issuer| for_us(issuer), |t, f| async move {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut claims = f.claims();
        change(&mut claims);
        f.sign(&Forge::header(), &claims)
    };
    let now = t.app.platform.now().secs();
    let changes: [(&str, Change<'_>); 25] = [
        ("another issuer", &|c| c["iss"] = json!("https://other.example")),
        ("the issuer with a slash", &|c| c["iss"] = json!(format!("{}/", c["iss"].as_str().unwrap()))),
        ("the issuer in a list", &|c| c["iss"] = json!([c["iss"]])),
        ("another audience", &|c| c["aud"] = json!("https://other.example")),
        ("a longer audience", &|c| c["aud"] = json!(format!("{AUDIENCE}/x"))),
        ("no audience", &|c| c["aud"] = json!(null)),
        ("an odd audience", &|c| c["aud"] = json!({"a": AUDIENCE})),
        ("no end", &|c| c["exp"] = json!(null)),
        ("an end that is text", &|c| c["exp"] = json!("9999999999")),
        ("long over", &|c| c["exp"] = json!(now - 61)),
        ("later", &|c| c["nbf"] = json!(now + 120)),
        ("two clients", &|c| c["azp"] = json!("wiki")),
        ("no subject", &|c| c["sub"] = json!(null)),
        ("an empty subject", &|c| c["sub"] = json!("")),
        ("a long subject", &|c| c["sub"] = json!("x".repeat(256))),
        ("an ID token", &|c| c["at_hash"] = json!("x")),
        ("an ID token of another kind", &|c| c["token_use"] = json!("id")),
        ("an odd kind", &|c| c["token_use"] = json!(1)),
        ("a refresh token", &|c| c["typ"] = json!("Refresh")),
        ("a refresh token by another word", &|c| c["token_type"] = json!("refresh_token")),
        ("an ID token by another word", &|c| c["token_type"] = json!("id_token")),
        ("an odd type", &|c| c["token_type"] = json!(["access_token"])),
        ("a bound token", &|c| c["cnf"] = json!({"jkt": "x"})),
        ("a logout token", &|c| c["events"] = json!({})),
        ("another client", &|c| c["client_id"] = json!("Bailiwick")),
    ];
    for (why, change) in changes {
        refused(&t, &with(change), why).await;
    }
    for typ in ["id+jwt", "logout+jwt", "dpop+jwt", "secevent+jwt"] {
        let header = Header { typ: Some(typ.to_owned()), ..Forge::header() };
        refused(&t, &f.sign(&header, &f.claims()), typ).await;
    }
    let header = Header { typ: Some("at+jwt".to_owned()), ..Forge::header() };
    exchange(&t, &f.sign(&header, &f.claims())).await.expect(200);
    exchange(&t, &with(&|c| c["typ"] = json!("Bearer"))).await.expect(200);
    exchange(&t, &with(&|c| c["token_use"] = json!("access"))).await.expect(200);
    exchange(&t, &with(&|c| c["token_type"] = json!("Bearer"))).await.expect(200);
    exchange(&t, &with(&|c| c["exp"] = json!(now as f64 + 0.5))).await.expect(200);
});

forge_test!(malformed_tokens_are_refused_and_never_forwarded, |_issuer| {}, |t, f| async move {
    exchange(&t, &f.good()).await.expect(200);
    drop(f.upstream.take());
    let session = t.owner().await;
    let long = f.sign(&Forge::header(), &{
        let mut claims = f.claims();
        claims["x"] = json!("x".repeat(20_000));
        claims
    });
    let crit =
        assembled(&json!({"alg": "ES256", "kid": KEY_ID, "crit": ["b64"], "b64": false}), &f.claims(), b"x");
    let twice = {
        let body = f.claims().to_string().replacen('{', "{\"iss\":\"https://other.example\",", 1);
        let head = URL_SAFE_NO_PAD.encode(json!({"alg": "ES256", "kid": KEY_ID}).to_string());
        format!("{head}.{}.AAAA", URL_SAFE_NO_PAD.encode(body))
    };
    let foreign =
        assembled(&json!({"alg": "ES256"}), &json!({"iss": "https://other.example", "sub": "o"}), b"x");
    let key = format!("myk_{}.{}", "a".repeat(30), "b".repeat(60));
    let owners = format!("myo_{}.{}", "a".repeat(30), "b".repeat(60));
    let no_text = ["a b".to_owned(), "é".to_owned(), "x".repeat(20_000)];
    for token in [long, crit, twice, foreign, key, owners, "myk_".to_owned()].into_iter().chain(no_text) {
        exchange(&t, &token).await.expect_message(401, "invalid access token");
    }
    // The service does not ask the issuer about its own tokens.
    for token in [&session.token, &session.refresh_token] {
        exchange(&t, token).await.expect_message(401, "invalid access token");
    }
    profile(&t, &session.refresh_token).await.expect_message(401, "invalid token");
    assert_eq!(f.upstream.take(), []);
    // A text that only looks like a JWT is opaque: the service asks the issuer.
    for token in ["a.b.c", "e30.W10.", "a.b.c.d.e"] {
        refused(&t, token, token).await;
    }
    assert_eq!(f.upstream.take().len(), 9);
});

forge_test!(introspection_claims_are_checked, |issuer| for_us(issuer), |t, f| async move {
    let url = f.upstream.url();
    let (now, keys) = (t.app.platform.now().secs(), f.keys());
    let good = json!({"active": true, "sub": "o", "client_id": "bailiwick", "token_type": "Bearer", "iss": url,
        "aud": ["https://other.example", AUDIENCE], "exp": now + 60, "email": "owner@example.org", "email_verified": "true"});
    let introspect_as = |claims: Value| {
        let (url, keys) = (url.clone(), keys.clone());
        f.upstream.answer_by(move |request| match request.path.as_str() {
            "/introspect" => Answer::json(200, &claims),
            _ => answer(&url, &keys, request),
        });
    };
    introspect_as(good.clone());
    exchange(&t, "opaque").await.expect(200);
    let request = f.upstream.take().into_iter().rfind(|r| r.path == "/introspect").unwrap();
    assert_eq!(request.body, b"token=opaque&token_type_hint=access_token");
    let pair = "introspector:a+secret%3A+with+100%25+of+signs+%2B+more";
    let basic = base64::engine::general_purpose::STANDARD.encode(pair);
    assert_eq!(request.values("authorization"), [format!("Basic {basic}")]);
    for (key, value) in [
        ("active", json!(false)),
        ("client_id", json!("stranger")),
        ("client_id", json!(null)),
        ("token_type", json!("DPoP")),
        ("token_type", json!("refresh_token")),
        ("token_use", json!("refresh_token")),
        ("token_use", json!("id")),
        ("token_use", json!(["access_token"])),
        ("typ", json!("Refresh")),
        ("typ", json!("ID")),
        ("azp", json!("wiki")),
        ("aud", json!(null)),
        ("iss", json!("https://other.example")),
        ("exp", json!(now - 61)),
        ("nbf", json!(now + 120)),
        ("aud", json!("https://other.example")),
        ("cnf", json!({"jkt": "x"})),
        ("sub", json!("")),
    ] {
        let mut claims = good.clone();
        claims[key] = value;
        introspect_as(claims);
        refused(&t, "opaque", key).await;
    }
    for (key, value) in
        [("token_use", json!("access_token")), ("typ", json!("Bearer")), ("azp", json!("bailiwick"))]
    {
        let mut claims = good.clone();
        claims[key] = value;
        introspect_as(claims);
        exchange(&t, "opaque").await.expect(200);
    }
    let mut claims = good.clone();
    claims["azp"] = claims["client_id"].take();
    introspect_as(claims);
    exchange(&t, "opaque").await.expect(200);
});
