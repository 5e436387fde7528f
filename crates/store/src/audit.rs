//! The audit log: who did what. Rows are written in the transaction of the change and never touched again.

use crate::{StoreError, Tx, sql::Q};
use bailiwick_domain::{OrgId, Ts, UserId};
use serde_json::Value;
use uuid::Uuid;

pub(crate) const INSERT: &str = "INSERT INTO audit_log \
    (at, actor_user_id, acting_for_user_id, actor_organization_id, action, object_type, object_id, before, after, request_id) \
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// One row. Secrets never go into `before` or `after`.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// When.
    pub at: Ts,
    /// The person who acted; while impersonating, the impersonator. None: a job or the command line.
    pub actor_user_id: Option<UserId>,
    /// While impersonating, the user whose rights were used.
    pub acting_for_user_id: Option<UserId>,
    /// Organization of the user whose rights were used.
    pub actor_organization_id: Option<OrgId>,
    /// `<object type>.<what>`: `customer.create`.
    pub action: &'a str,
    /// What the object is: `customer`, `user`, `system`.
    pub object_type: &'a str,
    /// The object.
    pub object_id: Option<Uuid>,
    /// State before, as far as the action changed it.
    pub before: Option<Value>,
    /// State after.
    pub after: Option<Value>,
    /// `X-Request-Id` of the request.
    pub request_id: Option<&'a str>,
}

/// Appends a row.
pub async fn record(tx: &mut Tx, entry: Entry<'_>) -> Result<(), StoreError> {
    Q::new(INSERT)
        .bind(entry.at)
        .bind(entry.actor_user_id)
        .bind(entry.acting_for_user_id)
        .bind(entry.actor_organization_id)
        .bind(entry.action)
        .bind(entry.object_type)
        .bind(entry.object_id)
        .bind(entry.before)
        .bind(entry.after)
        .bind(entry.request_id)
        .run(tx)
        .await?;
    Ok(())
}
