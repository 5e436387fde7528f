//! The embedded OpenID provider (spec: openid-provider#endpoints), walked by HTTP as a browser and a client do.

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
