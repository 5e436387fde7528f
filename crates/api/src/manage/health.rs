//! `GET /health` (spec: conventions#health).

use crate::{envelope::render, error::with_retry_after};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_domain::API_VERSION;
use bailiwick_platform::write_check;
use bailiwick_settings::Build;
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

/// The version and platform of the running service.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// Version of the service.
    pub version: &'static str,
    /// Commit that the service was built from; `unknown` if neither a repository nor a packager names it.
    pub commit: &'static str,
    /// Time of that commit, or the time that the packager has set, in RFC 3339; `unknown` if there is none.
    pub build_time: &'static str,
    /// Operating system and architecture, such as `linux/x86_64`.
    pub platform: String,
    /// Version of the interface, the value of the header `API-Version`.
    pub api_version: &'static str,
}

impl Health {
    /// Of this program.
    pub(crate) fn own(app: &App) -> Health {
        let Build { version, commit, time } = app.settings.build;
        Health {
            version,
            commit,
            build_time: time,
            platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
            api_version: API_VERSION,
        }
    }
}

/// 200 while the database can be written, else 503 with the same data.
pub async fn show(State(app): State<App>) -> Response {
    let health = Health::own(&app);
    match write_check::check(&app.platform).await {
        Ok(()) => render(StatusCode::OK, "service healthy", &health),
        Err(_) => with_retry_after(render(StatusCode::SERVICE_UNAVAILABLE, "service unhealthy", &health)),
    }
}
