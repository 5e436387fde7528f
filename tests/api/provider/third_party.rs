//! Signing in to applications of third parties: the users who may, the data that the applications get, and the end of
//! access (spec: openid-provider#endpoints step 2, openid-provider#third-party-applications; guarantees#identity rules
//! 7 and 42).

use super::client::*;
use bailiwick_settings::{AccessControl, Application, Client, Settings};
use bailiwick_testkit::{Persona, Reply, Test, api_test};
use serde_json::json;

const WIKI_CALLBACK: &str = "https://wiki.example.org/cb";
const PUBLIC_PASSWORD: &str = "Wandering-Otter-7-Lamp";

fn wiki(settings: &mut Settings) {
    let control =
        AccessControl { user_role_ids: vec!["admin".into(), "super".into()], ..AccessControl::default() };
    settings.provider.clients = vec![Client {
        id: "wiki".into(),
        secret_sha256: None,
        redirect_uris: vec![WIKI_CALLBACK.into()],
        post_logout_redirect_uris: vec![],
        first_party: false,
        application: Application {
            display_name: Some("The <Wiki>".into()),
            login_url: Some("https://wiki.example.org/".into()),
            access_control: Some(control),
            ..Application::default()
        },
    }];
}

/// The parameters of the wiki, `changes` in the place of its usual ones.
fn asking<'a>(changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut all = vec![("client_id", "wiki"), ("redirect_uri", WIKI_CALLBACK), ("prompt", "")];
    all.push(("scope", "openid profile offline_access"));
    all.extend(changes);
    all
}

async fn ask<'a>(browser: &Browser<'_>, changes: &[(&'a str, &'a str)]) -> Reply {
    browser.get(&authorization(&asking(changes))).await
}

/// Where the browser is sent.
#[track_caller]
fn next(reply: Reply) -> String {
    reply.expect(303).header("location").unwrap().to_owned()
}

#[track_caller]
fn is_question(address: &str) {
    assert!(address.starts_with(&format!("{BASE}/oidc/consent/")), "{address}");
}

/// The error a client is sent back with.
#[track_caller]
fn error_of(address: &str) -> String {
    assert!(address.starts_with(WIKI_CALLBACK), "{address}");
    let query = query(address);
    assert_eq!((&*query["state"], &*query["iss"]), ("a state/+=", &*format!("{BASE}/oidc")));
    assert!(!query.contains_key("code"), "{address}");
    query["error"].clone()
}

/// Presses a button of the page.
async fn press(browser: &Browser<'_>, page: &str, answer: &str) -> Reply {
    let token = form_token(&browser.get(page).await.expect(200));
    browser.post(page, &[("form_token", &token), ("answer", answer)]).await
}

/// Signs in and allows the request; returns the code.
async fn allowed(browser: &Browser<'_>, who: &str, password: &str) -> String {
    let question = browser.sign_in(who, password, &asking(&[])).await;
    is_question(&question);
    query(&next(press(browser, &question, "allow").await))["code"].clone()
}

async fn redeem_at_wiki(t: &Test, code: &str) -> Reply {
    redeem(t, code, &[("client_id", "wiki"), ("redirect_uri", WIKI_CALLBACK)]).await
}

async fn refresh_at_wiki(t: &Test, token: &str) -> Reply {
    let form = [("grant_type", "refresh_token"), ("client_id", "wiki"), ("refresh_token", token)];
    t.post("/oidc/token").form(&form).send().await
}

/// A user with a password of their own, and the user's address.
async fn person(t: &Test, roles: &[&str]) -> (Persona, String) {
    let tree = t.tree().await;
    let who = t.user(tree.reseller, roles).await;
    set_password(t, who.id, PUBLIC_PASSWORD, None).await;
    let email = email_of(t, who.id).await;
    (who, email)
}

api_test!(consent_is_requested_once_per_client_and_scopes, |settings| wiki(settings), |t| async move {
    let browser = Browser::new(&t);
    let question = browser.sign_in(OWNER, PASSWORD, &asking(&[])).await;
    is_question(&question);
    let page = browser.get(&question).await.expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action 'self' https://wiki.example.org;"), "{policy}");
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    let text = page.text();
    for part in ["The &lt;Wiki&gt;", "wiki.example.org", OWNER, "see your name", "while you are away"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("see your e-mail address") && !text.contains("<Wiki>"), "{text}");

    let back = next(press(&browser, &question, "allow").await);
    assert!(back.starts_with(WIKI_CALLBACK), "{back}");
    let tokens = redeem_at_wiki(&t, &query(&back)["code"]).await.expect(200).json();
    assert_eq!(tokens["scope"], "openid offline_access profile");
    userinfo(&t, tokens["access_token"].as_str().unwrap()).await.expect(200);

    // Consent exists: no page for any subset of the scopes.
    for scope in ["openid profile offline_access", "openid"] {
        assert!(query(&next(ask(&browser, &[("scope", scope)]).await)).contains_key("code"), "{scope}");
        let silent = next(ask(&browser, &[("scope", scope), ("prompt", "none")]).await);
        assert!(query(&silent).contains_key("code"), "{scope}");
    }
    // More than that, or the client's wish: asked again.
    let more = ("scope", "openid profile email");
    is_question(&next(ask(&browser, &[more]).await));
    assert_eq!(error_of(&next(ask(&browser, &[more, ("prompt", "none")]).await)), "consent_required");
    is_question(&next(ask(&browser, &[("prompt", "consent")]).await));
    let question = next(ask(&browser, &[more]).await);
    next(press(&browser, &question, "allow").await);
    let all = ("scope", "openid profile email offline_access");
    assert!(query(&next(ask(&browser, &[all]).await)).contains_key("code"), "what was allowed adds up");
    // The consent concerns no other user, and the service's own client asks for none.
    let (_, other) = person(&t, &["admin"]).await;
    is_question(&Browser::new(&t).sign_in(&other, PUBLIC_PASSWORD, &asking(&[])).await);
    assert!(query(&next(browser.get(&authorization(&[])).await)).contains_key("code"));
});

api_test!(a_no_leaves_nothing_behind, |settings| wiki(settings), |t| async move {
    let browser = Browser::new(&t);
    let question = browser.sign_in(OWNER, PASSWORD, &asking(&[])).await;
    assert_eq!(error_of(&next(press(&browser, &question, "decline").await)), "access_denied");
    browser.get(&question).await.expect(400);
    is_question(&next(ask(&browser, &[]).await));
    let question = next(ask(&browser, &[]).await);
    assert_eq!(error_of(&next(press(&browser, &question, "anything else").await)), "access_denied");
    assert_eq!(error_of(&next(ask(&browser, &[("prompt", "none")]).await)), "consent_required");
});

api_test!(a_question_is_answered_by_whom_it_asks_once, |settings| wiki(settings), |t| async move {
    let browser = Browser::new(&t);
    let question = browser.sign_in(OWNER, PASSWORD, &asking(&[])).await;
    let token = form_token(&browser.get(&question).await.expect(200));
    // Without the login, with another user's login, without the form's proof.
    Browser::new(&t).get(&question).await.expect(400);
    let form = [("form_token", token.as_str()), ("answer", "allow")];
    Browser::new(&t).post(&question, &form).await.expect(400);
    browser.post(&question, &[("form_token", "AAAA"), ("answer", "allow")]).await.expect(400);
    browser.post(&question, &[("answer", "allow")]).await.expect(400);
    let login = browser.cookies.borrow_mut().remove("bailiwick-login").unwrap();
    browser.get(&question).await.expect(400);
    browser.post(&question, &form).await.expect(400);
    // The address of the waiting request leads a script on, but not past the question.
    let id = question.rsplit('/').next().unwrap().to_owned();
    let resumed = next(browser.get(&format!("/oidc/auth/{id}")).await);
    assert!(resumed.contains("/oidc/sign-in/"), "{resumed}");
    browser.cookies.borrow_mut().insert("bailiwick-login".into(), login);
    assert_eq!(next(browser.get(&format!("/oidc/auth/{id}")).await), question);
    next(browser.post(&question, &form).await);
    browser.post(&question, &form).await.expect(400);

    // A question dies with the login it was asked of.
    let question = next(ask(&browser, &[("prompt", "consent")]).await);
    let token = form_token(&browser.get(&question).await.expect(200));
    browser.get("/oidc/session/end").await.expect(200);
    browser.post(&question, &[("form_token", &token), ("answer", "allow")]).await.expect(400);
});

// Proves spec: authorization#guarantees 32.
api_test!(access_control_decides_who_signs_in, |settings| wiki(settings), |t| async move {
    let (_, reader) = person(&t, &["reader"]).await;
    let browser = Browser::new(&t);
    let back = browser.sign_in(&reader, PUBLIC_PASSWORD, &asking(&[])).await;
    assert_eq!(error_of(&back), "access_denied");
    for prompt in ["", "none", "consent"] {
        assert_eq!(error_of(&next(ask(&browser, &[("prompt", prompt)]).await)), "access_denied");
    }
    assert!(query(&next(browser.get(&authorization(&[])).await)).contains_key("code"));
});

api_test!(
    // Proves spec: guarantees#identity 42.
    a_refresh_fails_as_soon_as_access_control_no_longer_matches,
    |settings| wiki(settings),
    |t| async move {
        let (who, email) = person(&t, &["admin"]).await;
        let browser = Browser::new(&t);
        let code = allowed(&browser, &email, PUBLIC_PASSWORD).await;
        let tokens = redeem_at_wiki(&t, &code).await.expect(200).json();
        let token = tokens["refresh_token"].as_str().unwrap().to_owned();
        let tokens = refresh_at_wiki(&t, &token).await.expect(200).json();
        let token = tokens["refresh_token"].as_str().unwrap();
        let unused = query(&next(ask(&browser, &[]).await))["code"].clone();
        let owner = t.owner().await;
        let roles = async |role: &str| {
            let path = format!("/api/users/{}", who.id);
            let call = t.put(&path).bearer(&owner.token).json(json!({"user_role_ids": [role]}));
            call.send().await.expect(200);
        };
        roles("reader").await;
        refused(refresh_at_wiki(&t, token).await, 400, "invalid_grant");
        refused(redeem_at_wiki(&t, &unused).await, 400, "invalid_grant");
        let access = tokens["access_token"].as_str().unwrap();
        t.get("/api/user/profile").bearer(access).send().await.expect(401);
        assert_eq!(error_of(&next(ask(&browser, &[]).await)), "access_denied");
        roles("admin").await;
        refresh_at_wiki(&t, token).await.expect(200);
    }
);

// Proves spec: guarantees#identity 7.
api_test!(its_tokens_open_no_session_here, |settings| wiki(settings), |t| async move {
    let code = allowed(&Browser::new(&t), OWNER, PASSWORD).await;
    let tokens = redeem_at_wiki(&t, &code).await.expect(200).json();
    let token = tokens["access_token"].as_str().unwrap();
    exchange(&t, token).await.expect_message(401, "invalid access token");
    t.get("/api/me").bearer(token).send().await.expect(401);
    let profile = t.get("/api/user/profile").bearer(token).send().await.expect(200);
    assert_eq!(profile.data()["email"], OWNER);
    // A code of one client is nothing in the hands of another.
    let code = query(&Browser::new(&t).sign_in(OWNER, PASSWORD, &asking(&[])).await)["code"].clone();
    refused(redeem(&t, &code, &[("redirect_uri", WIKI_CALLBACK)]).await, 400, "invalid_grant");
});

api_test!(what_was_allowed_can_be_taken_back, |settings| wiki(settings), |t| async move {
    let browser = Browser::new(&t);
    let tokens = redeem_at_wiki(&t, &allowed(&browser, OWNER, PASSWORD).await).await.expect(200).json();
    let own = redeem(&t, &query(&next(browser.get(&authorization(&[])).await))["code"], &[]).await.json();
    let page = browser.get("/oidc/login").await.expect(200);
    assert!(page.text().contains("The &lt;Wiki&gt;"), "{}", page.text());
    let token = form_token(&page);
    browser.post("/oidc/consent", &[("form_token", "AAAA"), ("client_id", "wiki")]).await.expect(400);
    for id in ["unknown", "", "wiki"] {
        let done = browser.post("/oidc/consent", &[("form_token", &token), ("client_id", id)]).await;
        assert_eq!(next(done), format!("{BASE}/oidc/login"));
    }
    assert!(!browser.get("/oidc/login").await.expect(200).text().contains("Wiki"));
    refused(refresh_at_wiki(&t, tokens["refresh_token"].as_str().unwrap()).await, 400, "invalid_grant");
    userinfo(&t, tokens["access_token"].as_str().unwrap()).await.expect(401);
    refresh(&t, own["refresh_token"].as_str().unwrap()).await.expect(200);
    is_question(&next(ask(&browser, &[]).await));
});

api_test!(a_script_allows_by_a_call, |settings| wiki(settings), |t| async move {
    let script = Browser::new(&t);
    ask(&script, &[]).await.expect(303);
    let body = json!({"email": OWNER, "password": PASSWORD});
    script.send(t.patch("/api/interaction/identifiers").json(body)).await.expect(204);
    let to = |reply: Reply| reply.expect(200).json()["redirectTo"].as_str().unwrap().to_owned();
    let address = to(script.send(t.post("/api/interaction/submit")).await);
    is_question(&next(script.get(&address).await));
    let address = to(script.send(t.post("/api/interaction/consent")).await);
    assert!(address.starts_with(&format!("{BASE}/oidc/auth/")), "{address}");
    Browser::new(&t).get(&address).await.expect(400);
    let back = next(script.get(&address).await);
    redeem_at_wiki(&t, &query(&back)["code"]).await.expect(200);
    script.get(&address).await.expect(400);
});

api_test!(a_page_cannot_answer_in_somebodys_name, |settings| wiki(settings), |t| async move {
    let browser = Browser::new(&t);
    is_question(&browser.sign_in(OWNER, PASSWORD, &asking(&[])).await);
    // Headers that a browser adds to a request by a page of a sister site, or by one of its own.
    for (name, value) in [
        ("origin", "https://wiki.example.org"),
        ("origin", "null"),
        ("origin", BASE),
        ("sec-fetch-site", "same-site"),
        ("sec-fetch-site", "cross-site"),
    ] {
        for call in [
            t.post("/api/interaction/consent"),
            t.post("/api/interaction/submit"),
            t.put("/api/interaction").json(json!({"event": "SignIn"})),
        ] {
            let reply = browser.send(call.header(name, value)).await.expect(403);
            assert_eq!(reply.json()["code"], "session.not_supported", "{name}: {value}");
        }
    }
    is_question(&next(ask(&browser, &[]).await));
});

api_test!(what_is_taken_back_is_not_given_by_an_older_answer, |settings| wiki(settings), |t| async move {
    let browser = Browser::new(&t);
    is_question(&browser.sign_in(OWNER, PASSWORD, &asking(&[("prompt", "consent")])).await);
    let reply = browser.send(t.post("/api/interaction/consent")).await.expect(200).json();
    let address = reply["redirectTo"].as_str().unwrap().to_owned();
    let token = form_token(&browser.get("/oidc/login").await.expect(200));
    next(browser.post("/oidc/consent", &[("form_token", &token), ("client_id", "wiki")]).await);
    is_question(&next(browser.get(&address).await));
});

api_test!(
    a_script_that_signs_in_as_another_gets_nothing_of_the_first,
    |settings| wiki(settings),
    |t| async move {
        let (_, other) = person(&t, &["admin"]).await;
        let script = Browser::new(&t);
        is_question(&script.sign_in(OWNER, PASSWORD, &asking(&[])).await);
        script.send(t.put("/api/interaction").json(json!({"event": "SignIn"}))).await.expect(204);
        let body = json!({"email": other, "password": PUBLIC_PASSWORD});
        script.send(t.patch("/api/interaction/identifiers").json(body)).await.expect(204);
        let to = |reply: Reply| reply.expect(200).json()["redirectTo"].as_str().unwrap().to_owned();
        let address = to(script.send(t.post("/api/interaction/submit")).await);
        let question = next(script.get(&address).await);
        is_question(&question);
        assert!(script.get(&question).await.expect(200).text().contains(&other), "another person is asked");
        let back = next(press(&script, &question, "allow").await);
        let tokens = redeem_at_wiki(&t, &query(&back)["code"]).await.expect(200).json();
        let profile =
            t.get("/api/user/profile").bearer(tokens["access_token"].as_str().unwrap()).send().await;
        assert_eq!(profile.expect(200).data()["email"], other);
    }
);

api_test!(a_code_used_twice_ends_the_applications_tokens_only, |settings| wiki(settings), |t| async move {
    let browser = Browser::new(&t);
    let code = allowed(&browser, OWNER, PASSWORD).await;
    let tokens = redeem_at_wiki(&t, &code).await.expect(200).json();
    let own = redeem(&t, &query(&next(browser.get(&authorization(&[])).await))["code"], &[]).await.json();
    let session = exchange(&t, own["access_token"].as_str().unwrap()).await.expect(200).data();
    refused(redeem_at_wiki(&t, &code).await, 400, "invalid_grant");
    refused(refresh_at_wiki(&t, tokens["refresh_token"].as_str().unwrap()).await, 400, "invalid_grant");
    t.get("/api/me").bearer(session["token"].as_str().unwrap()).send().await.expect(200);
});
