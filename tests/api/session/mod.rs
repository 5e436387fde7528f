//! Sessions (spec: authentication#bearer-errors, authentication#service-tokens to authentication#logout,
//! authentication#provider-token-reads, account#me). The numbers in the names are the rules of spec:
//! guarantees#identity.

use bailiwick_app::{App, operator};
use bailiwick_domain::{LoginId, SignInMethod, SignInMethods, Ts, UserId};
use bailiwick_identity::{
    auth::{self, Session},
    passwords,
};
use bailiwick_platform::Secret;
use bailiwick_policy::Catalogue;
use bailiwick_settings::Settings;
use bailiwick_store::{
    identities,
    oidc::{grants, logins, tokens},
    sql::Q,
    users,
};
use bailiwick_testkit::{Engine, ManualClock, Reply, SeededEntropy, Test, api_test, eventually};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

mod bearer;
mod exchange;
mod first_start;
mod fresh_sign_in;
mod own_password;
mod own_sessions;
mod sessions;
mod state;

const PASSWORD: &str = "Quiet-Harbour-58-Lamps";

/// A second user of the owner organization, so that the tests may suspend and delete a user.
pub async fn user(t: &Test) -> UserId {
    let new = operator::NewOwnerUser {
        email: "second@example.org".to_owned(),
        username: None,
        name: "Second".to_owned(),
        password: Some(Secret::new(PASSWORD.to_owned())),
    };
    operator::create_owner_user(&t.app, &new).await.unwrap()
}

async fn session(t: &Test, user: UserId) -> Session {
    auth::issue_token(&t.app.identity, user).await.unwrap()
}

async fn change(t: &Test, q: Q) {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    assert!(q.run(&mut tx).await.unwrap() > 0);
    tx.commit().await.unwrap();
}

async fn me(t: &Test, session: &Session) -> Reply {
    t.get("/api/me").bearer(&session.token).send().await
}

async fn refresh(t: &Test, token: &str) -> Reply {
    t.post("/api/auth/refresh").json(json!({"refresh_token": token})).send().await
}

/// The refresh token of a successful refresh.
#[track_caller]
fn refreshed(reply: Reply) -> String {
    let data = reply.expect_message(200, "token refresh successful").data();
    data["refresh_token"].as_str().unwrap().to_owned()
}

/// A decoded part of a JWT: 0 its header, 1 its claims.
pub(crate) fn part(token: &str, index: usize) -> Value {
    let part = token.split('.').nth(index).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// Another process on the same database, with other settings or another clock.
fn other(t: &Test, change: impl FnOnce(&mut Settings), ahead: Duration) -> App {
    let mut settings = (*t.app.settings).clone();
    change(&mut settings);
    let clock = ManualClock::new();
    clock.set(t.app.platform.now().plus(ahead));
    static SEED: AtomicU64 = AtomicU64::new(1000);
    let entropy = Arc::new(SeededEntropy::new(SEED.fetch_add(1, Ordering::Relaxed)));
    App::new(settings, t.app.platform.db.clone(), Arc::new(clock), entropy, Catalogue::built_in().clone())
        .unwrap()
}

#[track_caller]
fn assert_reason(reply: Reply, message: &str, reason: &str) {
    let reply = reply.expect_message(401, message);
    assert_eq!(reply.data(), json!({"reason": reason}));
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
}

/// A login of the user from now for an hour.
fn login(t: &Test, user: UserId) -> logins::Login {
    let now = t.app.platform.now();
    logins::Login {
        id: t.app.platform.fresh(),
        user_id: user,
        authenticated_at: now,
        methods: SignInMethods::of(SignInMethod::Password),
        expires_at: now.plus(Duration::from_secs(3600)),
    }
}

/// An access token of the embedded provider and the login behind it.
pub async fn provider_token(t: &Test, user: UserId, client_id: &str) -> (String, LoginId) {
    let (now, token) = (t.app.platform.now(), t.app.platform.fresh::<uuid::Uuid>().to_string());
    let later = now.plus(Duration::from_secs(3600));
    let login = login(t, user);
    let code =
        grants::Code { redirect_uri: "x".into(), challenge: None, expires_at: now, used_at: Some(now) };
    let grant = grants::Grant {
        id: t.app.platform.fresh(),
        user_id: user,
        login_id: login.id,
        client_id: client_id.to_owned(),
        scope: "openid".to_owned(),
        nonce: None,
        resource: None,
        auth_at: now,
        methods: login.methods,
        code,
        created_at: now,
        expires_at: later,
        is_ended: false,
    };
    let stored = tokens::NewToken {
        hash: bailiwick_platform::keys::token_digest(&token),
        grant: grant.id,
        kind: tokens::ProviderTokenKind::Access,
        scope: "openid".to_owned(),
        sealed: None,
        created_at: now,
        expires_at: later,
    };
    let mut tx = t.app.platform.db.begin().await.unwrap();
    logins::insert(&mut tx, &login, &bailiwick_platform::keys::token_digest(&format!("cookie of {token}")))
        .await
        .unwrap();
    grants::insert(&mut tx, &grant, &bailiwick_platform::keys::token_digest(&format!("code of {token}")))
        .await
        .unwrap();
    tokens::insert(&mut tx, &stored).await.unwrap();
    tx.commit().await.unwrap();
    (token, login.id)
}

pub async fn exchange(t: &Test, token: &str) -> Reply {
    t.post("/api/auth/exchange").json(json!({"access_token": token})).send().await
}
