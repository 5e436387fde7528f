//! Headers and body of a request (spec: alerts#request-order).

use axum::body::Body;
use bailiwick_alertmanager::{Reject, RejectBody};
use bailiwick_alerts::Fault;
use bailiwick_domain::Error;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, header};
use std::{io::Read, time::Duration};

/// For a whole body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

fn coded(status: u16, message: String) -> Reject {
    Reject { status, body: RejectBody::Coded { code: status, message } }
}

/// The part of a media type before its parameters.
fn essence(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

fn texts<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = std::borrow::Cow<'h, str>> {
    headers.get_all(name).iter().map(|v| String::from_utf8_lossy(v.as_bytes()))
}

/// Only JSON is on offer.
pub(super) fn check_accept(headers: &HeaderMap) -> Result<(), Reject> {
    let mut is_absent = true;
    for line in texts(headers, &header::ACCEPT) {
        for range in line.split(',').map(essence).filter(|r| !r.is_empty()) {
            is_absent = false;
            if ["*/*", "application/*", "application/json"].iter().any(|r| r.eq_ignore_ascii_case(range)) {
                return Ok(());
            }
        }
    }
    if is_absent {
        return Ok(());
    }
    Err(coded(406, "unsupported media type requested, only [application/json] are available".to_owned()))
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Reject> {
    let given = texts(headers, &header::CONTENT_TYPE).next();
    let media = given.as_deref().map(essence).filter(|m| !m.is_empty()).unwrap_or("application/octet-stream");
    if media.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let text = format!("unsupported media type \"{media}\", only [application/json] are allowed");
    Err(coded(415, text))
}

/// Whether the body is compressed.
fn is_gzip(headers: &HeaderMap) -> Result<bool, Reject> {
    let mut is_gzip = false;
    for (n, line) in texts(headers, &header::CONTENT_ENCODING).enumerate() {
        let encoding = line.trim();
        let identity = encoding.is_empty() || encoding.eq_ignore_ascii_case("identity");
        if n == 0 && encoding.eq_ignore_ascii_case("gzip") {
            is_gzip = true;
        } else if !identity {
            return Err(coded(415, format!("unsupported content encoding \"{encoding}\"")));
        }
    }
    Ok(is_gzip)
}

/// The body of a POST, decoded; at most `limit` bytes before and after decoding. `what` is `alerts` or `silence`.
pub(super) async fn read(
    what: &'static str,
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> Result<Bytes, Fault> {
    check_content_type(headers)?;
    let is_gzip = is_gzip(headers)?;
    let unreadable =
        |reason: &str| coded(400, format!("parsing {what} body from \"\" failed, because {reason}"));
    let bytes = crate::extract::read(body, limit, BODY_TIMEOUT).await.map_err(|error| match error {
        Error::TooLarge { .. } => Fault::from(Reject::TOO_LARGE),
        Error::SlowBody => Fault::SlowBody,
        other => Fault::from(unreadable(match &other {
            Error::BadRequest { message, .. } => message,
            _ => "the request body could not be read",
        })),
    })?;
    if !is_gzip {
        return Ok(bytes);
    }
    // A small body may be a large one's work.
    let inflated = tokio::task::spawn_blocking(move || inflate(&bytes, limit)).await;
    match inflated.map_err(|e| Fault::Internal(e.to_string()))? {
        Inflated::Whole(bytes) => Ok(bytes),
        Inflated::TooLarge => Err(Reject::TOO_LARGE.into()),
        Inflated::Broken => Err(unreadable("the gzip encoding is broken").into()),
    }
}

enum Inflated {
    Whole(Bytes),
    TooLarge,
    Broken,
}

fn inflate(bytes: &[u8], limit: usize) -> Inflated {
    let mut out = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    match flate2::read::MultiGzDecoder::new(bytes).take(most).read_to_end(&mut out) {
        Err(_) => Inflated::Broken,
        Ok(_) if out.len() > limit => Inflated::TooLarge,
        Ok(_) => Inflated::Whole(out.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, values: &[&str]) -> HeaderMap {
        values.iter().map(|v| (name.clone(), v.parse().unwrap())).collect()
    }

    #[test]
    fn accept() {
        for good in [
            &[][..],
            &[""],
            &["*/*"],
            &["application/*;q=0.1"],
            &["text/html, Application/JSON; charset=utf-8"],
            &["text/html", "application/json"],
        ] {
            assert!(check_accept(&headers(header::ACCEPT, good)).is_ok(), "{good:?}");
        }
        for bad in ["text/html", "application/xml", "text/*", "json", "application/jsonx"] {
            assert_eq!(check_accept(&headers(header::ACCEPT, &[bad])).unwrap_err().status, 406, "{bad}");
        }
    }

    #[test]
    fn content_type_and_encoding() {
        assert!(check_content_type(&headers(header::CONTENT_TYPE, &["application/json;charset=x"])).is_ok());
        let missing = check_content_type(&HeaderMap::new()).unwrap_err().render();
        assert!(missing.contains(r#"\"application/octet-stream\""#), "{missing}");
        for (values, expected) in [
            (&[][..], Some(false)),
            (&["identity"], Some(false)),
            (&["GZIP"], Some(true)),
            (&["br"], None),
            (&["gzip, gzip"], None),
            (&["gzip", "gzip"], None),
        ] {
            assert_eq!(is_gzip(&headers(header::CONTENT_ENCODING, values)).ok(), expected, "{values:?}");
        }
    }
}
