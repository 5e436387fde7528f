//! The program itself: command line, first start, the README's tour, and the work that survives a kill.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail anywhere"
)]

mod audit;
mod built;
mod cli;
mod connections;
mod delivery;
mod disk;
mod documents;
mod events;
mod fleet;
mod guides;
mod health;
mod identity;
mod images;
mod keys;
mod load;
mod log;
mod metrics;
mod moving;
mod passwords;
mod people_secrets;
mod program;
mod proxies;
mod replica;
mod secrets;
mod sessions;
mod start;
mod survival;
mod tls;
mod tokens;
mod tour;
mod traces;
mod web;
mod words;
