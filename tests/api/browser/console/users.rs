//! The pages of users and of one's own account.

use super::{check_page, open_page};
use crate::Stage;
use bailiwick_testkit::{engine::OWNER_PASSWORD, seed::Seeded};
use fantoccini::Locator;
use serde_json::json;

/// Goes through them; `name`: of this kind of browser, in the names of pictures.
pub async fn walk(stage: &Stage, system: &Seeded, name: &str) {
    let t = &stage.test;
    let owner = t.owner().await;
    let answer =
        t.get(&format!("/api/systems/{}", system.id)).bearer(&owner.token).send().await.expect(200).data();
    let organization = answer["organization"]["id"].as_str().unwrap();
    let org = organization.parse().unwrap();
    let body = json!({
        "name": "Annamaria Bartolomea Cristina de' Medici-Lorena von Habsburg-Toscana",
        "email": "annamaria.bartolomea.cristina.de.medici-lorena@a-long-name-of-a-domain.example.org",
        "phone": "+39 011 5550100", "user_role_ids": ["admin", "support"], "organization_id": organization,
        "custom_data": {"desk": "Milano"},
    });
    let made = t.post("/api/users").bearer(&owner.token).json(body).send().await.expect(201).data();
    let here = format!("/console/users/{}", made["id"].as_str().unwrap());
    for _ in 0..3 {
        t.user(org, &["reader"]).await;
    }
    let suspended = t.user(org, &["support"]).await;
    t.patch(&format!("/api/users/{}/suspend", suspended.id)).bearer(&owner.token).send().await.expect(200);
    let agreeing = t.user(org, &["reader"]).await;
    let consent = t.post("/api/impersonate/consent").bearer(&agreeing.token);
    consent.json(json!({"duration_hours": 2})).send().await.expect(200);

    stage.browser.goto(&format!("{}/console/", stage.service.url)).await.unwrap();
    stage.browser.find(Locator::Css("nav a[href='/console/users']")).await.unwrap().click().await.unwrap();
    stage.text_of(".list").await;
    check_page(stage, &format!("console-users-{name}")).await;
    for tab in ["", "/edit", "/move", "/password", "/second-factors", "/destroy"] {
        open_page(stage, &format!("{here}{tab}"), &format!("console-user{}-{name}", tab.replace('/', "-")))
            .await;
    }
    open_page(stage, "/console/users/new", &format!("console-user-new-{name}")).await;
    open_page(stage, "/console/users?search=nowhere", &format!("console-users-none-{name}")).await;
    let acting = format!("/console/users/{}", agreeing.id);
    open_page(stage, &acting, &format!("console-user-agrees-{name}")).await;
    account(stage, name).await;
}

async fn account(stage: &Stage, name: &str) {
    let t = &stage.test;
    let owner = t.owner().await;
    let consent = t.post("/api/impersonate/consent").bearer(&owner.token);
    for tab in ["", "/sessions", "/impersonation", "/keys", "/factors", "/factors/authenticator"] {
        let picture = format!("console-account{}-{name}", tab.replace('/', "-"));
        open_page(stage, &format!("/console/account{tab}"), &picture).await;
    }
    consent.json(json!({"duration_hours": 2})).send().await.expect(200);
    open_page(stage, "/console/account/impersonation", &format!("console-account-agreed-{name}")).await;
    for (key, mode) in [("Nightly export of everything that a customer has", "read"), ("CI", "write")] {
        let body = json!({"name": key, "mode": mode, "password": OWNER_PASSWORD});
        t.post("/api/me/api-keys").bearer(&owner.token).json(body).send().await.expect(201);
    }
    open_page(stage, "/console/account/keys", &format!("console-account-keys-full-{name}")).await;
    stage.browser.find(Locator::Css("a[href$='/revoke']")).await.unwrap().click().await.unwrap();
    stage.text_of("form.form").await;
    check_page(stage, &format!("console-account-revoke-{name}")).await;
}
