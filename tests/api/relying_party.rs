//! Identity mode `oidc` (spec: authentication#identity-modes): against a real provider, and against one that fails or
//! lies.

mod attacks;
mod back_channel;
mod console;
mod faults;
mod linking;
mod modes;
mod sign_in;
mod token_kinds;

use crate::session::exchange;
use bailiwick_domain::Ts;
use bailiwick_platform::Secret;
use bailiwick_settings::{AccessControl, Application, Client, IdentityMode, Issuer, Settings};
use bailiwick_testkit::{
    Engine, PATIENCE, Reply, Test, engine, eventually,
    parts::identity_provider::{AUDIENCE, INTROSPECTOR, IdentityProvider, shared},
};
use serde_json::Value;

/// The first user of every test database, as the provider knows them.
const OWNER: &str = "o~owner@example.org~true";

/// Settings for an issuer that lets the client `bailiwick` introspect, with a third-party application `wiki`.
fn settings(url: &str, change: impl FnOnce(&mut Issuer)) -> Settings {
    let mut settings = engine::settings();
    let mut issuer = Issuer::new(url, "bailiwick");
    let (id, secret) = INTROSPECTOR;
    issuer.introspection = Some((id.to_owned(), Secret::new(secret.to_owned())));
    // On a busy machine a provider may take longer than the defaults allow.
    (issuer.keys_timeout, issuer.patience) = (PATIENCE, PATIENCE);
    (issuer.times.head, issuer.times.total) = (PATIENCE, PATIENCE);
    change(&mut issuer);
    settings.identity = IdentityMode::Oidc(Box::new(issuer));
    settings.provider.clients = vec![Client {
        id: "wiki".to_owned(),
        secret_sha256: None,
        redirect_uris: vec!["https://wiki.example.org/cb".to_owned()],
        post_logout_redirect_uris: Vec::new(),
        first_party: false,
        application: Application {
            access_control: Some(AccessControl {
                organization_roles: vec!["owner".to_owned()],
                ..AccessControl::default()
            }),
            ..Application::default()
        },
    }];
    settings
}

/// Tokens must be meant for this service. Opaque ones of the provider of the tests have no audience.
fn for_us(issuer: &mut Issuer) {
    issuer.audiences = vec![AUDIENCE.to_owned()];
}

/// `on_both!(name, function)` becomes `name::sqlite` and `name::postgres`.
macro_rules! on_both {
    ($name:ident, $on:ident) => {
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                $on(Engine::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                $on(Engine::Postgres).await;
            }
        }
    };
}
pub(crate) use on_both;

/// A service with a clock that shows the provider's time.
async fn service(engine: Engine, settings: Settings) -> Test {
    let issuer = settings.identity.issuer().map(|issuer| issuer.url.clone()).unwrap_or_default();
    let t = Test::with(engine, settings).await;
    // The provider answers the questions of the start before the clock moves and the test counts requests. The second
    // token needs its keys, so the fetch of the start has ended too.
    for token in ["nobody".to_owned(), unsigned(&issuer)] {
        let is_refused = async || {
            let reply = profile(&t, &token).await;
            if reply.status != 401 {
                // Some tests allow the provider little time. A failure is remembered for a second.
                t.advance(std::time::Duration::from_secs(1));
            }
            reply.status == 401
        };
        eventually("the provider answers in time", is_refused).await;
    }
    t.clock.set(Ts::from_secs(jiff::Timestamp::now().as_second()));
    t
}

/// A token of this issuer with a key that it does not have.
fn unsigned(issuer: &str) -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = serde_json::json!({"alg": "ES256", "kid": "nobody"});
    format!("{}.{}.AAAA", part(header), part(serde_json::json!({"iss": issuer})))
}

async fn profile(t: &Test, token: &str) -> Reply {
    t.get("/api/user/profile").bearer(token).send().await
}

/// Refused at the exchange and at the two reads alike.
async fn refused(t: &Test, token: &str, why: &str) {
    let reply = exchange(t, token).await;
    assert_eq!((reply.status.as_u16(), reply.message().as_str()), (401, "invalid access token"), "{why}");
    assert_eq!(reply.data(), Value::Null);
    for path in ["/api/user/profile", "/api/user/permissions"] {
        let reply = t.get(path).bearer(token).send().await;
        assert_eq!((reply.status.as_u16(), reply.message().as_str()), (401, "invalid token"), "{why}");
    }
}

/// `external_test!(name, |t, p| async move { … })` becomes `name::sqlite` and `name::postgres`, with the provider that
/// all tests share. `external_test!(name, |issuer| { … }, |t, p| …)` changes the settings first.
macro_rules! external_test {
    ($name:ident, |$t:ident, $p:ident| $body:expr) => {
        $crate::relying_party::external_test!($name, |_issuer| {}, |$t, $p| $body);
    };
    ($name:ident, |$issuer:pat_param| $change:expr, |$t:ident, $p:ident| $body:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            async fn on(engine: Engine) {
                let $p: &IdentityProvider = shared().await.unwrap_or_else(|e| panic!("{e}"));
                let $t = service(engine, settings(&$p.url(), |$issuer: &mut Issuer| $change)).await;
                $body.await
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                on(Engine::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                on(Engine::Postgres).await;
            }
        }
    };
}
pub(crate) use external_test;
