//! Inventory of systems, management side (spec: inventory#reads). Literal words win over the number of a record.

use super::{Route, get, query};
use crate::{
    manage::inventory,
    wire::inventory::{
        DiffBatch, DiffList, HistoryOutput, InventoryRecordOutput, SummaryOutput, TimelineOutput,
    },
};
use bailiwick_policy::{Permission, Permission::ReadSystems};

pub(super) fn rows() -> Vec<Route> {
    const READ: &[Permission] = &[ReadSystems];
    vec![
        get("/systems/{id}/inventory", "listInventory", "List the inventory records of a system")
            .query(query::inventory_records())
            .ordered(&[("records", &["-timestamp", "-id"])])
            .needs(READ)
            .failing("failed to retrieve inventory history")
            .gives::<HistoryOutput>()
            .to(inventory::history),
        get("/systems/{id}/inventory/latest", "getLatestInventory", "The latest inventory of a system")
            .needs(READ)
            .failing("failed to retrieve latest inventory")
            .gives_or_null::<InventoryRecordOutput>()
            .to(inventory::latest),
        get(
            "/systems/{id}/inventory/changes",
            "getInventoryChanges",
            "How much has changed in the inventory of a system",
        )
        .needs(READ)
        .failing("failed to retrieve changes summary")
        .gives_or_null::<SummaryOutput>()
        .to(inventory::changes),
        get(
            "/systems/{id}/inventory/changes/latest",
            "getLatestInventoryChanges",
            "How much the latest inventory has changed",
        )
        .needs(READ)
        .failing("failed to retrieve changes summary")
        .gives_or_null::<SummaryOutput>()
        .to(inventory::latest_changes),
        get(
            "/systems/{id}/inventory/diffs",
            "listInventoryDiffs",
            "List changes in the inventory of a system",
        )
        .query(query::inventory_changes())
        .ordered(&[("diffs", &["-created_at", "id"])])
        .needs(READ)
        .failing("failed to retrieve inventory diffs")
        .gives::<DiffList>()
        .to(inventory::diffs),
        get(
            "/systems/{id}/inventory/diffs/latest",
            "getLatestInventoryDiffs",
            "Changes of the newest inventory that changed anything",
        )
        .needs(READ)
        .failing("failed to retrieve inventory diffs")
        .gives::<DiffBatch>()
        .to(inventory::latest_diffs),
        get(
            "/systems/{id}/inventory/timeline",
            "getInventoryTimeline",
            "Changes in the inventory of a system by day",
        )
        .query(query::inventory_changes())
        .ordered(&[("groups", &["-date"])])
        .extra()
        .needs(READ)
        .failing("failed to retrieve inventory timeline")
        .gives::<TimelineOutput>()
        .to(inventory::timeline),
        get("/systems/{id}/inventory/{inventory_id}", "getInventory", "An inventory record")
            .extra()
            .needs(READ)
            .failing("failed to retrieve inventory record")
            .gives::<InventoryRecordOutput>()
            .to(inventory::show),
    ]
}
