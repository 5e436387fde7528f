//! Chats at Telegram.

use super::{Check, Content, Field, Input, Recipient, Transport, Variant, Visible};
use crate::{
    Severity,
    notify::{
        Message,
        text::{BoundedText, Markup, entity},
    },
    redacted::{REDACTED, secret},
    texts::{self, Language, Surroundings},
};
use bailiwick_domain::validate::{Rule, is_too_long};
use serde::{Deserialize, Serialize};
use std::fmt;

const MAX_TOKEN_CHARS: usize = 256;
/// Longest text of a message, in characters.
const MAX_MESSAGE_CHARS: usize = 4096;

/// A chat.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TelegramRecipient {
    /// Token of the bot that sends the messages; a secret.
    pub bot_token: String,
    /// The chat that receives them.
    pub chat_id: i64,
    /// Severities of the alerts it receives; empty = all.
    #[serde(default)]
    pub severities: Vec<Severity>,
    /// Language of the messages.
    #[serde(default)]
    pub language: Language,
}

/// One of `telegram_recipients` or `telegram_receivers`, as posted.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct TelegramDraft {
    pub(crate) bot_token: Option<String>,
    pub(crate) chat_id: Option<i64>,
    pub(crate) severities: Option<Vec<String>>,
    pub(crate) language: Option<String>,
}

/// One of `telegram_configs` of an Alertmanager.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelegramConfig {
    /// Token of the bot.
    #[serde(serialize_with = "secret")]
    pub bot_token: String,
    /// The chat.
    pub chat_id: i64,
    /// Whether resolved alerts are notified too.
    pub send_resolved: bool,
    /// Markup of the message.
    pub parse_mode: String,
    /// The message.
    pub message: String,
}

// Secrets do not print.
impl fmt::Debug for TelegramRecipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (chat, severities) = (&self.chat_id, &self.severities);
        f.debug_struct("Telegram").field("chat", chat).field("severities", severities).finish_non_exhaustive()
    }
}

impl fmt::Debug for TelegramDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelegramDraft").field("chat_id", &self.chat_id).finish_non_exhaustive()
    }
}

impl fmt::Debug for TelegramConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelegramConfig").field("chat_id", &self.chat_id).finish_non_exhaustive()
    }
}

impl Recipient for TelegramRecipient {
    type Draft = TelegramDraft;
    type Config = TelegramConfig;

    const MAX: usize = 20;
    const FIELDS: &[Field] = &[
        Field::of("chat_id", Input::Number),
        Field::secret("bot_token", MAX_TOKEN_CHARS),
        Field::LANGUAGE,
        Field::SEVERITIES,
    ];
    const TEMPLATE: Option<(&'static str, &'static str)> =
        Some(("telegram", include_str!("../../templates/telegram.tmpl")));

    fn check(draft: TelegramDraft, path: &str, check: &mut Check<'_>) -> Option<TelegramRecipient> {
        let severities = check.severities(path, draft.severities);
        let language = check.language(path, draft.language);
        let bot_token = draft.bot_token.unwrap_or_default();
        let token_check = check.fields.check_secret(&format!("{path}.bot_token"), token_rule(&bot_token));
        let outcome = match draft.chat_id {
            None => Err("required"),
            Some(0) => Err("invalid_value"),
            Some(id) => Ok(id),
        };
        let chat_id = check.fields.check(&format!("{path}.chat_id"), "", outcome);
        token_check?;
        Some(TelegramRecipient { bot_token, chat_id: chat_id?, severities, language })
    }

    fn key(&self) -> String {
        format!("{}/{}", self.bot_token, self.chat_id)
    }

    fn severities(&self) -> &[Severity] {
        &self.severities
    }

    fn severities_mut(&mut self) -> &mut Vec<Severity> {
        &mut self.severities
    }

    fn secret(&self) -> Option<&String> {
        Some(&self.bot_token)
    }

    fn secret_mut(&mut self) -> Option<&mut String> {
        Some(&mut self.bot_token)
    }

    fn redact(&mut self) {
        REDACTED.clone_into(&mut self.bot_token);
    }

    fn hide(&mut self) {
        (self.bot_token, self.chat_id) = (REDACTED.to_owned(), 0);
    }

    fn visible(&self) -> Visible {
        Visible(self.chat_id.to_string(), String::new())
    }

    fn redacted_secret(draft: &mut TelegramDraft) -> Option<(Visible, &mut String)> {
        let token = draft.bot_token.as_mut().filter(|token| *token == REDACTED)?;
        Some((Visible(draft.chat_id?.to_string(), String::new()), token))
    }

    fn config(&self) -> TelegramConfig {
        TelegramConfig {
            bot_token: self.bot_token.clone(),
            chat_id: self.chat_id,
            send_resolved: true,
            parse_mode: "HTML".to_owned(),
            message: texts::call("telegram", self.language, "message"),
        }
    }

    fn redact_config(config: &mut TelegramConfig) {
        REDACTED.clone_into(&mut config.bot_token);
    }

    fn name(&self) -> String {
        self.chat_id.to_string()
    }

    fn description(&self) -> String {
        format!("chat {} ({})", self.chat_id, self.language.code())
    }

    fn language(&self) -> Option<Language> {
        Some(self.language)
    }

    fn transport(&self) -> Transport<'_> {
        Transport::Telegram { bot_token: &self.bot_token, chat_id: self.chat_id }
    }

    fn content(message: &Message<'_>, variant: &Variant, around: &Surroundings) -> Content {
        Content::Telegram(message.telegram(variant.language, around))
    }
}

fn token_rule(token: &str) -> Rule<()> {
    if token.is_empty() {
        return Err("required");
    }
    if token == REDACTED {
        return Err("invalid_value");
    }
    if is_too_long(token, MAX_TOKEN_CHARS) {
        return Err("max");
    }
    let is_token = token.split_once(':').is_some_and(|(id, secret)| {
        !id.is_empty()
            && id.bytes().all(|b| b.is_ascii_digit())
            && !secret.is_empty()
            && secret.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    });
    if is_token { Ok(()) } else { Err("invalid_format") }
}

impl Message<'_> {
    /// The text of a message, with Telegram's HTML. A text that would be too long is cut, but never within a tag or an
    /// entity, which Telegram would refuse.
    pub fn telegram(&self, language: Language, around: &Surroundings) -> String {
        let link = ["<a href=\"", "\">", "</a>"];
        let markup = Markup { firing: "🔴 ", resolved: "🟢 ", bold: ["<b>", "</b>"], link };
        self.chat(language, around, BoundedText::new(MAX_MESSAGE_CHARS, entity), &markup)
    }
}
