//! Second factors that an organization requires (spec: organizations#second-factor).

use crate::{Action, Caller, Granted, OrgNode, organization::visible};
use bailiwick_domain::{Error, ObjectKind, OrgId, OrgType, Result};

/// The organization whose requirement is read or changed: within reach and not deleted. The gate of the operation is that of
/// users. An unknown organization (none) and one out of reach get the same error.
///
/// # Errors
/// `organization not found`.
pub fn second_factor(caller: &Caller, action: Action, named: Option<&OrgNode>) -> Result<Granted<OrgId>> {
    named
        .filter(|place| visible(caller, &place.path, place.standing, Action::Read))
        .map(|place| Granted::new(place.path.id, action))
        .ok_or(Error::NotFound(ObjectKind::Organization))
}

/// Whether a caller may take back or replace a requirement that was set at this level: only from there or from above.
pub fn may_relax(caller: &Caller, set_by: OrgType) -> bool {
    caller.org_type().is_some_and(|own| own.level() <= set_by.level())
}
