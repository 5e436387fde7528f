//! The alert router: every operation for systems, wherever alerts are.

use super::{Alerts, Fault, Sender, ServiceAlert, embedded, remote, service_alerts};
use bailiwick_alertmanager::{
    AlertsQuery, ListedAlert, ListedSilence, Nanos, PostedAlert, PostedSilence, SilencesQuery,
};
use bailiwick_domain::OrgId;
use bailiwick_outbound::{RouterClient, router_client::Health};
use bailiwick_platform::write_check;
use uuid::Uuid;

/// The place of alerts and silences.
#[derive(Clone, Debug)]
pub enum AlertRouter {
    /// In the service's own database.
    Embedded,
    /// At a remote router.
    Remote(Box<RouterClient>),
}

impl AlertRouter {
    /// The client of a remote router; none for the embedded one.
    pub(crate) fn remote(&self) -> Option<&RouterClient> {
        match self {
            AlertRouter::Embedded => None,
            AlertRouter::Remote(client) => Some(client),
        }
    }

    /// Whether alerts are in the service's own database.
    pub(crate) const fn is_embedded(&self) -> bool {
        matches!(self, AlertRouter::Embedded)
    }

    /// The state of a remote router; none for the embedded one.
    pub(crate) fn health(&self) -> Option<Health> {
        self.remote().map(RouterClient::health)
    }

    /// The router for one worker: connections to a remote one belong to the runtime that uses them.
    pub(crate) fn for_worker(&self) -> AlertRouter {
        match self {
            AlertRouter::Embedded => AlertRouter::Embedded,
            // The same settings have made a client before.
            AlertRouter::Remote(client) => {
                let own = client.with_own_connections().unwrap_or_else(|_| RouterClient::clone(client));
                AlertRouter::Remote(Box::new(own))
            }
        }
    }

    /// Whether the router can take requests.
    pub async fn is_ready(&self, service: &Alerts) -> bool {
        match self {
            AlertRouter::Embedded => write_check::check(&service.platform).await.is_ok(),
            AlertRouter::Remote(client) => client.is_ready().await,
        }
    }

    pub(crate) async fn push(
        &self,
        service: &Alerts,
        who: &Sender<'_>,
        now: Nanos,
        alerts: Vec<PostedAlert>,
    ) -> Result<(), Fault> {
        match self {
            AlertRouter::Embedded => embedded::push(service, who, now, alerts).await,
            AlertRouter::Remote(client) => remote::push(service, client, who, now, alerts).await,
        }
    }

    /// Posts alerts that the service raises itself; the positions of those that were not taken.
    pub(crate) async fn raise(
        &self,
        service: &Alerts,
        tenant: OrgId,
        alerts: Vec<ServiceAlert>,
    ) -> Result<Vec<usize>, Fault> {
        let now = Nanos::from_ts(service.platform.now());
        match self {
            AlertRouter::Embedded => embedded::raise(service, tenant, now, alerts).await,
            AlertRouter::Remote(client) => service_alerts::post(service, client, tenant, now, alerts).await,
        }
    }

    /// The alerts of the system, and the silences that the query needs.
    pub(crate) async fn alerts(
        &self,
        service: &Alerts,
        who: &Sender<'_>,
        query: &AlertsQuery,
    ) -> Result<(Vec<ListedAlert>, Vec<ListedSilence>), Fault> {
        match self {
            AlertRouter::Embedded => embedded::alerts(service, who).await,
            AlertRouter::Remote(client) => remote::alerts(service, client, who, query).await,
        }
    }

    pub(crate) async fn silences(
        &self,
        service: &Alerts,
        who: &Sender<'_>,
        query: &SilencesQuery,
    ) -> Result<Vec<ListedSilence>, Fault> {
        match self {
            AlertRouter::Embedded => embedded::silences(service, who).await,
            AlertRouter::Remote(client) => remote::silences(client, who, &query.upstream(who.key())).await,
        }
    }

    /// One silence of the tenant, of whichever system.
    pub(crate) async fn silence(
        &self,
        service: &Alerts,
        who: &Sender<'_>,
        id: Uuid,
    ) -> Result<Option<ListedSilence>, Fault> {
        match self {
            AlertRouter::Embedded => embedded::silence(service, who, id).await,
            AlertRouter::Remote(client) => remote::silence(client, who, id).await,
        }
    }

    pub(crate) async fn set_silence(
        &self,
        service: &Alerts,
        who: &Sender<'_>,
        now: Nanos,
        posted: PostedSilence,
    ) -> Result<Uuid, Fault> {
        match self {
            AlertRouter::Embedded => embedded::set_silence(service, who, now, posted).await,
            AlertRouter::Remote(client) => remote::set_silence(service, client, who, &posted).await,
        }
    }

    pub(crate) async fn expire_silence(
        &self,
        service: &Alerts,
        who: &Sender<'_>,
        id: Uuid,
    ) -> Result<bool, Fault> {
        match self {
            AlertRouter::Embedded => embedded::expire_silence(service, who, id).await,
            AlertRouter::Remote(client) => remote::expire_silence(service, client, who, id).await,
        }
    }
}
