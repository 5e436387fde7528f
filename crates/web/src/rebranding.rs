//! Forms with names and pictures of products, and the answers with such pictures (spec: rebranding#upload,
//! rebranding#serving).

use crate::{Uncompressed, Upload, UploadFault};
use axum::{body::Body, response::Response};
use bailiwick_directory::rebranding::{MAX_NAME_BYTES, Part, ServedFile};
use bailiwick_domain::{Error, Result, rebranding::Asset};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::Value;
use std::time::Duration;

/// Largest form, in bytes.
const FORM_BYTES: u64 = 15 * 1024 * 1024;
/// Time for the whole body.
const BODY: Duration = Duration::from_secs(30);
/// Content that a file could run stays inactive when the file is shown as a page of its own.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

/// The parts of a form.
///
/// # Errors
/// A body that is no form, one that is too large or too slow.
pub async fn form(upload: Upload) -> Result<Vec<Part>> {
    // Bytes of a part beyond its limit are counted and not kept.
    let limit_of = |name: &str| Asset::parse(name).map_or(MAX_NAME_BYTES as u64, Asset::max_bytes);
    upload.parts(FORM_BYTES, BODY, limit_of).await.map_err(|fault| match fault {
        UploadFault::TooLarge(_) => {
            Error::TooLarge { message: "request body too large".into(), data: Value::Null }
        }
        UploadFault::TimedOut => Error::SlowBody,
        UploadFault::Malformed | UploadFault::Missing => Error::bad_request("invalid multipart form"),
    })
}

/// The version of a file that the client has already.
pub fn known_version(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok())
}

/// The answer with a file. A 304 replaces the stored headers of the earlier answer, so it has the same ones.
///
/// # Errors
/// A value that no header can hold.
pub fn file(shown: ServedFile) -> Result<Response> {
    let (status, file, bytes) = match shown {
        ServedFile::Content(file, bytes) => (StatusCode::OK, file, Some(bytes)),
        ServedFile::Unchanged(file) => (StatusCode::NOT_MODIFIED, file, None),
    };
    let length = bytes.as_ref().map(|bytes| bytes.len() as u64);
    let mut response = Response::new(bytes.map_or_else(Body::empty, Body::from));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if let Some(length) = length {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media.content_type()));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    let name = format!("inline; filename=\"{}.{}\"", file.asset.as_str(), file.media.extension());
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::try_from(name).map_err(Error::internal)?);
    headers.insert(header::ETAG, HeaderValue::try_from(file.etag).map_err(Error::internal)?);
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "private, max-age=300"),
        (header::VARY, "Authorization"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-site"));
    response.extensions_mut().insert(Uncompressed);
    Ok(response)
}
