//! What is recorded of an impersonated request: never a secret, whatever the size or the form of the body (spec:
//! impersonation#requests-while-impersonating, guarantees#identity rule 26). Redaction comes before truncation, so
//! truncation cannot separate a key from its value.

use bailiwick_alertmanager::webhook_target;
use bailiwick_domain::{fold::fold, json::without_mark};
use serde_json::Value;
use std::borrow::Cow;
use url::form_urlencoded;

/// Replaces a secret.
const REDACTED: &str = "[REDACTED]";
/// The most characters of a record.
const KEPT_CHARS: usize = 10_000;
/// Parts of the names of values that are hidden. The longer names of the specification contain one of these.
const SECRET: [&str; 5] = ["password", "secret", "token", "auth", "key"];
/// The most characters of a recorded content type.
const TYPE_CHARS: usize = 100;

/// The body of a request.
#[derive(Clone, Copy, Debug)]
pub enum SentBody<'a> {
    /// The complete body.
    Whole(&'a [u8]),
    /// The size of an upload, or of a body that was truncated.
    Bytes(u64),
}

/// The recorded form of a body. `content_type`: its header. `has_webhooks`: the operation takes addresses of webhooks.
pub fn of_body(sent: SentBody<'_>, content_type: Option<&str>, has_webhooks: bool) -> String {
    let size = match sent {
        SentBody::Bytes(size) => size,
        SentBody::Whole(body) => {
            // A bare text or number has no key, so it cannot be classified.
            let value: Option<Value> = serde_json::from_slice(without_mark(body)).ok();
            let value = value.filter(|v| v.is_object() || v.is_array());
            if let Some(mut value) = value {
                redact(&mut value, has_webhooks);
                return cut(value.to_string());
            }
            body.len() as u64
        }
    };
    format!("[{size} bytes of {}]", shown_type(content_type))
}

/// The query without secrets, with its question mark; `None` without one.
fn of_query(query: Option<&str>) -> Option<String> {
    let query = query.filter(|query| !query.is_empty())?;
    let pair = |pair: &str| {
        let name = form_urlencoded::parse(pair.as_bytes()).next().map(|(name, _)| name.into_owned());
        match pair.split_once('=') {
            Some((raw, _)) if name.as_deref().is_none_or(is_secret) => format!("{raw}={REDACTED}"),
            _ => pair.to_owned(),
        }
    };
    let shown: Vec<String> = query.split('&').map(pair).collect();
    Some(format!("?{}", shown.join("&")))
}

/// The address of a request as it is recorded: its path with its query, without secrets.
pub fn shown_address(path: &str, query: Option<&str>) -> String {
    let path = shown_path(path);
    of_query(query).map_or_else(|| path.to_string(), |query| format!("{path}{query}"))
}

/// The path without the secret, for routes that such a secret opens; the secret follows the name of the route.
fn shown_path(path: &str) -> Cow<'_, str> {
    const SECRET_BEHIND: [&str; 3] = ["/new-password/", "/confirm-address/", "/downloads/"];
    let end = SECRET_BEHIND.iter().find_map(|name| path.find(name).map(|at| at + name.len()));
    match end.and_then(|end| path.get(..end)) {
        Some(open) => Cow::Owned(format!("{open}{REDACTED}")),
        None => Cow::Borrowed(path),
    }
}

/// The media type without its parameters, if it is well formed.
fn shown_type(content_type: Option<&str>) -> &str {
    let essence = content_type.and_then(|text| text.split(';').next()).map(str::trim).unwrap_or_default();
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$&-^_.+/".contains(&b);
    let is_type = essence.contains('/') && essence.len() <= TYPE_CHARS && essence.bytes().all(is_token);
    // The type of a body without a type (RFC 9110 §8.3).
    if is_type { essence } else { "application/octet-stream" }
}

/// Whether a field of this name holds a secret.
pub fn is_secret(name: &str) -> bool {
    let name = fold(name);
    SECRET.iter().any(|word| name.contains(word))
}

/// Depth is bounded by the parser.
fn redact(value: &mut Value, has_webhooks: bool) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if is_secret(name) {
                    *value = REDACTED.into();
                } else if let (true, "url", Value::String(url)) = (has_webhooks, fold(name).as_str(), &*value)
                {
                    *value = webhook_target::redacted(url).into();
                } else {
                    redact(value, has_webhooks);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| redact(value, has_webhooks)),
        Value::String(text) => redact_text(text, has_webhooks),
        _ => {}
    }
}

/// A text may be a webhook address under another name, or JSON itself.
fn redact_text(text: &mut String, has_webhooks: bool) {
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    if let Some(mut inner) = looks_like_json.then(|| serde_json::from_str::<Value>(text).ok()).flatten() {
        redact(&mut inner, has_webhooks);
        *text = inner.to_string();
    } else if has_webhooks && text.contains("://") {
        *text = webhook_target::redacted(text);
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(KEPT_CHARS) {
        Some((end, _)) => format!("{}... (truncated)", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
