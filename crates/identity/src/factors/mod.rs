//! Second factors of the embedded provider (docs/identity.md): passkeys, an authenticator application and recovery
//! codes.
//!
//! [`requirement`] decides at a sign-in what must follow the password, and [`prove`] checks it. People manage their own
//! factors through [`account`] and [`account_passkeys`]. An administrator or operator removes lost ones through
//! [`reset`]. A new factor ([`passkeys`], [`totp`]) is not stored before it is proved: the browser holds it, sealed, in
//! a [`challenge`].

pub mod account;
pub mod account_passkeys;
mod challenge;
pub mod passkeys;
pub(crate) mod prove;
mod recovery_codes;
mod requirement;
pub mod reset;
pub mod totp;

pub use bailiwick_store::factors::{Totp, passkeys::Passkey};
pub use challenge::Offer;
pub(crate) use requirement::{is_enough, is_required, need};
pub use totp::{TotpOffer, reseal_all};

use crate::Identity;
use bailiwick_domain::{Error, Result};

/// Whether people can have second factors here.
pub fn is_on(service: &Identity) -> bool {
    service.settings.identity.is_embedded() && service.settings.provider.second_factor.is_on()
}

/// Refuses where people cannot have them.
fn check_on(service: &Identity) -> Result<()> {
    if is_on(service) { Ok(()) } else { Err(Error::forbidden("second factors are not available")) }
}
