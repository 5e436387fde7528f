//! The filters and orders of a list of applications (spec: applications#operations).

use crate::{
    filters::{VersionFilter, parsed, push_contains, push_in, push_product_versions},
    sql::Q,
    walk::SortType,
};
use bailiwick_domain::{Keywords, OrgId, Parameter, SystemId, fold::fold_start};

/// Filters; none = not given, an empty list = given, but nothing can match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplicationFilter {
    /// Contains, ignoring case, over module id, display name, module and name of the system.
    pub search: Option<String>,
    /// Modules, exact.
    pub types: Option<Vec<String>>,
    /// Versions, exact; the product is the module.
    pub versions: Option<Vec<VersionFilter>>,
    pub systems: Option<Vec<SystemId>>,
    /// Organizations they are assigned to.
    pub organizations: Option<Vec<OrgId>>,
    /// Also unassigned ones (`no_org`).
    pub or_unassigned: bool,
    /// Whether `organizations` includes all organizations below them.
    pub include_hierarchy: bool,
    /// `unassigned`, `assigned`, `error`.
    pub statuses: Option<Vec<String>>,
}

/// The words of `status`; `error` is reserved.
pub const STATUSES: Keywords<&str> =
    Keywords::of(&[("unassigned", "unassigned"), ("assigned", "assigned"), ("error", "error")]);

/// The organization of unassigned applications.
const NO_ORGANIZATION: &str = "no_org";

/// The filters in a query.
pub const FILTERS: &[Parameter<ApplicationFilter>] = &[
    Parameter::text("search", |filter, text| filter.search = Some(text)),
    Parameter::each("type", |filter, types| filter.types = Some(types)),
    Parameter::each("version", |filter, versions| {
        filter.versions = Some(versions.iter().map(|version| VersionFilter::parse(version)).collect());
    }),
    Parameter::each("system_id", |filter, ids| filter.systems = Some(parsed(&ids))),
    Parameter::words(
        "status",
        || STATUSES.list(),
        |filter, words| {
            filter.statuses = Some(words.into_iter().filter(|word| STATUSES.parse(word).is_some()).collect());
        },
    ),
    Parameter::each("organization_id", |filter, ids| {
        filter.or_unassigned = ids.iter().any(|id| id == NO_ORGANIZATION);
        filter.organizations = Some(parsed(&ids));
    }),
    Parameter::flag("include_hierarchy", |filter| filter.include_hierarchy = true),
];

impl ApplicationFilter {
    /// How many values each repeated filter has.
    pub fn lengths(&self) -> [Option<usize>; 5] {
        [
            self.types.as_ref().map(Vec::len),
            self.versions.as_ref().map(Vec::len),
            self.systems.as_ref().map(Vec::len),
            self.organizations.as_ref().map(Vec::len),
            self.statuses.as_ref().map(Vec::len),
        ]
    }

    /// Appends ` AND …` for each filter on a column of the application `a` or of its system `s`.
    pub(super) fn push_columns(&self, q: &mut Q) {
        if let Some(text) = &self.search {
            push_contains(q, &["a.search_key", "s.name_key"], text);
        }
        if let Some(types) = &self.types {
            push_in(q, "a.instance_of", types);
            // Repeats the condition in the form of the index.
            push_in(q, "a.type_key", &types.iter().map(|t| fold_start(t)).collect::<Vec<_>>());
        }
        if let Some(versions) = &self.versions {
            let named = versions.iter().filter(|version| !version.version.is_empty());
            push_product_versions(q, "a.instance_of", "a.version", named);
        }
        if let Some(ids) = &self.systems {
            q.push(" AND a.system_id IN (").list(ids.iter().copied()).push(")");
        }
        if let Some(statuses) = &self.statuses {
            push_in(q, "a.status", statuses);
        }
    }
}

/// The order of the list; the id decides between equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationOrder {
    DisplayName,
    ModuleId,
    InstanceOf,
    Version,
    Status,
    SystemName,
    OrganizationName,
    CreatedAt,
    UpdatedAt,
    LastInventoryAt,
    CertificationLevel,
}

impl ApplicationOrder {
    /// The words of `sort_by`.
    pub const WORDS: Keywords<ApplicationOrder> = Keywords::of(&[
        ("display_name", ApplicationOrder::DisplayName),
        ("module_id", ApplicationOrder::ModuleId),
        ("instance_of", ApplicationOrder::InstanceOf),
        ("version", ApplicationOrder::Version),
        ("status", ApplicationOrder::Status),
        ("system_name", ApplicationOrder::SystemName),
        ("organization_name", ApplicationOrder::OrganizationName),
        ("created_at", ApplicationOrder::CreatedAt),
        ("updated_at", ApplicationOrder::UpdatedAt),
        ("last_inventory_at", ApplicationOrder::LastInventoryAt),
        ("certification_level", ApplicationOrder::CertificationLevel),
    ]);

    /// Sort column before the id.
    pub(super) const fn column(self) -> (&'static str, SortType) {
        match self {
            ApplicationOrder::DisplayName => ("a.display_key", SortType::Text),
            ApplicationOrder::ModuleId => ("a.module_key", SortType::Text),
            ApplicationOrder::InstanceOf => ("a.type_key", SortType::Text),
            ApplicationOrder::Version => ("a.version", SortType::Text),
            ApplicationOrder::Status => ("a.status", SortType::Text),
            ApplicationOrder::SystemName => ("t.name_key", SortType::Text),
            ApplicationOrder::OrganizationName => ("w.name_key", SortType::Text),
            ApplicationOrder::UpdatedAt => ("a.updated_at", SortType::Time),
            ApplicationOrder::LastInventoryAt => ("t.seen_at", SortType::Time),
            ApplicationOrder::CertificationLevel => ("a.certification_level", SortType::Number),
            ApplicationOrder::CreatedAt => ("a.created_at", SortType::Time),
        }
    }
}
