//! The console as each user role of each level sees it, on both engines: every area, the first thing in it with all its tabs,
//! what the person may do, done, and what they may not do, which is neither offered nor obeyed.

use super::{check_page, fits, stage};
use crate::{Kind, Stage};
use bailiwick_domain::{OrgId, SystemId};
use bailiwick_identity::passwords;
use bailiwick_store::identities;
use bailiwick_testkit::{Engine, engine::OWNER_PASSWORD};
use fantoccini::Locator;
use serde_json::Value;
use std::collections::BTreeSet;

/// A user role of the built-in catalogue, and what it may do (spec: authorization#user-roles).
struct Role {
    key: &'static str,
    sees_users: bool,
    /// Alert configurations.
    sees_notifications: bool,
    creates_users: bool,
    /// Last parts of the addresses of actions on a system; empty where none may be created either.
    on_systems: &'static [&'static str],
    /// Organizations below their own.
    creates_organizations: bool,
}

const ROLES: [Role; 5] = [
    Role {
        key: "super",
        sees_users: true,
        sees_notifications: true,
        creates_users: true,
        on_systems: &["delete", "destroy", "edit", "suspend"],
        creates_organizations: true,
    },
    Role {
        key: "admin",
        sees_users: true,
        sees_notifications: true,
        creates_users: true,
        on_systems: &["delete", "edit", "suspend"],
        creates_organizations: true,
    },
    Role {
        key: "backoffice",
        sees_users: true,
        sees_notifications: false,
        creates_users: true,
        on_systems: &[],
        creates_organizations: true,
    },
    Role {
        key: "support",
        sees_users: false,
        sees_notifications: false,
        creates_users: false,
        on_systems: &["delete", "edit", "suspend"],
        creates_organizations: true,
    },
    Role {
        key: "reader",
        sees_users: true,
        sees_notifications: false,
        creates_users: false,
        on_systems: &[],
        creates_organizations: false,
    },
];

/// What a page is: its title, whether it shows an error, the first thing in its list.
const SUMMARY: &str = "const first = document.querySelector('main .list th.name a, main #tree .title a, main .rows a'); \
    return [document.querySelector('main h1').innerText, !!document.querySelector('main .message'), \
    first ? first.getAttribute('href') : null]";

/// Addresses of links and forms within an element.
async fn addresses(stage: &Stage, within: &str) -> BTreeSet<String> {
    let script = format!(
        "return [...document.querySelectorAll('{within} a, {within} form')].map(e => \
         e.getAttribute('href') || e.getAttribute('action'))"
    );
    let Value::Array(found) = stage.browser.execute(&script, vec![]).await.unwrap() else { panic!("links") };
    found.iter().filter_map(|address| address.as_str()).map(str::to_owned).collect()
}

/// Makes a user with a password and signs them in.
async fn sign_in(stage: &Stage, org: OrgId, role: &str) {
    let (t, app) = (&stage.test, &stage.test.app);
    let user = t.user(org, &[role]).await;
    let hash = passwords::hash(&app.identity, OWNER_PASSWORD).await.unwrap();
    let mut tx = app.platform.db.begin().await.unwrap();
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

async fn open(stage: &Stage, path: &str) -> Value {
    stage.browser.goto(&format!("{}{path}", stage.service.url)).await.unwrap();
    stage.browser.execute(SUMMARY, vec![]).await.unwrap()
}

/// Goes to a page and checks it; the address of the first thing in its list.
async fn glance(stage: &Stage, who: &str, path: &str) -> Option<String> {
    let summary = open(stage, path).await;
    let title = summary[0].as_str().unwrap();
    assert!(!title.is_empty() && summary[1] == false, "{path} as {who}: {title}");
    fits(stage, &format!("{path} as {who}")).await;
    summary[2].as_str().map(str::to_owned)
}

/// Goes to a page that leads to a form for something new if, and only if, the person may create it.
async fn offers(stage: &Stage, who: &str, list: &str, form: &str, may: bool) {
    glance(stage, who, list).await;
    let found = addresses(stage, "main").await.iter().any(|address| address.starts_with(form));
    assert_eq!(found, may, "{form} on {list} as {who}");
    if !may {
        let refused = open(stage, form).await;
        assert_eq!(refused[1], true, "{form} as {who}");
    }
}

/// Checks the areas that are there, each with the first thing in it and its tabs.
async fn check_areas(stage: &Stage, who: &str, role: &Role) {
    let areas = addresses(stage, "header.side nav").await;
    for (area, is_there) in [
        ("/console/", true),
        ("/console/organizations", true),
        ("/console/users", role.sees_users),
        ("/console/systems", true),
        ("/console/applications", true),
        ("/console/alerts", true),
        ("/console/notifications", role.sees_notifications),
        ("/console/timeline", true),
        ("/console/rebranding", true),
    ] {
        assert_eq!(areas.contains(area), is_there, "{area} as {who}: {areas:?}");
        if !is_there {
            assert_eq!(open(stage, area).await[1], true, "{area} as {who}");
        }
    }
    let mut details = 0;
    for area in areas.into_iter().chain(["/console/account".to_owned()]) {
        let first = glance(stage, who, &area).await;
        let mut tabs = addresses(stage, "main nav.tabs").await;
        if let Some(first) = first {
            glance(stage, who, &first).await;
            tabs.extend(addresses(stage, "main nav.tabs").await);
            details += 1;
        }
        for tab in tabs {
            glance(stage, who, &tab).await;
        }
    }
    assert!(details >= 4, "{who} sees {details} details");
}

/// What can be done to a system that is not suspended, and a change of its name.
async fn change_system(stage: &Stage, who: &str, role: &Role, system: SystemId) {
    let system = format!("/console/systems/{system}");
    glance(stage, who, &system).await;
    let offered = addresses(stage, "main .top .actions").await;
    let offered: Vec<&str> = offered.iter().filter_map(|address| address.rsplit('/').next()).collect();
    assert_eq!(offered, role.on_systems, "{system} as {who}");
    if offered.is_empty() {
        assert_eq!(open(stage, &format!("{system}/edit")).await[1], true, "{who}");
        return;
    }
    let name = format!("Named by {who}");
    stage.press_on(&format!("main .actions a[href='{system}/edit']")).await;
    stage.type_into("name", &name).await;
    stage.press_on("main form.form .main").await;
    assert_eq!(stage.text_of("main h1").await, name);
    assert_eq!(stage.text_of("main .note").await, "Saved.");
}

/// A new user of the person's own organization, or of the first one below the owner.
async fn create_user(stage: &Stage, who: &str) {
    stage.press_on("main a[href='/console/users/new']").await;
    let name = format!("Made by {who}");
    stage.type_into("name", &name).await;
    stage.type_into("email", &format!("{}@example.org", name.to_lowercase().replace(' ', "."))).await;
    let reader =
        stage.browser.find(Locator::Css("input[name='user_role_ids'][value='reader']")).await.unwrap();
    reader.click().await.unwrap();
    // Nothing is chosen where there are several organizations.
    let first = "select[name='organization_id'] option:not([disabled])";
    stage.browser.find(Locator::Css(first)).await.unwrap().click().await.unwrap();
    stage.press_on("main form.form .main").await;
    assert_eq!(stage.text_of("main h1").await, name);
}

async fn every_role_of_every_level(engine: Engine) {
    let (stage, tree, system) = stage(engine, Kind { width: Some(360), ..Kind::default() }).await;
    bailiwick_events::number_all(&stage.test.app.events).await.unwrap();
    for (org, level) in [
        (tree.owner, "owner"),
        (tree.distributor, "distributor"),
        (tree.reseller, "reseller"),
        (tree.customer, "customer"),
    ] {
        for role in &ROLES {
            let who = format!("{} of the {level}", role.key);
            sign_in(&stage, org, role.key).await;
            check_page(&stage, &format!("console-home-{level}-{}", role.key)).await;
            check_areas(&stage, &who, role).await;
            offers(&stage, &who, "/console/systems", "/console/systems/new", !role.on_systems.is_empty())
                .await;
            let creates = role.creates_organizations && level != "customer";
            offers(&stage, &who, "/console/organizations", "/console/organizations/new", creates).await;
            change_system(&stage, &who, role, system.id).await;
            if role.sees_users {
                offers(&stage, &who, "/console/users", "/console/users/new", role.creates_users).await;
            }
            if role.creates_users {
                create_user(&stage, &who).await;
            }
        }
    }
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_role_of_every_level_on_sqlite() {
    every_role_of_every_level(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_role_of_every_level_on_postgresql() {
    every_role_of_every_level(Engine::Postgres).await;
}
