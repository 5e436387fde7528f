//! A state names the person who gave it, to those who may know them.

use super::Browser;
use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::json;
use std::time::Duration;

/// A user with a name of their own.
async fn named(t: &Test, org: bailiwick_domain::OrgId, role: &str, name: &str) -> Persona {
    let user = t.user(org, &[role]).await;
    let change = t.put(&format!("/api/users/{}", user.id)).bearer(&t.owner().await.token);
    change.json(json!({"name": name})).send().await.expect(200);
    user
}

/// The explanation of a state on a page.
async fn why(t: &Test, who: &Persona, page: &str) -> String {
    let page = Browser::of(t, who).await.get(page).await.expect(200).text();
    super::between(&page, "<p class=\"why\">", "</p>").to_owned()
}

async fn set(t: &Test, token: &str, path: &str) {
    t.advance(Duration::from_secs(1));
    t.patch(path).bearer(token).send().await.expect(200);
}

api_test!(a_state_names_its_author_to_those_who_may_know, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let admin = named(&t, tree.distributor, "admin", "Anna Admin").await;
    let chief = named(&t, tree.distributor, "super", "Sara Super").await;
    let customer = named(&t, tree.customer, "admin", "Carla Customer").await;
    let system = t.system(tree.customer).await;
    let page = format!("/console/systems/{}", system.id);
    let api = format!("/api/systems/{}", system.id);
    set(&t, &admin.token, &format!("{api}/suspend")).await;
    for who in [&owner, &chief, &admin] {
        let why = why(&t, who, &page).await;
        assert!(why.starts_with("Set on the system itself") && why.ends_with("by Anna Admin"), "{why}");
    }
    let theirs = why(&t, &customer, &page).await;
    assert!(theirs.starts_with("Set on the system itself") && !theirs.contains(" by "), "{theirs}");

    // Once a person with more rights has done it, the person who did it before is not named instead.
    set(&t, &chief.token, &format!("{api}/reactivate")).await;
    set(&t, &chief.token, &format!("{api}/suspend")).await;
    let higher = why(&t, &admin, &page).await;
    assert!(!higher.contains("Sara") && !higher.contains("Anna"), "{higher}");
    assert!(why(&t, &owner, &page).await.ends_with("by Sara Super"));

    // In the name of another.
    let consent = t.post("/api/impersonate/consent").bearer(&customer.token);
    consent.json(json!({"duration_hours": 2})).send().await.expect(200);
    let started = t.post("/api/impersonate").bearer(&chief.token).json(json!({"user_id": customer.id}));
    let acting = started.send().await.expect(200).data()["token"].as_str().unwrap().to_owned();
    let other = t.system(tree.customer).await;
    let page = format!("/console/systems/{}", other.id);
    set(&t, &acting, &format!("/api/systems/{}/suspend", other.id)).await;
    let theirs = why(&t, &customer, &page).await;
    assert!(theirs.ends_with("on behalf of Carla Customer") && !theirs.contains("Sara"), "{theirs}");
    let above = why(&t, &owner, &page).await;
    assert!(above.ends_with("by Sara Super on behalf of Carla Customer"), "{above}");

    // A user, an organization, and what inherits from it.
    let user = t.user(tree.customer, &["reader"]).await;
    set(&t, &admin.token, &format!("/api/users/{}/suspend", user.id)).await;
    let reason = why(&t, &chief, &format!("/console/users/{}", user.id)).await;
    assert!(reason.starts_with("Set on the user") && reason.ends_with("by Anna Admin"), "{reason}");
    let below = t.system(tree.customer).await;
    set(&t, &admin.token, &format!("/api/customers/{}/suspend", tree.customer)).await;
    let reason = why(&t, &chief, &format!("/console/organizations/{}", tree.customer)).await;
    assert!(
        reason.contains("Set on the organization itself") && reason.ends_with("by Anna Admin"),
        "{reason}"
    );
    let reason = why(&t, &chief, &format!("/console/systems/{}", below.id)).await;
    assert!(
        reason.starts_with("Inherited from Alfa Customer") && reason.ends_with("by Anna Admin"),
        "{reason}"
    );
});
