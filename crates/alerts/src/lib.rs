//! Alerts: the embedded and the remote router, the interfaces of systems and of people, configuration, notifications
//! and alert history.
//!
//! This file is the alert interface of systems: which system asks, what it may see and change, and which router stores
//! it (spec: alerts#system-interface).
//!
//! One [`AlertRouter`] serves every operation: [`embedded`] keeps alerts and silences in the database, [`remote`] asks
//! a separate router. Both use the rules and the filters of the `alertmanager` crate, so both answer alike. To add an
//! operation, write a function here and one in each of the two.

mod active_alert_limit;
pub mod config;
mod embedded;
mod expression_budget;
mod fault;
mod history;
mod judging;
pub mod liveness_monitor;
mod maintenance;
pub mod manage;
pub mod notify;
mod outage_detector;
mod push_queue;
mod remote;
mod request_limit;
mod router;
mod service_alerts;
mod time_zone;
pub mod transfer_cleanup;
mod transferred_alerts;

pub use fault::Fault;
pub use history::{
    deferred::is_written as is_history_written, deferred::waiting as history_waiting,
    expiry::EXPIRY as HISTORY_EXPIRY, expiry::sweep as sweep_history, webhook as history_webhook,
};
pub use maintenance::{deliver_queued, note_alive, purge_ended, start_workers};
pub use outage_detector::INTERVAL as SIGN_INTERVAL;
pub use push_queue::LONGEST as LONGEST_HELD;
pub use request_limit::RequestLimit;
pub use router::AlertRouter;
pub use service_alerts::raise;
pub use time_zone::zone_named;

use bailiwick_alertmanager::{
    AlertsQuery, Batch as ParsedBatch, Intake, Limits, ListedAlert, ListedSilence, Nanos, PostedAlert,
    SenderLabels, SilenceIntake, SilencesQuery,
    active_silence::Expressions,
    listing::{Viewer, select_alerts, select_silences},
    parse_alerts, parse_silence,
};
use bailiwick_directory::Directory;
use bailiwick_domain::{Clock, Error, OrgId, Result as DomainResult, UserId};
use bailiwick_events::Events;
use bailiwick_fleet::Fleet;
use bailiwick_identity::{api_keys::silence_ends, credentials::SystemIdentity};
use bailiwick_outbound::{RouterClient, RouterConfig, router_client};
use bailiwick_platform::{
    Platform,
    limits::{FairSemaphore, KeyedLimit},
    shared_read::SharedReads,
};
use bailiwick_settings::{Router, Settings};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::sync::Semaphore;
use uuid::Uuid;

/// How many requests of people may be in flight to a remote router, and how many of these are reserved for requests
/// about one tenant.
const FOR_PEOPLE: usize = 64;
const SPARED: usize = 16;
/// Statistics over the history that are computed concurrently.
const STATISTICS: usize = 2;
/// Whole lists for tools of people that are read concurrently.
const WHOLE_LISTS: usize = 2;

/// The alert router and what belongs to it. Cloning it is cheap.
#[derive(Clone)]
pub struct Alerts(Arc<Parts>);

bailiwick_platform::service!(Alerts, Parts);

/// The parts of [`Alerts`].
pub struct Parts {
    /// Database, clock, keys and limits.
    pub platform: Platform,
    /// Settings of all services.
    pub settings: Arc<Settings>,
    /// Events and mail.
    pub events: Events,
    /// Sign-in and credentials.
    pub identity: bailiwick_identity::Identity,
    /// Organizations and users.
    pub directory: Directory,
    /// Systems.
    pub fleet: Fleet,
    /// The alert router, its limits and its caches.
    pub state: AlertState,
}

impl Alerts {
    /// Puts the parts together. It reads nothing and starts nothing.
    ///
    /// # Errors
    /// A router address that cannot be used.
    pub fn new(fleet: Fleet) -> DomainResult<Alerts> {
        let state = AlertState::new(&fleet.settings, &fleet.platform.clock)?;
        Ok(Alerts(Arc::new(Parts {
            platform: fleet.platform.clone(),
            settings: fleet.settings.clone(),
            events: fleet.events.clone(),
            identity: fleet.identity.clone(),
            directory: fleet.directory.clone(),
            fleet,
            state,
        })))
    }
}

/// The state the service keeps for alerts between requests.
#[derive(Debug)]
pub struct AlertState {
    router: AlertRouter,
    /// The router for requests of people. Its limits and its faults are its own, so people never block systems.
    for_people: AlertRouter,
    /// Tenants that all lists for people together may ask concurrently.
    remote_reads: Semaphore,
    /// The organizations whose statistics are being computed; each computation reads all rows of its scope.
    statistics: FairSemaphore,
    /// The organizations whose people's tools are reading whole lists; each list may take tens of megabytes.
    whole_lists: FairSemaphore,
    /// Limits of each system.
    pub throttle: RequestLimit,
    /// Sizes that can be judged without storage.
    pub limits: Limits,
    /// Group commit of pushes to the embedded router; started by the first push.
    pushes: OnceLock<embedded::Pushes>,
    outage: outage_detector::KnownOutage,
    queued_tenants: push_queue::QueuedTenants,
    dropped: push_queue::Dropped,
    /// The active alerts at a remote router.
    active_alert_limit: active_alert_limit::ActiveAlertLimit,
    /// Pushes the configurations of tenants to a remote router.
    provisioning: config::provision::Provisioning,
    /// Writes the alert history after the answer; started by the first push to a remote router.
    history_writer: history::deferred::Writer,
    /// Applies silences and filters to alerts.
    judging: judging::Judging,
    /// Sends the notifications of the embedded router.
    delivery: notify::Delivery,
    /// What needs attention, by scope.
    attention: SharedReads<manage::Attention>,
    /// Limit of test messages by person.
    pub test_messages: KeyedLimit<UserId>,
}

impl AlertState {
    /// From the settings.
    ///
    /// # Errors
    /// A router address that cannot be used.
    pub fn new(settings: &Settings, clock: &Arc<dyn Clock>) -> DomainResult<AlertState> {
        let (alerting, limits) = (&settings.alerting, &settings.alerting.limits);
        let (mut provisioning, mut for_people) = (None, AlertRouter::Embedded);
        let router = match &alerting.router {
            Router::Embedded => AlertRouter::Embedded,
            Router::Remote(remote) => {
                let config = RouterConfig {
                    url: remote.url.clone(),
                    prefix: remote.prefix.clone(),
                    kind: remote.kind,
                    in_flight: limits.in_flight,
                    pushes_together: limits.pushes_together,
                    read_timeout: limits.read_timeout,
                    write_timeout: limits.write_timeout,
                };
                let client = RouterClient::new(config.clone(), clock.clone()).map_err(Error::internal)?;
                let people = RouterConfig { in_flight: limits.in_flight.min(FOR_PEOPLE), ..config.clone() };
                let people = RouterClient::new(people, clock.clone()).map_err(Error::internal)?;
                for_people = AlertRouter::Remote(Box::new(people));
                provisioning = Some(RouterClient::new(config, clock.clone()).map_err(Error::internal)?);
                AlertRouter::Remote(Box::new(client))
            }
        };
        let (rate, burst) = (limits.requests_per_second, limits.request_burst);
        Ok(AlertState {
            router,
            for_people,
            remote_reads: Semaphore::new(limits.in_flight.min(FOR_PEOPLE).saturating_sub(SPARED).max(1)),
            statistics: FairSemaphore::new(STATISTICS),
            whole_lists: FairSemaphore::new(WHOLE_LISTS),
            throttle: RequestLimit::new(
                clock.clone(),
                rate,
                (burst, silence_ends(burst, limits.silences_per_system)),
                limits.in_flight_per_system,
            ),
            limits: limits.content.clone(),
            pushes: OnceLock::new(),
            outage: outage_detector::KnownOutage::default(),
            queued_tenants: push_queue::QueuedTenants::default(),
            dropped: push_queue::Dropped::default(),
            active_alert_limit: active_alert_limit::ActiveAlertLimit::default(),
            provisioning: config::provision::Provisioning::new(provisioning),
            history_writer: history::deferred::Writer::default(),
            judging: judging::Judging::default(),
            delivery: notify::Delivery::default(),
            attention: SharedReads::default(),
            test_messages: KeyedLimit::per_minute(clock.clone(), notify::TESTS_A_MINUTE),
        })
    }

    /// Whether alerts are in the service's own database.
    pub const fn is_embedded(&self) -> bool {
        self.router.is_embedded()
    }

    /// The router for requests of people. Its connections live with the runtime that opened them; when that runtime
    /// ends, a request from another one is retried like any broken request.
    pub(crate) const fn for_people(&self) -> &AlertRouter {
        &self.for_people
    }

    /// The health of a remote router, for each of its clients by name; none for the embedded one.
    pub fn router_health(&self) -> Vec<(&'static str, router_client::Health)> {
        let health = |name, router: &AlertRouter| router.health().map(|health| (name, health));
        let proxy = health("requests", &self.router).into_iter().chain(health("people", &self.for_people));
        let configurations = self.provisioning.client().map(|client| ("configurations", client.health()));
        proxy.chain(configurations).collect()
    }

    /// Numbers of alerts that were queued for a remote router and dropped, by reason, since the process began.
    pub fn dropped(&self) -> [(&'static str, u64); 2] {
        [("refused", self.dropped.refused.get()), ("expired", self.dropped.expired.get())]
    }

    /// Takes one of the organization's places for statistics, as a large request would.
    ///
    /// # Errors
    /// 503 while all are taken.
    #[doc(hidden)]
    pub async fn hold_statistics(&self, organization: OrgId) -> DomainResult<impl Sized + use<>> {
        self.statistics.acquire(organization, Duration::ZERO, "taken").await
    }

    /// The router for one worker: connections to a remote one belong to the runtime that uses them.
    pub fn router_for_worker(&self) -> AlertRouter {
        self.router.for_worker()
    }
}

/// An alert that the service raises itself, and the key of the system it is about.
pub type ServiceAlert = (String, PostedAlert);

/// The calling system, for the time of one request.
#[derive(Debug)]
pub struct Sender<'a> {
    /// Stable labels and display values.
    pub identity: SenderLabels,
    /// The tenant: the system's organization at this moment.
    pub tenant: OrgId,
    /// `X-Request-Id`.
    pub request_id: &'a str,
}

impl Sender<'_> {
    /// From an authenticated system.
    pub fn new<'a>(system: &SystemIdentity, request_id: &'a str) -> Sender<'a> {
        let organization = &system.organization;
        Sender {
            identity: SenderLabels {
                system_key: system.system_key.clone(),
                system_id: system.id.to_string(),
                organization_id: organization.id.to_string(),
                system_name: system.name.clone(),
                system_type: system.system_type.clone().unwrap_or_default(),
                system_fqdn: system.fqdn.clone(),
                system_ipv4: system.ipv4_address.clone(),
                organization_name: organization.name.clone(),
                organization_type: organization.org_type.as_str().to_owned(),
                organization_vat: system.organization_vat.clone().unwrap_or_default(),
            },
            tenant: organization.id,
            request_id,
        }
    }

    fn key(&self) -> &str {
        &self.identity.system_key
    }

    fn viewer(&self) -> Viewer<'_> {
        Viewer::System {
            system_key: &self.identity.system_key,
            organization_id: &self.identity.organization_id,
        }
    }

    fn request(&self) -> router_client::TenantRequest<'_> {
        router_client::TenantRequest { tenant: &self.identity.organization_id, request_id: self.request_id }
    }
}

/// Stores a push: all valid alerts, even if others are refused.
pub async fn push_alerts(
    service: &Alerts,
    router: &AlertRouter,
    who: &Sender<'_>,
    body: &[u8],
) -> Result<(), Fault> {
    let now = Nanos::from_ts(service.platform.now());
    let state = &service.state;
    let mut batch = parse_alerts(
        body,
        &Intake {
            identity: Some(&who.identity),
            now,
            resolve_timeout: service.settings.alerting.resolve_timeout,
            limits: &state.limits,
        },
    )?;
    let alerts = std::mem::take(&mut batch.alerts);
    let stored = if alerts.is_empty() { Ok(()) } else { router.push(service, who, now, alerts).await };
    refused_first(&batch, stored)
}

/// A problem of the request takes precedence over a limit, but not over a fault that calls for a retry.
fn refused_first(batch: &ParsedBatch, stored: Result<(), Fault>) -> Result<(), Fault> {
    match (batch.refusal(), stored) {
        (Some(reject), Ok(()) | Err(Fault::AlertLimit | Fault::Rejected(_))) => Err(reject.into()),
        (_, stored) => stored,
    }
}

/// The system's own alerts that the query selects, by fingerprint.
pub async fn list_alerts(
    service: &Alerts,
    router: &AlertRouter,
    who: &Sender<'_>,
    query: &AlertsQuery,
) -> Result<Vec<ListedAlert>, Fault> {
    let read = router.alerts(service, who, query).await;
    let (alerts, silences) = match read {
        Err(Fault::UnknownTenant) => {
            config::provision::lost(service, who.tenant).await;
            return Ok(Vec::new());
        }
        read => read?,
    };
    if !query.has_expressions() {
        return Ok(select_alerts(alerts, &silences, query, &who.viewer()));
    }
    let (query, system_key, organization_id) =
        (query.clone(), who.key().to_owned(), who.identity.organization_id.clone());
    let select = move |_: &Expressions| {
        let viewer = Viewer::System { system_key: &system_key, organization_id: &organization_id };
        select_alerts(alerts, &silences, &query, &viewer)
    };
    Ok(judging::by_system(service, who.tenant, select).await?)
}

/// The system's own silences that the query selects, in order.
pub async fn list_silences(
    service: &Alerts,
    router: &AlertRouter,
    who: &Sender<'_>,
    query: &SilencesQuery,
) -> Result<Vec<ListedSilence>, Fault> {
    let read = router.silences(service, who, query).await;
    match read {
        Err(Fault::UnknownTenant) => {
            config::provision::lost(service, who.tenant).await;
            Ok(Vec::new())
        }
        read => Ok(select_silences(read?, query, &who.viewer())),
    }
}

/// One silence; `None` if it does not exist or belongs to another system.
pub async fn silence(
    service: &Alerts,
    router: &AlertRouter,
    who: &Sender<'_>,
    id: Uuid,
) -> Result<Option<ListedSilence>, Fault> {
    let read = router.silence(service, who, id).await;
    match read {
        Err(Fault::UnknownTenant) => {
            config::provision::lost(service, who.tenant).await;
            Ok(None)
        }
        read => Ok(read?.filter(|s| s.id == id && who.viewer().sees_silence(&s.matchers))),
    }
}

/// Creates or updates a silence of the calling system; returns its id, which may be a new one.
pub async fn set_silence(
    service: &Alerts,
    router: &AlertRouter,
    who: &Sender<'_>,
    body: &[u8],
) -> Result<Uuid, Fault> {
    let now = Nanos::from_ts(service.platform.now());
    let intake = SilenceIntake { identity: Some(&who.identity), now, limits: &service.state.limits };
    let posted = parse_silence(body, &intake)?;
    router.set_silence(service, who, now, posted).await
}

/// Expires a silence of the own system; false when there is none. One that is over already stays as it is.
pub async fn expire_silence(
    service: &Alerts,
    router: &AlertRouter,
    who: &Sender<'_>,
    id: Uuid,
) -> Result<bool, Fault> {
    let expired = router.expire_silence(service, who, id).await;
    match expired {
        Err(Fault::UnknownTenant) => {
            config::provision::lost(service, who.tenant).await;
            Ok(false)
        }
        expired => expired,
    }
}
