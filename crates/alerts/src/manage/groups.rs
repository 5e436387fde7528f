//! Active alerts by organization, system or name.

use super::{Named, alert_groups::Groups, alert_query::AlertQuery, within};
use crate::Alerts;
use bailiwick_domain::{OrgId, Result};
use bailiwick_policy::Caller;
use bailiwick_store::history::active_groups::{self, GroupBy, NamedSystem};
use std::collections::HashMap;

/// The alerts that `GET /alerts` would list, counted by what they have in common; those with the most critical alerts
/// first.
///
/// # Errors
/// As [`super::active()`].
pub async fn groups(
    service: &Alerts,
    caller: &Caller,
    named: &Named,
    query: AlertQuery,
    group_by: GroupBy,
) -> Result<Groups> {
    let within = within(service, caller, named).await?;
    query.check()?;
    service.state.for_people().groups(service, within, query, group_by).await
}

/// The names of the active alerts, at most 100. A remote router is not asked for them; there all known names are given.
///
/// # Errors
/// As [`super::active()`].
pub async fn active_names(service: &Alerts, caller: &Caller, named: &Named) -> Result<Vec<String>> {
    service.state.for_people().active_names(service, caller, named).await
}

/// The systems of these keys that the organizations have, with their names. The caller has read the rows that name
/// them.
///
/// # Errors
/// The database's.
pub async fn named_systems(
    service: &Alerts,
    systems: &[(OrgId, String)],
) -> Result<HashMap<(OrgId, String), NamedSystem>> {
    Ok(active_groups::named_systems(&service.platform.db, systems).await?.into_iter().collect())
}
