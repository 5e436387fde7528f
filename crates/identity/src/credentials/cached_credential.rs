//! The cached credential of a system.

use super::{argon2_secrets::Imported, secret::SaltedHash};
use bailiwick_domain::{SystemId, Ts, org::OrgRef};
use bailiwick_store::credentials::CredentialRecord;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// An authenticated system, with the identity labels of its alerts (spec: alerts#terms, alerts#identity-labels).
#[derive(Debug)]
pub struct SystemIdentity {
    pub id: SystemId,
    /// Public half of the credential.
    pub system_key: String,
    /// Display name.
    pub name: String,
    /// From inventory.
    pub system_type: Option<String>,
    /// From inventory, `""` when unset.
    pub fqdn: String,
    /// From inventory, `""` when unset.
    pub ipv4_address: String,
    /// The system's current organization; its id is the tenant.
    pub organization: OrgRef,
    /// VAT number of the organization.
    pub organization_vat: Option<String>,
}

/// A row as of an epoch.
#[derive(Debug)]
pub(super) struct CachedCredential {
    /// Read before the row.
    pub epoch: i64,
    /// Lookup part of the secret.
    pub public: String,
    /// An unreadable hash fits no secret.
    pub hash: SaltedHash,
    /// The imported hash, which applies until the secret is presented for the first time.
    pub imported: Option<Imported>,
    /// Registered, neither suspended nor deleted, hash readable.
    pub is_allowed: bool,
    pub registered_at: Option<Ts>,
    pub identity: Arc<SystemIdentity>,
    has_called: AtomicBool,
}

impl CachedCredential {
    pub fn new(row: CredentialRecord, epoch: i64) -> CachedCredential {
        let (hash, imported) = (SaltedHash::parse(&row.secret_hash), Imported::parse(&row.secret_hash));
        let has_secret = hash.is_some() || imported.is_some();
        CachedCredential {
            epoch,
            public: row.secret_public,
            is_allowed: row.registered_at.is_some() && !row.is_suspended && !row.is_deleted && has_secret,
            hash: hash.unwrap_or_else(SaltedHash::none),
            imported,
            registered_at: row.registered_at,
            has_called: AtomicBool::new(row.authenticated_at.is_some()),
            identity: Arc::new(SystemIdentity {
                id: row.id,
                system_key: row.system_key,
                name: row.name,
                system_type: row.system_type,
                fqdn: row.fqdn,
                ipv4_address: row.ipv4_address,
                organization: row.organization,
                organization_vat: row.organization_vat,
            }),
        }
    }

    /// Whether the first authenticated call since the registration is noted.
    pub fn has_called(&self) -> bool {
        self.has_called.load(Ordering::Relaxed)
    }

    pub fn set_called(&self) {
        self.has_called.store(true, Ordering::Relaxed);
    }
}
