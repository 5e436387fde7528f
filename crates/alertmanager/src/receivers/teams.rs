//! Channels and chats of Microsoft Teams, by workflows that post an adaptive card for each request.

use super::{ChatRecipient, ChatService};
use crate::{
    notify::{Message, text::ShownAlert},
    texts::{self, Language, Surroundings},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;

/// A channel or chat of Microsoft Teams.
pub type TeamsRecipient = ChatRecipient<Teams>;

/// A card lists no further alert beyond this many bytes: Teams takes messages of at most 28 kB.
const CARD_BYTES: usize = 20_000;
/// Longest text of one field, in characters, so that a single alert fits too.
const MAX_TEXT_CHARS: usize = 1000;

/// The service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Teams;

/// One of `msteamsv2_configs` of an Alertmanager, since 0.28.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamsConfig {
    /// Address.
    pub webhook_url: String,
    /// Whether resolved alerts are notified too.
    pub send_resolved: bool,
    /// Heading.
    pub title: String,
    /// The message.
    pub text: String,
}

// Secrets do not print.
impl fmt::Debug for TeamsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamsConfig").field("send_resolved", &self.send_resolved).finish_non_exhaustive()
    }
}

impl ChatService for Teams {
    type Config = TeamsConfig;

    fn config(url: &str, language: Language) -> TeamsConfig {
        TeamsConfig {
            webhook_url: url.to_owned(),
            send_resolved: true,
            title: texts::call("alert", language, "subject"),
            text: texts::call("alert", language, "txt"),
        }
    }

    fn url(config: &mut TeamsConfig) -> &mut String {
        &mut config.webhook_url
    }

    fn body(message: &Message<'_>, language: Language, around: &Surroundings) -> String {
        json!({"type": "message", "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "msteams": {"width": "Full"},
                "body": message.card(language, around),
            },
        }]})
        .to_string()
    }
}

impl Message<'_> {
    /// The elements of an adaptive card. All texts are plain ones (`TextRun`), in which nothing is read as markup.
    fn card(&self, language: Language, around: &Surroundings) -> Vec<Value> {
        let color = if self.snapshot.is_firing() { "attention" } else { "good" };
        let heading = json!({"type": "TextRun", "text": self.subject(), "size": "large", "weight": "bolder", "color": color});
        let mut body = vec![json!({"type": "RichTextBlock", "inlines": [heading]})];
        let mut bytes = 0;
        for (count, alert) in self.snapshot.alerts.iter().enumerate() {
            let element = alert_element(&ShownAlert::of(alert, language, around));
            bytes += element.to_string().len();
            if bytes > CARD_BYTES && count > 0 {
                body.push(plain(&self.others(count, language)));
                break;
            }
            body.push(element);
        }
        body
    }
}

fn alert_element(shown: &ShownAlert<'_>) -> Value {
    let run = |text: &str| json!({"type": "TextRun", "text": text});
    let name = json!({"type": "TextRun", "text": short(&shown.name), "weight": "bolder"});
    let state = run(&format!(" ({}, {})", short(&shown.severity), shown.state));
    let mut items = vec![json!({"type": "RichTextBlock", "inlines": [name, state]})];
    for text in [&shown.summary, &shown.description].into_iter().filter(|text| !text.is_empty()) {
        items.push(plain(&short(text)));
    }
    for (word, value) in &shown.facts {
        items.push(plain(&format!("{word}: {}", short(value))));
    }
    if let Some(url) = &shown.link {
        let open = json!({"type": "Action.OpenUrl", "title": shown.open, "url": url});
        items.push(json!({"type": "ActionSet", "actions": [open]}));
    }
    json!({"type": "Container", "separator": true, "items": items})
}

fn plain(text: &str) -> Value {
    json!({"type": "RichTextBlock", "spacing": "none", "inlines": [{"type": "TextRun", "text": text}]})
}

fn short(text: &str) -> String {
    text.chars().take(MAX_TEXT_CHARS).collect()
}
