//! `GET /systems/info` (spec: systems-interface#info).

use super::Itself;
use crate::{envelope::Answer, error::Outcome, extract::Service, wire::system_side::InfoOutput};
use bailiwick_fleet::{Fleet, systems};

/// The data that the system may read about itself.
pub async fn show(Service(fleet): Service<Fleet>, Itself(system): Itself) -> Outcome<Answer<InfoOutput>> {
    let info = systems::info(&fleet, &system).await?;
    Ok(Answer::ok("system info retrieved successfully", InfoOutput::of(info)))
}
