//! `POST /systems/inventory` (spec: systems-interface#inventory).

use super::Itself;
use crate::{
    envelope::render,
    error::{Outcome, with_retry_after},
    extract::{Service, read},
    wire::system_side::ReceiptOutput,
};
use axum::{extract::Request, response::Response};
use bailiwick_domain::{Error, Result};
use bailiwick_fleet::{
    Fleet,
    ingest::{self, Document},
};
use http::{HeaderMap, StatusCode, header};
use serde_json::json;
use std::time::Duration;

/// Longest time for the body (spec: conventions#limits).
const BODY_TIME: Duration = Duration::from_secs(180);

/// Answers once the document is kept.
pub async fn accept(
    Service(fleet): Service<Fleet>,
    Itself(system): Itself,
    request: Request,
) -> Outcome<Response> {
    fleet.inventories.check(&system.id)?;
    let document = receive(&fleet, request).await?;
    let accepted = match ingest::submit(&fleet, system.id, document).await {
        Err(Error::Unavailable { message, log }) => return Ok(unavailable(&message, &log)),
        other => other?,
    };
    let data = ReceiptOutput {
        system_id: system.id.to_string(),
        system_key: &system.system_key,
        timestamp: accepted.timestamp,
        data_size: accepted.data_size,
        queue_status: "queued",
        message: "Your inventory data has been received and will be processed shortly",
    };
    Ok(render(StatusCode::ACCEPTED, "Inventory received and queued for processing", &data))
}

async fn receive(fleet: &Fleet, request: Request) -> Result<Document> {
    let is_gzip = is_gzip(request.headers())?;
    let max = fleet.settings.systems.inventory_max_bytes;
    let announced = http_body::Body::size_hint(request.body()).exact();
    let body = read(request.into_body(), max, BODY_TIME).await.map_err(|e| match e {
        Error::TooLarge { .. } => ingest::too_large(max, announced),
        other => other,
    })?;
    Ok(Document { body, is_gzip })
}

fn is_gzip(headers: &HeaderMap) -> Result<bool> {
    let mut is_gzip = false;
    for (n, value) in headers.get_all(header::CONTENT_ENCODING).iter().enumerate() {
        match value.to_str().unwrap_or("?").trim().to_ascii_lowercase().as_str() {
            _ if n > 0 => return Err(Error::Unsupported("unsupported content encoding".into())),
            "" | "identity" => {}
            "gzip" => is_gzip = true,
            _ => return Err(Error::Unsupported("unsupported content encoding".into())),
        }
    }
    Ok(is_gzip)
}

/// 503 with the data that clients of this route read.
fn unavailable(message: &str, log: &str) -> Response {
    tracing::warn!(operation = "sendInventory", error = log, "request could not be served");
    let data = json!({"error": "Processing queue unavailable"});
    with_retry_after(render(StatusCode::SERVICE_UNAVAILABLE, message, &data))
}
