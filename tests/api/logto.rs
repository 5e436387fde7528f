//! Identity mode `logto` (contract 01 §2.1, §2.9, Appendix A), against a stand-in that fails the test on any request
//! outside the appendix.

mod client;
mod sign_in;

use crate::external::on_both;
use bailiwick_app::{
    Settings,
    settings::{Identity, Logto as Tenancy},
};
use bailiwick_testkit::{Engine, Test, engine, parts::logto::Logto};

/// Settings for the tenant.
fn settings(logto: &Logto, change: impl FnOnce(&mut Tenancy)) -> Settings {
    let mut settings = engine::settings();
    let mut tenancy = logto.settings();
    change(&mut tenancy);
    settings.identity = Identity::Logto(Box::new(tenancy));
    settings
}

/// A service that uses the tenant.
async fn service(engine: Engine, logto: &Logto) -> Test {
    Test::with(engine, settings(logto, |_| {})).await
}

/// `logto_test!(name, |t, l| async move { … })` becomes `name::sqlite` and `name::postgres`, each with a tenant of its own.
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
