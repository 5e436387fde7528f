//! Second factors that an organization requires (spec: organizations#second-factor).

use crate::Caller;
use bailiwick_domain::OrgType;

/// Whether a caller may take back or replace a requirement that was set at this level: only from there or from above.
pub fn may_relax(caller: &Caller, set_by: OrgType) -> bool {
    caller.org_type().is_some_and(|own| own.level() <= set_by.level())
}
