//! The web user interface beside the API (`http.static_dir`, spec: clients#serving-the-browser).
//!
//! Below a prefixed base the API always answers. Otherwise, a file that exists is sent to every client, and a browser
//! that opens a page (`Accept` names `text/html`) without a credential gets `index.html`, whatever the path: the
//! interface also has pages at `/systems`, `/users` … Operations without a credential stay with the API.

use crate::{
    route_metrics::Matched,
    routes::{self, Credential},
};
use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use bailiwick_app::{
    App,
    static_files::{File, StaticFiles},
};
use bailiwick_settings::Settings;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use percent_encoding::percent_decode_str;
use std::{borrow::Cow, sync::Arc};

/// The data that the layer needs.
#[derive(Clone, Debug)]
pub struct Web(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    static_files: Arc<StaticFiles>,
    policy: HeaderValue,
    /// Where the service has pages of its own.
    pages: Vec<&'static str>,
    /// Bases below which the API answers alone.
    bases: Vec<String>,
    /// Paths that need no credential; `None` is a parameter.
    open: Vec<Vec<Option<String>>>,
}

impl Web {
    /// `None` if no files are configured, or they cannot be read.
    pub fn new(app: &App) -> Option<Web> {
        let static_files = app.static_files().ok()??;
        let policy = HeaderValue::from_str(&policy(&app.settings)).ok()?;
        let bases = app.settings.base_paths.iter().filter(|base| !base.is_empty()).cloned().collect();
        let is_open =
            |route: &routes::Route| route.method == Method::GET && route.credential == Credential::Public;
        let open = routes::table().iter().filter(|row| is_open(row)).map(|row| segments(&row.path)).collect();
        let console = app.settings.console.enabled.then_some("/console");
        let pages = ["/oidc", "/api/interaction"].into_iter().chain(console).collect();
        Some(Web(Arc::new(Inner { static_files, pages, policy, bases, open })))
    }
}

/// The content security policy that the interface runs under (spec: conventions#headers).
fn policy(settings: &Settings) -> String {
    let issuer =
        settings.identity.issuer().map_or(settings.public_url.as_str(), |issuer| issuer.url.as_str());
    let origin = origin(issuer);
    format!(
        "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob: {origin}; \
         font-src 'self' data:; connect-src 'self' {origin}; worker-src 'self' blob:; object-src 'none'; \
         base-uri 'self'; frame-ancestors 'self'; form-action 'self' {origin}"
    )
}

/// Scheme, host and port of an address.
fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(start..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| start + at);
    url.get(..end).unwrap_or(url)
}

fn segments(path: &str) -> Vec<Option<String>> {
    let part = |part: &str| (!part.starts_with('{')).then(|| part.to_owned());
    path.trim_matches('/').split('/').map(part).collect()
}

/// Sends files to those they are for.
pub async fn serve(State(web): State<Option<Web>>, request: Request, next: Next) -> Response {
    match web.as_ref().and_then(|web| web.0.answer(&request)) {
        Some(mut response) => {
            response.extensions_mut().insert(Matched::Web);
            response
        }
        None => next.run(request).await,
    }
}

impl Inner {
    fn answer(&self, request: &Request) -> Option<Response> {
        let (path, headers) = (request.uri().path(), request.headers());
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        if !is_read || self.is_api(path) {
            return None;
        }
        let files = self.static_files.files();
        let named = decoded(path).filter(|name| !self.is_api(name)).and_then(|name| files.get(&*name));
        let is_page = path == "/" || (opens_a_page(headers) && !self.is_open(path));
        let file = match named {
            Some(file) => file,
            None if is_page && !headers.contains_key(header::AUTHORIZATION) => files.get("/index.html")?,
            None => return None,
        };
        Some(self.send(file, request.method() == Method::HEAD, headers))
    }

    fn is_api(&self, path: &str) -> bool {
        let fixed = self.pages.iter().copied().chain(self.bases.iter().map(String::as_str));
        fixed.filter_map(|base| path.strip_prefix(base)).any(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn is_open(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        self.open.iter().any(|row| {
            row.len() == parts.len()
                && row.iter().zip(&parts).all(|(want, have)| want.as_deref().is_none_or(|want| want == *have))
        })
    }

    fn send(&self, file: &File, is_head: bool, asked: &HeaderMap) -> Response {
        let (encoding, bytes) = match (&file.brotli, &file.gzip) {
            (Some(brotli), _) if accepts(asked, "br") => (Some("br"), brotli),
            (_, Some(gzip)) if accepts(asked, "gzip") => (Some("gzip"), gzip),
            _ => (None, &file.plain),
        };
        let is_known =
            asked.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).is_some_and(|tags| {
                tags.split(',')
                    .any(|tag| tag.trim().trim_start_matches("W/") == file.etag || tag.trim() == "*")
            });
        let body = if is_head || is_known { Body::empty() } else { Body::from(bytes.clone()) };
        let mut response = Response::new(body);
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let is_page = file.media_type.starts_with("text/html");
        let cache = match (is_page, file.is_immutable) {
            (true, _) => "no-store",
            (false, true) => "public, max-age=31536000, immutable",
            (false, false) => "no-cache",
        };
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
        headers.insert(header::CONTENT_SECURITY_POLICY, self.policy.clone());
        headers.insert(header::VARY, HeaderValue::from_static("accept, accept-encoding, authorization"));
        if let Some(encoding) = encoding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        if let Ok(etag) = HeaderValue::from_str(&file.etag) {
            headers.insert(header::ETAG, etag);
        }
        if !is_known {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        }
        response
    }
}

/// The decoded path of a file in a URL; none if no file can have it. An encoded slash is not a separator, so such a
/// path is refused.
fn decoded(path: &str) -> Option<Cow<'_, str>> {
    let is_slash = |encoded: &[u8]| encoded.eq_ignore_ascii_case(b"%2f");
    if path.as_bytes().windows(3).any(is_slash) {
        return None;
    }
    percent_decode_str(path).decode_utf8().ok()
}

/// Whether a browser is about to show the answer as a page.
fn opens_a_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = accepted.flat_map(|value| value.split(','));
    types.any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/html")))
}

/// Whether the client accepts this encoding; a weight of zero refuses it.
fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| {
        let (name, weight) = item.split_once(';').unwrap_or((item, ""));
        let weight = weight.trim().strip_prefix("q=").map_or(Some(1.0), |q| q.trim().parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case(encoding) && weight.is_none_or(|weight| weight > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_decoded_once() {
        for (path, name) in [
            ("/assets/a%20b.js", Some("/assets/a b.js")),
            ("/caff%C3%A8.svg", Some("/caffè.svg")),
            ("/%2e%2e/secret", Some("/../secret")),
            ("/a%2520b", Some("/a%20b")),
            ("/100%", Some("/100%")),
            ("/a%2fb", None),
            ("/a%2Fb", None),
            ("/%ff", None),
        ] {
            assert_eq!(decoded(path).as_deref(), name, "{path}");
        }
    }

    #[test]
    fn origins_and_encodings() {
        assert_eq!(origin("https://id.example:8443/a/b"), "https://id.example:8443");
        assert_eq!(origin("https://id.example"), "https://id.example");
        let asked = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
            headers
        };
        assert!(accepts(&asked("deflate, gzip;q=0.5"), "gzip"));
        assert!(!accepts(&asked("gzip;q=0, br"), "gzip") && !accepts(&HeaderMap::new(), "gzip"));
    }
}
