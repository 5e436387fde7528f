//! The filters and orders of a list of applications (spec: applications#operations).

use crate::{filters::VersionFilter, walk::Kind};
use bailiwick_domain::{Keywords, OrgId, SystemId};

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

impl ApplicationFilter {
    /// The words of `status`.
    pub const STATUSES: Keywords<&'static str> =
        Keywords::of(&[("unassigned", "unassigned"), ("assigned", "assigned"), ("error", "error")]);
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
    pub(super) const fn column(self) -> (&'static str, Kind) {
        match self {
            ApplicationOrder::DisplayName => ("a.display_key", Kind::Text),
            ApplicationOrder::ModuleId => ("a.module_key", Kind::Text),
            ApplicationOrder::InstanceOf => ("a.type_key", Kind::Text),
            ApplicationOrder::Version => ("a.version", Kind::Text),
            ApplicationOrder::Status => ("a.status", Kind::Text),
            ApplicationOrder::SystemName => ("t.name_key", Kind::Text),
            ApplicationOrder::OrganizationName => ("w.name_key", Kind::Text),
            ApplicationOrder::UpdatedAt => ("a.updated_at", Kind::Time),
            ApplicationOrder::LastInventoryAt => ("t.seen_at", Kind::Time),
            ApplicationOrder::CertificationLevel => ("a.certification_level", Kind::Number),
            ApplicationOrder::CreatedAt => ("a.created_at", Kind::Time),
        }
    }
}
