//! The texts of mails, and the first sign-in with a mailed password.

use super::*;
use bailiwick_domain::{OrgId, OrgType};
use bailiwick_testkit::api_test;
use std::time::Duration;

async fn customer(t: &Test, owner: &Persona, name: &str, language: Option<&str>) -> OrgId {
    let mut custom = json!({"vat": format!("IT{:011}", name.len())});
    if let Some(language) = language {
        custom["language"] = json!(language);
    }
    let body = json!({"name": name, "custom_data": custom});
    let made = t.post("/api/customers").bearer(&owner.token).json(body).send().await.expect(201).data();
    made["id"].as_str().unwrap().parse().unwrap()
}

mail_test!(a_new_user_is_welcomed_in_the_language_of_their_organization, |t, sink| async move {
    let owner = t.owner().await;
    let home = customer(&t, &owner, "Città & Figli", Some("it")).await;
    create(&t, &owner, "m.rossi@example.org", home).await;
    let mail = last(&deliver(&t, &sink).await, 1);
    assert_eq!(mail.subject(), "Benvenuto su Città & Figli - Account Creato");
    assert_eq!(mail.to, ["m.rossi@example.org"]);
    assert_eq!(mail.headers["from"], "Fleet <help@fleet.example.org>");
    assert_eq!(mail.headers["to"], "Mario Rossi <m.rossi@example.org>");
    assert!(mail.headers["message-id"].ends_with("@fleet.example.org>"));
    assert_eq!(mail.headers["auto-submitted"], "auto-generated");
    assert_eq!(mail.kinds, ["multipart/alternative", "text/plain", "text/html"]);
    let html = mail.html.clone().unwrap();
    for part in ["Mario Rossi", "m.rossi@example.org", "Cliente", "Reader", "help@fleet.example.org"] {
        assert!(mail.body().contains(part) && html.contains(part), "{part} in {}", mail.body());
    }
    assert!(mail.body().contains("Città & Figli (Cliente)") && html.contains("Città &amp; Figli (Cliente)"));
    assert_eq!(link_in(&mail), "https://ui.example.org/account?changePassword=true");
    assert!(mail.body().contains("2026-03-11 10:00 UTC"), "{}", mail.body());
    insta::assert_snapshot!("welcome_it", mail.body().replace(&password_in(&mail), "[password]"));
});

mail_test!(names_of_older_rules_are_text_too, |t, sink| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let home = t.organization(tree.reseller, OrgType::Customer, "<b>Evil</b>\r\nBcc: x@evil.example").await;
    create(&t, &owner, "a@example.org", home).await;
    let mail = last(&deliver(&t, &sink).await, 1);
    assert_eq!(mail.subject(), "Welcome to <b>Evil</b> Bcc: x@evil.example - Account Created");
    assert_eq!(mail.to, ["a@example.org"]);
    assert!(!mail.headers.contains_key("bcc"));
    let html = mail.html.clone().unwrap();
    assert!(html.contains("&lt;b&gt;Evil") && !html.contains("<b>Evil"), "{html}");
    assert!(mail.body().contains("(Customer)"), "{}", mail.body());
    insta::assert_snapshot!("welcome_en", mail.body().replace(&password_in(&mail), "[password]"));
});

// Proves spec: acceptance#scenarios 1, guarantees#identity 35.
mail_test!(a_mailed_password_is_replaced_at_the_first_sign_in, |t, sink| async move {
    let owner = t.owner().await;
    let home = t.tree().await.customer;
    let user = create(&t, &owner, "m@example.org", home).await;
    let password = password_in(&last(&deliver(&t, &sink).await, 1));
    assert!(!is_verified(&t, user).await);
    let browser = Browser::new(&t);
    let (page, reply) = sign_in(&browser, "m@example.org", &password).await;
    assert_eq!(reply.expect(303).header("location"), Some(page.as_str()), "not in yet");
    browser.get("/oidc/login").await.expect(303);
    let token = form_token(&browser.get(&page).await.expect(200));
    let form = [
        ("form_token", token.as_str()),
        ("form", "new_password"),
        ("new_password", CHOSEN),
        ("new_password_again", CHOSEN),
    ];
    assert!(!is_verified(&t, user).await);
    browser.post(&page, &form).await.expect(303);
    assert!(is_verified(&t, user).await, "he reads the mailbox the password went to");
    sign_in(&Browser::new(&t), "m@example.org", &password).await.1.expect(422);
    sign_in(&Browser::new(&t), "m@example.org", CHOSEN).await.1.expect(303);
});

// Proves spec: guarantees#identity 35.
mail_test!(a_mailed_password_expires, |t, sink| async move {
    let owner = t.owner().await;
    let home = t.tree().await.customer;
    create(&t, &owner, "m@example.org", home).await;
    let password = password_in(&last(&deliver(&t, &sink).await, 1));
    t.advance(Duration::from_secs(7 * 86_400));
    sign_in(&Browser::new(&t), "m@example.org", &password).await.1.expect(422);
});

mail_test!(a_password_mailed_to_another_address_proves_nothing_of_the_present_one, |t, sink| async move {
    let owner = t.owner().await;
    let home = t.tree().await.customer;
    let user = create(&t, &owner, "wrong@example.org", home).await;
    let password = password_in(&last(&deliver(&t, &sink).await, 1));
    let body = json!({"email": "right@example.org"});
    t.put(&format!("/api/users/{user}")).bearer(&owner.token).json(body).send().await.expect(200);
    let browser = Browser::new(&t);
    let (page, reply) = sign_in(&browser, "right@example.org", &password).await;
    reply.expect(303);
    let token = form_token(&browser.get(&page).await.expect(200));
    let form = [
        ("form_token", token.as_str()),
        ("form", "new_password"),
        ("new_password", CHOSEN),
        ("new_password_again", CHOSEN),
    ];
    browser.post(&page, &form).await.expect(303);
    assert!(!is_verified(&t, user).await);
});

api_test!(without_a_mail_server_everything_else_works, |t| async move {
    let owner = t.owner().await;
    let home = t.tree().await.customer;
    let user = create(&t, &owner, "m@example.org", home).await;
    let body = json!({"email": "n@example.org"});
    t.put(&format!("/api/users/{user}")).bearer(&owner.token).json(body).send().await.expect(200);
    let person = t.session(user).await;
    change_info(&t, &person, json!({"email": "o@example.org"})).await.expect(200);
    assert_eq!(jobs(&t).await.len(), 0);
    assert_eq!(mail::run_until_idle(&t.app.events).await.unwrap(), 0);
    t.get("/oidc/forgotten-password").send().await.expect(404);
    t.post("/oidc/forgotten-password").form(&[("name", "m@example.org")]).send().await.expect(404);
    let browser = Browser::new(&t);
    let (page, _) = browser.open_page(&[]).await;
    assert!(!browser.get(&page).await.text().contains("forgotten-password"));
});
