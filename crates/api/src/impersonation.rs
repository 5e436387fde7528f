//! Requests with an impersonation token: the token is looked up before anything else, the request is recorded before it
//! has any effect, and the record is completed with the answer (spec: conventions#order-of-checks,
//! impersonation#requests-while-impersonating). This applies to every route of the table, whatever credential it takes.

use crate::{
    extract::{Unread, authorization, read},
    route::{Credential, Route},
};
use axum::{body::Body, extract::FromRequestParts};
use bailiwick_app::App;
use bailiwick_domain::{Error, ImpersonationId, Result};
use bailiwick_identity::impersonation::{self, Acting, Call, OpenEntry, SentBody, of_body, shown_address};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri, header, request::Parts};
use http_body_util::BodyExt;
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Longest time for a body (spec: conventions#limits).
const BODY_TIME: Duration = Duration::from_secs(30);
/// Bodies up to this size are redacted on the request thread, larger ones off it.
const SMALL_BODY_BYTES: usize = 32 * 1024;

/// The requested address, before a base path was removed.
#[derive(Clone, Debug)]
pub struct Asked(pub(crate) Uri);

/// The session of the request's impersonation token, if it has one.
#[derive(Clone, Copy, Debug)]
pub struct InSession(pub Option<ImpersonationId>);

impl<S: Send + Sync> FromRequestParts<S> for InSession {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<InSession, Infallible> {
        Ok(parts.extensions.get::<InSession>().copied().unwrap_or(InSession(None)))
    }
}

/// The impersonation that the request's token stands for; none without such a token.
///
/// # Errors
/// For an invalid token, where the route would have accepted a valid one; 503 when its state cannot be read.
pub(crate) async fn recognise(app: &App, route: &Route, parts: &mut Parts) -> Result<Option<Acting>> {
    let Some(token) = impersonation::presented(&app.identity, authorization(&parts.headers)) else {
        return Ok(None);
    };
    match impersonation::authenticate(&app.identity, token).await {
        Ok(acting) => {
            parts.extensions.insert(InSession(Some(acting.session)));
            Ok(Some(acting))
        }
        // The route takes no token, so an invalid one does not matter.
        Err(Error::Unauthenticated { .. }) if !takes_tokens(route) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Whether the route is for signed-in people.
const fn takes_tokens(route: &Route) -> bool {
    !matches!(route.credential, Credential::Public) && !route.credential.is_of_system()
}

/// An opened record, and the parts of the request that are still to be recorded.
pub(crate) struct Record {
    opened: OpenEntry,
    upload: Option<Upload>,
}

/// Counts the bytes of a body as the handler reads it.
struct Upload {
    seen: Arc<AtomicU64>,
    content_type: Option<String>,
}

impl Record {
    /// Completes it with the status of the answer.
    pub(crate) async fn complete(self, status: StatusCode) {
        let data = self.upload.map(|upload| {
            let sent = SentBody::Bytes(upload.seen.load(Ordering::Relaxed));
            of_body(sent, upload.content_type.as_deref(), false)
        });
        let words = status.canonical_reason().unwrap_or("Unknown");
        self.opened.complete(status.as_u16(), words, data).await;
    }
}

/// Opens the record of a request and returns the body, which the handler of a JSON route then reads from memory.
///
/// # Errors
/// 503 when it cannot be written: the request is then not served.
pub(crate) async fn open(
    app: &App,
    route: &Route,
    session: ImpersonationId,
    parts: &mut Parts,
    body: Body,
) -> Result<(Record, Body)> {
    let (data, upload, body) = look_at(app, route, parts, body).await?;
    let uri = parts.extensions.get::<Asked>().map_or(&parts.uri, |asked| &asked.0);
    let path = shown_address(uri.path(), uri.query());
    let call = Call { session, path: &path, method: parts.method.as_str(), data: data.as_deref() };
    let opened = impersonation::open(&app.identity, call).await?;
    Ok((Record { opened, upload }, body))
}

/// The part of the request's record that is known before it is served.
async fn look_at(
    app: &App,
    route: &Route,
    parts: &mut Parts,
    body: Body,
) -> Result<(Option<String>, Option<Upload>, Body)> {
    let is_empty = http_body::Body::is_end_stream(&body);
    if matches!(parts.method, Method::GET | Method::HEAD) || is_empty {
        return Ok((None, None, body));
    }
    let content_type = content_type(&parts.headers);
    let length = content_length(&parts.headers);
    if route.is_upload() {
        if let Some(size) = length {
            return Ok((Some(of_body(SentBody::Bytes(size), content_type.as_deref(), false)), None, body));
        }
        let seen = Arc::new(AtomicU64::new(0));
        let counter = seen.clone();
        let counted = body.map_frame(move |frame| {
            counter.fetch_add(frame.data_ref().map_or(0, Bytes::len) as u64, Ordering::Relaxed);
            frame
        });
        return Ok((None, Some(Upload { seen, content_type }), Body::new(counted)));
    }
    let limit = app.settings.limits.body_bytes;
    match read(body, limit, BODY_TIME).await {
        Ok(bytes) if bytes.is_empty() => Ok((None, None, Body::empty())),
        Ok(bytes) => {
            let has_webhooks =
                route.path.ends_with("/config") || route.path.starts_with("/events/subscriptions");
            let data = redacted(bytes.clone(), content_type, has_webhooks).await?;
            Ok((Some(data), None, Body::from(bytes)))
        }
        Err(e) => {
            // At most this much of any body is read; the full size is only known if the client has announced it.
            let size = length.unwrap_or(limit as u64);
            parts.extensions.insert(Unread(e.into()));
            Ok((Some(of_body(SentBody::Bytes(size), content_type.as_deref(), false)), None, Body::empty()))
        }
    }
}

async fn redacted(body: Bytes, content_type: Option<String>, has_webhooks: bool) -> Result<String> {
    let is_small = body.len() <= SMALL_BODY_BYTES;
    let work = move || of_body(SentBody::Whole(&body), content_type.as_deref(), has_webhooks);
    if is_small {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)
}

fn content_type(headers: &HeaderMap) -> Option<String> {
    headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).map(str::to_owned)
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok())
}
