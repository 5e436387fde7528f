//! The areas as people of each level see them, on PostgreSQL: the list of each, and the first thing in it.

use super::{fits, look, stage};
use crate::{Kind, Stage};
use bailiwick_domain::OrgId;
use bailiwick_identity::passwords;
use bailiwick_store::identities;
use bailiwick_testkit::{Engine, engine::OWNER_PASSWORD};
use fantoccini::Locator;
use serde_json::Value;

/// What a page is: its title, whether it says that something went wrong, the first thing in its list.
const SUMMARY: &str = "const first = document.querySelector('main .list th.name a, main #tree .title a, main .rows a'); \
    return [document.querySelector('main h1').innerText, !!document.querySelector('main .message'), \
    first ? first.getAttribute('href') : null]";

/// Makes a user with a password and signs them in.
async fn sign_in(stage: &Stage, org: OrgId, role: &str) {
    let (t, app) = (&stage.test, &stage.test.app);
    let user = t.user(org, &[role]).await;
    let hash = passwords::hash(app, OWNER_PASSWORD).await.unwrap();
    let mut tx = app.db.begin().await.unwrap();
    identities::set_password(&mut tx, user.id, &hash, None).await.unwrap();
    tx.commit().await.unwrap();
    let path = format!("/api/users/{}", user.id);
    let user = t.get(&path).bearer(&t.owner().await.token).send().await.expect(200).data();
    stage.browser.delete_all_cookies().await.unwrap();
    stage.browser.goto(&format!("{}/console/", stage.service.url)).await.unwrap();
    stage.type_into("name", user["email"].as_str().unwrap()).await;
    stage.type_into("password", OWNER_PASSWORD).await;
    stage.press().await;
    stage.text_of("header.side nav").await;
}

/// Goes to a page and checks it; the address of the first thing in its list.
async fn glance(stage: &Stage, who: &str, path: &str) -> Option<String> {
    stage.browser.goto(&format!("{}{path}", stage.service.url)).await.unwrap();
    let summary = stage.browser.execute(SUMMARY, vec![]).await.unwrap();
    let title = summary[0].as_str().unwrap();
    assert!(!title.is_empty() && summary[1] == false, "{path} as {who}: {title}");
    fits(stage, &format!("{path} as {who}")).await;
    summary[2].as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_level_finds_its_areas() {
    let (stage, tree, _) = stage(Engine::Postgres, Kind { width: Some(360), ..Kind::default() }).await;
    bailiwick_events::number_all(&stage.test.app).await.unwrap();
    for (org, role, who, with_users) in [
        (tree.distributor, "admin", "admin of a distributor", true),
        (tree.reseller, "support", "support of a reseller", false),
        (tree.customer, "reader", "reader of a customer", true),
    ] {
        sign_in(&stage, org, role).await;
        look(&stage, &format!("console-home-{}", who.replace(' ', "-"))).await;
        let script =
            "return [...document.querySelectorAll('header.side nav a')].map(a => a.getAttribute('href'))";
        let Value::Array(areas) = stage.browser.execute(script, vec![]).await.unwrap() else {
            panic!("links")
        };
        let areas: Vec<&str> = areas.iter().map(|area| area.as_str().unwrap()).collect();
        assert_eq!(areas.contains(&"/console/users"), with_users, "{who}: {areas:?}");
        for area in ["/console/systems", "/console/alerts", "/console/timeline", "/console/organizations"] {
            assert!(areas.contains(&area), "{who}: {areas:?}");
        }
        let mut details = 0;
        for area in areas {
            if let Some(first) = glance(&stage, who, area).await {
                glance(&stage, who, &first).await;
                details += 1;
            }
        }
        assert!(details >= 3, "{who} sees {details} details");
        glance(&stage, who, "/console/account").await;
        let new = stage.browser.find_all(Locator::Css("a[href='/console/systems/new']")).await.unwrap();
        assert!(new.is_empty(), "only the list leads to new systems");
        glance(&stage, who, "/console/systems").await;
        let new = stage.browser.find_all(Locator::Css("a[href='/console/systems/new']")).await.unwrap();
        assert_eq!(new.len(), usize::from(role != "reader"), "{who}");
    }
    stage.browser.clone().close().await.unwrap();
}
