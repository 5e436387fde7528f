//! Failed passwords (spec: conventions#rate-limits).

use super::*;
use crate::provider::client::*;
use serde_json::json;

const WRONG: &str = "Wrong-Horse-7-Battery";
const RIGHT: &str = "Wandering-Otter-7-Lamp";

/// A user with a password of their own: their address.
async fn person(t: &Test) -> String {
    let tree = t.tree().await;
    let person = t.user(tree.customer, &["admin"]).await;
    set_password(t, person.id, RIGHT, None).await;
    email_of(t, person.id).await
}

/// A script at each process that has begun a sign-in.
async fn scripts(all: &[Test; 3]) -> Vec<Browser<'_>> {
    let mut scripts = Vec::new();
    for t in all {
        let script = Browser::new(t);
        script.get(&authorization(&[])).await.expect(303);
        scripts.push(script);
    }
    scripts
}

async fn guess(script: &Browser<'_>, from: &str, email: &str, password: &str) -> Reply {
    let body = json!({"email": email, "password": password});
    script.send(script.t.patch("/api/interaction/identifiers").from(from).json(body)).await
}

// Proves spec: guarantees#identity 17.
api_test!(no_more_guesses_pass_at_three_processes_than_at_one, |t| async move {
    let email = person(&t).await;
    let all = three(t).await;
    let scripts = scripts(&all).await;
    let mut replies = Vec::new();
    for n in 0..30 {
        replies.push(guess(&scripts[n % 3], "192.0.2.1", &email, WRONG).await);
    }
    assert_eq!((with(422, &replies[..10]), with(429, &replies[10..])), (10, 20));
    assert!(replies[29].header("retry-after").is_some());
    let at_once = (0..30).map(|n| guess(&scripts[n % 3], "192.0.2.2", &email, WRONG));
    let replies = join_all(at_once).await;
    assert_eq!((with(422, &replies), with(429, &replies)), (10, 20));
    // The right one is refused too, and does not count; from elsewhere the person signs in.
    for script in &scripts {
        guess(script, "192.0.2.2", &email, RIGHT).await.expect(429);
    }
    guess(&scripts[1], "192.0.2.3", &email, RIGHT).await.expect(204);
    all[0].advance(QUARTER);
    guess(&scripts[2], "192.0.2.2", &email, RIGHT).await.expect(204);
});

api_test!(a_right_password_does_not_count_at_any_process, |t| async move {
    let email = person(&t).await;
    let all = three(t).await;
    let scripts = scripts(&all).await;
    for n in 0..9 {
        guess(&scripts[n % 3], "192.0.2.1", &email, WRONG).await.expect(422);
    }
    // The name and the user, each with the address and without, and the address.
    assert_eq!(events(&all[0]).await, 9 * 5);
    for n in 0..9 {
        guess(&scripts[n % 3], "192.0.2.1", &email, RIGHT).await.expect(204);
        eventually("it is taken back", async || events(&all[0]).await == 9 * 5).await;
    }
    guess(&scripts[0], "192.0.2.1", &email, WRONG).await.expect(422);
    guess(&scripts[1], "192.0.2.1", &email, WRONG).await.expect(429);
});

api_test!(
    an_account_and_an_address_have_a_limit_over_all_processes,
    |settings| {
        settings.limits.password_failures_per_account = 12;
        settings.limits.password_failures_per_address = 14;
    },
    |t| async move {
        let email = person(&t).await;
        let all = three(t).await;
        let scripts = scripts(&all).await;
        let name = email.strip_suffix("@example.org").unwrap().to_owned();
        let typed = |n: usize| if n.is_multiple_of(2) { email.clone() } else { name.clone() };
        for n in 0..12 {
            let body = if n % 2 == 0 { "email" } else { "username" };
            let body = serde_json::Value::from_iter([(body, typed(n)), ("password", WRONG.to_owned())]);
            let from = format!("192.0.2.{n}");
            let call = scripts[n % 3].t.patch("/api/interaction/identifiers").from(&from).json(body);
            scripts[n % 3].send(call).await.expect(422);
        }
        // The account's own limit applies without a word, at each process.
        for (n, script) in scripts.iter().enumerate() {
            guess(script, &format!("192.0.2.{}", 100 + n), &email, RIGHT).await.expect(422);
        }
        let replies = join_all((0..42).map(|n| {
            let (script, email) = (&scripts[n % 3], format!("nobody{n}@example.org"));
            async move { guess(script, "192.0.2.200", &email, WRONG).await }
        }));
        let replies = replies.await;
        assert_eq!((with(422, &replies), with(429, &replies)), (14, 28));
        all[0].advance(QUARTER);
        guess(&scripts[0], "192.0.2.100", &email, RIGHT).await.expect(204);
    }
);

api_test!(without_the_table_people_sign_in_and_each_process_holds_the_limit, |t| async move {
    let email = person(&t).await;
    break_table(&t).await;
    let all = three(t).await;
    let scripts = scripts(&all).await;
    guess(&scripts[0], "192.0.2.1", &email, RIGHT).await.expect(204);
    for script in &scripts {
        for _ in 0..10 {
            guess(script, "192.0.2.2", &email, WRONG).await.expect(422);
        }
        guess(script, "192.0.2.2", &email, RIGHT).await.expect(429);
    }
});
