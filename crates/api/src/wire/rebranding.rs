//! Rebranding as management and systems see it (spec: rebranding#operations, rebranding#system-document).

use bailiwick_directory::rebranding::{Document, ProductStatus, RegisteredProduct, Status};
use bailiwick_domain::{
    Ts,
    rebranding::{Asset, ProductType},
};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A product that can be rebranded.
#[derive(Debug, Serialize, ToSchema)]
pub struct RebrandableProductOutput {
    /// Its word in paths.
    pub id: String,
    /// What people call it without rebranding.
    pub display_name: String,
    /// `application` or `system`.
    pub r#type: &'static str,
    /// Since when it is known here.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
}

impl From<RegisteredProduct> for RebrandableProductOutput {
    fn from(known: RegisteredProduct) -> RebrandableProductOutput {
        let product = known.product;
        RebrandableProductOutput {
            r#type: product.product_type.as_str(),
            id: product.id,
            display_name: product.display_name,
            created_at: known.created_at,
        }
    }
}

/// What can be rebranded.
#[derive(Debug, Serialize, ToSchema)]
pub struct RebrandableProductList {
    /// By type and display name.
    pub products: Vec<RebrandableProductOutput>,
}

/// What an organization has stored of a product.
#[derive(Debug, Serialize, ToSchema)]
pub struct RebrandedProductOutput {
    /// Its word in paths.
    pub product_id: String,
    /// What people call it without rebranding.
    pub product_display_name: String,
    /// `application` or `system`.
    pub product_type: &'static str,
    /// What the organization calls it; null = not given.
    #[schema(required = true)]
    pub product_name: Option<String>,
    /// Names of the assets there are.
    pub assets: Vec<&'static str>,
}

impl From<ProductStatus> for RebrandedProductOutput {
    fn from(status: ProductStatus) -> RebrandedProductOutput {
        RebrandedProductOutput {
            product_type: status.product.product_type.as_str(),
            product_id: status.product.id,
            product_display_name: status.product.display_name,
            product_name: status.name,
            assets: status.assets.into_iter().map(Asset::as_str).collect(),
        }
    }
}

/// The rebranding of an organization, nothing inherited.
#[derive(Debug, Serialize, ToSchema)]
pub struct RebrandingStatusOutput {
    /// Its own flag.
    pub enabled: bool,
    /// One for each product, by type and display name.
    pub products: Vec<RebrandedProductOutput>,
}

impl From<Status> for RebrandingStatusOutput {
    fn from(status: Status) -> RebrandingStatusOutput {
        let products = status.products.into_iter().map(Into::into).collect();
        RebrandingStatusOutput { enabled: status.enabled, products }
    }
}

/// A product as a system is to show it.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemRebrandedProductOutput {
    /// Its word in paths.
    pub product_id: String,
    /// What it is to be called; null = as usual.
    #[schema(required = true)]
    pub product_name: Option<String>,
    /// Paths of the assets there are, by name.
    #[schema(value_type = BTreeMap<String, String>)]
    pub assets: BTreeMap<String, String>,
}

/// What a system is to show.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemRebrandingOutput {
    /// Whether there is anything to show at all.
    pub enabled: bool,
    /// `<type>:<id>` of the organization that gives it, null when it is the system's own; only when enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub inherited_from: Option<Option<String>>,
    /// The system itself.
    pub system: Vec<SystemRebrandedProductOutput>,
    /// What runs on it.
    pub applications: Vec<SystemRebrandedProductOutput>,
}

impl SystemRebrandingOutput {
    /// Of a document; `base` stands before the paths.
    pub fn of(document: Option<Document>, base: &str) -> SystemRebrandingOutput {
        let product = |p: &ProductStatus| {
            let path =
                |asset: Asset| format!("{base}/systems/rebranding/{}/{}", p.product.id, asset.as_str());
            SystemRebrandedProductOutput {
                product_id: p.product.id.clone(),
                product_name: p.name.clone(),
                assets: p.assets.iter().map(|asset| (asset.as_str().to_owned(), path(*asset))).collect(),
            }
        };
        let of = |product_type| document.iter().flat_map(|d| d.of(product_type)).map(product).collect();
        SystemRebrandingOutput {
            enabled: document.is_some(),
            inherited_from: document.as_ref().map(|document| {
                document.inherited_from.map(|(org_type, id)| format!("{}:{id}", org_type.as_str()))
            }),
            system: of(ProductType::System),
            applications: of(ProductType::Application),
        }
    }
}
