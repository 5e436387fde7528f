//! Pages are made on threads that share their work. A thread of the HTTP front serves the connections of one core. A
//! page would keep it busy for a millisecond or two: the heartbeats and alerts of that core would wait, and pages of
//! several connections on one core would wait for each other while another core is idle. The front only packs the
//! finished page.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{StatusCode, header};
use tokio::{
    runtime::Handle,
    task::{JoinError, JoinSet},
};
use tracing::Instrument as _;

/// Serves the request on another runtime. A client that goes away ends its page.
pub(crate) async fn serve(State(threads): State<Handle>, request: Request, next: Next) -> Response {
    let mut page = JoinSet::new();
    page.spawn_on(next.run(request).in_current_span(), &threads);
    match page.join_next().await.map(|ended| ended.map_err(JoinError::try_into_panic)) {
        Some(Ok(response)) => response,
        Some(Err(Ok(panic))) => std::panic::resume_unwind(panic),
        // The process ends.
        Some(Err(Err(_))) | None => {
            (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")]).into_response()
        }
    }
}
