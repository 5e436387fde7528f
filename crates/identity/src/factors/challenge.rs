//! What is offered to be added or proved: the part for the browser, and the part that must come back unchanged.

use crate::Identity;
use bailiwick_domain::{Error, Result, Ts};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::time::Duration;
use uuid::Uuid;

/// How long an offer can be taken.
pub(super) const LIFE: Duration = Duration::from_millis(LIFE_MILLISECONDS as u64);
pub(super) const LIFE_MILLISECONDS: u32 = 600_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// For the browser.
    pub options: Value,
    /// To be sent back with the answer; sealed.
    pub state: String,
}

/// The sealed part: for whom it was made, until when it counts, and what the answer is compared with.
#[derive(Serialize, Deserialize)]
struct Sealed<T> {
    subject: Uuid,
    until: Ts,
    content: T,
}

/// Seals what an answer is compared with. `subject`: the user or the waiting sign-in that it is for.
pub(super) fn seal<T: Serialize>(
    service: &Identity,
    purpose: &str,
    subject: Uuid,
    content: T,
) -> Result<String> {
    let sealed = Sealed { subject, until: service.platform.now().plus(LIFE), content };
    let plain = serde_json::to_vec(&sealed).map_err(Error::internal)?;
    service.platform.keys.seal_for_address(purpose, &plain, &*service.platform.entropy)
}

/// Opens it again. None unless it was made for this subject and still counts.
pub(super) fn open<T: DeserializeOwned>(
    service: &Identity,
    purpose: &str,
    subject: Uuid,
    state: &str,
) -> Option<T> {
    let plain = service.platform.keys.open_from_address(purpose, state).ok()?;
    let sealed: Sealed<T> = serde_json::from_slice(&plain).ok()?;
    (sealed.subject == subject && service.platform.now() < sealed.until).then_some(sealed.content)
}
