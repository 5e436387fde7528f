//! Authenticator applications and recovery codes.

use super::*;
use bailiwick_store::sql::Q;
use bailiwick_testkit::api_test;

api_test!(an_application_is_added_with_its_first_code, |t| async move {
    let owner = t.owner().await;
    let post = |path: &str, body: Value| t.post(path).bearer(&owner.token).json(body).send();
    let nothing = overview(&t, &owner).await;
    assert_eq!(nothing["totp"], Value::Null);
    assert_eq!((&nothing["is_required"], &nothing["recovery_codes_left"]), (&json!(false), &json!(0)));
    post("/api/me/second-factors/recovery-codes", json!({})).await.expect(409);
    t.delete("/api/me/second-factors/totp").bearer(&owner.token).send().await.expect(404);
    let offer = post("/api/me/second-factors/totp/options", json!({})).await.expect(200).data();
    let secret = offer["secret"].as_str().unwrap();
    let uri = offer["uri"].as_str().unwrap();
    assert!(uri.starts_with("otpauth://totp/Bailiwick:owner%40example.org?"), "{uri}");
    assert!(uri.contains(&format!("secret={secret}")), "{uri}");
    assert!(offer["qr_code"].as_str().unwrap().contains("<svg"));
    let state = &offer["state"];
    let path = "/api/me/second-factors/totp";
    for (body, field) in [
        (json!({}), "state"),
        (json!({"state": state}), "code"),
        (json!({"state": state, "code": wrong_code(&t, secret)}), "code"),
        (json!({"state": state, "code": "12345"}), "code"),
        (json!({"state": "AAAA", "code": code_at(&t, secret, 0)}), "code"),
    ] {
        let refused = post(path, body).await.expect(400).data();
        let error = &refused["errors"][0];
        assert_eq!((&error["key"], &error["value"]), (&json!(field), &json!("")), "{refused}");
    }
    let added = post(path, json!({"state": state, "code": code_at(&t, secret, 0)})).await.expect(201).data();
    let codes = texts(&added["recovery_codes"]);
    assert_eq!(codes.len(), 10);
    let now = overview(&t, &owner).await;
    assert_eq!((&now["recovery_codes_left"], &now["totp"]["last_used_at"]), (&json!(10), &Value::Null));
    // Another device takes the place of the first one; the recovery codes stay.
    t.advance(Duration::from_secs(60));
    let (_, again) = add_totp(&t, &owner).await;
    assert_eq!(again["recovery_codes"], json!([]));
    // The offer of someone else is of no use.
    let other = t.user(t.tree().await.customer, &["reader"]).await;
    let body = json!({"state": state, "code": code_at(&t, secret, 0)});
    t.post(path).bearer(&other.token).json(body).send().await.expect(400);
    t.delete(path).bearer(&owner.token).send().await.expect(200);
    assert_eq!(overview(&t, &owner).await["recovery_codes_left"], 0);
    let last = ["user.add_second_factor", "user.add_second_factor", "user.remove_second_factor"];
    assert!(has_recorded(&t, &last).await, "{:?}", actions(&t).await);
});

api_test!(a_code_follows_the_password_and_counts_once, |t| async move {
    let owner = owner(&t).await;
    let browser = Browser::new(&t);
    let (page, shown) = after_password(&browser).await;
    assert!(shown.text().contains("autocomplete=\"one-time-code\""));
    let wrong = send_code(&browser, &page, &shown, &wrong_code(&t, &owner.secret)).await.expect(422);
    assert!(wrong.text().contains("The code is wrong or was used before."));
    let code = code_at(&t, &owner.secret, 0);
    let done =
        send_code(&browser, &page, &wrong, &format!("{} {}", &code[..3], &code[3..])).await.expect(303);
    let claims = claims(&t, &done).await;
    assert_eq!(claims["amr"], json!(["pwd", "otp", "mfa"]));
    // The same code, and one before it, is worth nothing at the next sign-in.
    for replayed in [code.clone(), code_at(&t, &owner.secret, -30)] {
        let browser = Browser::new(&t);
        let (page, shown) = after_password(&browser).await;
        send_code(&browser, &page, &shown, &replayed).await.expect(422);
    }
    let browser = Browser::new(&t);
    let (page, shown) = after_password(&browser).await;
    send_code(&browser, &page, &shown, &code_at(&t, &owner.secret, 30)).await.expect(303);
    // A browser with such a login goes on without a page.
    browser.get(&authorization(&[("prompt", "none")])).await.expect(303);
    assert!(overview(&t, &owner.persona).await["totp"]["last_used_at"].is_string());
});

api_test!(one_step_of_skew_counts_and_two_do_not, |t| async move {
    let owner = owner(&t).await;
    for (skew, status) in [(-60, 422), (60, 422), (-30, 303), (30, 303)] {
        t.advance(Duration::from_secs(300));
        let browser = Browser::new(&t);
        let (page, shown) = after_password(&browser).await;
        let reply = send_code(&browser, &page, &shown, &code_at(&t, &owner.secret, skew)).await;
        assert_eq!(reply.status.as_u16(), status, "{skew}");
    }
});

api_test!(each_recovery_code_counts_once_and_new_ones_replace_all, |t| async move {
    let owner = owner(&t).await;
    let sign_in = async |code: &str| {
        let browser = Browser::new(&t);
        let (page, shown) = after_password(&browser).await;
        send_code(&browser, &page, &shown, code).await
    };
    let first = &owner.recovery_codes[0];
    let done = sign_in(&first.to_uppercase()).await.expect(303);
    assert_eq!(claims(&t, &done).await["amr"], json!(["pwd", "otp", "mfa"]));
    sign_in(first).await.expect(422);
    assert_eq!(overview(&t, &owner.persona).await["recovery_codes_left"], 9);
    let path = "/api/me/second-factors/recovery-codes";
    let renewed = t.post(path).bearer(&owner.persona.token).send().await.expect(201).data();
    let renewed = texts(&renewed["recovery_codes"]);
    assert!(has_recorded(&t, &["user.new_recovery_codes"]).await);
    sign_in(&owner.recovery_codes[1]).await.expect(422);
    sign_in(&renewed[9]).await.expect(303);
});

api_test!(an_application_sealed_with_a_lost_secret_has_no_right_code, |t| async move {
    let owner = owner(&t).await;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let seal = Q::new("UPDATE second_factors SET totp_secret = ? WHERE user_id = ?");
    assert_eq!(seal.bind(vec![0_u8; 60]).bind(owner.persona.id).run(&mut tx).await.unwrap(), 1);
    tx.commit().await.unwrap();
    let browser = Browser::new(&t);
    let (page, mut shown) = after_password(&browser).await;
    for _ in 0..10 {
        shown = send_code(&browser, &page, &shown, &code_at(&t, &owner.secret, 0)).await.expect(422);
        assert!(shown.text().contains("The code is wrong or was used before."));
    }
    send_code(&browser, &page, &shown, &code_at(&t, &owner.secret, 0)).await.expect(429);
    send_code(&browser, &page, &shown, &owner.recovery_codes[0]).await.expect(303);
});

api_test!(a_script_sends_a_code, |t| async move {
    let owner = owner(&t).await;
    let script = Browser::new(&t);
    script.get(&authorization(&[])).await.expect(303);
    let send = async |body: Value| script.send(t.post("/api/interaction/second-factor").json(body)).await;
    let code_of = |reply: Reply| reply.expect(422).json()["code"].clone();
    assert_eq!(code_of(send(json!({"code": "123456"})).await), "session.identifier_not_found");
    let body = json!({"email": OWNER, "password": PASSWORD});
    script.send(t.patch("/api/interaction/identifiers").json(body)).await.expect(204);
    let submit = async || script.send(t.post("/api/interaction/submit")).await;
    assert_eq!(code_of(submit().await), "second_factor.required");
    let wrong = json!({"code": wrong_code(&t, &owner.secret)});
    assert_eq!(code_of(send(wrong).await), "second_factor.invalid_code");
    send(json!({})).await.expect(400);
    send(json!({"code": code_at(&t, &owner.secret, 0)})).await.expect(204);
    let next = submit().await.expect(200).json();
    let done = script.get(next["redirectTo"].as_str().unwrap()).await.expect(303);
    assert_eq!(claims(&t, &done).await["amr"], json!(["pwd", "otp", "mfa"]));
    // The address of a sign-in that waits for a code leads to its page, not on.
    let script = Browser::new(&t);
    let (page, _) = script.open_page(&[]).await;
    let body = json!({"email": OWNER, "password": PASSWORD});
    script.send(t.patch("/api/interaction/identifiers").json(body)).await.expect(204);
    let waiting = script.get(&page.replace("/sign-in/", "/auth/")).await.expect(303);
    assert_eq!(waiting.header("location"), Some(page.as_str()));
});

api_test!(a_generated_password_is_replaced_after_the_code, |t| async move {
    let owner = owner(&t).await;
    set_password(&t, owner.persona.id, PASSWORD, Some(t.app.platform.now())).await;
    let browser = Browser::new(&t);
    let (page, shown) = after_password(&browser).await;
    let new = "Another-Harbour-59-Lamps";
    let replace = async |shown: &Reply| {
        let token = form_token(shown);
        let form = [("form_token", token.as_str()), ("form", "new_password")];
        browser
            .post(&page, &[&form[..], &[("new_password", new), ("new_password_again", new)]].concat())
            .await
    };
    replace(&shown).await.expect(400);
    let next = send_code(&browser, &page, &shown, &code_at(&t, &owner.secret, 0)).await.expect(303);
    assert_eq!(next.header("location"), Some(page.as_str()));
    let shown = browser.get(&page).await.expect(200);
    let done = replace(&shown).await.expect(303);
    assert_eq!(claims(&t, &done).await["amr"], json!(["pwd", "otp", "mfa"]));
});

api_test!(a_new_factor_ends_what_was_right_before, |t| async move {
    let persona = t.owner().await;
    // A login by password alone, and a script that has sent the password.
    let browser = Browser::new(&t);
    browser.code(&[]).await;
    browser.get(&authorization(&[("prompt", "none")])).await.expect(303);
    let script = Browser::new(&t);
    script.get(&authorization(&[])).await.expect(303);
    let body = json!({"email": OWNER, "password": PASSWORD});
    script.send(t.patch("/api/interaction/identifiers").json(body)).await.expect(204);
    add_totp(&t, &persona).await;
    sent_back(browser.get(&authorization(&[("prompt", "none")])).await, "login_required");
    script.send(t.post("/api/interaction/submit")).await.expect(400);
});

api_test!(how_someone_has_signed_in_is_listed_and_recorded, |t| async move {
    let owner = owner(&t).await;
    let browser = Browser::new(&t);
    let (page, shown) = after_password(&browser).await;
    let done = send_code(&browser, &page, &shown, &code_at(&t, &owner.secret, 0)).await.expect(303);
    let code = query(done.header("location").unwrap())["code"].clone();
    let tokens = redeem(&t, &code, &[]).await.expect(200).json();
    let session = exchange(&t, tokens["access_token"].as_str().unwrap()).await.expect(200).data();
    let list = t.get("/api/me/sessions").bearer(session["token"].as_str().unwrap()).send().await.expect(200);
    let list = list.data();
    let present = list["sessions"].as_array().unwrap().iter().find(|s| s["is_present"] == true).unwrap();
    assert_eq!(present["methods"], json!(["password", "totp"]));
    let rows =
        bailiwick_store::audit::page(&t.app.platform.db, &Default::default(), None, 100).await.unwrap();
    let row = rows.iter().find(|row| row.action == "user.sign_in").unwrap();
    assert_eq!(row.after, Some(json!({"methods": ["password", "totp"]})));
    assert_eq!(row.object_id, Some(owner.persona.id.0));
});

api_test!(a_later_sign_in_lends_nothing_to_tokens_granted_before, |t| async move {
    let browser = Browser::new(&t);
    let before = redeem(&t, &browser.code(&[]).await, &[]).await.expect(200).json();
    let owner = owner(&t).await;
    t.advance(Duration::from_secs(900));
    // The same browser signs in again, with its second factor now.
    let (page, token) = browser.open_page(&[("prompt", "login")]).await;
    browser.submit(&page, &token, OWNER, PASSWORD).await.expect(303);
    let shown = browser.get(&page).await.expect(200);
    let done = send_code(&browser, &page, &shown, &code_at(&t, &owner.secret, 0)).await.expect(303);
    assert_eq!(claims(&t, &done).await["amr"], json!(["pwd", "otp", "mfa"]));

    let renewed = refresh(&t, before["refresh_token"].as_str().unwrap()).await.expect(200).json();
    let id_token =
        crate::provider::flow::verified(&t, renewed["id_token"].as_str().unwrap(), "bailiwick").await;
    assert_eq!(id_token["amr"], json!(["pwd"]));
    let session = exchange(&t, renewed["access_token"].as_str().unwrap()).await.expect(200).data();
    let session = session["token"].as_str().unwrap();
    let sessions = t.get("/api/me/sessions").bearer(session).send().await.expect(200).data();
    let own = sessions["sessions"].as_array().unwrap().iter().find(|one| one["is_present"] == true).unwrap();
    assert_eq!(own["methods"], json!(["password"]));
    let body = json!({"current_password": PASSWORD, "new_password": "Another1!Passage"});
    let refused = t.post("/api/me/change-password").bearer(session).json(body).send().await.expect(401);
    assert_eq!(refused.data()["reason"], "fresh_sign_in_required");
});
