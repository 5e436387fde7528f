//! The export of the list of systems.

use super::{SystemQuery, prepare};
use crate::Fleet;
use bailiwick_directory::exports::{Asked, BOUNDS, File, Format, Job, Kind, bounded, render};
use bailiwick_domain::Result;
use bailiwick_export::systems::{Row, report, table};
use bailiwick_policy::Caller;
use bailiwick_store::systems as stored;

/// `GET /systems/export`.
///
/// # Errors
/// 400 without a format or with too many rows, 503 while too many exports are made or sent.
pub async fn export(service: &Fleet, caller: &Caller, query: SystemQuery, asked: Asked) -> Result<File> {
    let (scope, order, cutoff) = prepare(service, caller, &query)?;
    let format = Format::parse(&asked.format)?;
    let kind = Kind { noun: "Systems", plural: "systems" };
    let admission = service.exports.admit(caller).await?;
    let found = stored::export(&service.db, &scope, &query.filter, order, BOUNDS, cutoff).await?;
    let rows = bounded(found, kind)?;
    let (now, timeout) = (service.now(), service.settings.systems.liveness_timeout);
    let row = move |record: stored::SystemRecord| Row {
        status: record.system.status(now, timeout),
        system: record.system,
    };
    render(
        service,
        caller,
        Job { kind, format, filters: asked.filters, admission },
        rows,
        move |rows| table(rows.into_iter().map(row)),
        move |faces, cover, rows| report(faces, cover, rows.into_iter().map(row)),
    )
    .await
}
