//! Notifications to webhooks (spec: alert-delivery#webhook-delivery). The address policy of spec:
//! alert-configuration#layers is applied to the text of the address and, at every try, to the addresses its name
//! resolves to.

use crate::{
    delivery::Failure,
    dns::{Lookup, Resolver},
    http_post::Poster,
};
use bailiwick_alertmanager::webhook_target::{AllowedHosts, Target};
use bailiwick_domain::OrgId;
use bytes::Bytes;

pub use crate::http_post::PostAnswer;

/// Posts to webhooks.
#[derive(Clone)]
pub struct Webhooks {
    poster: Poster,
    allowed: AllowedHosts,
}

impl std::fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhooks").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

impl Webhooks {
    /// `allowed`: hosts and networks that may be posted to although they are not public.
    pub fn new(allowed: AllowedHosts) -> Webhooks {
        Webhooks { poster: Poster::new(), allowed }
    }

    /// With another resolver, for tests of names that change.
    pub fn with_names(allowed: AllowedHosts, ask: Lookup) -> Webhooks {
        Webhooks { poster: Poster::with_names(Resolver::new(ask)), allowed }
    }

    /// The host and port of an address, to distinguish slow hosts; none for an invalid address.
    pub fn host_and_port(&self, url: &str) -> Option<String> {
        let target = Target::parse(url, &self.allowed).ok()?;
        Some(format!("{}:{}", target.host, target.port))
    }

    /// The hosts that may be called besides public addresses.
    pub const fn allowed(&self) -> &AllowedHosts {
        &self.allowed
    }

    /// Whether every address of a webhook's name may be called; used when a configuration is saved. Sends nothing.
    ///
    /// # Errors
    /// `dns_resolution_failed` (also after 3 s) or `host_not_publicly_routable`, as spec: alert-configuration#layers
    /// names them.
    pub async fn look_up(&self, tenant: OrgId, target: &Target) -> Result<(), &'static str> {
        self.poster.look_up(tenant, target, &self.allowed).await
    }

    /// One try to post a tenant's body with headers; any answer is a result.
    ///
    /// # Errors
    /// No answer was received. See [`Failure`].
    pub async fn deliver(
        &self,
        tenant: OrgId,
        url: &str,
        headers: &[(&'static str, String)],
        body: Bytes,
    ) -> Result<PostAnswer, Failure> {
        let target = Target::parse(url, &self.allowed)
            .map_err(|code| Failure::permanent("the address is not allowed", code))?;
        self.poster.deliver(tenant, &target, &self.allowed, headers, body).await
    }

    /// One try to post a tenant's body; 2xx is success.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn send(&self, tenant: OrgId, url: &str, body: Bytes) -> Result<(), Failure> {
        // The rule's code, not the address, which may be a secret.
        let target = Target::parse(url, &self.allowed)
            .map_err(|code| Failure::permanent("the address is not allowed", code))?;
        self.poster.post(tenant, &target, &self.allowed, body).await
    }
}

#[cfg(test)]
mod tests;
