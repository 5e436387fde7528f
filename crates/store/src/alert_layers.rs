//! Layers of alert configuration (spec: alert-configuration#layers): one for each organization that has saved one. They
//! are stored as JSON; the caller knows their contents and which parts are sealed.

use crate::{
    Db, StoreError, Tx,
    organizations::OWNER,
    sql::{On, Q, ROWS},
    time::TsCodec,
    tree::{parse_type, subtree_column},
};
use bailiwick_domain::{OrgId, OrgType, Ts, UserId};
use bailiwick_policy::{Granted, Path};
use serde_json::Value;
use sqlx_macros::FromRow;
use std::collections::{BTreeSet, HashMap};
use uuid::Uuid;

const GET: &str = "SELECT organization_id, layer, updated_by_user_id, updated_by_name, updated_at \
     FROM alert_layers WHERE organization_id = ?";
const PUT: &str = "INSERT INTO alert_layers \
     (organization_id, layer, updated_by_user_id, updated_by_name, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?) \
     ON CONFLICT (organization_id) DO UPDATE SET layer = excluded.layer, \
     updated_by_user_id = excluded.updated_by_user_id, updated_by_name = excluded.updated_by_name, \
     updated_at = excluded.updated_at";
const AFTER: &str = "SELECT organization_id, layer, updated_by_user_id, updated_by_name, updated_at \
     FROM alert_layers WHERE organization_id > ? ORDER BY organization_id LIMIT 100";
const REPLACE: &str = "UPDATE alert_layers SET layer = ? WHERE organization_id = ? AND updated_at = ?";
const REMOVE: &str = "DELETE FROM alert_layers WHERE organization_id = ?";
const CHAIN: &str = "SELECT o.id, o.p2, o.p3, o.name, o.type, \
     (o.eff_suspended_at IS NOT NULL OR o.eff_deleted_at IS NOT NULL) AS is_silent, \
     l.layer, l.updated_by_user_id, l.updated_by_name, l.updated_at \
     FROM organizations o LEFT JOIN alert_layers l ON l.organization_id = o.id \
     WHERE o.type = 'owner' OR o.id IN (?, ?, ?) \
     ORDER BY CASE o.type WHEN 'owner' THEN 1 WHEN 'distributor' THEN 2 WHEN 'reseller' THEN 3 ELSE 4 END";
/// Layers of organizations that are neither suspended nor deleted, individually or through one above.
const LIVE: &str = "SELECT l.organization_id, l.layer FROM alert_layers l \
     JOIN organizations o ON o.id = l.organization_id \
     WHERE o.eff_suspended_at IS NULL AND o.eff_deleted_at IS NULL AND ";
const EPOCH: &str = "SELECT n FROM alert_config_epoch WHERE id = 1";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![GET, PUT, AFTER, REPLACE, REMOVE, CHAIN, EPOCH];

/// A layer as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub organization_id: OrgId,
    /// The layer, its secrets sealed.
    pub layer: Value,
    /// The user who saved it; none = the service itself.
    pub updated_by: Option<UserId>,
    /// Their name then.
    pub updated_by_name: String,
    /// When.
    pub updated_at: Ts,
}

#[derive(FromRow)]
struct Row {
    organization_id: Uuid,
    layer: Value,
    updated_by_user_id: Option<Uuid>,
    updated_by_name: String,
    updated_at: TsCodec,
}

impl Row {
    fn into_stored(self) -> Stored {
        Stored {
            organization_id: OrgId(self.organization_id),
            layer: self.layer,
            updated_by: self.updated_by_user_id.map(UserId),
            updated_by_name: self.updated_by_name,
            updated_at: self.updated_at.0,
        }
    }
}

/// The layers that are in force for some tenants.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// For each tenant the organizations from the owner down to itself.
    pub of: Vec<(OrgId, Vec<OrgId>)>,
    /// The layers of those organizations that have one and are neither suspended nor deleted.
    pub layers: HashMap<OrgId, Value>,
}

/// An organization between the owner and a tenant, with its layer.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its place in the tree.
    pub path: Path,
    pub name: String,
    pub org_type: OrgType,
    /// Suspended or deleted: its layer does not count.
    pub is_silent: bool,
    /// Its saved layer.
    pub layer: Option<Stored>,
}

#[derive(FromRow)]
struct LinkRow {
    id: Uuid,
    p2: Uuid,
    p3: Uuid,
    name: String,
    r#type: String,
    is_silent: bool,
    layer: Option<Value>,
    updated_by_user_id: Option<Uuid>,
    updated_by_name: Option<String>,
    updated_at: Option<TsCodec>,
}

impl LinkRow {
    fn into_link(self) -> Result<Link, StoreError> {
        let saved = self.layer.zip(self.updated_by_name).zip(self.updated_at);
        Ok(Link {
            path: Path { id: OrgId(self.id), p2: OrgId(self.p2), p3: OrgId(self.p3) },
            name: self.name,
            org_type: parse_type(&self.r#type)?,
            is_silent: self.is_silent,
            layer: saved.map(|((layer, updated_by_name), updated_at)| Stored {
                organization_id: OrgId(self.id),
                layer,
                updated_by: self.updated_by_user_id.map(UserId),
                updated_by_name,
                updated_at: updated_at.0,
            }),
        })
    }
}

/// The organizations from the owner down to a tenant with their layers.
pub async fn chain(on: impl Into<On<'_>>, tenant: Path) -> Result<Vec<Link>, StoreError> {
    let q = Q::new(CHAIN).bind(tenant.p2).bind(tenant.p3).bind(tenant.id);
    let rows: Vec<LinkRow> = q.all(on).await?;
    rows.into_iter().map(LinkRow::into_link).collect()
}

/// How many organizations of a subtree are not deleted.
pub async fn count_tenants(on: impl Into<On<'_>>, top: OrgId, org_type: OrgType) -> Result<u64, StoreError> {
    let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM organizations WHERE eff_deleted_at IS NULL");
    push_below(&mut q, top, org_type);
    q.count(on).await
}

/// Appends ` AND …`: only an organization and those below it.
fn push_below(q: &mut Q, top: OrgId, org_type: OrgType) {
    if org_type != OrgType::Owner {
        q.push(&format!(" AND {} = ?", subtree_column(org_type, "id"))).arg(top);
    }
}

/// The layer of an organization.
pub async fn get(on: impl Into<On<'_>>, organization: OrgId) -> Result<Option<Stored>, StoreError> {
    let row: Option<Row> = Q::new(GET).bind(organization).optional(on).await?;
    Ok(row.map(Row::into_stored))
}

/// Up to a hundred layers in the order of their organizations, after `behind`.
pub async fn after(on: impl Into<On<'_>>, behind: Option<OrgId>) -> Result<Vec<Stored>, StoreError> {
    let rows: Vec<Row> = Q::new(AFTER).bind(behind.unwrap_or(OrgId(Uuid::nil()))).all(on).await?;
    Ok(rows.into_iter().map(Row::into_stored).collect())
}

/// Replaces the layer saved at that moment by another encoding of the same layer. The router is not notified, because
/// the meaning is unchanged.
pub async fn replace(
    tx: &mut Tx,
    organization: OrgId,
    updated_at: Ts,
    layer: &Value,
) -> Result<bool, StoreError> {
    let q = Q::new(REPLACE).bind(layer.clone()).bind(organization).bind(updated_at);
    Ok(q.run(tx).await? > 0)
}

/// Stores the layer of an organization, which is locked ([`crate::organizations::lifecycle::hold_marks`]) so that saves
/// follow one another.
pub async fn put(tx: &mut Tx, target: &Granted<OrgId>, new: &Stored) -> Result<(), StoreError> {
    tx.alert_config_changed();
    Q::new(PUT)
        .bind(target.id())
        .bind(new.layer.clone())
        .bind(new.updated_by)
        .bind(&new.updated_by_name)
        .bind(new.updated_at)
        .bind(new.updated_at)
        .run(tx)
        .await?;
    Ok(())
}

/// Removes the layer of an organization, which is locked; returns whether there was one.
pub async fn remove(tx: &mut Tx, target: &Granted<OrgId>) -> Result<bool, StoreError> {
    let removed = Q::new(REMOVE).bind(target.id()).run(&mut *tx).await? > 0;
    if removed {
        tx.alert_config_changed();
    }
    Ok(removed)
}

/// The layers in force for these tenants, in three statements for every few hundred of them. Unknown ones are left out.
pub async fn chains(on: impl Into<On<'_>>, tenants: &[OrgId]) -> Result<Chains, StoreError> {
    let mut on = on.into();
    let mut chains = Chains::default();
    let Some((owner,)) = Q::new(OWNER).optional::<(Uuid,)>(on.reborrow()).await? else { return Ok(chains) };
    for chunk in tenants.chunks(ROWS) {
        let ids: Vec<Uuid> = chunk.iter().map(|id| id.0).collect();
        let mut q = Q::new("SELECT id, p2, p3 FROM organizations WHERE ");
        q.one_of(on.reborrow(), "id", &ids);
        let paths: Vec<(Uuid, Uuid, Uuid)> = q.all(on.reborrow()).await?;
        for (id, p2, p3) in paths {
            let mut chain = vec![OrgId(owner)];
            for next in [p2, p3, id].map(OrgId) {
                // Where a level is missing, the one above takes its place.
                if chain.last() != Some(&next) {
                    chain.push(next);
                }
            }
            chains.of.push((OrgId(id), chain));
        }
    }
    let all: BTreeSet<Uuid> = chains.of.iter().flat_map(|(_, chain)| chain).map(|id| id.0).collect();
    let all: Vec<Uuid> = all.into_iter().collect();
    for chunk in all.chunks(ROWS) {
        let mut q = Q::new(LIVE);
        q.one_of(on.reborrow(), "l.organization_id", chunk);
        let rows: Vec<(Uuid, Value)> = q.all(on.reborrow()).await?;
        chains.layers.extend(rows.into_iter().map(|(id, layer)| (OrgId(id), layer)));
    }
    Ok(chains)
}

impl Db {
    /// The epoch of alert configuration: everything read before its last move must be read again. One indexed read.
    pub async fn alert_config_epoch(&self) -> Result<i64, StoreError> {
        let (n,): (i64,) = Q::new(EPOCH).one(self).await?;
        Ok(n)
    }
}
