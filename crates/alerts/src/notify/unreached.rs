//! Logs the first failure of a recipient and its recovery, and nothing in between: an operator learns at once whose
//! pager is silent, and the log does not fill.

use super::of;
use crate::{Alerts, config::digest_of};
use bailiwick_alertmanager::receivers::AnyRecipient;
use bailiwick_domain::OrgId;
use bailiwick_outbound::delivery::Failure;
use bailiwick_policy::Scope;
use bailiwick_store::organizations::directory;
use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

/// Recipients that are remembered at most; beyond them all are forgotten, and failures are logged once more.
const MOST: usize = 10_000;

/// Digests of the recipients that the last try of this process did not reach.
#[derive(Debug, Default)]
pub(super) struct Unreached(Mutex<HashSet<String>>);

impl Unreached {
    /// Whether this is news.
    fn add(&self, recipient: String) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(recipient)
    }

    fn remove(&self, recipient: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(recipient)
    }
}

/// A try has failed; true if the one before had not.
pub(super) async fn failed(service: &Alerts, tenant: OrgId, to: &AnyRecipient, failure: &Failure) -> bool {
    let is_news = of(service).unreached.add(digest_of(to));
    if is_news {
        let (organization, recipient) = (name(service, tenant).await, to.name());
        tracing::warn!(organization, channel = to.kind().as_str(), recipient, %failure, "recipient cannot be reached, will retry");
    }
    is_news
}

/// A notification has arrived.
pub(super) async fn reached(service: &Alerts, tenant: OrgId, to: &AnyRecipient) {
    if of(service).unreached.remove(&digest_of(to)) {
        let (organization, recipient) = (name(service, tenant).await, to.name());
        tracing::info!(organization, channel = to.kind().as_str(), recipient, "recipient is reached again");
    }
}

/// The name of an organization for the log, or its id.
async fn name(service: &Alerts, tenant: OrgId) -> String {
    let names =
        directory::names(&service.platform.db, &Scope::Everything, &[tenant]).await.unwrap_or_default();
    names.get(&tenant).cloned().unwrap_or_else(|| tenant.to_string())
}
