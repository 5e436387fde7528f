//! Rebranding, management side.

use super::{Gate::Rebranding, Route, delete, get, patch, put};
use crate::{
    manage::rebranding,
    wire::rebranding::{RebrandableProductList, RebrandingStatusOutput},
};
use bailiwick_policy::RebrandingChange::{Delete, Disable, Enable, Update};
use std::time::Duration;

/// What assets are served as.
pub(super) const IMAGES: &[&str] =
    &["image/png", "image/jpeg", "image/webp", "image/x-icon", "image/svg+xml"];

/// What is answered where images are in a bucket that cannot be reached.
pub(super) const STORAGE: &[u16] = &[502, 504];

/// Of products.
const SETTINGS_ORDER: &str = "The order is that of the settings.";

pub(super) fn rows() -> Vec<Route> {
    vec![
        get(
            "/rebranding/products",
            "listRebrandableProducts",
            "List products that can have other names and pictures",
        )
        .order_note(SETTINGS_ORDER)
        .failing("failed to retrieve rebrandable products")
        .gives::<RebrandableProductList>()
        .to(rebranding::products),
        patch(
            "/rebranding/{org_id}/enable",
            "enableRebranding",
            "Allow an organization names and pictures of its own",
        )
        .gate(Rebranding(Enable))
        .failing("failed to enable rebranding")
        .gives_null()
        .to(rebranding::enable),
        patch(
            "/rebranding/{org_id}/disable",
            "disableRebranding",
            "No longer allow an organization names and pictures of its own",
        )
        .gate(Rebranding(Disable))
        .failing("failed to disable rebranding")
        .gives_null()
        .to(rebranding::disable),
        get(
            "/rebranding/{org_id}/status",
            "getRebrandingStatus",
            "Names and pictures in force for an organization",
        )
        .failing("failed to retrieve rebranding status")
        .gives::<RebrandingStatusOutput>()
        .to(rebranding::status),
        get(
            "/rebranding/{org_id}/products",
            "listRebrandingProducts",
            "List products with names and pictures of the organization's own",
        )
        .order_note(SETTINGS_ORDER)
        .failing("failed to retrieve rebranding products")
        .gives::<RebrandingStatusOutput>()
        .to(rebranding::organization_products),
        put(
            "/rebranding/{org_id}/products/{product_id}",
            "updateRebranding",
            "Set name and pictures of a product",
        )
        .gate(Rebranding(Update))
        .failing("failed to upload rebranding assets")
        // 10 s for a turn and 30 s for the body, 15 s for the bucket, then the commit.
        .answers_within(Duration::from_secs(75))
        .may_answer(STORAGE)
        .takes_form(&[
            ("logo_light_rect", true),
            ("logo_dark_rect", true),
            ("logo_light_square", true),
            ("logo_dark_square", true),
            ("favicon", true),
            ("background_image", true),
            ("product_name", false),
        ])
        .gives_null()
        .to(rebranding::upload),
        delete(
            "/rebranding/{org_id}/products/{product_id}",
            "deleteRebrandingProduct",
            "Remove name and pictures of a product",
        )
        .gate(Rebranding(Delete))
        .failing("failed to delete rebranding product")
        .gives_null()
        .to(rebranding::delete_product),
        get(
            "/rebranding/{org_id}/products/{product_id}/{asset}",
            "getRebrandingAsset",
            "A picture of a product",
        )
        .failing("failed to retrieve rebranding asset")
        .gives_file(IMAGES)
        .may_answer(STORAGE)
        .to(rebranding::asset),
        delete(
            "/rebranding/{org_id}/products/{product_id}/{asset}",
            "deleteRebrandingAsset",
            "Remove a picture of a product",
        )
        .gate(Rebranding(Delete))
        .failing("failed to delete rebranding asset")
        .gives_null()
        .to(rebranding::delete_asset),
    ]
}
