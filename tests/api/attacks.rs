//! Attacks that were tried on a running service and are kept (docs/internals/testing.md, Attacks).

mod browser;
mod credentials;
mod guessing;
