//! The script of forms that ask the browser for a passkey; the provider and the console serve it each from their own
//! address.

pub const PASSKEY_SCRIPT: &str = include_str!("../assets/passkey.js");
