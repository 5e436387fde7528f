//! Registration (spec: systems-interface#register).

use super::*;

// Proves spec: acceptance#scenarios 29, guarantees#systems 14 16.
api_test!(registration_in_the_order_of_the_contract, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for body in [
        "",
        "x",
        "[]",
        "{}",
        r#"{"system_secret":""}"#,
        r#"{"system_secret":7}"#,
        r#"{"system_secret":null}"#,
    ] {
        let reply = t.post("/api/systems/register").body(body.to_owned()).send().await;
        reply.expect_fields(&[("system_secret", "required")]);
    }
    for bad in ["x", "my_", "my_a", "my_a.b.c", "my_.b", "a.b", "my_a.\u{e9}", "my_a.\0"] {
        let reply = register(&t, bad).await.expect_message(400, "invalid system secret format");
        assert_eq!(reply.data(), Value::Null);
    }
    let made = made(&t, &owner, tree.customer, "S").await;
    let (secret, id) = (text(&made, "system_secret"), text(&made, "id").parse().unwrap());
    let wrong = format!("{}.{}", secret.split('.').next().unwrap(), "0".repeat(40));
    // Rule 14: only a caller with the right secret gets its state.
    for column in ["", "suspended_at", "deleted_at"] {
        match column {
            "suspended_at" => t.suspend_system(id).await,
            "deleted_at" => t.delete_system(id).await,
            _ => {}
        }
        for secret in [wrong.as_str(), "my_0123.0123", "my_unknown.0000000000000000000000000000000000000000"]
        {
            let reply = register(&t, secret).await.expect_message(401, "invalid system secret");
            assert_eq!(reply.data(), Value::Null);
        }
    }
    // Rule 16; deleted before suspended.
    register(&t, secret).await.expect_message(403, "system has been deleted");
    change(&t, Q::new("UPDATE systems SET deleted_at = NULL WHERE id = ?").bind(id)).await;
    register(&t, secret).await.expect_message(403, "system is suspended");
    change(&t, Q::new("UPDATE systems SET suspended_at = NULL WHERE id = ?").bind(id)).await;
    t.suspend_organization(tree.distributor).await;
    register(&t, secret).await.expect_message(403, "system is suspended");
    t.delete_organization(tree.distributor).await;
    register(&t, secret).await.expect_message(403, "system has been deleted");
    let (registered,): (Option<String>,) = Q::new("SELECT registered_from FROM systems WHERE id = ?")
        .bind(id)
        .one(&t.app.platform.db)
        .await
        .unwrap();
    assert_eq!(registered, None);
});

// Proves spec: acceptance#guarantees 10, acceptance#scenarios 29.
api_test!(a_lost_answer_may_be_asked_for_again, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let conflict = |reply: Reply| {
        let reply = reply.expect_message(409, "system is already registered");
        assert_eq!(reply.data(), Value::Null);
    };
    let made_1 = made(&t, &owner, tree.customer, "1").await;
    let (key, secret) = (text(&made_1, "system_key"), text(&made_1, "system_secret"));
    let first = register(&t, secret).await.expect_message(200, "system registered successfully");
    let data = json!({"system_key": key, "registered_at": t.app.platform.now(), "message": "system registered successfully"});
    assert_eq!(first.data(), data);
    // Received at the very moment: a rival, not a repeat.
    conflict(register(&t, secret).await);
    t.advance(Duration::from_secs(1));
    assert_eq!(register(&t, secret).await.expect(200).body, first.body);
    let elsewhere = t.post("/systems/register").from("198.51.100.9").json(json!({"system_secret": secret}));
    conflict(elsewhere.send().await);
    t.advance(Duration::from_secs(119));
    assert_eq!(register(&t, secret).await.expect(200).body, first.body);
    t.advance(Duration::from_micros(1));
    conflict(register(&t, secret).await);
    // The first authenticated call ends it.
    let made_2 = made(&t, &owner, tree.customer, "2").await;
    let (key, secret) = (text(&made_2, "system_key"), text(&made_2, "system_secret"));
    register(&t, secret).await.expect(200);
    t.advance(Duration::from_secs(1));
    register(&t, secret).await.expect(200);
    t.get("/systems/info").basic(key, secret).send().await.expect(200);
    conflict(register(&t, secret).await);
});

api_test!(
    // Proves spec: acceptance#guarantees 10.
    the_window_of_a_repeat_is_a_setting,
    |settings| settings.systems.registration_repeat = Duration::from_secs(10),
    |t| async move {
        let tree = t.tree().await;
        let made = made(&t, &t.owner().await, tree.customer, "S").await;
        let secret = text(&made, "system_secret");
        register(&t, secret).await.expect(200);
        t.advance(Duration::from_secs(10));
        register(&t, secret).await.expect(200);
        t.advance(Duration::from_micros(1));
        register(&t, secret).await.expect_message(409, "system is already registered");
    }
);

// Proves spec: acceptance#guarantees 10, guarantees#systems 15.
api_test!(of_parallel_registrations_one_succeeds, |t| async move {
    let tree = t.tree().await;
    let made = made(&t, &t.owner().await, tree.customer, "S").await;
    let secret = text(&made, "system_secret");
    let replies = futures(8, |_| register(&t, secret)).await;
    let mut statuses: Vec<u16> = replies.iter().map(|r| r.status.as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
});

// Proves spec: guarantees#systems 43.
api_test!(guessing_secrets_is_limited, |t| async move {
    let tree = t.tree().await;
    let made = made(&t, &t.owner().await, tree.customer, "S").await;
    let secret = text(&made, "system_secret");
    let wrong = format!("{}.{}", secret.split('.').next().unwrap(), "0".repeat(40));
    for _ in 0..20 {
        register(&t, &wrong).await.expect(401);
    }
    let reply = register(&t, &wrong).await.expect_message(429, "rate limit exceeded");
    assert_eq!((reply.header("retry-after"), reply.data()), (Some("60"), Value::Null));
    register(&t, secret).await.expect(429);
    t.advance(Duration::from_secs(59));
    assert_eq!(register(&t, secret).await.expect(429).header("retry-after"), Some("1"));
    // Rule 43, and other secrets from here.
    let elsewhere = t.post("/systems/register").from("198.51.100.9").json(json!({"system_secret": wrong}));
    elsewhere.send().await.expect(401);
    register(&t, "my_0123.0123").await.expect(401);
    t.advance(Duration::from_secs(1));
    register(&t, secret).await.expect(200);
});

api_test!(an_unregistered_system_needs_a_new_secret, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let made = made(&t, &owner, tree.customer, "S").await;
    let (id, key, secret) = (text(&made, "id"), text(&made, "system_key"), text(&made, "system_secret"));
    t.post("/systems/unregister").basic(key, secret).send().await.expect(401);
    register(&t, secret).await.expect(200);
    t.post("/systems/heartbeat").basic(key, secret).send().await.expect(200);
    t.advance(Duration::from_secs(60));
    let done = t.post("/systems/unregister").basic(key, secret).send().await;
    assert_eq!(done.expect_message(200, "system unregistered successfully").data(), Value::Null);
    for call in [t.get("/systems/info"), t.post("/systems/heartbeat"), t.post("/systems/unregister")] {
        call.basic(key, secret).send().await.expect_message(401, "invalid system credentials");
    }
    register(&t, secret).await.expect_message(401, "invalid system secret");
    let shown = get(&t, &owner, &format!("/{id}")).await.expect(200).data();
    assert_eq!((&shown["registered_at"], &shown["status"]), (&Value::Null, &json!("active")));
    assert_eq!((&shown["system_key"], &shown["updated_at"]), (&json!(""), &json!(t.app.platform.now())));
    // It comes back with another secret.
    let renewed =
        t.post(&format!("/systems/{id}/regenerate-secret")).bearer(&owner.token).send().await.expect(200);
    let secret = text(&renewed.data(), "system_secret").to_owned();
    register(&t, &secret).await.expect(200);
    t.get("/systems/info").basic(key, &secret).send().await.expect(200);
    let (audited,): (i64,) =
        Q::new("SELECT count(*) FROM audit_log WHERE action = 'system.unregister' AND object_id = ?")
            .bind(id.parse::<bailiwick_domain::SystemId>().unwrap())
            .one(&t.app.platform.db)
            .await
            .unwrap();
    assert_eq!(audited, 1);
});

// Proves spec: guarantees#systems 18.
api_test!(unknown_keys_are_answered_from_memory_and_failures_are_limited, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let call = |key: &str, from: &str| {
        let secret = format!("my_{}.{}", "0".repeat(20), "0".repeat(40));
        t.get("/systems/info").basic(key, &secret).from(from).send()
    };
    const WRONG: &str = "invalid system credentials";
    call("SYS-UNKNOWN", "192.0.2.1").await.expect_message(401, WRONG);
    // Now a look into the database would be seen.
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("ALTER TABLE systems RENAME TO systems_away").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    for n in 2..40 {
        call("SYS-UNKNOWN", &format!("192.0.2.{n}")).await.expect_message(401, WRONG);
    }
    let away = call("SYS-OTHER", "192.0.2.1").await;
    let away = away.expect_message(503, "security service temporarily unavailable");
    assert!(away.header("retry-after").is_some());
    // Within the window, and no longer.
    t.advance(Duration::from_secs(60) - Duration::from_micros(1));
    call("SYS-UNKNOWN", "192.0.2.1").await.expect_message(401, WRONG);
    t.advance(Duration::from_micros(1));
    call("SYS-UNKNOWN", "192.0.2.1").await.expect(503);
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("ALTER TABLE systems_away RENAME TO systems").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    // Known or not, the twenty-first failure of a pair within a minute is refused, and so is the right secret then.
    for key in [system.key.as_str(), "SYS-UNKNOWN"] {
        for _ in 0..20 {
            call(key, "192.0.2.7").await.expect_message(401, WRONG);
        }
        let limited = call(key, "192.0.2.7").await.expect_message(429, "rate limit exceeded");
        assert_eq!((limited.header("retry-after"), limited.data()), (Some("60"), Value::Null));
    }
    let right = |from: &str| t.get("/systems/info").basic(&system.key, &system.secret).from(from).send();
    right("192.0.2.7").await.expect(429);
    right("192.0.2.8").await.expect(200);
    // A caller with one address of an IPv6 network has all of them.
    for n in 1..=20 {
        call(&system.key, &format!("2001:db8:0:1::{n:x}")).await.expect_message(401, WRONG);
    }
    call(&system.key, "2001:db8:0:1:ffff::1").await.expect(429);
    right("2001:db8:0:1::").await.expect(429);
    right("2001:db8:0:2::1").await.expect(200);
    t.advance(Duration::from_secs(60));
    right("192.0.2.7").await.expect(200);
    // A right secret does not count.
    for _ in 0..40 {
        right("192.0.2.9").await.expect(200);
    }
});

api_test!(
    // Proves spec: guarantees#systems 19.
    no_answer_shows_a_secret_or_a_hash,
    |settings| {
        settings.systems.legacy_aliases = true;
        settings.limits.system_failures = 1_000;
        settings.alerting.limits.request_burst = 1_000_000;
    },
    |t| async move {
        use bailiwick_api::routes::{Credential, table};
        let tree = t.tree().await;
        let owner = t.owner().await;
        let legacy = "4f1c0e5d7a3b9c8e6f2d1a0b3c4d5e6f7a8b9c0d";
        for route in table() {
            let is_of_system = route.credential.is_of_system();
            let reads = route.method == "GET"
                && !matches!(route.credential, Credential::Public | Credential::Provider);
            if !is_of_system && !reads && !route.path.starts_with("/systems/") {
                continue;
            }
            // Each has a system of its own: some of them end a credential.
            let system = t.system(tree.customer).await;
            let rows = format!(
                "system_id,legacy_id,legacy_secret,system_key,secret_public,secret_hash,registered_at\n\
             {},{},{legacy},,,,\n",
                system.id, system.key
            );
            bailiwick_identity::credentials::import(&t.app.identity, rows.as_bytes()).await.unwrap();
            let (hash, old): (String, String) = Q::new(
            "SELECT s.secret_hash, l.secret_hash FROM systems s JOIN legacy_credentials l ON l.system_id = s.id \
             WHERE s.id = ?",
        )
        .bind(system.id)
        .one(&t.app.platform.db)
        .await
        .unwrap();
            let hidden = [&system.secret[24..], legacy, hash.as_str(), old.as_str()];
            let path = route
                .path
                .replace("{service}", "services/mimir/alertmanager")
                .replace("{id}", &system.id.to_string())
                .replace("{token}", "x.y");
            let path = path.replace(['{', '}'], "");
            for query in ["", "?format=csv", "?search=my_"] {
                for (secret, body) in
                    [(&system.secret, "{"), (&system.secret, "{}"), (&format!("{}0", system.secret), "")]
                {
                    let call = t.call(route.method.clone(), &format!("/api{path}{query}")).body(body);
                    let call = match route.credential {
                        Credential::Public => call.json(json!({"system_secret": secret})),
                        Credential::Legacy => call.basic(&system.key, legacy),
                        _ if is_of_system => call.basic(&system.key, secret),
                        _ => call.bearer(&owner.token),
                    };
                    let reply = call.send().await;
                    let (text, headers) = (reply.text(), format!("{:?}", reply.headers));
                    for word in hidden {
                        assert!(
                            !text.contains(word) && !headers.contains(word),
                            "{route:?}: {headers} {text}"
                        );
                    }
                }
            }
        }
        // Neither do the records in the audit log.
        let logged: Vec<(String,)> =
            Q::new("SELECT CAST(after AS text) FROM audit_log WHERE after IS NOT NULL")
                .all(&t.app.platform.db)
                .await
                .unwrap();
        assert!(
            logged.len() > 50
                && logged.iter().all(|(after,)| !after.contains("my_") && !after.contains(legacy))
        );
    }
);
