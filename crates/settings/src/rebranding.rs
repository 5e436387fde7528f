//! Rebranding (spec: rebranding, alerts#settings).

use bailiwick_domain::rebranding::{Product, ProductType};

/// Rebranding.
#[derive(Clone, Debug)]
pub struct Rebranding {
    /// The products that can be rebranded, in the order of lists.
    pub products: Vec<Product>,
    /// Base path in the paths that systems receive; none = that of their request.
    pub asset_base_path: Option<String>,
    /// Whether callers who manage systems may change the assets of organizations within their reach.
    pub organizations_manage_assets: bool,
}

impl Rebranding {
    /// The products of spec: rebranding#products.
    pub fn built_in() -> Vec<Product> {
        let product = |id: &str, display_name: &str, product_type| Product {
            id: id.to_owned(),
            display_name: display_name.to_owned(),
            product_type,
        };
        let mut products = vec![
            product("nethvoice", "NethVoice", ProductType::Application),
            product("webtop", "NethService", ProductType::Application),
            product("ns8", "NS8", ProductType::System),
            product("nsec", "NethSecurity", ProductType::System),
        ];
        products.sort_by_key(Product::order);
        products
    }
}

impl Default for Rebranding {
    fn default() -> Rebranding {
        Rebranding {
            products: Rebranding::built_in(),
            asset_base_path: None,
            organizations_manage_assets: false,
        }
    }
}
