//! The console in chromium: from the sign-in through its pages, on screens of three widths, light and dark, in both
//! languages. No page scrolls sideways, no text sticks out of its cell, the present area is in sight, and axe-core finds
//! nothing. The owner walks through every page on SQLite; others
//! look at each area on PostgreSQL.

#[path = "console/alerts.rs"]
mod alerts;
#[path = "console/applications.rs"]
mod applications;
#[path = "console/clicks.rs"]
mod clicks;
#[path = "console/events.rs"]
mod events;
#[path = "console/live.rs"]
mod live;
#[path = "console/notifications.rs"]
mod notifications;
#[path = "console/organizations.rs"]
mod organizations;
#[path = "console/personas.rs"]
mod personas;
#[path = "console/systems.rs"]
mod systems;
#[path = "console/users.rs"]
mod users;

use crate::{Kind, Stage};
use bailiwick_testkit::{
    Engine, Test,
    engine::OWNER_PASSWORD,
    parts::{
        identity_provider::package,
        recorder::{Answer, Recorder},
    },
    seed::{Seeded, Tree},
};
use fantoccini::Locator;
use serde_json::json;

/// Two branches, one with a suspended customer; systems in several states, one with documents, changes, applications and an alert.
async fn fill(t: &Test) -> (Tree, Seeded) {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for number in 0..24 {
        let name = format!("Machine {number:02} with a name that goes on and on until it is cut somewhere");
        let body = json!({"name": name, "organization_id": tree.reseller});
        t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201);
    }
    t.suspend_system(t.system(tree.other_customer).await.id).await;
    t.suspend_organization(tree.other_customer).await;
    let system = t.system(tree.customer).await;
    t.send_documents(&system.key, &system.secret).await;
    let alert = json!([{"labels": {"alertname": "DiskFull", "severity": "critical"},
        "annotations": {"summary": "The disk of node 1 is 96 % full"}}]);
    let path = "/api/services/mimir/alertmanager/api/v2/alerts";
    t.post(path).basic(&system.key, &system.secret).json(alert).send().await.expect(200);
    (tree, system)
}

async fn stage(engine: Engine, kind: Kind) -> (Stage, Tree, Seeded) {
    let site = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let (test, service) = Test::on_port(engine, |_| {}).await;
    let (tree, system) = fill(&test).await;
    (Stage::of(test, service, site, kind).await, tree, system)
}

/// Goes to a page, checks it and keeps a picture of it.
async fn open_page(stage: &Stage, path: &str, picture: &str) {
    stage.browser.goto(&format!("{}{path}", stage.service.url)).await.unwrap();
    check_page(stage, picture).await;
}

/// What does not fit: the page, texts that are wider than their cells, and the area in the navigation that is shown.
const MISFITS: &str = "
    const found = [];
    if (document.documentElement.scrollWidth > innerWidth) found.push('the page scrolls sideways');
    for (const cell of document.querySelectorAll('.list tr > *')) {
        const box = cell.getBoundingClientRect();
        const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const range = document.createRange();
            range.selectNodeContents(texts.currentNode);
            const { width, left, right } = range.getBoundingClientRect();
            let cut = texts.currentNode.parentElement;
            while (cut !== cell && getComputedStyle(cut).overflowX === 'visible') cut = cut.parentElement;
            const isCut = getComputedStyle(cut).overflowX !== 'visible';
            if (width && !isCut && (left < box.left - 1 || right > box.right + 1)) found.push(range.toString());
        }
    }
    const area = document.querySelector('.side nav [aria-current]')?.getBoundingClientRect();
    if (area && (area.left < 0 || area.right > innerWidth)) found.push('the area is out of sight');
    for (const grid of document.querySelectorAll('.counters')) {
        const isEven = getComputedStyle(grid).backgroundColor === getComputedStyle(document.querySelector('.card')).backgroundColor;
        if (!isEven) found.push('an empty cell among the counters');
    }
    return found;";

/// Checks that everything fits on the page that is shown.
async fn fits(stage: &Stage, page: &str) {
    let misfits = stage.browser.execute(MISFITS, vec![]).await.unwrap();
    assert_eq!(misfits, json!([]), "{page}");
}

/// Checks the page that is shown, and keeps a picture of it.
pub async fn check_page(stage: &Stage, picture: &str) {
    fits(stage, picture).await;
    let axe = std::fs::read_to_string(package("axe-core").unwrap().join("axe.min.js")).unwrap();
    stage.browser.execute(&axe, vec![]).await.unwrap();
    let run = "const done = arguments[0]; axe.run().then(r => done(r.violations.map(v => \
               [v.id, v.help, v.nodes.map(n => [n.html, n.failureSummary])])))";
    let violations = stage.browser.execute_async(run, vec![]).await.unwrap();
    stage.picture(picture).await;
    assert_eq!(violations, json!([]), "{picture}");
}

/// Signs the owner in, who had requested this page.
async fn sign_in(stage: &Stage, page: &str) {
    stage.browser.goto(&format!("{}{page}", stage.service.url)).await.unwrap();
    stage.type_into("name", "owner@example.org").await;
    stage.type_into("password", OWNER_PASSWORD).await;
    stage.press().await;
}

async fn walk(kind: Kind, name: &str) {
    let (stage, _, system) = stage(Engine::Sqlite, kind).await;
    let url = |path: &str| format!("{}{path}", stage.service.url);
    sign_in(&stage, "/console/systems?search=System").await;
    // The page that was requested.
    stage.text_of(".list").await;
    assert!(stage.browser.current_url().await.unwrap().as_str().ends_with("/console/systems?search=System"));
    check_page(&stage, &format!("console-found-{name}")).await;

    stage.browser.find(Locator::Css("nav a[href='/console/']")).await.unwrap().click().await.unwrap();
    stage.text_of(".counters").await;
    check_page(&stage, &format!("console-home-{name}")).await;
    stage.browser.find(Locator::Css("nav a[href='/console/systems']")).await.unwrap().click().await.unwrap();
    stage.text_of(".list").await;
    check_page(&stage, &format!("console-systems-{name}")).await;
    systems::walk(&stage, &system, name).await;
    applications::walk(&stage, name).await;
    events::walk(&stage, name).await;
    users::walk(&stage, &system, name).await;
    organizations::walk(&stage, name).await;
    alerts::walk(&stage, &system, name).await;
    notifications::walk(&stage, name).await;
    stage.browser.find(Locator::Css("details.me > summary")).await.unwrap().click().await.unwrap();
    check_page(&stage, &format!("console-menu-{name}")).await;
    stage.press_on("form[action='/console/sign-out'] button").await;
    stage.text_of("h1").await;
    check_page(&stage, &format!("console-signed-out-{name}")).await;
    stage.browser.goto(&url("/console/systems")).await.unwrap();
    assert!(stage.browser.current_url().await.unwrap().path().starts_with("/oidc/sign-in/"));
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_console_on_a_desk() {
    walk(Kind::default(), "1280-light").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_console_on_a_tablet_in_italian_and_dark() {
    walk(Kind { is_italian: true, is_dark: true, width: Some(768), ..Kind::default() }, "768-dark-it").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_console_on_a_phone_in_the_dark() {
    walk(Kind { is_dark: true, width: Some(360), ..Kind::default() }, "360-dark").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_console_on_a_narrow_screen_in_italian_without_javascript() {
    let kind = Kind { is_italian: true, without_javascript: true, is_narrow: true, ..Kind::default() };
    let (stage, _, system) = stage(Engine::Sqlite, kind).await;
    sign_in(&stage, &format!("/console/systems/{}/edit", system.id)).await;
    stage.text_of("form.form").await;
    stage.type_into("name", "Nuovo nome").await;
    stage.press_on("form.form .main").await;
    assert_eq!(stage.text_of("h1").await, "Nuovo nome");
    assert_eq!(stage.text_of(".note").await, "Salvato.");
    stage.picture("console-saved-narrow-it").await;
    stage.browser.clone().close().await.unwrap();
}
