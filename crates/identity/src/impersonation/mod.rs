//! Impersonation with consent (spec: impersonation#requests-while-impersonating, authorization#impersonation): a
//! permitted user acts as another user who has consented. The impersonator has the rights of that user but never more
//! than their own, and every request is recorded.
//!
//! Each request reads the state of its session again ([`authenticate`]); nothing of it is cached. The events that end a
//! session also record its end, so an ended session stays ended. To add an event: choose the [`Which`] sessions it
//! ends, and call `auth::revoke` in its transaction. An event that only changes rights calls `end_of_changed`.
//!
//! [`Which`]: bailiwick_store::impersonation::sessions::Which

mod consent;
mod end;
mod queries;
mod record;
mod redact;
mod start;
mod status;
mod validity;

pub use bailiwick_store::impersonation::{
    consents::Consent,
    entries::ImpersonationEntry,
    sessions::{Session, Side},
};
pub use consent::{CONSENT_HOURS, consent, give_consent, withdraw_consent};
pub use end::{end_by_token, end_own};
pub use queries::count_old;
pub use queries::{Purged, audit, over_at, purge, session, sessions};
pub use record::{Call, OpenEntry, open};
pub use redact::{SentBody, is_secret, of_body, shown_address};
pub use start::{Started, start};
pub(crate) use status::open_of;
pub use status::{Current, Recovery, Status, status, status_of};
pub(crate) use validity::judged;
pub use validity::{Acting, authenticate, presented};
pub use validity::{Changed, end_of_changed, reach};
