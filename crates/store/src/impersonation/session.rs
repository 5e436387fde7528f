//! The row of an impersonation session.

use bailiwick_domain::{ChainId, ImpersonationId, LoginId, Ts, UserId};
use uuid::Uuid;

/// Why a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The impersonator went back.
    Exit,
    /// The impersonator may not continue: suspended, deleted, signed out, without the permission, outranked.
    Impersonator,
    /// The consent was withdrawn or replaced.
    Consent,
    /// Its time is over.
    Expiry,
    /// The impersonated user was suspended or deleted.
    Target,
}

impl Cause {
    /// Word of the row.
    pub const fn as_str(self) -> &'static str {
        match self {
            Cause::Exit => "exit",
            Cause::Impersonator => "impersonator",
            Cause::Consent => "consent",
            Cause::Expiry => "expiry",
            Cause::Target => "target",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Cause> {
        [Cause::Exit, Cause::Impersonator, Cause::Consent, Cause::Expiry, Cause::Target]
            .into_iter()
            .find(|cause| cause.as_str() == word)
    }
}

/// One of the two users, with their name at the start of the session.
#[derive(Clone, Debug, PartialEq)]
pub struct Party {
    pub id: UserId,
    /// User name.
    pub username: String,
    /// Display name.
    pub name: String,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// When.
    pub at: Ts,
    /// Why.
    pub cause: Cause,
    /// The change of the impersonated user's state, when that was the cause.
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub id: ImpersonationId,
    pub impersonator: Party,
    /// The impersonated user.
    pub impersonated: Party,
    /// The consent it is based on.
    pub consent_id: Uuid,
    /// The impersonator's chain it is bound to.
    pub chain_id: ChainId,
    /// The browser login that chain came from.
    pub login_id: Option<LoginId>,
    pub started_at: Ts,
    /// Expiry of the consent.
    pub expires_at: Ts,
    /// Its end, once it is recorded.
    pub end: Option<End>,
    /// All audit entries.
    pub action_count: i64,
}
