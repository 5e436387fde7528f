//! The parts that every answer has, whichever layer produced it: request id, version, security headers (spec:
//! conventions#headers).

use crate::{identify::Asked, route_metrics};
use axum::{
    extract::{ConnectInfo, Request, State},
    middleware::Next,
    response::Response,
};
use bailiwick_app::App;
use bailiwick_platform::{RequestContext, conditions::Conditions, http_metrics::WorkerMetrics};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};
use tracing::{Instrument, Span, field::Empty};

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
static API_VERSION: HeaderName = HeaderName::from_static("api-version");

/// Outermost layer of all routes except the alert interface, which does the same itself.
pub async fn frame(
    State((app, worker)): State<(App, Arc<WorkerMetrics>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let watch = worker.begin();
    let context = context(&app, &request);
    let is_provider = is_provider_path(request.uri().path());
    let span = span(&context, &request);
    request.extensions_mut().insert(context.clone());
    let asked = Asked(request.uri().clone());
    request.extensions_mut().insert(asked);
    let mut response = next.run(request).instrument(span.clone()).await;
    complete(&app, response.headers_mut(), &context.request_id, is_provider);
    let place = route_metrics::place(&worker, &mut response);
    told(&span, &worker, place, &response);
    watch.answered(place, response.status().as_u16());
    response
}

/// The span of a request: for its log lines and its trace.
pub(crate) fn span(context: &RequestContext, request: &Request) -> Span {
    tracing::debug_span!(
        "request",
        id = %context.request_id,
        method = %request.method(),
        path = loggable(request.uri().path()),
        traceparent = traceparent(request.headers()),
        http.route = Empty,
        http.response.status_code = Empty,
    )
}

/// How the request ended.
pub(crate) fn told(span: &Span, worker: &WorkerMetrics, place: usize, response: &Response) {
    if span.is_disabled() {
        return;
    }
    if let Some(route) = route_metrics::route(worker, place) {
        span.record("http.route", route);
    }
    span.record("http.response.status_code", response.status().as_u16());
}

/// The caller's place in a trace; with several headers it is ambiguous, so there is none.
fn traceparent(headers: &HeaderMap) -> Option<&str> {
    /// Of the one version there is it has 55.
    const LONGEST: usize = 128;
    let mut all = headers.get_all("traceparent").iter();
    let (first, second) = (all.next()?, all.next());
    first.to_str().ok().filter(|text| second.is_none() && text.len() <= LONGEST)
}

/// A path for the log: the part after the name of a page that a mailed link leads to is a secret.
fn loggable(path: &str) -> &str {
    const SECRET_BEHIND: [&str; 3] = ["/new-password/", "/confirm-address/", "/downloads/"];
    let end = SECRET_BEHIND.iter().find_map(|name| path.find(name).map(|at| at + name.len()));
    end.and_then(|end| path.get(..end)).unwrap_or(path)
}

/// The context of a request before the caller is known.
pub(crate) fn context(app: &App, request: &Request) -> RequestContext {
    /// Characters of a name that are kept.
    const NAME_CHARS: usize = 255;
    let user_agent = request.headers().get(header::USER_AGENT);
    RequestContext {
        request_id: request_id(app, request.headers()),
        client_ip: client_ip(app, request),
        user_agent: user_agent
            .map(|name| String::from_utf8_lossy(name.as_bytes()).chars().take(NAME_CHARS).collect()),
        // Set later, on routes with an entity that the conditions concern.
        conditions: Conditions::default(),
    }
}

/// The headers of every answer.
pub(crate) fn complete(app: &App, headers: &mut HeaderMap, request_id: &str, is_provider: bool) {
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert(REQUEST_ID.clone(), id);
    }
    if !is_provider {
        headers.insert(API_VERSION.clone(), HeaderValue::from_static(bailiwick_domain::API_VERSION));
    }
    secure(headers, app.settings.public_url.starts_with("https://"));
}

/// The client's own id if it is well formed, else a fresh one.
fn request_id(app: &App, headers: &HeaderMap) -> String {
    let given = headers.get(&REQUEST_ID).and_then(|v| v.to_str().ok());
    let well_formed = |s: &&str| {
        (1..=128).contains(&s.len())
            && s.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    };
    match given.filter(well_formed) {
        Some(id) => id.to_owned(),
        None => app.fresh::<uuid::Uuid>().to_string(),
    }
}

/// The peer; behind trusted proxies the nearest address in `X-Forwarded-For` that is not one of them.
fn client_ip(app: &App, request: &Request) -> IpAddr {
    let peer = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |c| c.0.ip().to_canonical());
    let trusted = &app.settings.trusted_proxies;
    let is_trusted = |ip: IpAddr| trusted.iter().any(|network| network.contains(ip));
    if !is_trusted(peer) {
        return peer;
    }
    let forwarded = request.headers().get_all("x-forwarded-for").iter().rev();
    let nearest_first = forwarded.flat_map(|line| line.to_str().unwrap_or_default().split(',').rev());
    // Entries before an invalid address are ignored: the client may have made them up.
    let elements = nearest_first.map(str::trim).filter(|element| !element.is_empty());
    let mut addresses = elements.map_while(forwarded_address);
    addresses.find(|ip| !is_trusted(*ip)).unwrap_or(peer)
}

/// An address as proxies write it: alone, in brackets, or with the port.
fn forwarded_address(element: &str) -> Option<IpAddr> {
    let alone = element.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(element);
    let with_port = || element.parse::<SocketAddr>().ok().map(|address| address.ip());
    alone.parse().ok().or_else(with_port).map(|ip: IpAddr| ip.to_canonical())
}

fn is_provider_path(path: &str) -> bool {
    ["/oidc", "/api/interaction", "/console"]
        .into_iter()
        .filter_map(|root| path.strip_prefix(root))
        .any(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Adds security headers, except those a handler has set itself.
fn secure(headers: &mut HeaderMap, https: bool) {
    let mut default = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    default(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    default(header::REFERRER_POLICY, "strict-origin-when-cross-origin");
    default(header::X_FRAME_OPTIONS, "SAMEORIGIN");
    default(header::CACHE_CONTROL, "no-store");
    default(header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'");
    if https {
        default(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
}
