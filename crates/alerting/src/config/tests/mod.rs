//! Tests of the whole path from a body to a document; single rules are tested next to their code.

mod bodies;
mod documents;
mod flat;
mod layers;
mod secrets;

use super::*;
use crate::{Severity, receivers::*, texts::*};
use bailiwick_domain::Error;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

fn checked(body: &Value, stored: Option<&Layer>) -> Result<Checked, Error> {
    Posted::read(body.to_string().as_bytes())?.check(stored, true, &AllowedHosts::default())
}

#[track_caller]
fn layer(body: &Value) -> Layer {
    checked(body, None).unwrap_or_else(|e| panic!("{body}: {e}")).layer
}

/// `key: code` of every wrong field, or the text of the refusal.
#[track_caller]
fn refusals(body: &Value) -> Vec<String> {
    match checked(body, None) {
        Err(Error::Invalid(fields)) => fields.iter().map(|f| format!("{}: {}", f.key, f.message)).collect(),
        Err(Error::BadRequest { message, .. }) => vec![message.to_string()],
        other => panic!("{body}: {other:?}"),
    }
}

pub(super) fn publishing() -> Publishing {
    Publishing {
        resolve_timeout: Duration::from_secs(21_600),
        timing: Timing::default(),
        smtp: Some(Smtp {
            smarthost: "mail.example.org:587".to_owned(),
            from: "alerts@example.org".to_owned(),
            username: Some("alerts".to_owned()),
            password: Some("p: #'\"\\".to_owned()),
            requires_tls: true,
        }),
        omits_email: false,
        history: Some(History {
            url: "https://portal.example.org/api/alert_history".to_owned(),
            secret: "thirty-two characters of a secret".to_owned(),
        }),
        surroundings: Surroundings { app_url: "https://portal.example.org".to_owned(), zone: Zone::utc() },
    }
}

fn severities() -> impl Strategy<Value = Vec<Severity>> {
    proptest::sample::subsequence(Severity::ALL.to_vec(), 0..=3)
}

fn toggle() -> impl Strategy<Value = Option<bool>> {
    proptest::option::of(any::<bool>())
}

/// Few recipients from a small stock, so that lists meet.
pub(super) fn channels() -> impl Strategy<Value = Channels> {
    let email =
        (0..4_u8, severities(), any::<bool>(), any::<bool>()).prop_map(|(n, severities, it, plain)| {
            EmailRecipient {
                address: format!("n{n}@example.org"),
                severities,
                language: if it { Language::Italian } else { Language::English },
                format: if plain { Format::Plain } else { Format::Html },
            }
        });
    let webhook = (0..4_u8, severities()).prop_map(|(n, severities)| WebhookRecipient {
        name: format!("hook {n}"),
        url: format!("https://hooks.example.org/{n}?a=\"&b='#: x\\"),
        severities,
    });
    let telegram = (0..4_u8, severities(), any::<bool>()).prop_map(|(n, severities, it)| TelegramRecipient {
        bot_token: format!("{n}:abc-DEF_"),
        // Groups have negative ids.
        chat_id: i64::from(n) * 2 - 3,
        severities,
        language: if it { Language::Italian } else { Language::English },
    });
    let list = 0..4_usize;
    (
        (toggle(), toggle(), toggle()),
        prop::collection::vec(email, list.clone()),
        prop::collection::vec(webhook, list.clone()),
        prop::collection::vec(telegram, list),
    )
        .prop_map(|((email, webhook, telegram), mut emails, mut webhooks, mut chats)| {
            once(&mut emails);
            once(&mut webhooks);
            once(&mut chats);
            Channels {
                enabled: Toggles { email, webhook, telegram },
                email_recipients: emails,
                webhook_recipients: webhooks,
                telegram_recipients: chats,
            }
        })
}

fn once<R: Listed>(list: &mut Vec<R>) {
    let mut keys = std::collections::HashSet::new();
    list.retain(|r| keys.insert(r.key()));
}

pub(super) fn layers() -> impl Strategy<Value = Layer> {
    let keys = proptest::sample::subsequence(vec!["SYS-1", "SYS-2", "a \"b\" \\c\nd: #e"], 0..=3);
    (channels(), keys, prop::collection::vec(channels(), 3)).prop_map(|(channels, keys, overrides)| Layer {
        channels,
        systems: keys
            .into_iter()
            .zip(overrides)
            .map(|(key, channels)| SystemOverride { system_key: key.to_owned(), channels })
            .collect(),
    })
}
