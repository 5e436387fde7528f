//! All requests of the service to other systems over the network.
//!
//! [`router_client`] calls a remote alert router (spec: alert-router#remote), [`mail`] a mail server, [`webhook`],
//! [`telegram`] and [`pagerduty`] the receivers of alerts (spec: alert-delivery#webhook-delivery,
//! alert-delivery#mail-and-telegram, alert-delivery#chats-and-incidents), [`reachability`] checks whether an appliance
//! answers (spec: systems#reachability), [`issuer`] asks an identity provider about tokens (spec:
//! authentication#identity-modes), [`logto`] copies users and organizations to Logto (spec: logto#calls), [`traces`]
//! sends traces to a collector, [`own_port`] asks the service of this machine whether it answers. To add another
//! upstream: a module with the fixed list of requests it makes, its own error type, time limits and size limits on
//! every answer.

pub mod delivery;
mod dns;
mod http_post;
pub mod issuer;
pub mod logto;
pub mod mail;
pub mod object_storage;
pub mod own_port;
pub mod pagerduty;
mod plain_request;
pub mod reachability;
pub mod router_client;
pub mod telegram;
pub mod traces;
pub mod webhook;

pub use router_client::{RouterClient, RouterConfig, RouterError, RouterKind};

/// The user agent of all requests.
pub const USER_AGENT: &str = concat!("Bailiwick/", env!("CARGO_PKG_VERSION"));

/// An error with its causes, for the log.
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
