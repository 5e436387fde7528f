//! `POST /systems/unregister` (spec: systems-interface#unregister).

use crate::Fleet;
use bailiwick_domain::{AuditAction, Error, Happening, Result};
use bailiwick_events::EventDraft;
use bailiwick_identity::credentials::SystemIdentity;
use bailiwick_platform::{RequestContext, audit};
use bailiwick_store::{credentials, epoch::AffectedSystems};
use serde_json::json;

/// Ends the registration of the calling system and its secret; `regenerate-secret` gives it a new one.
pub async fn unregister(service: &Fleet, ctx: &RequestContext, identity: &SystemIdentity) -> Result<()> {
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    if !credentials::unregister(&mut tx, identity.id, now).await? {
        // A concurrent call was faster and has ended this credential too.
        return Err(Error::unauthenticated("invalid system credentials"));
    }
    tx.bump_auth_epoch(AffectedSystems::Systems(vec![identity.id])).await?;
    let event = audit::Event {
        action: AuditAction::SystemUnregister,
        object_type: "system",
        object_id: identity.id.0,
        before: None,
        after: Some(json!({ "registered_at": null })),
    };
    audit::record_unattended(&mut tx, now, ctx, event).await?;
    // The key of a system that is not registered is not shown.
    let draft = EventDraft::system_by_id(Happening::Unregistered, identity.id, "");
    draft.write(&mut tx, now).await?;
    Ok(tx.commit().await?)
}
