//! Impersonation with consent (spec: impersonation#requests-while-impersonating, authorization#impersonation): somebody
//! who may acts as another user who has agreed, with that user's rights and never more than his own, and everything he
//! does is recorded.
//!
//! What a session rests on is read anew for each request ([`authenticate`]); nothing of it is kept in memory. The
//! events that end one also write its end, so that what is over stays over. To add an event: [`Which`] sessions it
//! means, and a call of `auth::revoke` in its transaction. What only changes rights calls `end_of_changed`.
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
    entries::Entry,
    sessions::{Session, Side},
};
pub use consent::{consent, give_consent, withdraw_consent};
pub use end::{end_by_token, end_own};
pub use queries::count_old;
pub use queries::{Purged, audit, over_at, purge, session, sessions};
pub use record::{Call, OpenEntry, open};
pub use redact::{Sent, of_body, shown_address};
pub use start::{Started, start};
pub use status::{Current, Recovery, Status, status, status_of};
pub use validity::{Acting, authenticate, presented};
pub use validity::{Changed, end_of_changed, reach};
