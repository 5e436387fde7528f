//! `/systems/rebranding` (spec: rebranding#system-document).

use super::Itself;
use crate::{
    envelope::Answer, error::Outcome, extract::Service, impersonation::Asked,
    manage::rebranding::RebrandingPath, wire::rebranding::SystemRebrandingOutput,
};
use axum::{Extension, response::Response};
use bailiwick_directory::{Directory, rebranding};
use bailiwick_web::{known_version, rebranding_file};
use http::HeaderMap;

/// The path of this route after the base path.
const ROUTE: &str = "/systems/rebranding";

/// `GET /systems/rebranding`.
pub async fn document(
    Service(directory): Service<Directory>,
    Itself(system): Itself,
    Extension(Asked(uri)): Extension<Asked>,
) -> Outcome<Answer<SystemRebrandingOutput>> {
    let document = rebranding::document(&directory, &system).await?;
    let path = uri.path().trim_end_matches('/');
    let asked = path.strip_suffix(ROUTE).unwrap_or_default();
    let base = directory.settings.rebranding.asset_base_path.as_deref().unwrap_or(asked);
    Ok(Answer::ok("rebranding retrieved successfully", SystemRebrandingOutput::of(document, base)))
}

/// `GET /systems/rebranding/{product_id}/{asset}`.
pub async fn asset(
    Service(directory): Service<Directory>,
    Itself(system): Itself,
    path: RebrandingPath,
    headers: HeaderMap,
) -> Outcome<Response> {
    let known = known_version(&headers);
    Ok(rebranding_file(rebranding::asset_for_system(&directory, &system, path.asset(), known).await?)?)
}
