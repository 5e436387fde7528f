//! `POST /systems/heartbeat` (spec: systems-interface#heartbeat). The body is not read.

use super::Itself;
use crate::{envelope::render, error::Outcome, extract::Service, wire::system_side::HeartbeatOutput};
use axum::response::Response;
use bailiwick_fleet::{Fleet, ingest};
use http::StatusCode;

/// Answers once the heartbeat is committed.
pub async fn accept(Service(fleet): Service<Fleet>, Itself(system): Itself) -> Outcome<Response> {
    let last_heartbeat = ingest::heartbeat(&fleet, &system).await?;
    let data = HeartbeatOutput { system_key: &system.system_key, acknowledged: true, last_heartbeat };
    Ok(render(StatusCode::OK, "heartbeat acknowledged", &data))
}
