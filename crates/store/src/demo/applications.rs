//! Synthetic applications, and their counters.

use super::{Column, ColumnType, Columns, PlacedSystem, insert};
use crate::{
    StoreError, Tx,
    applications::{self, intake::Seen},
    sql::Arg,
};
use bailiwick_domain::{ApplicationId, OrgId, SystemId, Ts, fold::fold, fold::fold_start};
use bailiwick_policy::Path;
use std::collections::HashSet;

pub use crate::applications::counts::Added as KindCount;

/// An application on a system made before.
#[derive(Clone, Debug)]
pub struct PlacedApplication {
    /// Fresh id.
    pub id: ApplicationId,
    pub system_id: SystemId,
    /// Place of that system.
    pub path: Path,
    /// The organization it is assigned to.
    pub assigned_to: Option<OrgId>,
    /// First seen.
    pub created_at: Ts,
    /// Last change.
    pub updated_at: Ts,
    /// The application as a document reported it.
    pub seen: Seen,
}

const APPLICATIONS: Columns<PlacedApplication> = columns! { PlacedApplication;
    Id "id" = |r| r.id;
    Id "system_id" = |r| r.system_id;
    Id "home_id" = |r| r.path.id;
    Id "p2" = |r| r.path.p2;
    Id "p3" = |r| r.path.p3;
    Text "module_id" = |r| &r.seen.module_id;
    Text "module_key" = |r| fold_start(&r.seen.module_id);
    Text "instance_of" = |r| &r.seen.instance_of;
    Text "type_key" = |r| fold_start(&r.seen.instance_of);
    TextOrNull "name" = |r| r.seen.name.as_deref();
    TextOrNull "source" = |r| r.seen.source.as_deref();
    Text "display_key" = |r| fold_start(&r.seen.module_id);
    Int "node_id" = |r| r.seen.node_id;
    TextOrNull "node_label" = |r| r.seen.node_label.as_deref();
    Text "version" = |r| &r.seen.version;
    Int "certification_level" = |r| r.seen.certification_level;
    Bool "is_user_facing" = |r| r.seen.is_user_facing;
    TextOrNull "url" = |r| r.seen.url.as_deref();
    Text "inventory_data" = |r| &r.seen.inventory_data;
    Text "status" = |r| if r.assigned_to.is_some() { "assigned" } else { "unassigned" };
    Id "organization_id" = |r| r.assigned_to;
    Text "search_key" = |r| applications::intake::search_key(&r.seen);
    Time "created_at" = |r| r.created_at;
    Time "updated_at" = |r| r.updated_at;
    Time "first_seen_at" = |r| r.created_at;
};

/// A system with applications.
struct Host {
    system_id: SystemId,
    path: Path,
    name_key: String,
    seen_at: Ts,
}

const HOSTS: Columns<Host> = columns! { Host;
    Id "system_id" = |r| r.system_id;
    Id "home_id" = |r| r.path.id;
    Id "p2" = |r| r.path.p2;
    Id "p3" = |r| r.path.p3;
    Text "name_key" = |r| &r.name_key;
    Time "seen_at" = |r| r.seen_at;
};

/// Stores applications of these systems, none of which had any before.
pub async fn insert_applications(
    tx: &mut Tx,
    systems: &[PlacedSystem],
    rows: &[PlacedApplication],
) -> Result<(), StoreError> {
    let with: HashSet<SystemId> = rows.iter().map(|r| r.system_id).collect();
    let host = |PlacedSystem { system, path, .. }: &PlacedSystem| {
        let seen_at = system.last_inventory.filter(|_| with.contains(&system.id))?;
        Some(Host { system_id: system.id, path: *path, name_key: fold(&system.name), seen_at })
    };
    let hosts: Vec<Host> = systems.iter().filter_map(host).collect();
    insert(tx, "application_hosts", HOSTS, &hosts).await?;
    insert(tx, "applications", APPLICATIONS, rows).await
}

/// Adds to the counters of applications; assigned ones are assigned to their home.
pub async fn add_application_counts(tx: &mut Tx, rows: &[KindCount]) -> Result<(), StoreError> {
    applications::counts::add(tx, rows).await
}
