//! `GET /proxy/credentials` (spec: systems-interface#older-paths).

use super::Itself;
use crate::{
    envelope::render,
    error::{Outcome, no_route},
    extract::{Ctx, Service},
    wire::system_side::CredentialsOutput,
};
use axum::response::Response;
use bailiwick_fleet::{Fleet, systems};
use http::{Method, StatusCode};

/// Answers once the new secret is valid and the previous one is not.
pub async fn issue(
    Service(fleet): Service<Fleet>,
    Itself(system): Itself,
    Ctx(request): Ctx,
    method: Method,
) -> Outcome<Response> {
    // A HEAD would end the old secret without returning the new one.
    if method != Method::GET {
        return Ok(no_route());
    }
    let issued = systems::issue_credentials(&fleet, &request, &system).await?;
    let data = CredentialsOutput { system_key: issued.system_key, system_secret: issued.secret.reveal() };
    Ok(render(StatusCode::OK, "credentials issued", &data))
}
