//! Bailiwick for tests: the whole service in process on either engine, real parts, seeds and a small client.
//!
//! * [`api_test!`] runs one body on SQLite and on PostgreSQL; [`Test`] is the service under test.
//! * [`call`] is the client that speaks to it in process; [`Test::serve`] opens a real port for outside programs.
//! * [`published`] holds every answer to the interface document, [`compat`] the document to the released one.
//! * [`seed`] makes organizations, users and sessions; time stands still until [`Test::advance`].
//! * [`eventually`] waits for a condition: no verdict depends on how fast the machine is.
//! * Real programs that tests run against are in [`parts`].

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail anywhere"
)]

pub mod call;
pub mod compat;
pub mod cores;
pub mod engine;
pub mod parts;
pub mod patience;
pub mod ports;
pub mod published;
pub mod seed;
mod service;
pub mod times;

pub use call::{Call, Reply};
pub use engine::Engine;
pub use patience::{PATIENCE, eventually};
pub use ports::{ManualClock, SeededEntropy};
pub use seed::{Persona, Seeded};
pub use service::{Running, Test};

/// As in the program: tests allocate much.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `api_test!(name, |t| async move { … })` becomes `name::sqlite` and `name::postgres`.
/// `api_test!(name, |settings| { … }, |t| async move { … })` changes the settings first.
#[macro_export]
macro_rules! api_test {
    ($name:ident, |$t:ident| $body:expr) => {
        $crate::api_test!($name, |_settings| {}, |$t| $body);
    };
    ($name:ident, |$settings:pat_param| $change:expr, |$t:ident| $body:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            async fn harness_body($t: $crate::Test) {
                $body.await
            }

            fn harness_settings($settings: &mut $crate::Settings) {
                $change
            }

            #[test]
            fn sqlite() {
                let test = $crate::Test::start($crate::Engine::Sqlite, harness_settings);
                $crate::cores::run($crate::times::timed(concat!(module_path!(), "::sqlite"), async {
                    harness_body(test.await).await
                }));
            }

            #[test]
            fn postgres() {
                let test = $crate::Test::start($crate::Engine::Postgres, harness_settings);
                $crate::cores::run($crate::times::timed(concat!(module_path!(), "::postgres"), async {
                    harness_body(test.await).await
                }));
            }
        }
    };
}

pub use bailiwick_settings::Settings;
