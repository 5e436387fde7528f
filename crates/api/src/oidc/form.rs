//! Form bodies and queries of the provider.

use super::error;
use crate::extract::read;
use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    response::Response,
};
use bailiwick_app::App;
use bailiwick_identity::oidc::{ProviderError, authorize::Parameters};
use http::request::Parts;
use std::time::Duration;

/// Largest form body.
const MAX_FORM_BYTES: usize = 64 * 1024;

/// How long a form may take to arrive.
const FORM_TIMEOUT: Duration = Duration::from_secs(30);

/// A form body, whatever `Content-Type` says.
#[derive(Debug)]
pub struct Form(pub Parameters);

impl FromRequest<App> for Form {
    type Rejection = Response;
    async fn from_request(request: Request, _: &App) -> Result<Form, Response> {
        match read(request.into_body(), MAX_FORM_BYTES, FORM_TIMEOUT).await {
            Ok(bytes) => Ok(Form(Parameters::parse(&bytes))),
            Err(error) => Err(error::answer(ProviderError::Fault(error))),
        }
    }
}

#[derive(Debug)]
pub struct Query(pub Parameters);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Response;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Query, Response> {
        Ok(Query(Parameters::parse(parts.uri.query().unwrap_or_default().as_bytes())))
    }
}
