//! The tree of organizations in SQL (docs/tree.md): types of organizations and the columns of their subtrees.

use crate::StoreError;
use bailiwick_domain::OrgType;

/// The type of a row.
pub(crate) fn parse_type(word: &str) -> Result<OrgType, StoreError> {
    OrgType::parse(word).ok_or_else(|| StoreError::Corrupt(format!("organization type \"{word}\"")))
}

/// The column that has the same value throughout the subtree of an organization of this type. `own` is the name of the
/// column for the organization of a row, or for the row's own id.
pub(crate) const fn subtree_column(org_type: OrgType, own: &'static str) -> &'static str {
    match org_type {
        OrgType::Owner | OrgType::Distributor => "p2",
        OrgType::Reseller => "p3",
        OrgType::Customer => own,
    }
}
