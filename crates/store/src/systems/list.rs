//! The list of systems: a page in the orders that people use all day is an index range (docs/tree.md); the other orders sort
//! the systems of the scope.
//!
//! Two orders are computed. `status` is a sequence of runs, one for each status in the order of their words, each an
//! index walk by id. `organization_name` walks the organizations in the order of their names. Rows before a page are
//! passed over in an index alone, from the nearer end where the number of rows is known.

mod by_status;
mod deep;
mod deleted;
mod lasting;
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
    creator_row::push_created_by,
    filters::{VersionFilter, can_be_stored, expand, push_in, push_product_versions},
    matches::Matches,
    organizations::{suspended::push_suspended, totals},
    scope::push_scope,
    sql::Q,
    walk::{By, PAGE, in_order, push_page_end},
};
use bailiwick_domain::{
    OrgId, OrgType, Page, PageRequest, SortDirection, SystemStatus, fold::contains_pattern,
};
use bailiwick_policy::Scope;
use deep::{Start, Walk, Window};
use deleted::DELETED;
use uuid::Uuid;

pub use lasting::{is_found_whole, is_lasting, lasting_part, matches};
pub use walk::{walk, walk_query};

/// The joins that a row is read with.
const JOINED: &str = " JOIN organizations o ON o.id = s.organization_id \
     JOIN system_activity a ON a.system_id = s.id LEFT JOIN organizations c ON c.id = s.creator_org_id";

/// A part of a list that is walked by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
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

/// A requested list.
#[derive(Clone, Copy, Debug)]
struct Spec<'a> {
    db: &'a Db,
    scope: &'a Scope,
    filter: &'a SystemFilter,
    /// The organizations of the filter with their types, where it includes the organizations below them.
    expanded: &'a [(OrgId, OrgType)],
    order: SystemOrder,
    direction: SortDirection,
    known: Known<'a>,
}

/// Facts the caller already knows about a scope's systems; the result is right without them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// How many systems there are.
    pub all: Option<u64>,
    /// How many systems the list has.
    pub listed: Option<u64>,
    /// How many have which status.
    pub totals: Option<Totals>,
    /// The matches of the [`lasting_part`] of the filter.
    pub matches: Option<&'a Matches>,
}

/// Which part of a list is asked for, in which order.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Order and direction.
    pub order: (SystemOrder, SortDirection),
    /// Page.
    pub page: PageRequest,
}

/// A page of the systems in scope with the true total.
pub async fn list(
    db: &Db,
    scope: &Scope,
    filter: &SystemFilter,
    part: Part,
    known: Known<'_>,
) -> Result<Page<SystemRecord>, StoreError> {
    let Part { order: (order, direction), page: request } = part;
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let spec = Spec { db, scope, filter, expanded: &expanded, order, direction, known };
    let few = spec.few_of_statuses(db).await?;
    let spec = Spec { known: Known { matches: few.as_ref().or(known.matches), ..known }, ..spec };
    let (rows, total) = if request.offset() == 0 && filter.search.is_none() {
        let (rows, total) = tokio::join!(spec.page(db, Window::of(request, None)), spec.total(db));
        (rows?, total?)
    } else {
        // Behind the end there is nothing to walk to.
        let total = spec.total(db).await?;
        let is_there = request.offset() < total;
        let rows = if is_there { spec.page(db, Window::of(request, Some(total))).await? } else { Vec::new() };
        (rows, total)
    };
    let rows = rows.into_iter().map(SystemRecord::try_from).collect::<Result<Vec<_>, _>>()?;
    Ok(Page { rows, total, request })
}

/// The ids of a page of the list, whose matches are known, in every order but that of status.
///
/// # Errors
/// The database's.
pub async fn page_ids(
    db: &Db,
    scope: &Scope,
    filter: &SystemFilter,
    part: Part,
    matches: &Matches,
) -> Result<Vec<Uuid>, StoreError> {
    let Part { order: (order, direction), page: request } = part;
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let known = Known { matches: Some(matches), ..Known::default() };
    let spec = Spec { db, scope, filter, expanded: &expanded, order, direction, known };
    match request.offset() {
        0 => spec.page_ids(db, Window::of(request, None)).await,
        offset if offset < matches.len() => spec.page_ids(db, Window::of(request, Some(matches.len()))).await,
        _ => Ok(Vec::new()),
    }
}

/// The systems with these ids, in their order; without those that no longer exist.
///
/// # Errors
/// The database's.
pub async fn by_ids(db: &Db, ids: &[Uuid]) -> Result<Vec<SystemRecord>, StoreError> {
    rows(db, ids).await?.into_iter().map(SystemRecord::try_from).collect()
}

/// The rows with these ids. They are read by their ids, which PostgreSQL plans once instead of once for each order and page.
async fn rows(db: &Db, ids: &[Uuid]) -> Result<Vec<Row>, StoreError> {
    let mut q = Q::new(concat!("SELECT ", row_columns!(), " FROM systems s"));
    q.push(JOINED).push(" WHERE ").one_of(db, "s.id", ids);
    Ok(in_order(ids, q.all(db).await?, Row::id))
}

/// How many systems in scope match.
pub async fn total(
    db: &Db,
    scope: &Scope,
    filter: &SystemFilter,
    known: Known<'_>,
) -> Result<u64, StoreError> {
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let (order, direction) = (SystemOrder::CreatedAt, SortDirection::Asc);
    Spec { db, scope, filter, expanded: &expanded, order, direction, known }.total(db).await
}

impl Spec<'_> {
    async fn total(&self, db: &Db) -> Result<u64, StoreError> {
        if *self.filter == SystemFilter::default() {
            return match self.known.all {
                Some(all) => Ok(all),
                None => Ok(totals(db, self.scope).await?.systems),
            };
        }
        match (self.known.matches, self.known.listed.or_else(|| self.size_of_statuses())) {
            (Some(matches), _) if is_found_whole(self.filter) => Ok(matches.len()),
            (_, Some(size)) => Ok(size),
            _ => self.count(db, None).await,
        }
    }

    async fn count(&self, db: &Db, run: Option<Run>) -> Result<u64, StoreError> {
        let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM ");
        if self.are_deleted(run) {
            self.push_all_ids(q.push("("), run);
            q.push(") found");
        } else {
            q.push("systems s").push(self.by_search());
            self.unordered().push_where(&mut q, run, None);
        }
        q.count(db).await
    }

    /// Without an order, so nothing is joined for it.
    fn unordered(&self) -> Self {
        Spec { order: SystemOrder::CreatedAt, ..*self }
    }

    async fn page(&self, db: &Db, window: Window) -> Result<Vec<Row>, StoreError> {
        match self.order {
            SystemOrder::Status => self.page_by_status(db, window).await,
            _ => rows(db, &self.page_ids(db, window).await?).await,
        }
    }

    /// In every order but that of status.
    async fn page_ids(&self, db: &Db, window: Window) -> Result<Vec<Uuid>, StoreError> {
        let walk = window.walk(self.direction);
        self.found(db, (self.ids(None, walk, None), walk)).await
    }

    /// The ids that a statement finds, in the order of the list.
    async fn found(&self, db: &Db, (ids, walk): (Q, Walk)) -> Result<Vec<Uuid>, StoreError> {
        let ids: Vec<(Uuid,)> = ids.all(db).await?;
        let mut ids: Vec<Uuid> = ids.into_iter().map(|(id,)| id).collect();
        if walk.direction != self.direction {
            ids.reverse();
        }
        Ok(ids)
    }

    async fn read(&self, db: &Db, ids: (Q, Walk)) -> Result<Vec<Row>, StoreError> {
        rows(db, &self.found(db, ids).await?).await
    }

    /// The ids of a walk's rows, by an index alone where possible.
    fn ids(&self, run: Option<Run>, walk: Walk, start: Option<&Start>) -> Q {
        let mut q = Q::new("");
        let halves = match run {
            Some(Run::Of(SystemStatus::Suspended)) => [Run::SuspendedSelf, Run::SuspendedAbove],
            _ if self.are_deleted(run) => DELETED,
            _ => {
                self.push_walk(&mut q, run, start, walk);
                return q;
            }
        };
        // Both halves in order, so that neither is read beyond the page.
        let half = Walk { offset: 0, limit: walk.limit.saturating_add(walk.offset), ..walk };
        for (run, before) in
            halves.into_iter().zip(["SELECT * FROM (SELECT * FROM (", ") own UNION ALL SELECT * FROM ("])
        {
            self.push_walk(q.push(before), Some(run), start, half);
        }
        let word = walk.direction.as_str();
        let by_value = self.order.column().map_or(String::new(), |_| format!("page_value {word}, "));
        q.push(&format!(") inherited) halves ORDER BY {by_value}page_id {word} LIMIT ? OFFSET ?"));
        q.arg(walk.limit).arg(walk.offset);
        q
    }

    fn push_walk(&self, q: &mut Q, run: Option<Run>, start: Option<&Start>, walk: Walk) {
        let is_by_organization = self.is_by_organization(run);
        let are_deleted = run.is_some_and(|run| DELETED.contains(&run));
        // A few systems are looked up and sorted; SQLite does that only where no index has the order.
        let are_few = self.few().is_some();
        q.push(PAGE).push(if are_deleted { "SELECT * FROM (SELECT " } else { "SELECT " });
        self.by().push_columns(q);
        q.push(" FROM ").push(match is_by_organization {
            true if are_few || are_deleted => {
                "systems s [[JOIN||CROSS JOIN]] organizations o ON o.id = s.organization_id"
            }
            true => "organizations o [[JOIN||CROSS JOIN]] systems s ON s.organization_id = o.id",
            false => "systems s",
        });
        if run.is_none() && !is_by_organization && !are_few {
            q.push(self.by_rows());
        }
        self.push_where(q, run, start);
        match are_deleted {
            true => self.push_order_of_found(q, walk.direction),
            false => self.push_order(q, walk.direction, if are_few { "[[||+]]" } else { "" }),
        }
        push_page_end(q, walk.limit, walk.offset);
    }

    /// Whether organizations are joined, as `o`, before the systems.
    fn is_by_organization(&self, run: Option<Run>) -> bool {
        self.order == SystemOrder::OrganizationName || run == Some(Run::SuspendedAbove)
    }

    fn by(&self) -> By {
        By { column: self.order.column(), id: "s.id" }
    }

    fn push_order(&self, q: &mut Q, direction: SortDirection, sign: &str) {
        let word = direction.as_str();
        match self.order.column() {
            // Unique, so ties do not occur, and the unique index has the order.
            Some((column, _)) if self.order == SystemOrder::SystemKey => {
                q.push(&format!(" ORDER BY {sign}{column} {word}"))
            }
            Some((column, _)) => q.push(&format!(" ORDER BY {sign}{column} {word}, s.id {word}")),
            None => q.push(&format!(" ORDER BY {sign}s.id {word}")),
        };
    }

    /// The rest of FROM and all of WHERE, behind `systems s`.
    fn push_where(&self, q: &mut Q, run: Option<Run>, start: Option<&Start>) {
        let searched = self.searched_statuses();
        let statuses = self.filter.statuses.as_deref();
        let run_status = match run {
            Some(Run::Of(status)) => Some(StatusFilter::Is(status)),
            _ => None,
        };
        let asked = statuses.unwrap_or_default();
        if asked.iter().chain(&searched).chain(&run_status).any(|s| reads_activity(*s)) {
            q.push(" [[JOIN||CROSS JOIN]] system_activity a ON a.system_id = s.id");
        }
        q.push(" WHERE 1 = 1");
        let deleted = StatusFilter::Is(SystemStatus::Deleted);
        let in_deleted_half = run.is_some_and(|run| DELETED.contains(&run));
        let in_deleted_run = in_deleted_half || run_status == Some(deleted);
        let is_live = !in_deleted_run && (run.is_some() || !asked.contains(&deleted));
        match is_live {
            false => {}
            true if self.is_by_organization(run) => {
                q.push(&format!(" AND s.deleted_at IS NULL AND o.id NOT IN {DELETED_ORGANIZATIONS}"));
            }
            true => push_live(q),
        }
        if self.is_by_organization(run) {
            push_scope(q, "o", "id", self.scope);
        } else {
            push_scope(q, "s", "organization_id", self.scope);
        }
        if let Some(start) = start {
            start.push(q);
        }
        match run {
            Some(Run::SuspendedSelf) => q.push(" AND s.suspended_at IS NOT NULL"),
            Some(Run::SuspendedAbove) => {
                push_suspended(q, "o.id", true);
                q.push(" AND s.suspended_at IS NULL")
            }
            Some(Run::DeletedSelf) => q.push(" AND s.deleted_at IS NOT NULL"),
            Some(Run::DeletedAbove) => {
                q.push(" AND s.deleted_at IS NULL AND s.organization_id IN ").push(DELETED_ORGANIZATIONS)
            }
            Some(Run::Of(_)) | None => q,
        };
        if let Some(status) = run_status {
            q.push(" AND (").push(&condition(status, is_live)).push(")");
        }
        if let Some(statuses) = statuses.filter(|_| !in_deleted_half) {
            self.push_any(q, statuses, is_live);
        }
        if let Some(few) = self.few() {
            q.push(" AND ").one_of(self.db, "s.id", few);
        }
        self.push_search(q, &searched, is_live);
        self.push_columns(q);
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

    fn push_columns(&self, q: &mut Q) {
        let filter = self.filter;
        if let Some(name) = &filter.name {
            if can_be_stored(name) {
                q.push(" AND s.name_key LIKE ? [[||ESCAPE '\\']]").arg(contains_pattern(name));
            } else {
                q.push(" AND 1 = 0");
            }
        }
        if let Some(key) = &filter.system_key {
            push_in(q, "s.system_key", std::slice::from_ref(key));
        }
        if let Some(types) = &filter.types {
            push_in(q, "s.type", types);
        }
        push_created_by(q, ("s", "organization_id"), self.scope, filter.created_by.as_ref());
        if let Some(versions) = &filter.versions {
            push_versions(q, versions);
        }
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
        let of = |wanted: OrgType| {
            self.expanded.iter().filter(move |(_, kind)| *kind == wanted).map(|(id, _)| *id)
        };
        q.push(" AND (s.p2 IN (");
        q.list(of(OrgType::Distributor)).push(") OR s.p3 IN (");
        q.list(of(OrgType::Reseller)).push(") OR s.organization_id IN (");
        q.list(of(OrgType::Customer)).push("))");
    }
}

/// `<product>:<version>` needs both; a bare version fits any product.
fn push_versions(q: &mut Q, versions: &[VersionFilter]) {
    let versions = versions.iter().map(|v| (v.product.as_deref(), v.version.as_str()));
    push_product_versions(q, "s.type", "s.version", versions);
}
