//! The embedded OpenID provider (spec: openid-provider#endpoints), walked by HTTP as a browser and a client do.

mod attacks;
pub mod client;
pub mod flow;
mod input;
mod login;
mod revoked;
mod scripted;
pub mod second_factors;
mod sign_out;
mod third_party;
mod tokens;
