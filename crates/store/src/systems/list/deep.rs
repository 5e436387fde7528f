//! Far pages of a list of systems.

use super::{Run, Spec, SystemFilter, SystemOrder};
use crate::{
    Db, StoreError,
    scope::push_scope,
    sql::Q,
    systems::filter::{DELETED_ORGANIZATIONS, StatusFilter, distinct},
    walk::{By, Position},
};
use bailiwick_domain::{OrgType, PageRequest, SortDirection, SystemStatus};
use bailiwick_policy::Scope;

/// Up to this many pages before a page by organization are walked through.
const NEAR: u64 = 100;
/// How many organizations have their systems added up at once: an eighth of the rows to pass over, and no fewer than
/// this.
const SMALLEST_BLOCK: u64 = 16;
/// Blocks become smaller near the page as long as they still hold so many organizations.
const FINEST_BLOCK: u64 = 512;

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

/// The start of a walk.
#[derive(Clone, Debug)]
pub(super) enum Start {
    /// The systems of the organizations from this name on.
    AtName { name_key: String, direction: SortDirection },
    /// The rows behind one.
    Behind { by: By, position: Position, direction: SortDirection },
}

impl Start {
    pub(super) fn push(&self, q: &mut Q) {
        match self {
            Start::AtName { name_key, direction } => {
                q.push(&format!(" AND o.name_key {} ?", at_or_behind(*direction))).arg(name_key);
            }
            Start::Behind { by, position, direction } => {
                if let Some((column @ "o.name_key", _)) = by.column {
                    position.push_not_before(q, column, *direction);
                }
                by.push_behind(q, position, *direction);
            }
        }
    }

    /// The same in an order by id alone, where the id has this name.
    pub(super) fn push_by_id(&self, q: &mut Q, id: &'static str) {
        if let Start::Behind { position, direction, .. } = self {
            By { column: None, id }.push_behind(q, position, *direction);
        }
    }
}

const fn at_or_behind(direction: SortDirection) -> &'static str {
    match direction {
        SortDirection::Asc => ">=",
        SortDirection::Desc => "<=",
    }
}

impl Spec<'_> {
    /// Makes SQLite use the index that has the order and all columns of the conditions.
    pub(super) fn hint(&self, run: Option<Run>) -> &'static str {
        let is_plain = *self.filter == SystemFilter::default() && *self.scope == Scope::Everything;
        match run {
            None if is_plain && self.order == SystemOrder::SystemKey => "[[|| INDEXED BY systems_all_key]]",
            Some(Run::Of(SystemStatus::Active | SystemStatus::Inactive)) if is_plain => {
                "[[|| INDEXED BY systems_all_live]]"
            }
            _ => "",
        }
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

    /// Rows of a status, where there is no other condition and the totals are known.
    pub(super) fn size_of_run(&self, status: SystemStatus) -> Option<u64> {
        if *self.filter != SystemFilter::default() {
            return None;
        }
        self.size_of(status)
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

    /// The start for rows far behind in a list by organization, and the walk from there on: behind the nearest landmark, whole
    /// blocks of organizations are passed over by the counters of their systems.
    pub(super) async fn start(&self, db: &Db, mut walk: Walk) -> Result<(Walk, Option<Start>), StoreError> {
        if *self.filter != SystemFilter::default() {
            return Ok((walk, None));
        }
        let mut at: Option<String> = None;
        if let Some(landmarks) = self.known.landmarks {
            (at, walk.offset) = landmarks.nearest(walk.direction, walk.offset);
        }
        let direction = walk.direction;
        let at_name = |name_key| Start::AtName { name_key, direction };
        if walk.offset < NEAR * walk.limit {
            return Ok((walk, at.map(at_name)));
        }
        let mut size = (walk.offset / 8).max(SMALLEST_BLOCK);
        loop {
            let start = at.clone().map(at_name);
            let (last, systems) = self.block(db, direction, start.as_ref(), size).await?;
            let Some(name_key) = last else { break };
            if at.as_ref() == Some(&name_key) {
                break;
            }
            if systems > walk.offset {
                size /= 4;
                if size < FINEST_BLOCK {
                    break;
                }
                continue;
            }
            walk.offset -= systems;
            at = Some(name_key);
        }
        Ok((walk, at.map(at_name)))
    }

    /// The name that ends the next block of `size` organizations, and the number of systems before the block's end.
    /// Organizations with the same name are in one block, because their systems are sorted together.
    async fn block(
        &self,
        db: &Db,
        direction: SortDirection,
        start: Option<&Start>,
        size: u64,
    ) -> Result<(Option<String>, u64), StoreError> {
        let (word, first) = match direction {
            SortDirection::Asc => ("<", "MAX"),
            SortDirection::Desc => (">", "MIN"),
        };
        let push_from = |q: &mut Q| {
            q.push(&format!(" WHERE o.id NOT IN {DELETED_ORGANIZATIONS}"));
            push_scope(q, "o", "id", self.scope);
            if let Some(start) = start {
                start.push(q);
            }
        };
        let mut q = Q::new("SELECT b.last, (SELECT CAST(COALESCE(SUM(n.systems), 0) AS BIGINT) ");
        q.push("FROM organizations o [[JOIN||CROSS JOIN]] organization_counts n ON n.organization_id = o.id");
        push_from(&mut q);
        q.push(&format!(" AND o.name_key {word} b.last) FROM (SELECT {first}(x.name_key) AS last FROM "));
        q.push("(SELECT o.name_key FROM organizations o");
        push_from(&mut q);
        q.push(&format!(" ORDER BY o.name_key {} LIMIT ?) x) b", direction.as_str())).arg(size);
        let (last, systems): (Option<String>, i64) = q.one(db).await?;
        Ok((last, u64::try_from(systems).unwrap_or(0)))
    }
}
