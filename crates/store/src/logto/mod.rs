//! Users and organizations at a Logto tenant (spec: logto#calls): links of organizations, the sync state of each
//! object, and in [`outbox`] the changes still to be sent. Everything is stored under the issuer's address: another
//! tenant knows nothing of it. Links of users are in [`crate::identities::account_links`].

pub mod outbox;

use crate::{
    Db, StoreError, Tx,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::{OrgId, OrgType, Ts, UserId, org::SyncState};
use sqlx_macros::FromRow;
use std::collections::HashMap;
use uuid::Uuid;

const SUBJECT: &str = "SELECT subject FROM user_identities WHERE user_id = ? AND issuer = ?";
const USER: &str = "SELECT creating_at, creating_name, sealed_password, password_generated_at \
    FROM logto_users \
    WHERE user_id = ? AND issuer = ?";
const NEW_USER: &str = "INSERT INTO logto_users (issuer, user_id, sealed_password, password_generated_at) \
    VALUES (?, ?, ?, ?) ON CONFLICT (user_id, issuer) DO UPDATE SET sealed_password = excluded.sealed_password, \
    password_generated_at = excluded.password_generated_at";
const PASSWORDS_AFTER: &str = "SELECT issuer, user_id, sealed_password FROM logto_users \
    WHERE sealed_password IS NOT NULL AND (issuer > ? OR (issuer = ? AND user_id > ?)) \
    ORDER BY issuer, user_id LIMIT ?";
const RESEAL: &str = "UPDATE logto_users SET sealed_password = ? \
    WHERE issuer = ? AND user_id = ? AND sealed_password = ?";
const USER_CREATING: &str = "INSERT INTO logto_users (issuer, user_id, creating_at, creating_name) \
    VALUES (?, ?, ?, ?) ON CONFLICT (user_id, issuer) DO UPDATE SET creating_at = excluded.creating_at, \
    creating_name = excluded.creating_name";
const USER_NOT_CREATED: &str = "UPDATE logto_users SET creating_at = NULL, creating_name = NULL \
    WHERE user_id = ? AND issuer = ?";
const USER_CREATED: &str = "UPDATE logto_users SET creating_at = NULL, creating_name = NULL, \
    sealed_password = NULL WHERE user_id = ? AND issuer = ?";
const USER_SYNCED: &str = "INSERT INTO logto_users (issuer, user_id, synced_at) VALUES (?, ?, ?) \
    ON CONFLICT (user_id, issuer) DO UPDATE SET synced_at = excluded.synced_at, sync_error = NULL";
const USER_FAILED: &str = "INSERT INTO logto_users (issuer, user_id, sync_error) VALUES (?, ?, ?) \
    ON CONFLICT (user_id, issuer) DO UPDATE SET sync_error = excluded.sync_error";
const ORGANIZATION: &str = "SELECT provider_id, creating_at, creating_name FROM logto_organizations \
    WHERE organization_id = ? AND issuer = ?";
const ORGANIZATION_CREATING: &str = "INSERT INTO logto_organizations (issuer, organization_id, creating_at, \
    creating_name) VALUES (?, ?, ?, ?) ON CONFLICT (organization_id, issuer) DO UPDATE \
    SET creating_at = excluded.creating_at, creating_name = excluded.creating_name";
const ORGANIZATION_NOT_CREATED: &str = "UPDATE logto_organizations \
    SET creating_at = NULL, creating_name = NULL WHERE organization_id = ? AND issuer = ?";
const LINK_ORGANIZATION: &str = "INSERT INTO logto_organizations (issuer, organization_id, provider_id) \
    SELECT CAST(? AS TEXT), o.id, CAST(? AS TEXT) FROM organizations o WHERE o.id = ? AND NOT EXISTS (\
    SELECT 1 FROM logto_organizations l WHERE l.issuer = ? AND l.provider_id = ? AND l.organization_id <> o.id) ON CONFLICT (organization_id, issuer) DO UPDATE SET creating_at = NULL, \
    creating_name = NULL, provider_id = excluded.provider_id";
const UNLINK_ORGANIZATION: &str = "UPDATE logto_organizations SET provider_id = NULL, synced_at = NULL \
    WHERE organization_id = ? AND issuer = ? AND provider_id = ?";
const ORGANIZATION_SYNCED: &str = "INSERT INTO logto_organizations (issuer, organization_id, synced_at) \
    VALUES (?, ?, ?) ON CONFLICT (organization_id, issuer) DO UPDATE SET synced_at = excluded.synced_at, \
    sync_error = NULL";
const ORGANIZATION_FAILED: &str = "INSERT INTO logto_organizations (issuer, organization_id, sync_error) \
    VALUES (?, ?, ?) ON CONFLICT (organization_id, issuer) DO UPDATE SET sync_error = excluded.sync_error";
const USERS_AFTER: &str = "SELECT id FROM users WHERE id > ? ORDER BY id LIMIT ?";
const ORGANIZATIONS_AFTER: &str = "SELECT id FROM organizations WHERE id > ? ORDER BY id LIMIT ?";
const PURGE_USERS: &str = "DELETE FROM logto_users WHERE (user_id, issuer) IN (SELECT user_id, issuer \
    FROM logto_users WHERE issuer <> ? AND (synced_at IS NULL OR synced_at < ?) \
    AND (password_generated_at IS NULL OR password_generated_at < ?) \
    AND (creating_at IS NULL OR creating_at < ?) LIMIT ?)";
macro_rules! purge_outbox {
    ($which:literal) => {
        concat!(
            "DELETE FROM logto_outbox WHERE \
             [[ctid = ANY(ARRAY(SELECT ctid||(issuer, kind, object_id) IN (SELECT issuer, kind, object_id]] FROM logto_outbox \
             WHERE issuer ",
            $which,
            " ? AND (next_at IS NULL OR next_at < ?) ORDER BY issuer, kind, object_id LIMIT ?[[))||)]]"
        )
    };
}
/// For the tenants before and after one, so that no row of that one is read.
const PURGE_OUTBOX: [&str; 2] = [purge_outbox!("<"), purge_outbox!(">")];

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    SUBJECT,
    USER,
    NEW_USER,
    PASSWORDS_AFTER,
    RESEAL,
    USER_CREATING,
    USER_NOT_CREATED,
    USER_CREATED,
    USER_SYNCED,
    USER_FAILED,
    ORGANIZATION,
    ORGANIZATION_CREATING,
    ORGANIZATION_NOT_CREATED,
    LINK_ORGANIZATION,
    UNLINK_ORGANIZATION,
    ORGANIZATION_SYNCED,
    ORGANIZATION_FAILED,
    USERS_AFTER,
    ORGANIZATIONS_AFTER,
    PURGE_USERS,
    PURGE_OUTBOX_BEFORE = PURGE_OUTBOX[0],
    PURGE_OUTBOX_BEHIND = PURGE_OUTBOX[1]
];

/// The stored state of a user, apart from their link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// A creation was begun, and its outcome is unknown.
    pub creating_at: Option<Ts>,
    /// The name that the creation used.
    pub creating_name: Option<String>,
    /// The password for their account.
    pub sealed_password: Option<String>,
    /// When it was generated; none when a person chose it.
    pub generated_at: Option<Ts>,
}

#[derive(FromRow)]
struct PendingRow {
    creating_at: Option<TsCodec>,
    creating_name: Option<String>,
    sealed_password: Option<String>,
    password_generated_at: Option<TsCodec>,
}

/// The account of a user.
pub async fn subject(
    on: impl Into<On<'_>>,
    issuer: &str,
    user: UserId,
) -> Result<Option<String>, StoreError> {
    let row: Option<(String,)> = Q::new(SUBJECT).bind(user).bind(issuer).optional(on).await?;
    Ok(row.map(|(subject,)| subject))
}

/// The stored state of a user, apart from their link.
pub async fn pending(on: impl Into<On<'_>>, issuer: &str, user: UserId) -> Result<Pending, StoreError> {
    let row: Option<PendingRow> = Q::new(USER).bind(user).bind(issuer).optional(on).await?;
    let Some(row) = row else { return Ok(Pending::default()) };
    Ok(Pending {
        creating_at: row.creating_at.map(|at| at.0),
        creating_name: row.creating_name,
        sealed_password: row.sealed_password,
        generated_at: row.password_generated_at.map(|at| at.0),
    })
}

/// Stores the password of a user until their account has it; `generated_at`: it is mailed to them then.
pub async fn keep_password(
    tx: &mut Tx,
    issuer: &str,
    user: UserId,
    sealed: &str,
    generated_at: Option<Ts>,
) -> Result<(), StoreError> {
    Q::new(NEW_USER).bind(issuer).bind(user).bind(sealed).bind(generated_at).run(tx).await?;
    Ok(())
}

/// Up to `limit` users after this one with a waiting password, at any tenant: issuer, user, sealed password.
pub async fn passwords_after(
    db: &Db,
    after: (&str, UserId),
    limit: i64,
) -> Result<Vec<(String, UserId, String)>, StoreError> {
    let (issuer, user) = after;
    let q = Q::new(PASSWORDS_AFTER).bind(issuer).bind(issuer).bind(user).bind(limit);
    let rows: Vec<(String, Uuid, String)> = q.all(db).await?;
    Ok(rows.into_iter().map(|(issuer, user, sealed)| (issuer, UserId(user), sealed)).collect())
}

/// Replaces a sealed password by the same one sealed again. False when another one, or none, is stored by now.
pub async fn reseal_password(
    tx: &mut Tx,
    issuer: &str,
    user: UserId,
    (before, sealed): (&str, &str),
) -> Result<bool, StoreError> {
    Ok(Q::new(RESEAL).bind(sealed).bind(issuer).bind(user).bind(before).run(tx).await? > 0)
}

/// Notes that a creation of the user's account begins, under this user name.
pub async fn user_creating(
    tx: &mut Tx,
    issuer: &str,
    user: UserId,
    at: Ts,
    name: &str,
) -> Result<(), StoreError> {
    Q::new(USER_CREATING).bind(issuer).bind(user).bind(at).bind(name).run(tx).await?;
    Ok(())
}

/// The creation made no account: there is none to be found.
pub async fn user_not_created(tx: &mut Tx, issuer: &str, user: UserId) -> Result<(), StoreError> {
    Q::new(USER_NOT_CREATED).bind(user).bind(issuer).run(tx).await?;
    Ok(())
}

/// The user has an account: no creation is under way, and the password is forgotten.
pub async fn user_created(tx: &mut Tx, issuer: &str, user: UserId) -> Result<(), StoreError> {
    Q::new(USER_CREATED).bind(user).bind(issuer).run(tx).await?;
    Ok(())
}

/// The user is synchronized.
pub async fn user_synced(tx: &mut Tx, issuer: &str, user: UserId, at: Ts) -> Result<(), StoreError> {
    tx.logins_changed();
    Q::new(USER_SYNCED).bind(issuer).bind(user).bind(at).run(tx).await?;
    Ok(())
}

/// Notes that the tenant refused a change of the user.
pub async fn user_failed(tx: &mut Tx, issuer: &str, user: UserId, why: &str) -> Result<(), StoreError> {
    tx.logins_changed();
    Q::new(USER_FAILED).bind(issuer).bind(user).bind(why).run(tx).await?;
    Ok(())
}

/// The stored state of an organization at the tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantOrganization {
    /// Its id there.
    pub id: Option<String>,
    /// A creation was begun, and its outcome is unknown.
    pub is_creating: bool,
    /// The name that the creation used.
    pub creating_name: Option<String>,
}

/// The stored state of an organization at the tenant.
pub async fn organization(
    on: impl Into<On<'_>>,
    issuer: &str,
    organization: OrgId,
) -> Result<TenantOrganization, StoreError> {
    let row: Option<(Option<String>, Option<TsCodec>, Option<String>)> =
        Q::new(ORGANIZATION).bind(organization).bind(issuer).optional(on).await?;
    let there = |(id, at, creating_name): (_, Option<TsCodec>, _)| TenantOrganization {
        id,
        is_creating: at.is_some(),
        creating_name,
    };
    Ok(row.map(there).unwrap_or_default())
}

/// A creation there begins, by this name.
pub async fn organization_creating(
    tx: &mut Tx,
    issuer: &str,
    organization: OrgId,
    at: Ts,
    name: &str,
) -> Result<(), StoreError> {
    Q::new(ORGANIZATION_CREATING).bind(issuer).bind(organization).bind(at).bind(name).run(tx).await?;
    Ok(())
}

/// The creation made no organization.
pub async fn organization_not_created(
    tx: &mut Tx,
    issuer: &str,
    organization: OrgId,
) -> Result<(), StoreError> {
    Q::new(ORGANIZATION_NOT_CREATED).bind(organization).bind(issuer).run(tx).await?;
    Ok(())
}

/// Links the organization to this object of the tenant. False, and nothing is written, when another organization is
/// linked to it, or this organization no longer exists.
pub async fn link_organization(
    tx: &mut Tx,
    issuer: &str,
    organization: OrgId,
    provider_id: &str,
) -> Result<bool, StoreError> {
    let q = Q::new(LINK_ORGANIZATION).bind(issuer).bind(provider_id).bind(organization);
    Ok(q.bind(issuer).bind(provider_id).run(tx).await? > 0)
}

/// Ends the organization's link to this object of the tenant.
pub async fn unlink_organization(
    tx: &mut Tx,
    issuer: &str,
    organization: OrgId,
    provider_id: &str,
) -> Result<(), StoreError> {
    tx.figures_changed();
    Q::new(UNLINK_ORGANIZATION).bind(organization).bind(issuer).bind(provider_id).run(tx).await?;
    Ok(())
}

/// The organization is synchronized.
pub async fn organization_synced(
    tx: &mut Tx,
    issuer: &str,
    organization: OrgId,
    at: Ts,
) -> Result<(), StoreError> {
    tx.figures_changed();
    Q::new(ORGANIZATION_SYNCED).bind(issuer).bind(organization).bind(at).run(tx).await?;
    Ok(())
}

/// Notes that the tenant refused a change of the organization.
pub async fn organization_failed(
    tx: &mut Tx,
    issuer: &str,
    organization: OrgId,
    why: &str,
) -> Result<(), StoreError> {
    tx.figures_changed();
    Q::new(ORGANIZATION_FAILED).bind(issuer).bind(organization).bind(why).run(tx).await?;
    Ok(())
}

#[derive(FromRow)]
struct MarkRow {
    id: Uuid,
    synced_at: Option<TsCodec>,
    sync_error: Option<String>,
}

async fn marks(
    on: impl Into<On<'_>>,
    (table, column): (&str, &str),
    issuer: &str,
    ids: impl Iterator<Item = Uuid>,
) -> Result<HashMap<Uuid, SyncState>, StoreError> {
    let mut q = Q::new(&format!(
        "SELECT {column} AS id, synced_at, sync_error FROM {table} WHERE issuer = ? AND {column} IN ("
    ))
    .bind(issuer);
    q.list(ids).push(")");
    let rows: Vec<MarkRow> = q.all(on).await?;
    let mark =
        |row: MarkRow| (row.id, SyncState { synced_at: row.synced_at.map(|at| at.0), error: row.sync_error });
    Ok(rows.into_iter().map(mark).collect())
}

/// The sync states of these users; users without a stored state are left out.
pub async fn user_marks(
    on: impl Into<On<'_>>,
    issuer: &str,
    users: impl Iterator<Item = UserId>,
) -> Result<HashMap<Uuid, SyncState>, StoreError> {
    marks(on, ("logto_users", "user_id"), issuer, users.map(|id| id.0)).await
}

/// The sync states of these organizations; organizations without a stored state are left out.
pub async fn organization_marks(
    on: impl Into<On<'_>>,
    issuer: &str,
    organizations: impl Iterator<Item = OrgId>,
) -> Result<HashMap<Uuid, SyncState>, StoreError> {
    marks(on, ("logto_organizations", "organization_id"), issuer, organizations.map(|id| id.0)).await
}

/// The local organizations linked to these ids of the tenant.
pub async fn organizations_of(
    on: impl Into<On<'_>>,
    issuer: &str,
    provider_ids: &[String],
) -> Result<HashMap<String, OrgId>, StoreError> {
    let mut q = Q::new(
        "SELECT provider_id, organization_id FROM logto_organizations WHERE issuer = ? AND provider_id IN (",
    )
    .bind(issuer);
    q.list(provider_ids).push(")");
    let rows: Vec<(String, Uuid)> = q.all(on).await?;
    Ok(rows.into_iter().map(|(provider_id, organization_id)| (provider_id, OrgId(organization_id))).collect())
}

/// For all tenants except this one (`""` = for all), removes up to `limit` rows each of changes queued before a time,
/// and of the stored state of their users, passwords included; returns how many. Links stay: the tenant may be
/// configured again.
pub async fn purge_others(tx: &mut Tx, issuer: &str, before: Ts, limit: i64) -> Result<u64, StoreError> {
    let q = Q::new(PURGE_USERS).bind(issuer).bind(before).bind(before).bind(before).bind(limit);
    let mut gone = q.run(&mut *tx).await?;
    for text in PURGE_OUTBOX {
        gone += Q::by_index(text).bind(issuer).bind(before).bind(limit).run(&mut *tx).await?;
    }
    Ok(gone)
}

/// The next users after one, by id, for a walk through all.
pub async fn users_after(on: impl Into<On<'_>>, after: Uuid, limit: i64) -> Result<Vec<UserId>, StoreError> {
    let rows: Vec<(Uuid,)> = Q::new(USERS_AFTER).bind(after).bind(limit).all(on).await?;
    Ok(rows.into_iter().map(|(id,)| UserId(id)).collect())
}

/// The next organizations after one, by id, for a walk through all.
pub async fn organizations_after(
    on: impl Into<On<'_>>,
    after: Uuid,
    limit: i64,
) -> Result<Vec<OrgId>, StoreError> {
    let rows: Vec<(Uuid,)> = Q::new(ORGANIZATIONS_AFTER).bind(after).bind(limit).all(on).await?;
    Ok(rows.into_iter().map(|(id,)| OrgId(id)).collect())
}

/// The column that holds an organization's subtree in the users table.
pub(crate) const fn below(org_type: OrgType) -> &'static str {
    crate::tree::subtree_column(org_type, "organization_id")
}
