//! Rebranding, management side.

use super::{Gate::RebrandingOwner, Route, delete, get, patch, put};

pub(super) fn rows() -> Vec<Route> {
    vec![
        get("/rebranding/products", "listRebrandableProducts"),
        patch("/rebranding/{org_id}/enable", "enableRebranding").gate(RebrandingOwner("enable")),
        patch("/rebranding/{org_id}/disable", "disableRebranding").gate(RebrandingOwner("disable")),
        get("/rebranding/{org_id}/status", "getRebrandingStatus"),
        get("/rebranding/{org_id}/products", "listRebrandingProducts"),
        put("/rebranding/{org_id}/products/{product_id}", "updateRebranding").gate(RebrandingOwner("update")),
        delete("/rebranding/{org_id}/products/{product_id}", "deleteRebrandingProduct")
            .gate(RebrandingOwner("delete")),
        get("/rebranding/{org_id}/products/{product_id}/{asset}", "getRebrandingAsset"),
        delete("/rebranding/{org_id}/products/{product_id}/{asset}", "deleteRebrandingAsset")
            .gate(RebrandingOwner("delete")),
    ]
}
