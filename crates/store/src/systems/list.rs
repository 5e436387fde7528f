//! The list of systems: a page in the orders that people use all day is an index range (docs/tree.md); the other orders
//! sort the systems of the scope, and the few matches of a filter are sorted in every order.
//!
//! Two orders are computed. `status` is a sequence of runs, one for each status in the order of their words, each an
//! index walk by id. `organization_name` walks the organizations in the order of their names.

mod by_status;
mod deleted;
mod walk;

use super::{
    SystemRecord,
    filter::{
        BY_WORD, DELETED_ORGANIZATIONS, StatusFilter, SystemFilter, SystemOrder, condition, distinct,
        liveness, push_live, reads_activity, statuses_with,
    },
    row::{Row, row_columns},
    stats::Totals,
};
use crate::{
    Db, StoreError,
    filters::{can_be_stored, expand},
    organizations::{suspended::push_suspended, totals},
    scope::push_scope,
    sql::Q,
    walk::{MAX_SORTED, PAGE, SortKey, in_order, push_found_order, push_page_end},
};
use bailiwick_domain::{
    OrgId, OrgType, Page, PageRequest, SortDirection, SystemStatus, fold::contains_pattern,
};
use bailiwick_policy::Scope;
use deleted::{DELETED, asks_only};
use uuid::Uuid;
use walk::Start;

pub use walk::{walk, walk_query};

/// The joins that a row is read with.
const JOINED: &str = " JOIN organizations o ON o.id = s.organization_id \
     JOIN system_activity a ON a.system_id = s.id LEFT JOIN organizations c ON c.id = s.creator_org_id";

/// A part of a list that is walked by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StatusPart {
    /// One status.
    Of(SystemStatus),
    /// Individually suspended: an index of its own.
    SuspendedSelf,
    /// Suspended with their organization: found through the few such organizations.
    SuspendedAbove,
    /// Individually deleted: an index of its own.
    DeletedSelf,
    /// Deleted with their organization only: found through the few such organizations.
    DeletedAbove,
}

/// Both parts of the suspended systems.
const SUSPENDED: [StatusPart; 2] = [StatusPart::SuspendedSelf, StatusPart::SuspendedAbove];

/// A requested list.
#[derive(Clone, Copy, Debug)]
struct Spec<'a> {
    scope: &'a Scope,
    filter: &'a SystemFilter,
    /// The organizations of the filter with their types, where it includes the organizations below them.
    expanded: &'a [(OrgId, OrgType)],
    order: SystemOrder,
    direction: SortDirection,
    known_counts: KnownCounts,
    /// So few systems match that they are found and sorted.
    is_few: bool,
}

/// Facts the caller already knows about a scope's systems; the result is right without them.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownCounts {
    /// How many systems the list has.
    pub listed: Option<u64>,
    /// How many have which status.
    pub totals: Option<Totals>,
}

/// Rows of a list.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// Rows before it.
    offset: u64,
    /// Rows in it at most.
    limit: u64,
}

/// A page of a list that has this order.
#[derive(Clone, Copy, Debug)]
pub struct OrderedPage {
    /// Order and direction.
    pub order: (SystemOrder, SortDirection),
    pub page: PageRequest,
}

/// A page of the systems in scope with the true total.
pub async fn list(
    db: &Db,
    scope: &Scope,
    filter: &SystemFilter,
    part: OrderedPage,
    known_counts: KnownCounts,
) -> Result<Page<SystemRecord>, StoreError> {
    let OrderedPage { order, page: request } = part;
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let spec = Spec::of(scope, filter, &expanded, order, known_counts);
    let total = spec.total(db).await?;
    let window = Window { offset: request.offset(), limit: request.page_size };
    // Behind the end there is nothing to walk to.
    let is_there = window.offset < total;
    let rows = if is_there { spec.with_total(Some(total)).page(db, window).await? } else { Vec::new() };
    let rows = rows.into_iter().map(SystemRecord::try_from).collect::<Result<Vec<_>, _>>()?;
    Ok(Page { rows, total, request })
}

/// The rows with these ids. They are read by their ids, which PostgreSQL plans once instead of once for each order and
/// page.
async fn rows(db: &Db, ids: &[Uuid]) -> Result<Vec<Row>, StoreError> {
    let mut q = Q::new(concat!("SELECT ", row_columns!(), " FROM systems s"));
    q.push(JOINED).push(" WHERE ").one_of(db, "s.id", ids);
    Ok(in_order(ids, q.all(db).await?, Row::id))
}

/// Whether a system can come into the list or leave it by a change of its status alone.
pub fn depends_on_status(filter: &SystemFilter) -> bool {
    let is_searched = filter.search.as_deref().is_some_and(|text| !statuses_with(text).is_empty());
    is_searched || (filter.statuses.is_some() && !asks_only(filter, SystemStatus::Deleted))
}

/// How many systems in scope match.
pub async fn total(
    db: &Db,
    scope: &Scope,
    filter: &SystemFilter,
    known_counts: KnownCounts,
) -> Result<u64, StoreError> {
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let order = (SystemOrder::CreatedAt, SortDirection::Asc);
    Spec::of(scope, filter, &expanded, order, known_counts).total(db).await
}

impl<'a> Spec<'a> {
    fn of(
        scope: &'a Scope,
        filter: &'a SystemFilter,
        expanded: &'a [(OrgId, OrgType)],
        (order, direction): (SystemOrder, SortDirection),
        known_counts: KnownCounts,
    ) -> Spec<'a> {
        Spec { scope, filter, expanded, order, direction, known_counts, is_few: false }
    }

    /// This list, read in the way that suits its length.
    fn with_total(self, total: Option<u64>) -> Spec<'a> {
        let has_filter = *self.filter != SystemFilter::default();
        Spec { is_few: has_filter && total.is_some_and(|total| total <= MAX_SORTED), ..self }
    }

    async fn total(&self, db: &Db) -> Result<u64, StoreError> {
        match self.known_counts.listed.or_else(|| self.size_of_statuses()) {
            Some(listed) => Ok(listed),
            None if *self.filter == SystemFilter::default() => Ok(totals(db, self.scope).await?.systems),
            None => self.count(db, None).await,
        }
    }

    async fn count(&self, db: &Db, part: Option<StatusPart>) -> Result<u64, StoreError> {
        if self.are_deleted(part) {
            return self.count_deleted().count(db).await;
        }
        let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT)");
        let all = Spec { is_few: true, ..self.unordered() };
        all.push_from(&mut q, part);
        all.push_where(&mut q, part, None);
        q.count(db).await
    }

    /// Without an order, so nothing is joined for it.
    fn unordered(&self) -> Self {
        Spec { order: SystemOrder::CreatedAt, ..*self }
    }

    async fn page(&self, db: &Db, window: Window) -> Result<Vec<Row>, StoreError> {
        match self.order {
            SystemOrder::Status => self.page_by_status(db, window).await,
            _ => self.read(db, self.ids(None, window, None)).await,
        }
    }

    async fn read(&self, db: &Db, ids: Q) -> Result<Vec<Row>, StoreError> {
        let ids: Vec<(Uuid,)> = ids.all(db).await?;
        rows(db, &ids.into_iter().map(|(id,)| id).collect::<Vec<_>>()).await
    }

    /// The ids of rows, by an index alone where possible.
    fn ids(&self, part: Option<StatusPart>, window: Window, start: Option<&Start>) -> Q {
        let mut q = Q::new("");
        let halves = match part {
            Some(StatusPart::Of(SystemStatus::Suspended)) => SUSPENDED,
            // A single condition for both would read all systems.
            None if self.is_few && asks_only(self.filter, SystemStatus::Suspended) => SUSPENDED,
            _ if self.are_deleted(part) => DELETED,
            _ => {
                self.push_page(&mut q, part, start, window);
                return q;
            }
        };
        // Both halves in order, so that neither is read beyond the page.
        let half = Window { offset: 0, limit: window.limit.saturating_add(window.offset) };
        for (part, before) in
            halves.into_iter().zip(["SELECT * FROM (SELECT * FROM (", ") own UNION ALL SELECT * FROM ("])
        {
            self.push_page(q.push(before), Some(part), start, half);
        }
        let word = self.direction.as_str();
        let by_value = self.order.column().map_or(String::new(), |_| format!("page_value {word}, "));
        q.push(&format!(") inherited) halves ORDER BY {by_value}page_id {word} LIMIT ? OFFSET ?"));
        q.arg(window.limit).arg(window.offset);
        q
    }

    fn push_page(&self, q: &mut Q, part: Option<StatusPart>, start: Option<&Start>, window: Window) {
        let is_sorted = self.are_sorted(part);
        q.push(PAGE).push(if is_sorted { "SELECT * FROM (SELECT " } else { "SELECT " });
        self.sort_key().push_columns(q);
        self.push_from(q, part);
        self.push_where(q, part, start);
        match is_sorted {
            true => push_found_order(q, self.sort_key(), self.direction),
            false => self.push_order(q),
        }
        push_page_end(q, window.limit, window.offset);
    }

    /// Whether the rows are found first, and then sorted.
    fn are_sorted(&self, part: Option<StatusPart>) -> bool {
        self.is_few || part.is_some_and(|part| DELETED.contains(&part))
    }

    /// Appends the FROM clause. The first table is the one that SQLite reads first.
    fn push_from(&self, q: &mut Q, part: Option<StatusPart>) {
        let statuses = self.filter.statuses.as_deref().unwrap_or_default();
        let of_part = match part {
            Some(StatusPart::Of(status)) => Some(StatusFilter::Is(status)),
            _ => None,
        };
        let searched = self.searched_statuses();
        let reads = statuses.iter().chain(&searched).chain(&of_part).any(|s| reads_activity(*s));
        let is_by_status = self.is_by_status();
        q.push(" FROM ");
        match (is_by_status, self.is_by_organization(part)) {
            (true, _) => q.push("system_activity a [[JOIN||CROSS JOIN]] systems s ON s.id = a.system_id"),
            (_, true) if !self.are_sorted(part) => {
                q.push("organizations o [[JOIN||CROSS JOIN]] systems s ON s.organization_id = o.id")
            }
            _ => q.push("systems s").push(self.hint(part)),
        };
        if self.is_by_organization(part) && self.are_sorted(part) {
            q.push(" [[JOIN||CROSS JOIN]] organizations o ON o.id = s.organization_id");
        }
        if reads && !is_by_status {
            q.push(" [[JOIN||CROSS JOIN]] system_activity a ON a.system_id = s.id");
        }
    }

    /// Whether the few systems are found by their statuses, which are all that the filter has.
    fn is_by_status(&self) -> bool {
        let statuses = self.filter.statuses.as_deref().unwrap_or_default();
        let has_liveness = !statuses.is_empty() && statuses.iter().all(|status| liveness(*status).is_some());
        self.is_few && has_liveness && self.has_statuses_only()
    }

    /// How SQLite reads the systems. It would take any index that has all rows of an order without one, and look up
    /// each row; and it would not read the searched texts from the index that has only these. PostgreSQL has trigrams.
    fn hint(&self, part: Option<StatusPart>) -> &'static str {
        let search = self.filter.search.clone();
        // The systems of the few suspended organizations are found by these.
        let is_search = search.is_some() && self.is_few && part != Some(StatusPart::SuspendedAbove);
        if is_search
            && self.is_large()
            && *self.filter == (SystemFilter { search, ..SystemFilter::default() })
        {
            return "[[|| INDEXED BY systems_search]]";
        }
        let is_plain = *self.filter == SystemFilter::default() && *self.scope == Scope::Everything;
        let has_index = self.order.has_index() || part.is_some();
        if is_plain && !has_index { "[[|| NOT INDEXED]]" } else { "" }
    }

    /// Whether the scope is so large that its systems are not read one by one.
    fn is_large(&self) -> bool {
        match self.scope {
            Scope::Everything => true,
            Scope::Subtree { org_type, .. } => *org_type == OrgType::Distributor,
            _ => false,
        }
    }

    /// Whether organizations are joined, as `o`, before the systems.
    fn is_by_organization(&self, part: Option<StatusPart>) -> bool {
        self.order == SystemOrder::OrganizationName || part == Some(StatusPart::SuspendedAbove)
    }

    fn sort_key(&self) -> SortKey {
        SortKey { column: self.order.column(), id: "s.id" }
    }

    fn push_order(&self, q: &mut Q) {
        let word = self.direction.as_str();
        match self.order.column() {
            // Unique, so ties do not occur, and the unique index has the order.
            Some((column, _)) if self.order == SystemOrder::SystemKey => {
                q.push(&format!(" ORDER BY {column} {word}"))
            }
            Some((column, _)) => q.push(&format!(" ORDER BY {column} {word}, s.id {word}")),
            None => q.push(&format!(" ORDER BY s.id {word}")),
        };
    }

    /// Appends ` WHERE …`.
    fn push_where(&self, q: &mut Q, part: Option<StatusPart>, start: Option<&Start>) {
        let searched = self.searched_statuses();
        let statuses = self.filter.statuses.as_deref();
        let part_status = match part {
            Some(StatusPart::Of(status)) => Some(StatusFilter::Is(status)),
            _ => None,
        };
        let requested = statuses.unwrap_or_default();
        q.push(" WHERE 1 = 1");
        let deleted = StatusFilter::Is(SystemStatus::Deleted);
        let is_deleted_half = part.is_some_and(|part| DELETED.contains(&part));
        let is_deleted_part = is_deleted_half || part_status == Some(deleted);
        let is_live = !is_deleted_part && (part.is_some() || !requested.contains(&deleted));
        match is_live {
            false => {}
            true if self.is_by_organization(part) => {
                q.push(&format!(" AND s.deleted_at IS NULL AND o.id NOT IN {DELETED_ORGANIZATIONS}"));
            }
            true => push_live(q),
        }
        match self.is_by_organization(part) && !self.are_sorted(part) {
            true => push_scope(q, "o", "id", self.scope),
            false => push_scope(q, "s", "organization_id", self.scope),
        };
        if self.is_by_status() {
            push_scope(q, "a", "organization_id", self.scope);
        }
        if let Some(start) = start {
            start.push(q);
        }
        match part {
            Some(StatusPart::SuspendedSelf) => q.push(" AND s.suspended_at IS NOT NULL"),
            Some(StatusPart::SuspendedAbove) => {
                push_suspended(q, "o.id", true);
                q.push(" AND s.suspended_at IS NULL")
            }
            Some(StatusPart::DeletedSelf) => q.push(" AND s.deleted_at IS NOT NULL"),
            Some(StatusPart::DeletedAbove) => {
                q.push(" AND s.deleted_at IS NULL AND s.organization_id IN ").push(DELETED_ORGANIZATIONS)
            }
            Some(StatusPart::Of(_)) | None => q,
        };
        if let Some(status) = part_status {
            q.push(" AND (").push(&condition(status, is_live)).push(")");
        }
        if let Some(statuses) = statuses.filter(|_| !is_deleted_half) {
            self.push_any(q, statuses, is_live);
        }
        self.push_search(q, &searched, is_live);
        self.filter.push_columns(q, self.scope);
        self.push_organizations(q);
    }

    /// ` AND (one of these statuses)`.
    fn push_any(&self, q: &mut Q, statuses: &[StatusFilter], is_live: bool) {
        if statuses.is_empty() {
            q.push(" AND 1 = 0");
            return;
        }
        q.push(" AND (");
        self.push_alternatives(q, &distinct(statuses), is_live);
        q.push(")");
    }

    fn push_alternatives(&self, q: &mut Q, statuses: &[StatusFilter], is_live: bool) {
        for (i, status) in statuses.iter().enumerate() {
            q.push(if i > 0 { " OR (" } else { "(" }).push(&condition(*status, is_live)).push(")");
        }
    }

    /// Statuses whose word contains the searched text.
    fn searched_statuses(&self) -> Vec<StatusFilter> {
        self.filter.search.as_deref().map(statuses_with).unwrap_or_default()
    }

    fn push_search(&self, q: &mut Q, statuses: &[StatusFilter], is_live: bool) {
        let Some(text) = &self.filter.search else { return };
        if !can_be_stored(text) {
            q.push(" AND 1 = 0");
            return;
        }
        q.push(" AND (s.search_key LIKE ? [[||ESCAPE '\\']]").arg(contains_pattern(text));
        if !statuses.is_empty() {
            q.push(" OR ");
            self.push_alternatives(q, statuses, is_live);
        }
        q.push(")");
    }

    fn push_organizations(&self, q: &mut Q) {
        let Some(ids) = &self.filter.organizations else { return };
        if !self.filter.include_hierarchy {
            q.push(" AND s.organization_id IN (");
            q.list(ids.iter().copied()).push(")");
            return;
        }
        if self.expanded.iter().any(|(_, kind)| *kind == OrgType::Owner) {
            return;
        }
        let ids_of_type = |wanted: OrgType| {
            self.expanded.iter().filter(move |(_, kind)| *kind == wanted).map(|(id, _)| *id)
        };
        q.push(" AND (s.p2 IN (");
        q.list(ids_of_type(OrgType::Distributor)).push(") OR s.p3 IN (");
        q.list(ids_of_type(OrgType::Reseller)).push(") OR s.organization_id IN (");
        q.list(ids_of_type(OrgType::Customer)).push("))");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_reads_a_status_first_only_without_another_filter() {
        let from = |filter: SystemFilter| {
            let order = (SystemOrder::CreatedAt, SortDirection::Asc);
            let spec = Spec::of(&Scope::Everything, &filter, &[], order, KnownCounts::default());
            let mut q = Q::new("");
            spec.with_total(Some(1)).push_from(&mut q, None);
            q.text_for(false)
        };
        let statuses = Some(vec![StatusFilter::Is(SystemStatus::Active)]);
        let alone = SystemFilter { statuses, ..SystemFilter::default() };
        assert!(from(alone.clone()).starts_with(" FROM system_activity a "));
        let named = SystemFilter { name: Some("a".to_owned()), ..alone };
        assert!(from(named).starts_with(" FROM systems s "));
    }
}
