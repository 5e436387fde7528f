//! The client of a remote alert router: Mimir, Cortex, or one plain Prometheus Alertmanager (spec:
//! alert-router#remote).
//!
//! It makes only the requests listed here. Each carries the tenant exactly once and nothing of the original client's
//! request; the caller rebuilds bodies and queries. Answers are read whole, up to 16 MiB, and checked here.

mod breaker;
mod error;
mod health;
mod push_coalescing;
mod tenant_share;
mod wire;

use crate::traces::traceparent;
use bailiwick_alertmanager::answer::passable_refusal;
use bailiwick_domain::{Clock, Ts};
use breaker::Breaker;
use bytes::Bytes;
pub use error::RouterError;
pub use health::Health;
use health::Meters;
use http::{Method, StatusCode, Uri};
use push_coalescing::Pushing;
use std::{fmt, sync::Arc, time::Duration};
use tenant_share::Shares;
use tokio::{
    sync::{Mutex, Semaphore},
    time::{Instant, sleep, timeout},
};
use tracing::{Instrument, field::Empty};
use uuid::Uuid;
use wire::{Outgoing, Pool, Targets, WholeAnswer, WireFault, with_query};

/// Largest answer that is read (spec: alerts#answers).
pub const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// More tries after the first, and the pause before each (spec: alert-router#remote-rules).
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];
/// No further try is started later than this after the first.
const LAST_TRY: Duration = Duration::from_secs(10);
/// How long a positive readiness answer is cached (spec: alerts#neutral-answers).
const READY_FOR: Duration = Duration::from_secs(15);
/// How long a negative one is cached, so that probes cannot flood a router that starts.
const NOT_READY_FOR: Duration = Duration::from_secs(1);
/// Time for the readiness question.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

/// The kind of router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouterKind {
    /// Grafana Mimir.
    Mimir,
    Cortex,
    /// A single-tenant Prometheus Alertmanager.
    Plain,
}

impl RouterKind {
    fn ready_path(self, prefix: &str) -> String {
        match self {
            RouterKind::Mimir | RouterKind::Cortex => "/ready".to_owned(),
            RouterKind::Plain => format!("{}/-/ready", prefix.trim_end_matches('/')),
        }
    }
}

/// The address of the router and the limits of its use.
#[derive(Clone, Debug)]
pub struct RouterConfig {
    /// Base address without trailing slash.
    pub url: String,
    /// Path before `/api/v2`, with leading slash or empty.
    pub prefix: String,
    /// The kind of router.
    pub kind: RouterKind,
    /// Requests in flight; further ones are refused. One tenant may have a quarter of them, and always eight.
    pub in_flight: usize,
    /// Pushes of one tenant that may share a request; 1 = each by itself.
    pub pushes_together: usize,
    /// Time for a GET or DELETE, all tries together.
    pub read_timeout: Duration,
    /// Time for a POST, all tries together.
    pub write_timeout: Duration,
}

/// The system or service that a request is made for.
#[derive(Clone, Copy, Debug)]
pub struct TenantRequest<'a> {
    /// The tenant: the organization of the calling system.
    pub tenant: &'a str,
    /// `X-Request-Id`.
    pub request_id: &'a str,
}

/// The client. Clones share their connections; see [`RouterClient::with_own_connections`].
#[derive(Clone)]
pub struct RouterClient {
    pool: Pool,
    pushing: Arc<Pushing>,
    shared: Arc<Shared>,
    /// Nothing is asked or waited for after that.
    until: Option<Instant>,
}

struct Shared {
    config: RouterConfig,
    targets: Targets,
    breaker: Breaker,
    in_flight: Semaphore,
    shares: Shares,
    clock: Arc<dyn Clock>,
    meters: Meters,
    /// When the router was last asked for its readiness, the answer, and when it was last ready.
    readiness: Mutex<Readiness>,
}

#[derive(Clone, Copy, Default)]
struct Readiness {
    last_check: Option<(Ts, bool)>,
}

impl fmt::Debug for RouterClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterClient").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

/// When a failed try may be repeated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    /// Retried after every fault and 5xx: arriving twice has no further effect.
    Always,
    /// Only if no byte was sent.
    IfNotSent,
}

impl RouterClient {
    /// A client; connects when it is first used.
    ///
    /// # Errors
    /// [`RouterError::Config`] when the address is none, or the system's root certificates cannot be read.
    pub fn new(config: RouterConfig, clock: Arc<dyn Clock>) -> Result<RouterClient, RouterError> {
        let pool = Pool::new(&config)?;
        let shared = Shared {
            targets: Targets::new(&config)?,
            breaker: Breaker::new(clock.clone()),
            in_flight: Semaphore::new(config.in_flight.clamp(1, Semaphore::MAX_PERMITS)),
            shares: Shares::new(config.in_flight),
            readiness: Mutex::default(),
            meters: Meters::default(),
            clock,
            config,
        };
        Ok(RouterClient { pool, pushing: Arc::default(), shared: Arc::new(shared), until: None })
    }

    /// A client for another runtime: it has its own connections and shares limits and breaker with this one.
    ///
    /// # Errors
    /// As [`RouterClient::new`].
    pub fn with_own_connections(&self) -> Result<RouterClient, RouterError> {
        let pool = Pool::new(&self.shared.config)?;
        Ok(RouterClient { pool, pushing: Arc::default(), shared: self.shared.clone(), until: None })
    }

    /// A client whose requests have a common time limit (spec: alerts#limits).
    #[must_use]
    pub fn within(&self, time: Duration) -> RouterClient {
        let until = Instant::now() + time;
        RouterClient { until: Some(self.until.map_or(until, |before| before.min(until))), ..self.clone() }
    }

    /// The body of the list of alerts; `query` without `?`, rebuilt and encoded.
    pub async fn list_alerts(&self, request: TenantRequest<'_>, query: &str) -> Result<Bytes, RouterError> {
        let uri = with_query(&self.shared.targets.alerts, query)?;
        expect_ok(self.read(Method::GET, uri, request).await?)
    }

    /// Pushes alerts in a request of their own; `body` is the output of `bailiwick_alertmanager::alert::write_alerts`.
    pub async fn put_alerts(&self, request: TenantRequest<'_>, body: Bytes) -> Result<(), RouterError> {
        self.put_alerts_until(request, body, Instant::now() + self.shared.config.write_timeout).await
    }

    /// The body of the list of silences.
    pub async fn list_silences(&self, request: TenantRequest<'_>, query: &str) -> Result<Bytes, RouterError> {
        let uri = with_query(&self.shared.targets.silences, query)?;
        expect_ok(self.read(Method::GET, uri, request).await?)
    }

    /// One silence; `None` when there is none with this id.
    pub async fn silence(&self, request: TenantRequest<'_>, id: Uuid) -> Result<Option<Bytes>, RouterError> {
        let answered = self.read(Method::GET, self.shared.targets.silence(id)?, request).await?;
        if is_unknown_silence(&answered) { Ok(None) } else { expect_ok(answered).map(Some) }
    }

    /// Creates or updates a silence; returns the body of the answer.
    pub async fn set_silence(&self, request: TenantRequest<'_>, body: Bytes) -> Result<Bytes, RouterError> {
        let uri = self.shared.targets.silences.clone();
        let limit = self.shared.config.write_timeout;
        self.write(uri, request, body, Repeat::IfNotSent, limit).await
    }

    /// Expires a silence; false when there is none with this id.
    pub async fn expire_silence(&self, request: TenantRequest<'_>, id: Uuid) -> Result<bool, RouterError> {
        let answered = self.read(Method::DELETE, self.shared.targets.silence(id)?, request).await?;
        if is_unknown_silence(&answered) {
            return Ok(false);
        }
        expect_ok(answered).map(|_| true)
    }

    /// Uploads a tenant's configuration, as `bailiwick_alertmanager::config::Upload` writes it.
    ///
    /// # Errors
    /// [`RouterError::Rejected`] when the router refuses it.
    pub async fn put_configuration(
        &self,
        request: TenantRequest<'_>,
        body: Bytes,
    ) -> Result<(), RouterError> {
        let uri = self.shared.targets.configuration.clone();
        let outgoing = Outgoing { is_yaml: true, ..self.outgoing(Method::POST, uri, request, body) };
        let answered = self.send(outgoing, Repeat::Always, self.shared.config.write_timeout).await?;
        match answered.status.as_u16() {
            200..=299 => Ok(()),
            400 => Err(RouterError::Rejected(describe(&answered))),
            _ => Err(RouterError::Unavailable(describe(&answered))),
        }
    }

    /// A tenant's configuration as the router writes it; `None` when it has none.
    pub async fn configuration(&self, request: TenantRequest<'_>) -> Result<Option<Bytes>, RouterError> {
        let answered = self.read(Method::GET, self.shared.targets.configuration.clone(), request).await?;
        if answered.status == StatusCode::NOT_FOUND { Ok(None) } else { expect_ok(answered).map(Some) }
    }

    /// Deletes a tenant's configuration; a missing one counts as deleted.
    ///
    /// # Errors
    /// When it may still exist.
    pub async fn delete_configuration(&self, request: TenantRequest<'_>) -> Result<(), RouterError> {
        let answered = self.read(Method::DELETE, self.shared.targets.configuration.clone(), request).await?;
        match answered.status.as_u16() {
            200..=299 | 404 => Ok(()),
            _ => Err(RouterError::Unavailable(describe(&answered))),
        }
    }

    /// Whether the router was ready within the last 15 s; asks it if that is unknown.
    pub async fn is_ready(&self) -> bool {
        let mut readiness = self.shared.readiness.lock().await;
        let now = self.shared.clock.now();
        if let Some((at, was_ready)) = readiness.last_check {
            let counts = if was_ready { READY_FOR } else { NOT_READY_FOR };
            if now >= at && now.since(at) < counts {
                return was_ready;
            }
        }
        let outgoing = Outgoing {
            method: Method::GET,
            uri: self.shared.targets.ready.clone(),
            tenant: "",
            request_id: "",
            traceparent: None,
            is_yaml: false,
            body: Bytes::new(),
        };
        let answered = timeout(READY_TIMEOUT, self.pool.exchange(&outgoing)).await;
        let is_ready = matches!(answered, Ok(Ok(WholeAnswer { status: StatusCode::OK, .. })));
        readiness.last_check = Some((now, is_ready));
        is_ready
    }

    async fn read(
        &self,
        method: Method,
        uri: Uri,
        request: TenantRequest<'_>,
    ) -> Result<WholeAnswer, RouterError> {
        let outgoing = self.outgoing(method, uri, request, Bytes::new());
        self.send(outgoing, Repeat::Always, self.shared.config.read_timeout).await
    }

    async fn write(
        &self,
        uri: Uri,
        request: TenantRequest<'_>,
        body: Bytes,
        repeat: Repeat,
        limit: Duration,
    ) -> Result<Bytes, RouterError> {
        let outgoing = self.outgoing(Method::POST, uri, request, body);
        let answered = self.send(outgoing, repeat, limit).await?;
        match passable_refusal(answered.status.as_u16(), &answered.body) {
            Some(reject) => Err(RouterError::Refused(reject)),
            None => expect_ok(answered),
        }
    }

    fn outgoing<'a>(
        &self,
        method: Method,
        uri: Uri,
        request: TenantRequest<'a>,
        body: Bytes,
    ) -> Outgoing<'a> {
        let TenantRequest { tenant, request_id } = request;
        Outgoing { method, uri, tenant, request_id, traceparent: None, is_yaml: false, body }
    }

    /// One request, counted.
    async fn send(
        &self,
        mut outgoing: Outgoing<'_>,
        repeat: Repeat,
        limit: Duration,
    ) -> Result<WholeAnswer, RouterError> {
        let began = Instant::now();
        let limit = self.until.map_or(limit, |until| limit.min(until.saturating_duration_since(began)));
        if limit.is_zero() {
            // The time limit was reached before the router was asked.
            return Err(RouterError::TimedOut);
        }
        let span = tracing::trace_span!(
            "call",
            call = "alert router",
            method = outgoing.method.as_str(),
            http.response.status_code = Empty,
            error.type = Empty,
        );
        outgoing.traceparent = traceparent(&span);
        let answered = self.ask(&outgoing, repeat, limit).instrument(span.clone()).await;
        match &answered {
            Ok(answered) => span.record("http.response.status_code", answered.status.as_u16()),
            Err(error) => span.record("error.type", error.word()),
        };
        self.shared.meters.note(answered.as_ref().err(), began.elapsed());
        answered
    }

    /// One request with its tries, within the limits of concurrency and time, behind the breaker.
    async fn ask(
        &self,
        outgoing: &Outgoing<'_>,
        repeat: Repeat,
        limit: Duration,
    ) -> Result<WholeAnswer, RouterError> {
        let Ok(_permit) = self.shared.in_flight.try_acquire() else {
            return Err(RouterError::NotReady("too many requests in flight".to_owned()));
        };
        let Some(_share) = self.shared.shares.take(outgoing.tenant) else {
            return Err(RouterError::NotReady("too many requests of one tenant in flight".to_owned()));
        };
        let Some(pass) = self.shared.breaker.admit() else {
            return Err(RouterError::NotReady("not asked after too many faults".to_owned()));
        };
        match timeout(limit, self.tries(outgoing, repeat)).await {
            Ok(Ok(answered)) if is_unknown_tenant(&answered) => {
                pass.succeeded();
                Err(RouterError::UnknownTenant)
            }
            Ok(Ok(answered)) => match server_fault(&answered) {
                Some(error) => {
                    pass.failed();
                    Err(error)
                }
                None => {
                    pass.succeeded();
                    Ok(answered)
                }
            },
            Ok(Err(WireFault::NotSent(log) | WireFault::Broken(log))) => {
                pass.failed();
                let authority = outgoing.uri.authority().map_or("", |authority| authority.as_str());
                Err(RouterError::Unavailable(format!("{authority}: {log}")))
            }
            Ok(Err(WireFault::TooLarge)) => {
                // The router works; the limit of one tenant must not open the breaker for all.
                pass.succeeded();
                Err(RouterError::Unavailable(format!("an answer of more than {ANSWER_BYTES} bytes")))
            }
            Err(_) => {
                pass.failed();
                Err(RouterError::TimedOut)
            }
        }
    }

    async fn tries(&self, outgoing: &Outgoing<'_>, repeat: Repeat) -> Result<WholeAnswer, WireFault> {
        let began = Instant::now();
        let mut result = self.pool.exchange(outgoing).await;
        for pause in PAUSES {
            if !may_repeat(&result, repeat) || began.elapsed() + pause > LAST_TRY {
                break;
            }
            sleep(pause).await;
            result = self.pool.exchange(outgoing).await;
        }
        result
    }
}

fn may_repeat(result: &Result<WholeAnswer, WireFault>, repeat: Repeat) -> bool {
    match result {
        Err(WireFault::NotSent(_)) => true,
        Err(WireFault::TooLarge) => false,
        Err(WireFault::Broken(_)) => repeat == Repeat::Always,
        Ok(answered) => {
            repeat == Repeat::Always && answered.status.is_server_error() && !is_unknown_tenant(answered)
        }
    }
}

fn starts_with(body: &[u8], text: &str) -> bool {
    body.trim_ascii_start().starts_with(text.as_bytes())
}

/// The signs of spec: alerts#waiting-tenants.
fn is_unknown_tenant(answered: &WholeAnswer) -> bool {
    match answered.status.as_u16() {
        404 => starts_with(&answered.body, "the Alertmanager is not configured"),
        406 | 412 => true,
        500 => starts_with(&answered.body, "Failed to initialize the Alertmanager"),
        503 => starts_with(&answered.body, "Alertmanager not ready"),
        _ => false,
    }
}

/// An empty 404; a 404 with a text means something else (spec: alert-router#remote-rules).
fn is_unknown_silence(answered: &WholeAnswer) -> bool {
    answered.status == StatusCode::NOT_FOUND && answered.body.trim_ascii().is_empty()
}

fn server_fault(answered: &WholeAnswer) -> Option<RouterError> {
    match answered.status.as_u16() {
        503 => Some(RouterError::NotReady(describe(answered))),
        504 => Some(RouterError::TimedOut),
        500.. => Some(RouterError::Unavailable(describe(answered))),
        _ => None,
    }
}

fn expect_ok(answered: WholeAnswer) -> Result<Bytes, RouterError> {
    if answered.status == StatusCode::OK {
        Ok(answered.body)
    } else {
        Err(RouterError::Unavailable(describe(&answered)))
    }
}

/// For the log: status and the beginning of the text.
fn describe(answered: &WholeAnswer) -> String {
    let beginning = &answered.body[..answered.body.len().min(300)];
    format!("{}: {}", answered.status.as_u16(), String::from_utf8_lossy(beginning).trim_end())
}
