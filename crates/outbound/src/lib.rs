//! Everything the service says to other systems over the network.
//!
//! [`router_client`] speaks to a remote alert router (contract 04 §4), [`mail`] to a mail server, [`webhook`] and
//! [`telegram`] to those who are told of alerts (contract 04 §5.11, §5.12), [`reach`] asks whether an appliance answers
//! (contract 03 §11.1), [`issuer`] asks an identity provider about tokens (contract 01 §2.1), [`logto`] has Logto keep what is
//! here (contract 01 Appendix A), [`traces`] tells a collector what took how long. To add another upstream: a module with the fixed list of requests it makes, its own
//! error type, time limits and size limits on every answer.

pub mod assets;
pub mod delivery;
pub mod issuer;
pub mod logto;
pub mod mail;
mod names;
mod post;
pub mod reach;
pub mod router_client;
pub mod telegram;
pub mod traces;
pub mod webhook;

pub use router_client::{RouterClient, RouterConfig, RouterError, RouterKind};

/// What the service calls itself to others.
pub const USER_AGENT: &str = concat!("Bailiwick/", env!("CARGO_PKG_VERSION"));

/// An error with what caused it, for the log.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        text.push_str(": ");
        text.push_str(&e.to_string());
        cause = e.source();
    }
    text
}
