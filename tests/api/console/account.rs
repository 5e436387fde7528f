//! The person's own account, with links and forms alone.

use super::{
    Browser, between,
    users::{picture, send_picture},
};
use bailiwick_testkit::{api_test, engine::OWNER_PASSWORD};
use serde_json::json;

const CHOSEN: &str = "Quiet-Harbour-58-Lamps";

api_test!(profile_picture_and_password_are_the_persons_own, |t| async move {
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let other = Browser::of(&t, &owner).await;
    let page = browser.get("/console/account").await.expect(200).text();
    assert!(page.contains("owner@example.org") && page.contains("href=\"/console/account\""), "{page}");
    let wrong = [("name", ""), ("email", "owner@example.org"), ("phone", "")];
    let wrong = browser.post("/console/account", &wrong).await.expect(422).text();
    assert!(wrong.contains("id=\"name-wrong\""), "{wrong}");
    let fields = [("name", "The Owner"), ("email", "owner@example.org"), ("phone", "+39 011 5550100")];
    browser.post("/console/account", &fields).await.expect(303);
    let page = browser.get("/console/account").await.expect(200).text();
    assert!(page.contains("The Owner") && page.contains("390115550100") && page.contains("Saved."), "{page}");

    send_picture(&browser, "/console/account/picture", b"none").await.expect(422);
    send_picture(&browser, "/console/account/picture", &picture()).await.expect(303);
    assert!(browser.get("/console/account").await.expect(200).text().contains("<img"));
    browser.post("/console/account/picture/remove", &[]).await.expect(303);
    assert!(!browser.get("/console/account").await.expect(200).text().contains("<img"));

    let wrong = [("current_password", "not it"), ("new_password", CHOSEN)];
    let wrong = browser.post("/console/account/password", &wrong).await.expect(422).text();
    assert!(wrong.contains("id=\"current_password-wrong\"") && !wrong.contains(CHOSEN), "{wrong}");
    let right = [("current_password", OWNER_PASSWORD), ("new_password", CHOSEN)];
    browser.post("/console/account/password", &right).await.expect(303);
    browser.get("/console/account").await.expect(200);
    other.get("/console/account").await.expect(303);
});

api_test!(keys_are_made_shown_once_and_revoked, |t| async move {
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    assert!(browser.get("/console/account/keys").await.expect(200).text().contains("No API keys"));
    let fields = |name, password| {
        [("name", name), ("mode", "read"), ("expires_in_days", "30"), ("password", password)]
    };
    let wrong = browser.post("/console/account/keys", &fields("", "")).await.expect(422).text();
    assert!(wrong.contains("id=\"name-wrong\"") && wrong.contains("id=\"password-wrong\""), "{wrong}");
    browser.post("/console/account/keys", &fields("CI", "not it")).await.expect(422);
    let made = browser.post("/console/account/keys", &fields("CI", OWNER_PASSWORD)).await.expect(200).text();
    let token = between(&made, "data-copy=\"", "\"").to_owned();
    t.get("/api/roles").bearer(&token).send().await.expect(200);
    let list = browser.get("/console/account/keys").await.expect(200).text();
    assert!(list.contains("CI") && !list.contains(&token), "{list}");
    let revoke =
        format!("/console/account/keys/{}/revoke", between(&list, "/console/account/keys/", "/revoke"));
    assert!(browser.get(&revoke).await.expect(200).text().contains("Revoke CI?"));
    browser.post(&revoke, &[]).await.expect(303);
    t.get("/api/roles").bearer(&token).send().await.expect(401);
    browser.get("/console/account/keys/nonsense/revoke").await.expect(404);
    let tree = t.tree().await;
    let stranger = t.user(tree.customer, &["super"]).await;
    Browser::of(&t, &stranger).await.post(&revoke, &[]).await.expect(404);
});

api_test!(sessions_are_listed_and_ended, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.customer, &["reader"]).await;
    let browser = Browser::of(&t, &user).await;
    let other = Browser::of(&t, &user).await;
    let page = browser.get("/console/account/sessions").await.expect(200).text();
    assert_eq!(page.matches("this one").count(), 1, "{page}");
    assert!(page.contains("Application") && page.contains("Console"), "{page}");
    let stranger = Browser::of(&t, &t.user(tree.customer, &["super"]).await).await;
    let id = between(&page, "/console/account/sessions/", "/end\"").to_owned();
    let path = format!("/console/account/sessions/{id}/end");
    stranger.post(&path, &[]).await.expect(404);
    browser.post(&path, &[]).await.expect(303);
    browser.post(&path, &[]).await.expect(404);
    browser.post("/console/account/sessions/end", &[]).await.expect(303);
    other.get("/console/account/sessions").await.expect(303);
    t.get("/api/me").bearer(&user.token).send().await.expect(401);
    let page = browser.get("/console/account/sessions").await.expect(200).text();
    assert!(!page.contains("/console/account/sessions/end"), "{page}");
});

api_test!(consent_is_given_and_withdrawn_and_impersonated_actions_are_listed, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let user = t.user(tree.customer, &["reader"]).await;
    let browser = Browser::of(&t, &user).await;
    let here = "/console/account/impersonation";
    assert!(browser.get(here).await.expect(200).text().contains("Nobody has acted in your name"));
    browser.post(&format!("{here}/consent"), &[("duration_hours", "1000")]).await.expect(400);
    browser.post(&format!("{here}/consent"), &[("duration_hours", "4")]).await.expect(303);
    assert!(browser.get(here).await.expect(200).text().contains("You agree"));
    let acting = Browser::of(&t, &actor).await;
    acting.post(&format!("/console/users/{}/impersonate", user.id), &[]).await.expect(303);
    acting.get("/console/systems").await.expect(200);
    for path in ["", "/keys", "/factors", "/factors/authenticator", "/sessions", "/impersonation"] {
        acting.get(&format!("/console/account{path}")).await.expect(403);
    }
    assert!(!acting.get("/console/").await.expect(200).text().contains("href=\"/console/account\""));
    for path in [
        "",
        "/password",
        "/picture/remove",
        "/keys",
        "/factors/authenticator",
        "/factors/authenticator/remove",
        "/factors/recovery-codes",
        "/sessions/end",
        "/impersonation/withdraw",
    ] {
        let refused =
            acting.post(&format!("/console/account{path}"), &[("name", "x")]).await.expect(403).text();
        assert!(
            refused.contains("<h1>Not while you act as ") && !refused.contains("self-service"),
            "{path}: {refused}"
        );
        assert!(
            refused.contains("<form method=\"post\" action=\"/console/acting/back\"><button class=\"main\">")
        );
    }
    let id = t.app.platform.fresh::<bailiwick_domain::ChainId>();
    acting.post(&format!("/console/account/sessions/{id}/end"), &[]).await.expect(403);
    send_picture(&acting, "/console/account/picture", &picture()).await.expect(403);

    let list = browser.get(here).await.expect(200).text();
    assert!(list.contains("acting now"), "{list}");
    let session = format!("{here}/{}", between(&list, &format!("href=\"{here}/"), "\""));
    let did = browser.get(&session).await.expect(200).text();
    assert!(did.contains("GET /console/systems") && did.contains("403"), "{did}");
    let stranger = Browser::of(&t, &t.user(tree.customer, &["super"]).await).await;
    let foreign = stranger.get(&session).await.expect(404).body;
    assert_eq!(foreign, stranger.get(&format!("{here}/nonsense")).await.expect(404).body);
    browser.post(&format!("{here}/withdraw"), &[]).await.expect(303);
    acting.get("/console/systems").await.expect(401);
    let consent = t.get("/api/impersonate/consent").bearer(&user.token).send().await.expect(200).data();
    assert_eq!(consent["consent"], json!(null));
});
