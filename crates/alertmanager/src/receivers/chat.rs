//! Chats with an address for incoming messages. What differs between the services is a [`ChatService`].

use super::{Check, Content, Field, Recipient, Transport, Variant, Visible, hidden_url};
use crate::{
    Severity,
    notify::Message,
    redacted::REDACTED,
    texts::{Language, Surroundings},
    webhook_target,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::fmt;

/// A service with such chats.
pub trait ChatService: Clone + Default + PartialEq + Eq + 'static {
    /// The block in an Alertmanager configuration.
    type Config: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned;

    /// [`Recipient::TEMPLATE`].
    const TEMPLATE: Option<(&'static str, &'static str)> = None;

    /// [`Recipient::config`], of a chat with this address and language.
    fn config(url: &str, language: Language) -> Self::Config;
    /// The address in a block.
    fn url(config: &mut Self::Config) -> &mut String;
    /// The body of the request.
    fn body(message: &Message<'_>, language: Language, around: &Surroundings) -> String;
}

/// A chat.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "S: ChatService")]
pub struct ChatRecipient<S> {
    /// Name for people.
    pub name: String,
    /// Address; a secret, because anyone with it can write to the chat.
    pub url: String,
    /// Severities of the alerts it receives; empty = all.
    #[serde(default)]
    pub severities: Vec<Severity>,
    /// Language of the messages.
    #[serde(default)]
    pub language: Language,
    /// The service.
    #[serde(skip)]
    pub service: S,
}

/// A chat as posted.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct ChatDraft {
    pub(crate) name: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) severities: Option<Vec<String>>,
    pub(crate) language: Option<String>,
}

// Secrets do not print.
impl<S> fmt::Debug for ChatRecipient<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, severities) = (&self.name, &self.severities);
        f.debug_struct("Chat").field("name", name).field("severities", severities).finish_non_exhaustive()
    }
}

impl fmt::Debug for ChatDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatDraft").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<S: ChatService> Recipient for ChatRecipient<S> {
    type Draft = ChatDraft;
    type Config = S::Config;

    const MAX: usize = 20;
    const FIELDS: &[Field] = &[Field::NAME, Field::URL, Field::LANGUAGE, Field::SEVERITIES];
    const TEMPLATE: Option<(&'static str, &'static str)> = S::TEMPLATE;

    fn check(draft: ChatDraft, path: &str, check: &mut Check<'_>) -> Option<ChatRecipient<S>> {
        let severities = check.severities(path, draft.severities);
        let language = check.language(path, draft.language);
        let (name, url) = (check.name(path, draft.name), check.url(path, draft.url));
        Some(ChatRecipient { name: name?, url: url?, severities, language, service: S::default() })
    }

    fn key(&self) -> String {
        self.url.clone()
    }

    fn severities(&self) -> &[Severity] {
        &self.severities
    }

    fn severities_mut(&mut self) -> &mut Vec<Severity> {
        &mut self.severities
    }

    fn secret(&self) -> Option<&String> {
        Some(&self.url)
    }

    fn secret_mut(&mut self) -> Option<&mut String> {
        Some(&mut self.url)
    }

    fn redact(&mut self) {
        self.url = webhook_target::redacted(&self.url);
    }

    fn hide(&mut self) {
        (self.name, self.url) = (REDACTED.to_owned(), REDACTED.to_owned());
    }

    fn visible(&self) -> Visible {
        Visible::of_url(&self.name, &self.url)
    }

    fn redacted_secret(draft: &mut ChatDraft) -> Option<(Visible, &mut String)> {
        hidden_url(draft.name.as_deref(), &mut draft.url)
    }

    fn config(&self) -> S::Config {
        S::config(&self.url, self.language)
    }

    fn redact_config(config: &mut S::Config) {
        let url = S::url(config);
        *url = webhook_target::redacted(url);
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn description(&self) -> String {
        format!("{} {} ({})", self.name, webhook_target::redacted(&self.url), self.language.code())
    }

    fn language(&self) -> Option<Language> {
        Some(self.language)
    }

    fn transport(&self) -> Transport<'_> {
        Transport::Post(&self.url)
    }

    fn content(message: &Message<'_>, variant: &Variant, around: &Surroundings) -> Content {
        Content::Json(S::body(message, variant.language, around))
    }
}
