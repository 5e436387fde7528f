//! Refresh, resources, introspection, keys.

use super::{client::*, flow::verified};
use bailiwick_identity::oidc;
use bailiwick_settings::{Application, Client};
use bailiwick_testkit::api_test;
use serde_json::{Value, json};
use std::time::Duration;

fn text(tokens: &Value, name: &str) -> String {
    tokens[name].as_str().unwrap_or_else(|| panic!("{name} in {tokens}")).to_owned()
}

api_test!(a_refresh_token_rotates_with_a_grace, |t| async move {
    let first = text(&tokens(&t).await, "refresh_token");
    t.advance(Duration::from_secs(3000));
    let reply = refresh(&t, &first).await.expect(200).json();
    let second = text(&reply, "refresh_token");
    assert_ne!(first, second);
    verified(&t, &text(&reply, "id_token"), "bailiwick").await;
    t.advance(Duration::from_secs(30));
    let repeat = refresh(&t, &first).await.expect(200).json();
    assert_eq!(text(&repeat, "refresh_token"), second, "the winner's string");
    assert_ne!(text(&repeat, "access_token"), text(&reply, "access_token"));
    userinfo(&t, &text(&repeat, "access_token")).await.expect(200);
    let third = text(&refresh(&t, &second).await.expect(200).json(), "refresh_token");
    let within = text(&refresh(&t, &second).await.expect(200).json(), "refresh_token");
    assert_eq!(within, third);

    t.advance(Duration::from_secs(1));
    refused(refresh(&t, &first).await, 400, "invalid_grant");
    refused(refresh(&t, &third).await, 400, "invalid_grant");
    refused(userinfo(&t, &text(&repeat, "access_token")).await, 401, "invalid_token");
});

api_test!(parallel_refreshes_leave_one_current_token, |t| async move {
    let first = text(&tokens(&t).await, "refresh_token");
    let replies = tokio::join!(refresh(&t, &first), refresh(&t, &first), refresh(&t, &first));
    let got = [replies.0, replies.1, replies.2].map(|reply| text(&reply.expect(200).json(), "refresh_token"));
    assert!(got.iter().all(|token| *token == got[0]), "{got:?}");
});

api_test!(reuse_ends_one_grant_and_no_other, |t| async move {
    let browser = Browser::new(&t);
    let one = redeem(&t, &browser.code(&[]).await, &[]).await.expect(200).json();
    let sent = browser.get(&authorization(&[])).await.expect(303);
    let code = query(sent.header("location").unwrap())["code"].clone();
    let two = redeem(&t, &code, &[]).await.expect(200).json();
    refresh(&t, &text(&one, "refresh_token")).await.expect(200);
    t.advance(Duration::from_secs(31));
    refused(refresh(&t, &text(&one, "refresh_token")).await, 400, "invalid_grant");
    refused(userinfo(&t, &text(&one, "access_token")).await, 401, "invalid_token");
    userinfo(&t, &text(&two, "access_token")).await.expect(200);
    refresh(&t, &text(&two, "refresh_token")).await.expect(200);
});

api_test!(tokens_expire, |t| async move {
    let got = tokens(&t).await;
    t.advance(Duration::from_secs(3599));
    userinfo(&t, &text(&got, "access_token")).await.expect(200);
    t.advance(Duration::from_secs(1));
    refused(userinfo(&t, &text(&got, "access_token")).await, 401, "invalid_token");
    exchange(&t, &text(&got, "access_token")).await.expect_message(401, "invalid access token");
    t.advance(Duration::from_secs(13 * 86_400));
    let renewed = refresh(&t, &text(&got, "refresh_token")).await.expect(200).json();
    t.advance(Duration::from_secs(2 * 86_400));
    oidc::purge_expired(&t.app.identity).await.unwrap();
    let renewed = refresh(&t, &text(&renewed, "refresh_token")).await.expect(200).json();
    t.advance(Duration::from_secs(14 * 86_400));
    refused(refresh(&t, &text(&renewed, "refresh_token")).await, 400, "invalid_grant");
    assert!(oidc::purge_expired(&t.app.identity).await.unwrap() > 0);
    assert_eq!(oidc::purge_expired(&t.app.identity).await.unwrap(), 0);
});

api_test!(a_revoked_access_token_leaves_the_rest, |t| async move {
    let got = tokens(&t).await;
    let form = [("client_id", "bailiwick"), ("token", &text(&got, "access_token"))];
    t.post("/oidc/token/revocation").form(&form).send().await.expect(200);
    refused(userinfo(&t, &text(&got, "access_token")).await, 401, "invalid_token");
    refresh(&t, &text(&got, "refresh_token")).await.expect(200);
    let unknown = [("client_id", "bailiwick"), ("token", "unknown")];
    t.post("/oidc/token/revocation").form(&unknown).send().await.expect(200);
    refused(t.post("/oidc/token/revocation").form(&[("token", "x")]).send().await, 401, "invalid_client");
    refused(t.post("/oidc/token/revocation").form(&unknown[..1]).send().await, 400, "invalid_request");
});

api_test!(a_refresh_may_ask_for_less, |t| async move {
    let first = text(&tokens(&t).await, "refresh_token");
    let base =
        [("grant_type", "refresh_token"), ("client_id", "bailiwick"), ("refresh_token", first.as_str())];
    let more = [&base[..], &[("scope", "openid phone")]].concat();
    refused(t.post("/oidc/token").form(&more).send().await, 400, "invalid_scope");
    let less = [&base[..], &[("scope", "email roles")]].concat();
    let reply = t.post("/oidc/token").form(&less).send().await.expect(200).json();
    assert_eq!(reply["scope"], "email");
    assert!(reply.get("id_token").is_none());
    refused(userinfo(&t, &text(&reply, "access_token")).await, 403, "insufficient_scope");
    let next = refresh(&t, &text(&reply, "refresh_token")).await.expect(200).json();
    assert_eq!(next["scope"], SCOPE, "the grant itself is not narrowed");
});

api_test!(the_service_is_the_only_resource, |t| async move {
    let browser = Browser::new(&t);
    let audience = format!("{BASE}/api");
    sent_back(browser.get(&authorization(&[("resource", "https://evil.example")])).await, "invalid_target");
    let code = browser.code(&[("resource", &audience)]).await;
    refused(redeem(&t, &code, &[("resource", "https://evil.example")]).await, 400, "invalid_target");
    let got = redeem(&t, &code, &[("resource", &audience)]).await.expect(200).json();
    let access = text(&got, "access_token");
    let header = jsonwebtoken::decode_header(&access).unwrap();
    assert_eq!(header.alg, jsonwebtoken::Algorithm::ES384);
    let payload = access.split('.').nth(1).unwrap();
    let payload = base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, payload).unwrap();
    let claims: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(claims["aud"], audience);
    assert_eq!(claims["client_id"], "bailiwick");
    exchange(&t, &access).await.expect(200);
    t.get("/api/me").bearer(&access).send().await.expect_message(401, "invalid token");

    let opaque = text(&tokens(&t).await, "refresh_token");
    let form = [
        ("grant_type", "refresh_token"),
        ("client_id", "bailiwick"),
        ("refresh_token", opaque.as_str()),
        ("resource", audience.as_str()),
    ];
    refused(t.post("/oidc/token").form(&form).send().await, 400, "invalid_target");
});

api_test!(
    introspection_is_for_confidential_clients,
    |settings| {
        let application = Application { login_url: Some(BASE.into()), ..Application::default() };
        let partner = Client { id: "partner".into(), first_party: false, application, ..console() };
        settings.provider.clients.extend([console(), partner]);
    },
    |t| async move {
        let got = tokens(&t).await;
        let ask_as = async |client: &str, token: &str| {
            let call = t.post("/oidc/token/introspection").basic(client, "open%20sesame");
            call.form(&[("token", token)]).send().await.expect(200).json()
        };
        let ask = async |token: &str| ask_as("console", token).await;
        let active = ask(&text(&got, "access_token")).await;
        assert_eq!(active["active"], true);
        assert_eq!(active["client_id"], "bailiwick");
        assert_eq!(active["username"], "owner");
        assert_eq!(active["exp"], t.app.platform.now().secs() + 3600);
        // The refresh tokens of other clients are not its business, and a third party introspects its own tokens only.
        let inactive = json!({"active": false});
        assert_eq!(ask(&text(&got, "refresh_token")).await, inactive);
        assert_eq!(ask_as("partner", &text(&got, "access_token")).await, inactive);
        assert_eq!(ask_as("partner", &text(&got, "refresh_token")).await, inactive);
        let changes = [("client_id", "console"), ("redirect_uri", CONSOLE_CALLBACK), ("prompt", "consent")];
        let code = Browser::new(&t).code(&changes).await;
        let own = redeem(
            &t,
            &code,
            &[
                ("client_id", "console"),
                ("client_secret", CONSOLE_SECRET),
                ("redirect_uri", CONSOLE_CALLBACK),
            ],
        )
        .await
        .expect(200)
        .json();
        let first = text(&own, "refresh_token");
        assert_eq!(ask(&first).await["active"], true);
        let again = [
            ("grant_type", "refresh_token"),
            ("client_id", "console"),
            ("client_secret", CONSOLE_SECRET),
            ("refresh_token", &first),
        ];
        t.post("/oidc/token").form(&again).send().await.expect(200);
        for dead in [first.as_str(), "unknown"] {
            assert_eq!(ask(dead).await, inactive);
        }
        let form = [("client_id", "bailiwick"), ("token", &text(&got, "access_token"))];
        refused(t.post("/oidc/token/introspection").form(&form).send().await, 401, "invalid_client");
    }
);

api_test!(a_replaced_key_verifies_as_long_as_it_must, |t| async move {
    let keys =
        async || t.get("/oidc/jwks").send().await.expect(200).json()["keys"].as_array().unwrap().clone();
    let before = tokens(&t).await;
    assert_eq!(keys().await.len(), 1);
    assert!(keys().await[0].get("d").is_none(), "never the private half");
    let kid = oidc::keys::rotate_signing_key(&t.app.identity).await.unwrap();
    assert_eq!(keys().await[0]["kid"], kid);
    verified(&t, &text(&before, "id_token"), "bailiwick").await;
    verified(&t, &text(&tokens(&t).await, "id_token"), "bailiwick").await;
    t.advance(Duration::from_secs(3600));
    assert_eq!(keys().await.len(), 2);
    t.advance(Duration::from_secs(3601));
    assert_eq!(keys().await.len(), 1);
    oidc::purge_expired(&t.app.identity).await.unwrap();
    assert_eq!(keys().await[0]["kid"], kid);
});
