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
use std::{fmt, time::Duration};

fn checked(body: &Value, stored: Option<&Layer>) -> Result<Checked, Error> {
    Posted::read(body.to_string().as_bytes())?.check(
        stored,
        None,
        &AllowedHosts::default(),
        Language::English,
    )
}

#[track_caller]
fn layer(body: &Value) -> Layer {
    checked(body, None).unwrap_or_else(|e| panic!("{body}: {e}")).layer
}

/// A layer with all toggles and lists, where an expectation names only some of them.
fn whole(mut layer: Value) -> Value {
    let fill = |channels: &mut Value| {
        for kind in RecipientKind::ALL {
            channels["enabled"].as_object_mut().unwrap().entry(kind.as_str()).or_insert(Value::Null);
            channels.as_object_mut().unwrap().entry(kind.list_key()).or_insert(json!([]));
        }
    };
    fill(&mut layer);
    layer.get_mut("systems").and_then(Value::as_array_mut).into_iter().flatten().for_each(fill);
    layer
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
        omitted: Vec::new(),
        history: Some(History {
            url: "https://portal.example.org/api/alert_history".to_owned(),
            secret: "thirty-two characters of a secret".to_owned(),
        }),
        surroundings: Surroundings {
            pages: Pages::Other("https://portal.example.org".to_owned()),
            zone: Zone::utc(),
        },
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
    let pagerduty =
        (0..4_u8, severities(), any::<bool>()).prop_map(|(n, severities, eu)| PagerdutyRecipient {
            name: format!("duty {n}"),
            routing_key: format!("{n:032}"),
            region: if eu { Region::Eu } else { Region::Us },
            severities,
            language: Language::English,
        });
    let lists =
        (few(email), few(webhook), few(telegram), few(chat::<Slack>()), few(chat::<Teams>()), few(pagerduty));
    ([toggle(), toggle(), toggle(), toggle(), toggle(), toggle()], lists).prop_map(|(toggles, lists)| {
        let [email, webhook, telegram, slack, teams, pagerduty] = toggles;
        Channels {
            enabled: Toggles { email, webhook, telegram, slack, teams, pagerduty },
            email_recipients: lists.0,
            webhook_recipients: lists.1,
            telegram_recipients: lists.2,
            slack_recipients: lists.3,
            teams_recipients: lists.4,
            pagerduty_recipients: lists.5,
        }
    })
}

fn chat<S: ChatService + fmt::Debug>() -> impl Strategy<Value = ChatRecipient<S>> {
    (0..4_u8, severities(), any::<bool>()).prop_map(|(n, severities, it)| ChatRecipient {
        name: format!("chat {n}"),
        url: format!("https://chats.example.org/{n}?a=\"&b='#: x\\"),
        severities,
        language: if it { Language::Italian } else { Language::English },
        service: S::default(),
    })
}

/// None to three of them, each once.
fn few<R: Listed>(one: impl Strategy<Value = R>) -> impl Strategy<Value = Vec<R>> {
    prop::collection::vec(one, 0..4).prop_map(|mut list| {
        once(&mut list);
        list
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
