//! Identity mode `logto` (spec: authentication#identity-modes, account#password-operations, logto#calls), against a
//! stand-in that fails the test on any request outside the appendix.

mod applications;
mod client;
mod creations;
mod faults;
mod passwords;
mod provisioning;
mod sign_in;
mod sync;
mod trees;

use crate::relying_party::on_both;
use bailiwick_domain::OrgId;
use bailiwick_settings::{IdentityMode, Logto as Tenancy, Settings};
use bailiwick_testkit::{
    Engine, Persona, Test, engine, eventually,
    parts::logto::{Logto, Tenant},
};
use serde_json::{Value, json};
use std::time::Duration;

/// Settings for the tenant.
fn settings(logto: &Logto, change: impl FnOnce(&mut Tenancy)) -> Settings {
    let mut settings = engine::settings();
    let mut tenancy = logto.settings();
    change(&mut tenancy);
    settings.identity = IdentityMode::Logto(Box::new(tenancy));
    settings
}

/// A service that uses the tenant.
async fn service(engine: Engine, logto: &Logto) -> Test {
    Test::with(engine, settings(logto, |_| {})).await
}

/// Sends all due changes to the tenant.
async fn push_changes(t: &Test) {
    // On a stack of its own: unoptimised, that of a long test is full already.
    let app = t.app.clone();
    let task =
        tokio::task::spawn(
            async move { bailiwick_identity::logto_sync::run_until_idle(&app.identity).await },
        );
    task.await.unwrap().unwrap();
}

/// Creates a user; returns the id.
async fn new_user(t: &Test, who: &Persona, name: &str, home: OrgId) -> String {
    let email = format!("{name}@example.org");
    let body = json!({"email": email, "name": name, "user_role_ids": ["admin"], "organization_id": home});
    let made = t.post("/api/users").bearer(&who.token).json(body).send().await.expect(201).data();
    made["id"].as_str().unwrap().to_owned()
}

/// A user as `GET /users/{id}` shows them.
async fn shown(t: &Test, id: &str) -> Value {
    let owner = t.owner().await;
    t.get(&format!("/api/users/{id}")).bearer(&owner.token).send().await.expect(200).data()
}

/// The number of changes that still wait for the tenant, refused ones included.
async fn waiting(t: &Test, l: &Logto) -> u64 {
    bailiwick_store::logto::outbox::waiting(&t.app.platform.db, &l.settings().issuer.url).await.unwrap()
}

/// Calls that change something, without the numbers in the ids.
fn changes(logto: &Logto) -> Vec<String> {
    let plain = |call: String| call.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    logto.calls().into_iter().filter(|call| !call.starts_with("GET ")).map(plain).collect()
}

/// An account.
fn account(logto: &Logto, id: &str) -> String {
    logto.with(|tenant| tenant.account_of(id)).unwrap_or_else(|| panic!("no account of {id}"))
}

fn is_suspended(tenant: &Tenant, account: &str) -> bool {
    tenant.users[account]["isSuspended"] == true
}

/// `logto_test!(name, |t, l| async move { … })` becomes `name::sqlite` and `name::postgres`, each with a tenant of its
/// own.
macro_rules! logto_test {
    ($name:ident, |$t:ident, $l:ident| $body:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            async fn on(engine: Engine) {
                let $l = Logto::start().await.unwrap_or_else(|e| panic!("{e}"));
                let $t = service(engine, &$l).await;
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
pub(crate) use logto_test;
