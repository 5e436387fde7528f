//! Inventory of a system, for management (spec: inventory#reads).

use super::PAGE_SIZE;
use crate::{
    chunked_body::Frame,
    envelope::{Answer, Pagination},
    error::{Failure, Outcome},
    extract::{Params, PathId, Service, Who},
    wire::inventory::{
        BatchRest, DiffOutput, InventoryRecordOutput, PageRest, SummaryOutput, TimelineOutput, diff_line,
    },
};
use axum::{
    extract::{FromRequestParts, RawPathParams},
    response::{IntoResponse, Response},
};
use bailiwick_domain::{Error, SystemId};
use bailiwick_fleet::{
    Fleet,
    inventory::{self, DiffFilter},
};
use bailiwick_web::{diff_filter, time_range};
use http::request::Parts;

/// The word of `fields`: records without their documents.
pub(crate) const WITHOUT_TEXT: &str = "meta";

/// The message when there is no inventory.
const NOTHING: &str = "no inventory available";

/// A system and the path after `inventory/`, not decoded.
#[derive(Debug)]
pub struct RecordPath {
    system: Option<SystemId>,
    entry: String,
}

impl<S: Send + Sync> FromRequestParts<S> for RecordPath {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<RecordPath, Failure> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let mut path = RecordPath { system: None, entry: String::new() };
        // A path that is not UTF-8 names nothing.
        for (name, value) in params.iter().flat_map(RawPathParams::iter) {
            match name {
                "id" => path.system = value.parse().ok(),
                "inventory_id" => path.entry = value.to_owned(),
                _ => {}
            }
        }
        Ok(path)
    }
}

/// `GET /systems/{id}/inventory`.
pub async fn history(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    PathId(id): PathId<SystemId>,
    params: Params,
) -> Outcome<Response> {
    let (system, page) =
        inventory::history(&fleet, &caller, id, time_range(&params), params.page(PAGE_SIZE)).await?;
    let rest = PageRest { pagination: Pagination::of(&page, None, None) };
    let frame = Frame::new("inventory history retrieved successfully", "records", &rest)?;
    let sizes = page.rows.iter().map(|record| (record.id, record.data_size));
    if params.one("fields") == Some(WITHOUT_TEXT) {
        // Without the texts, all rows of a page are small.
        let rows: Result<Vec<String>, Error> =
            page.rows.iter().map(|record| InventoryRecordOutput::line(system, record, None)).collect();
        let rows = rows?;
        return frame.fill(vec![Vec::new()], move |_| std::future::ready(Ok(rows.clone()))).await;
    }
    let portions = inventory::portions(sizes);
    let records = std::sync::Arc::new(page.rows);
    frame
        .fill(portions, move |ids| {
            let (fleet, records) = (fleet.clone(), records.clone());
            async move {
                let mut texts = inventory::texts(&fleet, &ids).await?;
                let named = records.iter().filter(|record| ids.contains(&record.id));
                // A record that was removed since it was selected is left out.
                let with_text = named.filter_map(|record| Some((record, texts.remove(&record.id)?)));
                with_text
                    .map(|(record, text)| InventoryRecordOutput::line(system, record, Some(text)))
                    .collect()
            }
        })
        .await
}

/// `GET /systems/{id}/inventory/latest`.
pub async fn latest(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    PathId(id): PathId<SystemId>,
) -> Outcome<Response> {
    let found = inventory::latest(&fleet, &caller, id).await?;
    let (Some(id), Some(latest)) = (id, found) else {
        return Ok(Answer::ok(NOTHING, ()).into_response());
    };
    let record = InventoryRecordOutput::of(id, latest)?;
    Ok(Answer::ok("latest inventory retrieved successfully", record).into_response())
}

/// `GET /systems/{id}/inventory/{inventory_id}`.
pub async fn show(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    path: RecordPath,
) -> Outcome<Answer<InventoryRecordOutput>> {
    let (system, found) = inventory::record(&fleet, &caller, path.system, &path.entry).await?;
    Ok(Answer::ok("inventory record retrieved successfully", InventoryRecordOutput::of(system, found)?))
}

/// `GET /systems/{id}/inventory/changes`.
pub async fn changes(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    PathId(id): PathId<SystemId>,
) -> Outcome<Response> {
    let Some(summary) = inventory::changes(&fleet, &caller, id).await? else {
        return Ok(Answer::ok(NOTHING, ()).into_response());
    };
    Ok(Answer::ok("changes summary retrieved successfully", SummaryOutput::from(summary)).into_response())
}

/// `GET /systems/{id}/inventory/changes/latest`.
pub async fn latest_changes(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    PathId(id): PathId<SystemId>,
) -> Outcome<Response> {
    let Some(summary) = inventory::latest_changes(&fleet, &caller, id).await? else {
        return Ok(Answer::ok(NOTHING, ()).into_response());
    };
    let message = "latest inventory changes summary retrieved successfully";
    Ok(Answer::ok(message, SummaryOutput::from(summary)).into_response())
}

/// `GET /systems/{id}/inventory/diffs`.
pub async fn diffs(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    PathId(id): PathId<SystemId>,
    params: Params,
) -> Outcome<Response> {
    let (system, page) =
        inventory::diffs(&fleet, &caller, id, &diff_filter(&params), params.page(PAGE_SIZE)).await?;
    let rest = PageRest { pagination: Pagination::of(&page, None, None) };
    let frame = Frame::new("inventory diffs retrieved successfully", "diffs", &rest)?;
    frame.fill(inventory::portions(page.rows), move |ids| lines(fleet.clone(), system, ids)).await
}

/// `GET /systems/{id}/inventory/diffs/latest`.
pub async fn latest_diffs(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    PathId(id): PathId<SystemId>,
) -> Outcome<Response> {
    let (system, record, chosen) = inventory::latest_diffs(&fleet, &caller, id).await?;
    let rest = BatchRest { count: chosen.len(), current_inventory_id: record };
    let frame = Frame::new("latest inventory diffs retrieved successfully", "diffs", &rest)?;
    frame.fill(inventory::portions(chosen), move |ids| lines(fleet.clone(), system, ids)).await
}

async fn lines(fleet: Fleet, system: SystemId, ids: Vec<i64>) -> Result<Vec<String>, Error> {
    let rows = inventory::diff_rows(&fleet, &ids).await?;
    rows.into_iter().map(|row| diff_line(&DiffOutput::of(system, row)?)).collect()
}

/// `GET /systems/{id}/inventory/timeline`.
pub async fn timeline(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    PathId(id): PathId<SystemId>,
    params: Params,
) -> Outcome<Answer<TimelineOutput>> {
    // The dates of all records, regardless of the filter.
    let filter = DiffFilter { records: None, ..diff_filter(&params) };
    let found = inventory::timeline(&fleet, &caller, id, &filter, params.page(PAGE_SIZE)).await?;
    Ok(Answer::ok("inventory timeline retrieved successfully", TimelineOutput::from(found)))
}
