//! The rules for single fields, and a body of the layer form turned into a layer (spec: alert-configuration#layers).
//! Every wrong field is named by its path as sent; a value is told back unless it is a secret.

use super::{
    REDACTED,
    body::{EmailDraft, LayerDraft, Posted, TelegramDraft, TogglesDraft, WebhookDraft},
    layer::{
        Channels, EmailRecipient, Format, Language, Layer, Recipient, Severity, SystemOverride,
        TelegramRecipient, Toggles, WebhookRecipient,
    },
    webhook::{AllowedHosts, Target},
};
use bailiwick_domain::validate::{Fields, Rule, free_text, is_addr_spec, is_too_long};
use std::collections::HashSet;

const MAX_ADDRESS_CHARS: usize = 320;
const MAX_NAME_CHARS: usize = 100;
const MAX_TOKEN_CHARS: usize = 256;
/// Overrides of one layer.
pub(super) const MAX_SYSTEMS: usize = 100;

/// An address of a webhook with the key of its field: to be asked about before anything is stored.
#[derive(Clone, Debug)]
pub struct WebhookField {
    /// `webhook_recipients.0.url`
    pub key: String,
    /// Where it leads.
    pub target: Target,
}

/// Collects what is wrong, and the webhooks that still have to be looked up.
pub(super) struct Check<'a> {
    pub(super) fields: Fields,
    pub(super) webhooks: Vec<WebhookField>,
    allowed: &'a AllowedHosts,
}

impl<'a> Check<'a> {
    pub(super) fn new(allowed: &'a AllowedHosts) -> Check<'a> {
        Check { fields: Fields::new(), webhooks: Vec::new(), allowed }
    }

    pub(super) fn layer(&mut self, draft: LayerDraft) -> Layer {
        let LayerDraft { enabled, email_recipients, webhook_recipients, telegram_recipients, systems } =
            draft;
        let lists = (email_recipients, webhook_recipients, telegram_recipients);
        let channels = self.channels("", enabled, lists);
        let systems = systems.unwrap_or_default();
        let mut keys = HashSet::new();
        let systems = systems.into_iter().enumerate().map(|(i, one)| {
            let at = format!("systems.{i}.");
            let system_key = self.system_key(&at, one.system_key, &mut keys);
            let lists = (one.email_recipients, one.webhook_recipients, one.telegram_recipients);
            SystemOverride { system_key, channels: self.channels(&at, one.enabled, lists) }
        });
        Layer { systems: systems.collect(), channels }
    }

    fn channels(
        &mut self,
        at: &str,
        enabled: Option<TogglesDraft>,
        (email, webhook, telegram): Lists,
    ) -> Channels {
        let enabled = enabled.unwrap_or_default();
        Channels {
            enabled: Toggles { email: enabled.email, webhook: enabled.webhook, telegram: enabled.telegram },
            email_recipients: self.list(at, email, Check::email),
            webhook_recipients: self.list(at, webhook, Check::webhook),
            telegram_recipients: self.list(at, telegram, Check::telegram),
        }
    }

    /// One list of recipients: each of them, and each only once.
    fn list<R: Recipient, D>(
        &mut self,
        at: &str,
        drafts: Option<Vec<D>>,
        one: impl Fn(&mut Check<'a>, &str, D) -> Option<R>,
    ) -> Vec<R> {
        let drafts = drafts.unwrap_or_default();
        let name = format!("{at}{}_recipients", R::CHANNEL);
        let mut keys = HashSet::new();
        let mut recipients = Vec::with_capacity(drafts.len().min(R::MAX));
        for (i, draft) in drafts.into_iter().enumerate() {
            let at = format!("{name}.{i}");
            let Some(recipient) = one(self, &at, draft) else { continue };
            if keys.insert(recipient.key()) {
                recipients.push(recipient);
            } else {
                self.fields.push(at, "duplicate", "");
            }
        }
        recipients
    }

    /// Whether a body has more of anything than a layer may have. Nothing else of it is looked at.
    pub(super) fn counts(&mut self, posted: &Posted) {
        fn len<T>(list: Option<&Vec<T>>) -> usize {
            list.map_or(0, Vec::len)
        }
        let mut each = |at: &str, names: [&str; 3], counts: [usize; 3]| {
            let most = [EmailRecipient::MAX, WebhookRecipient::MAX, TelegramRecipient::MAX];
            for ((name, count), max) in names.into_iter().zip(counts).zip(most) {
                self.count(&format!("{at}{name}"), count, max);
            }
        };
        let (systems, severities) = match posted {
            Posted::Layer(draft) => {
                const NAMES: [&str; 3] = ["email_recipients", "webhook_recipients", "telegram_recipients"];
                let LayerDraft { email_recipients, webhook_recipients, telegram_recipients, systems, .. } =
                    draft;
                let counts = |e: &Option<Vec<_>>, w: &Option<Vec<_>>, t: &Option<Vec<_>>| {
                    [
                        len::<EmailDraft>(e.as_ref()),
                        len::<WebhookDraft>(w.as_ref()),
                        len::<TelegramDraft>(t.as_ref()),
                    ]
                };
                each("", NAMES, counts(email_recipients, webhook_recipients, telegram_recipients));
                for (i, one) in systems.iter().flatten().take(MAX_SYSTEMS).enumerate() {
                    let counts =
                        counts(&one.email_recipients, &one.webhook_recipients, &one.telegram_recipients);
                    each(&format!("systems.{i}."), NAMES, counts);
                }
                (len(systems.as_ref()), 0)
            }
            Posted::Flat(draft) => {
                const NAMES: [&str; 3] = ["mail_addresses", "webhook_receivers", "telegram_receivers"];
                let counts = |m: &Option<Vec<_>>, w: &Option<Vec<_>>, t: &Option<Vec<_>>| {
                    [
                        len::<String>(m.as_ref()),
                        len::<WebhookDraft>(w.as_ref()),
                        len::<TelegramDraft>(t.as_ref()),
                    ]
                };
                let (m, w, t) = (&draft.mail_addresses, &draft.webhook_receivers, &draft.telegram_receivers);
                each("", NAMES, counts(m, w, t));
                for (list, entries, max) in [
                    ("severities", &draft.severities, Severity::ALL.len()),
                    ("systems", &draft.systems, MAX_SYSTEMS),
                ] {
                    for (i, one) in entries.iter().flatten().take(max).enumerate() {
                        let counts =
                            counts(&one.mail_addresses, &one.webhook_receivers, &one.telegram_receivers);
                        each(&format!("{list}.{i}."), NAMES, counts);
                    }
                }
                (len(draft.systems.as_ref()), len(draft.severities.as_ref()))
            }
        };
        self.count("severities", severities, Severity::ALL.len());
        self.count("systems", systems, MAX_SYSTEMS);
    }

    pub(super) fn count(&mut self, key: &str, count: usize, max: usize) {
        if count > max {
            self.fields.push(key, "max", count.to_string());
        }
    }

    pub(super) fn system_key(
        &mut self,
        at: &str,
        key: Option<String>,
        others: &mut HashSet<String>,
    ) -> String {
        let key = key.unwrap_or_default();
        let outcome = match key.trim() {
            "" => Err("required"),
            // No key of a system is longer; the store could not even look for a zero character.
            _ if is_too_long(&key, 255) || key.contains('\0') => Err("invalid_value"),
            _ if !others.insert(key.clone()) => Err("duplicate"),
            _ => Ok(()),
        };
        self.fields.check(&format!("{at}system_key"), &key, outcome);
        key
    }

    fn email(&mut self, at: &str, draft: EmailDraft) -> Option<EmailRecipient> {
        let address = self.address(&format!("{at}.address"), draft.address.unwrap_or_default());
        let severities = self.severities(at, draft.severities);
        let language = self.language(at, draft.language);
        let format = self.word(&format!("{at}.format"), draft.format, |word| match word {
            "" | "html" => Some(Format::Html),
            "plain" => Some(Format::Plain),
            _ => None,
        });
        Some(EmailRecipient { address: address?, severities, language, format: format? })
    }

    pub(super) fn address(&mut self, key: &str, address: String) -> Option<String> {
        let address = address.trim().to_owned();
        self.fields.check(key, &address, email_address(&address))?;
        Some(address)
    }

    fn webhook(&mut self, at: &str, draft: WebhookDraft) -> Option<WebhookRecipient> {
        let severities = self.severities(at, draft.severities.clone());
        let (name, url) = self.named_url(at, draft);
        Some(WebhookRecipient { name: name?, url: url?, severities })
    }

    pub(super) fn named_url(&mut self, at: &str, draft: WebhookDraft) -> (Option<String>, Option<String>) {
        let name = draft.name.unwrap_or_default();
        let outcome = match name.trim() {
            "" => Err("required"),
            _ if is_too_long(&name, MAX_NAME_CHARS) => Err("max"),
            _ => free_text(&name),
        };
        let named = self.fields.check(&format!("{at}.name"), &name, outcome);
        let url = draft.url.unwrap_or_default();
        let key = format!("{at}.url");
        let outcome =
            if url.contains(REDACTED) { Err("invalid_value") } else { Target::parse(&url, self.allowed) };
        let target = self.fields.check_secret(&key, outcome);
        let url = target.map(|target| {
            self.webhooks.push(WebhookField { key, target });
            url
        });
        (named.map(|()| name), url)
    }

    fn telegram(&mut self, at: &str, draft: TelegramDraft) -> Option<TelegramRecipient> {
        let severities = self.severities(at, draft.severities.clone());
        let language = self.language(at, draft.language.clone());
        let (bot_token, chat_id) = self.chat(at, draft)?;
        Some(TelegramRecipient { bot_token, chat_id, severities, language })
    }

    pub(super) fn chat(&mut self, at: &str, draft: TelegramDraft) -> Option<(String, i64)> {
        let token = draft.bot_token.unwrap_or_default();
        let known = self.fields.check_secret(&format!("{at}.bot_token"), bot_token(&token));
        let outcome = match draft.chat_id {
            None => Err("required"),
            Some(0) => Err("invalid_value"),
            Some(id) => Ok(id),
        };
        let chat_id = self.fields.check(&format!("{at}.chat_id"), "", outcome);
        Some((known.map(|()| token)?, chat_id?))
    }

    fn severities(&mut self, at: &str, words: Option<Vec<String>>) -> Vec<Severity> {
        let words = words.unwrap_or_default();
        let key = format!("{at}.severities");
        self.count(&key, words.len(), Severity::ALL.len());
        let mut severities = Vec::with_capacity(words.len().min(Severity::ALL.len()));
        for (i, word) in words.iter().take(Severity::ALL.len()).enumerate() {
            let outcome = match Severity::parse(word) {
                None => Err("invalid_value"),
                Some(severity) if severities.contains(&severity) => Err("duplicate"),
                Some(severity) => Ok(severity),
            };
            severities.extend(self.fields.check(&format!("{key}.{i}"), word, outcome));
        }
        severities
    }

    fn language(&mut self, at: &str, word: Option<String>) -> Language {
        self.word(&format!("{at}.language"), word, Language::parse).unwrap_or_default()
    }

    fn word<T>(&mut self, key: &str, word: Option<String>, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let word = word.unwrap_or_default();
        self.fields.check(key, &word, parse(&word).ok_or("invalid_value"))
    }
}

type Lists = (Option<Vec<EmailDraft>>, Option<Vec<WebhookDraft>>, Option<Vec<TelegramDraft>>);

fn email_address(address: &str) -> Rule<()> {
    if address.is_empty() {
        return Err("required");
    }
    if is_too_long(address, MAX_ADDRESS_CHARS) {
        return Err("max");
    }
    // A remote router would take double braces for one of its templates.
    let is_one = is_addr_spec(address)
        && is_deliverable(address)
        && !address.contains("{{")
        && !address.contains(char::is_control);
    if is_one { Ok(()) } else { Err("invalid_format") }
}

/// What a mail server takes beside the syntax (RFC 5321 §4.5.3.1, RFC 1123 §2.1): the lengths, and a domain of host
/// labels.
fn is_deliverable(address: &str) -> bool {
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let is_label = |label: &str| {
        let ends = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        (1..=63).contains(&label.len()) && ends(label.chars().next()) && ends(label.chars().next_back())
    };
    let is_host = || domain.split('.').all(is_label);
    local.len() <= 64 && domain.len() <= 254 && (domain.starts_with('[') || is_host())
}

fn bot_token(token: &str) -> Rule<()> {
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
