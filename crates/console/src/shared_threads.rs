//! Pages are made on threads that share their work. A thread of the HTTP front serves the connections of one core. A page would
//! keep it busy for a millisecond or two: the heartbeats and alerts of that core would wait, and pages of several connections on
//! one core would wait for each other while another core is idle. The front only packs the finished page.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{StatusCode, header};
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

/// Serves the request on another runtime. A client that goes away ends its page.
pub(crate) async fn serve(State(threads): State<Handle>, request: Request, next: Next) -> Response {
    let page = threads.spawn(next.run(request).in_current_span());
    match AbortOnDropHandle::new(page).await {
        Ok(response) => response,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The process ends.
            Err(_) => (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")]).into_response(),
        },
    }
}
