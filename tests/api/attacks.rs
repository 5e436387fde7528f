//! Attacks that were tried on a running service and are kept (docs/security.md, "What was attacked").

mod browser;
mod credentials;
mod guessing;
