//! The list of systems: a page is an index range in every order by a column of the row (docs/tree.md).
//!
//! Two orders are computed. `status` is a sequence of runs, one for each status in the order of their words, each an
//! index walk by id; a run is counted only when the page begins behind it. `organization_name` walks the organizations
//! in the order of their names.

use super::{
    SEPARATOR, SystemRecord,
    row::{Row, row_columns},
};
use crate::{
    Db, StoreError,
    organizations::totals,
    scope::push_scope,
    sql::{Arg, Q},
};
use bailiwick_domain::{
    OrgId, OrgType, Page, PageRequest, SortDirection, SystemStatus, Ts,
    fold::{contains_pattern, fold},
};
use bailiwick_policy::Scope;
use uuid::Uuid;

/// One value of the filter `status` (contract 03 §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusFilter {
    /// Effective status.
    Is(SystemStatus),
    /// Never any inventory, and neither unknown nor deleted.
    NoInventory,
}

/// One value of the filter `version`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionFilter {
    /// None = any product.
    pub product: Option<String>,
    /// Exact.
    pub version: String,
}

/// Filters; none = not given, an empty list = given, but nothing can match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemFilter {
    /// Contains, ignoring case, over the texts of contract 03 §2.1.
    pub search: Option<String>,
    /// Contains, ignoring case.
    pub name: Option<String>,
    /// Exact.
    pub system_key: Option<String>,
    /// Exact.
    pub types: Option<Vec<String>>,
    /// Id of the creator or of his organization.
    pub created_by: Option<Vec<Uuid>>,
    /// Exact.
    pub versions: Option<Vec<VersionFilter>>,
    /// Organizations; ANDed with the scope.
    pub organizations: Option<Vec<OrgId>>,
    /// Whether `organizations` stands for all below them as well.
    pub include_hierarchy: bool,
    /// None = all but deleted.
    pub statuses: Option<Vec<StatusFilter>>,
}

/// What the list is ordered by; the id decides between equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words of the wire")]
pub enum SystemOrder {
    Name,
    Type,
    Status,
    Fqdn,
    Version,
    SystemKey,
    CreatedAt,
    UpdatedAt,
    CreatorName,
    OrganizationName,
}

impl SystemOrder {
    /// From the word of `sort_by`.
    pub fn parse(word: &str) -> Option<SystemOrder> {
        Some(match word {
            "name" => SystemOrder::Name,
            "type" => SystemOrder::Type,
            "status" => SystemOrder::Status,
            "fqdn" => SystemOrder::Fqdn,
            "version" => SystemOrder::Version,
            "system_key" => SystemOrder::SystemKey,
            "created_at" => SystemOrder::CreatedAt,
            "updated_at" => SystemOrder::UpdatedAt,
            "creator_name" => SystemOrder::CreatorName,
            "organization_name" => SystemOrder::OrganizationName,
            _ => return None,
        })
    }

    /// Sort column before the id; none where the id alone orders a run.
    const fn column(self) -> Option<&'static str> {
        Some(match self {
            SystemOrder::Name => "s.name_key",
            SystemOrder::Type => "s.type_key",
            SystemOrder::Fqdn => "s.fqdn_key",
            SystemOrder::Version => "s.version",
            SystemOrder::SystemKey => "s.system_key",
            SystemOrder::CreatedAt => "s.created_at",
            SystemOrder::UpdatedAt => "s.updated_at",
            SystemOrder::CreatorName => "s.creator_key",
            SystemOrder::OrganizationName => "o.name_key",
            SystemOrder::Status => return None,
        })
    }
}

/// All statuses in the order of their words.
const BY_WORD: [SystemStatus; 5] = [
    SystemStatus::Active,
    SystemStatus::Deleted,
    SystemStatus::Inactive,
    SystemStatus::Suspended,
    SystemStatus::Unknown,
];

/// The condition of a status; active and inactive bind the time before which a heartbeat is too old. Says what
/// `System::status` says.
const fn condition(status: StatusFilter) -> &'static str {
    match status {
        StatusFilter::Is(SystemStatus::Unknown) => {
            "s.deleted_at IS NULL AND o.eff_deleted_at IS NULL AND s.suspended_at IS NULL \
             AND o.eff_suspended_at IS NULL AND a.last_heartbeat IS NULL"
        }
        StatusFilter::Is(SystemStatus::Active) => {
            "s.deleted_at IS NULL AND o.eff_deleted_at IS NULL AND s.suspended_at IS NULL \
             AND o.eff_suspended_at IS NULL AND a.last_heartbeat > ?"
        }
        StatusFilter::Is(SystemStatus::Inactive) => {
            "s.deleted_at IS NULL AND o.eff_deleted_at IS NULL AND s.suspended_at IS NULL \
             AND o.eff_suspended_at IS NULL AND a.last_heartbeat <= ?"
        }
        StatusFilter::Is(SystemStatus::Suspended) => {
            "s.deleted_at IS NULL AND o.eff_deleted_at IS NULL \
             AND (s.suspended_at IS NOT NULL OR o.eff_suspended_at IS NOT NULL)"
        }
        StatusFilter::Is(SystemStatus::Deleted) => {
            "(s.deleted_at IS NOT NULL OR o.eff_deleted_at IS NOT NULL)"
        }
        StatusFilter::NoInventory => {
            "s.deleted_at IS NULL AND o.eff_deleted_at IS NULL AND a.last_inventory IS NULL \
             AND (s.suspended_at IS NOT NULL OR o.eff_suspended_at IS NOT NULL OR a.last_heartbeat IS NOT NULL)"
        }
    }
}

const fn binds_cutoff(status: StatusFilter) -> bool {
    matches!(status, StatusFilter::Is(SystemStatus::Active | SystemStatus::Inactive))
}

/// A list as asked.
#[derive(Clone, Copy, Debug)]
struct Spec<'a> {
    scope: &'a Scope,
    filter: &'a SystemFilter,
    /// The organizations of the filter with their types, where it takes in what is below them.
    expanded: &'a [(OrgId, OrgType)],
    order: SystemOrder,
    direction: SortDirection,
    /// A heartbeat at or before it is too old.
    cutoff: Ts,
}

/// A page of the systems in scope with the true total. `cutoff` is now minus the liveness timeout.
pub async fn list(
    db: &Db,
    scope: &Scope,
    filter: &SystemFilter,
    (order, direction): (SystemOrder, SortDirection),
    request: PageRequest,
    cutoff: Ts,
) -> Result<Page<SystemRecord>, StoreError> {
    let expanded = expand(db, filter).await?;
    let spec = Spec { scope, filter, expanded: &expanded, order, direction, cutoff };
    let (rows, total) = if request.offset() == 0 {
        let (rows, total) = tokio::join!(spec.page(db, request), spec.total(db));
        (rows?, total?)
    } else {
        // Behind the end there is nothing to walk to.
        let total = spec.total(db).await?;
        let rows = if request.offset() < total { spec.page(db, request).await? } else { Vec::new() };
        (rows, total)
    };
    let rows = rows.into_iter().map(SystemRecord::try_from).collect::<Result<Vec<_>, _>>()?;
    Ok(Page { rows, total, request })
}

/// Types of the organizations whose subtrees the filter means: the type says by which column.
async fn expand(db: &Db, filter: &SystemFilter) -> Result<Vec<(OrgId, OrgType)>, StoreError> {
    let Some(ids) = filter.organizations.as_ref().filter(|ids| filter.include_hierarchy && !ids.is_empty())
    else {
        return Ok(Vec::new());
    };
    let mut q = Q::new("SELECT id, type FROM organizations WHERE id IN (");
    q.list(ids.iter().copied()).push(")");
    let rows: Vec<(Uuid, String)> = q.all(db).await?;
    Ok(rows.into_iter().filter_map(|(id, kind)| Some((OrgId(id), OrgType::parse(&kind)?))).collect())
}

impl Spec<'_> {
    async fn total(&self, db: &Db) -> Result<u64, StoreError> {
        if *self.filter == SystemFilter::default() {
            return Ok(totals(db, self.scope).await?.systems);
        }
        self.count(db, None).await
    }

    async fn count(&self, db: &Db, run: Option<SystemStatus>) -> Result<u64, StoreError> {
        let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) ");
        q.push("FROM systems s JOIN organizations o ON o.id = s.organization_id");
        self.push_where(&mut q, run);
        q.count(db).await
    }

    async fn page(&self, db: &Db, request: PageRequest) -> Result<Vec<Row>, StoreError> {
        let (mut offset, mut wanted) = (request.offset(), request.page_size);
        if self.order != SystemOrder::Status {
            return self.page_query(None, wanted, offset).all(db).await;
        }
        let mut rows: Vec<Row> = Vec::new();
        for run in self.runs() {
            let found: Vec<Row> = self.page_query(Some(run), wanted, offset).all(db).await?;
            if found.is_empty() {
                if offset > 0 {
                    offset = offset.saturating_sub(self.count(db, Some(run)).await?);
                }
                continue;
            }
            wanted = wanted.saturating_sub(found.len() as u64);
            offset = 0;
            rows.extend(found);
            if wanted == 0 {
                break;
            }
        }
        Ok(rows)
    }

    /// The statuses that can appear, in order.
    fn runs(&self) -> Vec<SystemStatus> {
        let asked = self.filter.statuses.as_deref().unwrap_or_default();
        let with_deleted = asked.contains(&StatusFilter::Is(SystemStatus::Deleted));
        let mut runs: Vec<_> =
            BY_WORD.into_iter().filter(|s| with_deleted || *s != SystemStatus::Deleted).collect();
        if self.direction == SortDirection::Desc {
            runs.reverse();
        }
        runs
    }

    /// The ids of the page first, by the index alone where possible; what is shown of them afterwards.
    fn page_query(&self, run: Option<SystemStatus>, limit: u64, offset: u64) -> Q {
        let mut q = Q::new(concat!("SELECT ", row_columns!(), " FROM (SELECT s.id AS page_id "));
        q.push(if self.order == SystemOrder::OrganizationName {
            "FROM organizations o [[JOIN||CROSS JOIN]] systems s ON s.organization_id = o.id"
        } else {
            // Every system has its organization; the outer join keeps SQLite from filtering all of them beforehand.
            "FROM systems s [[JOIN||LEFT JOIN]] organizations o ON o.id = s.organization_id"
        });
        self.push_where(&mut q, run);
        self.push_order(&mut q);
        q.push(" LIMIT ? OFFSET ?").arg(limit).arg(offset);
        q.push(
            ") page [[JOIN||CROSS JOIN]] systems s ON s.id = page.page_id \
             JOIN organizations o ON o.id = s.organization_id \
             LEFT JOIN system_activity a ON a.system_id = s.id \
             LEFT JOIN organizations c ON c.id = s.creator_org_id",
        );
        self.push_order(&mut q);
        q
    }

    fn push_order(&self, q: &mut Q) {
        let word = self.direction.as_str();
        match self.order.column() {
            Some(column) => q.push(&format!(" ORDER BY {column} {word}, s.id {word}")),
            None => q.push(&format!(" ORDER BY s.id {word}")),
        };
    }

    /// The rest of FROM and all of WHERE.
    fn push_where(&self, q: &mut Q, run: Option<SystemStatus>) {
        let searched = self.searched_statuses();
        let statuses = self.filter.statuses.as_deref();
        if run.is_some() || statuses.is_some() || !searched.is_empty() {
            q.push(" LEFT JOIN system_activity a ON a.system_id = s.id");
        }
        q.push(" WHERE 1 = 1");
        let deleted = StatusFilter::Is(SystemStatus::Deleted);
        if run.is_some_and(|r| r != SystemStatus::Deleted) || !statuses.unwrap_or_default().contains(&deleted)
        {
            // Word for word the condition of the partial indexes.
            q.push(" AND s.deleted_at IS NULL AND o.eff_deleted_at IS NULL");
        }
        if self.order == SystemOrder::OrganizationName {
            push_scope(q, "o", "id", self.scope);
        } else {
            push_scope(q, "s", "organization_id", self.scope);
        }
        if let Some(run) = run {
            self.push_any(q, &[StatusFilter::Is(run)]);
        }
        if let Some(statuses) = statuses {
            self.push_any(q, statuses);
        }
        self.push_search(q, &searched);
        self.push_columns(q);
        self.push_organizations(q);
    }

    /// ` AND (one of these statuses)`.
    fn push_any(&self, q: &mut Q, statuses: &[StatusFilter]) {
        if statuses.is_empty() {
            q.push(" AND 1 = 0");
            return;
        }
        q.push(" AND (");
        self.push_alternatives(q, statuses);
        q.push(")");
    }

    fn push_alternatives(&self, q: &mut Q, statuses: &[StatusFilter]) {
        for (i, status) in statuses.iter().enumerate() {
            q.push(if i > 0 { " OR (" } else { "(" }).push(condition(*status)).push(")");
            if binds_cutoff(*status) {
                q.arg(self.cutoff);
            }
        }
    }

    /// Statuses whose word contains the text searched for.
    fn searched_statuses(&self) -> Vec<StatusFilter> {
        let Some(text) = &self.filter.search else { return Vec::new() };
        let text = fold(text);
        BY_WORD.into_iter().filter(|s| s.as_str().contains(&text)).map(StatusFilter::Is).collect()
    }

    fn push_search(&self, q: &mut Q, statuses: &[StatusFilter]) {
        let Some(text) = &self.filter.search else { return };
        if !can_be_stored(text) {
            q.push(" AND 1 = 0");
            return;
        }
        q.push(" AND (s.search_key LIKE ? ESCAPE '\\'").arg(contains_pattern(text));
        if !statuses.is_empty() {
            q.push(" OR ");
            self.push_alternatives(q, statuses);
        }
        q.push(")");
    }

    fn push_columns(&self, q: &mut Q) {
        let filter = self.filter;
        if let Some(name) = &filter.name {
            if can_be_stored(name) {
                q.push(" AND s.name_key LIKE ? ESCAPE '\\'").arg(contains_pattern(name));
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
        if let Some(ids) = &filter.created_by {
            q.push(" AND (s.creator_user_id IN (");
            q.list(ids.iter().copied()).push(") OR s.creator_org_id IN (");
            q.list(ids.iter().copied()).push("))");
        }
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
    q.push(" AND (1 = 0");
    for VersionFilter { product, version } in versions {
        match product {
            _ if !can_be_stored(version) => {}
            Some(product) if can_be_stored(product) => {
                q.push(" OR (s.type = ? AND s.version = ?)").arg(product).arg(version);
            }
            Some(_) => {}
            None => {
                q.push(" OR s.version = ?").arg(version);
            }
        }
    }
    q.push(")");
}

/// ` AND column IN (…)` of those values that can be there at all.
fn push_in(q: &mut Q, column: &str, values: &[String]) {
    q.push(&format!(" AND {column} IN ("));
    // An empty list becomes NULL, whose type PostgreSQL takes from the column.
    let values: Vec<Arg> = values.iter().filter(|v| can_be_stored(v)).map(Arg::from).collect();
    q.list(values).push(")");
}

/// Whether any stored text can contain it: the engines refuse U+0000 and over-long patterns.
fn can_be_stored(text: &str) -> bool {
    text.len() <= 4096 && !text.contains(['\0', SEPARATOR])
}
