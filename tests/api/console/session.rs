//! Signing in and out, and what a session survives.

use super::{Browser, ORIGIN, set_cookie};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Engine, Reply, Test, api_test, engine::OWNER_PASSWORD};
use std::time::Duration;

const OWNER: &str = "owner@example.org";
const PASSWORD: &str = OWNER_PASSWORD;
const COOKIE: &str = "bailiwick-console";

/// The cookies of a browser, as text for a request.
#[derive(Default)]
struct Jar(Vec<(String, String)>);

impl Jar {
    fn take(&mut self, reply: &Reply) {
        for line in reply.headers.get_all("set-cookie") {
            let (name, value) = line.to_str().unwrap().split(';').next().unwrap().split_once('=').unwrap();
            self.0.retain(|(stored, _)| stored != name);
            self.0.push((name.to_owned(), value.to_owned()));
        }
    }

    fn text(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    async fn get(&mut self, t: &Test, address: &str) -> Reply {
        let path = address.strip_prefix(ORIGIN).unwrap_or(address);
        let reply = t.get(path).header("cookie", &self.text()).header("host", "127.0.0.1:8080").send().await;
        self.take(&reply);
        reply
    }
}

fn to(reply: &Reply) -> String {
    reply.header("location").unwrap_or_else(|| panic!("{} {}", reply.status, reply.text())).to_owned()
}

/// Walks from a page to the provider and back; the answer that signs the browser in.
async fn sign_in(t: &Test, jar: &mut Jar, page: &str) -> Reply {
    let away = jar.get(t, page).await.expect(303);
    let begun = jar.get(t, &to(&away)).await.expect(302);
    with_password(t, jar, &begun).await
}

/// From the provider's address to its form and back.
async fn with_password(t: &Test, jar: &mut Jar, begun: &Reply) -> Reply {
    let redirect = jar.get(t, &to(begun)).await.expect(303);
    let form = jar.get(t, &to(&redirect)).await.expect(200).text();
    let token =
        form.split("name=\"form_token\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let fields = [("form_token", token.as_str()), ("name", OWNER), ("password", PASSWORD)];
    let path = to(&redirect).replace(ORIGIN, "");
    let sent = t.post(&path).header("cookie", &jar.text()).form(&fields).send().await.expect(303);
    jar.take(&sent);
    jar.get(t, &to(&sent)).await
}

// See spec: authentication#fresh-sign-in.
api_test!(a_sensitive_form_asks_for_another_sign_in_and_leads_back, |t| async move {
    let mut jar = Jar::default();
    sign_in(&t, &mut jar, "/console/account").await.expect(303);
    let consent = async |jar: &Jar| {
        let call = t
            .post("/console/account/impersonation/consent")
            .header("cookie", &jar.text())
            .header("origin", ORIGIN);
        let call = call.header("referer", &format!("{ORIGIN}/console/account/impersonation?x=1"));
        call.form(&[("duration_hours", "1")]).send().await
    };
    t.advance(Duration::from_secs(660));
    let page = consent(&jar).await.expect(401).text();
    let again = page.split("href=\"/console/sign-in?").nth(1).unwrap().split('"').next().unwrap();
    let again = format!("/console/sign-in?{}", again.replace("&amp;", "&").replace("&#x2f;", "/"));
    assert!(
        again.contains("fresh=1") && again.contains("page=%2Fconsole%2Faccount%2Fimpersonation%3Fx%3D1"),
        "{again}"
    );
    let begun = jar.get(&t, &again).await.expect(302);
    assert!(to(&begun).contains("max_age=60"), "{}", to(&begun));
    // The provider knows the browser, and wants the password all the same.
    let back = with_password(&t, &mut jar, &begun).await.expect(303);
    assert_eq!(to(&back), "/console/account/impersonation?x=1");
    consent(&jar).await.expect(303);
    let text = "SELECT COUNT(*) FROM session_chains WHERE revoked_at IS NULL";
    assert_eq!(Q::new(text).count(&t.app.platform.db).await.unwrap(), 1, "the session before has ended");
});

api_test!(a_person_signs_in_sees_the_page_asked_for_and_signs_out, |t| async move {
    let mut jar = Jar::default();
    let back = sign_in(&t, &mut jar, "/console/systems?search=a%20b").await.expect(303);
    assert_eq!(to(&back), "/console/systems?search=a%20b");
    let line = back.headers.get_all("set-cookie").iter().map(|v| v.to_str().unwrap());
    let line = line.filter(|line| line.starts_with("bailiwick-console=")).collect::<Vec<_>>();
    assert_eq!(line.len(), 1);
    assert!(line[0].ends_with("; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax"), "{line:?}");
    assert_eq!(set_cookie(&back, "bailiwick-console-entry").as_deref(), Some(""), "used up");
    // No token in anything that the browser has got.
    assert!(!jar.text().contains("eyJ"), "{}", jar.text());

    let page = jar.get(&t, &to(&back)).await.expect(200);
    assert!(page.text().contains("value=\"a b\""));
    for (name, value) in [
        ("cache-control", "no-store"),
        ("referrer-policy", "same-origin"),
        ("x-frame-options", "DENY"),
        (
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
             connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
    ] {
        assert_eq!(page.header(name), Some(value), "{name}");
    }
    assert!(page.header("api-version").is_none());

    let out = t.post("/console/sign-out").header("cookie", &jar.text()).header("origin", ORIGIN);
    let out = out.send().await.expect(303);
    assert_eq!(to(&out), "/console/signed-out");
    // The cookie is worth nothing, and the provider asks for the password again.
    jar.get(&t, "/console/systems").await.expect(303);
    let begun = jar.get(&t, "/console/sign-in").await.expect(302);
    assert!(to(&jar.get(&t, &to(&begun)).await).contains("/oidc/sign-in/"));
    t.get("/console/signed-out").send().await.expect(200);
});

api_test!(a_cookie_that_was_planted_is_worth_nothing, |t| async move {
    let planted = "A".repeat(43);
    let mut jar = Jar(vec![(COOKIE.to_owned(), planted.clone())]);
    let back = sign_in(&t, &mut jar, "/console/").await.expect(303);
    let fresh = set_cookie(&back, COOKIE).unwrap();
    assert!(fresh != planted && fresh.len() == 43);
    t.get("/console/").header("cookie", &format!("{COOKIE}={planted}")).send().await.expect(303);
});

api_test!(an_answer_counts_only_in_the_browser_that_asked, |t| async move {
    let mut jar = Jar::default();
    let begun = jar.get(&t, "/console/sign-in").await.expect(302);
    let state = to(&begun).split("state=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    assert!(to(&begun).contains("code_challenge_method=S256") && to(&begun).contains("nonce="));
    let answer = format!("/console/signed-in?code=anything&state={state}");
    t.get(&answer).send().await.expect(400);
    let other = format!("/console/signed-in?code=anything&state={}", "x".repeat(43));
    jar.get(&t, &other).await.expect(400);
    // Its entry is used up by then, whatever came of it.
    jar.get(&t, &answer).await.expect(400);
    let mut late = Jar::default();
    let begun = late.get(&t, "/console/sign-in").await.expect(302);
    let state = to(&begun).split("state=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    t.advance(Duration::from_secs(3601));
    late.get(&t, &format!("/console/signed-in?code=anything&state={state}")).await.expect(400);
    let mut refused = Jar::default();
    let begun = refused.get(&t, "/console/sign-in").await.expect(302);
    let state = to(&begun).split("state=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let denied = format!("/console/signed-in?error=access_denied&state={state}");
    assert!(refused.get(&t, &denied).await.expect(403).text().contains("You cannot sign in here"));
});

api_test!(nobody_presents_himself_as_the_console, |t| async move {
    let form = [("grant_type", "authorization_code"), ("client_id", "bailiwick-console"), ("code", "x")];
    let reply = t.post("/oidc/token").form(&form).send().await.expect(401);
    assert_eq!(reply.json()["error"], "invalid_client");
});

api_test!(a_form_from_elsewhere_changes_nothing, |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let browser = Browser::of(&t, &owner).await;
    let path = format!("/console/systems/{}/suspend", system.id);
    for headers in [
        &[][..],
        &[("origin", "null")],
        &[("origin", "http://evil.example")],
        &[("origin", "http://127.0.0.1:8081")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "cross-site")],
        &[("referer", "http://127.0.0.1:8080/console/")],
    ] {
        let mut call = browser.call(axum::http::Method::POST, &path);
        for (name, value) in headers {
            call = call.header(name, value);
        }
        call.form(&[]).send().await.expect(403);
    }
    let reply = t.get(&format!("/api/systems/{}", system.id)).bearer(&owner.token).send().await.expect(200);
    assert!(reply.data()["suspended_at"].is_null());
    browser.get(&path).await.expect(200);
    let reply = t.get(&format!("/api/systems/{}", system.id)).bearer(&owner.token).send().await.expect(200);
    assert!(reply.data()["suspended_at"].is_null(), "a GET changes nothing");
    let own = browser.call(axum::http::Method::POST, &path).header("sec-fetch-site", "same-origin");
    own.form(&[]).send().await.expect(303);
});

api_test!(a_session_lives_as_long_as_it_is_used, |t| async move {
    let mut jar = Jar::default();
    sign_in(&t, &mut jar, "/console/").await.expect(303);
    for _ in 0..3 {
        t.advance(Duration::from_secs(6 * 86_400));
        let page = jar.get(&t, "/console/").await.expect(200);
        assert!(set_cookie(&page, COOKIE).is_some(), "its cookie lives on too");
    }
    let page = jar.get(&t, "/console/").await.expect(200);
    assert!(set_cookie(&page, COOKIE).is_none(), "no turn is due yet");
    t.advance(Duration::from_secs(7 * 86_400 + 1));
    jar.get(&t, "/console/").await.expect(303);
});

api_test!(what_ends_the_person_ends_the_session_at_the_next_click, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.reseller, &["admin"]).await;
    let browser = Browser::of(&t, &user).await;
    browser.get("/console/").await.expect(200);
    t.post("/api/auth/logout").bearer(&user.token).send().await.expect(200);
    browser.get("/console/").await.expect(303);
    let user = t.user(tree.reseller, &["admin"]).await;
    let browser = Browser::of(&t, &user).await;
    t.suspend_user(user.id).await;
    browser.get("/console/systems").await.expect(303);
});

/// The chain is revoked on one process; the next click on another one meets it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_session_is_over_on_every_process() {
    let t = Test::start(Engine::Postgres, |_| {}).await;
    let replica = t.replica().await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let there = Browser { t: &replica, cookie: browser.cookie.clone(), note: Default::default() };
    there.get("/console/").await.expect(200);
    browser.post("/console/sign-out", &[]).await.expect(303);
    let reply = there.get("/console/systems").await.expect(303);
    assert_eq!(to(&reply), "/console/sign-in?page=%2Fconsole%2Fsystems");
}

api_test!(
    the_cookie_is_for_this_host_alone_over_https,
    |s| s.public_url = "https://my.example.org".to_owned(),
    |t| async move {
        let begun = t.get("/console/sign-in").send().await.expect(302);
        let line = begun.header("set-cookie").unwrap();
        assert!(line.starts_with("__Host-bailiwick-console-entry=") && line.ends_with("; Secure"), "{line}");
        assert!(to(&begun).contains("redirect_uri=https%3A%2F%2Fmy.example.org%2Fconsole%2Fsigned-in"));
    }
);

api_test!(the_root_leads_to_the_console, |t| async move {
    let reply = t.get("/").send().await.expect(302);
    assert_eq!(to(&reply), "/console/");
    assert_eq!(to(&t.get("/console").send().await.expect(303)), "/console/sign-in");
    assert_eq!(to(&t.get("/console/").send().await.expect(303)), "/console/sign-in");
    let page = t.get("/console/signed-out").send().await.expect(200).text();
    let style = page.split("rel=\"stylesheet\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let file = t.get(style).send().await.expect(200);
    assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"));
    t.get("/console/assets/console.css").send().await.expect(404);
});

api_test!(a_console_that_is_switched_off_is_not_there, |s| s.console.enabled = false, |t| async move {
    t.get("/").send().await.expect(404);
    t.get("/console/").send().await.expect(404);
});

api_test!(theme_and_language_are_kept_and_lead_back, |t| async move {
    let call = t.post("/console/preferences").header("origin", ORIGIN);
    let call = call.header("referer", &format!("{ORIGIN}/console/systems?page=2"));
    let reply = call.form(&[("theme", "dark"), ("language", "it")]).send().await.expect(303);
    assert_eq!(to(&reply), "/console/systems?page=2");
    let cookies = format!(
        "bailiwick-theme={}; bailiwick-language={}",
        set_cookie(&reply, "bailiwick-theme").unwrap(),
        set_cookie(&reply, "bailiwick-language").unwrap()
    );
    let page = t.get("/console/signed-out").header("cookie", &cookies).send().await.expect(200).text();
    assert!(page.contains("lang=\"it\" data-theme=\"dark\"") && page.contains("Sei uscito"), "{page}");
    let call =
        t.post("/console/preferences").header("origin", ORIGIN).header("referer", "http://evil.example/x");
    assert_eq!(to(&call.form(&[("theme", "light")]).send().await.expect(303)), "/console/");
});
