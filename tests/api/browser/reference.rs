//! The API reference at `/docs` and the guide at `/docs/guide`: nothing is loaded from elsewhere, operations can be
//! tried after a sign-in at the provider, and axe-core finds nothing, on screens of three widths, light and dark.

use crate::{Kind, Stage, console::check_page, stage};
use bailiwick_testkit::engine::OWNER_PASSWORD;
use fantoccini::{Locator, elements::Element, key::Key};
use serde_json::{Value, json};
use std::time::Duration;

/// From now on the page counts what its policy forbids, and what it has forbidden so far.
const WATCH: &str = "
    window.forbidden = [];
    const watch = reports => window.forbidden.push(...reports.map(r => r.body.blockedURL + ' ' + r.body.effectiveDirective));
    new ReportingObserver(watch, {types: ['csp-violation'], buffered: true}).observe();
    document.addEventListener('securitypolicyviolation', e => window.forbidden.push(e.blockedURI));";

/// The element, as soon as it is there.
async fn wait_for(stage: &Stage, css: &str) -> Element {
    let wait = stage.browser.wait().at_most(Duration::from_secs(60));
    wait.for_element(Locator::Css(css)).await.unwrap_or_else(|e| panic!("{css}: {e}"))
}

async fn click(stage: &Stage, css: &str) {
    wait_for(stage, css).await.click().await.unwrap_or_else(|e| panic!("{css}: {e}"));
}

async fn go(stage: &Stage, path: &str) {
    stage.browser.goto(&format!("{}{path}", stage.service.url)).await.unwrap();
}

async fn run(stage: &Stage, script: &str) -> Value {
    stage.browser.execute(script, vec![]).await.unwrap()
}

/// Waits until the condition holds on the page; while a page loads it does not.
async fn until(stage: &Stage, what: &str) -> Value {
    for _ in 0..1200 {
        let value = stage.browser.execute(&format!("return {what}"), vec![]).await.unwrap_or(Value::Null);
        if value != Value::Null && value != json!(false) {
            return value;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {what}: {}", run(stage, "return location.href + document.body.innerText").await);
}

/// Sends the request that the page shows; status and body of the answer.
async fn send(stage: &Stage) -> (String, String) {
    until(stage, "!document.getElementById('send').disabled").await;
    run(stage, "document.getElementById('answer-state').textContent = ''").await;
    click(stage, "#send").await;
    let answered = "/^\\d/.test(document.getElementById('answer-state').textContent) \
                && !document.getElementById('send').disabled";
    until(stage, answered).await;
    let text = |id: &str| format!("return document.getElementById('{id}').textContent");
    let state = run(stage, &text("answer-state")).await;
    let body = run(stage, &text("answer-body")).await;
    (state.as_str().unwrap()[..3].to_owned(), body.as_str().unwrap().to_owned())
}

async fn try_out(stage: &Stage, operation: &str) -> (String, String) {
    go(stage, &format!("/docs/operations/{operation}")).await;
    send(stage).await
}

/// Begins a sign-in from the page that is shown, and completes it at the provider.
async fn sign_in(stage: &Stage) {
    click(stage, "#credentials-open").await;
    click(stage, "#sign-in").await;
    wait_for(stage, "#password").await;
    stage.type_into("name", "owner@example.org").await;
    stage.type_into("password", OWNER_PASSWORD).await;
    stage.press().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_signs_in_from_the_reference_and_tries_operations() {
    let stage = stage(Kind::default()).await;
    // Without a credential there is nothing to see.
    let (status, _) = try_out(&stage, "getMe").await;
    assert_eq!(status, "401");
    run(&stage, WATCH).await;
    assert_eq!(run(&stage, "return window.forbidden").await, json!([]));

    sign_in(&stage).await;
    // Back on the page, as the owner.
    until(&stage, "location.pathname === '/docs/operations/getMe'").await;
    until(&stage, "document.getElementById('credentials-open')?.textContent === 'owner@example.org'").await;
    let (status, body) = send(&stage).await;
    assert!(status == "200" && body.contains("owner@example.org"), "{status} {body}");
    stage.picture("reference-me").await;
    // The example of the reference is a request that works.
    let (status, body) = try_out(&stage, "createDistributor").await;
    assert!(status == "201" && body.contains("Alfa Distribution"), "{status} {body}");
    let (status, body) = try_out(&stage, "listOrganizations").await;
    assert!(status == "200" && body.contains("Alfa Distribution"), "{status} {body}");
    let command = run(&stage, "return document.getElementById('answer-command').textContent").await;
    let command = command.as_str().unwrap();
    assert!(
        command.starts_with("curl -X GET ") && command.ends_with("-H 'authorization: Bearer …'"),
        "{command}"
    );

    // Signing out ends the session. The token is forgotten, and can be pasted instead.
    let token = run(&stage, "return JSON.parse(sessionStorage.getItem('bailiwick-reference')).token").await;
    click(&stage, "#credentials-open").await;
    click(&stage, "#sign-out").await;
    assert_eq!(run(&stage, "return sessionStorage.length").await, json!(0));
    let own_user = || stage.test.get("/api/me").bearer(token.as_str().unwrap()).send();
    let mut tries = 0..1200;
    while own_user().await.status != 401 {
        tries.next().expect("signing out ends the session within a minute");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let owner = stage.test.owner().await;
    wait_for(&stage, "#token").await.send_keys(&owner.token).await.unwrap();
    click(&stage, "#credentials-form .main").await;
    let (status, body) = try_out(&stage, "getMe").await;
    assert!(status == "200" && body.contains("owner@example.org"), "{status} {body}");

    let script = "return performance.getEntriesByType('resource').map(entry => entry.name)";
    let fetched = run(&stage, script).await;
    let is_own = |name: &Value| name.as_str().unwrap().starts_with(&stage.service.url);
    assert!(fetched.as_array().unwrap().iter().all(is_own), "{fetched}");
    assert!(stage.site.requests().is_empty());
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_system_tries_its_operations_with_its_key() {
    let stage = stage(Kind::default()).await;
    let tree = stage.test.tree().await;
    let system = stage.test.system(tree.customer).await;
    go(&stage, "/docs/operations/sendHeartbeat").await;
    click(&stage, "#credentials-open").await;
    stage.type_into("basic-name", &system.key).await;
    stage.type_into("basic-secret", &system.secret).await;
    click(&stage, "#credentials-form .main").await;
    let (status, body) = send(&stage).await;
    assert_eq!(status, "200", "{body}");
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_sign_in_is_explained_in_plain_words() {
    let stage = stage(Kind::default()).await;
    let shows = async |wanted: &str| {
        let what =
            format!("document.getElementById('sign-in-state')?.textContent.includes({})", json!(wanted));
        until(&stage, &what).await;
        assert_eq!(run(&stage, "return location.search").await, json!(""));
    };
    go(&stage, "/docs/signed-in").await;
    shows("was not begun in this tab").await;
    go(&stage, "/docs/signed-in?code=stolen&state=other").await;
    shows("was not begun in this tab").await;
    let entry = "sessionStorage.setItem('bailiwick-reference-entry', JSON.stringify(\
                 {state: 'own', verifier: 'v', redirect: 'r', page: location.href}))";
    run(&stage, entry).await;
    go(&stage, "/docs/signed-in?code=stolen&state=other").await;
    shows("was not begun in this tab").await;
    for (answer, wanted) in [
        ("error=access_denied", "refused or cancelled"),
        ("error=server_error&error_description=%3Cb%3Ebroken", "The provider refuses: <b>broken."),
        ("code=stolen", "The provider refuses: "),
    ] {
        run(&stage, entry).await;
        go(&stage, &format!("/docs/signed-in?state=own&{answer}")).await;
        shows(wanted).await;
    }
    check_page(&stage, "reference-refused").await;
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reference_and_the_guide_are_used_by_keys() {
    let stage = stage(Kind::default()).await;
    go(&stage, "/docs").await;
    until(&stage, "!document.getElementById('credentials-open').hidden").await;
    // The list follows what is typed.
    let body = wait_for(&stage, "body").await;
    body.send_keys("/").await.unwrap();
    until(&stage, "document.activeElement.name === 'q'").await;
    wait_for(&stage, "#find input").await.send_keys("manage:systems secret").await.unwrap();
    let first = "document.querySelector('#found > .operations a')";
    until(&stage, &format!("{first}?.pathname.endsWith('/regenerateSystemSecret')")).await;
    assert!(stage.browser.current_url().await.unwrap().query().unwrap().starts_with("q=manage"));
    let enter = String::from(char::from(Key::Enter));
    run(&stage, &format!("{first}.focus()")).await;
    stage.browser.active_element().await.unwrap().send_keys(&enter).await.unwrap();
    until(&stage, "location.pathname.endsWith('/regenerateSystemSecret')").await;
    // The dialog opens and closes by keys, and gives the focus back.
    until(&stage, "!document.getElementById('credentials-open').hidden").await;
    run(&stage, "document.getElementById('credentials-open').focus()").await;
    stage.browser.active_element().await.unwrap().send_keys(&enter).await.unwrap();
    until(&stage, "document.getElementById('credentials').open").await;
    let escape = String::from(char::from(Key::Escape));
    stage.browser.active_element().await.unwrap().send_keys(&escape).await.unwrap();
    until(&stage, "!document.getElementById('credentials').open").await;
    until(&stage, "document.activeElement.id === 'credentials-open'").await;
    // The guide is searched without a script.
    go(&stage, "/docs/guide").await;
    wait_for(&stage, ".bar input[name=q]").await.send_keys(&format!("fresh sign{enter}")).await.unwrap();
    until(&stage, "location.pathname === '/docs/guide/search' && document.querySelector('mark') !== null")
        .await;
    stage.browser.clone().close().await.unwrap();
}

/// Looks at every kind of page.
async fn walk(kind: Kind, name: &str) {
    let stage = stage(kind).await;
    for (path, picture) in [
        ("/docs/guide", "guide"),
        ("/docs/guide/tree", "guide-tables"),
        ("/docs/guide/tools", "guide-code"),
        ("/docs/guide/console", "guide-pictures"),
        ("/docs/guide/specification/openid-provider", "guide-specification"),
        ("/docs/guide/search?q=backup", "guide-search"),
        ("/docs/guide/none", "guide-missing"),
    ] {
        go(&stage, path).await;
        check_page(&stage, &format!("{picture}-{name}")).await;
    }
    for (path, picture) in [
        ("/docs", "reference"),
        ("/docs?q=silence", "reference-found"),
        ("/docs/operations/createSystem", "reference-operation"),
        ("/docs/operations/listSystems", "reference-list"),
        ("/docs/operations/validateUsersImport", "reference-file"),
    ] {
        go(&stage, path).await;
        until(&stage, "!document.getElementById('credentials-open').hidden").await;
        check_page(&stage, &format!("{picture}-{name}")).await;
    }
    run(&stage, "document.querySelectorAll('details').forEach(details => { details.open = true; })").await;
    check_page(&stage, &format!("reference-unfolded-{name}")).await;
    send(&stage).await;
    check_page(&stage, &format!("reference-answer-{name}")).await;
    click(&stage, "#credentials-open").await;
    check_page(&stage, &format!("reference-authorize-{name}")).await;
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_and_the_reference_on_a_desk() {
    walk(Kind::default(), "1280-light").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_and_the_reference_on_a_dark_desk() {
    walk(Kind { is_dark: true, ..Kind::default() }, "1280-dark").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_and_the_reference_on_a_tablet_in_the_dark() {
    walk(Kind { is_dark: true, width: Some(768), ..Kind::default() }, "768-dark").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_and_the_reference_on_a_phone() {
    walk(Kind { width: Some(360), ..Kind::default() }, "360-light").await;
}
