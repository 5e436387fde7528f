//! A test message to one recipient of the caller's own layer (spec: alert-configuration#test).

use super::{
    render::Text,
    send::{AttemptContext, Senders, connects},
};
use crate::{Alerts, config};
use bailiwick_alertmanager::{
    Labels, Nanos, PostedAlert, StoredAlert,
    notify::{Message, Reason, Snapshot},
    receivers::{AnyRecipient, RecipientKind},
};
use bailiwick_domain::{AuditAction, Error, FieldError, OrgId, Result, validate::Email};
use bailiwick_events::mail;
use bailiwick_outbound::delivery::Failure;
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Caller, Permission};
use serde_json::json;
use std::time::Duration;

/// Test messages that each person may send in a minute.
pub const A_MINUTE: u32 = 5;
/// How long the try may take.
const TRY: Duration = Duration::from_secs(20);
const NAME: &str = "TestNotification";
const TEXTS: [(&str, &str); 2] = [
    ("summary_en", "This is a test. No system has a problem."),
    ("summary_it", "Questa è una prova. Nessun sistema ha problemi."),
];

/// The recipient of a test message, as sent.
#[derive(Clone, Debug, Default)]
pub struct TestOrder {
    /// The channel, such as `email`.
    pub channel: String,
    /// The address of an e-mail recipient, the number of a Telegram chat, the name of any other.
    pub recipient: String,
}

/// What came of a test message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOutcome {
    /// The channel, such as `email`.
    pub channel: &'static str,
    /// The address of an e-mail recipient, the number of a Telegram chat, the name of any other.
    pub recipient: String,
    /// Why it was not delivered, in words of the service; none = it was.
    pub error: Option<String>,
}

/// `POST /alerts/config/test`: tries once to notify a recipient of the caller's own layer of an alert that does not
/// exist, whether its channel is on or not. It is recorded before it is tried.
///
/// # Errors
/// 400 for fields; 409 with a remote router, which notifies by itself; 429 when the caller has sent too many.
pub async fn send_test(
    service: &Alerts,
    caller: &Caller,
    ctx: &RequestContext,
    body: impl FnOnce() -> Result<TestOrder>,
) -> Result<TestOutcome> {
    let (organization, layer) = config::own_layer(service, caller, Permission::ManageAlerts).await?;
    let order = body()?;
    let kind = RecipientKind::ALL.iter().copied().find(|kind| kind.as_str() == order.channel);
    let wanted = order.recipient.trim();
    let kind = match (kind, wanted) {
        (Some(kind), wanted) if !wanted.is_empty() => kind,
        (kind, wanted) => return Err(wrong(&order.channel, kind, wanted)),
    };
    let is_wanted = |one: &AnyRecipient| match kind {
        RecipientKind::Email => one.key() == Email::key_of(wanted),
        _ => one.name() == wanted,
    };
    let mut recipients = layer.all_channels().flat_map(|channels| channels.recipients(kind));
    let to = recipients.find(is_wanted);
    let to = to.ok_or_else(|| Error::field_value("recipient", "invalid_value", wanted))?;
    if !service.state.is_embedded() {
        return Err(Error::conflict("the alert router delivers notifications itself"));
    }
    let user = caller.user_id().ok_or_else(Error::insufficient_permissions)?;
    service.state.test_messages.check(&user)?;
    if kind == RecipientKind::Email {
        // The person who saved the layer chose this address, and its owner has not confirmed it: the limits on mails
        // apply.
        drop(mail::allow(&service.events, organization, &[wanted]).await?);
    }
    let mut tx = service.platform.db.begin().await?;
    let event = audit::Event {
        action: AuditAction::AlertConfigTest,
        object_type: "alert_config",
        object_id: organization.0,
        before: None,
        after: Some(json!({"channel": kind.as_str(), "recipient": to.name()})),
    };
    audit::record(&mut tx, service.platform.now(), caller, ctx, event).await?;
    tx.commit().await?;
    let tried = tokio::time::timeout(TRY, attempt(service, organization, &to)).await;
    let failure = tried.unwrap_or_else(|_| Err(Failure::temporary("no answer in time", "timed out"))).err();
    if let Some(failure) = &failure {
        tracing::info!(%organization, channel = kind.as_str(), %failure, "a test message was not delivered");
    }
    Ok(TestOutcome {
        channel: kind.as_str(),
        recipient: to.name(),
        error: failure.map(|failure| failure.reason),
    })
}

fn wrong(channel: &str, kind: Option<RecipientKind>, recipient: &str) -> Error {
    let mut fields = Vec::new();
    match (channel, kind) {
        ("", _) => fields.push(FieldError::new("channel", "required")),
        (_, None) => fields.push(FieldError::new("channel", "invalid_value").with_value(channel)),
        _ => {}
    }
    if recipient.is_empty() {
        fields.push(FieldError::new("recipient", "required"));
    }
    Error::Invalid(fields)
}

/// One try, with connections of its own: those of the worker belong to its runtime.
async fn attempt(
    service: &Alerts,
    organization: OrgId,
    to: &AnyRecipient,
) -> std::result::Result<(), Failure> {
    let now = Nanos::from_ts(service.platform.now());
    let mut labels = Labels::default();
    for (name, value) in [
        ("alertname", NAME.to_owned()),
        ("severity", "info".to_owned()),
        ("organization_id", organization.to_string()),
    ] {
        labels.insert(name, value);
    }
    let mut posted = PostedAlert::of(labels.clone());
    for (name, text) in TEXTS {
        posted.annotations.insert(name, text);
    }
    posted.annotations.insert("summary", TEXTS[0].1);
    let alert = StoredAlert::new(posted, now, service.settings.alerting.resolve_timeout);
    let senders = Senders::new(service);
    let group_key = format!("test of {organization}");
    let message = Message {
        receiver: "test",
        reason: Reason::First,
        snapshot: &Snapshot::take(vec![alert], (&[], service.state.judging.expressions()), now, None),
        group_labels: &labels,
        group_key: &group_key,
        external_url: senders.external_url(),
    };
    let text = Text::from(to.variant(Reason::First).content(&message, senders.around()));
    let id = service.platform.fresh::<uuid::Uuid>().to_string();
    let about = AttemptContext { now: service.platform.now(), tenant: organization, id: &id, group: &id };
    let _connection = match connects(to.transport()) {
        true => Some(service.platform.connections.acquire(organization).await),
        false => None,
    };
    let sent = senders.send(to, &text, about).await;
    senders.close().await;
    sent
}
