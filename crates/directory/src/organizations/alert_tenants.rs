//! The queue of tenants whose configuration is to be pushed to a remote alert router (spec:
//! alert-configuration#provisioning).

use crate::Directory;
use bailiwick_domain::{OrgId, OrgType, Result};
use bailiwick_store::{
    Tx,
    alert_tenants::{self, Whose},
};

/// Queues an organization and those below it, as far as the router has them. Every change of their alert configuration
/// in force must call it in its transaction: a save, a move, a mark set or cleared.
pub async fn queue(service: &Directory, tx: &mut Tx, top: OrgId, org_type: OrgType) -> Result<()> {
    put(service, tx, top, org_type, false).await
}

/// Queues a subtree that is about to be destroyed: the router must forget it.
pub async fn queue_removal(service: &Directory, tx: &mut Tx, top: OrgId, org_type: OrgType) -> Result<()> {
    put(service, tx, top, org_type, true).await
}

async fn put(service: &Directory, tx: &mut Tx, top: OrgId, org_type: OrgType, is_gone: bool) -> Result<()> {
    if service.settings.alerting.router.is_provisioned() {
        alert_tenants::queue(tx, Whose::Below(top, org_type), is_gone, service.platform.now()).await?;
    }
    Ok(())
}
