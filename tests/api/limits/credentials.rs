//! Failed credentials of systems (spec: systems-interface#failure-limits).

use super::*;
use bailiwick_testkit::Seeded;
use serde_json::json;

const WRONG: &str = "invalid system credentials";

async fn call(t: &Test, from: &str, key: &str, secret: &str) -> Reply {
    t.get("/systems/info").basic(key, secret).from(from).send().await
}

/// A secret of the same system that is not the right one.
fn wrong(system: &Seeded) -> String {
    let public = system.secret.split('.').next().unwrap();
    format!("{public}.{}", "0".repeat(40))
}

// Proves spec: guarantees#systems 18 43.
api_test!(no_more_guesses_pass_at_three_processes_than_at_one, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let (wrong, all) = (wrong(&system), three(t).await);
    for (key, from) in [(system.key.as_str(), "192.0.2.1"), ("SYS-UNKNOWN", "192.0.2.1")] {
        let mut replies = Vec::new();
        for n in 0..45 {
            replies.push(call(&all[n % 3], from, key, &wrong).await);
        }
        assert_eq!((with(401, &replies[..20]), with(429, &replies[20..])), (20, 25), "{key}");
        assert!(replies[44].header("retry-after").is_some());
        let replies = join_all((0..60).map(|n| call(&all[n % 3], "192.0.2.2", key, &wrong))).await;
        assert_eq!((with(401, &replies), with(429, &replies)), (20, 40), "{key} at once");
    }
    for t in &all {
        call(t, "192.0.2.1", &system.key, &system.secret).await.expect(429);
        call(t, "192.0.2.2", &system.key, &system.secret).await.expect(429);
        call(t, "192.0.2.3", &system.key, &system.secret).await.expect(200);
    }
    all[0].advance(MINUTE);
    for t in &all {
        call(t, "192.0.2.1", &system.key, &system.secret).await.expect(200);
    }
});

api_test!(a_process_that_was_never_asked_refuses_the_pair_too, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let (wrong, all) = (wrong(&system), three(t).await);
    // Every process has the credential in memory.
    for t in &all {
        call(t, "192.0.2.1", &system.key, &system.secret).await.expect(200);
    }
    for n in 0..20 {
        call(&all[n % 2], "192.0.2.1", &system.key, &wrong).await.expect_message(401, WRONG);
    }
    call(&all[0], "192.0.2.1", &system.key, &wrong).await.expect(429);
    if all[0].engine == Engine::Sqlite {
        // A process holds the file alone.
        return;
    }
    call(&all[2], "192.0.2.1", &system.key, &system.secret).await.expect(429);
    call(&all[2], "192.0.2.2", &system.key, &system.secret).await.expect(200);
    let fourth = all[0].replica().await;
    call(&fourth, "192.0.2.1", &system.key, &system.secret).await.expect(429);
    all[0].advance(MINUTE);
    call(&all[2], "192.0.2.1", &system.key, &system.secret).await.expect(200);
    call(&fourth, "192.0.2.1", &system.key, &system.secret).await.expect(200);
});

api_test!(a_right_credential_counts_nowhere, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    for _ in 0..30 {
        call(&t, "192.0.2.1", &system.key, &system.secret).await.expect(200);
    }
    assert_eq!(rows(&t).await, 0);
    for _ in 0..20 {
        call(&t, "192.0.2.1", &system.key, &wrong(&system)).await.expect_message(401, WRONG);
        call(&t, "192.0.2.1", &system.key, &system.secret).await.expect(200);
    }
    assert_eq!(rows(&t).await, 1);
});

api_test!(registrations_are_limited_over_all_processes, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let body = json!({"name": "S", "organization_id": tree.customer});
    let made = t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201).data();
    let secret = made["system_secret"].as_str().unwrap().to_owned();
    let wrong = format!("{}.{}", secret.split('.').next().unwrap(), "0".repeat(40));
    let all = three(t).await;
    let register = |n: usize, from: &str, secret: &str| {
        all[n % 3].post("/api/systems/register").from(from).json(json!({"system_secret": secret})).send()
    };
    let replies = join_all((0..60).map(|n| register(n, "192.0.2.1", &wrong))).await;
    assert_eq!((with(401, &replies), with(429, &replies)), (20, 40));
    for n in 0..3 {
        register(n, "192.0.2.1", &secret).await.expect(429);
    }
    register(1, "192.0.2.2", &secret).await.expect(200);
});

api_test!(without_the_table_systems_call_and_each_process_holds_the_limit, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    break_table(&t).await;
    call(&t, "192.0.2.1", &system.key, &system.secret).await.expect(200);
    for _ in 0..20 {
        call(&t, "192.0.2.1", &system.key, &wrong(&system)).await.expect_message(401, WRONG);
    }
    call(&t, "192.0.2.1", &system.key, &wrong(&system)).await.expect(429);
    call(&t, "192.0.2.1", &system.key, &system.secret).await.expect(429);
});
