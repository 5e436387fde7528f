//! One try to reach one recipient.

use super::said::{Kind, Text};
use crate::{Alerts, config::digest_of};
use bailiwick_alerting::{
    config::{Audience, EmailRecipient, Recipient as _, Surroundings, TelegramRecipient, WebhookRecipient},
    notify::Reason,
};
use bailiwick_domain::{OrgId, Ts};
use bailiwick_events::mail;
use bailiwick_outbound::{
    delivery::Failure,
    mail::{CONNECTIONS, Mailer, Notice},
    telegram::Telegram,
    webhook::Webhooks,
};
use bailiwick_platform::destination_limits::Concurrency;
use std::sync::Arc;

/// Tries at once to one host. One that does not answer is not to keep other tenants from it, or other recipients of the
/// same, of whom another address may be meant there.
const AT_ONCE: Concurrency = Concurrency { address: 64, tenant: 8, system: 4, recipient: 2 };
/// To the mail server: what its connections can take.
const MAILS_AT_ONCE: Concurrency =
    Concurrency { address: CONNECTIONS as usize, tenant: 3, system: 2, recipient: 1 };

/// A recipient.
#[derive(Clone, Debug)]
pub(super) enum To {
    /// By e-mail.
    Email(EmailRecipient),
    /// By webhook.
    Webhook(WebhookRecipient),
    /// By Telegram.
    Telegram(TelegramRecipient),
}

impl To {
    pub(super) const fn channel(&self) -> &'static str {
        match self {
            To::Email(_) => EmailRecipient::CHANNEL,
            To::Webhook(_) => WebhookRecipient::CHANNEL,
            To::Telegram(_) => TelegramRecipient::CHANNEL,
        }
    }

    /// Whether each try opens a connection. Mails share those to the mail server.
    pub(super) const fn connects(&self) -> bool {
        !matches!(self, To::Email(_))
    }

    /// What the recipient is known by in the database and in the log.
    pub(super) fn digest(&self) -> String {
        match self {
            To::Email(r) => digest_of(r),
            To::Webhook(r) => digest_of(r),
            To::Telegram(r) => digest_of(r),
        }
    }
}

/// The ways to recipients that this process has.
pub(super) struct Ways {
    webhooks: Webhooks,
    telegram: Option<Telegram>,
    mailer: Option<Result<Mailer, String>>,
    around: Surroundings,
    external_url: String,
}

impl Ways {
    /// Must be called on the runtime that sends.
    pub(super) fn new(service: &Alerts) -> Ways {
        let settings = &service.settings.alerting;
        Ways {
            webhooks: Webhooks::new(settings.allowed_hosts.clone()),
            telegram: settings.telegram.then(|| Telegram::new(&settings.telegram_api)),
            mailer: service.settings.mail.is_some().then(|| mail::mailer(service)),
            around: Surroundings { app_url: service.settings.app_url.clone(), zone: settings.zone.clone() },
            external_url: service.settings.public_url.clone(),
        }
    }

    pub(super) const fn around(&self) -> &Surroundings {
        &self.around
    }

    pub(super) fn external_url(&self) -> &str {
        &self.external_url
    }

    /// Who of an audience can be reached at all, in order.
    pub(super) fn reachable(&self, audience: &Audience) -> Vec<To> {
        let email = audience.email.iter().filter(|_| self.mailer.is_some()).cloned().map(To::Email);
        let webhook = audience.webhook.iter().cloned().map(To::Webhook);
        let telegram =
            audience.telegram.iter().filter(|_| self.telegram.is_some()).cloned().map(To::Telegram);
        email.chain(webhook).chain(telegram).collect()
    }

    /// Whom a try has to share its turn with, and how many turns there are.
    pub(super) fn place(&self, to: &To) -> (Arc<str>, Concurrency) {
        match to {
            To::Email(_) => ("mail".into(), MAILS_AT_ONCE),
            To::Webhook(r) => (self.webhooks.place(&r.url).unwrap_or_default().into(), AT_ONCE),
            To::Telegram(_) => ("telegram".into(), AT_ONCE),
        }
    }

    /// What a recipient is to hear.
    pub(super) const fn kind(to: &To, reason: Reason) -> Kind {
        match to {
            To::Webhook(_) => Kind::Webhook(reason),
            To::Telegram(r) => Kind::Telegram(r.language),
            To::Email(r) => Kind::Mail(r.language, r.format),
        }
    }

    /// One try to tell a recipient of a tenant's group.
    pub(super) async fn send(&self, to: &To, text: &Text, about: About<'_>) -> Result<(), Failure> {
        match (to, text) {
            (To::Webhook(r), Text::Webhook(body)) => {
                self.webhooks.send(about.tenant, &r.url, body.clone()).await
            }
            (To::Telegram(r), Text::Telegram(text)) => match &self.telegram {
                Some(telegram) => telegram.send(about.tenant, &r.bot_token, r.chat_id, text).await,
                None => Err(Failure::lasting("telegram delivery is not available", "switched off")),
            },
            (To::Email(r), Text::Mail { subject, text, html }) => match &self.mailer {
                Some(Ok(mailer)) => {
                    let notice = Notice {
                        id: about.id.to_owned(),
                        thread: about.group.chars().take(16).collect(),
                        to: r.address.clone(),
                        subject: subject.clone(),
                        text: text.clone(),
                        html: html.clone(),
                        date_micros: about.now.0,
                    };
                    mailer.notify(&notice).await
                }
                Some(Err(e)) => Err(Failure::lasting("email delivery is not configured", e)),
                None => Err(Failure::lasting("email delivery is not configured", "no server")),
            },
            _ => Err(Failure::lasting("this cannot be said so", "a text of another kind")),
        }
    }

    /// Ends kept connections.
    pub(super) async fn close(&self) {
        if let Some(Ok(mailer)) = &self.mailer {
            mailer.close().await;
        }
    }
}

/// What a try is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct About<'a> {
    pub(super) now: Ts,
    pub(super) tenant: OrgId,
    /// Of the message: the same at every try.
    pub(super) id: &'a str,
    /// Of the group: its messages are one thread.
    pub(super) group: &'a str,
}
