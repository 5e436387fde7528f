//! Far pages of a list of systems.

use super::{Spec, SystemFilter};
use crate::{
    sql::Q,
    systems::filter::{StatusFilter, distinct},
    walk::{By, Position},
};
use bailiwick_domain::{OrgType, PageRequest, SortDirection, SystemStatus};
use bailiwick_policy::Scope;

/// Rows of a walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Rows before it.
    pub offset: u64,
    /// Rows in it at most.
    pub limit: u64,
    /// Rows of the whole walk, where that is known.
    pub size: Option<u64>,
}

impl Window {
    pub(super) fn of(request: PageRequest, size: Option<u64>) -> Window {
        Window { offset: request.offset(), limit: request.page_size, size }
    }

    /// The walk that ends with these rows, from the end that is nearer.
    pub(super) fn walk(self, direction: SortDirection) -> Walk {
        let Window { offset, limit, size } = self;
        let Some(size) = size else { return Walk { direction, offset, limit } };
        let limit = limit.min(size.saturating_sub(offset));
        let behind = size.saturating_sub(offset).saturating_sub(limit);
        match behind < offset {
            true => Walk { direction: direction.opposite(), offset: behind, limit },
            false => Walk { direction, offset, limit },
        }
    }
}

/// A walk by an index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    pub direction: SortDirection,
    /// Rows that are passed over.
    pub offset: u64,
    /// Rows that are read behind them at most.
    pub limit: u64,
}

/// The start of a walk: the rows behind one.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub by: By,
    pub position: Position,
    pub direction: SortDirection,
}

impl Start {
    pub(super) fn push(&self, q: &mut Q) {
        if let Some((column @ "o.name_key", _)) = self.by.column {
            self.position.push_not_before(q, column, self.direction);
        }
        self.by.push_behind(q, &self.position, self.direction);
    }

    /// The same in an order by id alone, where the id has this name.
    pub(super) fn push_by_id(&self, q: &mut Q, id: &'static str) {
        By { column: None, id }.push_behind(q, &self.position, self.direction);
    }
}

impl Spec<'_> {
    /// Makes SQLite read all rows for an order that no index has, where it would take any index that has all of them and
    /// look up each row.
    pub(super) fn by_rows(&self) -> &'static str {
        let is_plain = *self.filter == SystemFilter::default() && *self.scope == Scope::Everything;
        if is_plain && !self.order.has_index() { "[[|| NOT INDEXED]]" } else { "" }
    }

    /// SQLite reads the searched texts from an index that has only these, where the scope is large. PostgreSQL has
    /// trigrams.
    pub(super) fn by_search(&self) -> &'static str {
        let is_large = match self.scope {
            Scope::Everything => true,
            Scope::Subtree { org_type, .. } => *org_type == OrgType::Distributor,
            _ => false,
        };
        let search = self.filter.search.clone();
        let is_search =
            search.is_some() && *self.filter == SystemFilter { search, ..SystemFilter::default() };
        if is_large && is_search { "[[|| INDEXED BY systems_search]]" } else { "" }
    }

    /// Rows of a status, where there is no condition but statuses and the totals are known.
    pub(super) fn size_of_run(&self, status: SystemStatus) -> Option<u64> {
        if self.has_statuses_only() { self.size_of(status) } else { None }
    }

    fn size_of(&self, status: SystemStatus) -> Option<u64> {
        let totals = self.known.totals?;
        match status {
            SystemStatus::Active => Some(totals.active),
            SystemStatus::Inactive => Some(totals.inactive),
            SystemStatus::Suspended => Some(totals.suspended),
            SystemStatus::Unknown => Some(totals.unknown),
            SystemStatus::Deleted => None,
        }
    }

    /// Rows of a list that filters by statuses only.
    pub(super) fn size_of_statuses(&self) -> Option<u64> {
        let statuses = self.filter.statuses.clone();
        let distinct = distinct(statuses.as_deref()?);
        if *self.filter != (SystemFilter { statuses, ..SystemFilter::default() }) {
            return None;
        }
        distinct.into_iter().try_fold(0, |sum, status| match status {
            StatusFilter::Is(status) => Some(sum + self.size_of(status)?),
            StatusFilter::NoInventory => None,
        })
    }
}
