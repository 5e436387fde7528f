//! Renders the text of a group's notifications: once for all recipients that receive the same text at the same moment,
//! off the request threads if it is long, and within a fixed amount of memory.

use super::{of, send::Senders, send_group::GroupSend};
use crate::{Alerts, config::short_digest};
use bailiwick_alertmanager::{
    notify::{Message, Reason},
    receivers::{Content, Variant},
};
use bailiwick_domain::{Error, Result};
use bytes::Bytes;
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

/// Largest group, in bytes of its records, that is rendered in place.
const LITTLE: usize = 64 * 1024;
/// Memory for the texts of larger groups that are being sent, in KiB of their records.
const MUCH_AT_ONCE: u32 = 64 * 1024;

/// The rendered text, in a form that is cheap to send several times.
#[derive(Debug)]
pub(super) enum Text {
    Body(Bytes),
    Mail { subject: String, text: String, html: Option<String> },
    Telegram(String),
    Pagerduty { incident: String, event: Value },
}

impl From<Content> for Text {
    fn from(content: Content) -> Text {
        match content {
            Content::Json(body) => Text::Body(body.into()),
            Content::Mail { subject, text, html } => Text::Mail { subject, text, html },
            Content::Telegram(html) => Text::Telegram(html),
            Content::Pagerduty { incident, event } => {
                Text::Pagerduty { incident: short_digest(&incident), event }
            }
        }
    }
}

/// A rendered text; it holds its share of the memory while a try sends it.
#[derive(Debug)]
pub(super) struct RenderedText {
    pub(super) text: Text,
    _memory: Option<OwnedSemaphorePermit>,
}

/// The texts of one group that are being sent.
#[derive(Debug, Default)]
pub(super) struct RenderCache(Mutex<HashMap<Variant, Weak<OnceCell<Arc<RenderedText>>>>>);

/// The memory for long texts.
#[derive(Debug)]
pub(super) struct RenderMemory(Arc<Semaphore>);

impl Default for RenderMemory {
    fn default() -> RenderMemory {
        RenderMemory(Arc::new(Semaphore::new(MUCH_AT_ONCE as usize)))
    }
}

/// A text that is rendered by the first task that needs it.
pub(super) type Making = Arc<OnceCell<Arc<RenderedText>>>;

impl RenderCache {
    /// Where the text of a variant is, or will be.
    fn making(&self, variant: Variant) -> Making {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(making) = all.get(&variant).and_then(Weak::upgrade) {
            return making;
        }
        let making = Making::default();
        all.insert(variant, Arc::downgrade(&making));
        making
    }
}

/// The text for the recipients of a variant. While one task keeps the result, the others share it.
pub(super) async fn render(
    service: &Alerts,
    flush: &Arc<GroupSend>,
    variant: Variant,
) -> Result<(Making, Arc<RenderedText>)> {
    let making = flush.texts.making(variant);
    let rendered = making.get_or_try_init(|| make(service, flush, variant)).await?.clone();
    Ok((making, rendered))
}

async fn make(service: &Alerts, flush: &Arc<GroupSend>, variant: Variant) -> Result<Arc<RenderedText>> {
    let senders = of(service).senders.get_or_init(|| Senders::new(service));
    if flush.bytes <= LITTLE {
        return Ok(Arc::new(RenderedText { text: text(senders, flush, variant), _memory: None }));
    }
    // A group larger than the whole memory is sent alone.
    let kib = u32::try_from(flush.bytes / 1024).unwrap_or(u32::MAX).min(MUCH_AT_ONCE);
    let memory = of(service).memory.0.clone().acquire_many_owned(kib).await.map_err(Error::internal)?;
    let (maker, flush) = (service.clone(), flush.clone());
    let making = service.platform.tasks.spawn_blocking(move || {
        let senders = of(&maker).senders.get_or_init(|| Senders::new(&maker));
        Arc::new(RenderedText { text: text(senders, &flush, variant), _memory: Some(memory) })
    });
    making.await.map_err(Error::internal)
}

fn text(senders: &Senders, flush: &GroupSend, variant: Variant) -> Text {
    let message = Message {
        receiver: &flush.receiver,
        // Other contents do not name it.
        reason: variant.reason.unwrap_or(Reason::First),
        snapshot: &flush.snapshot,
        group_labels: &flush.group_labels,
        group_key: &flush.group_key,
        external_url: senders.external_url(),
    };
    variant.content(&message, senders.around()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_alertmanager::{
        receivers::{Format, RecipientKind},
        texts::Language,
    };

    #[test]
    fn a_text_is_shared_while_somebody_sends_it() {
        let texts = RenderCache::default();
        let english =
            |kind, reason| Variant { kind, language: Language::English, format: Format::Html, reason };
        let webhook = english(RecipientKind::Webhook, Some(Reason::First));
        let first = texts.making(webhook);
        assert!(Arc::ptr_eq(&first, &texts.making(webhook)));
        assert!(!Arc::ptr_eq(
            &first,
            &texts.making(english(RecipientKind::Webhook, Some(Reason::NewAlerts)))
        ));
        assert!(!Arc::ptr_eq(&first, &texts.making(english(RecipientKind::Email, None))));
        let weak = Arc::downgrade(&first);
        drop(first);
        assert!(weak.upgrade().is_none());
        assert!(texts.making(webhook).get().is_none());
    }
}
