//! The HTTP side: route table, gate, handlers, error rendering, OpenAPI, embedded OpenID provider, alerting proxy.
//!
//! A request passes [`layers::frame`] (request id, headers), the router built from [`routes::table`], the route's
//! [`gate`], then a handler of at most fifteen lines that calls one use case. To add an endpoint see [`routes`].

mod chunked_body;
mod docs;
pub mod envelope;
pub mod error;
pub mod extract;
pub mod gate;
mod impersonation;
pub mod layers;
pub mod manage;
pub mod monitoring;
pub mod oidc;
pub mod openapi;
pub mod proxy;
mod query_key;
pub mod route;
mod route_metrics;
pub mod routes;
mod schema;
mod static_files;
pub mod system;
pub mod wire;

use axum::{Router, middleware, routing::MethodRouter};
use bailiwick_app::App;
use bailiwick_platform::http_metrics::WorkerMetrics;
pub use bailiwick_web::Uncompressed;
use std::{sync::Arc, time::Duration};
use tower_http::{
    CompressionLevel,
    catch_panic::CatchPanicLayer,
    compression::{CompressionLayer, Predicate, predicate::SizeAbove},
    cors::{AllowOrigin, CorsLayer},
    normalize_path::NormalizePathLayer,
};

/// Pages for people that are served beside the interface, at the root of the host.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// The pages.
    pub router: Router<App>,
    /// Method and path of each that there can be.
    pub routes: &'static [(&'static str, &'static str)],
}

/// The whole service as one router.
pub fn router(app: &App, pages: Pages) -> Router {
    let meters = app.platform.metrics.http.worker(route_metrics::names(pages.routes));
    let api = management(app, &meters);
    // If people sign in elsewhere, the service is not a provider.
    let mut all = if app.settings.identity.is_embedded() { oidc::router() } else { oidc::issuer_router() };
    all = all.merge(pages.router.layer(middleware::from_fn(route_metrics::mark)));
    let reference = docs::router(docs::Docs::new(app));
    // People expect the reference and the guide at the root, whatever the base paths are.
    all = all.merge(reference.clone());
    for base in &app.settings.base_paths {
        all = if base.is_empty() {
            all.merge(api.clone())
        } else {
            all.nest(base, api.clone().merge(reference.clone()))
        };
    }
    // Answers are made for each request, so they are packed faster than by default; the heaviest page stays below
    // 15 kB.
    let compression = CompressionLayer::new().gzip(true).quality(CompressionLevel::Precise(4));
    let all = all
        .fallback(async || error::no_route())
        .method_not_allowed_fallback(async || error::no_route())
        .layer(compression.compress_when(SizeAbove::new(1024).and(not_proxied)))
        .layer(tower::util::MapResponseLayer::new(envelope::tag_of_coding))
        .with_state(app.clone());
    // Trailing slashes are removed before the routes are matched, hence a router around the router.
    let trimmed = tower::Layer::layer(&NormalizePathLayer::trim_trailing_slash(), all);
    let framed = Router::new()
        .fallback_service(trimmed)
        // Without configured origins OPTIONS has no meaning: like any unknown method it is a 404.
        .layer(tower::util::option_layer(cors(&app.settings.cors_origins)))
        .layer(middleware::from_fn_with_state(app.clone(), oidc::cors))
        .layer(CatchPanicLayer::custom(|_| error::panicked()))
        .layer(middleware::from_fn_with_state(static_files::Web::new(app), static_files::serve))
        .layer(middleware::from_fn_with_state((app.clone(), meters.clone()), layers::frame));
    // The alert interface comes before all of it: it has rules of its own and receives the most requests.
    Router::new().fallback_service(proxy::Front::new(app, meters, framed))
}

/// All rows except the proxy's, behind their gates.
fn management(app: &App, meters: &WorkerMetrics) -> Router<App> {
    let mut router = Router::new();
    let has_aliases = app.settings.systems.legacy_aliases;
    for mut route in routes::table().into_iter().filter(|r| has_aliases || !r.credential.is_of_alias()) {
        if let Some(handler) = route.handler() {
            let path = route.path.clone();
            route.place = meters.index_of(route.method.as_str(), &path).unwrap_or_default();
            router = router.route(&path, guarded(app, route, handler));
        }
    }
    router
}

fn guarded(app: &App, route: routes::Route, handler: MethodRouter<App>) -> MethodRouter<App> {
    handler.layer(middleware::from_fn_with_state((app.clone(), Arc::new(route)), gate::gate))
}

/// Answers below the alerting prefix are never compressed (spec: alerts#paths); the proxy marks them.
fn not_proxied(
    _: http::StatusCode,
    _: http::Version,
    _: &http::HeaderMap,
    extensions: &http::Extensions,
) -> bool {
    extensions.get::<Uncompressed>().is_none()
}

/// How long a browser may cache the answer of a preflight: the longest time that any browser allows.
pub(crate) const PREFLIGHT_AGE: Duration = Duration::from_secs(7200);

fn cors(origins: &[String]) -> Option<CorsLayer> {
    use http::{HeaderName, Method, header};
    let origins: Vec<http::HeaderValue> = origins.iter().filter_map(|o| o.parse().ok()).collect();
    if origins.is_empty() {
        return None;
    }
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
            Method::HEAD,
            Method::OPTIONS,
        ])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::ACCEPT,
            HeaderName::from_static("api-version"),
            header::IF_MATCH,
            header::IF_NONE_MATCH,
            HeaderName::from_static("x-request-id"),
        ])
        .expose_headers([
            HeaderName::from_static("x-request-id"),
            HeaderName::from_static("api-version"),
            header::CONTENT_DISPOSITION,
            header::ETAG,
            header::RETRY_AFTER,
        ])
        .max_age(PREFLIGHT_AGE);
    Some(layer)
}
