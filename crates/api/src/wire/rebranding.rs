//! Rebranding as management and systems see it (spec: rebranding#operations, rebranding#system-document).

use bailiwick_directory::rebranding::{Document, ProductStatus, RegisteredProduct, Status};
use bailiwick_domain::{
    Ts,
    rebranding::{Asset, ProductType},
};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A product that organizations can rebrand.
#[derive(Debug, Serialize, ToSchema)]
pub struct RebrandableProductOutput {
    /// Id of the product in paths, such as `ns8`.
    pub id: String,
    /// Name of the product without rebranding.
    pub display_name: String,
    /// Kind of product: `application` or `system`.
    #[schema(extensions(("x-enum" = json!(ProductType::ALL.map(ProductType::as_str)))))]
    pub r#type: &'static str,
    /// When the service first knew the product.
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

/// The products that organizations can rebrand.
#[derive(Debug, Serialize, ToSchema)]
pub struct RebrandableProductList {
    /// The products, by type, then by display name.
    pub products: Vec<RebrandableProductOutput>,
}

/// What an organization has stored for a product.
#[derive(Debug, Serialize, ToSchema)]
pub struct RebrandedProductOutput {
    /// Id of the product in paths, such as `ns8`.
    pub product_id: String,
    /// Name of the product without rebranding.
    pub product_display_name: String,
    /// Kind of product: `application` or `system`.
    #[schema(extensions(("x-enum" = json!(ProductType::ALL.map(ProductType::as_str)))))]
    pub product_type: &'static str,
    /// The organization's own name for the product; null when there is none.
    #[schema(required = true)]
    pub product_name: Option<String>,
    /// Names of the pictures that are stored, such as `favicon`.
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

/// The rebranding of an organization, without what it inherits.
#[derive(Debug, Serialize, ToSchema)]
pub struct RebrandingStatusOutput {
    /// Whether rebranding is enabled for the organization itself.
    pub enabled: bool,
    /// One entry for each product, by type, then by display name.
    pub products: Vec<RebrandedProductOutput>,
}

impl From<Status> for RebrandingStatusOutput {
    fn from(status: Status) -> RebrandingStatusOutput {
        let products = status.products.into_iter().map(Into::into).collect();
        RebrandingStatusOutput { enabled: status.enabled, products }
    }
}

/// How a system is to show a product.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemRebrandedProductOutput {
    /// Id of the product in paths, such as `ns8`.
    pub product_id: String,
    /// Name to show; null means the product's own.
    #[schema(required = true)]
    pub product_name: Option<String>,
    /// Paths of the pictures that there are, by name.
    #[schema(value_type = BTreeMap<String, String>)]
    pub assets: BTreeMap<String, String>,
}

/// The names and pictures that a system is to show.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemRebrandingOutput {
    /// Whether rebranding is enabled for the system's organization or one above it.
    pub enabled: bool,
    /// Organization above that gives the rebranding, as `<type>:<id>`; null when it is the system's own organization.
    /// Absent unless enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub inherited_from: Option<Option<String>>,
    /// What to show for the system itself.
    pub system: Vec<SystemRebrandedProductOutput>,
    /// What to show for the applications on the system.
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
