//! The list of one family: filters, order, page and total (spec: organizations#list).

use super::{COLUMNS, Row, suspended::push_suspended};
use crate::{
    Db, StoreError,
    creator_row::push_created_by,
    filters::can_be_stored,
    scope::push_scope,
    sql::Q,
    walk::{self, NullPart, Position, SortKey, SortType, Step, WalkStep, in_order},
};
use bailiwick_domain::{
    OrgId, OrgType, Organization, Page, PageRequest, SortDirection, fold::contains_pattern,
};
use bailiwick_policy::Scope;
use uuid::Uuid;

/// The filter of the family's rows. Empty lists match nothing; none switches a condition off.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// As sent; blank = no filter.
    pub search: String,
    /// Effective states to show.
    pub states: States,
    /// Ids of creating users or organizations.
    pub created_by: Option<Vec<Uuid>>,
    /// The subtrees of the rows.
    pub within: Option<Vec<Within>>,
}

/// Effective states a list shows; they exclude each other, deleted before suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States {
    /// Neither suspended nor deleted.
    pub enabled: bool,
    /// Suspended and not deleted.
    pub suspended: bool,
    pub deleted: bool,
}

impl Default for States {
    fn default() -> States {
        States { enabled: true, suspended: true, deleted: false }
    }
}

impl States {
    /// Whether rows with a suspension, or without one, can be among them.
    const fn show(self, is_suspended: bool) -> bool {
        self.deleted || if is_suspended { self.suspended } else { self.enabled }
    }
}

/// A subtree, by the place of its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// Directly below this one.
    Parent(OrgId),
    /// Anywhere below this one.
    Below(OrgId, OrgType),
}

/// A sortable column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Ignoring case.
    Name,
    /// Ignoring case.
    Description,
    /// Creation.
    CreatedAt,
    /// Last change.
    UpdatedAt,
    /// Effective suspension; rows without one are the greatest.
    SuspendedAt,
    /// Creator's name ignoring case; rows without one are the greatest.
    CreatorName,
}

impl Order {
    /// The runs of a walk in this order, of rows in these states.
    fn runs(self, states: States) -> impl Iterator<Item = (NullPart, SortKey)> {
        let (column, is_nullable) = self.by.column();
        let runs = walk::runs(column, is_nullable, self.direction, "o.id");
        runs.into_iter()
            .filter(move |(part, _)| self.by != Sort::SuspendedAt || states.show(*part == NullPart::With))
    }

    /// Appends ` ORDER BY …`.
    fn push(self, q: &mut Q) {
        let ((column, _), is_nullable) = self.by.column();
        push_order(q, column, is_nullable, self.direction, "o.id");
    }
}

impl Sort {
    /// The column, and whether rows may have no value there.
    const fn column(self) -> ((&'static str, SortType), bool) {
        match self {
            Sort::Name => (("o.name_key", SortType::Text), false),
            Sort::Description => (("o.description_order", SortType::Text), false),
            Sort::CreatedAt => (("o.created_at", SortType::Time), false),
            Sort::UpdatedAt => (("o.updated_at", SortType::Time), false),
            Sort::SuspendedAt => (("o.eff_suspended_at", SortType::Time), true),
            Sort::CreatorName => (("o.creator_key", SortType::Text), true),
        }
    }
}

/// Order of a list; the id breaks ties in the same direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Column.
    pub by: Sort,
    pub direction: SortDirection,
}

impl Default for Order {
    fn default() -> Order {
        Order { by: Sort::CreatedAt, direction: SortDirection::Desc }
    }
}

/// Appends ` ORDER BY …`: missing values are the greatest on both engines.
pub(crate) fn push_order(q: &mut Q, column: &str, is_nullable: bool, direction: SortDirection, id: &str) {
    let word = direction.as_str();
    // PostgreSQL does so by default; written in this form, the order can still use an index.
    let nulls = match (is_nullable, direction) {
        (false, _) => "",
        (true, SortDirection::Asc) => " [[||NULLS LAST]]",
        (true, SortDirection::Desc) => " [[||NULLS FIRST]]",
    };
    q.push(&format!(" ORDER BY {column} {word}{nulls}, {id} {word}"));
}

/// Appends ` AND …` for a text that must occur in a folded column; wild cards are literal. A text that no row can hold
/// matches nothing.
pub(crate) fn push_search(q: &mut Q, column: &str, text: &str) {
    push_search_any(q, &[column], text);
}

/// Appends ` AND …` for a text that must occur in one of several folded columns. PostgreSQL computes an expression of
/// parameters anew for each row, so the pattern is made here, and its escape character is the default one there.
pub(crate) fn push_search_any(q: &mut Q, columns: &[&str], text: &str) {
    if text.trim().is_empty() {
        return;
    }
    q.push(" AND (1 = 0");
    if can_be_stored(text) {
        let pattern = contains_pattern(text);
        for column in columns {
            q.push(&format!(" OR {column} LIKE ? [[||ESCAPE '\\']]")).arg(&pattern);
        }
    }
    q.push(")");
}

/// Appends ` AND …` for the effective states, given the expressions of both marks.
pub(crate) fn push_states(q: &mut Q, states: States, suspended: &str, deleted: &str) {
    let live = match (states.enabled, states.suspended) {
        (true, true) => Some(format!("{deleted} IS NULL")),
        (true, false) => Some(format!("({deleted} IS NULL AND {suspended} IS NULL)")),
        (false, true) => Some(format!("({deleted} IS NULL AND {suspended} IS NOT NULL)")),
        (false, false) => None,
    };
    let text = match (live, states.deleted) {
        (Some(live), false) => format!(" AND {live}"),
        (Some(live), true) => format!(" AND ({live} OR {deleted} IS NOT NULL)"),
        (None, true) => format!(" AND {deleted} IS NOT NULL"),
        (None, false) => " AND 1 = 0".to_owned(),
    };
    q.push(&text);
}

fn push_within(q: &mut Q, within: Option<&Vec<Within>>) {
    let Some(within) = within else { return };
    q.push(" AND (1 = 0");
    for condition in within {
        match *condition {
            Within::Parent(id) => q.push(" OR o.parent_id = ?").arg(id),
            Within::Below(id, OrgType::Owner) => q.push(" OR o.id <> ?").arg(id),
            Within::Below(id, OrgType::Distributor) => q.push(" OR (o.p2 = ? AND o.id <> ?)").arg(id).arg(id),
            Within::Below(id, OrgType::Reseller) => q.push(" OR (o.p3 = ? AND o.id <> ?)").arg(id).arg(id),
            Within::Below(_, OrgType::Customer) => q,
        };
    }
    q.push(")");
}

/// The rows of a family inside a scope that match a filter.
#[derive(Clone, Copy, Debug)]
pub struct Selected<'a> {
    pub family: OrgType,
    pub scope: &'a Scope,
    pub filter: &'a Filter,
}

pub(super) fn push_where(q: &mut Q, Selected { family, scope, filter }: Selected<'_>) {
    q.push(" WHERE o.type = ?").arg(family.as_str());
    push_scope(q, "o", "id", scope);
    match filter.states {
        // Named separately, so that an index alone can count them.
        States { enabled, suspended, deleted: false } if enabled != suspended => {
            q.push(" AND o.eff_deleted_at IS NULL");
            push_suspended(q, "o.id", suspended);
        }
        states => push_states(q, states, "o.eff_suspended_at", "o.eff_deleted_at"),
    }
    push_search(q, "o.search_key", &filter.search);
    push_created_by(q, ("o", "id"), scope, filter.created_by.as_ref());
    push_within(q, filter.within.as_ref());
}

/// How many rows are selected.
pub async fn count(db: &Db, selected: Selected<'_>) -> Result<u64, StoreError> {
    let mut count = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM organizations o");
    push_where(&mut count, selected);
    count.count(db).await
}

/// One page of a family inside the scope, with the number of all rows that match.
pub async fn list(
    db: &Db,
    family: OrgType,
    scope: &Scope,
    filter: &Filter,
    order: Order,
    page: PageRequest,
) -> Result<Page<Organization>, StoreError> {
    let selected = Selected { family, scope, filter };
    let total = count(db, selected).await?;
    page_of(db, selected, order, page, total).await
}

/// One page of the selected organizations, where the number of all rows that match is known.
pub async fn page_of(
    db: &Db,
    selected: Selected<'_>,
    order: Order,
    page: PageRequest,
    total: u64,
) -> Result<Page<Organization>, StoreError> {
    if page.offset() >= total {
        return Ok(Page { rows: Vec::new(), total, request: page });
    }
    let rows = if order.by == Sort::SuspendedAt {
        by_suspension(db, selected, order.direction, page).await?
    } else {
        // Finds the ids of the page first, so that no row before it is read whole. Then reads the rows by their ids,
        // which PostgreSQL plans once instead of once for each order and page.
        let mut q = Q::new(walk::PAGE);
        q.push("SELECT o.id FROM organizations o");
        push_where(&mut q, selected);
        order.push(&mut q);
        walk::push_page_end(&mut q, page.page_size, page.offset());
        let ids: Vec<Uuid> = q.all::<(Uuid,)>(db).await?.into_iter().map(|(id,)| id).collect();
        in_order(&ids, by_ids(db, &ids).all(db).await?, Row::id)
    };
    let rows = rows.into_iter().map(Row::into_organization).collect::<Result<_, _>>()?;
    Ok(Page { rows, total, request: page })
}

fn by_ids(db: &Db, ids: &[Uuid]) -> Q {
    let mut q = Q::new(&format!(
        "SELECT {COLUMNS} FROM organizations o LEFT JOIN organizations c ON c.id = o.creator_org_id WHERE "
    ));
    q.one_of(db, "o.id", ids);
    q
}

/// The next organizations of a walk (spec: conventions#cursors).
///
/// # Errors
/// The database's.
pub async fn walk(
    db: &Db,
    selected: Selected<'_>,
    order: Order,
    step: &Step,
) -> Result<WalkStep<Organization>, StoreError> {
    let (ids, next) = walk_ids(db, selected, order, step).await?;
    let rows: Vec<Row> = in_order(&ids, by_ids(db, &ids).all(db).await?, Row::id);
    let rows = rows.into_iter().map(Row::into_organization).collect::<Result<_, _>>()?;
    Ok(WalkStep { rows, next })
}

/// The ids of a walk's next rows, and the end of the step if there are rows behind it.
pub(super) async fn walk_ids(
    db: &Db,
    selected: Selected<'_>,
    order: Order,
    step: &Step,
) -> Result<(Vec<Uuid>, Option<Position>), StoreError> {
    let runs = order.runs(selected.filter.states).map(|(part, sort_key)| ((part, sort_key), sort_key));
    let ids = |part: &(NullPart, SortKey), after: Option<&Position>, limit| {
        ids_query(selected, order, *part, after, limit)
    };
    walk::walk(db, runs, step, ids).await
}

/// The statement that finds the ids of a step in the run of its position; for EXPLAIN.
pub fn walk_query(selected: Selected<'_>, order: Order, step: &Step) -> Option<Q> {
    let part = order.runs(selected.filter.states).nth(step.run())?;
    Some(ids_query(selected, order, part, step.after.as_ref(), step.rows))
}

/// At most so many rows of a run, behind the position if there is one.
fn ids_query(
    selected: Selected<'_>,
    Order { by, direction }: Order,
    (part, sort_key): (NullPart, SortKey),
    after: Option<&Position>,
    limit: u64,
) -> Q {
    let mut sorted = by.column().0.0;
    let states = selected.filter.states;
    let mut q = Q::new("SELECT ");
    sort_key.push_columns(&mut q);
    q.push(" FROM organizations o");
    push_where(&mut q, selected);
    match (part, by) {
        (NullPart::All, _) => {}
        (NullPart::With, Sort::SuspendedAt) => push_part(&mut q, states, true),
        (NullPart::Without, Sort::SuspendedAt) => {
            push_part(&mut q, states, false);
            sorted = "o.id";
        }
        // Ordered by the missing value too, which is the order of the index.
        (NullPart::With | NullPart::Without, _) => {
            let word = if part == NullPart::With { "IS NOT NULL" } else { "IS NULL" };
            q.push(&format!(" AND {sorted} {word}"));
        }
    }
    if let Some(position) = after {
        sort_key.push_behind(&mut q, position, direction);
    }
    push_order(&mut q, sorted, false, direction, "o.id");
    q.push(" LIMIT ?").arg(limit);
    q
}

fn select(selected: Selected<'_>) -> Q {
    let mut q = Q::new(&format!(
        "SELECT {COLUMNS} FROM organizations o LEFT JOIN organizations c ON c.id = o.creator_org_id"
    ));
    push_where(&mut q, selected);
    q
}

/// The order by suspension in two runs, as no index has it: the suspended ones are few and found by their marks, the
/// others are walked by id. Ascending, the suspended come first; a run is counted only when the page begins after it.
async fn by_suspension(
    db: &Db,
    selected: Selected<'_>,
    direction: SortDirection,
    page: PageRequest,
) -> Result<Vec<Row>, StoreError> {
    let states = selected.filter.states;
    let mut rows = Vec::new();
    let mut skip = page.offset();
    let runs = match direction {
        SortDirection::Asc => [true, false],
        SortDirection::Desc => [false, true],
    };
    for is_suspended in runs.into_iter().filter(|is_suspended| states.show(*is_suspended)) {
        let missing = page.page_size.saturating_sub(rows.len() as u64);
        if missing == 0 {
            break;
        }
        let mut q = select(selected);
        push_part(&mut q, states, is_suspended);
        let column = if is_suspended { "o.eff_suspended_at" } else { "o.id" };
        push_order(&mut q, column, false, direction, "o.id");
        q.push(" LIMIT ? OFFSET ?").arg(missing).arg(skip);
        let page_rows: Vec<Row> = q.all(db).await?;
        if page_rows.is_empty() && skip > 0 {
            let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM organizations o");
            push_where(&mut q, selected);
            push_part(&mut q, states, is_suspended);
            skip = skip.saturating_sub(q.count(db).await?);
        } else {
            skip = 0;
        }
        rows.extend(page_rows);
    }
    Ok(rows)
}

fn push_part(q: &mut Q, states: States, is_suspended: bool) {
    if !is_suspended {
        q.push(" AND o.eff_suspended_at IS NULL");
    } else if states.show(false) {
        push_suspended(q, "o.id", true);
    }
}
