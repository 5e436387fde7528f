//! The endpoints for operators and their tools, on a separate listener (`metrics.listen`): `GET /metrics` for
//! Prometheus, `/live` and `/ready` for the process supervisor (docs/observability.md).

use crate::{extract::authorization, manage::health::Health};
use axum::{
    Router,
    extract::State,
    middleware,
    response::{IntoResponse, Response},
    routing::get,
};
use bailiwick_app::{App, metrics};
use bailiwick_domain::metrics::Page;
use bailiwick_platform::write_check;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use std::sync::Arc;

/// Metrics that the process itself adds to the page.
pub type More = Arc<dyn Fn() -> String + Send + Sync>;

#[derive(Clone)]
struct Operations {
    app: App,
    token: Option<Arc<str>>,
    more: More,
}

/// The routes. If there is a token, `/metrics` requires it as a bearer token; `more` is added to the page.
#[expect(clippy::disallowed_methods, reason = "its state is not the application")]
pub fn router(app: &App, token: Option<&str>, more: More) -> Router {
    let state = Operations { app: app.clone(), token: token.map(Arc::from), more };
    Router::new()
        .route("/metrics", get(show))
        .route("/live", get(async || "alive\n"))
        .route("/ready", get(ready))
        .fallback(async || (StatusCode::NOT_FOUND, "not found\n"))
        .layer(middleware::map_response(as_ours))
        .with_state(state)
}

/// By this header `bailiwick health` knows the service.
async fn as_ours(mut response: Response) -> Response {
    let version = HeaderValue::from_static(bailiwick_domain::API_VERSION);
    response.headers_mut().insert("api-version", version);
    response
}

async fn show(State(operations): State<Operations>, headers: HeaderMap) -> Response {
    if let Some(token) = &operations.token
        && !presents(&headers, token)
    {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], "unauthorized\n")
            .into_response();
    }
    let Health { version, commit, build_time, platform, .. } = Health::own(&operations.app);
    let build =
        [("version", version), ("commit", commit), ("build_time", build_time), ("platform", &platform)];
    let mut page = metrics::page(&operations.app, &build).await;
    page.push_str(&(operations.more)());
    ([(header::CONTENT_TYPE, Page::CONTENT_TYPE), (header::CACHE_CONTROL, "no-store")], page).into_response()
}

/// Whether the request has the token; compared in constant time.
fn presents(headers: &HeaderMap, token: &str) -> bool {
    let shown = authorization(headers).and_then(|value| value.split_once(' '));
    shown.is_some_and(|(scheme, shown)| {
        scheme.eq_ignore_ascii_case("bearer") && bailiwick_platform::metrics::is_same(shown.trim(), token)
    })
}

/// 200 while the process accepts requests: it is not stopping, and its database can be read and written.
async fn ready(State(operations): State<Operations>) -> Response {
    let app = &operations.app;
    if app.platform.is_leaving() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    match write_check::check(&app.platform).await {
        Ok(()) => "ready\n".into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the database cannot be written\n").into_response(),
    }
}
