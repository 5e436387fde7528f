//! `GET /systems/info` (spec: systems-interface#info).

use super::Itself;
use crate::{envelope::Answer, error::Outcome, wire::system_side::InfoOutput};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_fleet::systems;

/// What the system may know of itself.
pub async fn show(State(app): State<App>, Itself(system): Itself) -> Outcome<Answer<InfoOutput>> {
    let info = systems::info(&app, &system).await?;
    Ok(Answer::ok("system info retrieved successfully", InfoOutput::of(&app, info)))
}
