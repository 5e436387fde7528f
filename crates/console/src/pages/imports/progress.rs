//! The last step of an import, sent while its rows are imported: the page up to the result, how far the import is, the
//! result, and the end of the page. Each part hides the one before it, so this needs no JavaScript.

use super::{became, frame};
use crate::{page, session::Session};
use axum::{
    body::Body,
    response::{Html, IntoResponse, Response},
};
use bailiwick_app::App;
use bailiwick_directory::imports::{Import, ImportKind};
use bailiwick_web::Uncompressed;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use std::{convert::Infallible, time::Duration};
use tokio::{
    sync::mpsc::{self, Sender},
    time::Instant,
};
use tracing::Instrument;

/// Between two parts.
const EVERY: Duration = Duration::from_millis(500);
/// Parts that wait for a slow reader; further ones are left out.
const WAITING: usize = 4;
/// Where the parts stand in the page.
const PARTS: &str = "<!-- parts -->";

/// The page of an import.
struct Running {
    app: App,
    session: Session,
    kind: ImportKind,
    /// Its rows.
    total: usize,
}

/// The page. The import runs on its own, however slowly the person reads; if they leave, it ends after the present row.
pub(super) async fn show(app: App, session: Session, kind: ImportKind, import: Import) -> Response {
    let page = page::text(&session.layout, "imports/result.html", frame(&session, kind, "result"));
    let Some((begin, end)) = page.as_deref().and_then(|page| page.split_once(PARTS)) else {
        return (StatusCode::INTERNAL_SERVER_ERROR, [(header::RETRY_AFTER, "5")]).into_response();
    };
    // The record of a request in an impersonation ends with the head of the answer.
    let is_recorded = session.browser.acting.as_ref().is_some_and(|acting| acting.is_recorded);
    let running = Running { app, session, kind, total: import.left() };
    let first = format!("{begin}{}", running.progress(0));
    if is_recorded {
        let result = running.import(import, None).await.unwrap_or_default();
        return Html(format!("{first}{result}{end}")).into_response();
    }
    let (parts, rest) = mpsc::channel(WAITING);
    let (tasks, end) = (running.app.platform.tasks.clone(), end.to_owned());
    let run = async move {
        if let Some(result) = running.import(import, Some(&parts)).await {
            // Sending fails after the person has left the page. They do not see the result then.
            let _ = parts.send(Bytes::from(format!("{result}{end}"))).await;
        }
    };
    tasks.spawn(run.instrument(tracing::Span::current()));
    let all = stream::unfold((Some(Bytes::from(first)), rest), |(first, mut rest)| async move {
        let part = match first {
            Some(first) => first,
            None => rest.recv().await?,
        };
        Some((Ok::<_, Infallible>(part), (None, rest)))
    });
    let mut response = Html(Body::from_stream(all)).into_response();
    // Neither compression nor a proxy may collect the parts.
    response.extensions_mut().insert(Uncompressed);
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl Running {
    /// Imports the rows and sends the progress every [`EVERY`]. Returns the result, or none if the person has left the
    /// page.
    async fn import(&self, mut import: Import, parts: Option<&Sender<Bytes>>) -> Option<String> {
        let mut outcomes = Vec::with_capacity(self.total);
        let mut reported_at = Instant::now();
        while let Some(outcome) =
            import.next(&self.app.directory, &self.session.caller, &self.session.context).await
        {
            outcomes.push(outcome);
            let Some(parts) = parts else { continue };
            if parts.is_closed() {
                return None;
            }
            if reported_at.elapsed() >= EVERY {
                reported_at = Instant::now();
                // A reader that is so slow gets a later one.
                let _ = parts.try_send(self.progress(outcomes.len()).into());
            }
        }
        let values = became(&self.session, self.kind, &outcomes);
        page::text(&self.session.layout, "imports/outcome.html", values)
    }

    fn progress(&self, done: usize) -> String {
        let values = json!({"done": done, "total": self.total});
        page::text(&self.session.layout, "imports/progress.html", values).unwrap_or_default()
    }
}
