//! The embedded OpenID provider (contract 01 §2.8), walked by HTTP as a browser and a client do.

mod attacks;
pub mod client;
mod endings;
pub mod flow;
mod input;
mod login;
mod revoked;
mod scripted;
mod third_party;
mod tokens;
