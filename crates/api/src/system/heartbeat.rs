//! `POST /systems/heartbeat` (spec: systems-interface#heartbeat). The body is not read.

use super::Itself;
use crate::{envelope::render, error::Outcome, wire::system_side::HeartbeatOutput};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_fleet::ingest;
use http::StatusCode;

/// Answers once the heartbeat is committed.
pub async fn accept(State(app): State<App>, Itself(system): Itself) -> Outcome<Response> {
    let last_heartbeat = ingest::heartbeat(&app, &system).await?;
    let data = HeartbeatOutput { system_key: &system.system_key, acknowledged: true, last_heartbeat };
    Ok(render(StatusCode::OK, "heartbeat acknowledged", &data))
}
