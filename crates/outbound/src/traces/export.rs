//! Spans on their way to the collector.

use super::{
    FLUSH, Meters, TraceConfig,
    span::{AttributeValue, Span, attribute},
};
use crate::issuer::{
    IssuerError, Times,
    exchange::{self, About, Connections},
};
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// Most spans of one request.
const BATCH: usize = 512;
/// How long the first span of a batch waits for others.
const GATHER: Duration = Duration::from_secs(1);
/// Time for one request.
const TIME: Duration = Duration::from_secs(5);
/// Tries for one batch; then it is dropped.
const TRIES: u32 = 3;
/// Pause after a first failure; it doubles, up to [`LONGEST_PAUSE`], until the collector accepts spans.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Bytes that are read of an answer.
const ANSWER_BYTES: usize = 64 * 1024;
/// How often the log reports that the collector does not accept spans.
const WARN_EVERY: Duration = Duration::from_secs(60);

pub(super) struct Exporter {
    connections: Connections,
    url: String,
    authorization: Option<HeaderValue>,
    resource: Value,
    waiting: mpsc::Receiver<Span>,
    meters: Arc<Meters>,
    stop: CancellationToken,
    /// Failures since the last success.
    failures: u32,
    warned_at: Option<Instant>,
}

/// The outcome of a try.
enum Tried {
    /// Taken, but for so many.
    Taken(u64),
    /// Not now.
    Later(String),
    /// Not at any time.
    Never(String),
}

impl Exporter {
    pub(super) fn new(
        config: &TraceConfig,
        waiting: mpsc::Receiver<Span>,
        meters: Arc<Meters>,
        stop: CancellationToken,
    ) -> Result<Exporter, String> {
        let url = format!("{}/v1/traces", config.endpoint);
        let unusable = |e: &dyn std::fmt::Display| format!("telemetry.otlp_endpoint cannot be used: {e}");
        exchange::request(Method::POST, &url, Bytes::new()).map_err(|e| unusable(&e))?;
        let authorization = config.authorization.as_deref().map(exchange::secret_value).transpose();
        let named = |key: &str, text: &str| attribute(key, &AttributeValue::Text(text.to_owned()));
        Ok(Exporter {
            connections: Connections::new(Times { head: TIME, total: TIME })?,
            url,
            authorization: authorization.map_err(|_| "telemetry.otlp_authorization fits no header")?,
            resource: json!({ "attributes": [
                named("service.name", &config.service),
                named("service.version", env!("CARGO_PKG_VERSION")),
            ] }),
            waiting,
            meters,
            stop,
            failures: 0,
            warned_at: None,
        })
    }

    /// Runs until it is stopped, and then until the queue is empty or [`FLUSH`] is over.
    pub(super) async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        let stop = self.stop.clone();
        while self.gather(&mut batch).await {
            let sent = stop.run_until_cancelled(self.send(&batch)).await;
            if sent.is_none() {
                break;
            }
            batch.clear();
        }
        let until = Instant::now() + FLUSH;
        self.waiting.close();
        loop {
            if timeout_at(until, self.send_once(&batch)).await != Ok(true) {
                self.meters.dropped.add(batch.len() as u64 + self.waiting.len() as u64);
                return;
            }
            batch.clear();
            while batch.len() < BATCH
                && let Ok(span) = self.waiting.try_recv()
            {
                batch.push(span);
            }
            if batch.is_empty() {
                return;
            }
        }
    }

    #[cfg(test)]
    pub(super) fn next(&mut self) -> Option<Span> {
        self.waiting.try_recv().ok()
    }

    /// Fills a batch; false when it is time to stop.
    async fn gather(&mut self, batch: &mut Vec<Span>) -> bool {
        let Exporter { stop, waiting, .. } = self;
        tokio::select! {
            () = stop.cancelled() => return false,
            _ = waiting.recv_many(batch, BATCH) => {}
        }
        let until = Instant::now() + GATHER;
        while batch.len() < BATCH {
            let room = BATCH - batch.len();
            tokio::select! {
                () = stop.cancelled() => return false,
                () = sleep_until(until) => break,
                _ = waiting.recv_many(batch, room) => {}
            }
        }
        true
    }

    /// Sends a batch, or drops it after some tries.
    async fn send(&mut self, batch: &[Span]) {
        for _ in 0..TRIES {
            match self.attempt(batch).await {
                Tried::Taken(refused) => return self.taken(batch, refused),
                Tried::Never(why) => {
                    self.complain(&why);
                    break;
                }
                Tried::Later(why) => {
                    self.complain(&why);
                    let pause = PAUSE.saturating_mul(1 << self.failures.min(8)).min(LONGEST_PAUSE);
                    self.failures = self.failures.saturating_add(1);
                    sleep(pause).await;
                }
            }
        }
        self.meters.dropped.add(batch.len() as u64);
    }

    /// One last try at the end; whether it succeeded.
    async fn send_once(&mut self, batch: &[Span]) -> bool {
        if batch.is_empty() {
            return true;
        }
        match self.attempt(batch).await {
            Tried::Taken(refused) => {
                self.taken(batch, refused);
                true
            }
            Tried::Later(why) | Tried::Never(why) => {
                self.complain(&why);
                false
            }
        }
    }

    fn taken(&mut self, batch: &[Span], refused: u64) {
        self.failures = 0;
        let refused = refused.min(batch.len() as u64);
        self.meters.dropped.add(refused);
        self.meters.exported.add(batch.len() as u64 - refused);
    }

    async fn attempt(&self, batch: &[Span]) -> Tried {
        let spans: Vec<Value> = batch.iter().map(Span::to_json).collect();
        let scope = json!({ "name": "bailiwick", "version": env!("CARGO_PKG_VERSION") });
        let scoped = json!([{ "scope": scope, "spans": spans }]);
        let body = json!({ "resourceSpans": [{ "resource": self.resource, "scopeSpans": scoped }] });
        let request = exchange::request(Method::POST, &self.url, body.to_string().into());
        let mut request = match request {
            Ok(request) => request,
            Err(e) => return Tried::Never(e.to_string()),
        };
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(authorization) = &self.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        match self.connections.send(request, About::Issuer, TIME, ANSWER_BYTES).await {
            Err(IssuerError::Unreachable(why) | IssuerError::NotConnected(why)) => Tried::Later(why),
            Err(IssuerError::TimedOut | IssuerError::Busy) => Tried::Later("no answer in time".to_owned()),
            Ok(answered) if answered.status.is_success() => Tried::Taken(refused(&answered.body)),
            Ok(answered) => {
                let why = format!("it answers with status {}", answered.status.as_u16());
                match answered.status {
                    StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::BAD_GATEWAY
                    | StatusCode::SERVICE_UNAVAILABLE
                    | StatusCode::GATEWAY_TIMEOUT => Tried::Later(why),
                    _ => Tried::Never(why),
                }
            }
        }
    }

    fn complain(&mut self, why: &str) {
        if self.warned_at.is_some_and(|at| at.elapsed() < WARN_EVERY) {
            return;
        }
        self.warned_at = Some(Instant::now());
        let dropped = self.meters.dropped.get();
        tracing::warn!(dropped, "trace export failed: {why}");
    }
}

/// The number of refused spans in an answer; a number beyond 32 bits comes as text.
fn refused(answer: &[u8]) -> u64 {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let number = &answer["partialSuccess"]["rejectedSpans"];
    let text = number.as_str().and_then(|text| text.parse().ok());
    number.as_u64().or(text).unwrap_or(0)
}
