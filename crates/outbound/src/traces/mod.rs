//! Traces for an OpenTelemetry collector: OTLP over HTTP, as JSON (docs/observability.md).
//!
//! The parts of the service open spans of `tracing`; the subscriber decides whether they are recorded, so without
//! tracing a span costs one comparison. [`Traces::layer`] converts them into OpenTelemetry's: `request` and `job` begin
//! a trace; `transaction`, `query` and `call` are only ever parts of one. Only the attributes listed in [`layer`] leave
//! the process, whatever else a span has for the log.

mod export;
mod layer;
mod parent;
mod span;

use bailiwick_domain::{
    Clock, Entropy,
    metrics::{Counter, MetricKind, Page},
    ports::random,
};
use http::HeaderValue;
pub use layer::{TraceLayer, Wanted};
use span::{Context, Span};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::{Registry, registry::LookupSpan};

/// Spans that wait for the exporter; more are dropped and counted.
pub const QUEUE: usize = 4096;
/// Time to send waiting spans when the process ends.
pub const FLUSH: Duration = Duration::from_secs(5);

/// Where traces go, and how many.
#[derive(Clone)]
pub struct TraceConfig {
    /// Base address of the collector, without trailing slash; `/v1/traces` follows.
    pub endpoint: String,
    /// `Authorization` for the collector.
    pub authorization: Option<String>,
    /// Which part of the traces is kept, 0 to 1.
    pub ratio: f64,
    /// `service.name`.
    pub service: String,
}

/// The traces of a process. Clones share everything.
#[derive(Clone)]
pub struct Traces(Arc<Shared>);

struct Shared {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// A trace is kept if its number is below; see [`Shared::keeps`].
    threshold: u64,
    queue: mpsc::Sender<Span>,
    /// Until the exporter has been started.
    idle: Mutex<Option<export::Exporter>>,
    running: Mutex<Option<JoinHandle<()>>>,
    stop: CancellationToken,
    meters: Arc<Meters>,
}

/// Numbers of spans by outcome.
#[derive(Debug, Default)]
struct Meters {
    exported: Counter,
    dropped: Counter,
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Traces")
    }
}

impl Traces {
    /// Sends nothing before [`Traces::start`].
    ///
    /// # Errors
    /// A text for the operator: an address or a header that cannot be used, root certificates that cannot be read.
    pub fn new(
        config: &TraceConfig,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Traces, String> {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (meters, stop) = (Arc::new(Meters::default()), CancellationToken::new());
        let exporter = export::Exporter::new(config, waiting, meters.clone(), stop.clone())?;
        Ok(Traces(Arc::new(Shared {
            clock,
            entropy,
            threshold: threshold(config.ratio),
            queue,
            idle: Mutex::new(Some(exporter)),
            running: Mutex::default(),
            stop,
            meters,
        })))
    }

    /// The layer that passes spans from a subscriber.
    pub fn layer(&self) -> TraceLayer {
        TraceLayer::new(self.clone())
    }

    /// Starts to send, on the present runtime. Call it once.
    pub fn start(&self) {
        let Some(exporter) = lock(&self.0.idle).take() else { return };
        #[expect(
            clippy::disallowed_methods,
            reason = "ends after the application's tasks, whose spans it sends"
        )]
        let running = tokio::spawn(exporter.run());
        *lock(&self.0.running) = Some(running);
    }

    /// Sends waiting spans and ends, within [`FLUSH`].
    pub async fn finish(&self) {
        self.0.stop.cancel();
        let running = lock(&self.0.running).take();
        if let Some(running) = running {
            // Its own deadline is shorter; a panic in it was logged.
            let _ = tokio::time::timeout(FLUSH + Duration::from_secs(1), running).await;
        }
    }

    /// The families of the metrics page.
    pub fn page(&self) -> String {
        let mut page = Page::default();
        let Meters { exported, dropped } = &*self.0.meters;
        let help = "Spans that the collector of traces has taken.";
        page.single("bailiwick_trace_spans_exported_total", MetricKind::Counter, help, exported.get());
        let help = "Spans that were dropped: too many waited, or the collector did not take them.";
        page.single("bailiwick_trace_spans_dropped_total", MetricKind::Counter, help, dropped.get());
        page.finish()
    }
}

impl Shared {
    /// Whether a trace is kept. The trace id decides, as in OpenTelemetry's own sampler (`TraceIdRatioBased`), so that
    /// all programs with the same ratio keep the same traces.
    fn keeps(&self, trace: [u8; 16]) -> bool {
        let [.., a, b, c, d, e, f, g, h] = trace;
        (u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1) < self.threshold
    }

    /// A fresh trace's place.
    fn root(&self) -> Context {
        let mut trace = random(&*self.entropy);
        // All zero is not valid.
        if trace == [0; 16] {
            trace = [1; 16];
        }
        Context { trace, span: self.span_id(), sampled: self.keeps(trace) }
    }

    /// A span below a caller's: kept if the caller keeps the trace and its id is within the ratio.
    fn below(&self, parent: Context) -> Context {
        Context {
            trace: parent.trace,
            span: self.span_id(),
            sampled: parent.sampled && self.keeps(parent.trace),
        }
    }

    fn span_id(&self) -> [u8; 8] {
        let id = random(&*self.entropy);
        if id == [0; 8] { [1; 8] } else { id }
    }

    /// Never waits.
    fn push(&self, span: Span) {
        if self.queue.try_send(span).is_err() {
            self.meters.dropped.one();
        }
    }
}

/// `ratio` of all 63-bit numbers.
fn threshold(ratio: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped; saturates")]
    let part = (ratio.clamp(0.0, 1.0) * (1_u64 << 63) as f64) as u64;
    part
}

/// `traceparent` of a request made within `span`; `None` without tracing.
pub(crate) fn traceparent(span: &tracing::Span) -> Option<HeaderValue> {
    let context = span.with_subscriber(|(id, subscriber)| {
        let span = subscriber.downcast_ref::<Registry>()?.span(id)?;
        span.extensions().get::<Context>().copied()
    });
    HeaderValue::from_str(&context.flatten()?.to_string()).ok()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
