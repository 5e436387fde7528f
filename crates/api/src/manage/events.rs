//! Events for other software (docs/events.md).

use super::PAGE_SIZE;
use crate::{
    Uncompressed,
    envelope::{Answer, Pagination},
    error::Outcome,
    extract::{Ctx, Params, Service, Who},
    wire::events::{Event, EventList},
};
use axum::{body::Body, response::Response};
use bailiwick_domain::{Error, SortDirection};
use bailiwick_events::{
    self as events, Events,
    stream::{self, Gap, Next},
};
use bailiwick_identity::{Identity, auth::BearerRequest, callers, impersonation};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Uri, header};
use serde_json::json;
use std::{convert::Infallible, fmt::Write as _, net::IpAddr, sync::Arc};

/// `GET /events`.
pub async fn list(
    Service(events): Service<Events>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<EventList>> {
    // The newest first, unless a reader continues from a position.
    let after = params.one("after").map(str::to_owned);
    let usual = if after.is_some() { "asc" } else { "desc" };
    let direction =
        params.one("sort_direction").filter(|d| SortDirection::WORDS.parse(d).is_some()).unwrap_or(usual);
    let query = events::ListQuery {
        page: params.page(PAGE_SIZE),
        types: params.many("types"),
        organization_id: params.many("organization_id"),
        with_descendants: false,
        object_id: params.many("object_id"),
        after,
        direction: SortDirection::parse(direction),
    };
    let events::Listed { page, removed_up_to } = events::list(&events, &caller, query).await?;
    let pagination = Pagination::of(&page, params.one("sort_by"), Some(direction));
    let source = &events.settings.public_url;
    let events = page.rows.into_iter().map(|event| Event::of(event, source)).collect();
    Ok(Answer::ok(
        "events retrieved successfully",
        EventList { events, removed_up_to: removed_up_to.to_string(), pagination },
    ))
}

/// `GET /events/stream`.
pub async fn stream(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    params: Params,
    uri: Uri,
    headers: HeaderMap,
) -> Outcome<Response> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let credential = StreamCredential {
        authorization: headers.get(header::AUTHORIZATION).map(text).unwrap_or_default(),
        client_ip: ctx.client_ip,
        path: uri.path().to_owned(),
    };
    // The header that a browser sends when it reconnects is newer than the parameter that its page has set.
    let last = headers.get("last-event-id").map(text).filter(|last| !last.is_empty());
    let last = last.or_else(|| params.one("last_event_id").map(str::to_owned));
    let source = identity.settings.public_url.clone();
    let opened = stream::open(
        &identity.events,
        &caller,
        credential.authenticator(&identity),
        params.many("types"),
        last,
    )
    .await?;
    let body = futures_util::stream::unfold(opened, move |mut opened| {
        let source = source.clone();
        async move {
            let next = opened.next().await?;
            Some((Ok::<_, Infallible>(Bytes::from(written(next, &source))), opened))
        }
    });
    // The head is sent at once, so that the listener knows the connection stands.
    let head = futures_util::stream::iter([Ok(Bytes::from_static(b"retry: 3000\n\n"))]);
    let mut response = Response::new(Body::from_stream(futures_util::StreamExt::chain(head, body)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.extensions_mut().insert(Uncompressed);
    Ok(response)
}

/// The credential with which a stream was opened.
#[derive(Clone)]
struct StreamCredential {
    authorization: String,
    client_ip: IpAddr,
    /// For the history of API keys.
    path: String,
}

impl StreamCredential {
    /// Authenticates this credential again at each call.
    fn authenticator(self, identity: &Identity) -> stream::Authenticate {
        let shared = Arc::new((identity.clone(), self));
        Box::new(move || {
            let shared = shared.clone();
            Box::pin(async move {
                let (identity, credential) = &*shared;
                let authorization = Some(credential.authorization.as_str());
                if let Some(token) = impersonation::presented(identity, authorization) {
                    return impersonation::authenticate(identity, token).await?.caller;
                }
                let request = BearerRequest {
                    authorization,
                    client_ip: credential.client_ip,
                    method: "GET",
                    path: &credential.path,
                };
                callers::authenticate_bearer(identity, &request).await
            })
        })
    }
}

/// The form on the wire. A reader remembers an `id` without data and does not show it.
fn written(next: Next, source: &str) -> String {
    let mut out = String::new();
    let done = match next {
        Next::Events(events) => events.into_iter().try_for_each(|event| {
            let event = Event::of(event, source);
            let data = serde_json::to_string(&event).unwrap_or_default();
            write!(out, "id: {}\nevent: {}\ndata: {data}\n\n", event.sequence, event.kind)
        }),
        Next::Gap(gap, cursor) => {
            let reason = match gap {
                Gap::Expired => "expired",
                Gap::Unknown => "unknown",
            };
            let data = json!({"reason": reason, "resumed_after": cursor.to_string()});
            write!(out, "id: {cursor}\nevent: events.gap\ndata: {data}\n\n")
        }
        Next::Ping(cursor) => write!(out, ": still here\nid: {cursor}\n\n"),
        Next::Leaving => write!(out, "retry: 2000\n\n"),
        Next::Refused(error) => {
            let (code, message) = match &error {
                Error::Unauthenticated { message, .. } => (401, message.as_ref()),
                Error::Unavailable { .. } => (503, "service temporarily unavailable"),
                _ => (500, "internal server error"),
            };
            write!(out, "event: events.end\ndata: {}\n\n", json!({"code": code, "message": message}))
        }
    };
    // Writing to a string does not fail.
    done.map(|()| out).unwrap_or_default()
}
