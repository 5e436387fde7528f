//! The statements whose text is fixed at compile time. A test prepares every one of them on both engines, so a typing
//! error or a missing column is found without running the use case.

use crate::{identities, sessions};

/// `(name, text)`.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("identities::GET", identities::GET),
    ("identities::GET_FOR_LOGIN", identities::GET_FOR_LOGIN),
    ("identities::GET_STEADY", identities::GET_STEADY),
    ("identities::BY_EMAIL", identities::BY_EMAIL),
    ("identities::BY_USERNAME", identities::BY_USERNAME),
    ("identities::PASSWORD", identities::PASSWORD),
    ("identities::SET_PASSWORD", identities::SET_PASSWORD),
    ("identities::STAMP_LOGIN", identities::STAMP_LOGIN),
    ("identities::HOLD_LOGIN", identities::HOLD_LOGIN),
    ("sessions::WITH_USER", sessions::WITH_USER),
    ("sessions::LOCK", sessions::LOCK),
    ("sessions::INSERT", sessions::INSERT),
    ("sessions::ROTATE", sessions::ROTATE),
    ("sessions::NOTE_ROTATION", sessions::NOTE_ROTATION),
    ("sessions::FORGET_ROTATIONS", sessions::FORGET_ROTATIONS),
    ("sessions::ROTATED_AT", sessions::ROTATED_AT),
    ("sessions::REVOKE", sessions::REVOKE),
    ("sessions::REVOKE_OF_USER", sessions::REVOKE_OF_USER),
    ("sessions::REVOKE_OTHERS_OF_USER", sessions::REVOKE_OTHERS_OF_USER),
    ("sessions::REVOKE_OF_LOGIN", sessions::REVOKE_OF_LOGIN),
    ("sessions::REVOKE_BELOW", sessions::REVOKE_BELOW),
    ("sessions::PURGE", sessions::PURGE),
];
