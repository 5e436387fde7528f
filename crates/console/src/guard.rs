//! What every request of the console passes first, and what every answer gets.
//!
//! A form changes something only if a page of ours has sent it: its `Origin` is the public address, or the browser says
//! that it comes from the same origin. Nothing changes by GET.

use crate::{layout::Layout, page};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use bailiwick_app::App;
use bailiwick_settings::Settings;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::json;
use url::Url;

/// Admits or refuses, and completes the answer.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    let mut response = if is_safe || is_own(&app.settings, request.headers()) {
        next.run(request).await
    } else {
        let layout = Layout::of(&app, request.headers(), request.uri());
        page::render(&layout, StatusCode::FORBIDDEN, "error.html", json!({"kind": "forged", "detail": null}))
    };
    complete(&app.settings, response.headers_mut());
    response
}

/// Whether a page of ours has sent the form.
fn is_own(settings: &Settings, headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    text(header::ORIGIN).is_some_and(|origin| is_public_address(settings, origin))
        || text(HeaderName::from_static("sec-fetch-site")) == Some("same-origin")
}

fn is_public_address(settings: &Settings, origin: &str) -> bool {
    Url::parse(&settings.public_url).is_ok_and(|url| url.origin().ascii_serialization() == origin)
}

fn complete(settings: &Settings, headers: &mut HeaderMap) {
    let mut default = |name: HeaderName, value: HeaderValue| {
        headers.entry(name).or_insert(value);
    };
    if let Ok(policy) = HeaderValue::from_str(&content_policy(settings)) {
        default(header::CONTENT_SECURITY_POLICY, policy);
    }
    default(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    default(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    default(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    default(header::VARY, HeaderValue::from_static("accept-language, cookie"));
}

/// Browsers apply `form-action` to the redirect after the form too: signing out may lead to the issuer.
fn content_policy(settings: &Settings) -> String {
    let issuer = settings.identity.issuer().and_then(|issuer| Url::parse(&issuer.url).ok());
    let issuer = issuer.map(|url| format!(" {}", url.origin().ascii_serialization())).unwrap_or_default();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
         connect-src 'self'; form-action 'self'{issuer}; base-uri 'none'; frame-ancestors 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_forms_of_our_own_pages_are_taken() {
        let settings = Settings::defaults("https://my.example.org", vec![0; 32]);
        let sent = |pairs: &[(&'static str, &'static str)]| {
            let pair = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            is_own(&settings, &pairs.iter().map(pair).collect())
        };
        assert!(sent(&[("origin", "https://my.example.org")]));
        assert!(sent(&[("sec-fetch-site", "same-origin")]));
        for forged in [
            &[][..],
            &[("origin", "null")],
            &[("origin", "http://my.example.org")],
            &[("origin", "https://my.example.org.evil.example")],
            &[("origin", "https://my.example.org:8443")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[("referer", "https://my.example.org/console/")],
        ] {
            assert!(!sent(forged), "{forged:?}");
        }
    }
}
