//! `/docs`: the OpenAPI document in an interactive viewer (Swagger UI). The viewer is part of the program, and the page
//! may not load anything from other hosts.

use crate::{Uncompressed, envelope::Gzip, identify::Asked, openapi};
use axum::{
    Extension, Router,
    body::Body,
    response::{IntoResponse, Response},
    routing::get,
};
use bailiwick_app::App;
use bytes::Bytes;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use http::{HeaderValue, StatusCode, header};
use std::{
    io::{Read, Write},
    sync::{Arc, OnceLock},
};

/// The path below a base path.
const PATH: &str = "/docs";

/// The page's own files only; the viewer sets styles and shows its icons as data.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const BUNDLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui-bundle.js.gz"));
const STYLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui.css.gz"));
const PAGE: &str = include_str!("../templates/reference.html");
const START: &str = include_str!("../templates/reference.js");

const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";

/// The page, its files and the document, below one base path.
pub fn router(app: &App) -> Router<App> {
    let shown = Arc::new(Document::new(app));
    let files = Router::new()
        .route("/swagger-ui-bundle.js", get(async |gzip: Gzip| packed(BUNDLE, SCRIPT_TYPE, gzip)))
        .route("/swagger-ui.css", get(async |gzip: Gzip| packed(STYLE, "text/css; charset=utf-8", gzip)))
        .route("/start.js", get(async || text(START.into(), SCRIPT_TYPE)))
        .route("/openapi.json", get(async move |gzip: Gzip| shown.answer(gzip)));
    Router::new().route(PATH, get(page)).nest(PATH, files)
}

/// The page refers to its files by full paths, because its own path may end with a slash or not.
async fn page(Extension(Asked(uri)): Extension<Asked>) -> Response {
    let own = uri.path().trim_end_matches('/');
    // The router has matched it, so it consists of a base path and this route; it is checked all the same before it is
    // inserted into the page.
    let is_plain = own.bytes().all(|b| b.is_ascii_alphanumeric() || b"/-._~".contains(&b));
    let page = PAGE.replace("{docs}", if is_plain { own } else { PATH });
    text(page.into(), "text/html; charset=utf-8")
}

/// The document with the base paths of this service, made once.
struct Document {
    bases: Vec<String>,
    written: OnceLock<Result<Packed, String>>,
}

#[derive(Clone)]
struct Packed {
    plain: Bytes,
    gzip: Bytes,
}

impl Document {
    fn new(app: &App) -> Document {
        Document { bases: app.settings.base_paths.clone(), written: OnceLock::new() }
    }

    fn write(&self) -> Result<Packed, String> {
        let plain = openapi::document_at(&self.bases).to_string();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        let packed = gzip.write_all(plain.as_bytes()).and_then(|()| gzip.finish());
        Ok(Packed { plain: plain.into(), gzip: packed.map_err(|e| e.to_string())?.into() })
    }

    fn answer(&self, Gzip(is_taken): Gzip) -> Response {
        match self.written.get_or_init(|| self.write()) {
            Ok(packed) if is_taken => compressed(packed.gzip.clone(), "application/json"),
            Ok(packed) => text(packed.plain.clone().into(), "application/json"),
            Err(e) => broken(e),
        }
    }
}

fn text(body: Body, content_type: &'static str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn compressed(file: Bytes, content_type: &'static str) -> Response {
    let mut response = text(file.into(), content_type);
    response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    response
}

fn broken(why: &str) -> Response {
    tracing::error!(error = why, "the API reference cannot be shown");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

/// A file that is stored compressed, and decompressed for the few clients that need that.
fn packed(file: &'static [u8], content_type: &'static str, Gzip(is_taken): Gzip) -> Response {
    let mut plain = Vec::new();
    let mut response = if is_taken {
        compressed(Bytes::from_static(file), content_type)
    } else {
        match GzDecoder::new(file).read_to_end(&mut plain) {
            Ok(_) => text(plain.into(), content_type),
            Err(e) => return broken(&e.to_string()),
        }
    };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    response.extensions_mut().insert(Uncompressed);
    response
}
