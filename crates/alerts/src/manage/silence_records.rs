//! The records of changes to silences: the activity of the alert and the audit row, in one transaction (spec:
//! alert-management#handling).

use super::{
    find_silence::CallerContext,
    handling::{HandlingAction, audited, record},
};
use crate::Alerts;
use bailiwick_alertmanager::ListedSilence;
use bailiwick_domain::{AuditAction, OrgId, Result};
use bailiwick_store::{Tx, alert_handling, audit};
use serde_json::{Value, json};
use uuid::Uuid;

const ENDED: AuditAction = AuditAction::AlertSilenceDelete;

/// Records that a silence was made for an alert, and commits.
pub(super) async fn created(
    mut tx: Tx,
    service: &Alerts,
    context: CallerContext<'_>,
    alert: (OrgId, String),
    (id, details): (Uuid, Value),
) -> Result<()> {
    let what = HandlingAction { action: "silenced", silence: Some(id), details };
    note(&mut tx, service, context, alert, AuditAction::AlertSilenceCreate, (None, what)).await?;
    Ok(tx.commit().await?)
}

/// A change that the router has made.
pub(super) struct Edit {
    pub(super) old: Uuid,
    pub(super) before: Option<Value>,
    pub(super) details: Value,
}

impl Edit {
    pub(super) async fn recorded(
        self,
        mut tx: Tx,
        service: &Alerts,
        context: CallerContext<'_>,
        tenant: OrgId,
        id: Uuid,
    ) -> Result<Uuid> {
        let alert = alert_handling::silenced(&mut tx, tenant, self.old).await?.unwrap_or_default();
        let what = HandlingAction { action: "silence_updated", silence: Some(id), details: self.details };
        note(
            &mut tx,
            service,
            context,
            (tenant, alert),
            AuditAction::AlertSilenceUpdate,
            (self.before, what),
        )
        .await?;
        tx.commit().await?;
        Ok(id)
    }
}

/// Of several requests that end a silence at the same moment, one succeeds: an expired silence never becomes active
/// again.
pub(super) async fn ended(
    mut tx: Tx,
    service: &Alerts,
    context: CallerContext<'_>,
    tenant: OrgId,
    stored: &ListedSilence,
) -> Result<()> {
    if audit::is_recorded(&mut tx, stored.id, ENDED).await? {
        return Ok(());
    }
    let alert = alert_handling::silenced(&mut tx, tenant, stored.id).await?.unwrap_or_default();
    let what = HandlingAction { action: "unsilenced", silence: Some(stored.id), details: json!({}) };
    note(&mut tx, service, context, (tenant, alert), ENDED, (as_it_was(stored), what)).await?;
    tx.commit().await?;
    Ok(())
}

/// Writes the activity record and the audit row of a change to a silence, with its state before.
async fn note(
    tx: &mut Tx,
    service: &Alerts,
    context: CallerContext<'_>,
    (tenant, alert): (OrgId, String),
    action: AuditAction,
    (before, what): (Option<Value>, HandlingAction),
) -> Result<()> {
    let id = what.silence.unwrap_or_default();
    let mut details = what.details.clone();
    if let Value::Object(details) = &mut details {
        details.insert("organization_id".to_owned(), json!(tenant.to_string()));
        if !alert.is_empty() {
            details.insert("fingerprint".to_owned(), json!(alert));
        }
    }
    if !alert.is_empty() {
        record(tx, service, context.caller, (tenant, &alert), what).await?;
    }
    let CallerContext { caller, ctx } = context;
    audited(tx, service, caller, ctx, (action, "alert_silence", id), (before, Some(details))).await
}

/// The fields of a silence that people may change.
pub(super) fn as_it_was(silence: &ListedSilence) -> Option<Value> {
    Some(json!({"comment": silence.comment, "end_at": silence.ends_at.to_ts().rfc3339(0)}))
}
