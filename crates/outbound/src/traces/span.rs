//! A span of OpenTelemetry: its place in a trace, and its attributes.

use bailiwick_domain::{Ts, ports::hex};
use serde_json::{Value, json};
use std::fmt;

/// Where in which trace a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Context {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
    /// Whether it is exported; of a caller's span, whether the caller keeps the trace.
    pub(super) sampled: bool,
}

/// As `traceparent` writes it (W3C Trace Context, version 00).
impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-0{}", hex(&self.trace), hex(&self.span), u8::from(self.sampled))
    }
}

/// The role of a span; the numbers are OTLP's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Work of the service's own.
    Internal = 1,
    /// The answer to a request.
    Server = 2,
    /// A request to another service.
    Client = 3,
}

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AttributeValue {
    Text(String),
    Number(i64),
}

/// A span that is over.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) context: Context,
    pub(super) parent: Option<[u8; 8]>,
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) began: Ts,
    pub(super) ended: Ts,
    pub(super) attributes: Vec<(&'static str, AttributeValue)>,
    pub(super) failed: bool,
}

impl Span {
    /// As OTLP/JSON writes it: ids in hex, 64-bit numbers as text.
    pub(super) fn to_json(&self) -> Value {
        let attributes: Vec<Value> =
            self.attributes.iter().map(|(key, value)| attribute(key, value)).collect();
        let mut span = json!({
            "traceId": hex(&self.context.trace),
            "spanId": hex(&self.context.span),
            "flags": 1,
            "name": self.name,
            "kind": self.role as u8,
            "startTimeUnixNano": nanos(self.began),
            "endTimeUnixNano": nanos(self.ended),
            "attributes": attributes,
        });
        if let Some(parent) = &self.parent {
            span["parentSpanId"] = hex(parent).into();
        }
        if self.failed {
            span["status"] = json!({ "code": 2 });
        }
        span
    }
}

/// One attribute.
pub(super) fn attribute(key: &str, attribute_value: &AttributeValue) -> Value {
    let value = match attribute_value {
        AttributeValue::Text(text) => json!({ "stringValue": text }),
        AttributeValue::Number(number) => json!({ "intValue": number.to_string() }),
    };
    json!({ "key": key, "value": value })
}

fn nanos(at: Ts) -> String {
    (i128::from(at.0) * 1000).to_string()
}
