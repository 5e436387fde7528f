//! One row of a system with its organization, creator's organization and activity.

use super::status;
use crate::{StoreError, creator_row::CreatorRow, time::TsCodec, tree::parse_type};
use bailiwick_domain::{
    OrgId, System, SystemId, Ts,
    org::{Creator, Mark, OrgRef},
};
use bailiwick_policy::{Path, Scope, Standing, SystemTarget};
use serde_json::{Map, Value};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// Columns of [`Row`], from systems `s`, its organization `o`, its activity `a` and the creator's organization `c`;
/// `custom_data` may be read as something shorter.
macro_rules! row_columns {
    () => {
        row_columns!("s.custom_data")
    };
    ($custom_data:literal) => {
        concat!(
            "s.id, s.name, s.type AS system_type, s.fqdn, s.ipv4_address, s.ipv6_address, s.version, ", $custom_data, ", \
         s.system_key, s.notes, s.created_at, s.updated_at, s.registered_at, s.suspended_at, \
         s.deleted_at, o.id AS org_id, o.name AS org_name, o.type AS org_type, o.p2 AS org_p2, o.p3 AS org_p3, \
         o.eff_suspended_at, o.eff_suspended_by, o.eff_deleted_at, o.eff_deleted_by, \
         a.status, a.last_heartbeat, a.last_inventory, ",
            $crate::creator_row::creator_columns!("s"),
            ", ",
            $crate::rebranding::nearest!("o.id", "o.p3", "o.p2"),
            " AS rebranding_org_id"
        )
    };
}
pub(super) use row_columns;

#[derive(FromRow)]
pub(super) struct Row {
    id: Uuid,
    name: String,
    system_type: Option<String>,
    fqdn: String,
    ipv4_address: String,
    ipv6_address: String,
    version: String,
    custom_data: Value,
    system_key: String,
    notes: String,
    #[sqlx(flatten)]
    creator: CreatorRow,
    created_at: TsCodec,
    updated_at: TsCodec,
    registered_at: Option<TsCodec>,
    suspended_at: Option<TsCodec>,
    deleted_at: Option<TsCodec>,
    org_id: Uuid,
    org_name: String,
    org_type: String,
    org_p2: Uuid,
    org_p3: Uuid,
    eff_suspended_at: Option<TsCodec>,
    eff_suspended_by: Option<Uuid>,
    eff_deleted_at: Option<TsCodec>,
    eff_deleted_by: Option<Uuid>,
    status: i64,
    last_heartbeat: Option<TsCodec>,
    last_inventory: Option<TsCodec>,
    rebranding_org_id: Option<Uuid>,
}

impl Row {
    /// Of the system.
    pub(super) const fn id(&self) -> Uuid {
        self.id
    }

    /// Bytes of the texts that clients can make long.
    pub(super) fn weight(&self) -> usize {
        self.name.len() + self.notes.len() + self.fqdn.len() + self.version.len()
    }
}

/// A system and the further data that the rules need.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemRecord {
    /// As management sees it; the key is present even while it must not be shown.
    pub system: System,
    /// The place of its organization in the tree.
    pub path: Path,
    /// State of its organization.
    pub organization_suspended: Mark,
    /// Own and inherited state.
    pub standing: Standing,
}

impl SystemRecord {
    /// For a decision.
    pub const fn target(&self) -> SystemTarget {
        SystemTarget {
            id: self.system.id,
            path: self.path,
            org_type: self.system.organization.org_type,
            standing: self.standing,
        }
    }

    /// As a reader of this scope sees it: with an empty creator if they belong to a branch that the reader does not
    /// see.
    #[must_use]
    pub fn seen_from(mut self, scope: &Scope) -> SystemRecord {
        if !scope.shows(&self.system.created_by) {
            self.system.created_by = Creator::default();
        }
        self
    }
}

fn ts(t: Option<TsCodec>) -> Option<Ts> {
    t.map(|t| t.0)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

impl TryFrom<Row> for SystemRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<SystemRecord, StoreError> {
        let org_type = parse_type(&row.org_type)?;
        let created_by = row.creator.creator([row.org_id, row.org_p3, row.org_p2])?.unwrap_or_default();
        let org_id = OrgId(row.org_id);
        let mark = |at: Option<TsCodec>, by: Option<Uuid>| Mark { at: ts(at), by: by.map(OrgId) };
        let org_suspended = mark(row.eff_suspended_at, row.eff_suspended_by);
        let org_deleted = mark(row.eff_deleted_at, row.eff_deleted_by);
        let (suspended_at, deleted_at) = (ts(row.suspended_at), ts(row.deleted_at));
        Ok(SystemRecord {
            path: Path { id: org_id, p2: OrgId(row.org_p2), p3: OrgId(row.org_p3) },
            standing: Standing::below(
                suspended_at.is_some(),
                deleted_at.is_some(),
                org_suspended.is_set(),
                org_deleted.is_set(),
            ),
            organization_suspended: org_suspended,
            system: System {
                id: SystemId(row.id),
                name: row.name,
                system_type: row.system_type,
                fqdn: row.fqdn,
                ipv4_address: row.ipv4_address,
                ipv6_address: row.ipv6_address,
                version: row.version,
                custom_data: object(row.custom_data),
                organization: OrgRef { id: org_id, name: row.org_name, org_type },
                system_key: row.system_key,
                notes: row.notes,
                created_at: row.created_at.0,
                updated_at: row.updated_at.0,
                registered_at: ts(row.registered_at),
                created_by,
                liveness: status::liveness(row.status)?,
                last_heartbeat: ts(row.last_heartbeat),
                last_inventory: ts(row.last_inventory),
                suspended: Mark::effective(suspended_at, org_suspended.inherited_from(org_id)),
                deleted: Mark::effective(deleted_at, org_deleted.inherited_from(org_id)),
                rebranding: row.rebranding_org_id.map(OrgId),
            },
        })
    }
}
