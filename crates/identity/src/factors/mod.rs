//! Second factors of the embedded provider (docs/identity.md): passkeys, an authenticator application and recovery codes.
//!
//! [`need`] decides at a sign-in what must follow the password. [`prove`] checks what the person gives then. [`own`] and
//! [`account_passkeys`] are what people do on their account, [`reset`] is what an administrator or operator does for someone who has
//! lost theirs. What is offered to be added ([`passkeys`], [`totp`]) is not stored: it goes out sealed ([`offer`]) and comes back
//! with its proof.

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
