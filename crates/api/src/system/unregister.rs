//! `POST /systems/unregister` (spec: systems-interface#unregister). The body is not read.

use super::Itself;
use crate::{envelope::Answer, error::Outcome, extract::Ctx};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_fleet::systems;

/// Answers once the credential is dead.
pub async fn unregister(
    State(app): State<App>,
    Itself(system): Itself,
    Ctx(request): Ctx,
) -> Outcome<Answer<()>> {
    systems::unregister(&app, &request, &system).await?;
    Ok(Answer::ok("system unregistered successfully", ()))
}
