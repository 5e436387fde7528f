//! Access from pages of other origins: discovery and keys are for all origins, the endpoints that a client needs are
//! for the origins of its redirect URIs (spec: conventions#headers). The rest of the provider is for its own pages
//! only.

use crate::PREFLIGHT_AGE;
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bailiwick_app::App;
use bailiwick_identity::{Identity, oidc::clients::is_client_origin};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

/// For pages of any origin.
const OPEN: [&str; 2] = ["/oidc/.well-known/openid-configuration", "/oidc/jwks"];

/// For pages of clients.
const CLIENTS: [&str; 3] = ["/oidc/token", "/oidc/me", "/oidc/token/revocation"];

/// Outermost layer: answers preflights to the provider, adds the header to its answers, lets everything else pass.
pub async fn cors(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path().trim_end_matches('/');
    if !path.starts_with("/oidc") || !app.settings.identity.is_embedded() {
        return next.run(request).await;
    }
    let allowed = allowed_origin(&app.identity, path, request.headers());
    let is_preflight = request.method() == Method::OPTIONS && OPEN.iter().chain(&CLIENTS).any(|p| *p == path);
    let mut response =
        if is_preflight { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
        let request_headers = "Authorization, Content-Type, Accept, API-Version, X-Request-Id";
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(request_headers));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from(PREFLIGHT_AGE.as_secs()));
        let exposed = "X-Request-Id, Retry-After";
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
    } else {
        headers.remove(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    }
    response
}

fn allowed_origin(identity: &Identity, path: &str, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    if OPEN.contains(&path) {
        return Some(HeaderValue::from_static("*"));
    }
    let is_known = CLIENTS.contains(&path) && is_client_origin(&identity.settings, origin.to_str().ok()?);
    is_known.then(|| origin.clone())
}
