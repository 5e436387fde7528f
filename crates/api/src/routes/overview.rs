//! What spans several areas: search, and the audit record.

use super::{Route, get};
use crate::{
    manage::{audit, search},
    wire::{audit::AuditPage, search::SearchOutput},
};
use bailiwick_policy::Permission::ReadUsers;

pub(super) fn rows() -> Vec<Route> {
    vec![
        get("/search", "search").extra().gives::<SearchOutput>().to(search::show),
        get("/audit", "listAudit").extra().needs(&[ReadUsers]).gives::<AuditPage>().to(audit::list),
    ]
}
