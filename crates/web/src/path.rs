//! The parameters of a path.

use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use std::{convert::Infallible, str::FromStr};

/// The last path parameter as an id; `None` = malformed, which the use case treats as missing (spec:
/// conventions#addresses).
#[derive(Clone, Copy, Debug)]
pub struct PathId<T>(pub Option<T>);

impl<S: Send + Sync, T: FromStr> FromRequestParts<S> for PathId<T> {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PathId<T>, Infallible> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        // A path that is not UTF-8 names nothing either.
        Ok(PathId(params.ok().and_then(|p| p.iter().last().and_then(|(_, v)| v.parse().ok()))))
    }
}

/// The last path parameter, not decoded; empty if it is not UTF-8.
#[derive(Clone, Debug)]
pub struct PathText(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PathText, Infallible> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let last = params.ok().and_then(|p| p.iter().last().map(|(_, value)| value.to_owned()));
        Ok(PathText(last.unwrap_or_default()))
    }
}
