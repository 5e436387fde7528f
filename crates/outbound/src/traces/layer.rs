//! Converts spans of `tracing` into spans of OpenTelemetry.

use super::{
    Traces,
    parent::parent,
    span::{AttributeValue, Context, Role, Span},
};
use bailiwick_domain::Ts;
use std::fmt::{self, Debug, Write};
use tracing::{
    Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::Interest,
};
use tracing_subscriber::{
    Layer,
    filter::LevelFilter,
    layer::{self, Filter},
    registry::LookupSpan,
};

/// The fields that leave the process, and their names there. All others are for the log only: paths have ids in them,
/// and other fields may have more.
const ATTRIBUTES: [(&str, &str); 8] = [
    ("id", "request.id"),
    ("method", METHOD),
    ("route", ROUTE),
    ("http.response.status_code", STATUS),
    ("db.system.name", "db.system.name"),
    ("db.operation.name", "db.operation.name"),
    ("job.kind", JOB),
    ("error.type", ERROR),
];
const METHOD: &str = "http.request.method";
const ROUTE: &str = "http.route";
const STATUS: &str = "http.response.status_code";
const JOB: &str = "job.kind";
const ERROR: &str = "error.type";
/// Methods that are recorded by name; a client may send any word.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// Longest text of an attribute.
const TEXT_BYTES: usize = 256;

/// Passes spans to the exporter; add it to a subscriber with [`Wanted`] as its filter, which [`TraceLayer::filter`]
/// makes.
#[derive(Debug)]
pub struct TraceLayer(Traces);

/// Admits the spans of the service's own crates, at any level, and no events.
#[derive(Clone, Copy, Debug)]
pub struct Wanted;

/// A span that is kept, while it goes on.
struct Open {
    parent: Option<[u8; 8]>,
    /// The span's fields; a name among them replaces the code's.
    noted: Noted,
    began: Ts,
}

/// The recorded fields of a span.
#[derive(Default)]
struct Noted {
    name: Option<String>,
    traceparent: Option<String>,
    attributes: Vec<(&'static str, AttributeValue)>,
}

impl TraceLayer {
    pub(super) const fn new(traces: Traces) -> TraceLayer {
        TraceLayer(traces)
    }

    /// The filter to use with the layer.
    pub const fn filter(&self) -> Wanted {
        Wanted
    }
}

impl<S> Filter<S> for Wanted {
    fn enabled(&self, meta: &Metadata<'_>, _: &layer::Context<'_, S>) -> bool {
        meta.is_span() && meta.target().starts_with("bailiwick")
    }

    fn callsite_enabled(&self, meta: &'static Metadata<'static>) -> Interest {
        if meta.is_span() && meta.target().starts_with("bailiwick") {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::TRACE)
    }
}

impl<S> Layer<S> for TraceLayer
where
    S: Subscriber + for<'l> LookupSpan<'l>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, subscriber: layer::Context<'_, S>) {
        let Some(span) = subscriber.span(id) else { return };
        let shared = &self.0.0;
        let mut noted = Noted::default();
        attributes.record(&mut noted);
        let above = span.parent().and_then(|parent| parent.extensions().get::<Context>().copied());
        let caller = noted.traceparent.take().and_then(|text| parent(&text));
        let (context, parent) = match (above, caller) {
            (Some(above), _) if !above.sampled => (above, None),
            (Some(above), _) => (Context { span: shared.span_id(), ..above }, Some(above.span)),
            (None, Some(caller)) => (shared.below(caller), Some(caller.span)),
            (None, None) if begins_a_trace(span.name()) => (shared.root(), None),
            (None, None) => return,
        };
        let mut extensions = span.extensions_mut();
        extensions.insert(context);
        if context.sampled {
            extensions.insert(Open { parent, noted, began: shared.clock.now() });
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, subscriber: layer::Context<'_, S>) {
        let Some(span) = subscriber.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut open.noted);
        }
    }

    fn on_close(&self, id: Id, subscriber: layer::Context<'_, S>) {
        let Some(span) = subscriber.span(&id) else { return };
        let mut extensions = span.extensions_mut();
        let (Some(context), Some(open)) =
            (extensions.get_mut::<Context>().copied(), extensions.remove::<Open>())
        else {
            return;
        };
        let shared = &self.0.0;
        let role = role(span.name());
        let failed = open.noted.has_failed(role);
        shared.push(Span {
            context,
            parent: open.parent,
            name: open.noted.name(span.name()),
            role,
            began: open.began,
            ended: shared.clock.now(),
            attributes: open.noted.attributes,
            failed,
        });
    }
}

/// All other spans are only ever parts of a trace: a transaction outside a request or task is not traced.
fn begins_a_trace(name: &str) -> bool {
    matches!(name, "request" | "job")
}

fn role(name: &str) -> Role {
    match name {
        "request" => Role::Server,
        "transaction" | "query" | "call" => Role::Client,
        _ => Role::Internal,
    }
}

impl Noted {
    fn note(&mut self, field: &Field, value: impl FnOnce() -> AttributeValue) {
        let Some((_, key)) = ATTRIBUTES.into_iter().find(|(name, _)| *name == field.name()) else { return };
        let mut value = value();
        if key == METHOD && !matches!(&value, AttributeValue::Text(v) if METHODS.contains(&v.as_str())) {
            value = AttributeValue::Text("_OTHER".to_owned());
        }
        match self.attributes.iter_mut().find(|(attribute, _)| *attribute == key) {
            Some((_, old)) => *old = value,
            None => self.attributes.push((key, value)),
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| *name == key).and_then(|(_, value)| match value {
            AttributeValue::Text(text) => Some(text.as_str()),
            AttributeValue::Number(_) => None,
        })
    }

    /// The name: the one the span sets; else request method and route; else the name in the code.
    fn name(&self, fallback: &str) -> String {
        let method = self.text(METHOD);
        match (&self.name, method.zip(self.text(ROUTE)), self.text(JOB)) {
            (Some(name), ..) => name.clone(),
            (_, Some((method, route)), _) => format!("{method} {route}"),
            (.., Some(kind)) => format!("{fallback} {kind}"),
            _ => fallback.to_owned(),
        }
    }

    /// A request to the service has failed from 500 on; a call to another system has failed when it has an error.
    fn has_failed(&self, role: Role) -> bool {
        self.attributes.iter().any(|(key, value)| match (*key, value) {
            (key, _) if key == ERROR => true,
            (key, AttributeValue::Number(status)) if key == STATUS => role == Role::Server && *status >= 500,
            _ => false,
        })
    }
}

impl Visit for Noted {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.note(field, || AttributeValue::Text(short(format_args!("{}", Shown(value)))));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "traceparent" => self.traceparent = Some(value.to_owned()),
            "call" => self.name = Some(short(format_args!("{value}"))),
            _ => self.note(field, || AttributeValue::Text(short(format_args!("{value}")))),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.note(field, || AttributeValue::Number(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.note(field, || AttributeValue::Number(i64::try_from(value).unwrap_or(i64::MAX)));
    }
}

/// The text of a field: `Display` for those marked with `%`.
struct Shown<'a>(&'a dyn Debug);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A text, cut.
fn short(text: fmt::Arguments<'_>) -> String {
    let mut whole = String::new();
    // A string takes whatever it is given.
    let _ = whole.write_fmt(text);
    whole.truncate(whole.floor_char_boundary(TEXT_BYTES));
    whole
}
