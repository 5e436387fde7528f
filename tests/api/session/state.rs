//! Live state: suspended, deleted, changed, unreadable (spec: authentication#service-tokens,
//! authentication#session-chains).

use super::*;

// Proves spec: guarantees#identity 10.
api_test!(a_suspended_user_is_refused_on_the_next_request, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let now = t.app.platform.now();
    let suspend =
        |time: Option<Ts>| Q::new("UPDATE users SET suspended_at = ? WHERE id = ?").bind(time).bind(user);
    change(&t, suspend(Some(now))).await;
    let text = "user account has been suspended";
    for path in ["/api/me", "/api/user/profile", "/api/user/permissions"] {
        let reply = t.get(path).bearer(&session.token).send().await;
        assert_reason(reply, text, "user suspended by administrator");
    }
    assert_reason(refresh(&t, &session.refresh_token).await, text, "user suspended by administrator");
    assert!(auth::issue_token(&t.app.identity, user).await.is_err());
    t.post("/api/auth/logout").bearer(&session.token).send().await.expect(401);
    change(&t, suspend(None)).await;
    me(&t, &session).await.expect(200);
});

// Proves spec: guarantees#identity 10.
api_test!(the_state_of_the_organization_counts, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let mark =
        |column: &str, time: Option<Ts>| Q::new(&format!("UPDATE organizations SET {column} = ?")).bind(time);
    let now = Some(t.app.platform.now());
    change(&t, mark("eff_suspended_at", now)).await;
    assert_reason(me(&t, &session).await, "user account has been suspended", "organization suspended");
    change(&t, mark("eff_suspended_at", None)).await;
    change(&t, mark("eff_deleted_at", now)).await;
    assert_reason(me(&t, &session).await, "token has been revoked", "user deleted");
    refresh(&t, &session.refresh_token).await.expect_message(401, "refresh token has been revoked");
});

api_test!(suspended_is_reported_before_revoked, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    t.post("/api/auth/logout").bearer(&session.token).send().await.expect(200);
    let now = t.app.platform.now();
    change(
        &t,
        Q::new("UPDATE users SET suspended_at = ?, deleted_at = ? WHERE id = ?")
            .bind(now)
            .bind(now)
            .bind(user),
    )
    .await;
    let text = "user account has been suspended";
    assert_reason(me(&t, &session).await, text, "user suspended by administrator");
    assert_reason(refresh(&t, &session.refresh_token).await, text, "user suspended by administrator");
    change(&t, Q::new("UPDATE users SET suspended_at = NULL WHERE id = ?").bind(user)).await;
    assert_reason(me(&t, &session).await, "token has been revoked", "user deleted");
    change(&t, Q::new("UPDATE users SET deleted_at = NULL WHERE id = ?").bind(user)).await;
    assert_reason(me(&t, &session).await, "token has been revoked", "user logout");
});

// Proves spec: guarantees#identity 14.
api_test!(reactivation_revives_no_earlier_token, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let home = identities::get(&t.app.platform.db, user).await.unwrap().unwrap().organization;
    let organization = (home.id, home.org_type);
    let mut tx = t.app.platform.db.begin().await.unwrap();
    auth::revoke_organization(&mut tx, t.app.platform.now(), organization, auth::Reason::Suspended)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    assert_reason(me(&t, &session).await, "token has been revoked", "user suspended");
    let later = auth::issue_token(&t.app.identity, user).await.unwrap();
    me(&t, &later).await.expect(200);
});

api_test!(a_user_who_is_gone_has_no_valid_token, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    change(&t, Q::new("DELETE FROM users WHERE id = ?").bind(user)).await;
    me(&t, &session).await.expect_message(401, "invalid token");
    refresh(&t, &session.refresh_token).await.expect_message(401, "invalid refresh token");
});

// Proves spec: authorization#guarantees 25.
api_test!(a_change_of_roles_or_names_shows_on_the_next_request, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    let roles = json!(["reader", "gone from the catalogue"]);
    change(
        &t,
        Q::new("UPDATE users SET role_ids = ?, name = ? WHERE id = ?").bind(roles).bind("New").bind(user),
    )
    .await;
    let data = me(&t, &session).await.expect(200).data();
    assert_eq!(data["user_role_ids"], json!(["reader"]));
    assert_eq!(data["org_permissions"], json!(["read:distributors", "read:resellers", "read:customers"]));
    assert_eq!(data["name"], "New");
    assert_eq!(part(&session.token, 1)["user"]["name"], "Second", "the token still has the old one");
});

// Proves spec: guarantees#identity 11, authorization#guarantees 22.
api_test!(unreadable_state_gives_503_and_never_access, |t| async move {
    let user = user(&t).await;
    let session = session(&t, user).await;
    t.app.platform.db.close().await;
    let text = "security service temporarily unavailable";
    let replies = [
        me(&t, &session).await,
        refresh(&t, &session.refresh_token).await,
        t.post("/api/auth/logout").bearer(&session.token).send().await,
        t.get("/api/user/profile").bearer(&session.token).send().await,
    ];
    for reply in replies {
        let reply = reply.expect_message(503, text);
        assert!(reply.header("retry-after").is_some());
        assert_eq!(reply.data(), Value::Null);
    }
});

api_test!(sessions_of_one_user_may_move_all_at_once, |t| async move {
    let user = user(&t).await;
    for _ in 0..5 {
        let (token, _) = provider_token(&t, user, "bailiwick").await;
        let (a, b) = (session(&t, user).await, session(&t, user).await);
        let reset = async {
            let mut tx = t.app.platform.db.begin().await.unwrap();
            identities::get_for_login(&mut tx, user).await.unwrap();
            auth::revoke_user(&mut tx, t.app.platform.now(), user, None, auth::Reason::PasswordChanged)
                .await
                .unwrap();
            tx.commit().await.unwrap();
        };
        let home = identities::get(&t.app.platform.db, user).await.unwrap().unwrap().organization;
        let organization = (home.id, home.org_type);
        let suspension = async {
            let mut tx = t.app.platform.db.begin().await.unwrap();
            let now = Some(t.app.platform.now());
            Q::new("UPDATE organizations SET eff_suspended_at = ?").bind(now).run(&mut tx).await.unwrap();
            auth::revoke_organization(&mut tx, t.app.platform.now(), organization, auth::Reason::Suspended)
                .await
                .unwrap();
            tx.commit().await.unwrap();
        };
        let logout = t.post("/api/auth/logout").bearer(&b.token).send();
        let (e1, e2, e3, r1, r2, out, (), ()) = tokio::join!(
            exchange(&t, &token),
            exchange(&t, &token),
            exchange(&t, &token),
            refresh(&t, &a.refresh_token),
            refresh(&t, &b.refresh_token),
            logout,
            reset,
            suspension,
        );
        for reply in [e1, e2, e3, r1, r2, out] {
            assert!(matches!(reply.status.as_u16(), 200 | 401), "{}", reply.text());
        }
        change(&t, Q::new("UPDATE organizations SET eff_suspended_at = ?").bind(None::<Ts>)).await;
        let (live,): (i64,) = Q::new("SELECT COUNT(*) FROM session_chains WHERE revoked_at IS NULL")
            .one(&t.app.platform.db)
            .await
            .unwrap();
        assert_eq!(live, 0, "no chain survives a suspension, whichever came first");
    }
});

// On PostgreSQL a row that was waited for is joined again with the organization it had before.
api_test!(a_user_who_moves_while_he_is_waited_for_is_found_where_he_went, |t| async move {
    let tree = t.tree().await;
    for wait in 0..3 {
        let user = t.user(tree.customer, &["reader"]).await.id;
        let mut mover = t.app.platform.db.begin().await.unwrap();
        users::lock(&mut mover, user).await.unwrap().unwrap();
        Q::new("UPDATE users SET organization_id = ?, p2 = ?, p3 = ? WHERE id = ?")
            .bind(tree.reseller)
            .bind(tree.distributor)
            .bind(tree.reseller)
            .bind(user)
            .run(&mut mover)
            .await
            .unwrap();
        let db = t.app.platform.db.clone();
        let waiting = tokio::spawn(async move {
            let mut tx = db.begin().await.unwrap();
            match wait {
                0 => identities::get_steady(&mut tx, user).await.unwrap().map(|u| u.organization.id),
                1 => identities::get_for_login(&mut tx, user).await.unwrap().map(|u| u.organization.id),
                _ => users::lock(&mut tx, user).await.unwrap().map(|u| u.path.id),
            }
        });
        if t.engine == Engine::Postgres {
            let text = "SELECT COUNT(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid)) \
                 AND (SELECT COUNT(*) FROM (SELECT pg_stat_clear_snapshot()) AS done) = 1";
            eventually("it waits", async || Q::new(text).count(&mut mover).await.unwrap() > 0).await;
        }
        assert!(!waiting.is_finished());
        mover.commit().await.unwrap();
        assert_eq!(waiting.await.unwrap(), Some(tree.reseller), "{wait}");
    }
});
