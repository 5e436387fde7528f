//! The parts that every answer has, whichever layer produced it: request id, version, security headers (spec:
//! conventions#headers).

use crate::{impersonation::Asked, route_metrics};
use axum::{
    extract::{ConnectInfo, Request, State},
    middleware::Next,
    response::Response,
};
use bailiwick_app::App;
use bailiwick_platform::{RequestContext, conditions::Conditions, http_metrics::WorkerMetrics};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
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
    let is_provider = needs_browser_headers(request.uri().path());
    let span = span(&context, &request);
    request.extensions_mut().insert(context.clone());
    let asked = Asked(request.uri().clone());
    request.extensions_mut().insert(asked);
    if is_provider {
        span.in_scope(|| check_address(&app, request.headers(), context.client_ip));
    }
    let mut response = next.run(request).instrument(span.clone()).await;
    complete(&app, response.headers_mut(), &context.request_id, is_provider);
    let place = route_metrics::place(&worker, &mut response);
    span.in_scope(|| record_response(&app, &worker, place, &response));
    watch.answered(place, response.status().as_u16());
    response
}

/// The span of a request: for its log lines, at every level of the log, and for its trace. It has no path, which may
/// contain ids and secrets; the route and the kind of caller are added when they are known.
pub(crate) fn span(context: &RequestContext, request: &Request) -> Span {
    tracing::error_span!(
        "request",
        id = %context.request_id,
        method = %request.method(),
        route = Empty,
        caller = Empty,
        traceparent = traceparent(request.headers()),
        http.response.status_code = Empty,
    )
}

/// Adds the matched route to the span of the request.
pub(crate) fn note_route(route: &str) {
    Span::current().record("route", route);
}

/// Adds the kind of caller to the span of the request: `user`, `system`, `key`.
pub(crate) fn note_caller(kind: &str) {
    Span::current().record("caller", kind);
}

/// How the request ended, in its span. A line about refusals says how many there were.
pub(crate) fn record_response(app: &App, worker: &WorkerMetrics, place: usize, response: &Response) {
    let status = response.status();
    Span::current().record("http.response.status_code", status.as_u16());
    if status != StatusCode::TOO_MANY_REQUESTS {
        return;
    }
    if let Some(times) = app.platform.request_hints.refused.count(app.platform.now()) {
        let route = route_metrics::route(worker, place).unwrap_or("other");
        tracing::warn!(times, last = route, "requests are refused (429): a limit is reached");
    }
}

/// Warns of people who come by another address than the public one, to which they are then sent to sign in.
fn check_address(app: &App, headers: &HeaderMap, client: IpAddr) {
    let hint = &app.platform.request_hints.address;
    if hint.is_logged() {
        return;
    }
    let Some((scheme, place)) = app.settings.public_url.split_once("://") else { return };
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // What stands in the log is what a client sends.
    let is_plain = |host: &&str| {
        host.len() <= 255 && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b))
    };
    let host = text("host").filter(is_plain).map(str::to_ascii_lowercase);
    let is_elsewhere = host.as_deref().is_some_and(|host| host != place && host != with_port(scheme, place));
    let is_other_scheme =
        text("x-forwarded-proto").is_some_and(|given| given != scheme && given.starts_with("http"));
    if (is_elsewhere || is_other_scheme) && hint.should_log() {
        let public_url = app.settings.public_url.as_str();
        tracing::warn!(
            host,
            public_url,
            %client,
            "somebody has come by another address than http.public_url, to which people are sent to sign in: set it to the \
             address that they use, and let a proxy pass Host and X-Forwarded-Proto on"
        );
    }
}

/// A host with the port that the scheme has by default.
fn with_port(scheme: &str, host: &str) -> String {
    format!("{host}:{}", if scheme == "https" { 443 } else { 80 })
}

/// The caller's place in a trace; with several headers it is ambiguous, so there is none.
fn traceparent(headers: &HeaderMap) -> Option<&str> {
    /// A version-00 `traceparent` has 55 characters.
    const LONGEST: usize = 128;
    let mut all = headers.get_all("traceparent").iter();
    let (first, second) = (all.next()?, all.next());
    first.to_str().ok().filter(|text| second.is_none() && text.len() <= LONGEST)
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
        None => app.platform.fresh::<uuid::Uuid>().to_string(),
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
        let hint = &app.platform.request_hints.forwarded;
        if !hint.is_logged() && request.headers().contains_key("x-forwarded-for") && hint.should_log() {
            tracing::warn!(
                %peer,
                "a request has X-Forwarded-For, but its sender is not in http.trusted_proxies: the header counts for nothing, and \
                 limits take everybody behind this address for one; add it if it is a proxy of yours"
            );
        }
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

fn needs_browser_headers(path: &str) -> bool {
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
