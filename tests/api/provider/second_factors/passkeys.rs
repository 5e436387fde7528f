//! Passkeys, with an authenticator that can lie.

use super::{
    authenticator::{Authenticator, Ceremony},
    *,
};
use bailiwick_testkit::api_test;

/// The offer in a page's form: options and state.
fn offer(shown: &Reply) -> (Value, String) {
    let text = shown.text();
    let (_, rest) = text.split_once("data-options=\"").expect("an offer");
    let options = rest.split('"').next().unwrap().replace("&quot;", "\"").replace("&#x2f;", "/");
    (serde_json::from_str(&options).unwrap(), field(shown, "state"))
}

const AT: &str = "/api/me/second-factors/passkeys";

async fn options(t: &Test, who: &Persona) -> Value {
    t.post(&format!("{AT}/options")).bearer(&who.token).send().await.expect(200).data()
}

/// Adds a passkey of this authenticator; the answer.
async fn add(t: &Test, who: &Persona, authenticator: &mut Authenticator) -> Value {
    let offer = options(t, who).await;
    let credential = authenticator.make(&offer["options"], &Ceremony::default());
    let body = json!({"state": offer["state"], "credential": credential, "name": "Laptop"});
    t.post(AT).bearer(&who.token).json(body).send().await.expect(201).data()
}

async fn send_passkey(
    browser: &Browser<'_>,
    page: &str,
    shown: &Reply,
    (form, state, answer): (&str, &str, &Value),
) -> Reply {
    let (token, answer) = (form_token(shown), answer.to_string());
    let fields =
        [("form_token", token.as_str()), ("form", form), ("state", state), ("credential", answer.as_str())];
    browser.post(page, &fields).await
}

api_test!(a_passkey_is_added_named_and_removed, |s| s.public_url = LOCALHOST.into(), |t| async move {
    let owner = t.owner().await;
    assert_eq!(overview(&t, &owner).await["are_passkeys_possible"], true);
    let offer = options(&t, &owner).await;
    let challenge = &offer["options"];
    assert_eq!(challenge["rp"]["id"], "localhost");
    assert_eq!(challenge["authenticatorSelection"]["userVerification"], "required");
    assert_eq!(challenge["authenticatorSelection"]["residentKey"], "required");
    let mut laptop = Authenticator::new("laptop's credential");
    let right = laptop.make(challenge, &Ceremony::default());
    let send = async |state: &Value, credential: &Value, name: &str| {
        let body = json!({"state": state, "credential": credential, "name": name});
        t.post(AT).bearer(&owner.token).json(body).send().await
    };
    let forgeries = [
        Ceremony { origin: "https://localhost:8080".into(), ..Ceremony::default() },
        Ceremony { origin: "http://localhost:8081".into(), ..Ceremony::default() },
        Ceremony { site: "example.org".into(), ..Ceremony::default() },
        Ceremony { kind: Some("webauthn.get"), ..Ceremony::default() },
        Ceremony { challenge: Some("AAAAAAAAAAAAAAAAAAAAAA".into()), ..Ceremony::default() },
        Ceremony::unverified(),
    ];
    for ceremony in &forgeries {
        let refused = send(&offer["state"], &laptop.make(challenge, ceremony), "x").await.expect(400).data();
        assert_eq!(refused["errors"][0]["key"], "credential", "{refused}");
    }
    for (body, field) in [
        (json!({}), "state"),
        (json!({"state": offer["state"]}), "credential"),
        (json!({"state": offer["state"], "credential": {}}), "credential"),
        (json!({"state": "AAAA", "credential": right}), "credential"),
        (json!({"state": offer["state"], "credential": right, "name": "x".repeat(300)}), "name"),
    ] {
        let refused = t.post(AT).bearer(&owner.token).json(body).send().await.expect(400).data();
        assert_eq!(refused["errors"][0]["key"], field, "{refused}");
    }
    let added = send(&offer["state"], &right, "  Laptop ").await.expect(201).data();
    assert_eq!(
        (added["name"].as_str(), added["recovery_codes"].as_array().unwrap().len()),
        (Some("Laptop"), 10)
    );
    // The same device again, with the same offer or another one.
    for offer in [&offer, &options(&t, &owner).await] {
        let again = laptop.make(&offer["options"], &Ceremony::default());
        let refused = send(&offer["state"], &again, "Again").await.expect(400).data();
        assert_eq!(refused["errors"][0]["message"], "already_exists");
    }
    let excluded = &options(&t, &owner).await["options"]["excludeCredentials"];
    assert_eq!(excluded.as_array().unwrap().len(), 1);
    let one = format!("{AT}/{}", added["id"].as_str().unwrap());
    let put = |body: Value| t.put(&one).bearer(&owner.token).json(body).send();
    put(json!({"name": " "})).await.expect(400);
    put(json!({"name": "Work laptop"})).await.expect(200);
    assert_eq!(overview(&t, &owner).await["passkeys"][0]["name"], "Work laptop");
    // Others neither see nor change it.
    let other = t.user(t.tree().await.customer, &["super"]).await;
    assert_eq!(overview(&t, &other).await["passkeys"], json!([]));
    t.put(&one).bearer(&other.token).json(json!({"name": "x"})).send().await.expect(404);
    t.delete(&one).bearer(&other.token).send().await.expect(404);
    t.delete(&one).bearer(&owner.token).send().await.expect(200);
    t.delete(&one).bearer(&owner.token).send().await.expect_message(404, "passkey not found");
    let all = actions(&t).await;
    for action in ["user.add_second_factor", "user.rename_passkey", "user.remove_second_factor"] {
        assert!(all.iter().any(|recorded| recorded == action), "{action}: {all:?}");
    }
});

api_test!(an_offer_ends_after_ten_minutes, |s| s.public_url = LOCALHOST.into(), |t| async move {
    let owner = t.owner().await;
    let offer = options(&t, &owner).await;
    let credential = Authenticator::new("late").make(&offer["options"], &Ceremony::default());
    let body = json!({"state": offer["state"], "credential": credential});
    t.advance(Duration::from_secs(600));
    let later = t.owner().await;
    t.post(AT).bearer(&later.token).json(body).send().await.expect(400);
    let offer = options(&t, &later).await;
    let credential = Authenticator::new("in time").make(&offer["options"], &Ceremony::default());
    let body = json!({"state": offer["state"], "credential": credential});
    t.advance(Duration::from_secs(599));
    t.post(AT).bearer(&later.token).json(body).send().await.expect(201);
});

api_test!(a_passkey_alone_signs_in, |s| s.public_url = LOCALHOST.into(), |t| async move {
    let owner = t.owner().await;
    let mut laptop = Authenticator::new("laptop");
    add(&t, &owner, &mut laptop).await;
    let other = t.user(t.tree().await.customer, &["super"]).await;
    let mut foreign = Authenticator::new("foreign");
    add(&t, &other, &mut foreign).await;
    let browser = Browser::new(&t);
    let (page, _) = browser.open_page(&[]).await;
    let shown = browser.get(&page).await.expect(200);
    let (challenge, state) = offer(&shown);
    assert_eq!(challenge["userVerification"], "required");
    let forgeries = [
        Ceremony { origin: "http://localhost:5173".into(), ..Ceremony::default() },
        Ceremony { site: "example.org".into(), ..Ceremony::default() },
        Ceremony { kind: Some("webauthn.create"), ..Ceremony::default() },
        Ceremony { challenge: Some("AAAAAAAAAAAAAAAAAAAAAA".into()), ..Ceremony::default() },
        Ceremony { breaks_signature: true, ..Ceremony::default() },
        Ceremony { user: Some(other.id.0.into_bytes().to_vec()), ..Ceremony::default() },
        Ceremony::unverified(),
    ];
    for ceremony in &forgeries {
        let answer = laptop.prove(&challenge, ceremony);
        let refused = send_passkey(&browser, &page, &shown, ("passkey", &state, &answer)).await.expect(422);
        assert!(refused.text().contains("The passkey was not accepted."));
    }
    let right = laptop.prove(&challenge, &Ceremony::default());
    // The offer of another sign-in, one never made, and texts that are none.
    let elsewhere = Browser::new(&t);
    let (other_page, _) = elsewhere.open_page(&[]).await;
    let other_shown = elsewhere.get(&other_page).await.expect(200);
    send_passkey(&elsewhere, &other_page, &other_shown, ("passkey", &state, &right)).await.expect(422);
    send_passkey(&browser, &page, &shown, ("passkey", "AAAA", &right)).await.expect(422);
    send_passkey(&browser, &page, &shown, ("passkey", &state, &json!({"id": 1}))).await.expect(422);
    let unknown = Authenticator::new("unknown").prove(&challenge, &Ceremony::default());
    send_passkey(&browser, &page, &shown, ("passkey", &state, &unknown)).await.expect(422);
    let done = send_passkey(&browser, &page, &shown, ("passkey", &state, &right)).await.expect(303);
    let claims = claims(&t, &done).await;
    assert_eq!((&claims["amr"], &claims["sub"]), (&json!(["pop", "user", "mfa"]), &json!(owner.id)));
    // The answer was for one sign-in.
    send_passkey(&browser, &page, &shown, ("passkey", &state, &right)).await.expect(400);
    assert!(overview(&t, &owner).await["passkeys"][0]["last_used_at"].is_string());
});

api_test!(a_passkey_follows_the_password, |s| s.public_url = LOCALHOST.into(), |t| async move {
    let owner = t.owner().await;
    let mut laptop = Authenticator::new("laptop");
    add(&t, &owner, &mut laptop).await;
    let other = t.user(t.tree().await.customer, &["super"]).await;
    let mut foreign = Authenticator::new("foreign");
    add(&t, &other, &mut foreign).await;
    let browser = Browser::new(&t);
    let (page, shown) = after_password(&browser).await;
    let (challenge, state) = offer(&shown);
    // Someone else's passkey proves nothing of this user.
    let answer = foreign.prove(&challenge, &Ceremony::default());
    send_passkey(&browser, &page, &shown, ("factor", &state, &answer)).await.expect(422);
    let ceremony = Ceremony { counter: 7, ..Ceremony::default() };
    let answer = laptop.prove(&challenge, &ceremony);
    let done = send_passkey(&browser, &page, &shown, ("factor", &state, &answer)).await.expect(303);
    assert_eq!(claims(&t, &done).await["amr"], json!(["pwd", "pop", "user", "mfa"]));
    // A counter that does not grow is that of a copy.
    for (counter, status) in [(7, 422), (3, 422), (8, 303)] {
        let browser = Browser::new(&t);
        let (page, shown) = after_password(&browser).await;
        let (challenge, state) = offer(&shown);
        let answer = laptop.prove(&challenge, &Ceremony { counter, ..Ceremony::default() });
        let reply = send_passkey(&browser, &page, &shown, ("factor", &state, &answer)).await;
        assert_eq!(reply.status.as_u16(), status, "{counter}");
    }
});

api_test!(where_browsers_offer_none_there_are_no_passkeys, |t| async move {
    let owner = t.owner().await;
    assert_eq!(overview(&t, &owner).await["are_passkeys_possible"], false);
    t.post(&format!("{AT}/options")).bearer(&owner.token).send().await.expect(403);
    let (page, _) = Browser::new(&t).open_page(&[]).await;
    let browser = Browser::new(&t);
    let (page, shown) = (page, browser.open_page(&[]).await);
    assert!(!page.is_empty() && !shown.0.is_empty());
    let shown = browser.get(&shown.0).await.expect(200);
    assert!(!shown.text().contains("data-passkey"));
});
