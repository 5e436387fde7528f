//! Handlers of requests that systems make with their own credential, and of the registration that makes it valid.

pub mod alert_history;
pub mod backups;
pub mod credentials;
pub mod heartbeat;
pub mod info;
pub mod inventory;
pub mod rebranding;
pub mod register;
pub mod unregister;

use crate::error::Failure;
use axum::extract::FromRequestParts;
use bailiwick_domain::Error;
use bailiwick_identity::credentials::SystemIdentity;
use http::request::Parts;
use std::sync::Arc;

/// The calling system, which the gate has verified.
#[derive(Clone, Debug)]
pub struct Itself(pub Arc<SystemIdentity>);

impl<S: Send + Sync> FromRequestParts<S> for Itself {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Itself, Failure> {
        let system = parts.extensions.get::<Arc<SystemIdentity>>().cloned();
        system
            .map(Itself)
            .ok_or_else(|| Error::internal("the gate left no system; is it a system route?").into())
    }
}
