//! Logto sync: users and organizations at a Logto tenant (identity mode `logto`, spec: authentication#identity-modes,
//! logto#calls).
//!
//! The transaction of a change notes which object has changed, and which aspects of it. [`worker`] sends them to the
//! tenant afterwards, in their state at that time, so repeated or late sends are harmless. In the other modes nothing
//! is noted. [`mod@reconcile`] finds other differences. Passwords are checked and set directly ([`passwords`]), outside
//! every transaction; [`mod@applications`] reads those of third parties.
//!
//! To sync one more aspect: add a bit in [`aspect`], a function here that use cases call, and its calls in [`user`] or
//! [`organization`].

mod account;
mod applications;
mod names;
mod organization;
pub mod passwords;
mod reconcile;
mod user;
mod worker;

pub use applications::{Applications, applications, is_third_party};
pub use reconcile::{Difference, ReconcileReport, reconcile};
pub use worker::{run_until_idle, start};

use crate::Identity;
use bailiwick_domain::{
    AuditAction, Clock, Entropy, Error, OrgId, OrgType, Organization, Result, Ts, User, UserId,
    org::SyncState, validate::OWNER_USERNAME,
};
use bailiwick_outbound::logto::{Access, LogtoClient, LogtoError, LogtoRefusal};
use bailiwick_settings::{IdentityMode, Logto};
use bailiwick_store::{
    Tx,
    audit::{self, AuditRecord},
    identities::{self, account_links},
    logto::{
        self,
        outbox::{self, OutboxKind},
    },
    organizations,
};
use serde_json::json;
use std::{collections::HashMap, sync::Arc};
use tokio::sync::{Mutex, Notify};
use uuid::Uuid;

/// The aspects of an object to send, as bits.
mod aspect {
    /// Whether the user may sign in.
    pub(super) const STATE: i64 = 1;
    /// Names, addresses, custom data.
    pub(super) const PROFILE: i64 = 2;
    pub(super) const PICTURE: i64 = 4;
    /// User roles.
    pub(super) const ROLES: i64 = 8;
    /// Organization and the role there.
    pub(super) const MEMBERSHIP: i64 = 16;
    /// Type of an organization.
    pub(super) const TYPE: i64 = 32;
    /// Everything about a user.
    pub(super) const USER: i64 = STATE | PROFILE | PICTURE | ROLES | MEMBERSHIP;
    /// Everything about an organization.
    pub(super) const ORGANIZATION: i64 = PROFILE | TYPE;
}

/// The purpose under which passwords are sealed.
const SEAL: &str = "logto";

/// The state of this process for the tenant.
pub struct LogtoSync {
    settings: Logto,
    client: LogtoClient,
    /// Something was noted.
    arrived: Notify,
    /// One delivery round of this process at a time.
    worker_lock: Mutex<()>,
    names: names::RoleCache,
    applications: applications::ApplicationCache,
}

impl LogtoSync {
    /// Connects on first use; none in the other modes.
    ///
    /// # Errors
    /// The system's root certificates cannot be read.
    pub(crate) fn new(
        identity: &IdentityMode,
        clock: &Arc<dyn Clock>,
        entropy: &Arc<dyn Entropy>,
    ) -> Result<Option<LogtoSync>> {
        let Some(settings) = identity.logto() else { return Ok(None) };
        let access = Access {
            base: settings.management_url.clone(),
            token_url: format!("{}/token", settings.issuer.url),
            resource: settings.resource.clone(),
            id: settings.app_id.clone(),
            secret: settings.app_secret.reveal().clone(),
            pace: settings.pace,
            timeout: settings.timeout,
        };
        let client = LogtoClient::new(access, clock.clone(), entropy.clone()).map_err(Error::internal)?;
        Ok(Some(LogtoSync {
            settings: settings.clone(),
            client,
            arrived: Notify::new(),
            worker_lock: Mutex::new(()),
            names: names::RoleCache::default(),
            applications: applications::ApplicationCache::default(),
        }))
    }

    fn issuer(&self) -> &str {
        &self.settings.issuer.url
    }
}

/// Wakes the worker after the commit; otherwise it would find the change a little later by itself.
pub fn wake(service: &Identity) {
    if let Some(logto) = &service.logto {
        logto.arrived.notify_one();
    }
}

async fn note(service: &Identity, tx: &mut Tx, kind: OutboxKind, object: Uuid, aspects: i64) -> Result<()> {
    let Some(logto) = &service.logto else { return Ok(()) };
    Ok(outbox::put(tx, logto.issuer(), kind, object, aspects, service.platform.now()).await?)
}

/// A new user; `password` is for their account. With `generated_at`, it is mailed to them once the account exists.
pub async fn user_created(
    service: &Identity,
    tx: &mut Tx,
    user: UserId,
    password: Option<&str>,
    generated_at: Option<Ts>,
) -> Result<()> {
    let Some(logto) = &service.logto else { return Ok(()) };
    if let Some(password) = password {
        let sealed = seal(service, password)?;
        logto::keep_password(tx, logto.issuer(), user, &sealed, generated_at).await?;
    }
    note(service, tx, OutboxKind::User, user.0, aspect::USER).await
}

/// A changed user.
pub async fn user_changed(service: &Identity, tx: &mut Tx, before: &User, after: &User) -> Result<()> {
    let mut aspects = aspect::PROFILE;
    if before.role_ids != after.role_ids {
        aspects |= aspect::ROLES;
    }
    if before.organization.id != after.organization.id {
        aspects |= aspect::MEMBERSHIP | aspect::STATE;
    }
    note(service, tx, OutboxKind::User, after.id.0, aspects).await
}

/// A user whose own lifecycle state has changed.
pub async fn user_moved(service: &Identity, tx: &mut Tx, user: UserId) -> Result<()> {
    note(service, tx, OutboxKind::User, user.0, aspect::STATE).await
}

/// A user with another picture.
pub async fn picture_changed(service: &Identity, tx: &mut Tx, user: UserId) -> Result<()> {
    note(service, tx, OutboxKind::User, user.0, aspect::PICTURE).await
}

/// A user who is about to be destroyed.
pub async fn user_destroyed(service: &Identity, tx: &mut Tx, user: UserId) -> Result<()> {
    let Some(logto) = &service.logto else { return Ok(()) };
    Ok(outbox::put_gone_user(tx, logto.issuer(), user, service.platform.now()).await?)
}

/// A user who was found by their address: their account has a password of its own, and changes that the tenant refused
/// before may succeed now.
pub async fn user_linked(service: &Identity, tx: &mut Tx, user: UserId) -> Result<()> {
    let Some(logto) = &service.logto else { return Ok(()) };
    logto::user_created(tx, logto.issuer(), user).await?;
    note(service, tx, OutboxKind::User, user.0, aspect::USER).await
}

/// A new organization.
pub async fn organization_created(service: &Identity, tx: &mut Tx, id: OrgId) -> Result<()> {
    note(service, tx, OutboxKind::Organization, id.0, aspect::ORGANIZATION).await
}

/// A changed organization.
pub async fn organization_changed(service: &Identity, tx: &mut Tx, id: OrgId) -> Result<()> {
    note(service, tx, OutboxKind::Organization, id.0, aspect::PROFILE).await
}

/// A promoted organization: its type, and with it the role of its members.
pub async fn organization_promoted(service: &Identity, tx: &mut Tx, id: OrgId) -> Result<()> {
    note(service, tx, OutboxKind::Organization, id.0, aspect::ORGANIZATION).await?;
    note(service, tx, OutboxKind::Members, id.0, aspect::MEMBERSHIP).await
}

/// An organization with another lifecycle state, which its users and the organizations below inherit.
pub async fn organization_moved(service: &Identity, tx: &mut Tx, id: OrgId) -> Result<()> {
    // The organization itself is unchanged; but it was not created at the tenant while it was deleted, and may be
    // needed now.
    note(service, tx, OutboxKind::Organization, id.0, 0).await?;
    note(service, tx, OutboxKind::Tree, id.0, aspect::STATE).await
}

/// An organization that is about to be destroyed with all below it.
pub async fn organization_destroyed(
    service: &Identity,
    tx: &mut Tx,
    id: OrgId,
    org_type: OrgType,
) -> Result<()> {
    let Some(logto) = &service.logto else { return Ok(()) };
    Ok(outbox::put_gone_tree(tx, logto.issuer(), id, org_type, service.platform.now()).await?)
}

/// Removes queued changes for tenants that this service no longer uses, with the passwords stored for accounts there.
/// In the other modes these are all tenants. Answers the number of rows.
pub async fn purge_others(service: &Identity, tx: &mut Tx, before: Ts, limit: i64) -> Result<u64> {
    let issuer = service.logto.as_ref().map_or("", LogtoSync::issuer);
    Ok(logto::purge_others(tx, issuer, before, limit).await?)
}

/// The sync states of users; nothing in the other modes.
pub async fn marks_of_users(
    service: &Identity,
    users: impl Iterator<Item = UserId>,
) -> Result<HashMap<Uuid, SyncState>> {
    let Some(logto) = &service.logto else { return Ok(HashMap::new()) };
    Ok(logto::user_marks(&service.platform.db, logto.issuer(), users).await?)
}

/// The sync states of these organizations.
pub async fn marks_of_organizations(
    service: &Identity,
    organizations: impl Iterator<Item = OrgId>,
) -> Result<HashMap<Uuid, SyncState>> {
    let Some(logto) = &service.logto else { return Ok(HashMap::new()) };
    Ok(logto::organization_marks(&service.platform.db, logto.issuer(), organizations).await?)
}

/// An organization with its sync state.
pub async fn marked(service: &Identity, organization: Organization) -> Result<Organization> {
    let mut marks = marks_of_organizations(service, std::iter::once(organization.id)).await?;
    Ok(Organization { mirrored: marks.remove(&organization.id.0).unwrap_or_default(), ..organization })
}

/// The tenant has no such object, or another object holds the value: phrased as a refusal of the tenant.
fn refused(status: u16, key: &str, code: &str) -> worker::Stop {
    let fields = vec![(key.to_owned(), code.to_owned())];
    worker::Stop::Logto(LogtoError::Refused(LogtoRefusal { status, fields, code: None }))
}

fn seal(service: &Identity, password: &str) -> Result<String> {
    service.platform.keys.seal_text(SEAL, password, &*service.platform.entropy)
}

/// Seals the passwords that wait for accounts with the current secret, for all tenants. Answers how many no configured
/// secret opens; these users get generated passwords when their accounts are created.
///
/// # Errors
/// The database's.
pub async fn reseal_all(service: &Identity) -> Result<u64> {
    const AT_ONCE: i64 = 200;
    let (mut lost, mut after) = (0, (String::new(), UserId(Uuid::nil())));
    loop {
        let page = logto::passwords_after(&service.platform.db, (&after.0, after.1), AT_ONCE).await?;
        let Some((issuer, user, _)) = page.last() else { return Ok(lost) };
        after = (issuer.clone(), *user);
        let mut tx = service.platform.db.begin().await?;
        for (issuer, user, sealed) in page {
            match open(service, &sealed) {
                Ok(password) => {
                    let anew = seal(service, &password)?;
                    logto::reseal_password(&mut tx, &issuer, user, (&sealed, &anew)).await?;
                }
                Err(_) => {
                    tracing::warn!(%user, "a password waiting for an account cannot be opened; a new one is generated");
                    lost += 1;
                }
            }
        }
        tx.commit().await?;
    }
}

fn open(service: &Identity, sealed: &str) -> Result<String> {
    service.platform.keys.open_text(SEAL, sealed)
}

/// Links the owner organization and the first user to the objects named in the configuration (spec: logto#calls: found
/// by configured or linked id, never by name).
async fn link_configured(service: &Identity, logto: &LogtoSync) -> Result<()> {
    let (issuer, settings) = (logto.issuer(), &logto.settings);
    let owner = organizations::owner(&service.platform.db).await?;
    if let (Some(owner), Some(provider_id)) = (owner, &settings.owner_organization_id) {
        let is_linked = logto::organization(&service.platform.db, issuer, owner).await?.id.is_some();
        if !is_linked {
            let mut tx = service.platform.db.begin().await?;
            if logto::link_organization(&mut tx, issuer, owner, provider_id).await? {
                organization_created(service, &mut tx, owner).await?;
                tx.commit().await?;
            } else {
                tracing::warn!(
                    organization = provider_id,
                    "the configured owner organization of the tenant is linked to another organization here"
                );
            }
        }
    }
    let Some(provider_id) = &settings.owner_user_id else { return Ok(()) };
    let Some((first, _)) = identities::by_username(&service.platform.db, OWNER_USERNAME).await? else {
        return Ok(());
    };
    if logto::subject(&service.platform.db, issuer, first.id).await?.is_some() {
        return Ok(());
    }
    let mut tx = service.platform.db.begin().await?;
    if account_links::insert(&mut tx, issuer, provider_id, first.id, service.platform.now()).await? {
        record_link(service, &mut tx, first.id, provider_id).await?;
        user_linked(service, &mut tx, first.id).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// A link that the service has stored by itself.
async fn record_link(service: &Identity, tx: &mut Tx, user: UserId, subject: &str) -> Result<()> {
    let issuer = service.logto.as_ref().map(LogtoSync::issuer);
    let entry = AuditRecord {
        at: service.platform.now(),
        actor_user_id: None,
        acting_for_user_id: None,
        actor_organization_id: None,
        action: AuditAction::UserLink,
        object_type: "user",
        object_id: Some(user.0),
        before: None,
        after: Some(json!({"issuer": issuer, "subject": subject})),
        request_id: None,
    };
    Ok(audit::record(tx, entry).await?)
}
