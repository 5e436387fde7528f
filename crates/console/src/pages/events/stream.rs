//! What happens within the person's scope, as server-sent events for open pages: only what an event is about, so that a
//! page fetches the parts of itself that show it. The stream ends with the session.

use crate::{
    failure::Outcome,
    session::{self, Session},
};
use axum::{body::Body, extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_domain::Error;
use bailiwick_events::stream::{self, Next};
use bailiwick_identity::console;
use bailiwick_web::Uncompressed;
use bytes::Bytes;
use futures_util::{StreamExt, stream as streams};
use http::{HeaderMap, HeaderValue, header};
use std::{convert::Infallible, fmt::Write, sync::Arc};

/// How soon a browser comes back after the stream has ended, in milliseconds.
const RETRY: &str = "retry: 5000\n\n";

/// `GET /console/events`.
pub(crate) async fn open(State(app): State<App>, session: Session, headers: HeaderMap) -> Outcome<Response> {
    let cookie = session::session_cookie(&app, &headers);
    let cookie = cookie.ok_or_else(|| Error::unauthenticated("the session is over"))?;
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok());
    let last = last.filter(|last| !last.is_empty()).map(str::to_owned);
    let opened =
        stream::open(&app.events, &session.caller, authenticate(&app, cookie), Vec::new(), last).await?;
    let events = streams::unfold(opened, |mut opened| async move {
        let next = opened.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(written(next))), opened))
    });
    // The head is sent at once, so that the browser knows the connection stands.
    let head = streams::iter([Ok(Bytes::from_static(RETRY.as_bytes()))]);
    let mut response = Response::new(Body::from_stream(head.chain(events)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.extensions_mut().insert(Uncompressed);
    Ok(response)
}

/// Looks the session up again at each call.
fn authenticate(app: &App, cookie: String) -> stream::Authenticate {
    let shared = Arc::new((app.clone(), cookie));
    Box::new(move || {
        let shared = shared.clone();
        Box::pin(async move { console::present(&shared.0.identity, &shared.1).await })
    })
}

/// The form on the wire: the type of each event and its number. A gap tells the page to fetch everything again.
fn written(next: Next) -> String {
    let mut out = String::new();
    // Writing to a text does not fail.
    let _ = match next {
        Next::Events(events) => {
            events.iter().try_for_each(|event| write!(out, "id: {}\ndata: {}\n\n", event.seq, event.kind))
        }
        Next::Gap(_, cursor) => write!(out, "id: {cursor}\ndata: *\n\n"),
        Next::Ping(cursor) => write!(out, ": still here\nid: {cursor}\n\n"),
        Next::Leaving => write!(out, "{RETRY}"),
        Next::Refused(_) => write!(out, "event: end\ndata: over\n\n"),
    };
    out
}
