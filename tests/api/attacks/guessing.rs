//! The limits on wrong passwords: their answers to a stranger, and ways to get round them.

use crate::provider::client::*;
use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::{Value, json};
use std::time::Duration;

const WRONG: &str = "Wrong-Horse-7-Battery";
const RIGHT: &str = "Wandering-Otter-7-Lamp";

/// A user with a password of their own, and the user's address.
async fn person(t: &Test) -> (Persona, String) {
    let tree = t.tree().await;
    let person = t.user(tree.customer, &["admin"]).await;
    set_password(t, person.id, RIGHT, None).await;
    let email = email_of(t, person.id).await;
    (person, email)
}

/// A script that has begun a sign-in.
async fn script(t: &Test) -> Browser<'_> {
    let script = Browser::new(t);
    script.get(&authorization(&[])).await.expect(303);
    script
}

/// A field, and the name that is typed into it.
type Typed<'a> = (&'a str, &'a str);

/// A try with a name and a password, with the name in this field.
async fn try_as(script: &Browser<'_>, field: &str, name: &str, password: &str) -> u16 {
    let body = Value::from_iter([(field, name), ("password", password)]);
    script.send(script.t.patch("/api/interaction/identifiers").json(body)).await.status.as_u16()
}

/// The answers to tries of one name until it is refused, and then of another name.
async fn answers(t: &Test, [first, then]: [Typed<'_>; 2]) -> Vec<u16> {
    let script = script(t).await;
    let mut all = Vec::new();
    for (field, name) in [first; 11].into_iter().chain([then; 11]) {
        all.push(try_as(&script, field, name, WRONG).await);
    }
    all
}

api_test!(a_full_limit_does_not_tell_who_has_an_account, |t| async move {
    let (_, email) = person(&t).await;
    let name = email.strip_suffix("@example.org").unwrap();
    let folded = email.to_uppercase();
    let cases: [(&str, [Typed<'_>; 2], [Typed<'_>; 2]); 5] = [
        (
            "address, then user name",
            [("email", &email), ("username", name)],
            [("email", "g1@example.org"), ("username", "g1")],
        ),
        (
            "user name, then address",
            [("username", name), ("email", &email)],
            [("username", "g2"), ("email", "g2@example.org")],
        ),
        (
            "address in both fields",
            [("email", &email), ("username", &email)],
            [("email", "g3@example.org"), ("username", "g3@example.org")],
        ),
        (
            "user name in both fields",
            [("username", name), ("email", name)],
            [("username", "g4"), ("email", "g4")],
        ),
        (
            "another case",
            [("email", &email), ("email", &folded)],
            [("email", "g5@example.org"), ("email", "G5@EXAMPLE.ORG")],
        ),
    ];
    for (what, of_somebody, of_nobody) in cases {
        let known = answers(&t, of_somebody).await;
        let unknown = answers(&t, of_nobody).await;
        assert_eq!(known, unknown, "{what}");
        assert_eq!((&known[..10], known[10]), (&[422; 10][..], 429), "{what}");
        t.advance(Duration::from_secs(15 * 60));
    }
});

api_test!(another_name_of_the_account_gives_no_more_tries, |t| async move {
    let (person, email) = person(&t).await;
    let name = email.strip_suffix("@example.org").unwrap();
    let script = script(&t).await;
    for _ in 0..10 {
        assert_eq!(try_as(&script, "email", &email, WRONG).await, 422);
    }
    // The answer does not reveal that this password would have been right.
    assert_eq!(try_as(&script, "username", name, RIGHT).await, 422);
    let wide: String = email.chars().map(|c| if c == 'u' { 'ｕ' } else { c }).collect();
    assert_ne!(try_as(&script, "email", &wide, RIGHT).await, 204);
    let change = json!({"current_password": RIGHT, "new_password": "Other-Window-93-Rivers"});
    let change = t.post("/api/me/change-password").bearer(&person.token).json(change);
    change.send().await.expect_message(429, "rate limit exceeded");
    t.advance(Duration::from_secs(15 * 60));
    assert_eq!(try_as(&script, "username", name, RIGHT).await, 204);
});

api_test!(tries_in_a_session_count_at_the_sign_in_too, |t| async move {
    let (person, email) = person(&t).await;
    for _ in 0..10 {
        let body = json!({"current_password": WRONG, "new_password": "Other-Window-93-Rivers"});
        t.post("/api/me/change-password").bearer(&person.token).json(body).send().await.expect(400);
    }
    let script = script(&t).await;
    assert_eq!(try_as(&script, "email", &email, RIGHT).await, 422);
    let elsewhere = json!({"email": email, "password": RIGHT});
    let call = t.patch("/api/interaction/identifiers").from("192.0.2.9").json(elsewhere);
    script.send(call).await.expect(204);
});

api_test!(
    an_account_has_a_limit_over_all_addresses_and_names,
    |settings| settings.limits.password_failures_per_account = 12,
    |t| async move {
        let (_, email) = person(&t).await;
        let name = email.strip_suffix("@example.org").unwrap();
        let script = script(&t).await;
        let guess = async |from: &str, body: Value| {
            let call = t.patch("/api/interaction/identifiers").from(from).json(body);
            script.send(call).await.status.as_u16()
        };
        for n in 0..6 {
            let from = format!("192.0.2.{n}");
            assert_eq!(guess(&from, json!({"email": email, "password": WRONG})).await, 422);
            assert_eq!(guess(&from, json!({"username": name, "password": WRONG})).await, 422);
        }
        assert_eq!(guess("192.0.2.99", json!({"email": email, "password": RIGHT})).await, 422);
        t.advance(Duration::from_secs(15 * 60));
        assert_eq!(guess("192.0.2.99", json!({"email": email, "password": RIGHT})).await, 204);
    }
);

api_test!(no_header_makes_another_address, |t| async move {
    let (_, email) = person(&t).await;
    let script = script(&t).await;
    let body = json!({"email": email, "password": WRONG});
    for _ in 0..10 {
        script.send(t.patch("/api/interaction/identifiers").json(body.clone())).await.expect(422);
    }
    for (name, value) in [
        ("x-forwarded-for", "192.0.2.1"),
        ("x-forwarded-for", "192.0.2.1, 127.0.0.1"),
        ("forwarded", "for=192.0.2.1"),
        ("x-real-ip", "192.0.2.1"),
        ("x-client-ip", "192.0.2.1"),
        ("true-client-ip", "192.0.2.1"),
        ("cf-connecting-ip", "192.0.2.1"),
    ] {
        let call = t.patch("/api/interaction/identifiers").header(name, value).json(body.clone());
        script.send(call).await.expect(429);
    }
});
