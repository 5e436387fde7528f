//! Logging to the standard error: for people, or as JSON lines for collectors. Traces, if they are configured.

use crate::{
    config::{Log, LogFormat, Telemetry},
    ports::{SystemClock, SystemEntropy},
};
use bailiwick_app::traces::{TraceConfig, Traces};
use bailiwick_domain::Clock;
use serde_json::{Value, json};
use std::{
    fmt,
    io::{self, IsTerminal},
    panic,
    sync::Arc,
};
use tracing::span::Record;
use tracing_subscriber::{
    EnvFilter, Layer,
    field::RecordFields,
    fmt::{
        FormatFields, FormattedFields,
        format::{JsonFields, Writer},
    },
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// Starts logging for the whole process, and traces where a collector is configured; they are sent once the
/// caller has a runtime to start them on. Panics are logged too, with their place, instead of being written raw.
/// The error is a text for the operator: logging was started before, or the collector cannot be used.
pub fn start(log: &Log, telemetry: &Telemetry) -> Result<Option<Traces>, String> {
    let filter = EnvFilter::builder().parse(log.level.directives()).map_err(|why| why.to_string())?;
    let traces = traces(telemetry)?;
    match &traces {
        None => {
            let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
            match log.format {
                LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).try_init(),
                LogFormat::Json => {
                    let lines =
                        lines.json().flatten_event(true).with_current_span(true).with_span_list(false);
                    lines.fmt_fields(SpanFields(JsonFields::new())).try_init()
                }
            }
            .map_err(|why| why.to_string())?;
        }
        // Each layer has a filter of its own: tracing does not change the log.
        Some(traces) => {
            let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
            let lines = match log.format {
                LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).boxed(),
                LogFormat::Json => {
                    let lines =
                        lines.json().flatten_event(true).with_current_span(true).with_span_list(false);
                    lines.fmt_fields(SpanFields(JsonFields::new())).boxed()
                }
            };
            let layer = traces.layer();
            let filtered = layer.filter();
            tracing_subscriber::registry()
                .with(lines.with_filter(filter))
                .with(layer.with_filter(filtered))
                .try_init()
                .map_err(|why| why.to_string())?;
        }
    }
    panic::set_hook(Box::new(|panicked| {
        let location = panicked.location().map(ToString::to_string).unwrap_or_default();
        let text = panicked.payload_as_str().unwrap_or("no text");
        tracing::error!(place = location, "panic: {text}");
    }));
    Ok(traces)
}

/// A line in the format of `log.format = "json"`, for messages that every `log.level` shows. The line has no null
/// fields.
pub fn json_line(level: tracing::Level, message: &str, fields: Value) -> String {
    let mut line = json!({
        "timestamp": SystemClock.now(),
        "level": level.as_str(),
        "message": message,
        "target": env!("CARGO_CRATE_NAME"),
    });
    if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
        line.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    format!("{line}\n")
}

/// The fields of a span as JSON. Those that are recorded later are appended; the library's own way reads and writes all
/// of them again, at every request.
struct SpanFields(JsonFields);

impl<'w> FormatFields<'w> for SpanFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        self.0.format_fields(writer, fields)
    }

    fn add_fields(&self, current: &'w mut FormattedFields<Self>, fields: &Record<'_>) -> fmt::Result {
        let mut more = String::new();
        self.0.format_fields(Writer::new(&mut more), fields)?;
        let has_some = current.fields.len() > "{}".len();
        match more.strip_prefix('{').filter(|more| *more != "}") {
            Some(more) if has_some => {
                current.fields.pop();
                current.fields.push(',');
                current.fields.push_str(more);
            }
            Some(_) => current.fields = more,
            None => {}
        }
        Ok(())
    }
}

fn traces(telemetry: &Telemetry) -> Result<Option<Traces>, String> {
    let Some(endpoint) = &telemetry.otlp_endpoint else { return Ok(None) };
    let config = TraceConfig {
        endpoint: endpoint.as_str().to_owned(),
        authorization: telemetry.otlp_authorization.as_ref().map(|secret| secret.reveal().to_owned()),
        ratio: telemetry.sample_ratio.0,
        service: telemetry.service_name.clone(),
    };
    Traces::new(&config, Arc::new(SystemClock), Arc::new(SystemEntropy)).map(Some)
}
