//! Channels of Slack, by incoming webhooks.

use super::{ChatRecipient, ChatService};
use crate::{
    notify::{
        Message,
        text::{BoundedText, Markup, escaped_by},
    },
    texts::{self, Language, Surroundings},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt;

/// A channel of Slack, or of a service that takes the same messages.
pub type SlackRecipient = ChatRecipient<Slack>;

/// Longest text of a message, in characters. Slack cuts longer ones off at an arbitrary place.
const MAX_MESSAGE_CHARS: usize = 4000;

/// The service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slack;

/// One of `slack_configs` of an Alertmanager.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackConfig {
    /// Address.
    pub api_url: String,
    /// Whether resolved alerts are notified too.
    pub send_resolved: bool,
    /// Colour of the bar.
    pub color: String,
    /// Heading.
    pub title: String,
    /// Link of the heading; empty = none.
    pub title_link: String,
    /// The message.
    pub text: String,
    /// Text of a notice outside of the chat.
    pub fallback: String,
}

// Secrets do not print.
impl fmt::Debug for SlackConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlackConfig").field("send_resolved", &self.send_resolved).finish_non_exhaustive()
    }
}

impl ChatService for Slack {
    type Config = SlackConfig;

    const TEMPLATE: Option<(&'static str, &'static str)> =
        Some(("slack", include_str!("../../templates/slack.tmpl")));

    fn config(url: &str, language: Language) -> SlackConfig {
        let title = texts::call("slack", language, "title");
        SlackConfig {
            api_url: url.to_owned(),
            send_resolved: true,
            color: "{{ if eq .Status \"firing\" }}danger{{ else }}good{{ end }}".to_owned(),
            fallback: title.clone(),
            title,
            title_link: String::new(),
            text: texts::call("slack", language, "text"),
        }
    }

    fn url(config: &mut SlackConfig) -> &mut String {
        &mut config.api_url
    }

    fn body(message: &Message<'_>, language: Language, around: &Surroundings) -> String {
        let title = escaped_by(&message.subject(), escape);
        let color = if message.snapshot.is_firing() { "danger" } else { "good" };
        json!({"attachments": [{
            "color": color,
            "fallback": title,
            "title": title,
            "text": message.slack(language, around),
            "mrkdwn_in": ["text"],
        }]})
        .to_string()
    }
}

impl Message<'_> {
    /// The text of a message, in Slack's markup. One that would be too long is cut, but never within an escape or a
    /// link.
    pub fn slack(&self, language: Language, around: &Surroundings) -> String {
        let markup = Markup { firing: "", resolved: "", bold: ["*", "*"], link: ["<", "|", ">"] };
        self.chat(language, around, BoundedText::new(MAX_MESSAGE_CHARS, escape), &markup)
    }
}

/// The escape of a character that Slack reads as markup of its own.
const fn escape(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}
