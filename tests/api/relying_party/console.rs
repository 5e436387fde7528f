//! The console at a real provider: the code is exchanged on the server, the ID token identifies the user.

use super::*;

/// The value of a cookie that an answer sets.
fn set_cookie(reply: &Reply, name: &str) -> Option<String> {
    let lines = reply.headers.get_all("set-cookie").iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.filter_map(|line| line.split(';').next()?.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

/// What the console needs there.
fn with_client(engine: Engine, url: &str, secret: &str) -> impl Future<Output = Test> {
    let mut settings = settings(url, |_| {});
    settings.console.client_id = Some("console".to_owned());
    settings.console.client_secret = Some(Secret::new(secret.to_owned()));
    service(engine, settings)
}

/// The provider signs this person in and sends the browser back here.
async fn through(address: &str, person: &str) -> String {
    let browser = reqwest::Client::builder()
        .cookie_store(true)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let mut page = url::Url::parse(address).unwrap();
    page.query_pairs_mut().append_pair("login_hint", person);
    loop {
        let answer = browser.get(page.clone()).send().await.unwrap();
        let next = answer.headers().get("location").map(|to| to.to_str().unwrap().to_owned());
        let Some(next) = next else { panic!("{}", answer.text().await.unwrap()) };
        page = page.join(&next).unwrap();
        if page.path() == "/console/signed-in" {
            return format!("{}?{}", page.path(), page.query().unwrap());
        }
    }
}

/// Signs a user in; returns the answer of the console to the browser that comes back.
async fn sign_in(t: &Test, person: &str) -> Reply {
    let begun = t.get("/console/sign-in?page=/console/systems").send().await.expect(302);
    let entry = set_cookie(&begun, "bailiwick-console-entry").unwrap();
    let back = through(begun.header("location").unwrap(), person).await;
    t.get(&back).header("cookie", &format!("bailiwick-console-entry={entry}")).send().await
}

async fn opens(engine: Engine) {
    let p = shared().await.unwrap_or_else(|e| panic!("{e}"));
    let t = with_client(engine, &p.url(), "the secret of the console").await;
    let back = sign_in(&t, OWNER).await.expect(303);
    assert_eq!(back.header("location"), Some("/console/systems"));
    let cookie = format!("bailiwick-console={}", set_cookie(&back, "bailiwick-console").unwrap());
    let page = t.get("/console/").header("cookie", &cookie).send().await.expect(200);
    assert!(
        page.header("content-security-policy").unwrap().contains(&format!("form-action 'self' {};", p.url()))
    );
    let out = t.post("/console/sign-out").header("cookie", &cookie).header("origin", "http://127.0.0.1:8080");
    let out = out.send().await.expect(303);
    let to = out.header("location").unwrap();
    assert!(to.starts_with(&p.url()) && to.contains("post_logout_redirect_uri="), "{to}");
    t.get("/console/").header("cookie", &cookie).send().await.expect(303);
    // An unknown user, and one whose address is not verified.
    for stranger in ["s~stranger@example.org~true", "u~owner@example.org~false"] {
        assert!(
            sign_in(&t, stranger).await.expect(403).text().contains("You cannot sign in here"),
            "{stranger}"
        );
    }
}
on_both!(the_console_signs_people_in, opens);

async fn has_no_client(engine: Engine) {
    let p = shared().await.unwrap_or_else(|e| panic!("{e}"));
    let t = service(engine, settings(&p.url(), |_| {})).await;
    let page = t.get("/console/sign-in").send().await.expect(200).text();
    assert!(page.contains("console.client_id"), "{page}");
}
on_both!(without_a_client_the_console_shows_an_error, has_no_client);
