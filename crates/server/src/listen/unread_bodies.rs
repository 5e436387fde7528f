//! Bodies that are still unread when the answer is ready: those of requests that are refused by their head.
//!
//! The rest of such a body is a problem. If the connection is closed over it, it is reset, which may destroy the
//! answer; and a client that does not learn of the end sends its next request into it. So a small rest is read, and the
//! connection goes on; otherwise the answer announces the end, and further bytes are read for a while after its last
//! byte.

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::timeout;

/// Largest rest that is read before the answer is sent.
const REST_BYTES: u64 = 256 * 1024;
/// For as long.
const REST_TIME: Duration = Duration::from_secs(1);
/// How long the rest is read after the end of an answer.
pub(super) const LINGER_TIME: Duration = Duration::from_secs(2);
/// And how much.
pub(super) const LINGER_BYTES: usize = 16 * 1024 * 1024;

/// The body that a handler has dropped before reading all of it.
#[derive(Clone, Default)]
pub(super) struct AbandonedBody(Arc<Mutex<Option<Incoming>>>);

impl AbandonedBody {
    fn put(&self, body: Incoming) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
    }

    /// Whether no part of the request is left: it was read to its end, or is now. With `is_awaited` the client waits to
    /// be asked for its body (`Expect`); reading would ask.
    pub(super) async fn is_over(&self, is_awaited: bool) -> bool {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(body) = left else { return true };
        if is_awaited || body.size_hint().lower() > REST_BYTES {
            return body.is_end_stream();
        }
        timeout(REST_TIME, read(body)).await.unwrap_or(false)
    }
}

async fn read(mut body: Incoming) -> bool {
    let mut limit = REST_BYTES;
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(frame) = frame else { return false };
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        let Some(left) = limit.checked_sub(u64::try_from(bytes).unwrap_or(u64::MAX)) else { return false };
        limit = left;
    }
    true
}

/// A request's body. If it is dropped before its end, it goes into an [`AbandonedBody`].
pub(super) struct TrackedBody {
    body: Option<Incoming>,
    left: Option<AbandonedBody>,
}

impl TrackedBody {
    /// With `None` for a request that has no body.
    pub(super) fn new(body: Incoming, left: Option<AbandonedBody>) -> TrackedBody {
        TrackedBody { body: Some(body), left }
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        if let (Some(left), Some(body)) = (&self.left, self.body.take()) {
            left.put(body);
        }
    }
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}
