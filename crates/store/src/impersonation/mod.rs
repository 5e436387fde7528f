//! Impersonation (spec: impersonation#requests-while-impersonating): consents, sessions, and their entries. Locks are
//! taken in the order users, provider login, chain, consent, session.

pub mod consents;
pub mod entries;
mod session;
pub mod sessions;
