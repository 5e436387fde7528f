//! The list of applications: in every order by a column of the row, a page is an index range (docs/tree.md). An order
//! by a value of the system walks the systems with applications. The order by the organization's name walks the
//! organizations and the applications of each; unassigned applications, and those assigned to organizations outside the
//! scope, are separate runs at the greater end.

use super::{
    ApplicationRecord, counts,
    filter::{ApplicationFilter, ApplicationOrder},
    listed,
    row::{Row, row_columns},
};
use crate::{
    Db, StoreError,
    filters::expand,
    scope::push_scope,
    sql::Q,
    walk::{self, MAX_SORTED, Position, SortKey, Step, WalkStep, in_order},
};
use bailiwick_domain::{OrgId, OrgType, Page, PageRequest, SortDirection};
use bailiwick_policy::Scope;
use uuid::Uuid;

/// A part of a list that is walked by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AssignmentPart {
    /// Assigned to an organization of the scope.
    Assigned,
    /// Assigned to an organization that the reader does not see.
    Elsewhere,
    Unassigned,
}

/// A requested list.
#[derive(Clone, Copy, Debug)]
struct Spec<'a> {
    db: &'a Db,
    scope: &'a Scope,
    filter: &'a ApplicationFilter,
    /// The organizations of the filter with their types, where it includes the organizations below them.
    expanded: &'a [(OrgId, OrgType)],
    order: ApplicationOrder,
    direction: SortDirection,
    /// So few applications match that they are found and sorted.
    is_few: bool,
}

/// A page of the listed applications in scope with the true total. `known_total`: that total, where it is known.
pub async fn list(
    db: &Db,
    scope: &Scope,
    filter: &ApplicationFilter,
    order: (ApplicationOrder, SortDirection),
    request: PageRequest,
    known_total: Option<u64>,
) -> Result<Page<ApplicationRecord>, StoreError> {
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let spec = Spec::of(db, scope, filter, &expanded, order);
    let total = match known_total {
        Some(total) => total,
        None => spec.total().await?,
    };
    // Behind the end there is nothing to walk to.
    let is_there = request.offset() < total;
    let ids = if is_there { spec.with_total(total).page(request).await? } else { Vec::new() };
    Ok(Page { rows: by_ids(db, &ids).await?, total, request })
}

/// The applications with these ids, in their order; without those that no longer exist.
async fn by_ids(db: &Db, ids: &[Uuid]) -> Result<Vec<ApplicationRecord>, StoreError> {
    let mut q = Q::new(concat!("SELECT ", row_columns!(), " FROM applications a"));
    q.push(BESIDE).push(" WHERE ").one_of(db, "a.id", ids);
    let rows = in_order(ids, q.all(db).await?, Row::id);
    rows.into_iter().map(ApplicationRecord::try_from).collect()
}

/// The next applications of a walk (spec: conventions#cursors). `total`: how many the whole walk has.
///
/// # Errors
/// The database's.
pub async fn walk(
    db: &Db,
    scope: &Scope,
    filter: &ApplicationFilter,
    order: (ApplicationOrder, SortDirection),
    total: u64,
    step: &Step,
) -> Result<WalkStep<ApplicationRecord>, StoreError> {
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let spec = Spec::of(db, scope, filter, &expanded, order).with_total(total);
    let runs = spec.walk_runs().into_iter().map(|part| (part, spec.sort_key(part)));
    let ids =
        |part: &Option<AssignmentPart>, after: Option<&Position>, limit| spec.ids_query(*part, after, limit);
    let (ids, next) = walk::walk(db, runs, step, ids).await?;
    Ok(WalkStep { rows: by_ids(db, &ids).await?, next })
}

/// The statement that finds the ids of a step in the run of its position; for EXPLAIN.
pub fn walk_query(
    db: &Db,
    scope: &Scope,
    order: (ApplicationOrder, SortDirection),
    step: &Step,
) -> Option<Q> {
    let filter = ApplicationFilter::default();
    let spec = Spec::of(db, scope, &filter, &[], order);
    let part = spec.walk_runs().into_iter().nth(step.run())?;
    Some(spec.ids_query(part, step.after.as_ref(), step.rows))
}

/// How many listed applications in scope match.
pub async fn total(db: &Db, scope: &Scope, filter: &ApplicationFilter) -> Result<u64, StoreError> {
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let order = (ApplicationOrder::CreatedAt, SortDirection::Desc);
    Spec::of(db, scope, filter, &expanded, order).total().await
}

/// Appends the WHERE of visible rows and the scope, by the columns of `a`, `s` and `h`.
pub(super) fn push_visible(q: &mut Q, scope: &Scope) {
    q.push(" WHERE ");
    push_shown(q, scope);
}

/// Appends the conditions of visible rows and the scope, without the word WHERE.
fn push_shown(q: &mut Q, scope: &Scope) {
    q.push(concat!(listed!(), " AND s.deleted_at IS NULL AND h.eff_deleted_at IS NULL"));
    push_scope(q, "a", "home_id", scope);
}

/// Each application has its system, and each system its organization; the outer joins keep SQLite from reading all of
/// them beforehand.
pub(super) const JOINS: &str = " [[JOIN||LEFT JOIN]] systems s ON s.id = a.system_id \
     [[JOIN||LEFT JOIN]] organizations h ON h.id = a.home_id";

/// What is read beside the rows of a page.
const BESIDE: &str = " JOIN systems s ON s.id = a.system_id JOIN organizations h ON h.id = a.home_id \
     LEFT JOIN application_hosts t ON t.system_id = a.system_id \
     LEFT JOIN organizations g ON g.id = a.organization_id";

impl<'a> Spec<'a> {
    const fn of(
        db: &'a Db,
        scope: &'a Scope,
        filter: &'a ApplicationFilter,
        expanded: &'a [(OrgId, OrgType)],
        (order, direction): (ApplicationOrder, SortDirection),
    ) -> Spec<'a> {
        Spec { db, scope, filter, expanded, order, direction, is_few: false }
    }

    /// This list, read in the way that suits its length.
    fn with_total(self, total: u64) -> Spec<'a> {
        Spec { is_few: total <= MAX_SORTED && *self.filter != ApplicationFilter::default(), ..self }
    }

    async fn total(&self) -> Result<u64, StoreError> {
        let by_kind = ApplicationFilter {
            types: self.filter.types.clone(),
            statuses: self.filter.statuses.clone(),
            ..ApplicationFilter::default()
        };
        if *self.filter == by_kind {
            return self.total_of_kinds().await;
        }
        let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM applications a");
        q.push(JOINS);
        push_visible(&mut q, self.scope);
        self.push_filter(&mut q);
        q.count(self.db).await
    }

    /// From the counters: they know the totals by type and status without reading rows.
    async fn total_of_kinds(&self) -> Result<u64, StoreError> {
        let has = |list: &Option<Vec<String>>, word: &str| {
            list.as_ref().is_none_or(|list| list.iter().any(|w| w == word))
        };
        let (unassigned, assigned) =
            (has(&self.filter.statuses, "unassigned"), has(&self.filter.statuses, "assigned"));
        let kinds = counts::kinds(self.db, self.scope).await?;
        let kinds = kinds.iter().filter(|k| has(&self.filter.types, &k.instance_of));
        Ok(kinds
            .map(|k| if unassigned { k.unassigned } else { 0 } + if assigned { k.assigned } else { 0 })
            .sum())
    }

    /// The ids of a page, in order. Their rows are read by a second statement: PostgreSQL would plan a single one with
    /// all its joins anew for each page, which takes longer than both.
    async fn page(&self, request: PageRequest) -> Result<Vec<Uuid>, StoreError> {
        let (mut offset, mut wanted) = (request.offset(), request.page_size);
        if self.order != ApplicationOrder::OrganizationName {
            return self.ids(None, (wanted, offset)).await;
        }
        let mut ids = Vec::new();
        for part in self.runs() {
            let page = self.ids(Some(part), (wanted, offset)).await?;
            if page.is_empty() {
                if offset > 0 {
                    offset = offset.saturating_sub(self.count(part).await?);
                }
                continue;
            }
            wanted = wanted.saturating_sub(page.len() as u64);
            offset = 0;
            ids.extend(page);
            if wanted == 0 {
                break;
            }
        }
        Ok(ids)
    }

    /// The runs by the organization's name, in order.
    fn runs(&self) -> Vec<AssignmentPart> {
        let mut runs = vec![AssignmentPart::Assigned, AssignmentPart::Elsewhere, AssignmentPart::Unassigned];
        runs.retain(|part| *part != AssignmentPart::Elsewhere || *self.scope != Scope::Everything);
        if self.direction == SortDirection::Desc {
            runs.reverse();
        }
        runs
    }

    /// The runs of a walk.
    fn walk_runs(&self) -> Vec<Option<AssignmentPart>> {
        match self.order {
            ApplicationOrder::OrganizationName => self.runs().into_iter().map(Some).collect(),
            _ => vec![None],
        }
    }

    /// At most so many applications of a run, behind the position if there is one.
    fn ids_query(&self, part: Option<AssignmentPart>, after: Option<&Position>, limit: u64) -> Q {
        let mut q = Q::new("");
        self.push_ids(&mut q, part, after, (limit, 0));
        q
    }

    fn sort_key(&self, part: Option<AssignmentPart>) -> SortKey {
        let is_by_id = matches!(part, Some(AssignmentPart::Elsewhere | AssignmentPart::Unassigned));
        let column = if is_by_id { None } else { Some(self.order.column()) };
        SortKey { column, id: "a.id" }
    }

    async fn count(&self, part: AssignmentPart) -> Result<u64, StoreError> {
        let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM applications a");
        q.push(JOINS);
        push_visible(&mut q, self.scope);
        match part {
            AssignmentPart::Assigned => self.push_assigned(&mut q, "IN"),
            AssignmentPart::Elsewhere => self.push_assigned(&mut q, "NOT IN"),
            AssignmentPart::Unassigned => {
                q.push(" AND a.organization_id IS NULL");
            }
        }
        self.push_filter(&mut q);
        q.count(self.db).await
    }

    /// Appends ` AND …`: assigned to an organization of the scope, or to another one.
    fn push_assigned(&self, q: &mut Q, operator: &str) {
        q.push(" AND a.organization_id IS NOT NULL");
        if *self.scope != Scope::Everything {
            q.push(&format!(
                " AND a.organization_id {operator} (SELECT v.id FROM organizations v WHERE 1 = 1"
            ));
            push_scope(q, "v", "id", self.scope);
            q.push(")");
        }
    }

    async fn ids(&self, part: Option<AssignmentPart>, window: (u64, u64)) -> Result<Vec<Uuid>, StoreError> {
        let mut q = Q::new("");
        self.push_ids(&mut q, part, None, window);
        let rows: Vec<(Uuid,)> = q.all(self.db).await?;
        Ok(rows.into_iter().map(|(id,)| id).collect())
    }

    /// The ids of rows behind a position, if there is one.
    fn push_ids(
        &self,
        q: &mut Q,
        part: Option<AssignmentPart>,
        after: Option<&Position>,
        (limit, offset): (u64, u64),
    ) {
        let sort_key = self.sort_key(part);
        q.push(walk::PAGE).push(if self.is_few { "SELECT * FROM (SELECT " } else { "SELECT " });
        sort_key.push_columns(q);
        q.push(" FROM ");
        let by_host = matches!(self.order, ApplicationOrder::SystemName | ApplicationOrder::LastInventoryAt);
        q.push(match (by_host, part, self.is_few) {
            (true, _, false) => {
                "application_hosts t [[JOIN||CROSS JOIN]] applications a ON a.system_id = t.system_id"
            }
            (true, _, true) => {
                "applications a [[JOIN||CROSS JOIN]] application_hosts t ON t.system_id = a.system_id"
            }
            (_, Some(AssignmentPart::Assigned), false) => {
                "organizations w [[JOIN||CROSS JOIN]] applications a ON a.organization_id = w.id"
            }
            (_, Some(AssignmentPart::Assigned), true) => {
                "applications a [[JOIN||CROSS JOIN]] organizations w ON w.id = a.organization_id"
            }
            _ => "applications a",
        });
        q.push(JOINS).push(" WHERE 1 = 1");
        // Before `certification_level >= 4`: SQLite takes the first of two lower bounds of a column as the range of the
        // index.
        if let Some(position) = after {
            if by_host || part == Some(AssignmentPart::Assigned) {
                position.push_not_before(q, self.order.column().0, self.direction);
            }
            sort_key.push_behind(q, position, self.direction);
        }
        q.push(" AND ");
        push_shown(q, self.scope);
        if by_host {
            push_scope(q, "t", "home_id", self.scope);
        }
        match part {
            Some(AssignmentPart::Assigned) => {
                q.push(" AND a.organization_id IS NOT NULL");
                push_scope(q, "w", "id", self.scope);
            }
            Some(AssignmentPart::Elsewhere) => self.push_assigned(q, "NOT IN"),
            // In the form of the index.
            Some(AssignmentPart::Unassigned) => {
                q.push(" AND a.status = 'unassigned'");
            }
            None => {}
        }
        self.push_filter(q);
        match self.is_few {
            true => walk::push_found_order(q, sort_key, self.direction),
            false => self.push_order(q, part),
        }
        walk::push_page_end(q, limit, offset);
    }

    fn push_order(&self, q: &mut Q, part: Option<AssignmentPart>) {
        let word = self.direction.as_str();
        let (column, _) = self.order.column();
        match part {
            Some(AssignmentPart::Elsewhere | AssignmentPart::Unassigned) => {
                q.push(&format!(" ORDER BY a.id {word}"))
            }
            _ => q.push(&format!(" ORDER BY {column} {word}, a.id {word}")),
        };
    }

    fn push_filter(&self, q: &mut Q) {
        push_filter(q, self.scope, self.filter, self.expanded);
    }
}

/// Appends ` AND …` for the filter of a reader of the scope.
pub(super) fn push_filter(
    q: &mut Q,
    scope: &Scope,
    filter: &ApplicationFilter,
    expanded: &[(OrgId, OrgType)],
) {
    filter.push_columns(q);
    push_organizations(q, scope, filter, expanded);
}

/// An organization outside the scope has no applications for its reader.
fn push_organizations(q: &mut Q, scope: &Scope, filter: &ApplicationFilter, expanded: &[(OrgId, OrgType)]) {
    let Some(ids) = &filter.organizations else { return };
    q.push(" AND (");
    q.push(if filter.or_unassigned { "a.organization_id IS NULL" } else { "1 = 0" });
    if !filter.include_hierarchy && *scope == Scope::Everything {
        q.push(" OR a.organization_id IN (");
        q.list(ids.iter().copied()).push("))");
        return;
    }
    let is_owner = |(_, kind): &(OrgId, OrgType)| *kind == OrgType::Owner;
    q.push(" OR a.organization_id IN (SELECT e.id FROM organizations e WHERE (");
    if !filter.include_hierarchy {
        q.push("e.id IN (").list(ids.iter().copied()).push(")");
    } else if expanded.iter().any(is_owner) {
        q.push("1 = 1");
    } else {
        let ids_of_type =
            |wanted: OrgType| expanded.iter().filter(move |(_, kind)| *kind == wanted).map(|(id, _)| *id);
        q.push("e.p2 IN (").list(ids_of_type(OrgType::Distributor)).push(") OR e.p3 IN (");
        q.list(ids_of_type(OrgType::Reseller)).push(") OR e.id IN (");
        q.list(ids_of_type(OrgType::Customer)).push(")");
    }
    q.push(")");
    push_scope(q, "e", "id", scope);
    q.push("))");
}
