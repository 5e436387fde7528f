//! Tokens of a real provider.

use super::*;
use std::time::Duration;

const ALGORITHMS: [&str; 6] = ["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"];

external_test!(
    // Proves spec: guarantees#identity 19.
    tokens_signed_with_rsa_and_ec_keys_open_sessions,
    |issuer| for_us(issuer),
    |t, p| async move {
        let owner = t.owner().await;
        for form in ALGORITHMS.into_iter().chain(["ES384,list", "RS256,azp"]) {
            let token = p.token("bailiwick", OWNER, Some(form)).await.unwrap();
            let data = exchange(&t, &token).await.expect_message(200, "token exchange successful").data();
            assert_eq!(data["user"]["id"], owner.id.to_string(), "{form}");
            let session = data["token"].as_str().unwrap();
            assert_eq!(t.get("/api/me").bearer(session).send().await.expect(200).data(), data["user"]);
            for token in [&token, session] {
                assert_eq!(profile(&t, token).await.expect(200).data(), data["user"], "{form}");
                let reply = t.get("/api/user/permissions").bearer(token).send().await.expect(200);
                assert_eq!(reply.data()["org_role"], "Owner");
            }
            t.get("/api/me").bearer(&token).send().await.expect_message(401, "invalid token");
            t.post("/api/auth/refresh")
                .json(serde_json::json!({"refresh_token": data["refresh_token"]}))
                .send()
                .await
                .expect(200);
        }
    }
);

// Proves spec: guarantees#identity 19.
external_test!(opaque_tokens_are_introspected, |t, p| async move {
    let token = p.token("bailiwick", OWNER, None).await.unwrap();
    assert!(!token.contains('.'));
    let data = exchange(&t, &token).await.expect(200).data();
    assert_eq!(data["user"]["email"], "owner@example.org");
    assert_eq!(profile(&t, &token).await.expect(200).data(), data["user"]);
    exchange(&t, &token).await.expect(200);
    refused(&t, "no-such-token", "unknown").await;
    refused(&t, &format!("{token}x"), "changed").await;
});

external_test!(a_refresh_token_is_no_access_token, |t, p| async move {
    let both = p.tokens("bailiwick", OWNER, None).await.unwrap();
    refused(&t, both["refresh_token"].as_str().unwrap(), "before he is linked").await;
    exchange(&t, both["access_token"].as_str().unwrap()).await.expect(200);
    refused(&t, both["refresh_token"].as_str().unwrap(), "introspection calls it active").await;
});

external_test!(
    an_opaque_token_that_does_not_say_whom_it_is_meant_for_is_refused,
    |issuer| for_us(issuer),
    |t, p| async move {
        let token = p.token("bailiwick", OWNER, None).await.unwrap();
        refused(&t, &token, "its introspection has no audience").await;
    }
);

external_test!(
    an_opaque_token_without_a_client_is_refused,
    |issuer| issuer.introspection = None,
    |t, p| async move {
        let token = p.token("bailiwick", OWNER, None).await.unwrap();
        refused(&t, &token, "the client is ambiguous").await;
    }
);

external_test!(
    an_opaque_token_without_a_client_is_accepted_when_that_is_set,
    |issuer| {
        issuer.introspection = None;
        issuer.accept_any_client = true;
    },
    |t, p| async move {
        // Userinfo names the subject and the address.
        let token = p.token("bailiwick", OWNER, None).await.unwrap();
        exchange(&t, &token).await.expect(200);
        profile(&t, &token).await.expect(200);
        refused(&t, "no-such-token", "unknown").await;
        let anonymous = p.token("bailiwick", OWNER, Some("ES256,anonymous")).await.unwrap();
        exchange(&t, &anonymous).await.expect(200);
        // A client that can be learnt and is not accepted stays out.
        let stranger = p.token("stranger", OWNER, Some("ES256")).await.unwrap();
        refused(&t, &stranger, "a stranger").await;
    }
);

external_test!(
    tokens_of_every_client_when_none_is_named,
    |issuer| {
        issuer.client_ids.clear();
        issuer.accept_any_client = true;
    },
    |t, p| async move {
        for form in [None, Some("RS256")] {
            let stranger = p.token("stranger", OWNER, form).await.unwrap();
            exchange(&t, &stranger).await.expect(200);
            // Third-party applications are known to be others' all the same.
            let wiki = p.token("wiki", OWNER, form).await.unwrap();
            exchange(&t, &wiki).await.expect_message(401, "invalid access token");
        }
    }
);

// Proves spec: guarantees#identity 7.
external_test!(tokens_of_third_parties_are_read_and_never_exchanged, |t, p| async move {
    for form in [None, Some("RS256"), Some("ES384,azp")] {
        let wiki = p.token("wiki", OWNER, form).await.unwrap();
        exchange(&t, &wiki).await.expect_message(401, "invalid access token");
        assert_eq!(profile(&t, &wiki).await.expect(200).data()["email"], "owner@example.org");
        let stranger = p.token("stranger", OWNER, form).await.unwrap();
        refused(&t, &stranger, "an unregistered client").await;
    }
    let anonymous = p.token("bailiwick", OWNER, Some("ES256,anonymous")).await.unwrap();
    refused(&t, &anonymous, "without a client").await;
});

external_test!(an_application_is_opened_at_the_provider, |t, p| async move {
    let owner = t.owner().await;
    let reply = t.get("/api/third-party-applications").bearer(&owner.token).send().await.expect(200);
    let address = reply.data()[0]["login_url"].as_str().unwrap().to_owned();
    let beginning =
        format!("{}/auth?client_id=wiki&redirect_uri=https%3A%2F%2Fwiki.example.org%2Fcb&", p.url());
    assert!(address.starts_with(&beginning), "{address}");
});

external_test!(what_a_token_must_say, |issuer| for_us(issuer), |t, p| async move {
    // The service sees each token at the moment of its making, however long the test takes to get there.
    let show_time_of = |token: &str| {
        let made_at = crate::session::part(token, 1)["iat"].as_i64().unwrap();
        t.clock.set(Ts::from_secs(made_at));
    };
    for form in ["ES256,late", "ES256,soon"] {
        let token = p.token("bailiwick", OWNER, Some(form)).await.unwrap();
        show_time_of(&token);
        exchange(&t, &token).await.expect(200);
    }
    for form in ["expired", "future", "endless", "foreign", "elsewhere"] {
        let token = p.token("bailiwick", OWNER, Some(&format!("RS256,{form}"))).await.unwrap();
        show_time_of(&token);
        refused(&t, &token, form).await;
    }
    let both = p.tokens("bailiwick", OWNER, None).await.unwrap();
    refused(&t, both["id_token"].as_str().unwrap(), "an ID token").await;
    let good = p.token("bailiwick", OWNER, Some("RS256")).await.unwrap();
    let end = Ts::from_secs(crate::session::part(&good, 1)["exp"].as_i64().unwrap());
    t.clock.set(end.plus(Duration::from_secs(55)));
    exchange(&t, &good).await.expect(200);
    t.clock.set(end.plus(Duration::from_secs(65)));
    refused(&t, &good, "expired meanwhile").await;
});

/// A service and a provider of its own that changes its keys.
async fn keys_change(engine: Engine) {
    let p = IdentityProvider::start().await.unwrap();
    let t = service(engine, settings(&p.url(), |_| {})).await;
    let first = p.token("bailiwick", OWNER, Some("ES384")).await.unwrap();
    exchange(&t, &first).await.expect(200);
    let p = p.restart().await.unwrap();
    t.advance(Duration::from_secs(10));
    let second = p.token("bailiwick", OWNER, Some("ES384")).await.unwrap();
    exchange(&t, &second).await.expect(200);
    refused(&t, &first, "its key is gone").await;
    let p = p.restart().await.unwrap();
    let third = p.token("bailiwick", OWNER, Some("RS256")).await.unwrap();
    refused(&t, &third, "the keys were fetched less than 10 s ago").await;
    t.advance(Duration::from_secs(10));
    exchange(&t, &third).await.expect(200);
    profile(&t, &third).await.expect(200);
}

mod the_provider_starts_anew_with_other_keys {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sqlite() {
        keys_change(Engine::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        keys_change(Engine::Postgres).await;
    }
}
