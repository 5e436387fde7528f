//! The properties that hold for any bytes a client can send: one function for each target, which panics on a violation.
//!
//! `make fuzz` searches for such bytes (cargo-fuzz, a nightly compiler). The bytes that led somewhere new are kept in
//! `fuzz/corpus`, and `make test` puts all of them through the targets again, with a few changes.
// A finding is a panic.
#![allow(clippy::expect_used, clippy::panic)]

pub mod corpus;

mod configuration;
mod inventory_diff;
mod matchers;
mod proxy_request;
mod tokens;

pub use configuration::configuration;
pub use inventory_diff::inventory_diff;
pub use matchers::matchers;
pub use proxy_request::proxy_request;
pub use tokens::tokens;

/// Panics where a property does not hold.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 5] = [
    ("configuration", configuration),
    ("inventory_diff", inventory_diff),
    ("matchers", matchers),
    ("proxy_request", proxy_request),
    ("tokens", tokens),
];
