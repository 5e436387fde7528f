//! One try to reach one recipient.

use super::render::Text;
use crate::Alerts;
use bailiwick_alertmanager::{
    receivers::{AnyRecipient, Recipients, Transport},
    texts::Surroundings,
};
use bailiwick_domain::{OrgId, Ts};
use bailiwick_events::mail;
use bailiwick_outbound::{
    delivery::Failure,
    mail::{CONNECTIONS, Mailer, Notice},
    pagerduty::Pagerduty,
    telegram::Telegram,
    webhook::Webhooks,
};
use bailiwick_platform::limits::Concurrency;
use std::sync::Arc;

/// Concurrent tries to one host. A host that does not answer must not block other tenants, or other recipients of the
/// same tenant, which may mean another address behind that host.
const AT_ONCE: Concurrency = Concurrency { address: 64, tenant: 8, system: 4, recipient: 2 };
/// Concurrent tries to the mail server: as many as its connections can take.
const MAILS_AT_ONCE: Concurrency =
    Concurrency { address: CONNECTIONS as usize, tenant: 3, system: 2, recipient: 1 };

/// Whether each try opens a connection. Mails share those to the mail server.
pub(super) const fn connects(transport: Transport<'_>) -> bool {
    !matches!(transport, Transport::Mail(_))
}

/// The transports of this process.
pub(super) struct Senders {
    webhooks: Webhooks,
    telegram: Option<Telegram>,
    pagerduty: Pagerduty,
    mailer: Option<Result<Mailer, String>>,
    around: Surroundings,
    external_url: String,
}

impl Senders {
    /// Must be called on the runtime that sends.
    pub(super) fn new(service: &Alerts) -> Senders {
        let settings = &service.settings.alerting;
        Senders {
            webhooks: Webhooks::new(settings.allowed_hosts.clone()),
            telegram: settings.telegram.then(|| Telegram::new(&settings.telegram_api)),
            pagerduty: Pagerduty::new(settings.pagerduty_api.clone()),
            mailer: service.settings.mail.is_some().then(|| mail::mailer(&service.events)),
            around: Surroundings { pages: service.settings.pages(), zone: settings.zone.clone() },
            external_url: service.settings.public_url.clone(),
        }
    }

    pub(super) const fn around(&self) -> &Surroundings {
        &self.around
    }

    pub(super) fn external_url(&self) -> &str {
        &self.external_url
    }

    /// The recipients that can be reached at all, in order.
    pub(super) fn reachable(&self, recipients: &Recipients) -> Vec<AnyRecipient> {
        let mut all = recipients.all();
        all.retain(|one| match one.transport() {
            Transport::Mail(_) => self.mailer.is_some(),
            Transport::Post(_) | Transport::Pagerduty { .. } => true,
            Transport::Telegram { .. } => self.telegram.is_some(),
        });
        all
    }

    /// The destination a try shares with others, and how many tries that allows at once.
    pub(super) fn destination_limit(&self, to: &AnyRecipient) -> (Arc<str>, Concurrency) {
        match to.transport() {
            Transport::Mail(_) => ("mail".into(), MAILS_AT_ONCE),
            Transport::Post(url) => (self.webhooks.host_and_port(url).unwrap_or_default().into(), AT_ONCE),
            Transport::Telegram { .. } => ("telegram".into(), AT_ONCE),
            Transport::Pagerduty { region, .. } => (region.url().into(), AT_ONCE),
        }
    }

    /// One try to notify a recipient of a tenant's group.
    pub(super) async fn send(
        &self,
        to: &AnyRecipient,
        text: &Text,
        about: AttemptContext<'_>,
    ) -> Result<(), Failure> {
        match (to.transport(), text) {
            (Transport::Post(url), Text::Body(body)) => {
                self.webhooks.send(about.tenant, url, body.clone()).await
            }
            (Transport::Telegram { bot_token, chat_id }, Text::Telegram(text)) => match &self.telegram {
                Some(telegram) => telegram.send(about.tenant, bot_token, chat_id, text).await,
                None => Err(Failure::permanent("telegram delivery is not available", "switched off")),
            },
            (Transport::Pagerduty { routing_key, region }, Text::Pagerduty { incident, event }) => {
                self.pagerduty.send(about.tenant, (routing_key, region), incident, event).await
            }
            (Transport::Mail(address), Text::Mail { subject, text, html }) => match &self.mailer {
                Some(Ok(mailer)) => {
                    let notice = Notice {
                        id: about.id.to_owned(),
                        thread: about.group.chars().take(16).collect(),
                        to: address.to_owned(),
                        subject: subject.clone(),
                        text: text.clone(),
                        html: html.clone(),
                        date_micros: about.now.0,
                    };
                    mailer.notify(&notice).await
                }
                Some(Err(e)) => Err(Failure::permanent("email delivery is not configured", e)),
                None => Err(Failure::permanent("email delivery is not configured", "no server")),
            },
            _ => Err(Failure::permanent("content does not match transport", "a text of another kind")),
        }
    }

    /// Ends kept connections.
    pub(super) async fn close(&self) {
        if let Some(Ok(mailer)) = &self.mailer {
            mailer.close().await;
        }
    }
}

/// The subject of a try.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptContext<'a> {
    pub(super) now: Ts,
    pub(super) tenant: OrgId,
    /// Of the message: the same at every try.
    pub(super) id: &'a str,
    /// Of the group: its messages are one thread.
    pub(super) group: &'a str,
}
