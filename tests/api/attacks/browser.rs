//! A browser with cookies that another person has chosen or knows.

use crate::provider::client::*;
use bailiwick_testkit::{Test, api_test};
use serde_json::json;

const GIVEN: &str = "Given-Horse-9-Battery";

/// Opens a sign-in, and hands its cookies to the browser of a victim: both have them from now on.
async fn planted(t: &Test) -> (Browser<'_>, Browser<'_>, String, String) {
    let thief = Browser::new(t);
    let (page, token) = thief.open_page(&[]).await;
    let victim = Browser::new(t);
    *victim.cookies.borrow_mut() = thief.cookies.borrow().clone();
    (thief, victim, page, token)
}

/// Checks that these cookies belong to no user and lead to nothing.
async fn is_nobody(thief: &Browser<'_>, page: &str) {
    let t = thief.t;
    thief.get(page).await.expect(400);
    let fields = [("form", "new_password"), ("new_password", "Stolen-Window-93-Rivers")];
    let again = [("form_token", ""), ("new_password_again", "Stolen-Window-93-Rivers")];
    thief.post(page, &[&fields[..], &again].concat()).await.expect(400);
    for step in ["submit", "consent"] {
        let reply = thief.send(t.post(&format!("/api/interaction/{step}"))).await;
        assert!([400, 422].contains(&reply.status.as_u16()), "{step}: {}", reply.text());
    }
    let redirect = thief.get(&authorization(&[("prompt", "none")])).await.expect(303);
    assert_eq!(query(redirect.header("location").unwrap())["error"], "login_required");
    thief.get("/oidc/login").await.expect(303);
}

api_test!(a_planted_cookie_does_not_follow_into_the_sign_in, |t| async move {
    let (thief, victim, page, token) = planted(&t).await;
    let done = victim.submit(&page, &token, OWNER, PASSWORD).await.expect(303);
    assert!(query(done.header("location").unwrap()).contains_key("code"));
    is_nobody(&thief, &page).await;
    // A login cookie that was there before is replaced.
    let chosen = Browser::new(&t);
    chosen.cookies.borrow_mut().insert("bailiwick-login".to_owned(), "A".repeat(43));
    chosen.code(&[]).await;
    assert_ne!(chosen.cookies.borrow()["bailiwick-login"], "A".repeat(43));
});

api_test!(a_planted_cookie_does_not_set_the_victims_password, |t| async move {
    let tree = t.tree().await;
    let person = t.user(tree.customer, &["reader"]).await;
    set_password(&t, person.id, GIVEN, Some(t.app.platform.now())).await;
    let email = email_of(&t, person.id).await;
    let (thief, victim, page, token) = planted(&t).await;
    let next = victim.submit(&page, &token, &email, GIVEN).await.expect(303);
    assert_eq!(next.header("location"), Some(page.as_str()));
    is_nobody(&thief, &page).await;
    // The victim goes on with the new cookie.
    victim.get(&page).await.expect(200);
});

api_test!(no_step_of_the_sign_in_can_be_left_out, |t| async move {
    let browser = Browser::new(&t);
    browser.code(&[]).await;
    for forced in [("prompt", "login"), ("max_age", "0")] {
        t.advance(std::time::Duration::from_secs(2));
        let sent = browser.get(&authorization(&[("prompt", ""), forced])).await.expect(303);
        assert!(sent.header("location").unwrap().starts_with(&format!("{BASE}/oidc/sign-in/")), "{forced:?}");
        browser.send(t.put("/api/interaction").json(json!({"event": "SignIn"}))).await.expect(204);
        for wrong in [None, Some(json!({"email": OWNER, "password": "Wrong-Horse-7-Battery"}))] {
            if let Some(wrong) = wrong {
                browser.send(t.patch("/api/interaction/identifiers").json(wrong)).await.expect(422);
            }
            let reply = browser.send(t.post("/api/interaction/submit")).await.expect(422);
            assert_eq!(reply.json()["code"], "session.identifier_not_found", "{forced:?}");
        }
    }
});
