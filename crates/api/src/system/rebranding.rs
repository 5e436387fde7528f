//! `/systems/rebranding` (spec: rebranding#system-document).

use super::Itself;
use crate::{
    acting::Asked,
    envelope::Answer,
    error::Outcome,
    manage::rebranding::{RebrandingPath, file, known},
    wire::rebranding::SystemRebrandingOutput,
};
use axum::{Extension, extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_directory::rebranding;
use http::HeaderMap;

/// What follows the base path of this route.
const ROUTE: &str = "/systems/rebranding";

/// `GET /systems/rebranding`.
pub async fn document(
    State(app): State<App>,
    Itself(system): Itself,
    Extension(Asked(uri)): Extension<Asked>,
) -> Outcome<Answer<SystemRebrandingOutput>> {
    let document = rebranding::document(&app, &system).await?;
    let path = uri.path().trim_end_matches('/');
    let asked = path.strip_suffix(ROUTE).unwrap_or_default();
    let base = app.settings.rebranding.asset_base_path.as_deref().unwrap_or(asked);
    Ok(Answer::ok("rebranding retrieved successfully", SystemRebrandingOutput::of(document, base)))
}

/// `GET /systems/rebranding/{product_id}/{asset}`.
pub async fn asset(
    State(app): State<App>,
    Itself(system): Itself,
    path: RebrandingPath,
    headers: HeaderMap,
) -> Outcome<Response> {
    file(rebranding::asset_for_system(&app, &system, path.asset(), known(&headers)).await?)
}
