//! The body of POST …/config as it is sent, in either of its two forms (contract 04 §2.3), before any field is judged.

use bailiwick_domain::{Error, Result};
use serde::{Deserialize, de::DeserializeOwned};

/// A configuration as sent.
#[derive(Debug)]
pub enum Posted {
    /// The layer form.
    Layer(LayerDraft),
    /// The flat form of older clients.
    Flat(FlatDraft),
}

/// Keys that only the flat form has.
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
/// Keys that only the layer form has.
const LAYER_KEYS: [&str; 4] = ["enabled", "email_recipients", "webhook_recipients", "telegram_recipients"];

impl Posted {
    /// Reads a body. Unknown keys are ignored: clients send back what they were given.
    ///
    /// # Errors
    /// 400 `invalid request body: <reason>`; reasons name the place and never what was sent there.
    pub fn read(body: &[u8]) -> Result<Posted> {
        let keys: Keys = decode(body)?;
        let has = |all: &[&str]| all.iter().any(|key| keys.0.iter().any(|k| k == key));
        match (has(&FLAT_KEYS), has(&LAYER_KEYS)) {
            (true, true) => Err(refused("mixed configuration forms")),
            (true, false) => decode(body).map(Posted::Flat),
            // `systems` alone is the same in both as long as it says nothing of its lists.
            (false, _) => decode(body).map(Posted::Layer),
        }
    }
}

/// The keys of an object; values are skipped.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> std::result::Result<Keys, D::Error> {
        struct Names;
        impl<'de> serde::de::Visitor<'de> for Names {
            type Value = Keys;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Keys, A::Error> {
                let mut names = Vec::new();
                while let Some((name, _)) = map.next_entry::<String, serde::de::IgnoredAny>()? {
                    names.push(name);
                }
                Ok(Keys(names))
            }
        }
        d.deserialize_map(Names)
    }
}

fn refused(reason: &str) -> Error {
    Error::bad_request(format!("invalid request body: {reason}"))
}

fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    use serde_json::error::Category;
    // serde would take an array for a structure, field by field.
    if body.trim_ascii_start().first().is_some_and(|b| *b != b'{') {
        return Err(refused("must be a JSON object"));
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json);
    let value = value.map_err(|e| match e.inner().classify() {
        Category::Eof => refused("unexpected end of JSON"),
        Category::Data => refused(&format!("{} has the wrong type", place(e.path()))),
        _ => refused(&format!("malformed JSON at line {} column {}", e.inner().line(), e.inner().column())),
    })?;
    json.end().map_err(|_| refused("more than one JSON value"))?;
    Ok(value)
}

/// `email_recipients.0.address`
fn place(path: &serde_path_to_error::Path) -> String {
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

/// `enabled`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TogglesDraft {
    pub(super) email: Option<bool>,
    pub(super) webhook: Option<bool>,
    pub(super) telegram: Option<bool>,
}

/// One of `email_recipients`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct EmailDraft {
    pub(super) address: Option<String>,
    pub(super) severities: Option<Vec<String>>,
    pub(super) language: Option<String>,
    pub(super) format: Option<String>,
}

/// One of `webhook_recipients` or `webhook_receivers`.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct WebhookDraft {
    pub(super) name: Option<String>,
    pub(super) url: Option<String>,
    pub(super) severities: Option<Vec<String>>,
}

/// One of `telegram_recipients` or `telegram_receivers`.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct TelegramDraft {
    pub(super) bot_token: Option<String>,
    pub(super) chat_id: Option<i64>,
    pub(super) severities: Option<Vec<String>>,
    pub(super) language: Option<String>,
}

// Secrets do not print.
impl std::fmt::Debug for WebhookDraft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookDraft").field("name", &self.name).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for TelegramDraft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TelegramDraft").field("chat_id", &self.chat_id).finish_non_exhaustive()
    }
}

/// The layer form.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct LayerDraft {
    pub(super) enabled: Option<TogglesDraft>,
    pub(super) email_recipients: Option<Vec<EmailDraft>>,
    pub(super) webhook_recipients: Option<Vec<WebhookDraft>>,
    pub(super) telegram_recipients: Option<Vec<TelegramDraft>>,
    pub(super) systems: Option<Vec<OverrideDraft>>,
}

/// One of its `systems`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct OverrideDraft {
    pub(super) system_key: Option<String>,
    pub(super) enabled: Option<TogglesDraft>,
    pub(super) email_recipients: Option<Vec<EmailDraft>>,
    pub(super) webhook_recipients: Option<Vec<WebhookDraft>>,
    pub(super) telegram_recipients: Option<Vec<TelegramDraft>>,
}

/// The flat form.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FlatDraft {
    pub(super) mail_enabled: Option<bool>,
    pub(super) webhook_enabled: Option<bool>,
    pub(super) telegram_enabled: Option<bool>,
    pub(super) mail_addresses: Option<Vec<String>>,
    pub(super) webhook_receivers: Option<Vec<WebhookDraft>>,
    pub(super) telegram_receivers: Option<Vec<TelegramDraft>>,
    pub(super) severities: Option<Vec<FlatEntryDraft>>,
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
    pub(super) webhook_receivers: Option<Vec<WebhookDraft>>,
    pub(super) telegram_receivers: Option<Vec<TelegramDraft>>,
}
