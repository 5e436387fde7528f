//! Forgotten passwords.

use super::*;
use crate::provider::client::OWNER;
use bailiwick_store::Db;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const OTHER: &str = "Other-Horse-5-Staple";

/// A user who has requested a new password, with the link from the mail.
async fn requested_link(t: &Test, sink: &SmtpSink) -> (Persona, String) {
    let home = t.tree().await.customer;
    let person = t.user(home, &["reader"]).await;
    let email = email_of(t, person.id).await;
    ask(t, &email, "192.0.2.1").await.expect(200);
    let mail = last(&deliver(t, sink).await, 1);
    assert_eq!(mail.to, [email]);
    (person, link_in(&mail))
}

async fn email_of(t: &Test, user: UserId) -> String {
    mail_links::addresses(&t.app.platform.db, user).await.unwrap().unwrap().email
}

/// The user's address no longer counts as verified.
async fn doubt(t: &Test, user: UserId) {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let q = Q::new("UPDATE users SET email_verified = ? WHERE id = ?").bind(false).bind(user);
    q.run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
}

async fn links(db: &Db) -> i64 {
    let row: Option<(i64,)> =
        Q::new("SELECT CAST(count(*) AS BIGINT) FROM mail_links").optional(db).await.unwrap();
    row.unwrap().0
}

// Proves spec: acceptance#scenarios 3.
mail_test!(a_forgotten_password_is_replaced_by_a_link, |t, sink| async move {
    let browser = Browser::new(&t);
    let (page, _) = browser.open_page(&[]).await;
    assert!(browser.get(&page).await.text().contains("href=\"/oidc/forgotten-password\""));
    let (person, link) = requested_link(&t, &sink).await;
    doubt(&t, person.id).await;
    let mail = last(&sink.messages().unwrap(), 1);
    assert_eq!(mail.subject(), "Choose a new password");
    assert!(link.starts_with("http://127.0.0.1:8080/oidc/new-password/"), "{link}");
    assert!(mail.html.unwrap().contains(&link.replace('/', "&#x2f;")));
    assert!(!is_verified(&t, person.id).await);

    let reply = reset(&t, &link, CHOSEN).await.expect(200);
    assert!(reply.text().contains("Your password is changed"), "{}", reply.text());
    assert!(is_verified(&t, person.id).await);
    let dead =
        t.get("/api/me").bearer(&person.token).send().await.expect_message(401, "token has been revoked");
    assert_eq!(dead.data()["reason"], "password changed");
    let email = email_of(&t, person.id).await;
    let (_, done) = sign_in(&Browser::new(&t), &email, CHOSEN).await;
    assert_eq!(
        done.expect(303).header("location"),
        Some("http://127.0.0.1:8080/oidc/login"),
        "nothing to replace"
    );

    let again = reset(&t, &link, OTHER).await.expect(400);
    assert!(again.text().contains("no longer valid"));
    sign_in(&Browser::new(&t), &email, CHOSEN).await.1.expect(303);
});

mail_test!(the_answer_is_the_same_for_everybody, |t, sink| async move {
    let home = t.tree().await.customer;
    let (known, suspended, deleted) =
        (t.user(home, &["reader"]).await, t.user(home, &["reader"]).await, t.user(home, &["reader"]).await);
    let mut names = vec!["nobody@example.org".to_owned(), "nobody".to_owned()];
    for person in [&known, &suspended, &deleted] {
        names.push(email_of(&t, person.id).await);
    }
    t.suspend_user(suspended.id).await;
    t.delete_user(deleted.id).await;
    let mut answers = Vec::new();
    for name in &names {
        answers.push(ask(&t, name, "192.0.2.1").await.expect(200).text());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let messages = deliver(&t, &sink).await;
    assert_eq!(last(&messages, 1).to, [names[2].clone()], "only who may come in gets one");
    assert_eq!(jobs(&t).await.len(), 0);
});

mail_test!(a_user_name_will_do_and_the_host_of_the_request_does_not_matter, |t, sink| async move {
    let browser = Browser::new(&t);
    let token = form_token(&browser.get("/oidc/forgotten-password").await.expect(200));
    let form = [("form_token", token.as_str()), ("name", "owner")];
    let call = t.post("/oidc/forgotten-password").form(&form).header("host", "evil.example");
    browser.send(call.header("x-forwarded-host", "evil.example")).await.expect(200);
    let mail = last(&deliver(&t, &sink).await, 1);
    assert_eq!(mail.to, [OWNER]);
    assert!(link_in(&mail).starts_with("http://127.0.0.1:8080/"));
    assert!(!mail.body().contains("evil") && !mail.html.unwrap().contains("evil"));
});

mail_test!(an_account_gets_three_mails_an_hour, |t, sink| async move {
    for n in 0..5 {
        ask(&t, OWNER, &format!("192.0.2.{n}")).await.expect(200);
    }
    assert_eq!(deliver(&t, &sink).await.len(), 3);
    t.advance(HOUR);
    ask(&t, OWNER, "192.0.2.1").await.expect(200);
    assert_eq!(deliver(&t, &sink).await.len(), 4);
});

mail_test!(an_address_gets_twenty_an_hour_and_the_same_page_beyond, |t, sink| async move {
    let first = ask(&t, "nobody0@example.org", "192.0.2.1").await.expect(200).text();
    for n in 1..20 {
        ask(&t, &format!("nobody{n}@example.org"), "192.0.2.1").await.expect(200);
    }
    let beyond = ask(&t, OWNER, "192.0.2.1").await.expect(200).text();
    assert_eq!(beyond, first);
    assert_eq!(deliver(&t, &sink).await.len(), 0);
    ask(&t, OWNER, "192.0.2.2").await.expect(200);
    assert_eq!(deliver(&t, &sink).await.len(), 1);
});

mail_test!(of_two_links_used_at_once_one_works, |t, sink| async move {
    let (person, first) = requested_link(&t, &sink).await;
    let email = email_of(&t, person.id).await;
    ask(&t, &email, "192.0.2.1").await.expect(200);
    let second = link_in(&last(&deliver(&t, &sink).await, 2));
    assert_ne!(first, second);
    let (one, two) = tokio::join!(reset(&t, &first, CHOSEN), reset(&t, &second, OTHER));
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400]);
    let works = if one.status == 200 { CHOSEN } else { OTHER };
    sign_in(&Browser::new(&t), &email, works).await.1.expect(303);
});

mail_test!(one_link_used_twice_at_once_works_once, |t, sink| async move {
    let (_, link) = requested_link(&t, &sink).await;
    let (one, two) = tokio::join!(reset(&t, &link, CHOSEN), reset(&t, &link, OTHER));
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400]);
});

mail_test!(a_link_lives_an_hour_and_not_beyond_a_change_of_the_password, |t, sink| async move {
    let (person, link) = requested_link(&t, &sink).await;
    t.advance(HOUR - Duration::from_secs(1));
    Browser::new(&t).get(&link).await.expect(200);
    t.advance(Duration::from_secs(1));
    Browser::new(&t).get(&link).await.expect(400);
    reset(&t, &link, CHOSEN).await.expect(400);
    assert_eq!(mail::purge(&t.app.events).await.unwrap(), 0);
    t.advance(Duration::from_secs(1));
    assert_eq!(mail::purge(&t.app.events).await.unwrap(), 1);
    assert_eq!(links(&t.app.platform.db).await, 0);

    ask(&t, &email_of(&t, person.id).await, "192.0.2.1").await.expect(200);
    let link = link_in(&last(&deliver(&t, &sink).await, 2));
    let owner = t.owner().await;
    let path = format!("/api/users/{}/password", person.id);
    let body = json!({"password": OTHER});
    t.patch(&path).bearer(&owner.token).json(body).send().await.expect(200);
    Browser::new(&t).get(&link).await.expect(400);
    reset(&t, &link, CHOSEN).await.expect(400);
});

mail_test!(a_changed_address_ends_the_links_to_the_one_before, |t, sink| async move {
    let (person, link) = requested_link(&t, &sink).await;
    let owner = t.owner().await;
    let body = json!({"email": "moved@example.org"});
    t.put(&format!("/api/users/{}", person.id)).bearer(&owner.token).json(body).send().await.expect(200);
    reset(&t, &link, CHOSEN).await.expect(400);
});

mail_test!(the_pages_refuse_forms_of_others_and_weak_passwords_and_keep_the_link, |t, sink| async move {
    let (person, link) = requested_link(&t, &sink).await;
    let browser = Browser::new(&t);
    let token = open(&browser, &link).await;
    let asking = form_token(&browser.get("/oidc/forgotten-password").await.expect(200));
    let post = |token: &str, new: &str, again: &str| {
        let form = [("form_token", token), ("new_password", new), ("new_password_again", again)];
        t.post(local(&link)).form(&form)
    };
    for bad in ["", "x", &asking] {
        browser.send(post(bad, CHOSEN, CHOSEN)).await.expect(400);
    }
    post(&token, CHOSEN, CHOSEN).send().await.expect(400);
    for (new, again, says) in [
        (CHOSEN, OTHER, "differ"),
        ("Short-1", "Short-1", "too short"),
        ("alllowercase-and-1", "alllowercase-and-1", "capital letter"),
        ("", "", "Enter a new password"),
    ] {
        let reply = browser.send(post(&token, new, again)).await.expect(422);
        assert!(reply.text().contains(says), "{says}: {}", reply.text());
        assert_eq!(reply.header("x-frame-options"), Some("DENY"));
    }
    t.get("/api/me").bearer(&person.token).send().await.expect(200);
    browser.send(post(&token, CHOSEN, CHOSEN)).await.expect(200);
    let italian = t.get("/oidc/forgotten-password").header("accept-language", "it").send().await.expect(200);
    assert!(italian.text().contains("Hai dimenticato la password?") && !italian.text().contains("<script"));
    let stranger = Browser::new(&t);
    let form = [("form_token", asking.as_str()), ("name", OWNER)];
    stranger.post("/oidc/forgotten-password", &form).await.expect(400);
    for nonsense in ["/oidc/new-password/x", "/oidc/new-password/%ff", "/oidc/confirm-address/x"] {
        t.get(nonsense).send().await.expect(400);
    }
});

mail_test!(a_waiting_link_can_be_read_nowhere, |t, sink| async move {
    sink.answer(Some("451 later")).unwrap();
    ask(&t, OWNER, "192.0.2.1").await.expect(200);
    deliver(&t, &sink).await;
    let waiting = jobs(&t).await;
    assert_eq!(waiting.len(), 1);
    sink.answer(None).unwrap();
    t.advance(Duration::from_secs(60));
    let link = link_in(&last(&deliver(&t, &sink).await, 1));
    let token = link.rsplit('/').next().unwrap();
    assert_eq!(token.len(), 43);
    assert!(!waiting[0].payload.contains(token), "{waiting:?}");
    let hashes: Vec<(Vec<u8>,)> =
        Q::new("SELECT token_hash FROM mail_links").all(&t.app.platform.db).await.unwrap();
    assert_eq!(hashes, [(bailiwick_platform::keys::token_digest(token),)]);
});
