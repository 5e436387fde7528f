//! The matches of a filter among the systems of a scope: found once, and valid until a system changes.

use super::{Known, Spec, SystemFilter, SystemOrder};
use crate::{
    Db, StoreError,
    filters::expand,
    matches::{self, Matches},
    sql::Q,
    systems::filter::{StatusFilter, statuses_with},
};
use bailiwick_domain::{SortDirection, SystemStatus};
use bailiwick_policy::Scope;
use uuid::Uuid;

/// The status of deleted systems.
const DELETED: StatusFilter = StatusFilter::Is(SystemStatus::Deleted);

/// Whether a filter asks for the deleted systems alone.
pub(super) fn are_only_deleted(filter: &SystemFilter) -> bool {
    let mut asked = filter.statuses.iter().flatten().peekable();
    asked.peek().is_some() && asked.all(|status| *status == DELETED)
}

/// The part of a filter that decides about a system until it changes: without its statuses, unless it asks for the deleted
/// systems alone.
pub fn lasting_part(filter: &SystemFilter) -> SystemFilter {
    let statuses = are_only_deleted(filter).then(|| vec![DELETED]);
    SystemFilter { statuses, ..filter.clone() }
}

/// Whether the [`matches`] of the filter are all systems of its list.
pub fn is_found_whole(filter: &SystemFilter) -> bool {
    filter.statuses.is_none() || are_only_deleted(filter)
}

/// Whether [`matches`] can answer the [`lasting_part`] of the filter, with a result that is valid until a system changes.
/// Not for a text that is found in the word of a status, not for deleted systems together with others, and not for a filter
/// that has other statuses only.
pub fn is_lasting(filter: &SystemFilter) -> bool {
    let asked = filter.statuses.as_deref().unwrap_or_default();
    let is_empty = lasting_part(filter) == SystemFilter::default();
    !is_empty
        && (!asked.contains(&DELETED) || are_only_deleted(filter))
        && filter.search.as_deref().is_none_or(|text| statuses_with(text).is_empty())
}

/// The systems of a scope that match the [`lasting_part`] of a filter; the filter [`is_lasting`].
///
/// # Errors
/// The database's.
pub async fn matches(db: &Db, scope: &Scope, filter: &SystemFilter) -> Result<Matches, StoreError> {
    let filter = lasting_part(filter);
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let spec = Spec {
        scope,
        filter: &filter,
        expanded: &expanded,
        order: SystemOrder::CreatedAt,
        direction: SortDirection::Asc,
        known: Known::default(),
        db,
    };
    let mut q = Q::new("");
    spec.push_all_ids(&mut q, None);
    matches::find(db, q, spec.count(db, None)).await
}

impl Spec<'_> {
    /// The candidate systems, where they are few.
    pub(super) fn few(&self) -> Option<&[Uuid]> {
        self.known.matches.and_then(Matches::few)
    }
}
