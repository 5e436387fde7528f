//! The export of the list of systems.

use super::{SystemQuery, prepare};
use crate::Fleet;
use bailiwick_directory::exports::{self, Asked, File, Format, ListName, Source, Stored, Written};
use bailiwick_domain::{Result, SortDirection};
use bailiwick_export::{
    Cover, Faces,
    systems::{Row, report, table},
};
use bailiwick_policy::{Caller, Resource, Scope, list_scope};
use bailiwick_store::{
    systems::{self as stored, KnownCounts, SystemFilter, SystemOrder, SystemRecord},
    walk::{Step, WalkStep},
};

/// `GET /systems/export`.
///
/// # Errors
/// 400 without a format or for a PDF with too many rows, 503 while too many exports are made or sent.
pub async fn export(service: &Fleet, caller: &Caller, query: SystemQuery, request: Asked) -> Result<File> {
    let scope = list_scope(caller, Resource::Systems)?;
    let order = prepare(&query)?;
    let format = Format::parse(&request.format)?;
    let kind = ListName { noun: "Systems", plural: "systems" };
    let source = Systems { service: service.clone(), scope, filter: query.filter, order };
    exports::export(&service.directory, caller, (kind, format), request.filters, source).await
}

struct Systems {
    service: Fleet,
    scope: Scope,
    filter: SystemFilter,
    order: (SystemOrder, SortDirection),
}

impl Systems {
    fn row(&self, record: SystemRecord) -> Row {
        let system = record.seen_from(&self.scope).system;
        Row { status: system.status(), system }
    }
}

impl Source for Systems {
    type Line = SystemRecord;

    async fn read(&self, step: Step) -> Stored<WalkStep<SystemRecord>> {
        let counts = KnownCounts::default();
        stored::walk(&self.service.platform.db, &self.scope, &self.filter, self.order, counts, &step).await
    }

    async fn count(&self) -> Stored<u64> {
        stored::total(&self.service.platform.db, &self.scope, &self.filter, KnownCounts::default()).await
    }

    fn table(&self, lines: Vec<SystemRecord>, has_header: bool) -> Written {
        table(lines.into_iter().map(|record| self.row(record)), has_header)
    }

    fn report(&self, faces: &Faces, cover: &Cover, lines: Vec<SystemRecord>) -> Written {
        report(faces, cover, lines.into_iter().map(|record| self.row(record)))
    }
}
