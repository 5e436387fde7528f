//! The file of an import (spec: imports-and-exports#imports).

use crate::{Upload, UploadFault};
use axum::response::{IntoResponse, Response};
use bailiwick_directory::imports::{ImportKind, MAX_FILE_BYTES};
use bailiwick_domain::{Error, Result};
use bytes::Bytes;
use http::header;
use serde_json::Value;
use std::time::Duration;

/// Longest time for the file (spec: conventions#limits).
const BODY_TIME: Duration = Duration::from_secs(180);

/// The empty file of an import.
pub fn template(kind: ImportKind) -> Response {
    let disposition = format!("attachment; filename=\"{}_import_template.csv\"", kind.word());
    let headers = [(header::CONTENT_TYPE, "text/csv".to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    (headers, kind.template()).into_response()
}

/// The part `file` of a form.
///
/// # Errors
/// A body without it, one that is too large or too slow.
pub async fn file(upload: Upload) -> Result<Bytes> {
    upload.part("file", MAX_FILE_BYTES, BODY_TIME).await.map_err(|fault| match fault {
        UploadFault::Malformed | UploadFault::Missing => Error::bad_request("file parameter required"),
        UploadFault::TimedOut => Error::SlowBody,
        UploadFault::TooLarge(size) => Error::TooLarge {
            message: format!("file too large ({size} bytes). maximum allowed: {MAX_FILE_BYTES} bytes").into(),
            data: Value::Null,
        },
    })
}
