//! The body and the signature of a delivery, by the Standard Webhooks specification.

use aws_lc_rs::hmac;
use bailiwick_domain::{Entropy, Error, Result, Ts, ports::random};
use bailiwick_platform::keys::Keys;
use bailiwick_store::events::{Stored, subscriptions::Subscription};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

/// The prefix of every secret.
const PREFIX: &str = "whsec_";
/// Bytes of a secret; the specification asks for 24 to 64.
const SECRET_BYTES: usize = 32;

/// An event as it is sent: an object of CloudEvents 1.0 that has the members of a Standard Webhooks payload too.
#[derive(Clone, Debug, Serialize)]
pub struct Message {
    /// CloudEvents version.
    pub specversion: &'static str,
    /// Id; the same at every delivery.
    pub id: Uuid,
    /// Address of the service.
    pub source: String,
    /// `<kind>.<what>`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Path of the object; null when it can no longer be read.
    pub subject: Option<String>,
    /// When.
    pub time: String,
    /// The time again, by the name of Standard Webhooks.
    pub timestamp: String,
    /// Order of events: decimal digits.
    pub sequence: String,
    /// Ids, names, changes.
    pub data: Value,
}

impl Message {
    /// The message for a stored event, as subscribers receive it.
    pub fn of(event: Stored, source: &str) -> Message {
        let time = event.at.rfc3339(6);
        Message {
            specversion: "1.0",
            id: event.id,
            source: source.to_owned(),
            kind: event.kind,
            subject: event.subject,
            timestamp: time.clone(),
            time,
            sequence: event.seq.to_string(),
            data: event.data,
        }
    }
}

/// A fresh secret as people get it.
pub(super) fn generate(entropy: &dyn Entropy) -> String {
    format!("{PREFIX}{}", STANDARD.encode(random::<SECRET_BYTES>(entropy)))
}

/// The headers of a delivery: the same id at every try, signed with every valid secret.
pub(super) fn headers(id: Uuid, now: Ts, body: &[u8], secrets: &[String]) -> [(&'static str, String); 3] {
    let seconds = now.secs().to_string();
    let signatures: Vec<String> = secrets.iter().filter_map(|s| signature(id, &seconds, body, s)).collect();
    [
        ("webhook-id", id.to_string()),
        ("webhook-timestamp", seconds),
        ("webhook-signature", signatures.join(" ")),
    ]
}

fn signature(id: Uuid, seconds: &str, body: &[u8], secret: &str) -> Option<String> {
    let key = STANDARD.decode(secret.strip_prefix(PREFIX)?).ok()?;
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &key));
    context.update(format!("{id}.{seconds}.").as_bytes());
    context.update(body);
    Some(format!("v1,{}", STANDARD.encode(context.sign())))
}

fn purpose(id: Uuid) -> String {
    format!("event subscription {id}")
}

/// Seals a text for one subscription.
pub(super) fn seal(keys: &Keys, entropy: &dyn Entropy, id: Uuid, text: &str) -> Result<Vec<u8>> {
    keys.seal(&purpose(id), text.as_bytes(), entropy)
}

/// The text again.
pub(super) fn open(keys: &Keys, id: Uuid, sealed: &[u8]) -> Result<String> {
    String::from_utf8(keys.open(&purpose(id), sealed)?).map_err(Error::internal)
}

/// The secrets in force, the present one first.
pub(super) fn secrets(keys: &Keys, s: &Subscription, now: Ts) -> Result<Vec<String>> {
    let mut all = vec![open(keys, s.id, &s.secret)?];
    if let Some(previous) = s.previous_secret.as_ref().filter(|_| s.previous_until.is_some_and(|at| at > now))
    {
        // A previous secret that cannot be opened is left out: the present one signs as well.
        all.extend(open(keys, s.id, previous));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_as_the_specification_shows() {
        // The example of the specification's own test suite.
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned();
        let key = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = Uuid::from_u128(7);
        let [(_, sent), (_, at), (_, signed)] =
            headers(id, Ts::from_secs(1_614_265_330), b"{}", &[secret.clone(), secret]);
        let content = format!("{sent}.{at}.{{}}");
        let expected = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), content.as_bytes());
        let expected = format!("v1,{}", STANDARD.encode(expected));
        assert_eq!(signed, format!("{expected} {expected}"));
        assert_eq!((sent, at.as_str()), (id.to_string(), "1614265330"));
    }
}
