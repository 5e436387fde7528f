//! Rebranding (spec: rebranding): an organization's own names and pictures for the products its systems run, shown by
//! its systems and by those of the organizations below it.
//!
//! Files are stored in their rows, so that an upload is one transaction, every process sees the same, and a destroyed
//! organization takes them along; or in a bucket ([`crate::images`]).

mod change;
mod css;
mod file_check;
mod serve;
mod svg;
mod svg_size;
mod upload;

pub use change::{delete_asset, delete_product, disable, enable};
pub use serve::{Document, File, ServedFile, asset, asset_for_system, document};
pub use upload::{MAX_NAME_BYTES, Part, upload};

use crate::{Directory, organizations::in_reach};
use bailiwick_domain::{
    OrgId, Result, Ts,
    org::OrgRef,
    rebranding::{Asset, Product},
};
use bailiwick_policy::{Action, Caller, hierarchy};
use bailiwick_store::rebranding as stored;
use std::{collections::HashMap, sync::Arc};
use tokio::sync::{OnceCell, Semaphore};

/// Uploads read and checked at once: each may hold as many bytes as a form may have.
const UPLOADS: usize = 6;

/// The state the use cases keep in memory.
#[derive(Debug)]
pub struct Rebranding {
    /// Since when each configured product has been known.
    known_since: OnceCell<HashMap<String, Ts>>,
    places: Arc<Semaphore>,
}

impl Default for Rebranding {
    fn default() -> Rebranding {
        Rebranding { known_since: OnceCell::new(), places: Arc::new(Semaphore::new(UPLOADS)) }
    }
}

impl Rebranding {
    /// Takes all places, as the same number of slow uploads would.
    #[doc(hidden)]
    pub fn occupy(&self) -> Vec<tokio::sync::OwnedSemaphorePermit> {
        std::iter::from_fn(|| self.places.clone().try_acquire_owned().ok()).collect()
    }
}

/// A product, and since when it has been known.
#[derive(Clone, Debug)]
pub struct RegisteredProduct {
    pub product: Product,
    /// Since when.
    pub created_at: Ts,
}

/// The products that can be rebranded, by type and display name.
pub async fn products(service: &Directory) -> Result<Vec<RegisteredProduct>> {
    let known_since = known_since(service).await?;
    let started_at = service.platform.started_at;
    let since = |product: &Product| known_since.get(&product.id).copied().unwrap_or(started_at);
    let products = service.settings.rebranding.products.iter();
    Ok(products
        .map(|product| RegisteredProduct { created_at: since(product), product: product.clone() })
        .collect())
}

/// Stores the configured products once for each process, so that files can refer to them.
async fn known_since(service: &Directory) -> Result<&HashMap<String, Ts>> {
    let register = async || {
        let mut tx = service.platform.db.begin().await?;
        stored::register(&mut tx, &service.settings.rebranding.products, service.platform.now()).await?;
        let known_since = stored::known_since(&mut tx).await?;
        tx.commit().await?;
        Ok(known_since.into_iter().collect())
    };
    service.rebranding.known_since.get_or_try_init(register).await
}

/// The stored values of the organization itself; nothing is inherited here.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its own flag.
    pub enabled: bool,
    /// One for each product.
    pub products: Vec<ProductStatus>,
}

/// The stored values of one product.
#[derive(Clone, Debug)]
pub struct ProductStatus {
    pub product: Product,
    /// The organization's name for the product.
    pub name: Option<String>,
    /// The assets there are.
    pub assets: Vec<Asset>,
}

/// Of an organization within the caller's reach. `id`: none = malformed.
///
/// # Errors
/// `organization not found`.
pub async fn status(service: &Directory, caller: &Caller, id: Option<OrgId>) -> Result<Status> {
    let id = in_reach(&service.platform.db, caller, Action::Read, id).await?.id();
    let enabled = stored::is_enabled(&service.platform.db, id).await?;
    let mut inventory = stored::inventory(&service.platform.db, id).await?;
    let products = service.settings.rebranding.products.iter();
    let products = products.map(|product| {
        let stored = inventory.take(&product.id);
        let assets = stored.assets.into_iter().map(|(asset, _)| asset).collect();
        ProductStatus { product: product.clone(), name: stored.name, assets }
    });
    Ok(Status { enabled, products: products.collect() })
}

/// The first `most` organizations within the caller's reach that have rebranding themselves, by name.
pub async fn enabled(service: &Directory, caller: &Caller, most: u64) -> Result<Vec<OrgRef>> {
    Ok(stored::enabled(&service.platform.db, &hierarchy(caller), most).await?)
}

/// The configured product of this id.
fn product<'a>(service: &'a Directory, id: &str) -> Option<&'a Product> {
    service.settings.rebranding.products.iter().find(|product| product.id == id)
}
