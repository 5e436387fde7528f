//! The arguments of handlers: the caller, path ids, query values, the JSON body (read now, decoded when the use case
//! asks for it).

use crate::{error::Failure, route::Route};
use axum::extract::{FromRequest, FromRequestParts, Request};
use bailiwick_app::App;
use bailiwick_directory::imports;
use bailiwick_domain::{
    Error, FieldError, OrgType,
    json::{self, JsonError},
};
use bailiwick_identity::auth::BearerRequest;
use bailiwick_platform::{
    RequestContext,
    conditions::{Condition, Conditions},
};
use bailiwick_policy::Caller;
pub use bailiwick_web::{Params, PathId, PathText, Service};
pub(crate) use bailiwick_web::{client_ip, read};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header, request::Parts};
use serde::de::DeserializeOwned;
use std::{sync::Arc, time::Duration};

/// The error of reading the body, kept for the handler: it is reported only when the order of checks reaches the body.
#[derive(Clone, Debug)]
pub(crate) struct Unread(pub(crate) Failure);

fn missing(what: &str) -> Failure {
    Error::internal(format!("{what} is missing from the request; is the route in the table?")).into()
}

/// The caller, as the gate has verified.
#[derive(Clone, Debug)]
pub struct Who(pub Caller);

impl<S: Send + Sync> FromRequestParts<S> for Who {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Who, Failure> {
        parts.extensions.get::<Caller>().cloned().map(Who).ok_or_else(|| missing("the caller"))
    }
}

/// Request id and client address, and the conditions of the request on the state of its entity, on routes that support
/// them.
#[derive(Clone, Debug)]
pub struct Ctx(pub RequestContext);

impl<S: Send + Sync> FromRequestParts<S> for Ctx {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Ctx, Failure> {
        let found = parts.extensions.get::<RequestContext>().cloned();
        let mut context = found.ok_or_else(|| missing("the request context"))?;
        if parts.extensions.get::<Arc<Route>>().is_some_and(|route| route.is_conditional) {
            let read = |name| Condition::read(parts.headers.get_all(name).iter().map(HeaderValue::as_bytes));
            let (if_match, if_none_match) = (read(header::IF_MATCH), read(header::IF_NONE_MATCH));
            context.conditions = Conditions { if_match, if_none_match };
        }
        Ok(Ctx(context))
    }
}

/// The organization family of the route: `/distributors`, `/resellers`, `/customers`.
#[derive(Clone, Copy, Debug)]
pub struct Family(pub OrgType);

impl<S: Send + Sync> FromRequestParts<S> for Family {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Family, Failure> {
        let route = parts.extensions.get::<Arc<Route>>();
        route.and_then(|r| r.family).map(Family).ok_or_else(|| missing("the family"))
    }
}

/// The rows that an import route imports: the family of the route, or users.
#[derive(Clone, Copy, Debug)]
pub struct Imported(pub imports::ImportKind);

impl<S: Send + Sync> FromRequestParts<S> for Imported {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Imported, Failure> {
        let route = parts.extensions.get::<Arc<Route>>().ok_or_else(|| missing("the route"))?;
        Ok(Imported(route.family.map_or(imports::ImportKind::Users, imports::ImportKind::Organizations)))
    }
}

/// A JSON body: read within the route's limit, decoded when the use case asks for it (spec:
/// conventions#order-of-checks, step 11).
#[derive(Debug)]
pub struct JsonBody(Result<Bytes, Failure>);

impl FromRequest<App> for JsonBody {
    type Rejection = Failure;
    async fn from_request(request: Request, app: &App) -> Result<JsonBody, Failure> {
        if let Some(Unread(failure)) = request.extensions().get::<Unread>() {
            return Ok(JsonBody(Err(failure.clone())));
        }
        let limit = app.settings.limits.body_bytes;
        Ok(JsonBody(read(request.into_body(), limit, Duration::from_secs(30)).await.map_err(Failure::from)))
    }
}

impl JsonBody {
    /// Decodes it; a syntax or type error names the field (spec: conventions#validation-errors).
    pub fn parse<T: DeserializeOwned>(self) -> Result<T, Error> {
        let bytes = self.bytes()?;
        decode(&bytes).map_err(|unreadable| Error::Invalid(vec![unreadable.field()]))
    }

    /// As [`JsonBody::parse`] for an optional body.
    pub fn parse_optional<T: DeserializeOwned + Default>(self) -> Result<T, Error> {
        let bytes = self.bytes()?;
        if json::without_mark(&bytes).trim_ascii().is_empty() {
            return Ok(T::default());
        }
        decode(&bytes).map_err(|unreadable| Error::Invalid(vec![unreadable.field()]))
    }

    /// As [`JsonBody::parse`] for `/auth/*`, `/me/*` and `/impersonate*`, which have another error text.
    pub fn parse_request<T: DeserializeOwned>(self) -> Result<T, Error> {
        let bytes = self.bytes()?;
        decode(&bytes).map_err(|unreadable| Error::BadRequest {
            message: format!("invalid request body: {}", unreadable.words()).into(),
            data: crate::error::validation(&[unreadable.field()]),
        })
    }

    /// The undecoded body, for a body with rules of its own; one that is too large is refused with this message.
    pub fn raw(self, too_large: &'static str) -> Result<Bytes, Error> {
        self.bytes().map_err(|e| match e {
            Error::TooLarge { data, .. } => Error::TooLarge { message: too_large.into(), data },
            other => other,
        })
    }

    fn bytes(self) -> Result<Bytes, Error> {
        self.0.map_err(|f| match Arc::try_unwrap(f.0) {
            Ok(error) => error,
            Err(shared) => (*shared).clone(),
        })
    }
}

/// Why a body cannot be read, and where.
#[derive(Debug)]
enum Unreadable {
    /// JSON, but no object.
    NotAnObject,
    /// Another JSON type than the field has.
    WrongType(String),
    /// No JSON.
    Malformed { key: String, fault: JsonError },
}

impl Unreadable {
    /// For `data.errors`: a code (spec: conventions#validation-errors).
    fn field(&self) -> FieldError {
        match self {
            Unreadable::NotAnObject => FieldError::new("unknown", "not_an_object"),
            Unreadable::WrongType(key) => FieldError::new(key, "wrong_type"),
            Unreadable::Malformed { key, fault: JsonError { reason, line, column } } => {
                let place = format!("line {line} column {column}: {reason}");
                FieldError::new(key, "malformed_json").with_value(place)
            }
        }
    }

    /// For a message that people read.
    fn words(&self) -> String {
        match self {
            Unreadable::NotAnObject => "must be a JSON object".to_owned(),
            Unreadable::WrongType(_) => "wrong type".to_owned(),
            Unreadable::Malformed { fault, .. } => format!("malformed JSON: {fault}"),
        }
    }

    /// Without serde's own words about Rust types.
    fn of(e: &serde_json::Error, path: String, body: &[u8]) -> Unreadable {
        let is_known = !e.is_syntax() && path != "." && !path.contains('?');
        let key = if is_known { path } else { "unknown".to_owned() };
        match json::fault(body).filter(|_| !e.is_data()) {
            Some(fault) => Unreadable::Malformed { key, fault },
            None => Unreadable::WrongType(key),
        }
    }
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    let bytes = json::without_mark(bytes);
    // serde would take an array for a structure, field by field.
    if bytes.trim_ascii_start().first().is_some_and(|b| *b != b'{') {
        let malformed = |fault| Unreadable::Malformed { key: "unknown".to_owned(), fault };
        return Err(json::fault(bytes).map_or(Unreadable::NotAnObject, malformed));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader)
        .map_err(|e| Unreadable::of(e.inner(), e.path().to_string(), bytes))?;
    reader.end().map_err(|e| Unreadable::of(&e, ".".to_owned(), bytes))?;
    Ok(value)
}

/// The `Authorization` header. A header that is not text is malformed, and is returned as an empty text, which is
/// malformed too. So are two of them: a proxy in front may have checked the other one.
pub(crate) fn authorization(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).into_iter();
    let first = all.next()?;
    Some(if all.next().is_none() { first.to_str().unwrap_or_default() } else { "" })
}

/// The parts of a request with a bearer token that authentication reads.
pub(crate) fn bearer(parts: &Parts) -> bailiwick_domain::Result<BearerRequest<'_>> {
    Ok(BearerRequest {
        authorization: authorization(&parts.headers),
        client_ip: client_ip(parts)?,
        method: parts.method.as_str(),
        path: parts.uri.path(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::answer, routes};
    use axum::body::Body;
    use http::StatusCode;
    use std::convert::Infallible;

    // A broken connection is not a mistake of the client: it may retry.
    // Proves spec: clients#checklist 14.
    #[tokio::test]
    async fn a_body_that_does_not_come_passes() {
        let stalled = Body::from_stream(futures_util::stream::pending::<Result<Bytes, Infallible>>());
        let error = read(stalled, 10, Duration::from_millis(1)).await.unwrap_err();
        let row = routes::table().into_iter().find(|r| r.operation == "sendInventory");
        let refused = answer(&error, &row.expect("the row"));
        assert_eq!(refused.status(), StatusCode::REQUEST_TIMEOUT);
        assert_eq!(refused.headers()[header::RETRY_AFTER], "5");
    }
}
