//! What ends a key, what limits it, and which refusals the service records.

use super::*;
use bailiwick_app::retention;

const DAY: Duration = Duration::from_secs(86_400);

/// The part of a token behind the dot replaced by another of its length.
fn with_wrong_secret(token: &str) -> String {
    format!("{}.{}", token.split_once('.').unwrap().0, "0".repeat(60))
}

api_test!(what_is_no_key_of_ours_is_an_invalid_api_key, |t| async move {
    let owner = t.owner().await;
    let (_, token) = made(&t, &owner, "read").await;
    let unknown = format!("myk_{}.{}", "0".repeat(30), "0".repeat(60));
    let endless = format!("myk_{}", "a".repeat(5_000));
    let cut = &token[..token.len() - 1];
    let longer = format!("{token}0");
    let upper = token.replace("myo_", "myk_").to_uppercase().replacen("MYK_", "myk_", 1);
    for broken in
        ["myk_", "myo_", "myk_.", &unknown, &endless, cut, &longer, &upper, &with_wrong_secret(&token)]
    {
        let reply = roles(&t, broken).send().await.expect_message(401, "invalid api key");
        assert_eq!(reply.data(), Value::Null, "{broken}");
    }
    roles(&t, &token.replace("myo_", "myk_")).send().await.expect(200);
});

/// Brings the owner of a key into a state in which it must not work.
async fn end(t: &Test, user: UserId, statement: &str) {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    assert!(Q::new(statement).bind(t.app.platform.now()).bind(user).run(&mut tx).await.unwrap() > 0);
    tx.commit().await.unwrap();
}

/// Statements that end a key (`?` = now, then the user), those that bring it back, and the reason recorded.
const ENDS: &[(&str, Option<&str>, &str)] = &[
    (
        "UPDATE users SET suspended_at = ? WHERE id = ?",
        Some("UPDATE users SET suspended_at = NULL, updated_at = ? WHERE id = ?"),
        "user_inactive",
    ),
    (
        "UPDATE users SET deleted_at = ? WHERE id = ?",
        Some("UPDATE users SET deleted_at = NULL, updated_at = ? WHERE id = ?"),
        "user_inactive",
    ),
    (
        "UPDATE organizations SET eff_suspended_at = ? WHERE id IN (SELECT organization_id FROM users WHERE id = ?)",
        Some(
            "UPDATE organizations SET eff_suspended_at = NULL, updated_at = ? \
             WHERE id IN (SELECT organization_id FROM users WHERE id = ?)",
        ),
        "user_inactive",
    ),
    (
        "UPDATE organizations SET eff_deleted_at = ? WHERE id IN (SELECT organization_id FROM users WHERE id = ?)",
        Some(
            "UPDATE organizations SET eff_deleted_at = NULL, updated_at = ? \
             WHERE id IN (SELECT organization_id FROM users WHERE id = ?)",
        ),
        "user_inactive",
    ),
    ("UPDATE api_keys SET expires_at = ? WHERE user_id = ?", None, "expired"),
    ("UPDATE api_keys SET revoked_at = ? WHERE user_id = ?", None, "revoked"),
];

// Proves spec: guarantees#identity 10, authorization#guarantees 16.
api_test!(whatever_ends_a_key_holds_for_its_next_request_everywhere, |t| async move {
    let tree = t.tree().await;
    let replica = if t.engine == Engine::Postgres { Some(t.replica().await) } else { None };
    for (ends, back, reason) in ENDS {
        let user = t.user(tree.customer, &["admin"]).await;
        let (id, token) = t.api_key(user.id, KeyMode::Write).await;
        let everywhere: Vec<&Test> = std::iter::once(&t).chain(&replica).collect();
        for process in &everywhere {
            roles(process, &token).send().await.expect(200);
        }
        end(&t, user.id, ends).await;
        for process in &everywhere {
            roles(process, &token).send().await.expect_message(401, "invalid api key");
        }
        let filter = api_keys::events::Filter { events: None, keys: Some(vec![id.0]) };
        let page = bailiwick_domain::PageRequest::parse(None, None, 20);
        let rows = api_keys::events::of_user(&t.app.platform.db, user.id, &filter, page).await.unwrap().rows;
        assert_eq!(rows.len(), 1, "{ends}: one row, from whichever process");
        assert_eq!(rows[0].reason.as_deref(), Some(*reason), "{ends}");
        if let Some(back) = back {
            end(&t, user.id, back).await;
            roles(&t, &token).send().await.expect(200);
        }
    }
});

api_test!(a_key_goes_with_its_user_and_its_history_stays, |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let user = t.user(tree.customer, &["admin"]).await;
    let (_, token) = t.api_key(user.id, KeyMode::Read).await;
    roles(&t, &with_wrong_secret(&token)).send().await.expect(401);
    t.delete(&format!("/api/users/{}/destroy", user.id)).bearer(&owner.token).send().await.expect(200);
    roles(&t, &token).send().await.expect_message(401, "invalid api key");
    let count = async |table: &str| {
        let text = format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {table} WHERE user_id = ?");
        Q::new(&text).bind(user.id).count(&t.app.platform.db).await.unwrap()
    };
    assert_eq!((count("api_keys").await, count("api_key_events").await), (0, 1));
});

api_test!(refusals_are_recorded_once_a_minute_whatever_comes, |t| async move {
    let owner = t.owner().await;
    let (id, token) = made(&t, &owner, "read").await;
    let wrong = with_wrong_secret(&token);
    let attack = async || {
        for n in 0..30 {
            let call = t.get(&format!("/backend/api/systems?search={n}")).bearer(&wrong).from("192.0.2.9");
            call.send().await.expect(401);
        }
    };
    attack().await;
    // Those of one moment have no order.
    let mut got = events(&t, &owner).await;
    got.sort();
    assert_eq!(got, ["auth_failed invalid_secret", "created"]);
    t.advance(MINUTE);
    attack().await;
    revoke(&t, &owner, &id).await.expect(200);
    roles(&t, &token).send().await.expect(401);
    roles(&t, &token).send().await.expect(401);
    let expected = [
        "created",
        "auth_failed invalid_secret",
        "auth_failed invalid_secret",
        "revoked",
        "auth_failed revoked",
    ];
    let mut got = events(&t, &owner).await;
    let mut sorted = expected.map(str::to_owned);
    for all in [&mut got[..], &mut sorted[..]] {
        all[..2].sort();
        all[2..].sort();
    }
    assert_eq!(got, sorted);
    let row =
        history(&t, &owner, "?event=auth_failed").await["audit"].as_array().unwrap().last().unwrap().clone();
    let shown = (&row["ip"], &row["method"], &row["path"], &row["key_name"], &row["key_mode"]);
    assert_eq!(shown, (&json!("192.0.2.9"), &json!("GET"), &json!("/systems"), &json!("CI"), &json!("read")));
});

api_test!(a_key_has_a_burst_and_a_rate_of_its_own, |t| async move {
    let owner = t.owner().await;
    let (_, token) = made(&t, &owner, "read").await;
    let (_, other) = made(&t, &owner, "read").await;
    for _ in 0..30 {
        roles(&t, &with_wrong_secret(&token)).send().await.expect(401);
    }
    for _ in 0..20 {
        roles(&t, &token).send().await.expect(200);
    }
    let refused = roles(&t, &token).from("192.0.2.44").send().await;
    let refused = refused.expect_message(429, "rate limit exceeded");
    assert_eq!(refused.header("retry-after"), Some("1"));
    // Before the kind of credential is checked.
    t.get("/api/me").bearer(&token).send().await.expect(429);
    t.get("/api/user/profile").bearer(&token).send().await.expect(429);
    roles(&t, &other).send().await.expect(200);
    roles(&t, &owner.token).send().await.expect(200);
    let limited = history(&t, &owner, "?event=rate_limited").await;
    assert_eq!(limited["audit"].as_array().unwrap().len(), 1);
    assert_eq!(limited["audit"][0]["ip"], "192.0.2.44");
    t.advance(Duration::from_secs(1));
    for _ in 0..10 {
        roles(&t, &token).send().await.expect(200);
    }
    roles(&t, &token).send().await.expect(429);
});

api_test!(the_last_use_is_noted_once_a_minute, |t| async move {
    let owner = t.owner().await;
    let (_, token) = made(&t, &owner, "read").await;
    let start = t.app.platform.now();
    let used = async || {
        let key = keys(&t, &t.owner().await).await.remove(0);
        (key["last_used_at"].clone(), key["last_used_ip"].clone())
    };
    assert_eq!(used().await, (Value::Null, Value::Null));
    roles(&t, &token).from("192.0.2.1").send().await.expect(200);
    t.advance(Duration::from_secs(59));
    roles(&t, &token).from("192.0.2.2").send().await.expect(200);
    assert_eq!(used().await, (json!(start), json!("192.0.2.1")));
    t.advance(Duration::from_secs(1));
    roles(&t, &token).from("192.0.2.3").send().await.expect(200);
    assert_eq!(used().await, (json!(start.plus(MINUTE)), json!("192.0.2.3")));
    t.advance(MINUTE);
    roles(&t, &with_wrong_secret(&token)).send().await.expect(401);
    assert_eq!(used().await.0, json!(start.plus(MINUTE)), "a refused request is no use");
});

// Proves spec: guarantees#identity 11, authorization#guarantees 22.
api_test!(unreadable_keys_give_503, |t| async move {
    let owner = t.owner().await;
    let (_, token) = made(&t, &owner, "read").await;
    t.app.platform.db.close().await;
    let reply = roles(&t, &token).send().await;
    let reply = reply.expect_message(503, "security service temporarily unavailable");
    assert!(reply.header("retry-after").is_some());
});

api_test!(refusals_of_dead_keys_go_after_ninety_days, |t| async move {
    let owner = t.owner().await;
    let body = json!({"expires_in_days": 365, "name": "Long", "mode": "read", "password": OWNER_PASSWORD});
    let living = create(&t, &owner, body).await.expect(201).data()["token"].as_str().unwrap().to_owned();
    let (revoked_id, revoked) = made(&t, &owner, "read").await;
    let (_, expired) = made(&t, &owner, "read").await;
    let gone = t.user(t.tree().await.customer, &["admin"]).await.id;
    let (_, destroyed) = t.api_key(gone, KeyMode::Read).await;
    for token in [&living, &revoked, &expired, &destroyed] {
        roles(&t, &with_wrong_secret(token)).send().await.expect(401);
    }
    revoke(&t, &owner, &revoked_id).await.expect(200);
    t.delete(&format!("/api/users/{gone}/destroy")).bearer(&owner.token).send().await.expect(200);
    let refusals = async || {
        let text = "SELECT COUNT(*) FROM api_key_events WHERE event = 'auth_failed'";
        Q::new(text).count(&t.app.platform.db).await.unwrap()
    };
    let run = async || retention::run(&t.app).await.unwrap().unwrap().key_refusals;
    let before = t.app.platform.now();
    t.clock.set(before.plus(90 * DAY));
    assert_eq!((run().await, refusals().await), (0, 4));
    t.advance(Duration::from_micros(1));
    assert_eq!(retention::dry_run(&t.app).await.unwrap().key_refusals, 2);
    assert_eq!((run().await, refusals().await), (2, 2));
    // The events of the keys stay, and so do the refusals of a key that works or that went with its owner.
    let owner = t.owner().await;
    let mut remaining = events(&t, &owner).await;
    remaining.sort();
    assert_eq!(remaining, ["auth_failed invalid_secret", "created", "created", "created", "revoked"]);
    t.clock.set(before.plus(366 * DAY));
    assert_eq!((run().await, refusals().await), (1, 1));
});
