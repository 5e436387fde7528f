//! Resolved alerts reported by a remote alert router (spec: alerts#history-webhook).

use crate::{
    error::Outcome,
    extract::authorization,
    extract::{Service, read},
};
use axum::extract::Request;
use bailiwick_alerts::{self as alerts, Alerts};
use http::StatusCode;
use std::time::Duration;

/// Largest delivery.
const BODY: usize = 1024 * 1024;

/// `POST /alert_history`. The body of a caller without the secret is not read.
pub async fn save(Service(alerts): Service<Alerts>, request: Request) -> Outcome<StatusCode> {
    alerts::history_webhook::admit(&alerts, authorization(request.headers()))?;
    let body = read(request.into_body(), BODY, Duration::from_secs(30)).await?;
    alerts::history_webhook::save(&alerts, &body).await?;
    Ok(StatusCode::NO_CONTENT)
}
