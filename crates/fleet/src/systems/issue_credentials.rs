//! `GET /proxy/credentials`: an appliance that has only its older pair of credentials receives a key and a secret
//! (spec: systems-interface#older-paths).

use crate::Fleet;
use bailiwick_domain::{AuditAction, Error, Happening, Result, System, validate::SystemSecret};
use bailiwick_events::EventDraft;
use bailiwick_identity::credentials::{SystemIdentity, hash_secret};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_store::{epoch::AffectedSystems, legacy, systems};
use serde_json::json;

/// The credentials for the appliance.
#[derive(Clone, Debug)]
pub struct Issued {
    /// Public half of its credential.
    pub system_key: String,
    /// The other half, shown this once.
    pub secret: SystemSecret,
}

/// Issues a new secret, which ends the previous one at once. Registers the system if it is not registered; the older
/// pair stays valid.
pub async fn issue_credentials(
    service: &Fleet,
    ctx: &RequestContext,
    identity: &SystemIdentity,
) -> Result<Issued> {
    let now = service.platform.now();
    let secret = SystemSecret::generate(&*service.platform.entropy);
    let hash = hash_secret(secret.secret.reveal(), &*service.platform.entropy);
    let mut tx = service.platform.db.begin().await?;
    // The gate's check may be outdated, so it is repeated on the locked rows.
    let record = systems::lock(&mut tx, identity.id).await?;
    let has_pair = legacy::hold(&mut tx, identity.id).await?;
    let record = record
        .filter(|record| has_pair && !record.standing.suspended && !record.standing.deleted)
        .ok_or_else(|| Error::unauthenticated("invalid system credentials"))?;
    let from = ctx.client_ip.to_string();
    legacy::issue(&mut tx, identity.id, &secret.public, &hash, &from, now).await?;
    let registered_at = record.system.registered_at;
    let system = System { registered_at: registered_at.or(Some(now)), ..record.system };
    let event = audit::Event {
        action: AuditAction::SystemIssueCredentials,
        object_type: "system",
        object_id: identity.id.0,
        before: Some(json!({ "registered_at": registered_at })),
        after: Some(json!({ "registered_at": system.registered_at })),
    };
    audit::record_unattended(&mut tx, now, ctx, event).await?;
    EventDraft::system(Happening::SecretChanged, &system).write(&mut tx, now).await?;
    tx.bump_auth_epoch(AffectedSystems::Systems(vec![identity.id])).await?;
    tx.commit().await?;
    Ok(Issued { system_key: system.system_key, secret })
}
