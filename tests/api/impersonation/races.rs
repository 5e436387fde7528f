//! Ends of the impersonator's rights while an exit is under way, or long before it.

use super::{acting, agree, is_over, me, start, text, withdraw};
use bailiwick_identity::auth;
use bailiwick_store::{Tx, sql::Q};
use bailiwick_testkit::{Engine, Persona, Reply, Test, api_test, eventually};
use serde_json::json;
use std::time::Duration;

/// Reads the activity of others again. A transaction otherwise reads it only once.
const ANEW: &str = "SELECT COUNT(*) FROM (SELECT pg_stat_clear_snapshot()) AS done";

/// Runs the call, which waits for a lock of this transaction, and lets go as soon as it waits.
pub async fn let_wait<T>(tx: Tx, what: Q, call: impl Future<Output = T>) -> T {
    let_wait_in(tx, "", what, call).await
}

/// The same; it waits in a statement that begins like this. Others may wait before it does.
pub async fn let_wait_in<T>(mut tx: Tx, statement: &str, what: Q, call: impl Future<Output = T>) -> T {
    // A worker of the service may wait for the same, and the call behind the worker.
    const WAITING: &str = "WITH RECURSIVE behind AS (SELECT a.pid, a.query FROM pg_stat_activity a \
         WHERE a.datname = current_database() AND pg_backend_pid() = ANY (pg_blocking_pids(a.pid)) \
         UNION SELECT a.pid, a.query FROM pg_stat_activity a JOIN behind b ON b.pid = ANY (pg_blocking_pids(a.pid)) \
         WHERE a.datname = current_database()) SELECT COUNT(*) FROM behind WHERE starts_with(query, ?)";
    let holding = async {
        let waits = async || {
            Q::new(ANEW).count(&mut tx).await.unwrap();
            Q::new(WAITING).bind(statement).count(&mut tx).await.unwrap() > 0
        };
        eventually("the call waits", waits).await;
        assert!(what.run(&mut tx).await.unwrap() > 0);
        tx.commit().await.unwrap();
    };
    tokio::join!(call, holding).0
}

/// Holds the rows that a statement selects until both calls wait, for the rows or for each other.
async fn let_both_wait(t: &Test, what: Q, calls: impl Future<Output = (Reply, Reply)>) -> (Reply, Reply) {
    const WAITING: &str = "SELECT COUNT(DISTINCT l.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid \
         WHERE NOT l.granted AND a.datname = current_database()";
    // A connection of its own: both calls need one each.
    let mut tx = t.begin_apart().await;
    assert!(!what.all::<(uuid::Uuid,)>(&mut tx).await.unwrap().is_empty());
    let holding = async {
        let waits = async || {
            Q::new(ANEW).count(&mut tx).await.unwrap();
            Q::new(WAITING).count(&mut tx).await.unwrap() >= 2
        };
        eventually("both calls wait", waits).await;
        tx.commit().await.unwrap();
    };
    tokio::join!(calls, holding).0
}

/// Both calls succeed, also when they meet, and the impersonations with these tokens are over.
async fn both_end(t: &Test, calls: impl Future<Output = (Reply, Reply)>, tokens: &[String]) {
    let (first, second) = match t.engine {
        Engine::Postgres => let_both_wait(t, Q::new(LIVE), calls).await,
        Engine::Sqlite => calls.await,
    };
    first.expect(200);
    second.expect(200);
    for token in tokens {
        me(t, token).await.expect(401);
    }
}

async fn exit(t: &Test, token: &str) -> Reply {
    t.delete("/api/impersonate").bearer(token).send().await
}

async fn logout(t: &Test, who: &Persona) {
    t.post("/api/auth/logout").bearer(&who.token).send().await.expect(200);
}

// Proves spec: guarantees#identity 38.
api_test!(a_logout_leaves_no_chain_of_a_way_back_at_the_same_moment, |t| async move {
    let a = acting(&t).await;
    for round in 0..8 {
        let actor = t.session(a.actor.id).await;
        agree(&t, &a.target, 2).await;
        let token = text(&start(&t, &actor, &a.target).await["token"]);
        let with = if round % 2 == 0 { &token } else { &actor.token };
        let (back, ()) = tokio::join!(exit(&t, with), logout(&t, &actor));
        if back.status == 200 {
            me(&t, &text(&back.data()["token"])).await.expect_message(401, "token has been revoked");
        } else {
            assert!([400, 401].contains(&back.status.as_u16()), "{}", back.text());
        }
        is_over(me(&t, &token).await);
    }
});

// Proves spec: guarantees#identity 38.
api_test!(a_logout_waits_for_a_way_back_and_ends_its_chain, |t| async move {
    if t.engine != Engine::Postgres {
        return;
    }
    let a = acting(&t).await;
    // The way back has written its chain and not yet committed.
    let mut tx = t.begin_apart().await;
    Q::new("SELECT CAST(1 AS BIGINT) FROM users WHERE id = ? FOR NO KEY UPDATE")
        .bind(a.actor.id)
        .one::<(i64,)>(&mut tx)
        .await
        .unwrap();
    let id: uuid::Uuid = t.app.platform.fresh();
    let new = "INSERT INTO session_chains (id, user_id, login_id, created_at, last_used_at, refresh_id, \
         refresh_issued_at, expires_at) SELECT ?, user_id, login_id, created_at, last_used_at, refresh_id, \
         refresh_issued_at, expires_at FROM session_chains WHERE user_id = ? LIMIT 1";
    let_wait(tx, Q::new(new).bind(id).bind(a.actor.id), logout(&t, &a.actor)).await;
    let left = Q::new(
        "SELECT CAST(COUNT(*) AS BIGINT) FROM session_chains WHERE user_id = ? AND revoked_at IS NULL",
    );
    assert_eq!(left.bind(a.actor.id).count(&t.app.platform.db).await.unwrap(), 0);
});

// Proves spec: guarantees#identity 38.
api_test!(a_token_that_is_revoked_meanwhile_leads_nowhere, |t| async move {
    if t.engine != Engine::Postgres {
        return;
    }
    let a = acting(&t).await;
    // Not the one the session is bound to: that goes on.
    let chains = async || -> Vec<(uuid::Uuid,)> {
        let all = Q::new("SELECT id FROM session_chains WHERE user_id = ?").bind(a.actor.id);
        all.all(&t.app.platform.db).await.unwrap()
    };
    let before = chains().await;
    let other = t.session(a.actor.id).await;
    let chain = chains().await.into_iter().find(|chain| !before.contains(chain)).unwrap().0;
    let mut tx = t.begin_apart().await;
    Q::new("SELECT CAST(1 AS BIGINT) FROM users WHERE id = ? FOR NO KEY UPDATE")
        .bind(a.actor.id)
        .one::<(i64,)>(&mut tx)
        .await
        .unwrap();
    let revoked = "UPDATE session_chains SET revoked_at = created_at, \
         revoked_reason = 'refresh token reuse detected' WHERE id = ?";
    let back = let_wait(tx, Q::new(revoked).bind(chain), exit(&t, &other.token)).await;
    let data = back.expect_message(401, "token has been revoked").data();
    assert_eq!(data, json!({"reason": "refresh token reuse detected"}));
    me(&t, &a.token).await.expect(200);
});

api_test!(
    // Proves spec: guarantees#identity 38.
    a_chain_that_is_gone_for_long_still_closes_the_way_back,
    |s| s.tokens.refresh = Duration::from_secs(600),
    |t| async move {
        for is_revoked_first in [true, false] {
            let a = acting(&t).await;
            let later = Duration::from_secs(600 + 1800 + 1);
            withdraw(&t, &a.target).await;
            if is_revoked_first {
                logout(&t, &a.actor).await;
            }
            t.advance(later);
            auth::purge_expired(&t.app.identity).await.unwrap();
            if !is_revoked_first {
                logout(&t, &t.session(a.actor.id).await).await;
            }
            is_over(exit(&t, &a.token).await);
            // It goes when the session's time is over.
            t.advance(Duration::from_secs(7200) - later);
            auth::purge_expired(&t.app.identity).await.unwrap();
            let left = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM session_chains WHERE user_id = ?");
            assert!(left.bind(a.actor.id).count(&t.app.platform.db).await.unwrap() <= 1);
        }
    }
);

const LIVE: &str = "SELECT id FROM impersonation_sessions WHERE ended_at IS NULL FOR NO KEY UPDATE";

api_test!(two_who_act_as_each_other_may_be_suspended_at_the_same_moment, |t| async move {
    let tree = t.tree().await;
    let root = t.owner().await;
    let one = t.user(tree.owner, &["super"]).await;
    let two = t.user(tree.owner, &["super"]).await;
    agree(&t, &one, 1).await;
    agree(&t, &two, 1).await;
    let tokens = [start(&t, &one, &two).await, start(&t, &two, &one).await].map(|s| text(&s["token"]));
    let suspend =
        |who: &Persona| t.patch(&format!("/api/users/{}/suspend", who.id)).bearer(&root.token).send();
    let both = async { tokio::join!(suspend(&one), suspend(&two)) };
    both_end(&t, both, &tokens).await;
});

scope_of_consent_test!(
    organizations_whose_people_act_as_each_other_may_be_suspended_at_the_same_moment,
    |t| async move {
        let tree = t.tree().await;
        let root = t.owner().await;
        let mut tokens = Vec::new();
        for (actor, target) in
            [(tree.distributor, tree.other_distributor), (tree.other_distributor, tree.distributor)]
        {
            let (actor, target) = (t.user(actor, &["super"]).await, t.user(target, &["admin"]).await);
            agree(&t, &target, 1).await;
            tokens.push(text(&start(&t, &actor, &target).await["token"]));
        }
        let suspend = |id: bailiwick_domain::OrgId| {
            t.patch(&format!("/api/distributors/{id}/suspend")).bearer(&root.token).send()
        };
        let both = async { tokio::join!(suspend(tree.distributor), suspend(tree.other_distributor)) };
        both_end(&t, both, &tokens).await;
    }
);
