//! The last step of an import, sent while its rows are imported: the page up to the result, how far the import is, the result,
//! and the end of the page. Each part hides the one before it, so this needs no JavaScript.

use super::{became, frame};
use crate::{page, session::Guest};
use axum::{
    body::Body,
    response::{Html, IntoResponse, Response},
};
use bailiwick_app::App;
use bailiwick_directory::imports::{Import, Kind, Outcome};
use bailiwick_web::Uncompressed;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use std::{convert::Infallible, time::Duration};
use tokio::time::Instant;

/// Between two parts.
const EVERY: Duration = Duration::from_millis(500);
/// Where the parts stand in the page.
const PARTS: &str = "<!-- parts -->";

/// An import whose page is being sent.
struct Running {
    app: App,
    guest: Guest,
    kind: Kind,
    import: Import,
    outcomes: Vec<(usize, Outcome)>,
    total: usize,
    /// The end of the page; none once it is sent.
    end: Option<String>,
}

/// The page. If the person leaves it, the rows that have not begun are not imported.
pub(super) fn show(app: App, guest: Guest, kind: Kind, import: Import) -> Response {
    let page = page::text(&guest.look, "imports/result.html", frame(&guest, kind, "result"));
    let Some((begin, end)) = page.as_deref().and_then(|page| page.split_once(PARTS)) else {
        return (StatusCode::INTERNAL_SERVER_ERROR, [(header::RETRY_AFTER, "5")]).into_response();
    };
    let (total, end) = (import.left(), Some(end.to_owned()));
    let running = Running { app, guest, kind, import, outcomes: Vec::with_capacity(total), total, end };
    let first = Bytes::from(format!("{begin}{}", running.progress()));
    let parts = stream::unfold((Some(first), running), |(first, mut running)| async move {
        let part = match first {
            Some(first) => first,
            None => running.next().await?,
        };
        Some((Ok::<_, Infallible>(part), (None, running)))
    });
    let mut response = Html(Body::from_stream(parts)).into_response();
    // Neither compression nor a proxy may collect the parts.
    response.extensions_mut().insert(Uncompressed);
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl Running {
    /// Imports rows until it is time for another part; none when the whole page has been sent.
    async fn next(&mut self) -> Option<Bytes> {
        self.end.as_ref()?;
        let until = Instant::now() + EVERY;
        while let Some(outcome) = self.import.next(&self.app, &self.guest.caller, &self.guest.context).await {
            self.outcomes.push(outcome);
            if self.import.left() > 0 && Instant::now() >= until {
                return Some(self.progress().into());
            }
        }
        let values = became(&self.guest, self.kind, &self.outcomes);
        let result = page::text(&self.guest.look, "imports/outcome.html", values)?;
        Some(format!("{result}{}", self.end.take()?).into())
    }

    fn progress(&self) -> String {
        let values = json!({"done": self.outcomes.len(), "total": self.total});
        page::text(&self.guest.look, "imports/progress.html", values).unwrap_or_default()
    }
}
