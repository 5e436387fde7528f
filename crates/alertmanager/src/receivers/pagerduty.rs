//! Services of PagerDuty, by version 2 of its Events API.

use super::{Check, Content, Field, Input, Recipient, Transport, Variant, Visible};
use crate::{
    Severity,
    notify::{Message, text::visible},
    redacted::{REDACTED, secret},
    texts::{self, Language, Surroundings},
};
use bailiwick_domain::validate::Rule;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt};

/// Length of an integration key.
const KEY_CHARS: usize = 32;
/// Longest `summary` of an event, in characters.
const MAX_SUMMARY_CHARS: usize = 1024;
/// The severities that an event may have are these and `error`.
const SEVERITY: &str = "{{ $s := \"info\" }}{{ range .Alerts.Firing }}{{ if eq .Labels.severity \"critical\" }}{{ $s = \"critical\" }}\
     {{ else if and (eq .Labels.severity \"warning\") (ne $s \"critical\") }}{{ $s = \"warning\" }}{{ end }}{{ end }}{{ $s }}";

/// Where the account is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Region {
    /// The United States.
    #[default]
    Us,
    /// The European Union.
    Eu,
}

impl Region {
    const WORDS: &[&str] = &[Region::Us.word(), Region::Eu.word()];

    const fn word(self) -> &'static str {
        match self {
            Region::Us => "us",
            Region::Eu => "eu",
        }
    }

    /// The address of the Events API.
    pub const fn url(self) -> &'static str {
        match self {
            Region::Us => "https://events.pagerduty.com/v2/enqueue",
            Region::Eu => "https://events.eu.pagerduty.com/v2/enqueue",
        }
    }
}

/// A service of PagerDuty.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagerdutyRecipient {
    /// Name for people.
    pub name: String,
    /// Integration key; a secret.
    pub routing_key: String,
    /// Where the account is.
    #[serde(default)]
    pub region: Region,
    /// Severities of the alerts it receives; empty = all.
    #[serde(default)]
    pub severities: Vec<Severity>,
    /// Language of the texts.
    #[serde(default)]
    pub language: Language,
}

/// One of `pagerduty_recipients`, as posted.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct PagerdutyDraft {
    name: Option<String>,
    routing_key: Option<String>,
    region: Option<String>,
    severities: Option<Vec<String>>,
    language: Option<String>,
}

/// One of `pagerduty_configs` of an Alertmanager.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PagerdutyConfig {
    /// Integration key.
    #[serde(serialize_with = "secret")]
    pub routing_key: String,
    /// Address of the Events API.
    pub url: String,
    /// Whether resolved alerts are notified too.
    pub send_resolved: bool,
    /// Name of the sender.
    pub client: String,
    /// Summary of the event.
    pub description: String,
    /// Severity of the event.
    pub severity: String,
    /// Further facts.
    pub details: BTreeMap<String, String>,
}

// Secrets do not print.
impl fmt::Debug for PagerdutyRecipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, severities) = (&self.name, &self.severities);
        f.debug_struct("Pagerduty")
            .field("name", name)
            .field("severities", severities)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PagerdutyDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PagerdutyDraft").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for PagerdutyConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PagerdutyConfig").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Recipient for PagerdutyRecipient {
    type Draft = PagerdutyDraft;
    type Config = PagerdutyConfig;

    const MAX: usize = 20;
    const FIELDS: &[Field] = &[
        Field::NAME,
        Field::secret("routing_key", KEY_CHARS),
        Field::of("region", Input::Choice(Region::WORDS)),
        Field::LANGUAGE,
        Field::SEVERITIES,
    ];

    fn check(draft: PagerdutyDraft, path: &str, check: &mut Check<'_>) -> Option<PagerdutyRecipient> {
        let severities = check.severities(path, draft.severities);
        let language = check.language(path, draft.language);
        let region = check.word(&format!("{path}.region"), draft.region, |word| match word {
            "" | "us" => Some(Region::Us),
            "eu" => Some(Region::Eu),
            _ => None,
        });
        let name = check.name(path, draft.name);
        let routing_key = draft.routing_key.unwrap_or_default();
        check.fields.check_secret(&format!("{path}.routing_key"), key_rule(&routing_key))?;
        Some(PagerdutyRecipient { name: name?, routing_key, region: region?, severities, language })
    }

    fn key(&self) -> String {
        self.routing_key.clone()
    }

    fn severities(&self) -> &[Severity] {
        &self.severities
    }

    fn severities_mut(&mut self) -> &mut Vec<Severity> {
        &mut self.severities
    }

    fn secret(&self) -> Option<&String> {
        Some(&self.routing_key)
    }

    fn secret_mut(&mut self) -> Option<&mut String> {
        Some(&mut self.routing_key)
    }

    fn redact(&mut self) {
        REDACTED.clone_into(&mut self.routing_key);
    }

    fn hide(&mut self) {
        (self.name, self.routing_key) = (REDACTED.to_owned(), REDACTED.to_owned());
        self.region = Region::default();
    }

    fn visible(&self) -> Visible {
        Visible(self.name.clone(), self.region.word().to_owned())
    }

    fn redacted_secret(draft: &mut PagerdutyDraft) -> Option<(Visible, &mut String)> {
        let key = draft.routing_key.as_mut().filter(|key| *key == REDACTED)?;
        let region = draft.region.as_deref().filter(|word| !word.is_empty()).unwrap_or(Region::Us.word());
        Some((Visible(draft.name.clone().unwrap_or_default(), region.to_owned()), key))
    }

    fn config(&self) -> PagerdutyConfig {
        let text = texts::call("alert", self.language, "txt");
        PagerdutyConfig {
            routing_key: self.routing_key.clone(),
            url: self.region.url().to_owned(),
            send_resolved: true,
            client: CLIENT.to_owned(),
            description: texts::call("alert", self.language, "subject"),
            severity: SEVERITY.to_owned(),
            details: [(ALERTS.to_owned(), text)].into(),
        }
    }

    fn redact_config(config: &mut PagerdutyConfig) {
        REDACTED.clone_into(&mut config.routing_key);
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn description(&self) -> String {
        format!("{} ({})", self.name, self.language.code())
    }

    fn language(&self) -> Option<Language> {
        Some(self.language)
    }

    fn transport(&self) -> Transport<'_> {
        Transport::Pagerduty { routing_key: &self.routing_key, region: self.region }
    }

    fn content(message: &Message<'_>, variant: &Variant, around: &Surroundings) -> Content {
        Content::Pagerduty {
            incident: message.incident(),
            event: message.pagerduty(variant.language, around),
        }
    }
}

/// The name of this service in events.
const CLIENT: &str = "Bailiwick";
/// The key of the alerts among the facts of an event.
const ALERTS: &str = "alerts";

fn key_rule(key: &str) -> Rule<()> {
    match key {
        "" => Err("required"),
        REDACTED => Err("invalid_value"),
        _ if key.len() == KEY_CHARS && key.bytes().all(|b| b.is_ascii_alphanumeric()) => Ok(()),
        _ => Err("invalid_format"),
    }
}

impl Message<'_> {
    /// The severity of the group: its route has divided alerts by it.
    fn severity(&self) -> Severity {
        let of_all = self.snapshot.alerts.iter().map(|taken| &taken.alert.labels);
        // The first is the most urgent one.
        of_all.map(|labels| Severity::of_label(labels.value("severity"))).min().unwrap_or(Severity::Info)
    }

    /// Distinguishes incidents: the labels of the group and its severity. Not the group's key, which also names the
    /// route: an incident would stay open when the configuration moves its alerts to another route.
    fn incident(&self) -> String {
        let mut text = String::from(self.severity().as_str());
        self.group_labels.write(&mut text);
        text
    }

    /// An event without `routing_key` and `dedup_key`. The event of a group that is over resolves the incident that the
    /// same `dedup_key` has opened.
    pub fn pagerduty(&self, language: Language, around: &Surroundings) -> Value {
        if !self.snapshot.is_firing() {
            return json!({"event_action": "resolve"});
        }
        let firing = || self.snapshot.alerts.iter().filter(|taken| !taken.is_resolved);
        let severity = firing().map(|taken| Severity::of_label(taken.alert.labels.value("severity"))).min();
        let labels = self.common_labels();
        let summary: String = self.subject().chars().take(MAX_SUMMARY_CHARS).collect();
        let source = labels.get("system_key").filter(|key| !key.is_empty()).unwrap_or(CLIENT);
        let mut payload = json!({
            "summary": summary,
            "source": source,
            "severity": severity.unwrap_or(Severity::Info).as_str(),
            "class": visible(labels.value("alertname")),
            "custom_details": {
                ALERTS: self.text(language, around),
                "num_firing": firing().count(),
                "num_resolved": self.snapshot.alerts.len() - firing().count(),
            },
        });
        if let Some(began) = firing().map(|taken| taken.alert.starts_at).min() {
            payload["timestamp"] = json!(began.to_string());
        }
        json!({"event_action": "trigger", "client": CLIENT, "client_url": self.external_url, "payload": payload})
    }
}
