//! A client that speaks to the service in process.

use crate::published;
use axum::{Router, body::Body, extract::ConnectInfo};
use base64::Engine as _;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use serde_json::Value;
use std::net::SocketAddr;
use tower::ServiceExt;

/// A request being put together.
#[derive(Debug)]
pub struct Call {
    router: Router,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Body,
    peer: SocketAddr,
}

impl Call {
    pub(crate) fn new(router: Router, method: Method, path: &str) -> Call {
        let peer = SocketAddr::from(([127, 0, 0, 1], 40_000));
        Call { router, method, path: path.to_owned(), headers: HeaderMap::new(), body: Body::empty(), peer }
    }

    /// Adds a header; a repeated name is sent twice.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Call {
        let name: HeaderName = name.parse().expect("header name");
        self.headers.append(name, HeaderValue::from_str(value).expect("header value"));
        self
    }

    /// `Authorization: Bearer`.
    #[must_use]
    pub fn bearer(self, token: &str) -> Call {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// `Authorization: Basic`.
    #[must_use]
    pub fn basic(self, user: &str, password: &str) -> Call {
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        self.header("authorization", &format!("Basic {pair}"))
    }

    /// A JSON body with its content type.
    #[must_use]
    pub fn json(self, body: Value) -> Call {
        self.header("content-type", "application/json").body(body.to_string())
    }

    /// A form body with its content type.
    #[must_use]
    pub fn form(self, pairs: &[(&str, &str)]) -> Call {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        self.header("content-type", "application/x-www-form-urlencoded").body(body)
    }

    /// Any body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Body>) -> Call {
        self.body = body.into();
        self
    }

    /// The address the request comes from; loopback by default.
    #[must_use]
    pub fn from(mut self, ip: &str) -> Call {
        self.peer = SocketAddr::new(ip.parse().expect("address"), 40_000);
        self
    }

    /// Sends it. The body of an endless answer is not awaited. An answer that violates the interface document fails the
    /// test.
    pub async fn send(self) -> Reply {
        let (method, path) = (self.method.clone(), self.path.clone());
        let response = self.open().await;
        let (parts, body) = response.into_parts();
        let is_endless = parts.status == 200
            && parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let body = match is_endless {
            true => Bytes::new(),
            false => axum::body::to_bytes(body, usize::MAX).await.expect("the body can be read"),
        };
        let reply = Reply { status: parts.status, headers: parts.headers, body };
        published::check(&method, &path, &reply);
        reply
    }

    /// Sends it and returns the answer without waiting for its body.
    pub async fn open(self) -> axum::response::Response {
        let mut request = Request::new(self.body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.path.parse().expect("path");
        *request.headers_mut() = self.headers;
        request.extensions_mut().insert(ConnectInfo(self.peer));
        self.router.oneshot(request).await.expect("the router does not fail")
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// Raw body.
    pub body: Bytes,
}

impl Reply {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("not JSON ({e}): {}", self.text()))
    }

    /// `data` of the envelope.
    #[track_caller]
    pub fn data(&self) -> Value {
        self.json()["data"].take()
    }

    /// `message` of the envelope.
    #[track_caller]
    pub fn message(&self) -> String {
        self.json()["message"].as_str().unwrap_or_default().to_owned()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|v| v.to_str().ok())
    }

    /// Checks the status and hands the answer on.
    #[track_caller]
    pub fn expect(self, status: u16) -> Reply {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        self
    }

    /// Checks status, `code` and `message`.
    #[track_caller]
    pub fn expect_message(self, status: u16, message: &str) -> Reply {
        let reply = self.expect(status);
        let json = reply.json();
        assert_eq!(json["message"], message, "{json}");
        assert_eq!(json["code"], status, "{json}");
        reply
    }

    /// Checks that it is a validation error with exactly these `key`/`message` pairs in this order.
    #[track_caller]
    pub fn expect_fields(self, fields: &[(&str, &str)]) -> Reply {
        let reply = self.expect_message(400, "validation failed");
        let data = reply.data();
        assert_eq!(data["type"], "validation_error");
        let got: Vec<(&str, &str)> = data["errors"]
            .as_array()
            .expect("errors")
            .iter()
            .map(|e| (e["key"].as_str().unwrap_or_default(), e["message"].as_str().unwrap_or_default()))
            .collect();
        assert_eq!(got, fields, "{data}");
        reply
    }
}
