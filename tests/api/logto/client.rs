//! The client of the Management API by itself (spec: logto#calls).

use bailiwick_domain::Clock;
use bailiwick_outbound::{
    issuer::IssuerError,
    logto::{Access, LogtoClient, LogtoError},
};
use bailiwick_testkit::{
    ManualClock, PATIENCE, SeededEntropy, eventually,
    parts::{
        logto::{APP, Fault, Logto, Tenant},
        recorder::Answer,
    },
};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// A client that waits so long for an answer.
fn client_within(logto: &Logto, clock: &Arc<ManualClock>, timeout: Duration) -> LogtoClient {
    let settings = logto.settings();
    let access = Access {
        base: settings.management_url,
        token_url: format!("{}/token", settings.issuer.url),
        resource: settings.resource,
        id: APP.0.to_owned(),
        secret: APP.1.to_owned(),
        pace: Duration::from_millis(1),
        timeout,
    };
    assert!(!format!("{access:?}").contains("100%"));
    let clock: Arc<dyn Clock> = clock.clone();
    LogtoClient::new(access, clock, Arc::new(SeededEntropy::new(7))).unwrap()
}

async fn start() -> (Logto, LogtoClient, Arc<ManualClock>) {
    let logto = Logto::start().await.unwrap();
    let clock = Arc::new(ManualClock::new());
    let client = client_within(&logto, &clock, PATIENCE);
    (logto, client, clock)
}

fn tokens(logto: &Logto) -> usize {
    logto.requests().iter().filter(|request| request.path == "/oidc/token").count()
}

fn is_away(done: &Result<impl Sized, LogtoError>) -> bool {
    matches!(done, Err(LogtoError::Away(_)))
}

#[tokio::test]
async fn a_token_lasts_until_30_s_before_its_end() {
    let (logto, client, clock) = start().await;
    client.roles().await.unwrap();
    clock.advance(Duration::from_secs(3569));
    client.roles().await.unwrap();
    assert_eq!(tokens(&logto), 1);
    clock.advance(Duration::from_secs(1));
    client.roles().await.unwrap();
    assert_eq!(tokens(&logto), 2);
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let (logto, client, _) = start().await;
    client.roles().await.unwrap();
    logto.with(Tenant::expire_tokens);
    client.roles().await.unwrap();
    assert_eq!(tokens(&logto), 2);
    logto.fail_by(|request| {
        let of_api = request.path.starts_with("/api/");
        of_api.then(|| Fault::Answer(Answer::json(401, &json!({"code": "auth.unauthorized"}))))
    });
    assert!(is_away(&client.roles().await));
    // The token at hand, and a new one.
    assert_eq!(tokens(&logto), 3);
}

// Proves spec: authorization#guarantees 31.
#[tokio::test]
async fn lists_are_read_to_their_last_page() {
    let (logto, client, _) = start().await;
    logto.with(|tenant| {
        tenant.roles = (0..250).map(|n| (format!("r{n}"), format!("Role {n}"))).collect();
    });
    assert_eq!(client.roles().await.unwrap().len(), 250);
    let calls = logto.calls();
    assert_eq!(calls.iter().filter(|call| *call == "GET /roles").count(), 3);
    // Exactly full pages, and a tenant that sends no total.
    logto.with(|tenant| tenant.roles.truncate(200));
    assert_eq!(client.roles().await.unwrap().len(), 200);
    let row = |n: usize| json!({"id": format!("r{n}"), "name": "x"});
    let full = json!((0..100).map(row).collect::<Vec<_>>());
    logto.fail_by(move |request| {
        let is_last = request.query.as_deref().is_some_and(|query| query.contains("page=3&"));
        let page = if is_last { json!([]) } else { full.clone() };
        request.path.ends_with("/roles").then(|| Fault::Answer(Answer::json(200, &page)))
    });
    assert_eq!(client.roles().await.unwrap().len(), 200);
}

#[tokio::test]
async fn a_list_without_an_end_ends() {
    let (logto, client, _) = start().await;
    let full = json!((0..100).map(|n| json!({"id": format!("r{n}"), "name": "x"})).collect::<Vec<_>>());
    logto.fail_by(move |request| {
        request.path.ends_with("/roles").then(|| Fault::Answer(Answer::json(200, &full)))
    });
    assert!(is_away(&client.roles().await));
}

#[tokio::test]
async fn requests_wait_at_the_rate_limit() {
    let (logto, client, _) = start().await;
    let left = Arc::new(AtomicU32::new(5));
    let counted = left.clone();
    logto.fail_by(move |request| {
        let is_busy = request.path.starts_with("/api/")
            && counted.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        is_busy.then(|| Fault::Answer(Answer::status(429)))
    });
    client.roles().await.unwrap();
    left.store(6, Ordering::SeqCst);
    assert!(is_away(&client.roles().await));
    // A call that a person waits for does not wait.
    left.store(1, Ordering::SeqCst);
    assert!(is_away(&client.is_password("x", "y").await));
    let _ = logto.calls();
    left.store(1, Ordering::SeqCst);
    logto.fail_by(move |request| {
        let is_busy = request.path.starts_with("/api/")
            && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        is_busy.then(|| Fault::Answer(Answer::status(429).header("retry-after", "0")))
    });
    client.roles().await.unwrap();
    assert_eq!(logto.calls().len(), 2);
}

#[tokio::test]
async fn a_long_retry_after_returns_at_once() {
    let (logto, client, clock) = start().await;
    client.roles().await.unwrap();
    let later = clock.now().plus(Duration::from_secs(3600));
    // A date has whole seconds.
    let date =
        jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&later.to_jiff()).unwrap();
    let whole = bailiwick_domain::Ts::from_secs(later.secs());
    let far = clock.now().plus(Duration::from_secs(4 * 3600));
    for (retry_after, until) in [("3600", later), (date.as_str(), whole), ("99999999", far)] {
        let _ = logto.calls();
        logto.always(Answer::status(429).header("retry-after", retry_after));
        assert_eq!(client.roles().await, Err(LogtoError::Later(until)), "{retry_after}");
        assert_eq!(logto.calls().len(), 1);
    }
    let past = "Sun, 06 Nov 1994 08:49:37 GMT";
    let left = AtomicU32::new(3);
    logto.fail_by(move |_| {
        let is_busy = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        is_busy.then(|| Fault::Answer(Answer::status(429).header("retry-after", past)))
    });
    client.roles().await.unwrap();
}

#[tokio::test]
async fn a_missing_endpoint_does_not_mean_a_missing_object() {
    let (logto, client, _) = start().await;
    client.roles().await.unwrap();
    logto.always(Answer::json(405, &json!({})));
    assert_eq!(client.user("x").await, Err(LogtoError::Unsupported));
    assert_eq!(client.delete_user("x").await, Err(LogtoError::Unsupported));
    assert!(client.sign_in_experience("x").await.unwrap().is_none());
    assert!(client.consent_scopes("x").await.unwrap().is_none());
}

#[tokio::test]
async fn malformed_answers_are_errors() {
    let (logto, client, clock) = start().await;
    client.roles().await.unwrap();
    // It has a token, as soon as the machine is fast enough for it.
    let hasty = client_within(&logto, &clock, Duration::from_millis(700));
    eventually("an answer comes in time", async || hasty.roles().await.is_ok()).await;
    for answer in [
        Answer::dropped(),
        Answer::raw("secret garbage\r\n\r\n"),
        Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[{\"id\""),
        Answer::json(200, &json!({"secret": 1})),
        Answer::json(200, &json!([{"id": "../secret", "name": "x"}])),
        Answer::status(200).body("x".repeat(4 * 1024 * 1024 + 1)),
        Answer::status(302).header("location", "http://secret.example/"),
        Answer::json(500, &json!({"code": "secret"})),
        Answer::status(400).body("<html>secret"),
        Answer::json(403, &json!({"code": "secret"})),
    ] {
        logto.always(answer.clone());
        let error = client.roles().await.unwrap_err();
        assert!(matches!(error, LogtoError::Away(_)), "{answer:?}: {error:?}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    logto.always(Answer::status(200).after(Duration::from_secs(600)));
    assert_eq!(hasty.roles().await.unwrap_err(), LogtoError::Away(IssuerError::TimedOut));
    logto.always(Answer::json(422, &json!({"code": "user.username_already_in_use", "message": "secret"})));
    let error = client.delete_user("x").await.unwrap_err();
    assert_eq!(error.to_string(), "username: already_exists");
    logto.recover();
    client.delete_user("x").await.unwrap();
    assert_eq!(client.user("x").await, Ok(None));
}

#[tokio::test]
async fn no_token_no_request() {
    let (logto, client, _) = start().await;
    for answer in [
        Answer::json(400, &json!({"error": "invalid_client"})),
        Answer::json(200, &json!({"access_token": 1})),
        Answer::json(200, &json!({"access_token": "a\nb", "expires_in": 60})),
        Answer::dropped(),
    ] {
        logto.always(answer);
        assert!(is_away(&client.roles().await));
    }
    assert!(logto.calls().is_empty());
}
