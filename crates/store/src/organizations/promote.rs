//! Promotes a reseller to a distributor: the one move of a subtree (spec: organizations#promotion).

use super::Stats;
use crate::{StoreError, Tx, sql::Q};
use bailiwick_domain::{OrgId, OrgType, Ts, org::PromotedFrom};
use bailiwick_policy::Granted;

/// Rewriting the places of tens of thousands of systems takes longer than any other statement may (docs/tree.md).
const MORE_TIME: &str = "[[SELECT set_config('statement_timeout', '150s', true)||SELECT CAST('' AS text)]]";
/// `updated_by_org_id` stays empty until the first PUT.
const TURN: &str = "UPDATE organizations SET type = 'distributor', parent_id = ?, promoted_from = ?, updated_at = ?, \
    updated_by_org_id = CASE WHEN updated_by_org_id IS NULL THEN NULL ELSE [[CAST(? AS uuid)||?]] END WHERE id = ?";
/// `p3` is the organization itself before and after; users and systems follow by their foreign key.
const MOVE: &str = "UPDATE organizations SET p2 = ? WHERE p3 = ?";
/// What was done in the branch goes with it.
const MOVE_AUDIT: &str = "UPDATE audit_log SET p2 = ? WHERE p3 = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![MORE_TIME, TURN, MOVE, MOVE_AUDIT];

/// The counts of rows that a promotion changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promoted {
    /// Customers below it.
    pub customers: u64,
    /// Users of the organization itself.
    pub users: u64,
    /// Systems of the organization itself.
    pub systems: u64,
}

/// Promotes the reseller, which is locked with its subtree ([`super::lifecycle::hold_subtree`]) and has no mark, to a
/// distributor below `owner`. A VAT number that a distributor already has is a unique violation; nothing has changed
/// then.
pub async fn promote(
    tx: &mut Tx,
    target: &Granted<OrgId>,
    owner: OrgId,
    from: &PromotedFrom,
    at: Ts,
    by: Option<OrgId>,
) -> Result<Promoted, StoreError> {
    let id = target.id();
    tx.people_changed();
    tx.alert_config_changed();
    let Stats { own, customers, .. } =
        super::stats_of(&mut *tx, OrgType::Reseller, [id]).await?.remove(&id).unwrap_or_default();
    let (_,): (String,) = Q::new(MORE_TIME).one(&mut *tx).await?;
    let from = serde_json::to_value(from).map_err(|e| StoreError::Encode(e.into()))?;
    Q::new(TURN).bind(owner).bind(from).bind(at).bind(by).bind(id).run(&mut *tx).await?;
    for statement in [MOVE, MOVE_AUDIT] {
        Q::new(statement).bind(id).bind(id).run(&mut *tx).await?;
    }
    Ok(Promoted { customers, users: own.users, systems: own.systems })
}
