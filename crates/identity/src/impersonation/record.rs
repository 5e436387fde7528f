//! The record of a request with an impersonation token (spec: impersonation#requests-while-impersonating): opened
//! before the request is handled, completed with its response.

use crate::{Identity, auth::unreadable};
use bailiwick_domain::{ImpersonationId, Result};
use bailiwick_store::{StoreError, impersonation::entries};
use std::thread;
use tokio::runtime::Handle;

/// A request that begins.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The session of its token.
    pub session: ImpersonationId,
    /// Path and query without secrets.
    pub path: &'a str,
    pub method: &'a str,
    /// The recorded parts of the request, without secrets.
    pub data: Option<&'a str>,
}

/// Characters of an address that are kept.
const PATH_CHARS: usize = 255;

/// Records that the request begins.
///
/// # Errors
/// 503: the request must not be handled then.
pub async fn open(service: &Identity, call: Call<'_>) -> Result<OpenEntry> {
    let endpoint: String = call.path.chars().take(PATH_CHARS).collect();
    let new = entries::NewCall {
        id: service.platform.fresh(),
        session: call.session,
        at: service.platform.now(),
        endpoint: &endpoint,
        method: call.method,
        data: call.data,
    };
    let mut tx = service.platform.db.begin().await.map_err(unreadable)?;
    let seq = entries::open(&mut tx, &new).await.map_err(unreadable)?;
    tx.commit().await.map_err(unreadable)?;
    Ok(OpenEntry { service: service.clone(), seq, is_complete: false })
}

/// An entry without its end. When it is dropped incomplete, because the client has disconnected or the handler has
/// panicked, the entry says so.
#[derive(Debug)]
pub struct OpenEntry {
    service: Identity,
    seq: i64,
    is_complete: bool,
}

impl OpenEntry {
    /// Records the response. `data`: details known only when the request has ended. A failure is logged: the request
    /// has already been handled, and the entry shows that it began.
    pub async fn complete(mut self, status: u16, words: &'static str, data: Option<String>) {
        self.is_complete = true;
        let (service, seq) = (self.service.clone(), self.seq);
        // A separate task, so that a client that disconnects now does not interrupt it.
        let completion = async move {
            if let Err(e) = complete(&service, seq, Some(status), words, data.as_deref()).await {
                tracing::error!(entry = seq, status, error = %e, "an impersonated request could not be recorded to its end");
            }
        };
        if self.service.platform.tasks.spawn(completion).await.is_err() {
            tracing::error!(entry = seq, status, "an impersonated request could not be recorded to its end");
        }
    }
}

impl Drop for OpenEntry {
    fn drop(&mut self) {
        let Some(runtime) = (!self.is_complete).then(Handle::try_current).and_then(Result::ok) else {
            return;
        };
        let (service, seq) = (self.service.clone(), self.seq);
        // A panic is answered further out.
        let (status, words) =
            if thread::panicking() { (Some(500), "Internal Server Error") } else { (None, "not answered") };
        let completion = async move {
            if let Err(e) = complete(&service, seq, status, words, None).await {
                tracing::warn!(entry = seq, error = %e, "an impersonated request could not be recorded to its end");
            }
        };
        drop(self.service.platform.tasks.spawn_on(completion, &runtime));
    }
}

async fn complete(
    service: &Identity,
    seq: i64,
    status: Option<u16>,
    words: &str,
    data: Option<&str>,
) -> Result<(), StoreError> {
    // The beginning is committed safely; a crash may lose the end of the most recent entries.
    let mut tx = service.platform.db.begin_relaxed().await?;
    entries::complete(&mut tx, seq, status, words, data).await?;
    tx.commit().await
}
