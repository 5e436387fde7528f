//! Refusals with their exact bytes: senders compare them.

use bailiwick_domain::json::{JsonError, write_str};
use std::fmt;

/// A refusal of a request to the alert interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// HTTP status.
    pub status: u16,
    /// The content of the body.
    pub body: RejectBody,
}

/// The forms a refusal can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RejectBody {
    /// Nothing.
    Empty,
    /// A JSON string followed by a newline.
    Text(String),
    /// `{"code":…,"message":…}`; the code need not be the HTTP status.
    Coded {
        /// Code of the fault.
        code: u16,
        /// Its text.
        message: String,
    },
    /// The envelope of the service's own errors, `data` null; `code` is the HTTP status.
    Envelope(&'static str),
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused with {}: {}", self.status, self.text())
    }
}

impl Reject {
    /// 404 without body: unknown and foreign silences alike (spec: silences#one-silence).
    pub const EMPTY_NOT_FOUND: Reject = Reject { status: 404, body: RejectBody::Empty };
    /// 413 (spec: alerts#proxy-errors).
    pub const TOO_LARGE: Reject =
        Reject { status: 413, body: RejectBody::Envelope("request body too large") };

    /// 400 with a JSON string.
    pub fn bad(text: impl Into<String>) -> Reject {
        Reject { status: 400, body: RejectBody::Text(text.into()) }
    }

    /// 422 with a code and a text.
    pub fn unprocessable(code: u16, message: impl Into<String>) -> Reject {
        Reject { status: 422, body: RejectBody::Coded { code, message: message.into() } }
    }

    /// 404 `"silence not found"`: the id of a POST is malformed, unknown or not owned (spec:
    /// silences#create-for-systems).
    pub fn silence_not_found() -> Reject {
        Reject { status: 404, body: RejectBody::Text("silence not found".into()) }
    }

    /// 400 for a body that is not JSON or has wrong types. `what` is `alerts` or `silence`.
    pub(crate) fn unreadable(what: &str, reason: &str) -> Reject {
        let message = format!("parsing {what} body from \"\" failed, because {reason}");
        Reject { status: 400, body: RejectBody::Coded { code: 400, message } }
    }

    pub(crate) fn not_json(what: &str, error: &JsonError) -> Reject {
        Reject::unreadable(what, &error.to_string())
    }

    /// 422 `<path> in body is required`.
    pub(crate) fn required(path: &str) -> Reject {
        Reject::unprocessable(602, format!("{path} in body is required"))
    }

    /// What it says.
    pub fn text(&self) -> &str {
        match &self.body {
            RejectBody::Empty => "no text",
            RejectBody::Text(text) | RejectBody::Coded { message: text, .. } => text,
            RejectBody::Envelope(text) => text,
        }
    }

    /// The bytes of the body.
    pub fn render(&self) -> String {
        let mut out = String::new();
        match &self.body {
            RejectBody::Empty => {}
            RejectBody::Text(text) => {
                write_str(&mut out, text);
                out.push('\n');
            }
            RejectBody::Coded { code, message } => {
                out.push_str(&format!("{{\"code\":{code},\"message\":"));
                write_str(&mut out, message);
                out.push('}');
            }
            RejectBody::Envelope(message) => {
                out.push_str(&format!("{{\"code\":{},\"message\":", self.status));
                write_str(&mut out, message);
                out.push_str(",\"data\":null}");
            }
        }
        out
    }
}
