//! Users who may not sign in, sessions that end with them, and passwords that must be replaced.

use super::client::*;
use bailiwick_identity::{
    auth::{Reason, revoke_user},
    passwords::{self, Origin},
};
use bailiwick_testkit::{Persona, Test, api_test};
use std::time::Duration;

const GIVEN: &str = "Given-Horse-9-Battery";
const CHOSEN: &str = "Chosen-Horse-4-Staple";

async fn person(t: &Test) -> (Persona, String) {
    let tree = t.tree().await;
    let person = t.user(tree.reseller, &["admin"]).await;
    set_password(t, person.id, GIVEN, None).await;
    let email = email_of(t, person.id).await;
    (person, email)
}

async fn tokens_of(t: &Test, browser: &Browser<'_>, email: &str, password: &str) -> (String, String) {
    let code = query(&browser.sign_in(email, password, &[]).await)["code"].clone();
    let tokens = redeem(t, &code, &[]).await.expect(200).json();
    let token_named = |name: &str| tokens[name].as_str().unwrap().to_owned();
    (token_named("access_token"), token_named("refresh_token"))
}

// Proves spec: acceptance#scenarios 5, guarantees#identity 10.
api_test!(a_suspended_user_is_refused_everywhere, |t| async move {
    let (person, email) = person(&t).await;
    let browser = Browser::new(&t);
    let (access, renew) = tokens_of(&t, &browser, &email, GIVEN).await;
    let sent = browser.get(&authorization(&[])).await.expect(303);
    let code = query(sent.header("location").unwrap())["code"].clone();
    t.suspend_user(person.id).await;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    revoke_user(&mut tx, t.app.platform.now(), person.id, None, Reason::Suspended).await.unwrap();
    tx.commit().await.unwrap();

    let refusal = exchange(&t, &access).await.expect_message(401, "user account has been suspended");
    assert_eq!(refusal.data()["reason"], "user suspended by administrator");
    refused(redeem(&t, &code, &[]).await, 400, "invalid_grant");
    refused(refresh(&t, &renew).await, 400, "invalid_grant");
    refused(userinfo(&t, &access).await, 401, "invalid_token");
    let (page, token) = browser.open_page(&[]).await;
    let wrong = browser.submit(&page, &token, &email, "Wrong-Horse-9-Battery").await.expect(422).text();
    assert!(wrong.contains("is wrong") && !wrong.contains("suspended"), "only after the right password");
    let right = browser.submit(&page, &token, &email, GIVEN).await.expect(422);
    assert!(right.text().contains("is wrong") && right.text().contains("suspended"));
    assert!(right.header("set-cookie").is_none());

    let mut tx = t.app.platform.db.begin().await.unwrap();
    let back =
        bailiwick_store::sql::Q::new("UPDATE users SET suspended_at = NULL WHERE id = ?").bind(person.id);
    back.run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    exchange(&t, &access).await.expect_message(401, "invalid access token");
    refused(refresh(&t, &renew).await, 400, "invalid_grant");
    tokens_of(&t, &browser, &email, GIVEN).await;
});

// Proves spec: acceptance#scenarios 5, guarantees#organizations 21, authorization#guarantees 17.
api_test!(users_of_a_closed_organization_are_refused, |t| async move {
    let tree = t.tree().await;
    for (organization, above) in
        [(tree.customer, tree.distributor), (tree.other_customer, tree.other_reseller)]
    {
        let person = t.user(organization, &["admin"]).await;
        set_password(&t, person.id, GIVEN, None).await;
        let email = email_of(&t, person.id).await;
        let browser = Browser::new(&t);
        let (access, renew) = tokens_of(&t, &browser, &email, GIVEN).await;
        let is_suspension = above == tree.distributor;
        if is_suspension {
            t.suspend_organization(above).await;
        } else {
            t.delete_organization(above).await;
        }
        refused(refresh(&t, &renew).await, 400, "invalid_grant");
        refused(userinfo(&t, &access).await, 401, "invalid_token");
        let (page, token) = browser.open_page(&[]).await;
        let reply = browser.submit(&page, &token, &email, GIVEN).await.expect(422);
        assert_eq!(reply.text().contains("suspended"), is_suspension);
    }
});

api_test!(a_deleted_user_looks_like_nobody, |t| async move {
    let (person, email) = person(&t).await;
    let browser = Browser::new(&t);
    let (page, token) = browser.open_page(&[]).await;
    t.delete_user(person.id).await;
    let username =
        bailiwick_store::identities::get(&t.app.platform.db, person.id).await.unwrap().unwrap().username;
    for name in [email.as_str(), username.as_str()] {
        let reply = browser.submit(&page, &token, name, GIVEN).await.expect(422);
        assert!(reply.text().contains("is wrong") && !reply.text().contains("suspended"));
    }
});

api_test!(a_new_password_ends_logins_and_waiting_sign_ins, |t| async move {
    let (person, email) = person(&t).await;
    let (browser, script) = (Browser::new(&t), Browser::new(&t));
    let (access, renew) = tokens_of(&t, &browser, &email, GIVEN).await;
    script.get(&authorization(&[])).await.expect(303);
    let body = serde_json::json!({"email": email, "password": GIVEN});
    script.send(t.patch("/api/interaction/identifiers").json(body)).await.expect(204);
    let hash = passwords::hash(&t.app.identity, CHOSEN).await.unwrap();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    passwords::set_password(&mut tx, t.app.platform.now(), person.id, Some(&hash), Origin::Chosen, None)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    exchange(&t, &access).await.expect_message(401, "invalid access token");
    refused(refresh(&t, &renew).await, 400, "invalid_grant");
    sent_back(browser.get(&authorization(&[("prompt", "none")])).await, "login_required");
    script.send(t.post("/api/interaction/submit")).await.expect(400);
});

// Proves spec: guarantees#identity 35.
api_test!(a_generated_password_is_replaced_before_anything_else, |t| async move {
    let (person, email) = person(&t).await;
    set_password(&t, person.id, GIVEN, Some(t.app.platform.now())).await;
    let browser = Browser::new(&t);
    let (page, token) = browser.open_page(&[]).await;
    let before = browser.cookies.borrow()["bailiwick-browser"].clone();
    let thief = Browser::new(&t);
    thief.cookies.borrow_mut().insert("bailiwick-browser".into(), before.clone());
    let next = browser.submit(&page, &token, &email, GIVEN).await.expect(303);
    assert_eq!(next.header("location"), Some(page.as_str()));
    assert!(!browser.cookies.borrow().contains_key("bailiwick-login"), "no session yet");
    assert_ne!(browser.cookies.borrow()["bailiwick-browser"], before);
    thief.get(&page).await.expect(400);

    let shown = browser.get(&page).await.expect(200);
    assert!(shown.text().contains("Choose a new password"));
    let token = form_token(&shown);
    let save = async |new: &str, again: &str| {
        let form = [
            ("form_token", token.as_str()),
            ("form", "new_password"),
            ("new_password", new),
            ("new_password_again", again),
        ];
        browser.post(&page, &form).await
    };
    for (new, again, text) in [
        ("", "", "Enter a new password"),
        (CHOSEN, GIVEN, "differ"),
        ("Short-1", "Short-1", "too short"),
        ("Correct-Password-7-Zz", "Correct-Password-7-Zz", "common word"),
        (GIVEN, GIVEN, "password you have"),
    ] {
        let reply = save(new, again).await.expect(422);
        assert!(reply.text().contains(text), "{}", reply.text());
        assert!(
            !reply.text().contains(CHOSEN) && !reply.text().contains("Short-1"),
            "no password comes back"
        );
    }
    let address = save(CHOSEN, CHOSEN).await.expect(303).header("location").unwrap().to_owned();
    redeem(&t, &query(&address)["code"], &[]).await.expect(200);
    t.get("/api/me").bearer(&person.token).send().await.expect_message(401, "token has been revoked");

    let other = Browser::new(&t);
    let (page, token) = other.open_page(&[]).await;
    other.submit(&page, &token, &email, GIVEN).await.expect(422);
    let done = other.submit(&page, &token, &email, CHOSEN).await.expect(303);
    assert!(query(done.header("location").unwrap()).contains_key("code"));
});

// Proves spec: guarantees#identity 35.
api_test!(a_generated_password_expires, |t| async move {
    let (person, email) = person(&t).await;
    set_password(&t, person.id, GIVEN, Some(t.app.platform.now())).await;
    t.advance(Duration::from_secs(7 * 86_400 - 1));
    let browser = Browser::new(&t);
    let (page, token) = browser.open_page(&[]).await;
    browser.submit(&page, &token, &email, GIVEN).await.expect(303);
    let token = form_token(&browser.get(&page).await.expect(200));
    t.advance(Duration::from_secs(1));
    let form = [
        ("form_token", token.as_str()),
        ("form", "new_password"),
        ("new_password", CHOSEN),
        ("new_password_again", CHOSEN),
    ];
    browser.post(&page, &form).await.expect(400);
    let (page, token) = browser.open_page(&[]).await;
    let reply = browser.submit(&page, &token, &email, GIVEN).await.expect(422);
    assert!(reply.text().contains("is wrong"));
});
