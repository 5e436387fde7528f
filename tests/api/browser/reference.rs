//! The API reference at `/docs`: it is shown whole, asks only its own service, and its operations can be tried.

use crate::{Kind, Stage};
use bailiwick_testkit::{
    Engine, Test,
    parts::recorder::{Answer, Recorder},
};
use fantoccini::{Locator, elements::Element};
use serde_json::{Value, json};
use std::time::Duration;

/// From now on the page counts what its policy forbids, and what it has forbidden so far.
const WATCH: &str = "
    window.forbidden = [];
    const watch = reports => window.forbidden.push(...reports.map(r => r.body.blockedURL + ' ' + r.body.effectiveDirective));
    new ReportingObserver(watch, {types: ['csp-violation'], buffered: true}).observe();
    document.addEventListener('securitypolicyviolation', e => window.forbidden.push(e.blockedURI));";

/// The element, as soon as it is there.
async fn found(stage: &Stage, css: &str) -> Element {
    let wait = stage.browser.wait().at_most(Duration::from_secs(60));
    wait.for_element(Locator::Css(css)).await.unwrap_or_else(|e| panic!("{css}: {e}"))
}

/// Clicks the element once it is there and nothing covers it.
async fn click(stage: &Stage, css: &str) {
    let script = "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})";
    let mut failure = None;
    for _ in 0..1200 {
        let element = found(stage, css).await;
        let scrolled = stage.browser.execute(script, vec![serde_json::to_value(&element).unwrap()]).await;
        match scrolled.and(element.click().await) {
            Ok(()) => return,
            Err(e) => failure = Some(e),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{css}: {failure:?}");
}

async fn run(stage: &Stage, script: &str) -> Value {
    stage.browser.execute(script, vec![]).await.unwrap()
}

/// Waits until the page says so.
async fn until(stage: &Stage, what: &str) -> Value {
    for _ in 0..1200 {
        let seen = run(stage, &format!("return {what}")).await;
        if seen != Value::Null && seen != json!(false) {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {what}");
}

/// Sends the request of an operation as the page offers it; status and body of the answer as they are shown.
async fn try_out(stage: &Stage, tag: &str, operation: &str) -> (String, String) {
    let block = format!("#operations-{tag}-{operation}");
    if run(stage, &format!("return document.querySelector('{block}') === null")).await == json!(true) {
        click(stage, &format!("#operations-tag-{tag}")).await;
    }
    click(stage, &format!("{block} .opblock-summary-control")).await;
    // Once tried it stays open for more, with the last answer.
    if run(stage, &format!("return document.querySelector('{block} .btn-clear') === null")).await
        == json!(true)
    {
        click(stage, &format!("{block} .try-out__btn")).await;
    } else {
        click(stage, &format!("{block} .btn-clear")).await;
    }
    click(stage, &format!("{block} .execute")).await;
    let shown = format!("{block} .live-responses-table .response");
    found(stage, &format!("{shown} .response-col_status")).await;
    let status =
        format!("document.querySelector('{shown} .response-col_status')?.innerText.trim().split(/\\s/)[0]");
    let status = until(stage, &status).await;
    let body = until(stage, &format!("document.querySelector('{shown} .highlight-code')?.innerText")).await;
    (status.as_str().unwrap().to_owned(), body.as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reference_shows_every_operation_asks_nobody_else_and_lets_one_try() {
    let site = Recorder::start(|_| Answer::status(404)).await.unwrap();
    let (test, service) = Test::on_port(Engine::Sqlite, |_| {}).await;
    let owner = test.owner().await;
    let stage = Stage::of(test, service, site, Kind::default()).await;
    stage.browser.goto(&format!("{}/docs", stage.service.url)).await.unwrap();
    found(&stage, ".opblock-tag").await;
    run(&stage, WATCH).await;
    stage.picture("reference").await;

    // Everything that the document says is there, once it is opened.
    let tags = "document.querySelectorAll('.opblock-tag[data-is-open=false]')";
    run(&stage, &format!("{tags}.forEach(tag => tag.click())")).await;
    let operations = bailiwick_api::routes::table().len();
    until(&stage, &format!("document.querySelectorAll('.opblock').length === {operations}")).await;
    run(&stage, "document.querySelectorAll('.opblock-tag[data-is-open=true]').forEach(tag => tag.click())")
        .await;
    until(&stage, "document.querySelectorAll('.opblock').length === 0").await;

    // Without a credential there is nothing to see.
    let (status, _) = try_out(&stage, "me", "getMe").await;
    assert_eq!(status, "401");
    click(&stage, "#operations-me-getMe .opblock-summary-control").await;
    until(&stage, "document.querySelector('#operations-me-getMe.is-open') === null").await;
    click(&stage, ".scheme-container .authorize").await;
    found(&stage, "#auth-bearer-value").await.send_keys(&owner.token).await.unwrap();
    stage.picture("reference-authorize").await;
    click(&stage, ".modal-ux .auth-container .modal-btn.authorize").await;
    click(&stage, ".modal-ux .btn-done").await;

    let (status, body) = try_out(&stage, "me", "getMe").await;
    assert!(status == "200" && body.contains("owner@example.org"), "{status} {body}");
    stage.picture("reference-me").await;
    // The example of the reference is a request that works.
    let (status, body) = try_out(&stage, "distributors", "createDistributor").await;
    assert!(status == "201" && body.contains("Alfa Distribution"), "{status} {body}");
    stage.picture("reference-distributor").await;
    let (status, body) = try_out(&stage, "organizations", "listOrganizations").await;
    assert!(status == "200" && body.contains("Alfa Distribution"), "{status} {body}");
    stage.picture("reference-organizations").await;

    let fetched =
        run(&stage, "return performance.getEntriesByType('resource').map(entry => entry.name)").await;
    let fetched: Vec<&str> = fetched.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(fetched.iter().any(|name| name.ends_with("/docs/openapi.json")), "{fetched:?}");
    let is_own = |name: &&&str| name.starts_with(&stage.service.url) || name.starts_with("data:");
    assert_eq!(fetched.iter().filter(|name| !is_own(name)).collect::<Vec<_>>(), [&""; 0]);
    assert_eq!(run(&stage, "return window.forbidden").await, json!([]));
    // The page would have reported a forbidden request. One that it must not make proves that.
    run(&stage, &format!("new Image().src = '{}/picture'", stage.site.url())).await;
    until(&stage, "window.forbidden.length > 0").await;
    assert!(stage.site.requests().is_empty());
    stage.browser.clone().close().await.unwrap();
}
