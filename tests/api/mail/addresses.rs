//! Changed addresses.

use super::*;
use crate::provider::client::set_password;
use std::time::Duration;

const PASSWORD: &str = "Given-Horse-9-Battery";

/// A user with a password and a confirmed address.
async fn person(t: &Test) -> (Persona, String) {
    let home = t.tree().await.customer;
    let person = t.user(home, &["reader"]).await;
    set_password(t, person.id, PASSWORD, None).await;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    mail_links::verify(&mut tx, person.id).await.unwrap();
    tx.commit().await.unwrap();
    let email = mail_links::addresses(&t.app.platform.db, person.id).await.unwrap().unwrap().email;
    (person, email)
}

/// The link that went to an address.
fn link_to(messages: &[Received], address: &str) -> String {
    let mail = messages
        .iter()
        .rev()
        .find(|mail| mail.to == [address] && mail.body().contains("/oidc/confirm-address/"));
    link_in(mail.unwrap_or_else(|| panic!("no link to {address}")))
}

async fn confirm(browser: &Browser<'_>, link: &str, password: &str) -> Reply {
    let token = open(browser, link).await;
    browser.post(link, &[("form_token", token.as_str()), ("password", password)]).await
}

mail_test!(an_administrator_s_change_sends_a_mail_to_both_addresses, |t, sink| async move {
    let (person, old) = person(&t).await;
    let owner = t.owner().await;
    let put = async |body: Value| {
        t.put(&format!("/api/users/{}", person.id)).bearer(&owner.token).json(body).send().await.expect(200)
    };
    put(json!({"email": old, "name": "Anna"})).await;
    assert_eq!(deliver(&t, &sink).await.len(), 0, "nothing changed");
    assert!(is_verified(&t, person.id).await);
    put(json!({"email": "new@example.org"})).await;
    let messages = deliver(&t, &sink).await;
    let mut to: Vec<&str> = messages.iter().map(|m| m.to[0].as_str()).collect();
    to.sort_unstable();
    assert_eq!(to, ["new@example.org", old.as_str()]);
    for mail in &messages {
        assert_eq!(mail.subject(), "Your e-mail address was changed");
        assert!(mail.body().contains(&old) && mail.body().contains("new@example.org"));
        assert!(!mail.body().contains("/oidc/"), "no link");
    }
    assert!(!is_verified(&t, person.id).await);
});

mail_test!(an_own_change_is_confirmed_by_a_link_and_the_password, |t, sink| async move {
    let (person, old) = person(&t).await;
    change_info(&t, &person, json!({"email": "new@example.org", "name": "Anna"})).await.expect(200);
    let messages = deliver(&t, &sink).await;
    assert_eq!(messages.len(), 2);
    let notice = messages.iter().find(|mail| mail.to == [old.clone()]).unwrap();
    assert!(notice.body().contains("new@example.org") && !notice.body().contains("/oidc/"));
    let link = link_to(&messages, "new@example.org");
    assert!(link.starts_with("http://127.0.0.1:8080/oidc/confirm-address/"));

    let browser = Browser::new(&t);
    for _ in 0..3 {
        assert!(browser.get(&link).await.expect(200).text().contains("new@example.org"));
    }
    assert!(!is_verified(&t, person.id).await, "looking at it confirms nothing");
    for wrong in ["", "Wrong-Horse-9-Battery"] {
        let reply = confirm(&browser, &link, wrong).await.expect(422);
        assert!(reply.text().contains("The password is wrong"));
    }
    browser.post(&link, &[("form_token", "x"), ("password", PASSWORD)]).await.expect(400);
    assert!(!is_verified(&t, person.id).await);
    let done = confirm(&browser, &link, PASSWORD).await.expect(200);
    assert!(done.text().contains("Your address is confirmed"));
    assert!(is_verified(&t, person.id).await);
    browser.get(&link).await.expect(400);
    ask(&t, "new@example.org", "192.0.2.1").await.expect(200);
    assert_eq!(last(&deliver(&t, &sink).await, 3).to, ["new@example.org"]);
});

mail_test!(who_is_signed_in_at_the_provider_needs_no_password, |t, sink| async move {
    let (person, old) = person(&t).await;
    let (mine, theirs) = (Browser::new(&t), Browser::new(&t));
    sign_in(&mine, &old, PASSWORD).await.1.expect(303);
    sign_in(&theirs, crate::provider::client::OWNER, crate::provider::client::PASSWORD).await.1.expect(303);
    change_info(&t, &person, json!({"email": "new@example.org"})).await.expect(200);
    let link = link_to(&deliver(&t, &sink).await, "new@example.org");
    confirm(&theirs, &link, "").await.expect(422);
    assert!(!mine.get(&link).await.expect(200).text().contains("type=\"password\""));
    confirm(&mine, &link, "").await.expect(200);
    assert!(is_verified(&t, person.id).await);
});

mail_test!(a_confirmation_is_of_the_present_address_and_lives_a_week, |t, sink| async move {
    let (person, _) = person(&t).await;
    change_info(&t, &person, json!({"email": "one@example.org"})).await.expect(200);
    let one = link_to(&deliver(&t, &sink).await, "one@example.org");
    change_info(&t, &person, json!({"email": "two@example.org"})).await.expect(200);
    let two = link_to(&deliver(&t, &sink).await, "two@example.org");
    let browser = Browser::new(&t);
    confirm(&browser, &one, PASSWORD).await.expect(400);
    t.advance(Duration::from_secs(7 * 86_400 - 1));
    let token = open(&browser, &two).await;
    t.advance(Duration::from_secs(1));
    browser.get(&two).await.expect(400);
    browser.post(&two, &[("form_token", token.as_str()), ("password", PASSWORD)]).await.expect(400);
    assert!(!is_verified(&t, person.id).await);
});

// Proves spec: guarantees#identity 41.
mail_test!(a_stolen_session_takes_no_account_over, |t, sink| async move {
    let (stolen, old) = person(&t).await;
    change_info(&t, &stolen, json!({"email": "evil@evil.example"})).await.expect(200);
    let confirmation = link_to(&deliver(&t, &sink).await, "evil@evil.example");
    confirm(&Browser::new(&t), &confirmation, "").await.expect(422);
    // A second change does not make the first one the trusted address.
    change_info(&t, &stolen, json!({"email": "evil2@evil.example"})).await.expect(200);
    let before = deliver(&t, &sink).await.len();
    for name in ["evil2@evil.example", &old] {
        ask(&t, name, "192.0.2.1").await.expect(200);
    }
    let messages = deliver(&t, &sink).await;
    assert_eq!(messages.len(), before + 2);
    assert!(messages[before..].iter().all(|mail| mail.to == [old.clone()]), "{messages:?}");
    let link = link_in(&messages[before]);
    reset(&t, &link, CHOSEN).await.expect(200);
    assert!(!is_verified(&t, stolen.id).await, "it proves the address before, not the present one");
    t.get("/api/me").bearer(&stolen.token).send().await.expect(401);
    sign_in(&Browser::new(&t), "evil2@evil.example", PASSWORD).await.1.expect(422);
    sign_in(&Browser::new(&t), "evil2@evil.example", CHOSEN).await.1.expect(303);
});

mail_test!(an_administrator_decides_where_links_go, |t, sink| async move {
    let (person, old) = person(&t).await;
    change_info(&t, &person, json!({"email": "own@example.org"})).await.expect(200);
    let owner = t.owner().await;
    let path = format!("/api/users/{}", person.id);
    // Clients send every field: an unchanged address decides nothing.
    let body = json!({"email": "own@example.org", "name": "Anna"});
    t.put(&path).bearer(&owner.token).json(body).send().await.expect(200);
    ask(&t, "own@example.org", "192.0.2.1").await.expect(200);
    let messages = deliver(&t, &sink).await;
    assert_eq!(messages.last().unwrap().to, [old]);
    t.put(&path).bearer(&owner.token).json(json!({"email": "set@example.org"})).send().await.expect(200);
    deliver(&t, &sink).await;
    ask(&t, "set@example.org", "192.0.2.1").await.expect(200);
    assert_eq!(deliver(&t, &sink).await.last().unwrap().to, ["set@example.org"]);
});
