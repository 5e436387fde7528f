//! The own account, and how sessions end and go on (spec: acceptance#scenarios scenarios 2 and 6, acceptance#guarantees
//! rule 9).

use super::*;
use crate::provider::client::{Browser, OWNER, PASSWORD, query, redeem, set_password};
use bailiwick_testkit::api_test;
use std::time::Duration;

// Proves spec: acceptance#scenarios 2.
api_test!(own_details_and_a_wrong_password_keep_the_session, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.customer, &["reader"]).await;
    set_password(&t, user.id, PASSWORD, None).await;
    let running = t.serve().await;
    let spa = Spa::new(&running, "/api", &user.token);
    let info = json!({"name": "Nina Neri", "email": "nina@example.org", "phone": "+39 333 123456"});
    spa.post("/me/change-info", info).await.expect(200);
    let me = spa.get("/me").await.expect(200).data();
    assert_eq!((&me["name"], &me["email"]), (&json!("Nina Neri"), &json!("nina@example.org")));
    let change = |current: &str, new: &str| {
        let body = json!({"current_password": current, "new_password": new, "confirm_password": new});
        spa.post("/me/change-password", body)
    };
    let refused = change("Wrong-Horse-7-Battery", "Other-Window-93-Rivers").await;
    refused.expect_fields(&[("current_password", "incorrect_password")]);
    for (new, code) in [
        ("lower-case-only-7", "missing_uppercase"),
        ("UPPER-CASE-ONLY-7", "missing_lowercase"),
        ("No-Digit-At-All", "missing_digit"),
        ("NoSpecialChar77", "missing_special_char"),
        ("Secure-Password-7", "contains_weak_patterns"),
        ("Zzzzz-7-Quux-Frob", "too_many_repeating_chars"),
    ] {
        let reply = change(PASSWORD, new).await.expect(400);
        let errors = reply.data()["errors"].clone();
        assert!(errors.to_string().contains(code) && errors[0]["key"] == "new_password", "{new}: {errors}");
    }
    spa.get("/me").await.expect(200);
    change(PASSWORD, "Other-Window-93-Rivers").await.expect(200);
    spa.get("/me").await.expect(200);
    let rival = t.user(tree.other_customer, &["reader"]).await;
    let rival = Spa::new(&running, "/api", &rival.token);
    let taken = rival.post("/me/change-info", json!({"email": "nina@example.org"})).await;
    taken.expect_fields(&[("email", "already_exists")]);
});

// Proves spec: acceptance#scenarios 6.
api_test!(who_was_away_too_long_signs_in_again_and_comes_back_to_his_page, |t| async move {
    let user = t.owner().await;
    let running = t.serve().await;
    let spa = Spa::new(&running, "/api", &user.token);
    spa.get("/systems").await.expect(200);
    t.advance(Duration::from_secs(8 * 86_400));
    spa.get("/systems").await.expect(401);
    spa.post("/auth/refresh", json!({"refresh_token": user.refresh_token})).await.expect(401);
    // The application keeps the page that the user wanted under its `state`, which comes back as it was.
    let state = "page=%2Fsystems%2F42%3Ftab%3Dinventory&n=+/=";
    let back = query(&Browser::new(&t).sign_in(OWNER, PASSWORD, &[("state", state)]).await);
    assert_eq!(back["state"], state);
    let tokens = redeem(&t, &back["code"], &[]).await.expect(200).json();
    let session = spa.post("/auth/exchange", json!({"access_token": tokens["access_token"]})).await;
    let spa = Spa::new(&running, "/api", &text(&session.expect(200).data(), "token"));
    spa.get("/systems").await.expect(200);
});

// Proves spec: acceptance#guarantees 9.
api_test!(requests_under_way_at_a_refresh_keep_their_token_to_its_end, |t| async move {
    let user = t.owner().await;
    let running = t.serve().await;
    let old = Spa::new(&running, "/api", &user.token);
    // At least 25 minutes by default; the older release refreshes after 20 without waiting for it.
    t.advance(Duration::from_secs(20 * 60));
    let refreshed = old.post("/auth/refresh", json!({"refresh_token": user.refresh_token})).await;
    let refreshed = refreshed.expect(200).data();
    let lasts = refreshed["expires_in"].as_u64().unwrap();
    assert!(lasts >= 25 * 60, "{lasts}");
    old.get("/systems").await.expect(200);
    t.advance(Duration::from_secs(lasts - 20 * 60 - 1));
    old.get("/systems").await.expect(200);
    t.advance(Duration::from_secs(1));
    old.get("/systems").await.expect(401);
    let new = Spa::new(&running, "/api", &text(&refreshed, "token"));
    new.get("/systems").await.expect(200);
});
