//! Sensitive operations need a recent sign-in (spec: authentication#fresh-sign-in).

use crate::Identity;
use bailiwick_domain::{Error, Result};
use bailiwick_policy::Caller;
use serde_json::json;

/// `reason` of the refusal.
const FRESH_SIGN_IN_REQUIRED: &str = "fresh_sign_in_required";

/// Refuses a person whose sign-in is older than `tokens.fresh_sign_in`. An API key proves itself with each request.
///
/// # Errors
/// 401 with `fresh_sign_in_required` and the seconds of the setting as `max_age`.
pub fn check_fresh_sign_in(service: &Identity, caller: &Caller) -> Result<()> {
    let longest = service.settings.tokens.fresh_sign_in;
    let Caller::User(user) = caller else { return Ok(()) };
    let is_fresh = user.signed_in_at.is_some_and(|at| service.platform.now().since(at) <= longest);
    if longest.is_zero() || is_fresh {
        return Ok(());
    }
    let data = json!({"reason": FRESH_SIGN_IN_REQUIRED, "max_age": longest.as_secs()});
    Err(Error::Unauthenticated { message: "a fresh sign-in is required".into(), data })
}

/// Whether the error is that refusal.
pub fn is_fresh_sign_in_required(error: &Error) -> bool {
    matches!(error, Error::Unauthenticated { data, .. } if data["reason"] == FRESH_SIGN_IN_REQUIRED)
}
