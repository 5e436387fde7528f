//! The body of POST …/config in either of its two forms (spec: alert-configuration#layers), before any field is
//! checked.

use crate::receivers::{LayerDraft, RecipientKind, TelegramDraft, WebhookDraft, objects};
use bailiwick_domain::{Error, Result, json};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// A configuration as sent.
#[derive(Clone, Debug)]
pub enum Posted {
    /// The layer form.
    Layer(LayerDraft),
    /// The flat form of older clients.
    Flat(FlatDraft),
}

/// Keys that only the flat form has, at the top or in `systems`.
const FLAT_KEYS: [&str; 8] = [
    "mail_enabled",
    "webhook_enabled",
    "telegram_enabled",
    "mail_addresses",
    "webhook_receivers",
    "telegram_receivers",
    "severities",
    "email_template_lang",
];
impl Posted {
    /// Reads a body. Unknown keys are ignored: clients send back what they received.
    ///
    /// # Errors
    /// 400 `invalid request body: <reason>`; reasons name the place and never the value that was sent there.
    pub fn read(body: &[u8]) -> Result<Posted> {
        match decode::<Forms>(body)? {
            Forms { flat: true, layer: true } => Err(refused("mixed configuration forms")),
            Forms { flat: true, .. } => decode(body).map(Posted::Flat),
            // A body with only `systems` has the same meaning in both forms, unless it names lists.
            _ => decode(body).map(Posted::Layer),
        }
    }
}

/// The forms of which a body has keys, including those in its `systems`.
#[derive(Clone, Copy, Debug, Default)]
struct Forms {
    flat: bool,
    layer: bool,
}

/// Collects the keys of objects; values are skipped, and a value that is not an object has no keys.
struct KeysOf<'a> {
    forms: &'a mut Forms,
    /// In an object of `systems`, or in the list of them.
    is_below: bool,
}

impl<'de> Deserialize<'de> for Forms {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Forms, D::Error> {
        let mut forms = Forms::default();
        KeysOf { forms: &mut forms, is_below: false }.deserialize(d)?;
        Ok(forms)
    }
}

impl<'de> DeserializeSeed<'de> for KeysOf<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> std::result::Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KeysOf<'_> {
    type Value = ();
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any value")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let is_one_of = |keys: &[&str]| keys.contains(&key.as_str());
            self.forms.flat |= is_one_of(&FLAT_KEYS);
            // `enabled` and the lists are keys of the layer form only.
            self.forms.layer |= key == "enabled" || is_one_of(RecipientKind::LISTS);
            if key == "systems" && !self.is_below {
                map.next_value_seed(KeysOf { forms: &mut *self.forms, is_below: true })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        while list.next_element_seed(KeysOf { forms: &mut *self.forms, is_below: true })?.is_some() {}
        Ok(())
    }
    fn visit_bool<E>(self, _: bool) -> std::result::Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> std::result::Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> std::result::Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> std::result::Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> std::result::Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> std::result::Result<(), E> {
        Ok(())
    }
}

fn refused(reason: &str) -> Error {
    Error::bad_request(format!("invalid request body: {reason}"))
}

fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    let body = json::without_mark(body);
    let malformed = || json::fault(body).map(|fault| refused(&format!("malformed JSON: {fault}")));
    // serde would take an array for a structure, field by field.
    if body.trim_ascii_start().first().is_some_and(|b| *b != b'{') {
        return Err(malformed().unwrap_or_else(|| refused("must be a JSON object")));
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader);
    let value = value.map_err(|e| {
        let malformed = if e.inner().is_data() { None } else { malformed() };
        malformed.unwrap_or_else(|| refused(&format!("{} has the wrong type", field_path(e.path()))))
    })?;
    reader.end().map_err(|_| malformed().unwrap_or_else(|| refused("more than one JSON value")))?;
    Ok(value)
}

/// `email_recipients.0.address`
fn field_path(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let parts: Vec<String> = path
        .iter()
        .map(|segment| match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => key.clone(),
            Segment::Enum { variant } => variant.clone(),
            Segment::Unknown => "?".to_owned(),
        })
        .collect();
    if parts.is_empty() { "the body".to_owned() } else { parts.join(".") }
}

/// The flat form.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FlatDraft {
    pub(super) mail_enabled: Option<bool>,
    pub(super) webhook_enabled: Option<bool>,
    pub(super) telegram_enabled: Option<bool>,
    pub(super) mail_addresses: Option<Vec<String>>,
    #[serde(deserialize_with = "objects")]
    pub(super) webhook_receivers: Option<Vec<WebhookDraft>>,
    #[serde(deserialize_with = "objects")]
    pub(super) telegram_receivers: Option<Vec<TelegramDraft>>,
    #[serde(deserialize_with = "objects")]
    pub(super) severities: Option<Vec<FlatEntryDraft>>,
    #[serde(deserialize_with = "objects")]
    pub(super) systems: Option<Vec<FlatEntryDraft>>,
    pub(super) email_template_lang: Option<String>,
}

/// One of its `severities` or `systems`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FlatEntryDraft {
    pub(super) severity: Option<String>,
    pub(super) system_key: Option<String>,
    pub(super) mail_enabled: Option<bool>,
    pub(super) webhook_enabled: Option<bool>,
    pub(super) telegram_enabled: Option<bool>,
    pub(super) mail_addresses: Option<Vec<String>>,
    #[serde(deserialize_with = "objects")]
    pub(super) webhook_receivers: Option<Vec<WebhookDraft>>,
    #[serde(deserialize_with = "objects")]
    pub(super) telegram_receivers: Option<Vec<TelegramDraft>>,
}
