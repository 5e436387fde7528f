//! One row of an application with its system and the organization it is assigned to.

use crate::{StoreError, time::TsCodec, tree::parse_type};
use bailiwick_domain::{ApplicationId, OrgId, SystemId, Ts, org::OrgRef};
use bailiwick_policy::{ApplicationTarget, Path, Scope, Standing};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// Columns of [`Row`], from applications `a`, their systems `s`, those systems' organizations `h`, the times `t` of
/// their documents and the organizations `g` they are assigned to.
macro_rules! row_columns {
    () => {
        concat!(
            "a.id, a.system_id, a.p2, a.p3, a.home_id, a.module_id, a.instance_of, a.name, a.source, a.display_name, \
         a.node_id, a.node_label, a.version, a.is_user_facing, a.url, a.inventory_data, a.backup_data, \
         a.services_data, a.has_errors, a.status, a.notes, a.created_at, a.updated_at, a.first_seen_at, a.deleted_at, \
         s.name AS system_name, s.deleted_at AS system_deleted_at, h.eff_deleted_at, t.seen_at, \
         g.id AS org_id, g.name AS org_name, g.type AS org_type, g.p2 AS org_p2, g.p3 AS org_p3, ",
            $crate::rebranding::nearest!("a.home_id", "a.p3", "a.p2"),
            " AS rebranding_org_id"
        )
    };
}
pub(super) use row_columns;

#[derive(FromRow)]
pub(super) struct Row {
    id: Uuid,
    system_id: Uuid,
    p2: Uuid,
    p3: Uuid,
    home_id: Uuid,
    module_id: String,
    instance_of: String,
    name: Option<String>,
    source: Option<String>,
    display_name: Option<String>,
    node_id: Option<i64>,
    node_label: Option<String>,
    version: String,
    is_user_facing: bool,
    url: Option<String>,
    inventory_data: String,
    backup_data: Option<String>,
    services_data: Option<String>,
    has_errors: bool,
    status: String,
    notes: Option<String>,
    created_at: TsCodec,
    updated_at: TsCodec,
    first_seen_at: TsCodec,
    deleted_at: Option<TsCodec>,
    system_name: String,
    system_deleted_at: Option<TsCodec>,
    eff_deleted_at: Option<TsCodec>,
    seen_at: Option<TsCodec>,
    org_id: Option<Uuid>,
    org_name: Option<String>,
    org_type: Option<String>,
    org_p2: Option<Uuid>,
    org_p3: Option<Uuid>,
    rebranding_org_id: Option<Uuid>,
}

/// The organization an application is assigned to.
pub type Assignee = OrgRef;

/// An application as management sees it (spec: applications#application).
#[derive(Clone, Debug, PartialEq)]
pub struct ApplicationRecord {
    pub id: ApplicationId,
    pub system_id: SystemId,
    /// Name of that system.
    pub system_name: String,
    /// Place of that system.
    pub path: Path,
    /// With the system, its key on the appliance.
    pub module_id: String,
    /// Name of the module it is an instance of.
    pub instance_of: String,
    /// Name of the product.
    pub name: Option<String>,
    /// The source of its image.
    pub source: Option<String>,
    /// Its name for users.
    pub display_name: Option<String>,
    /// Number of the node it runs on.
    pub node_id: Option<i64>,
    /// Name of that node.
    pub node_label: Option<String>,
    pub version: Option<String>,
    /// Whether users work with it.
    pub is_user_facing: bool,
    /// Where it is administered.
    pub url: Option<String>,
    /// One JSON object, as text.
    pub inventory_data: String,
    /// JSON, as text.
    pub backup_data: Option<String>,
    /// JSON, as text.
    pub services_data: Option<String>,
    /// Whether its services have errors.
    pub has_errors: bool,
    /// `unassigned`, `assigned` or `error`.
    pub status: String,
    /// Free text.
    pub notes: Option<String>,
    /// Creation of the row.
    pub created_at: Ts,
    /// Last change of anything but the figures in `inventory_data`.
    pub updated_at: Ts,
    /// Receipt of the first document that named it.
    pub first_seen_at: Ts,
    /// Receipt of the newest one.
    pub last_inventory_at: Option<Ts>,
    /// Deleted by a user, or missing from the newest document.
    pub deleted_at: Option<Ts>,
    /// The organization it is assigned to.
    pub organization: Option<Assignee>,
    /// Place of that organization.
    organization_path: Option<Path>,
    /// The nearest organization with rebranding, the system's own or above (spec: rebranding#system-document).
    pub rebranding: Option<OrgId>,
    standing: Standing,
}

impl ApplicationRecord {
    /// For a decision.
    pub const fn target(&self) -> ApplicationTarget {
        ApplicationTarget { id: self.id, path: self.path, standing: self.standing }
    }

    /// As a reader of this scope sees it: without an organization outside of it.
    #[must_use]
    pub fn seen_from(mut self, scope: &Scope) -> ApplicationRecord {
        if !self.organization_path.is_some_and(|path| scope.contains(&path)) {
            (self.organization, self.organization_path) = (None, None);
        }
        self
    }
}

impl Row {
    /// Of the application.
    pub(super) const fn id(&self) -> Uuid {
        self.id
    }
}

impl TryFrom<Row> for ApplicationRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<ApplicationRecord, StoreError> {
        let organization = match (row.org_id, row.org_name, row.org_type) {
            (Some(id), Some(name), Some(word)) => {
                Some(Assignee { id: OrgId(id), name, org_type: parse_type(&word)? })
            }
            _ => None,
        };
        let organization_path = match (row.org_id, row.org_p2, row.org_p3) {
            (Some(id), Some(p2), Some(p3)) => Some(Path { id: OrgId(id), p2: OrgId(p2), p3: OrgId(p3) }),
            _ => None,
        };
        let is_deleted = row.deleted_at.is_some() || row.system_deleted_at.is_some();
        Ok(ApplicationRecord {
            id: ApplicationId(row.id),
            system_id: SystemId(row.system_id),
            system_name: row.system_name,
            path: Path { id: OrgId(row.home_id), p2: OrgId(row.p2), p3: OrgId(row.p3) },
            module_id: row.module_id,
            instance_of: row.instance_of,
            name: row.name,
            source: row.source,
            display_name: row.display_name,
            node_id: row.node_id,
            node_label: row.node_label,
            version: Some(row.version).filter(|v| !v.is_empty()),
            is_user_facing: row.is_user_facing,
            url: row.url,
            inventory_data: row.inventory_data,
            backup_data: row.backup_data,
            services_data: row.services_data,
            has_errors: row.has_errors,
            status: row.status,
            notes: row.notes,
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
            first_seen_at: row.first_seen_at.0,
            last_inventory_at: row.seen_at.map(|t| t.0),
            deleted_at: row.deleted_at.map(|t| t.0),
            organization,
            organization_path,
            rebranding: row.rebranding_org_id.map(OrgId),
            standing: Standing::below(false, is_deleted, false, row.eff_deleted_at.is_some()),
        })
    }
}
