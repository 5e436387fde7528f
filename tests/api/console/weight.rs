//! The bytes of pages as browsers get them: compressed.

use super::{
    Browser, between,
    crawl::{links, walk},
};
use axum::http::Method;
use bailiwick_testkit::{Test, api_test, seed::Tree};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Most bytes of a page whose style and scripts the browser has, of a page with all that it needs, of all scripts.
const PAGE: usize = 15_000;
const FIRST_PAGE: usize = 60_000;
const SCRIPTS: usize = 20_000;
/// Enough for full pages of each size.
const MANY: usize = 110;

async fn bytes(browser: &Browser<'_>, address: &str) -> usize {
    let reply = browser.call(Method::GET, address).header("accept-encoding", "gzip").send().await;
    let is_packed = reply.header("content-encoding") == Some("gzip");
    assert!(is_packed || reply.body.len() <= 1024, "{address} is not compressed");
    reply.body.len()
}

/// Full lists, names that do not repeat each other, and a system with documents, changes and alerts.
async fn fill(t: &Test, tree: &Tree) {
    let owner = t.owner().await;
    for number in 0..MANY {
        let word = format!("{:x}", (number + 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16);
        let body = json!({"name": format!("Machine {word} of the branch"), "organization_id": tree.reseller});
        t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201);
        let body = json!({"name": format!("Person {word}"), "email": format!("{word}@{word}.example.org"),
            "user_role_ids": ["reader"], "organization_id": tree.customer});
        t.post("/api/users").bearer(&owner.token).json(body).send().await.expect(201);
        let body = json!({"name": format!("Company {word}"), "description": format!("Known as {word}"),
            "custom_data": {"vat": format!("IT{number:011}")}});
        t.post("/api/customers").bearer(&owner.token).json(body).send().await.expect(201);
    }
    let system = t.system(tree.customer).await;
    t.send_documents(&system.key, &system.secret).await;
    let alert = |n: usize| {
        json!({"labels": {"alertname": format!("Alert{n:03}"), "severity": "critical"},
        "annotations": {"summary": format!("The disk of node {n} is 96 % full")}})
    };
    let alerts: Vec<Value> = (0..MANY).map(alert).collect();
    let path = "/api/services/mimir/alertmanager/api/v2/alerts";
    t.post(path).basic(&system.key, &system.secret).json(json!(alerts)).send().await.expect(200);
    bailiwick_events::number_all(&t.app.events).await.unwrap();
}

api_test!(pages_are_light, |t| async move {
    let tree = t.tree().await;
    fill(&t, &tree).await;
    let browser = Browser::of(&t, &t.owner().await).await;
    let pages = walk(&browser).await;
    let mut weights = Vec::new();
    // The walk leaves out most addresses that differ in their query alone.
    let plain = pages.iter().filter(|(address, _)| !address.contains('?'));
    let longest: BTreeSet<String> =
        plain.flat_map(|(_, page)| links(page)).filter(|link| link.contains("page_size=100")).collect();
    assert!(longest.len() > 4, "{longest:?}");
    for address in longest.iter().map(String::as_str).chain(["/console/timeline/audit?page_size=100"]) {
        weights.push((bytes(&browser, address).await, browser.get(address).await.body.len(), address));
    }
    for (address, page) in pages.iter().filter(|(_, page)| page.contains("<!doctype html>")) {
        weights.push((bytes(&browser, address).await, page.len(), address.as_str()));
    }
    weights.sort_unstable();
    weights.reverse();
    assert!(weights.len() > 60, "{}", weights.len());

    let home = &pages["/console/"];
    let style = bytes(&browser, between(home, "rel=\"stylesheet\" href=\"", "\"")).await;
    // One script, which needs no other.
    let script = between(home, "<script type=\"module\" src=\"", "\"");
    assert_eq!(home.matches("<script").count(), 1);
    let text = browser.get(script).await.expect(200).text();
    assert!(!text.contains("import "), "scripts that a script needs count too");
    let script = bytes(&browser, script).await;
    let rules =
        browser.get("/console/").await.header("speculation-rules").unwrap().trim_matches('"').to_owned();
    let rules = bytes(&browser, &rules).await;
    let with_all = |page: usize| page + style + script + rules;
    let heavy: Vec<_> = weights.iter().filter(|(packed, ..)| *packed > PAGE).collect();
    assert!(heavy.is_empty(), "{heavy:?}");
    assert!(with_all(weights[0].0) <= FIRST_PAGE, "{}", with_all(weights[0].0));
    assert!(script <= SCRIPTS, "{script}");
});
