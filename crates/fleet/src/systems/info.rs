//! `GET /systems/info`: the data a system may read about itself (spec: systems-interface#info).

use crate::Fleet;
use bailiwick_domain::{Error, ObjectKind, Result, System, Ts};
use bailiwick_identity::credentials::SystemIdentity;
use bailiwick_store::systems;

/// A system as it sees itself.
#[derive(Clone, Debug)]
pub struct Info {
    pub system: System,
    /// Effective suspension of its organization.
    pub organization_suspended_at: Option<Ts>,
}

/// Its present row; 404 when it was destroyed after the authentication.
pub async fn info(service: &Fleet, identity: &SystemIdentity) -> Result<Info> {
    let found =
        systems::get(&service.platform.db, identity.id).await?.ok_or(Error::NotFound(ObjectKind::System))?;
    Ok(Info { system: found.system, organization_suspended_at: found.organization_suspended.at })
}
