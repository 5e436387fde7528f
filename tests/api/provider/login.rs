//! `/oidc/login`: signing in without a client.

use super::client::*;
use bailiwick_testkit::api_test;
use std::time::Duration;

const LOGIN: &str = "http://127.0.0.1:8080/oidc/login";
const GIVEN: &str = "Given-Horse-9-Battery";
const CHOSEN: &str = "Chosen-Horse-4-Staple";

impl Browser<'_> {
    /// From the address to the sign-in page: its address and its form token.
    async fn open_login(&self) -> (String, String) {
        let sent = self.get(LOGIN).await.expect(303);
        let page = sent.header("location").unwrap().to_owned();
        assert!(page.starts_with(&format!("{BASE}/oidc/sign-in/")), "{page}");
        let shown = self.get(&page).await.expect(200);
        let policy = shown.header("content-security-policy").unwrap();
        assert!(policy.contains("form-action 'self'; "), "there is no client to lead to: {policy}");
        (page, form_token(&shown))
    }
}

api_test!(the_printed_address_signs_in_shows_who_it_is_and_signs_out, |t| async move {
    for address in ["/oidc", "/oidc/"] {
        assert_eq!(t.get(address).send().await.expect(303).header("location"), Some(LOGIN));
    }
    let browser = Browser::new(&t);
    let (page, token) = browser.open_login().await;
    let wrong = browser.submit(&page, &token, OWNER, "Wrong-Horse-7-Battery").await.expect(422);
    assert!(wrong.text().contains("is wrong"));
    let done = browser.submit(&page, &token, OWNER, PASSWORD).await.expect(303);
    assert_eq!(done.header("location"), Some(LOGIN), "no code, no client");
    browser.submit(&page, &token, OWNER, PASSWORD).await.expect(400);

    let shown = browser.get(LOGIN).await.expect(200);
    let me = exchanged_owner(&t, &browser).await;
    for part in
        ["You are signed in", OWNER, me["name"].as_str().unwrap(), me["organization_name"].as_str().unwrap()]
    {
        assert!(shown.text().contains(part), "{part} in {}", shown.text());
    }
    assert!(!shown.text().contains("<script"));
    assert_eq!(shown.header("x-frame-options"), Some("DENY"));
    assert_eq!(shown.header("cache-control"), Some("no-store"));
    assert!(shown.header("content-security-policy").unwrap().contains("form-action 'self'; "));
    let italian = browser.send(t.get(local(LOGIN)).header("accept-language", "it")).await.expect(200);
    assert!(italian.text().contains("Esci") && italian.text().contains("Organizzazione"));

    let out = browser.post(LOGIN, &[("form_token", &form_token(&shown))]).await.expect(200);
    assert!(out.text().contains("You are signed out"));
    assert!(!browser.cookies.borrow().contains_key("bailiwick-login"));
    browser.open_login().await;
});

/// The user object that the service returns for the owner, with the login of this browser.
async fn exchanged_owner(t: &bailiwick_testkit::Test, browser: &Browser<'_>) -> serde_json::Value {
    let sent = browser.get(&authorization(&[("prompt", "none")])).await.expect(303);
    let code = query(sent.header("location").unwrap())["code"].clone();
    let tokens = redeem(t, &code, &[]).await.expect(200).json();
    exchange(t, tokens["access_token"].as_str().unwrap()).await.expect(200).data()["user"].clone()
}

api_test!(signing_out_there_ends_what_the_login_opened, |t| async move {
    let browser = Browser::new(&t);
    let tokens = redeem(&t, &browser.code(&[]).await, &[]).await.expect(200).json();
    let token_named = |name: &str| tokens[name].as_str().unwrap().to_owned();
    let session = exchange(&t, &token_named("access_token")).await.expect(200).data();
    let token = form_token(&browser.get(LOGIN).await.expect(200));
    browser.post(LOGIN, &[("form_token", &token)]).await.expect(200);
    let bearer = session["token"].as_str().unwrap();
    let dead = t.get("/api/me").bearer(bearer).send().await.expect_message(401, "token has been revoked");
    assert_eq!(dead.data()["reason"], "user logout");
    refused(userinfo(&t, &token_named("access_token")).await, 401, "invalid_token");
    refused(refresh(&t, &token_named("refresh_token")).await, 400, "invalid_grant");
});

api_test!(another_site_signs_nobody_out, |t| async move {
    let (browser, other) = (Browser::new(&t), Browser::new(&t));
    browser.code(&[]).await;
    other.code(&[]).await;
    let theirs = form_token(&other.get(LOGIN).await.expect(200));
    let (_, of_a_sign_in) = browser.open_page(&[("prompt", "login")]).await;
    for bad in ["", "x", &theirs, &of_a_sign_in] {
        browser.post(LOGIN, &[("form_token", bad)]).await.expect(400);
    }
    t.post("/oidc/login").body(&b"\xff\xfe\x00"[..]).send().await.expect(400);
    browser.get(LOGIN).await.expect(200);
    let mine = form_token(&browser.get(LOGIN).await.expect(200));
    let done = browser.get(&authorization(&[("prompt", "none")])).await.expect(303);
    assert!(query(done.header("location").unwrap()).contains_key("code"), "still signed in");
    // The token is of this login: a later one of the same browser has another.
    browser.code(&[("prompt", "login")]).await;
    browser.post(LOGIN, &[("form_token", &mine)]).await.expect(400);
});

api_test!(a_generated_password_is_replaced_there_too, |t| async move {
    let tree = t.tree().await;
    let person = t.user(tree.customer, &["reader"]).await;
    set_password(&t, person.id, GIVEN, Some(t.app.platform.now())).await;
    let email = email_of(&t, person.id).await;
    let browser = Browser::new(&t);
    let (page, token) = browser.open_login().await;
    let next = browser.submit(&page, &token, &email, GIVEN).await.expect(303);
    assert_eq!(next.header("location"), Some(page.as_str()));
    browser.get(LOGIN).await.expect(303);
    let token = form_token(&browser.get(&page).await.expect(200));
    let form = [
        ("form_token", token.as_str()),
        ("form", "new_password"),
        ("new_password", CHOSEN),
        ("new_password_again", CHOSEN),
    ];
    let done = browser.post(&page, &form).await.expect(303);
    assert_eq!(done.header("location"), Some(LOGIN));
    assert!(browser.get(LOGIN).await.expect(200).text().contains(&email));
});

api_test!(who_may_not_come_in_is_not_signed_in_there, |t| async move {
    let tree = t.tree().await;
    let person = t.user(tree.customer, &["reader"]).await;
    set_password(&t, person.id, GIVEN, None).await;
    let email = email_of(&t, person.id).await;
    let (browser, script) = (Browser::new(&t), Browser::new(&t));
    let (page, token) = browser.open_login().await;
    browser.submit(&page, &token, &email, GIVEN).await.expect(303);
    script.get(LOGIN).await.expect(303);
    let body = serde_json::json!({"email": email, "password": GIVEN});
    script.send(t.patch("/api/interaction/identifiers").json(body)).await.expect(204);
    let next = script.send(t.post("/api/interaction/submit")).await.expect(200).json();
    t.suspend_organization(tree.customer).await;
    browser.get(LOGIN).await.expect(303);
    script.get(next["redirectTo"].as_str().unwrap()).await.expect(400);
    assert!(!script.cookies.borrow().contains_key("bailiwick-login"));
});

api_test!(guessing_there_is_limited_as_everywhere, |t| async move {
    let browser = Browser::new(&t);
    let (page, token) = browser.open_login().await;
    for _ in 0..10 {
        browser.submit(&page, &token, OWNER, "Wrong-Horse-7-Battery").await.expect(422);
    }
    let reply = browser.submit(&page, &token, OWNER, PASSWORD).await.expect(429);
    assert!(reply.header("retry-after").is_some());
    t.advance(Duration::from_secs(15 * 60));
    browser.submit(&page, &token, OWNER, PASSWORD).await.expect(303);
});

api_test!(opening_it_has_a_rate, |settings| settings.limits.token_request_burst = 2, |t| async move {
    for _ in 0..2 {
        t.get("/oidc/login").send().await.expect(303);
    }
    let reply = t.get("/oidc/login").send().await.expect(429);
    assert!(reply.header("retry-after").is_some() && reply.header("set-cookie").is_none());
    t.get("/oidc/login").from("192.0.2.7").send().await.expect(303);
});
