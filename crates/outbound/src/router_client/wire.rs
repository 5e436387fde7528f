//! Connections to the router and single exchanges on them.

use super::{ANSWER_BYTES, RouterConfig, RouterError};
use crate::with_causes;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use std::time::Duration;

/// How long an idle connection is kept. Shorter than the two minutes after which common routers close theirs.
const IDLE: Duration = Duration::from_secs(60);
/// Time for the TCP handshake; the whole request has a limit of its own.
const CONNECT: Duration = Duration::from_secs(5);

static TENANT: HeaderName = HeaderName::from_static("x-scope-orgid");
static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
static TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// A pool of connections. It belongs to the runtime that uses it.
#[derive(Clone)]
pub(super) enum Pool {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

/// Where the fixed requests go.
pub(super) struct Targets {
    pub(super) ready: Uri,
    pub(super) alerts: Uri,
    pub(super) silences: Uri,
    /// Of a tenant; routers with tenants only.
    pub(super) configuration: Uri,
    /// Ends with a slash; the id follows.
    silence: String,
}

/// One request.
pub(super) struct Outgoing<'a> {
    pub(super) method: Method,
    pub(super) uri: Uri,
    /// Empty for the readiness question, which concerns no tenant.
    pub(super) tenant: &'a str,
    pub(super) request_id: &'a str,
    /// The `traceparent` of this request, never the client's own header. None without tracing.
    pub(super) traceparent: Option<HeaderValue>,
    /// The body is YAML, not JSON.
    pub(super) is_yaml: bool,
    pub(super) body: Bytes,
}

/// One answer, read whole.
pub(super) struct WholeAnswer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

/// Why there is none.
#[derive(Debug)]
pub(super) enum WireFault {
    /// No connection: nothing was sent.
    NotSent(String),
    /// It broke on the way.
    Broken(String),
    /// The answer is larger than it may be.
    TooLarge,
}

impl Pool {
    pub(super) fn new(config: &RouterConfig) -> Result<Pool, RouterError> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        tcp.set_keepalive(Some(Duration::from_secs(60)));
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(config.in_flight.max(1))
            .timer(TokioTimer::new());
        if !config.url.starts_with("https://") {
            return Ok(Pool::Plain(builder.build(tcp)));
        }
        tcp.enforce_http(false);
        let tls = HttpsConnectorBuilder::new()
            .with_native_roots()
            .map_err(|e| RouterError::Config(format!("root certificates cannot be read: {e}")))?
            .https_only()
            .enable_http1()
            .wrap_connector(tcp);
        Ok(Pool::Tls(builder.build(tls)))
    }

    /// Sends a request and reads the whole answer.
    pub(super) async fn exchange(&self, outgoing: &Outgoing<'_>) -> Result<WholeAnswer, WireFault> {
        let request = outgoing.to_request().map_err(|e| WireFault::NotSent(e.to_string()))?;
        let response = match self {
            Pool::Plain(client) => client.request(request).await,
            Pool::Tls(client) => client.request(request).await,
        };
        let response = response.map_err(|e| {
            let text = with_causes(&e);
            if e.is_connect() { WireFault::NotSent(text) } else { WireFault::Broken(text) }
        })?;
        let (head, body) = response.into_parts();
        Ok(WholeAnswer { status: head.status, body: read(body).await? })
    }
}

impl Outgoing<'_> {
    fn to_request(&self) -> Result<Request<Full<Bytes>>, http::Error> {
        let mut headers = HeaderMap::with_capacity(8);
        if !self.tenant.is_empty() {
            headers.insert(TENANT.clone(), HeaderValue::from_str(self.tenant)?);
        }
        let kind = if self.is_yaml { "application/yaml" } else { "application/json" };
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(crate::USER_AGENT));
        if !self.request_id.is_empty() {
            headers.insert(REQUEST_ID.clone(), HeaderValue::from_str(self.request_id)?);
        }
        if let Some(traceparent) = &self.traceparent {
            headers.insert(TRACEPARENT.clone(), traceparent.clone());
        }
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// Reads at most [`ANSWER_BYTES`].
async fn read(mut body: Incoming) -> Result<Bytes, WireFault> {
    if body.size_hint().lower() > ANSWER_BYTES as u64 {
        return Err(WireFault::TooLarge);
    }
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|e| WireFault::Broken(with_causes(&e)))?;
        let Ok(data) = frame.into_data() else { continue };
        if all.is_empty() && body.is_end_stream() && data.len() <= ANSWER_BYTES {
            return Ok(data);
        }
        if all.len() + data.len() > ANSWER_BYTES {
            return Err(WireFault::TooLarge);
        }
        all.extend_from_slice(&data);
    }
    Ok(all.freeze())
}

impl Targets {
    pub(super) fn new(config: &RouterConfig) -> Result<Targets, RouterError> {
        let parse = |text: String| {
            let wrong = |e: http::uri::InvalidUri| RouterError::Config(format!("{text}: {e}"));
            text.parse::<Uri>().map_err(wrong)
        };
        let base = config.url.trim_end_matches('/');
        let api = format!("{base}{}/api/v2", config.prefix.trim_end_matches('/'));
        Ok(Targets {
            ready: parse(format!("{base}{}", config.kind.ready_path(&config.prefix)))?,
            alerts: parse(format!("{api}/alerts"))?,
            configuration: parse(format!("{base}/api/v1/alerts"))?,
            silences: parse(format!("{api}/silences"))?,
            silence: format!("{api}/silence/"),
        })
    }

    pub(super) fn silence(&self, id: uuid::Uuid) -> Result<Uri, RouterError> {
        parsed(format!("{}{id}", self.silence))
    }
}

/// A target with a query that is already encoded.
pub(super) fn with_query(target: &Uri, query: &str) -> Result<Uri, RouterError> {
    if query.is_empty() { Ok(target.clone()) } else { parsed(format!("{target}?{query}")) }
}

fn parsed(text: String) -> Result<Uri, RouterError> {
    // Ids and rebuilt queries are always valid URIs.
    text.parse().map_err(|e: http::uri::InvalidUri| RouterError::Unavailable(format!("request target: {e}")))
}
