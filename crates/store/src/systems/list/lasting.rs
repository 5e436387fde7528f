//! The matches of a filter among the systems of a scope: found once, and valid until a system changes.

use super::{Known, Spec, SystemFilter, SystemOrder};
use crate::{
    Db, StoreError,
    filters::expand,
    matches::{self, Matches},
    sql::Q,
    systems::filter::{StatusFilter, statuses_with},
};
use bailiwick_domain::{SortDirection, SystemStatus, Ts};
use bailiwick_policy::Scope;
use uuid::Uuid;

/// Whether [`matches`] can answer the filter without its statuses, with a result that is valid until a system changes.
/// Not for a text that is found in the word of a status, not for a filter that includes deleted systems, and not for
/// one that has statuses only.
pub fn is_lasting(filter: &SystemFilter) -> bool {
    let asked = filter.statuses.as_deref().unwrap_or_default();
    let is_empty = *filter == SystemFilter { statuses: filter.statuses.clone(), ..SystemFilter::default() };
    !is_empty
        && !asked.contains(&StatusFilter::Is(SystemStatus::Deleted))
        && filter.search.as_deref().is_none_or(|text| statuses_with(text).is_empty())
}

/// The systems of a scope that match a filter without its statuses; the filter [`is_lasting`].
///
/// # Errors
/// The database's.
pub async fn matches(db: &Db, scope: &Scope, filter: &SystemFilter) -> Result<Matches, StoreError> {
    let filter = SystemFilter { statuses: None, ..filter.clone() };
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let spec = Spec {
        scope,
        filter: &filter,
        expanded: &expanded,
        order: SystemOrder::CreatedAt,
        direction: SortDirection::Asc,
        cutoff: Ts(0),
        known: Known::default(),
        db,
    };
    let mut q = Q::new("SELECT s.id FROM systems s");
    q.push(spec.by_search());
    spec.push_where(&mut q, None, None);
    matches::find(db, q, spec.count(db, None)).await
}

impl Spec<'_> {
    /// The candidate systems, where they are few.
    pub(super) fn few(&self) -> Option<&[Uuid]> {
        self.known.matches.and_then(Matches::few)
    }
}
