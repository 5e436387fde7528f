//! Finds times written by a clock that has been set back since; they would come far too late.

use crate::{StoreError, Tx, sql::Q};
use bailiwick_domain::Ts;

// None of these statements waits for a lock, so the order in which others hold rows does not matter.
const GROUPS: &str = "UPDATE router_groups SET due_at = ? WHERE [[ctid = ANY(ARRAY(SELECT ctid||(organization_id, id) IN \
     (SELECT organization_id, id]] FROM router_groups WHERE due_at > ? AND started_at IS NULL ORDER BY due_at LIMIT ? \
     [[FOR NO KEY UPDATE SKIP LOCKED))||)]]";
const LEASES: &str = "UPDATE router_tenants SET held_until = ? WHERE [[ctid = ANY(ARRAY(SELECT ctid||organization_id IN \
     (SELECT organization_id]] FROM router_tenants WHERE held_until > ? AND holder IS NOT NULL ORDER BY held_until LIMIT ? \
     [[FOR NO KEY UPDATE SKIP LOCKED))||)]]";
const NOTICES: &str = "UPDATE router_notices SET told_at = ? \
     WHERE [[ctid = ANY(ARRAY(SELECT ctid||(organization_id, group_id, receiver, integration) IN \
     (SELECT organization_id, group_id, receiver, integration]] FROM router_notices WHERE told_at > ? ORDER BY told_at LIMIT ? \
     [[FOR NO KEY UPDATE SKIP LOCKED))||)]]";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![GROUPS, LEASES, NOTICES];

/// The latest times that rows can have, unless a clock has been set back since they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latest {
    /// When a group is due.
    pub due_at: Ts,
    /// When a lease ends.
    pub held_until: Ts,
    /// When the last notification was sent.
    pub told_at: Ts,
}

/// Replaces times further ahead by `now`: such groups become due, such leases end, and such notices count as given now.
/// Up to `limit` of each; returns how many in all.
pub async fn set_back(tx: &mut Tx, now: Ts, latest: Latest, limit: i64) -> Result<u64, StoreError> {
    let mut count = 0;
    for (text, time) in [(LEASES, latest.held_until), (GROUPS, latest.due_at), (NOTICES, latest.told_at)] {
        count += Q::by_index(text).bind(now).bind(time).bind(limit).run(&mut *tx).await?;
    }
    Ok(count)
}
