//! Events for PagerDuty (spec: alert-delivery#chats-and-incidents): version 2 of its Events API.

use crate::{delivery::Failure, http_post::Poster};
use bailiwick_alertmanager::{
    receivers::Region,
    webhook_target::{AllowedHosts, Target},
};
use bailiwick_domain::OrgId;
use serde_json::{Value, json};

/// Sends events.
#[derive(Clone)]
pub struct Pagerduty {
    poster: Poster,
    api: Option<String>,
}

impl std::fmt::Debug for Pagerduty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pagerduty").field("api", &self.api).finish_non_exhaustive()
    }
}

impl Pagerduty {
    /// `api`: another address than those of the regions, for tests.
    pub fn new(api: Option<String>) -> Pagerduty {
        Pagerduty { poster: Poster::new(), api }
    }

    /// One try to send an event to the service with this integration key. `incident`: events with the same one are
    /// about the same incident.
    ///
    /// # Errors
    /// See [`Failure`]. The key is in none of its texts.
    pub async fn send(
        &self,
        tenant: OrgId,
        (routing_key, region): (&str, Region),
        incident: &str,
        event: &Value,
    ) -> Result<(), Failure> {
        let url = self.api.as_deref().unwrap_or(region.url());
        let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        // Of the operator's choice, not of a tenant's.
        let own = AllowedHosts::new(host, Vec::new());
        let target = Target::parse(url, &own)
            .map_err(|code| Failure::permanent("the service cannot be addressed", code))?;
        let mut event = event.clone();
        event["routing_key"] = json!(routing_key);
        event["dedup_key"] = json!(incident);
        self.poster.post(tenant, &target, &own, event.to_string().into()).await
    }
}
