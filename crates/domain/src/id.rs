//! Identifiers: UUIDv7, one Rust type for each entity, so that they cannot be mixed up.

use crate::{Clock, Entropy};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// A fresh UUIDv7 from the injected clock and randomness.
pub fn uuid_v7(clock: &dyn Clock, entropy: &dyn Entropy) -> Uuid {
    let millis = u64::try_from(clock.now().millis()).unwrap_or(0);
    let random = crate::ports::random::<10>(entropy);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A fresh id.
            pub fn fresh(clock: &dyn Clock, entropy: &dyn Entropy) -> Self {
                Self(uuid_v7(clock, entropy))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        /// Accepts only the hyphenated form, in any case: the UUID of spec: conventions#addresses.
        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(s: &str) -> Result<Self, uuid::Error> {
                s.parse::<uuid::fmt::Hyphenated>().map(|id| Self(id.into_uuid()))
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }
    )+};
}

ids! {
    /// An organization; also its tenant id at the alert router.
    OrgId,
    /// A user; also the subject of their tokens.
    UserId,
    /// A system under care.
    SystemId,
    /// A session chain: the line of refresh tokens that one exchange starts (spec: authentication#session-chains).
    ChainId,
    /// A browser login at the embedded identity provider.
    LoginId,
    /// A background job.
    JobId,
    /// A personal API key.
    ApiKeyId,
    /// An application installed on a system.
    ApplicationId,
    /// A move of a system to another organization.
    ReassignmentId,
    /// A session in which one user acts as another.
    ImpersonationId,
}
