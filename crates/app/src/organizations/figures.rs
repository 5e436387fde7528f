//! Numbers about one organization and about a family (contract 02 §7).

use super::authorize;
use crate::App;
use bailiwick_domain::{OrgId, OrgType, Result};
use bailiwick_policy::{Action, Caller, Refusal, list_scope, resource_of};
use bailiwick_store::organizations::{self, Stats};

/// What an organization and its subtree hold. `id`: none = malformed.
pub async fn stats(app: &App, caller: &Caller, family: OrgType, id: Option<OrgId>) -> Result<Stats> {
    let granted = authorize(&app.db, caller, Action::Read, family, id).await?;
    Ok(organizations::stats(&app.db, family, granted.id()).await?)
}

/// How many organizations of the family the caller's unfiltered list holds.
pub async fn family_total(app: &App, caller: &Caller, family: OrgType) -> Result<u64> {
    let scope = list_scope(caller, resource_of(family).ok_or(Refusal::Gate)?)?;
    Ok(organizations::list::count(&app.db, family, &scope, &organizations::Filter::default()).await?)
}
