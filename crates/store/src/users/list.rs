//! The list of users: filters, order, page and total (spec: users#operations).

use super::{Placed, Row, columns, stats};
use crate::{
    Db, StoreError,
    creator_row::push_created_by,
    organizations::{
        list::{States, push_order, push_search, push_states},
        suspended::{SUSPENDED as SUSPENDED_ORGANIZATIONS, push_suspended},
        totals,
    },
    scope::push_scope,
    sql::Q,
    walk::{self, MAX_SORTED, NullPart, Position, SortKey, SortType, Step, WalkStep, in_order},
};
use bailiwick_domain::{OrgId, Page, PageRequest, SortDirection};
use bailiwick_policy::Scope;
use uuid::Uuid;

/// The filter of users. Empty lists match nothing; none switches a condition off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// As sent; blank = no filter.
    pub search: String,
    /// Effective states to show.
    pub states: States,
    pub organizations: Option<Vec<OrgId>>,
    /// Role keys; users with one of them.
    pub roles: Option<Vec<String>>,
    /// Ids of creating users or organizations.
    pub created_by: Option<Vec<Uuid>>,
}

/// A sortable column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Ignoring case.
    Name,
    /// Ignoring case.
    Email,
    /// Ignoring case.
    Username,
    /// Creation.
    CreatedAt,
    /// Last change.
    UpdatedAt,
    /// Last exchange; users without one are the greatest.
    LatestLoginAt,
    /// Name of the organization ignoring case.
    Organization,
    /// Effective suspension; users without one are the greatest.
    SuspendedAt,
    /// Creator's name ignoring case; users without one are the greatest.
    CreatorName,
}

const SUSPENDED: &str = "COALESCE(u.suspended_at, o.eff_suspended_at)";
const DELETED: &str = "COALESCE(u.deleted_at, o.eff_deleted_at)";

impl Order {
    /// The runs of a walk in this order.
    fn runs(self) -> Vec<(NullPart, SortKey)> {
        let (column, is_nullable) = self.by.column();
        walk::runs(column, is_nullable, self.direction, "u.id")
    }

    /// Appends ` WHERE …`, and before it the organizations where the order or the states need them.
    fn push_rows(self, q: &mut Q, scope: &Scope, filter: &Filter) {
        let joins = filter.states.deleted || matches!(self.by, Sort::Organization | Sort::SuspendedAt);
        if joins {
            self.by.push_organizations(q);
        }
        push_where(q, scope, filter, joins);
        if self.by == Sort::Organization {
            // Repeats the scope, so that only the organizations of the scope are walked by name.
            push_scope(q, "o", "id", scope);
        }
    }
}

/// The creator's organization, for its present name.
const CREATORS: &str = " LEFT JOIN organizations c ON c.id = u.creator_org_id";

impl Sort {
    /// Appends the join of the organizations. Every user has one: where the rows follow an index of users, the outer
    /// join keeps SQLite from filtering all organizations beforehand.
    fn push_organizations(self, q: &mut Q) {
        q.push(if self == Sort::Organization { "JOIN" } else { "[[JOIN||LEFT JOIN]]" });
        q.push(" organizations o ON o.id = u.organization_id");
    }

    /// The column, and whether users may have no value there.
    const fn column(self) -> ((&'static str, SortType), bool) {
        match self {
            Sort::Name => (("u.name_key", SortType::Text), false),
            Sort::Email => (("u.email_key", SortType::Text), false),
            Sort::Username => (("u.username_key", SortType::Text), false),
            Sort::CreatedAt => (("u.created_at", SortType::Time), false),
            Sort::UpdatedAt => (("u.updated_at", SortType::Time), false),
            Sort::LatestLoginAt => (("u.latest_login_at", SortType::Time), true),
            Sort::Organization => (("o.name_key", SortType::Text), false),
            Sort::SuspendedAt => ((SUSPENDED, SortType::Time), true),
            Sort::CreatorName => (("u.creator_key", SortType::Text), true),
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

/// The states of a list that joins organizations. Without deleted users both marks are named separately, so that the
/// partial indexes can be used.
fn push_live(q: &mut Q, states: States) {
    if states.deleted {
        q.push(" WHERE 1 = 1");
        push_states(q, states, SUSPENDED, DELETED);
        return;
    }
    q.push(" WHERE u.deleted_at IS NULL AND o.eff_deleted_at IS NULL");
    q.push(match (states.enabled, states.suspended) {
        (true, true) => "",
        (true, false) => " AND u.suspended_at IS NULL AND o.eff_suspended_at IS NULL",
        (false, true) => " AND (u.suspended_at IS NOT NULL OR o.eff_suspended_at IS NOT NULL)",
        (false, false) => " AND 1 = 0",
    });
}

/// The states of a list that does not join organizations and has no deleted users. The indexes of the orders hold the
/// organization too, so that rows before a page are passed over in the index alone.
fn push_live_alone(q: &mut Q, states: States) {
    q.push(
        " WHERE u.deleted_at IS NULL AND u.organization_id NOT IN \
         (SELECT d.id FROM organizations d WHERE d.eff_deleted_at IS NOT NULL)",
    );
    match (states.enabled, states.suspended) {
        (true, true) => {}
        (true, false) => {
            q.push(" AND u.suspended_at IS NULL");
            push_suspended(q, "u.organization_id", false);
        }
        (false, true) => {
            q.push(&format!(
                " AND (u.suspended_at IS NOT NULL OR u.organization_id IN ({SUSPENDED_ORGANIZATIONS}))"
            ));
        }
        (false, false) => {
            q.push(" AND 1 = 0");
        }
    }
}

fn push_where(q: &mut Q, scope: &Scope, filter: &Filter, has_organizations: bool) {
    if has_organizations {
        push_live(q, filter.states);
    } else {
        push_live_alone(q, filter.states);
    }
    push_scope(q, "u", "organization_id", scope);
    push_search(q, "u.search_key", &filter.search);
    if let Some(ids) = &filter.organizations {
        q.push(" AND u.organization_id IN (").list(ids.iter().copied()).push(")");
    }
    if let Some(roles) = &filter.roles {
        q.push(" AND (1 = 0");
        for role in roles {
            q.push(" OR [[jsonb_exists(u.role_ids, ?)||EXISTS (SELECT 1 FROM json_each(u.role_ids) r WHERE r.value = ?)]]")
                .arg(role);
        }
        q.push(")");
    }
    push_created_by(q, ("u", "organization_id"), scope, filter.created_by.as_ref());
}

/// How many users inside the scope match.
pub async fn count(db: &Db, scope: &Scope, filter: &Filter) -> Result<u64, StoreError> {
    if *filter == Filter::default() {
        return Ok(totals(db, scope).await?.users);
    }
    let mut q = Q::new(
        "SELECT CAST(COUNT(*) AS BIGINT) FROM users u JOIN organizations o ON o.id = u.organization_id",
    );
    push_where(&mut q, scope, filter, true);
    q.count(db).await
}

/// One page of the users inside the scope, with the number of all matches.
pub async fn list(
    db: &Db,
    scope: &Scope,
    filter: &Filter,
    order: Order,
    page: PageRequest,
) -> Result<Page<Placed>, StoreError> {
    let total = count(db, scope, filter).await?;
    page_of(db, scope, filter, order, page, total).await
}

/// One page of the users inside the scope, where the number of all matches is known.
pub async fn page_of(
    db: &Db,
    scope: &Scope,
    filter: &Filter,
    order: Order,
    page: PageRequest,
    total: u64,
) -> Result<Page<Placed>, StoreError> {
    if page.offset() >= total {
        return Ok(Page { rows: Vec::new(), total, request: page });
    }
    if order.by == Sort::SuspendedAt && *filter == Filter::default() {
        let rows = by_suspension(db, scope, order.direction, page, total).await?;
        return Ok(Page { rows, total, request: page });
    }
    // Finds the ids of the page first, so that no row before it is read whole. Then reads the rows by their ids, which
    // PostgreSQL plans once instead of once for each order and page.
    let ids: Vec<(Uuid,)> = page_ids(scope, filter, order, page, total).all(db).await?;
    let ids: Vec<Uuid> = ids.into_iter().map(|(id,)| id).collect();
    Ok(Page { rows: by_ids(db, &ids).await?, total, request: page })
}

/// The ids of a page of a list that has so many users.
fn page_ids(scope: &Scope, filter: &Filter, order: Order, page: PageRequest, total: u64) -> Q {
    let ((column, kind), is_nullable) = order.by.column();
    // A fence keeps PostgreSQL from looking for the few in the order of all.
    let is_few = total <= MAX_SORTED && *filter != Filter::default();
    let mut q = Q::new(walk::PAGE);
    q.push("SELECT page_id FROM (SELECT ");
    SortKey { column: Some((column, kind)), id: "u.id" }.push_columns(&mut q);
    q.push(" FROM users u ");
    order.push_rows(&mut q, scope, filter);
    q.push(if is_few { "[[ OFFSET 0||]]) found" } else { ") found" });
    let (value, id) =
        if is_few { ("[[||+]]page_value", "[[||+]]page_id") } else { ("page_value", "page_id") };
    push_order(&mut q, value, is_nullable, order.direction, id);
    walk::push_page_end(&mut q, page.page_size, page.offset());
    q
}

/// The users with these ids, in their order; those that there are.
async fn by_ids(db: &Db, ids: &[Uuid]) -> Result<Vec<Placed>, StoreError> {
    let mut q = Q::new(concat!(
        "SELECT ",
        columns!(),
        " FROM users u JOIN organizations o ON o.id = u.organization_id"
    ));
    q.push(CREATORS).push(" WHERE ").one_of(db, "u.id", ids);
    let rows: Vec<Row> = in_order(ids, q.all(db).await?, |row: &Row| row.id);
    rows.into_iter().map(Row::into_placed).collect()
}

/// The next users of a walk (spec: conventions#cursors).
///
/// # Errors
/// The database's.
pub async fn walk(
    db: &Db,
    scope: &Scope,
    filter: &Filter,
    order: Order,
    step: &Step,
) -> Result<WalkStep<Placed>, StoreError> {
    let (ids, next) = walk_ids(db, scope, filter, order, step).await?;
    Ok(WalkStep { rows: by_ids(db, &ids).await?, next })
}

/// The ids of a walk's next users, and the end of the step if there are users behind it.
pub(super) async fn walk_ids(
    db: &Db,
    scope: &Scope,
    filter: &Filter,
    order: Order,
    step: &Step,
) -> Result<(Vec<Uuid>, Option<Position>), StoreError> {
    let runs = order.runs().into_iter().map(|(part, sort_key)| ((part, sort_key), sort_key));
    let ids = |part: &(NullPart, SortKey), after: Option<&Position>, limit| {
        ids_query(scope, filter, order, *part, after, limit)
    };
    walk::walk(db, runs, step, ids).await
}

/// The statement that finds the ids of a step in the run of its position; for EXPLAIN.
pub fn walk_query(scope: &Scope, order: Order, step: &Step) -> Option<Q> {
    let part = order.runs().into_iter().nth(step.run())?;
    Some(ids_query(scope, &Filter::default(), order, part, step.after.as_ref(), step.rows))
}

/// At most so many users of a run, behind the position if there is one.
fn ids_query(
    scope: &Scope,
    filter: &Filter,
    order: Order,
    (part, sort_key): (NullPart, SortKey),
    after: Option<&Position>,
    limit: u64,
) -> Q {
    let direction = order.direction;
    let mut sorted = order.by.column().0.0;
    let mut q = Q::new("SELECT ");
    sort_key.push_columns(&mut q);
    q.push(" FROM users u ");
    order.push_rows(&mut q, scope, filter);
    match (part, order.by) {
        (NullPart::All, _) => {}
        (NullPart::Without, Sort::SuspendedAt) => {
            q.push(" AND u.suspended_at IS NULL AND o.eff_suspended_at IS NULL");
            sorted = "u.id";
        }
        // Ordered by the missing value too, which is the order of the index.
        (NullPart::Without, _) => {
            q.push(&format!(" AND {sorted} IS NULL"));
        }
        (NullPart::With, by) => {
            q.push(&format!(" AND {sorted} IS NOT NULL"));
            if by == Sort::SuspendedAt && !filter.states.deleted {
                push_marked(&mut q, scope);
            }
        }
    }
    if let Some(position) = after {
        if order.by == Sort::Organization {
            position.push_not_before(&mut q, sorted, direction);
        }
        sort_key.push_behind(&mut q, position, direction);
    }
    push_order(&mut q, sorted, false, direction, "u.id");
    q.push(" LIMIT ?").arg(limit);
    q
}

async fn placed(q: Q, db: &Db) -> Result<Vec<Placed>, StoreError> {
    let rows: Vec<Row> = q.all(db).await?;
    rows.into_iter().map(Row::into_placed).collect()
}

fn select(by: Sort) -> Q {
    let mut q = Q::new(concat!("SELECT ", columns!(), " FROM users u "));
    by.push_organizations(&mut q);
    q.push(CREATORS);
    q
}

/// The order by suspension in two runs, as most users have none: the suspended ones are few and found by their marks,
/// the others are walked by id. Ascending, the suspended come first.
async fn by_suspension(
    db: &Db,
    scope: &Scope,
    direction: SortDirection,
    page: PageRequest,
    total: u64,
) -> Result<Vec<Placed>, StoreError> {
    let suspended = stats::count_by_state(db, scope).await?.suspended;
    let mut runs = [(true, suspended), (false, total.saturating_sub(suspended))];
    if direction == SortDirection::Desc {
        runs.reverse();
    }
    let mut rows = Vec::new();
    let mut skip = page.offset();
    for (is_suspended, length) in runs {
        let missing = page.page_size.saturating_sub(rows.len() as u64);
        if missing == 0 || skip >= length {
            skip = skip.saturating_sub(length);
            continue;
        }
        let mut q = select(Sort::SuspendedAt);
        let states = States { enabled: !is_suspended, suspended: is_suspended, deleted: false };
        push_where(&mut q, scope, &Filter { states, ..Filter::default() }, true);
        let column = if is_suspended { SUSPENDED } else { "u.id" };
        if is_suspended {
            push_marked(&mut q, scope);
        }
        push_order(&mut q, column, false, direction, "u.id");
        q.push(" LIMIT ? OFFSET ?").arg(missing).arg(skip);
        rows.extend(placed(q, db).await?);
        skip = 0;
    }
    Ok(rows)
}

/// Appends ` AND …` for users that have a mark or are in an organization with one, found from the marks.
fn push_marked(q: &mut Q, scope: &Scope) {
    q.push(
        " AND u.id IN (SELECT m.id FROM users m WHERE m.deleted_at IS NULL AND m.suspended_at IS NOT NULL",
    );
    push_scope(q, "m", "organization_id", scope);
    q.push(
        " UNION ALL SELECT m.id FROM organizations b JOIN users m ON m.organization_id = b.id \
         WHERE m.deleted_at IS NULL",
    );
    push_suspended(q, "b.id", true);
    push_scope(q, "b", "id", scope);
    q.push(")");
}
