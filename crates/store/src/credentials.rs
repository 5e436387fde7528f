//! The data of a system that authentication and registration read and write: its secret, its state, its organization.

use crate::{
    Db, StoreError, Tx,
    sql::{Arg, On, Q},
    time::TsCodec,
    tree::parse_type,
};
use bailiwick_domain::{OrgId, SystemId, Ts, org::OrgRef};
use sqlx_macros::FromRow;
use uuid::Uuid;

macro_rules! columns {
    () => {
        columns!("")
    };
    ($more:literal) => {
        concat!(
            "s.id, s.system_key, s.secret_public, s.secret_hash, s.name, s.type AS system_type, s.fqdn, s.ipv4_address, \
         s.registered_at, s.registered_from, s.authenticated_at, s.suspended_at, s.deleted_at, o.id AS org_id, \
         o.name AS org_name, o.type AS org_type, o.vat AS org_vat, o.eff_suspended_at, o.eff_deleted_at",
            $more,
            " FROM systems s JOIN organizations o ON o.id = s.organization_id"
        )
    };
}
pub(crate) use columns;

const BY_PUBLIC: &str = concat!("SELECT ", columns!(), " WHERE s.secret_public = ?");
const REGISTER: &str = "UPDATE systems SET registered_at = ?, registered_from = ?, \
     authenticated_at = NULL, updated_at = ? WHERE id = ? AND secret_hash = ? AND registered_at IS NULL \
     AND deleted_at IS NULL AND suspended_at IS NULL AND EXISTS (SELECT 1 FROM organizations o \
     WHERE o.id = systems.organization_id AND o.eff_deleted_at IS NULL AND o.eff_suspended_at IS NULL)";
const FIRST_CALL: &str = "UPDATE systems SET authenticated_at = ? \
     WHERE id = ? AND registered_at = ? AND authenticated_at IS NULL";

/// No secret hashes to an empty text, so none fits any more.
const UNREGISTER: &str = "UPDATE systems SET registered_at = NULL, registered_from = NULL, \
     authenticated_at = NULL, secret_hash = '', updated_at = ? WHERE id = ? AND registered_at IS NOT NULL";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![BY_PUBLIC, REGISTER, FIRST_CALL, UNREGISTER];

/// A system as its credential sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct CredentialRecord {
    pub id: SystemId,
    /// Public half of the credential.
    pub system_key: String,
    /// Lookup part of the secret.
    pub secret_public: String,
    /// `hex(salt):hex(SHA-256(salt ‖ secret part))`, or an imported hash that has not been used yet.
    pub secret_hash: String,
    /// Display name.
    pub name: String,
    /// From inventory.
    pub system_type: Option<String>,
    /// From inventory, `""` when unset.
    pub fqdn: String,
    /// From inventory, `""` when unset.
    pub ipv4_address: String,
    /// None = not registered.
    pub registered_at: Option<Ts>,
    /// Address the registration came from.
    pub registered_from: Option<String>,
    /// First authenticated call soon after the registration.
    pub authenticated_at: Option<Ts>,
    /// Its organization, the tenant.
    pub organization: OrgRef,
    /// VAT number of the organization.
    pub organization_vat: Option<String>,
    /// Own or inherited.
    pub is_suspended: bool,
    /// Own or inherited.
    pub is_deleted: bool,
}

#[derive(FromRow)]
pub(crate) struct Row {
    id: Uuid,
    system_key: String,
    secret_public: String,
    secret_hash: String,
    name: String,
    system_type: Option<String>,
    fqdn: String,
    ipv4_address: String,
    registered_at: Option<TsCodec>,
    registered_from: Option<String>,
    authenticated_at: Option<TsCodec>,
    suspended_at: Option<TsCodec>,
    deleted_at: Option<TsCodec>,
    org_id: Uuid,
    org_name: String,
    org_type: String,
    org_vat: Option<String>,
    eff_suspended_at: Option<TsCodec>,
    eff_deleted_at: Option<TsCodec>,
}

impl TryFrom<Row> for CredentialRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<CredentialRecord, StoreError> {
        let org_type = parse_type(&row.org_type)?;
        Ok(CredentialRecord {
            id: SystemId(row.id),
            system_key: row.system_key,
            secret_public: row.secret_public,
            secret_hash: row.secret_hash,
            name: row.name,
            system_type: row.system_type,
            fqdn: row.fqdn,
            ipv4_address: row.ipv4_address,
            registered_at: row.registered_at.map(|t| t.0),
            registered_from: row.registered_from,
            authenticated_at: row.authenticated_at.map(|t| t.0),
            organization: OrgRef { id: OrgId(row.org_id), name: row.org_name, org_type },
            organization_vat: row.org_vat,
            is_suspended: row.suspended_at.is_some() || row.eff_suspended_at.is_some(),
            is_deleted: row.deleted_at.is_some() || row.eff_deleted_at.is_some(),
        })
    }
}

/// The systems with these keys, at most a few hundred; unknown keys are left out.
pub async fn by_keys(db: &Db, keys: Vec<String>) -> Result<Vec<CredentialRecord>, StoreError> {
    let mut q = Q::new(concat!("SELECT ", columns!(), " WHERE s.system_key "));
    if db.is_postgres() {
        q.push("= ANY(?)").arg(Arg::Texts(keys));
    } else if let Some(last) = keys.last().cloned() {
        // Few different texts, so that they stay prepared.
        let padding = keys.len().next_power_of_two() - keys.len();
        q.push("IN (");
        q.list(keys.into_iter().chain(std::iter::repeat_n(last, padding))).push(")");
    } else {
        return Ok(Vec::new());
    }
    q.all::<Row>(db).await?.into_iter().map(CredentialRecord::try_from).collect()
}

/// The system with this lookup part.
pub async fn by_public(on: impl Into<On<'_>>, public: &str) -> Result<Option<CredentialRecord>, StoreError> {
    Q::new(BY_PUBLIC).bind(public).optional::<Row>(on).await?.map(CredentialRecord::try_from).transpose()
}

/// Marks the system as registered if it still has this secret, is not registered and nothing forbids it. This is one
/// conditional update, so that of parallel registrations exactly one succeeds. False = not registered by this call.
pub async fn register(
    tx: &mut Tx,
    record: &CredentialRecord,
    at: Ts,
    from: &str,
) -> Result<bool, StoreError> {
    let touched = Q::new(REGISTER)
        .bind(at)
        .bind(from)
        .bind(at)
        .bind(record.id)
        .bind(&record.secret_hash)
        .run(&mut *tx)
        .await?;
    if touched == 1 {
        tx.systems_changed();
    }
    Ok(touched == 1)
}

/// Notes the first authenticated call after the registration of `registered_at`.
pub async fn note_first_call(tx: &mut Tx, id: SystemId, registered_at: Ts, at: Ts) -> Result<(), StoreError> {
    Q::new(FIRST_CALL).bind(at).bind(id).bind(registered_at).run(tx).await?;
    Ok(())
}

/// Ends the registration and makes the secret useless; false = it was not registered any more. The caller raises the
/// auth epoch in the same transaction.
pub async fn unregister(tx: &mut Tx, id: SystemId, at: Ts) -> Result<bool, StoreError> {
    tx.systems_changed();
    Ok(Q::new(UNREGISTER).bind(at).bind(id).run(tx).await? == 1)
}
