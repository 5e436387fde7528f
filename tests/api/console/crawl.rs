//! Every page that a person can reach by links: each of them exists, and none holds anything of another branch. Pages that
//! are added later take part by themselves.

use super::Browser;
use bailiwick_testkit::{Persona, Test, api_test, seed::Tree};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Pages of one walk.
const PAGES: usize = 400;
/// Addresses of one page that differ in their query alone.
const QUERIES: usize = 4;

/// Addresses of the console that a page leads to.
pub fn links(page: &str) -> BTreeSet<String> {
    let targets = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let targets = targets.map(|target| target.replace("&amp;", "&"));
    targets.filter(|target| target.starts_with("/console") && !target.contains("/assets/")).collect()
}

/// An address with its ids replaced, by which pages are distinguished.
fn shape(address: &str) -> String {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let part =
        |part: &str| if part.len() >= 32 || part.parse::<u64>().is_ok() { "*" } else { part }.to_owned();
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// Goes everywhere; each page with its address.
pub async fn walk(browser: &Browser<'_>) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    let mut visits: BTreeMap<String, usize> = BTreeMap::new();
    let mut ahead = VecDeque::from(["/console/".to_owned()]);
    while let Some(address) = ahead.pop_front() {
        let count = visits.entry(shape(&address)).or_default();
        if pages.contains_key(&address) || *count >= QUERIES || pages.len() >= PAGES {
            continue;
        }
        *count += 1;
        let reply = browser.get(&address).await;
        // The end of a session, and files on their way from elsewhere, are no pages.
        assert!(matches!(reply.status.as_u16(), 200 | 303), "{address}: {} {}", reply.status, reply.text());
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        if reply.header("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
            ahead.extend(links(&text));
        }
        pages.insert(address, text);
    }
    pages
}

/// What marks everything of a branch: its names and ids, as the owner sees them.
async fn marks(t: &Test, owner: &Persona, tree: &Tree) -> [BTreeSet<String>; 2] {
    let mut marks = [BTreeSet::new(), BTreeSet::new()];
    let branches = [
        ("Alfa", [tree.distributor, tree.reseller, tree.customer]),
        ("Beta", [tree.other_distributor, tree.other_reseller, tree.other_customer]),
    ];
    for (marks, (name, orgs)) in marks.iter_mut().zip(branches) {
        for org in orgs {
            marks.insert(org.to_string());
            let user = t.user(org, &["super"]).await;
            marks.insert(user.id.to_string());
            let mark = format!("{name}Machine{org}");
            let system = t.system(org).await;
            let change = json!({"name": mark, "notes": format!("{mark}Notes")});
            t.put(&format!("/api/systems/{}", system.id))
                .bearer(&owner.token)
                .json(change)
                .send()
                .await
                .expect(200);
            let application = t.application(&system).await;
            let alert = json!([{"labels": {"alertname": format!("{mark}Alert"), "severity": "critical"}}]);
            let path = "/api/services/mimir/alertmanager/api/v2/alerts";
            t.post(path).basic(&system.key, &system.secret).json(alert).send().await.expect(200);
            t.post("/api/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
            marks.extend([mark, system.id.to_string(), system.key, application.to_string()]);
        }
    }
    marks
}

api_test!(every_link_leads_to_a_page_without_anything_of_another_branch, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let [own, foreign] = marks(&t, &owner, &tree).await;
    let persons = [
        (tree.distributor, "super"),
        (tree.distributor, "reader"),
        (tree.reseller, "admin"),
        (tree.customer, "super"),
        (tree.customer, "support"),
    ];
    for (org, role) in persons {
        let person = t.user(org, &[role]).await;
        let pages = walk(&Browser::of(&t, &person).await).await;
        assert!(pages.len() > 10, "{role}: {:?}", pages.keys());
        for (address, page) in &pages {
            let leak = foreign.iter().find(|mark| page.contains(&**mark));
            assert_eq!(leak, None, "{role} at {address}");
        }
        let is_seen = |mark: &&String| pages.values().any(|page| page.contains(&**mark));
        assert!(own.iter().filter(is_seen).count() > 3, "the walk sees something");
    }
    // The same walk of the owner finds what others must not see.
    let pages = walk(&Browser::of(&t, &owner).await).await;
    let is_seen = |mark: &&String| pages.values().any(|page| page.contains(&**mark));
    assert!(foreign.iter().filter(is_seen).count() > 5, "the walk of the owner sees both branches");
    let areas: BTreeSet<&str> = pages.keys().filter_map(|address| address.split(['/', '?']).nth(2)).collect();
    let shown: Value = json!(areas);
    assert!(areas.contains("systems"), "{shown}");
});

/// An id of another branch for each area, and what stands for one that never was.
async fn foreign_ids(t: &Test, tree: &Tree) -> BTreeMap<&'static str, String> {
    let system = t.system(tree.other_customer).await;
    let application = t.application(&system).await;
    let user = t.user(tree.other_customer, &["super"]).await;
    let above = t.user(tree.other_distributor, &["super"]).await;
    let webhook = json!({"name": "n", "url": "https://8.8.8.8/hook", "types": ["*"]});
    let webhook =
        t.post("/api/events/subscriptions").bearer(&above.token).json(webhook).send().await.expect(201);
    BTreeMap::from([
        ("timeline", webhook.data()["subscription"]["id"].as_str().unwrap().to_owned()),
        ("systems", system.id.to_string()),
        ("applications", application.to_string()),
        ("users", user.id.to_string()),
        ("organizations", tree.other_customer.to_string()),
    ])
}

/// A path of the table with an id in it, and words for its other places.
fn filled(path: &str, id: &str) -> String {
    let part = |part: &str| match part {
        "{id}" => id.to_owned(),
        "{step}" => "suspend".to_owned(),
        _ if part.starts_with('{') => "1".to_owned(),
        _ => part.to_owned(),
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// Every row of the table of pages, those of steps once for each step.
fn steps() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    const STEPS: &[&str] = &["suspend", "reactivate", "delete", "restore", "destroy"];
    bailiwick_console::ROUTES.iter().flat_map(|(method, path)| {
        let steps = if path.contains("{step}") { STEPS } else { &STEPS[..1] };
        steps.iter().map(move |step| (*method, *path, *step))
    })
}

api_test!(every_page_of_a_foreign_thing_is_that_of_a_missing_one, |t| async move {
    let tree = t.tree().await;
    let ids = foreign_ids(&t, &tree).await;
    let missing: bailiwick_domain::SystemId = t.app.platform.fresh();
    let missing = missing.to_string();
    let mut count = 0;
    // Callers without the permission must not get more than callers with it.
    let roles = ["super", "admin", "backoffice", "support", "reader"];
    let places = [tree.distributor, tree.reseller, tree.customer];
    for (org, role) in places.into_iter().flat_map(|org| roles.map(|role| (org, role))) {
        let person = t.user(org, &[role]).await;
        let browser = Browser::of(&t, &person).await;
        for (method, path, step) in steps() {
            let area = path.split('/').nth(2).unwrap_or_default();
            let Some(foreign) = ids.get(area).filter(|_| path.contains("{id}")) else { continue };
            let mut answers = Vec::new();
            for id in [foreign, &missing] {
                let path = filled(path, id).replace("/suspend", &format!("/{step}"));
                let reply = match method {
                    "GET" => browser.get(&path).await,
                    _ => browser.post(&path, &[("name", "x"), ("force", "true")]).await,
                };
                assert!(matches!(reply.status.as_u16(), 403 | 404), "{method} {path}: {}", reply.status);
                answers.push((reply.status, reply.text().replace(id.as_str(), "")));
            }
            assert_eq!(answers[0], answers[1], "{role} {method} {path} {step}");
            count += 1;
        }
    }
    assert!(count > 1000, "{count}");
});

api_test!(an_address_that_only_takes_forms_leads_to_its_page, |t| async move {
    let tree = t.tree().await;
    let own = t.system(tree.customer).await.id.to_string();
    let browser = Browser::of(&t, &t.owner().await).await;
    let routes = &bailiwick_console::ROUTES;
    let mut leads = BTreeMap::new();
    for (_, path) in routes.iter().filter(|(_, path)| !routes.contains(&("GET", *path))) {
        let reply = browser.get(&filled(path, &own)).await.expect(303);
        let page = reply.header("location").unwrap().to_owned();
        let shown = browser.get(&page).await;
        assert_eq!(shown.header("content-type"), Some("text/html; charset=utf-8"), "{path}: {page}");
        leads.insert(*path, page);
    }
    for (path, page) in [
        ("/console/preferences", "/console/".to_owned()),
        ("/console/account/picture/remove", "/console/account".to_owned()),
        ("/console/account/sessions/{id}/end", "/console/account/sessions".to_owned()),
        ("/console/systems/{id}/secret", format!("/console/systems/{own}")),
        (
            "/console/organizations/{id}/rebranding/{product}/remove/{asset}",
            format!("/console/organizations/{own}/rebranding"),
        ),
    ] {
        assert_eq!(leads[path], page);
    }
});

api_test!(every_form_from_elsewhere_is_refused, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let own = t.system(tree.customer).await.id.to_string();
    let browser = Browser::of(&t, &owner).await;
    for (_, path) in bailiwick_console::ROUTES.iter().filter(|(method, _)| *method == "POST") {
        let path = filled(path, &own);
        for origin in [None, Some("https://elsewhere.example"), Some("null")] {
            let mut call = browser.call(axum::http::Method::POST, &path).form(&[("name", "x")]);
            if let Some(origin) = origin {
                call = call.header("origin", origin);
            }
            let reply = call.send().await;
            assert_eq!(reply.status, 403, "{path} from {origin:?}: {}", reply.text());
        }
    }
});
