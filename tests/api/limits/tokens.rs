//! Requests for tokens (spec: conventions#rate-limits).

use super::*;
use crate::provider::client::*;
use serde_json::json;

async fn exchange_at(t: &Test, from: &str) -> Reply {
    t.post("/api/auth/exchange").from(from).json(json!({"access_token": "x"})).send().await
}

api_test!(
    no_more_requests_pass_at_three_processes_than_at_one,
    |settings| {
        settings.limits.token_requests_per_second = 1;
        settings.limits.token_request_burst = 6;
    },
    |t| async move {
        let all = three(t).await;
        let mut replies = Vec::new();
        for n in 0..18 {
            replies.push(exchange_at(&all[n % 3], "192.0.2.1").await);
        }
        assert_eq!((with(401, &replies[..6]), with(429, &replies[6..])), (6, 12));
        assert_eq!(replies[17].header("retry-after"), Some("1"));
        let replies = join_all((0..18).map(|n| exchange_at(&all[n % 3], "192.0.2.2"))).await;
        assert_eq!((with(401, &replies), with(429, &replies)), (6, 12));
        // A wrong secret of a client counts like everything else.
        let form = [("client_id", "bailiwick"), ("client_secret", "x"), ("grant_type", "refresh_token")];
        let wrong = |n: usize| all[n % 3].post("/oidc/token").from("192.0.2.3").form(&form).send();
        let replies = join_all((0..18).map(wrong)).await;
        assert_eq!(with(429, &replies), 12);
        // One a second, at whatever process.
        for _ in 0..3 {
            all[0].advance(Duration::from_secs(1));
            let replies = join_all(all.iter().map(|t| exchange_at(t, "192.0.2.1"))).await;
            assert_eq!((with(401, &replies), with(429, &replies)), (1, 2));
        }
    }
);

api_test!(
    a_refused_refresh_uses_nothing_up,
    |settings| {
        settings.limits.token_requests_per_second = 1;
        settings.limits.token_request_burst = 6;
        settings.tokens.reuse_grace = Duration::ZERO;
    },
    |t| async move {
        let user = t.owner().await;
        let session = bailiwick_identity::auth::issue_token(&t.app.identity, user.id).await.unwrap();
        let all = three(t).await;
        let refresh = async |t: &Test, token: &str| {
            t.post("/api/auth/refresh").json(json!({"refresh_token": token})).send().await
        };
        let mut token = session.refresh_token;
        for n in 0..6 {
            let reply = refresh(&all[n % 3], &token).await.expect(200);
            token = reply.data()["refresh_token"].as_str().unwrap().to_owned();
        }
        for t in &all {
            refresh(t, &token).await.expect(429);
        }
        all[0].advance(Duration::from_secs(1));
        refresh(&all[1], &token).await.expect(200);
    }
);

api_test!(without_the_table_tokens_are_given_and_each_process_holds_the_limit, |t| async move {
    let browser = Browser::new(&t);
    let code = browser.code(&[]).await;
    break_table(&t).await;
    redeem(&t, &code, &[]).await.expect(200);
});
