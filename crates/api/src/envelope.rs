//! The envelope of every JSON answer (spec: conventions#envelope).

use axum::{
    body::Body,
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use bailiwick_domain::{Error, Page, Result, SortDirection};
use bailiwick_platform::{
    Platform, RequestContext,
    answer_cache::CachedAnswer,
    conditions::{PACKED, Version},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header, request::Parts};
use serde::Serialize;
use std::convert::Infallible;
use utoipa::ToSchema;

/// Whether the client accepts gzip (RFC 9110 §12.5.3).
#[derive(Clone, Copy, Debug)]
pub struct Gzip(pub bool);

impl<S: Send + Sync> FromRequestParts<S> for Gzip {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> std::result::Result<Gzip, Infallible> {
        let values = parts.headers.get_all(header::ACCEPT_ENCODING).iter();
        let codings = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        Ok(Gzip(codings.into_iter().any(|coding| {
            let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
            let is_refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0_f32));
            name.trim().eq_ignore_ascii_case("gzip") && !is_refused
        })))
    }
}

/// `{"code","message","data"}`.
#[derive(Debug, Serialize)]
pub struct Envelope<'a, T> {
    /// HTTP status.
    pub code: u16,
    /// Lower case unless quoted otherwise.
    pub message: &'a str,
    /// Null if nothing.
    pub data: T,
}

/// A successful answer.
#[derive(Debug)]
pub struct Answer<T> {
    status: StatusCode,
    message: std::borrow::Cow<'static, str>,
    data: T,
}

impl<T: Serialize> Answer<T> {
    /// 200.
    pub fn ok(message: impl Into<std::borrow::Cow<'static, str>>, data: T) -> Answer<T> {
        Answer { status: StatusCode::OK, message: message.into(), data }
    }

    /// 201.
    pub fn created(message: impl Into<std::borrow::Cow<'static, str>>, data: T) -> Answer<T> {
        Answer { status: StatusCode::CREATED, message: message.into(), data }
    }

    /// 202.
    pub fn accepted(message: impl Into<std::borrow::Cow<'static, str>>, data: T) -> Answer<T> {
        Answer { status: StatusCode::ACCEPTED, message: message.into(), data }
    }
}

impl<T: Serialize> Answer<T> {
    /// The body, for [`Cached`] to store and send again.
    pub fn write(self) -> Result<Bytes> {
        write(self.status, &self.message, &self.data).map(Bytes::from).map_err(Error::internal)
    }
}

impl<T: Serialize> Answer<T> {
    /// The answer to a read of one entity: with the tag of its state, and without body if the caller has that state.
    ///
    /// # Errors
    /// 412 when the caller insists on another state.
    pub fn tagged(
        self,
        platform: &Platform,
        request: &RequestContext,
        version: &Version,
    ) -> Result<Response> {
        let body = self.write()?;
        let tag = version.tag(platform, &body);
        let mut response = match request.conditions.is_known(version, &tag)? {
            true => StatusCode::NOT_MODIFIED.into_response(),
            false => json(StatusCode::OK, body.into()),
        };
        let headers = response.headers_mut();
        headers.insert(header::ETAG, HeaderValue::try_from(tag).map_err(Error::internal)?);
        headers.insert(header::VARY, HeaderValue::from_static("authorization"));
        Ok(response)
    }
}

/// Compressed bytes need another strong tag (RFC 9110 §8.8.3.3).
pub(crate) fn tag_of_coding<B>(mut response: Response<B>) -> Response<B> {
    let headers = response.headers_mut();
    if headers.contains_key(header::CONTENT_ENCODING)
        && let Some(tag) = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok()?.strip_suffix('"'))
        && let Ok(tag) = HeaderValue::try_from(format!("{tag}{PACKED}\""))
    {
        headers.insert(header::ETAG, tag);
    }
    response
}

impl<T: Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        render(self.status, &self.message, &self.data)
    }
}

/// A 200 with an envelope that is already written, and already compressed for clients that accept that.
#[derive(Debug)]
pub struct Cached(pub CachedAnswer, pub Gzip);

impl IntoResponse for Cached {
    fn into_response(self) -> Response {
        let Cached(written, Gzip(is_taken)) = self;
        let Some(gzip) = written.gzip.filter(|_| is_taken) else {
            return json(StatusCode::OK, written.plain.into());
        };
        let mut response = json(StatusCode::OK, gzip.into());
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        response
    }
}

fn write<T: Serialize>(status: StatusCode, message: &str, data: &T) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Envelope { code: status.as_u16(), message, data })
}

fn json(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An envelope as a response; compact JSON.
pub fn render<T: Serialize>(status: StatusCode, message: &str, data: &T) -> Response {
    match write(status, message, data) {
        Ok(body) => json(status, body.into()),
        Err(e) => {
            tracing::error!(error = %e, "an answer could not be written as JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// The position of a page within its list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Pagination {
    /// Number of this page, from 1. In a walk by cursors it counts the pages of the walk.
    pub page: u64,
    /// Largest number of entries on a page, as the service applied it.
    pub page_size: u64,
    /// Number of entries that match, on all pages. In a walk by cursors, the number at its beginning.
    pub total_count: u64,
    /// Number of pages; 0 when nothing matches.
    pub total_pages: u64,
    /// Whether a page follows this one.
    pub has_next: bool,
    /// Whether a page comes before this one.
    pub has_prev: bool,
    /// Number of the next page. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page: Option<u64>,
    /// Number of the previous page. Absent on the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prev_page: Option<u64>,
    /// The `sort_by` of the request, repeated as sent. Absent when it was empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort_by: Option<String>,
    /// The direction of the order, `asc` or `desc`. Absent when `sort_by` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(extensions(("x-enum" = json!(SortDirection::WORDS.list()))))]
    pub sort_direction: Option<String>,
    /// Value of `cursor` for the next page; null at the end. Present only in answers to a request with `cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub next_cursor: Option<Option<String>>,
}

impl Pagination {
    /// Of a page, with the sort as the client sent it.
    pub fn of<T>(page: &Page<T>, sort_by: Option<&str>, direction: Option<&str>) -> Pagination {
        let (number, pages) = (page.request.page, page.total_pages());
        let sort_by = sort_by.filter(|s| !s.is_empty()).map(str::to_owned);
        let direction = SortDirection::parse(direction.unwrap_or_default());
        Pagination {
            page: number,
            page_size: page.request.page_size,
            total_count: page.total,
            total_pages: pages,
            has_next: number < pages,
            has_prev: number > 1,
            next_page: (number < pages).then_some(number.saturating_add(1)),
            prev_page: (number > 1).then(|| number - 1),
            sort_direction: sort_by.as_ref().map(|_| direction.as_str().to_owned()),
            sort_by,
            next_cursor: None,
        }
    }

    /// Of a page of a walk: the cursor decides whether there is a next page, as rows come and go.
    #[must_use]
    pub fn walked(self, next: Option<String>) -> Pagination {
        Pagination {
            has_next: next.is_some(),
            next_page: next.as_ref().map(|_| self.page.saturating_add(1)),
            next_cursor: Some(next),
            ..self
        }
    }
}
