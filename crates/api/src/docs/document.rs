//! The OpenAPI document with the base paths of this service, made once.

use super::answer::text;
use crate::{envelope::Gzip, openapi};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderValue, StatusCode, header};
use std::{io::Write, sync::OnceLock};

/// The document as it is sent.
#[derive(Debug, Default)]
pub(super) struct Document(OnceLock<Result<Packed, String>>);

#[derive(Clone, Debug)]
struct Packed {
    plain: Bytes,
    gzip: Bytes,
}

impl Document {
    pub(super) fn answer(&self, bases: &[String], policy: &str, Gzip(is_taken): Gzip) -> Response {
        match self.0.get_or_init(|| write(bases)) {
            Ok(packed) if is_taken => {
                let mut response = text(packed.gzip.clone().into(), "application/json", policy);
                let headers = response.headers_mut();
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
                response
            }
            Ok(packed) => text(packed.plain.clone().into(), "application/json", policy),
            Err(error) => {
                tracing::error!(error, "the interface document cannot be packed");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

fn write(bases: &[String]) -> Result<Packed, String> {
    let plain = openapi::document_at(bases).to_string();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let packed = gzip.write_all(plain.as_bytes()).and_then(|()| gzip.finish());
    Ok(Packed { plain: plain.into(), gzip: packed.map_err(|e| e.to_string())?.into() })
}
