//! The filters and orders of a list of systems (spec: systems#list).

use super::status::{UNKNOWN, stored};
use crate::{
    creator_row::push_created_by,
    filters::{VersionFilter, creators, parsed, push_contains, push_in, push_product_versions},
    organizations::suspended::SUSPENDED,
    sql::Q,
    walk::SortType,
};
use bailiwick_domain::{Keywords, Liveness, OrgId, Parameter, SystemStatus, fold::fold};
use bailiwick_policy::Scope;
use uuid::Uuid;

/// One value of the filter `status` (spec: systems#list).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusFilter {
    /// Effective status.
    Is(SystemStatus),
    /// No inventory was ever received, and neither unknown nor deleted.
    NoInventory,
}

impl StatusFilter {
    /// The words of `status`; older clients say `online` and `offline`.
    pub const WORDS: Keywords<StatusFilter> = Keywords::of(&[
        ("unknown", StatusFilter::Is(SystemStatus::Unknown)),
        ("active", StatusFilter::Is(SystemStatus::Active)),
        ("online", StatusFilter::Is(SystemStatus::Active)),
        ("inactive", StatusFilter::Is(SystemStatus::Inactive)),
        ("offline", StatusFilter::Is(SystemStatus::Inactive)),
        ("suspended", StatusFilter::Is(SystemStatus::Suspended)),
        ("deleted", StatusFilter::Is(SystemStatus::Deleted)),
        ("no_inventory", StatusFilter::NoInventory),
    ]);
}

/// Filters; none = not given, an empty list = given, but nothing can match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemFilter {
    /// Contains, ignoring case, over the texts of spec: systems#list.
    pub search: Option<String>,
    /// Contains, ignoring case.
    pub name: Option<String>,
    /// Exact.
    pub system_key: Option<String>,
    /// Exact.
    pub types: Option<Vec<String>>,
    /// Id of the creator or of their organization.
    pub created_by: Option<Vec<Uuid>>,
    /// Exact.
    pub versions: Option<Vec<VersionFilter>>,
    /// Organizations; ANDed with the scope.
    pub organizations: Option<Vec<OrgId>>,
    /// Whether `organizations` includes all organizations below them.
    pub include_hierarchy: bool,
    /// None = all but deleted.
    pub statuses: Option<Vec<StatusFilter>>,
}

/// The filters in a query.
pub const FILTERS: &[Parameter<SystemFilter>] = &[
    Parameter::text("search", |filter, text| filter.search = Some(text)),
    Parameter::text("name", |filter, text| filter.name = Some(text)),
    Parameter::text("system_key", |filter, text| filter.system_key = Some(text)),
    Parameter::each("type", |filter, types| filter.types = Some(types)),
    Parameter::each("version", |filter, versions| {
        filter.versions = Some(versions.iter().map(|version| VersionFilter::parse(version)).collect());
    }),
    Parameter::words(
        "status",
        || StatusFilter::WORDS.list(),
        |filter, words| {
            filter.statuses = Some(words.iter().filter_map(|word| StatusFilter::WORDS.parse(word)).collect());
        },
    ),
    Parameter::each("created_by", |filter, ids| filter.created_by = Some(creators(&ids))),
    Parameter::each("organization_id", |filter, ids| filter.organizations = Some(parsed(&ids))),
    Parameter::flag("include_hierarchy", |filter| filter.include_hierarchy = true),
];

impl SystemFilter {
    /// How many values each repeated filter has.
    pub fn lengths(&self) -> [Option<usize>; 5] {
        [
            self.types.as_ref().map(Vec::len),
            self.created_by.as_ref().map(Vec::len),
            self.versions.as_ref().map(Vec::len),
            self.organizations.as_ref().map(Vec::len),
            self.statuses.as_ref().map(Vec::len),
        ]
    }

    /// Appends ` AND …` for each filter on a column of the system `s`.
    pub(super) fn push_columns(&self, q: &mut Q, scope: &Scope) {
        if let Some(name) = &self.name {
            push_contains(q, &["s.name_key"], name);
        }
        if let Some(key) = &self.system_key {
            push_in(q, "s.system_key", std::slice::from_ref(key));
        }
        if let Some(types) = &self.types {
            push_in(q, "s.type", types);
        }
        push_created_by(q, ("s", "organization_id"), scope, self.created_by.as_ref());
        if let Some(versions) = &self.versions {
            push_product_versions(q, "s.type", "s.version", versions.iter());
        }
    }
}

/// The order of the list; the id decides between equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The words of `sort_by`.
    pub const WORDS: Keywords<SystemOrder> = Keywords::of(&[
        ("name", SystemOrder::Name),
        ("type", SystemOrder::Type),
        ("status", SystemOrder::Status),
        ("fqdn", SystemOrder::Fqdn),
        ("version", SystemOrder::Version),
        ("system_key", SystemOrder::SystemKey),
        ("created_at", SystemOrder::CreatedAt),
        ("updated_at", SystemOrder::UpdatedAt),
        ("creator_name", SystemOrder::CreatorName),
        ("organization_name", SystemOrder::OrganizationName),
    ]);

    /// Whether an index of all systems has this order; the others sort the systems of the scope.
    pub(super) const fn has_index(self) -> bool {
        !matches!(
            self,
            SystemOrder::Type
                | SystemOrder::Fqdn
                | SystemOrder::Version
                | SystemOrder::UpdatedAt
                | SystemOrder::CreatorName
        )
    }

    /// Sort column before the id; none where the id alone orders a run.
    pub(super) const fn column(self) -> Option<(&'static str, SortType)> {
        Some(match self {
            SystemOrder::Name => ("s.name_key", SortType::Text),
            SystemOrder::Type => ("s.type_key", SortType::Text),
            SystemOrder::Fqdn => ("s.fqdn_key", SortType::Text),
            SystemOrder::Version => ("s.version", SortType::Text),
            SystemOrder::SystemKey => ("s.system_key", SortType::Text),
            SystemOrder::CreatedAt => ("s.created_at", SortType::Time),
            SystemOrder::UpdatedAt => ("s.updated_at", SortType::Time),
            SystemOrder::CreatorName => ("s.creator_key", SortType::Text),
            SystemOrder::OrganizationName => ("o.name_key", SortType::Text),
            SystemOrder::Status => return None,
        })
    }
}

/// All statuses in the order of their words.
pub(super) const BY_WORD: [SystemStatus; 5] = [
    SystemStatus::Active,
    SystemStatus::Deleted,
    SystemStatus::Inactive,
    SystemStatus::Suspended,
    SystemStatus::Unknown,
];

/// Deleted organizations, individually or with one above them: few, and found by an index of their own.
pub(super) const DELETED_ORGANIZATIONS: &str =
    "(SELECT d.id FROM organizations d WHERE d.eff_deleted_at IS NOT NULL)";

/// Appends ` AND …`: deleted neither individually nor with its organization. Word for word the condition of the partial
/// indexes, which hold the organization too, so that rows before a page are passed over in the index alone.
pub(super) fn push_live(q: &mut Q) {
    q.push(&format!(" AND s.deleted_at IS NULL AND s.organization_id NOT IN {DELETED_ORGANIZATIONS}"));
}

/// Systems with a mark of their own: few, and found by indexes of them.
macro_rules! own_marked {
    () => {
        "(SELECT m.id FROM systems m WHERE m.deleted_at IS NOT NULL UNION ALL \
         SELECT m.id FROM systems m WHERE m.deleted_at IS NULL AND m.suspended_at IS NOT NULL)"
    };
}
pub(crate) use own_marked;

/// Appends `(…)`: the organizations that are deleted or suspended, individually or with one above them.
pub(super) fn push_marked(q: &mut Q) {
    q.push(&format!(
        "(SELECT d.id FROM organizations d WHERE d.eff_deleted_at IS NOT NULL UNION ALL {SUSPENDED})"
    ));
}

/// The condition of a status on systems `s`, their activity `a` and their organizations. It equals `System::status`;
/// `is_live`: another condition already ensures that the system is not deleted.
pub(super) fn condition(status: StatusFilter, is_live: bool) -> String {
    let suspended = format!("s.organization_id IN ({SUSPENDED})");
    let of_live = match status {
        StatusFilter::Is(SystemStatus::Deleted) => {
            return format!("s.deleted_at IS NOT NULL OR s.organization_id IN {DELETED_ORGANIZATIONS}");
        }
        StatusFilter::Is(SystemStatus::Suspended) => format!("(s.suspended_at IS NOT NULL OR {suspended})"),
        StatusFilter::NoInventory => format!(
            "a.last_inventory IS NULL AND (s.suspended_at IS NOT NULL OR a.status <> {UNKNOWN} OR {suspended})"
        ),
        StatusFilter::Is(SystemStatus::Unknown) => by_liveness(Liveness::Unknown, &suspended),
        StatusFilter::Is(SystemStatus::Active) => by_liveness(Liveness::Active, &suspended),
        StatusFilter::Is(SystemStatus::Inactive) => by_liveness(Liveness::Inactive, &suspended),
    };
    if is_live {
        return of_live;
    }
    format!("s.deleted_at IS NULL AND s.organization_id NOT IN {DELETED_ORGANIZATIONS} AND {of_live}")
}

fn by_liveness(liveness: Liveness, suspended: &str) -> String {
    format!("s.suspended_at IS NULL AND NOT {suspended} AND a.status = {}", stored(liveness))
}

/// What heartbeats say of systems with this status; none where marks decide.
pub(super) const fn liveness(status: StatusFilter) -> Option<Liveness> {
    match status {
        StatusFilter::Is(SystemStatus::Unknown) => Some(Liveness::Unknown),
        StatusFilter::Is(SystemStatus::Active) => Some(Liveness::Active),
        StatusFilter::Is(SystemStatus::Inactive) => Some(Liveness::Inactive),
        _ => None,
    }
}

/// Whether its condition reads `system_activity a`.
pub(super) const fn reads_activity(status: StatusFilter) -> bool {
    liveness(status).is_some() || matches!(status, StatusFilter::NoInventory)
}

/// Statuses whose word contains a searched text.
pub(super) fn statuses_with(text: &str) -> Vec<StatusFilter> {
    let text = fold(text);
    BY_WORD.into_iter().filter(|s| s.as_str().contains(&text)).map(StatusFilter::Is).collect()
}

/// Each status once: a thousand repetitions are one condition.
pub(super) fn distinct(statuses: &[StatusFilter]) -> Vec<StatusFilter> {
    let mut distinct: Vec<StatusFilter> = Vec::new();
    for status in statuses {
        if !distinct.contains(status) {
            distinct.push(*status);
        }
    }
    distinct
}
