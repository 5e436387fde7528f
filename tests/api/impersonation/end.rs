//! The way back.

use super::{
    Acting, NO_CONSENT, acting, agree, audit_lines, is_over, is_withdrawn, me, start, starting, status, text,
    withdraw,
};
use bailiwick_domain::OrgType;
use bailiwick_testkit::{Reply, Test, api_test};
use serde_json::{Value, json};
use std::time::Duration;

async fn exit(t: &Test, token: &str) -> Reply {
    t.delete("/api/impersonate").bearer(token).send().await
}

/// The answer of a way back leads to its user's own account.
async fn leads_home(t: &Test, reply: Reply, a: &Acting) -> Value {
    let data = reply.expect_message(200, "impersonation ended successfully").data();
    assert_eq!(data["expires_in"], 1800);
    assert_eq!(data["user"]["id"], json!(a.actor.id));
    assert_eq!(me(t, &text(&data["token"])).await.expect(200).data(), data["user"]);
    let refresh = json!({"refresh_token": data["refresh_token"]});
    t.post("/api/auth/refresh").json(refresh).send().await.expect(200);
    data
}

// Proves spec: guarantees#identity 24, authorization#guarantees 24.
api_test!(either_token_ends_it_once, |t| async move {
    let a = acting(&t).await;
    leads_home(&t, exit(&t, &a.token).await, &a).await;
    is_over(me(&t, &a.token).await);
    is_over(exit(&t, &a.token).await);
    // With the impersonator's own token: its session chain goes on, and there is a new one.
    let token = text(&start(&t, &a.actor, &a.target).await["token"]);
    leads_home(&t, exit(&t, &a.actor.token).await, &a).await;
    is_over(me(&t, &token).await);
    is_over(exit(&t, &token).await);
    me(&t, &a.actor.token).await.expect(200);
    let again = exit(&t, &a.actor.token).await.expect_message(400, "not currently impersonating a user");
    assert_eq!(again.data(), json!({"type": "validation_error", "errors": []}));
    exit(&t, &a.target.token).await.expect_message(400, "not currently impersonating a user");
});

// Proves spec: acceptance#scenarios 20, guarantees#identity 21, authorization#guarantees 20.
scope_of_consent_test!(the_way_back_is_built_from_live_data, |t| async move {
    let a = acting(&t).await;
    let owner = t.owner().await;
    // After a move to a lower organization the impersonator comes back with the rights that are left.
    let reseller = t.organization(a.actor.org, OrgType::Reseller, "Alfa 2").await;
    let path = format!("/api/users/{}", a.actor.id);
    let body = json!({"organization_id": reseller.to_string(), "name": "Renamed"});
    t.put(&path).bearer(&owner.token).json(body).send().await.expect(200);
    let session = status(&t, &a.token).await;
    assert_eq!(session["impersonator"]["name"], "Renamed");
    assert_eq!(session["impersonator"]["org_role"], "Reseller");
    let back = leads_home(&t, exit(&t, &a.token).await, &a).await;
    assert_eq!(back["user"]["org_permissions"], json!(["read:customers", "manage:customers"]));
    // Without the permission the session is over, and the impersonator already has their own token, with lower rights.
    let token = text(&start(&t, &a.actor, &a.target).await["token"]);
    t.put(&path).bearer(&owner.token).json(json!({"user_role_ids": ["admin"]})).send().await.expect(200);
    is_over(exit(&t, &token).await);
    is_over(t.get("/api/impersonate/status").bearer(&token).send().await);
    exit(&t, &a.actor.token).await.expect_message(400, "not currently impersonating a user");
    assert_eq!(status(&t, &a.actor.token).await, json!({"is_impersonating": false}));
    // A suspended or deleted impersonator gets nothing.
    t.put(&path).bearer(&owner.token).json(json!({"user_role_ids": ["super"]})).send().await.expect(200);
    let token = text(&start(&t, &a.actor, &a.target).await["token"]);
    t.suspend_user(a.actor.id).await;
    let reply = exit(&t, &token).await.expect_message(401, "invalid token");
    assert_eq!(reply.data(), Value::Null);
    exit(&t, &a.actor.token).await.expect_message(401, "user account has been suspended");
    t.delete_user(a.actor.id).await;
    exit(&t, &token).await.expect_message(401, "invalid token");
});

api_test!(from_a_session_that_the_other_side_has_ended_he_returns_once, |t| async move {
    let a = acting(&t).await;
    withdraw(&t, &a.target).await;
    is_withdrawn(me(&t, &a.token).await);
    leads_home(&t, exit(&t, &a.token).await, &a).await;
    is_over(exit(&t, &a.token).await);
    is_over(me(&t, &a.token).await);
    let lines = audit_lines(&t, &a.target, &a.session).await;
    assert_eq!(
        lines,
        [
            "session_start",
            "session_end",
            "GET /api/me 401",
            "DELETE /api/impersonate 200",
            "DELETE /api/impersonate 401",
            "GET /api/me 401"
        ]
    );
    for how in ["suspended", "deleted", "replaced"] {
        let target = t.user(a.target.org, &["reader"]).await;
        agree(&t, &target, 2).await;
        let token = text(&start(&t, &a.actor, &target).await["token"]);
        match how {
            "suspended" => t.suspend_user(target.id).await,
            "deleted" => t.delete_user(target.id).await,
            _ => drop(agree(&t, &target, 1).await),
        }
        leads_home(&t, exit(&t, &token).await, &a).await;
        is_over(exit(&t, &token).await);
    }
    // The exit fails after the session's time, and after the impersonator has signed out.
    let target = t.user(a.target.org, &["reader"]).await;
    agree(&t, &target, 1).await;
    let token = text(&start(&t, &a.actor, &target).await["token"]);
    withdraw(&t, &target).await;
    t.post("/api/auth/logout").bearer(&a.actor.token).send().await.expect(200);
    is_over(exit(&t, &token).await);
    let actor = t.session(a.actor.id).await;
    agree(&t, &target, 1).await;
    let token = text(&start(&t, &actor, &target).await["token"]);
    t.advance(Duration::from_secs(3600));
    is_withdrawn(exit(&t, &token).await);
});

api_test!(of_two_ways_back_at_the_same_time_one_leads_home, |t| async move {
    let a = acting(&t).await;
    for round in 0..6 {
        let token =
            if round == 0 { a.token.clone() } else { text(&start(&t, &a.actor, &a.target).await["token"]) };
        let other = if round % 2 == 0 { &token } else { &a.actor.token };
        if round == 4 {
            withdraw(&t, &a.target).await;
        }
        let (one, two) = tokio::join!(exit(&t, &token), exit(&t, other));
        let mut statuses = [one.status.as_u16(), two.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses[0], 200, "{} {}", one.text(), two.text());
        assert!([400, 401].contains(&statuses[1]), "{} {}", one.text(), two.text());
        if round == 4 {
            agree(&t, &a.target, 2).await;
        }
    }
});

api_test!(of_two_starts_at_the_same_time_one_makes_a_session, |t| async move {
    let a = acting(&t).await;
    exit(&t, &a.token).await.expect(200);
    let other = t.user(a.target.org, &["reader"]).await;
    agree(&t, &other, 2).await;
    for _ in 0..4 {
        let (one, two, three) = tokio::join!(
            starting(&t, &a.actor.token, &a.target).send(),
            starting(&t, &a.actor.token, &other).send(),
            starting(&t, &a.actor.token, &a.target).send()
        );
        let mut statuses = [one.status.as_u16(), two.status.as_u16(), three.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409, 409], "{} {} {}", one.text(), two.text(), three.text());
        exit(&t, &a.actor.token).await.expect(200);
    }
});

api_test!(two_people_may_act_as_each_other_at_once, |t| async move {
    let tree = t.tree().await;
    let one = t.user(tree.owner, &["super"]).await;
    let two = t.user(tree.owner, &["super"]).await;
    for _ in 0..3 {
        agree(&t, &one, 1).await;
        agree(&t, &two, 1).await;
        // They hold each other's rows: neither may fail for it.
        let (first, second) =
            tokio::join!(starting(&t, &one.token, &two).send(), starting(&t, &two.token, &one).send());
        me(&t, &text(&first.expect(200).data()["token"])).await.expect(200);
        me(&t, &text(&second.expect(200).data()["token"])).await.expect(200);
    }
});

api_test!(a_withdrawal_races_with_starts_and_nothing_survives_it, |t| async move {
    let a = acting(&t).await;
    exit(&t, &a.token).await.expect(200);
    for _ in 0..8 {
        agree(&t, &a.target, 2).await;
        let (started, ()) =
            tokio::join!(starting(&t, &a.actor.token, &a.target).send(), withdraw(&t, &a.target));
        if started.status == 200 {
            is_withdrawn(me(&t, &text(&started.data()["token"])).await);
        } else {
            started.expect_message(403, NO_CONSENT);
        }
        assert_eq!(status(&t, &a.actor.token).await, json!({"is_impersonating": false}));
    }
});
