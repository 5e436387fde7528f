//! Pages and files as answers.

use crate::Uncompressed;
use axum::{body::Body, response::Response};
use bailiwick_guide::{Page, Picture, SignIn};
use bailiwick_platform::conditions::PACKED;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use url::Url;

/// The policy of the pages: their own files only. Scripts may ask the service, and the provider where people sign in.
pub(super) fn policy(sign_in: Option<&SignIn>) -> String {
    let provider =
        sign_in.and_then(|at| Url::parse(&at.issuer).ok()).map(|url| url.origin().ascii_serialization());
    let provider =
        provider.filter(|origin| origin != "null").map(|origin| format!(" {origin}")).unwrap_or_default();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'{provider}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
}

/// A page; browsers ask each time whether it is still the same.
pub(super) fn page(page: Page, policy: &str, asked: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", page.tag);
    let is_known = knows(asked, &page.tag);
    let body = if is_known { Body::empty() } else { page.html.into() };
    let mut response = text(body, "text/html; charset=utf-8", policy);
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    put_tag(&mut response, &tag);
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("cookie"));
    response
}

/// The policy of SVG files. A browser that opens one as a page applies its style and runs nothing.
const SVG_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

pub(super) fn picture(picture: Picture, policy: &str, asked: &HeaderMap) -> Response {
    let is_known = knows(asked, &picture.tag);
    let body = if is_known { Body::empty() } else { Bytes::from_static(picture.bytes).into() };
    let mut response = match picture.is_svg {
        true => text(body, "image/svg+xml", SVG_POLICY),
        false => text(body, "image/png", policy),
    };
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    put_tag(&mut response, &format!("\"{}\"", picture.tag));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    if !picture.is_svg {
        response.extensions_mut().insert(Uncompressed);
    }
    response
}

/// A file whose name says what it holds.
pub(super) fn file(body: Body, media_type: &'static str, policy: &str) -> Response {
    let mut response = text(body, media_type, policy);
    let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(header::CACHE_CONTROL, forever);
    response
}

/// An answer with the headers that all of them have.
pub(super) fn text(body: Body, media_type: &'static str, policy: &str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Ok(policy) = HeaderValue::from_str(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn put_tag(response: &mut Response, tag: &str) {
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
}

/// Whether the client has this state, packed or not (RFC 9110 §13.1.2).
fn knows(asked: &HeaderMap, tag: &str) -> bool {
    let tags = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    tags.flat_map(|tags| tags.split(',')).any(|known| {
        let known = known.trim().trim_start_matches("W/").trim_matches('"');
        known == "*" || known.strip_suffix(PACKED).unwrap_or(known) == tag
    })
}
