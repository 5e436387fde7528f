//! Applications found on systems (spec: applications#operations): how documents list them, and how management reads and
//! changes them.

mod change;
mod intake;
mod stats;

pub use change::{assign, delete, set_notes, unassign};
pub(crate) use intake::{Listing, ReportedApplications, take_over};
pub use stats::{
    ByType, Choices, ModuleCount, Summary, SummaryOrder, SummaryQuery, Totals, TypeVersions, VersionCount,
    choices, kinds, summary, totals, trend,
};

use crate::Fleet;
use bailiwick_domain::{
    ApplicationId, CursorPage, Error, ObjectKind, Page, PageRequest, Result, SortDirection, SystemId,
};
use bailiwick_platform::{
    answer_cache::{self, DependsOn},
    cursor::Walk,
    list_filters,
};
use bailiwick_policy::{Action, Caller, Resource, Scope, decide, gate, hierarchy, list_scope};
use bailiwick_store::{applications, sql::On};
use std::{convert::Infallible, str::FromStr};

pub use applications::{ApplicationFilter, ApplicationOrder, ApplicationRecord, FILTERS, STATUSES};

/// How a path names an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplicationRef {
    /// By id.
    Id(ApplicationId),
    /// `<system_id>-<module_id>`, as older clients write it.
    Module(SystemId, String),
    /// Neither: no application is called so.
    Nonsense,
}

impl FromStr for ApplicationRef {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<ApplicationRef, Infallible> {
        const UUID_BYTES: usize = 36;
        if let Ok(id) = text.parse() {
            return Ok(ApplicationRef::Id(id));
        }
        let parts = text.get(..UUID_BYTES).zip(text.get(UUID_BYTES..));
        Ok(parts
            .and_then(|(system, rest)| Some((system.parse().ok()?, rest.strip_prefix('-')?)))
            .filter(|(_, module)| !module.is_empty() && !module.contains('\0'))
            .map_or(ApplicationRef::Nonsense, |(system, module)| {
                ApplicationRef::Module(system, module.to_owned())
            }))
    }
}

/// The query of a list (spec: applications#operations).
#[derive(Clone, Debug)]
pub struct ApplicationQuery {
    /// Filters.
    pub filter: ApplicationFilter,
    /// None = newest first.
    pub order: Option<(ApplicationOrder, SortDirection)>,
    pub page: PageRequest,
}

/// `GET /applications`.
pub async fn list(
    service: &Fleet,
    caller: &Caller,
    query: ApplicationQuery,
) -> Result<Page<ApplicationRecord>> {
    let (scope, order) = prepare(caller, &query)?;
    let total = known_total(service, scope, &query.filter).await?;
    let found =
        applications::list(&service.platform.db, &scope, &query.filter, order, query.page, total).await?;
    Ok(Page { rows: seen_from(&scope, found.rows), ..found })
}

/// Applications as readers of the scope see them: the organization they are assigned to may lie outside.
fn seen_from(scope: &Scope, rows: Vec<ApplicationRecord>) -> Vec<ApplicationRecord> {
    rows.into_iter().map(|row| row.seen_from(scope)).collect()
}

/// How many applications a list has, where that is cached: one without a filter, and one that looks for a text only.
async fn known_total(service: &Fleet, scope: Scope, filter: &ApplicationFilter) -> Result<Option<u64>> {
    if *filter == ApplicationFilter::default() {
        return stats::listed(service, scope).await.map(Some);
    }
    let search = filter.search.clone();
    if search.is_none() || *filter != (ApplicationFilter { search, ..ApplicationFilter::default() }) {
        return Ok(None);
    }
    let total = applications::total(&service.platform.db, &scope, filter);
    let (shows, other) = (DependsOn::ApplicationTexts, answer_cache::key_text(filter));
    answer_cache::number(&service.platform, shows, "applications/found", scope, other, total).await.map(Some)
}

/// The list of applications by cursors; an empty one begins the walk (spec: conventions#cursors).
///
/// # Errors
/// 400 for a cursor that is not of this list.
pub async fn walk(
    service: &Fleet,
    caller: &Caller,
    query: ApplicationQuery,
    cursor: &str,
) -> Result<CursorPage<ApplicationRecord>> {
    let (scope, order) = prepare(caller, &query)?;
    let list = answer_cache::key_text(&("applications", &query.filter, order));
    let (walk, rows) = (Walk::open(&service.platform, &list, cursor)?, query.page.page_size);
    let total = match walk.total() {
        Some(total) => total,
        None => match known_total(service, scope, &query.filter).await? {
            Some(total) => total,
            None => applications::total(&service.platform.db, &scope, &query.filter).await?,
        },
    };
    let step = walk.step(rows);
    let mut found =
        applications::walk(&service.platform.db, &scope, &query.filter, order, total, &step).await?;
    found.rows = seen_from(&scope, found.rows);
    walk.page(found, total, rows)
}

fn prepare(caller: &Caller, query: &ApplicationQuery) -> Result<(Scope, (ApplicationOrder, SortDirection))> {
    let scope = list_scope(caller, Resource::Applications)?;
    list_filters::check_lengths(query.filter.lengths())?;
    Ok((scope, query.order.unwrap_or((ApplicationOrder::CreatedAt, SortDirection::Desc))))
}

/// `GET /applications/{id}`: any that is not deleted, on a system the caller may read.
pub async fn get(service: &Fleet, caller: &Caller, which: ApplicationRef) -> Result<ApplicationRecord> {
    Ok(load(&service.platform.db, caller, Action::Read, &which).await?.seen_from(&hierarchy(caller)))
}

/// The application, if the caller has permission for the action.
async fn load<'a>(
    on: impl Into<On<'a>>,
    caller: &Caller,
    action: Action,
    which: &ApplicationRef,
) -> Result<ApplicationRecord> {
    gate(caller, action, Resource::Applications)?;
    let missing = Error::NotFound(ObjectKind::Application);
    let mut on = on.into();
    let id = match which {
        ApplicationRef::Id(id) => Some(*id),
        ApplicationRef::Module(system, module) => {
            applications::by_module(on.reborrow(), *system, module).await?
        }
        ApplicationRef::Nonsense => None,
    };
    let Some(id) = id else { return Err(missing) };
    let found = applications::get(on, id).await?.ok_or(missing)?;
    decide(caller, action, &found.target()).granted()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_paths() {
        let id = "019c9fa6-4540-7a3b-8c5d-1f2e3a4b5c6d";
        let read = |text: &str| text.parse::<ApplicationRef>().unwrap();
        assert_eq!(read(id), ApplicationRef::Id(id.parse().unwrap()));
        let module = ApplicationRef::Module(id.parse().unwrap(), "mail-1".to_owned());
        assert_eq!(read(&format!("{id}-mail-1")), module);
        for text in [
            "",
            "x",
            &id[..35],
            &format!("{id}-"),
            &format!("{id}mail1"),
            &format!("{id}-a\0"),
            "ééééééééééééééééééé-a",
        ] {
            assert_eq!(read(text), ApplicationRef::Nonsense, "{text}");
        }
    }
}
