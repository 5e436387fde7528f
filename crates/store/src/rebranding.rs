//! Rebranding (spec: rebranding): the organizations with rebranding, and the files stored for each product. Everything
//! is removed with its organization.

use crate::{
    Db, StoreError, Tx,
    images::{Content, Object},
    scope::push_scope,
    sql::{On, Q},
    time::TsCodec,
    tree::parse_type,
};
use bailiwick_domain::{
    OrgId, OrgType, Ts,
    org::OrgRef,
    rebranding::{Asset, Product},
};
use bailiwick_policy::{Granted, Scope};
use std::collections::HashMap;
use uuid::Uuid;

/// The nearest organization with rebranding on the way up from an organization: a column of a SELECT, given the
/// expressions of its id, `p3` and `p2` (docs/tree.md). Three lookups in an index of few rows.
macro_rules! nearest {
    ($id:literal, $p3:literal, $p2:literal) => {
        concat!(
            "COALESCE((SELECT r.organization_id FROM rebranding_enabled r WHERE r.organization_id = ",
            $id,
            "), (SELECT r.organization_id FROM rebranding_enabled r WHERE r.organization_id = ",
            $p3,
            "), (SELECT r.organization_id FROM rebranding_enabled r WHERE r.organization_id = ",
            $p2,
            "))"
        )
    };
}
pub(crate) use nearest;

const REGISTER: &str = "INSERT INTO rebrandable_products (id, display_name, type, created_at) VALUES (?, ?, ?, ?) \
     ON CONFLICT (id) DO UPDATE SET display_name = excluded.display_name, type = excluded.type";
const KNOWN: &str = "SELECT id, created_at FROM rebrandable_products ORDER BY id";
const NEAREST: &str = concat!(
    "SELECT e.id, e.type FROM organizations o JOIN organizations e ON e.id = ",
    nearest!("o.id", "o.p3", "o.p2"),
    " WHERE o.id = ?"
);
const IS_ENABLED: &str = "SELECT organization_id FROM rebranding_enabled WHERE organization_id = ?";
const HOLD_ENABLED: &str =
    "SELECT organization_id FROM rebranding_enabled WHERE organization_id = ? [[FOR SHARE||]]";
const ENABLE: &str = "INSERT INTO rebranding_enabled (organization_id, enabled_at) VALUES (?, ?) \
     ON CONFLICT (organization_id) DO UPDATE SET enabled_at = excluded.enabled_at";
const DISABLE: &str = "DELETE FROM rebranding_enabled WHERE organization_id = ?";
const ASSETS: &str = "SELECT product_id, asset, sha256 FROM rebranding_assets WHERE organization_id = ?";
const NAMES: &str = "SELECT product_id, product_name FROM rebranding_product_names WHERE organization_id = ?";
const FILE: &str = "SELECT content_type, sha256, object_key, object_size FROM rebranding_assets \
     WHERE organization_id = ? AND product_id = ? AND asset = ?";
const BYTES: &str = "SELECT bytes FROM rebranding_assets \
     WHERE organization_id = ? AND product_id = ? AND asset = ? AND sha256 = ? AND object_key IS NULL";
const OBJECTS: &str = "SELECT asset, object_key FROM rebranding_assets \
     WHERE organization_id = ? AND product_id = ? [[FOR UPDATE||]]";
const PUT: &str = "INSERT INTO rebranding_assets \
     (organization_id, product_id, asset, content_type, sha256, created_at, updated_at, bytes, object_key, object_size) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (organization_id, product_id, asset) DO UPDATE SET \
     content_type = excluded.content_type, sha256 = excluded.sha256, updated_at = excluded.updated_at, \
     bytes = excluded.bytes, object_key = excluded.object_key, object_size = excluded.object_size";
const RENAME: &str = "INSERT INTO rebranding_product_names (organization_id, product_id, product_name) VALUES (?, ?, ?) \
     ON CONFLICT (organization_id, product_id) DO UPDATE SET product_name = excluded.product_name";
const REMOVE: &str = "DELETE FROM rebranding_assets WHERE organization_id = ? AND product_id = ? AND asset = ? RETURNING sha256, object_key";
const REMOVE_ALL: &str = "DELETE FROM rebranding_assets WHERE organization_id = ? AND product_id = ? RETURNING asset, sha256, object_key";
const REMOVE_NAME: &str = "DELETE FROM rebranding_product_names WHERE organization_id = ? AND product_id = ? RETURNING product_name";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    REGISTER,
    KNOWN,
    NEAREST,
    IS_ENABLED,
    HOLD_ENABLED,
    ENABLE,
    DISABLE,
    ASSETS,
    NAMES,
    FILE,
    BYTES,
    OBJECTS,
    PUT,
    RENAME,
    REMOVE,
    REMOVE_ALL,
    REMOVE_NAME
];

/// Registers the configured products; registered ones keep their time.
pub async fn register(tx: &mut Tx, products: &[Product], at: Ts) -> Result<(), StoreError> {
    for product in products {
        Q::new(REGISTER)
            .bind(&product.id)
            .bind(&product.display_name)
            .bind(product.product_type.as_str())
            .bind(at)
            .run(tx)
            .await?;
    }
    Ok(())
}

/// Since when products are known, by id.
pub async fn known_since(on: impl Into<On<'_>>) -> Result<Vec<(String, Ts)>, StoreError> {
    let rows: Vec<(String, TsCodec)> = Q::new(KNOWN).all(on).await?;
    Ok(rows.into_iter().map(|(id, at)| (id, at.0)).collect())
}

/// The nearest organization with rebranding, this one or above, and its type.
pub async fn nearest_to(
    on: impl Into<On<'_>>,
    organization: OrgId,
) -> Result<Option<(OrgId, OrgType)>, StoreError> {
    let row: Option<(Uuid, String)> = Q::new(NEAREST).bind(organization).optional(on).await?;
    row.map(|(id, word)| Ok((OrgId(id), parse_type(&word)?))).transpose()
}

/// The first `most` organizations inside the scope that have rebranding themselves, by name. Deleted ones are left out.
pub async fn enabled(db: &Db, scope: &Scope, most: u64) -> Result<Vec<OrgRef>, StoreError> {
    let mut q = Q::new("SELECT o.id, o.type, o.name FROM rebranding_enabled r");
    // SQLite may know nothing of the few that have rebranding, and would read all organizations first.
    q.push(if *scope == Scope::Everything { " [[JOIN||CROSS JOIN]]" } else { " JOIN" });
    q.push(" organizations o ON o.id = r.organization_id WHERE o.eff_deleted_at IS NULL");
    push_scope(&mut q, "o", "id", scope);
    q.push(" ORDER BY o.name_key, o.id LIMIT ?").arg(most);
    let rows: Vec<(Uuid, String, String)> = q.all(db).await?;
    rows.into_iter()
        .map(|(id, word, name)| Ok(OrgRef { id: OrgId(id), name, org_type: parse_type(&word)? }))
        .collect()
}

/// Whether the organization itself has rebranding.
pub async fn is_enabled(on: impl Into<On<'_>>, organization: OrgId) -> Result<bool, StoreError> {
    let row: Option<(Uuid,)> = Q::new(IS_ENABLED).bind(organization).optional(on).await?;
    Ok(row.is_some())
}

/// Whether the organization itself has rebranding, locked until the transaction ends.
pub async fn hold_enabled(tx: &mut Tx, organization: OrgId) -> Result<bool, StoreError> {
    let row: Option<(Uuid,)> = Q::new(HOLD_ENABLED).bind(organization).optional(tx).await?;
    Ok(row.is_some())
}

/// Enables rebranding; calling it again is harmless.
pub async fn enable(tx: &mut Tx, target: &Granted<OrgId>, at: Ts) -> Result<(), StoreError> {
    tx.people_changed();
    Q::new(ENABLE).bind(target.id()).bind(at).run(tx).await?;
    Ok(())
}

/// Disables rebranding; stored files stay.
pub async fn disable(tx: &mut Tx, target: &Granted<OrgId>) -> Result<(), StoreError> {
    tx.people_changed();
    Q::new(DISABLE).bind(target.id()).run(tx).await?;
    Ok(())
}

/// The stored rebranding of one product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Assets with the SHA-256 (hex) of their bytes, in their order.
    pub assets: Vec<(Asset, String)>,
    /// The organization's name for the product.
    pub name: Option<String>,
}

/// The stored rebranding of an organization, by product. Its size is limited by the numbers of products and assets.
#[derive(Clone, Debug, Default)]
pub struct Inventory(HashMap<String, Stored>);

impl Inventory {
    /// Of one product.
    pub fn take(&mut self, product: &str) -> Stored {
        self.0.remove(product).unwrap_or_default()
    }
}

fn asset(name: &str) -> Result<Asset, StoreError> {
    Asset::parse(name).ok_or_else(|| StoreError::Corrupt(format!("rebranding asset \"{name}\"")))
}

/// All of an organization.
pub async fn inventory(on: impl Into<On<'_>>, organization: OrgId) -> Result<Inventory, StoreError> {
    let mut on = on.into();
    let mut inventory = Inventory::default();
    let assets: Vec<(String, String, String)> = Q::new(ASSETS).bind(organization).all(on.reborrow()).await?;
    for (product, name, sha256) in assets {
        inventory.0.entry(product).or_default().assets.push((asset(&name)?, sha256));
    }
    let names: Vec<(String, String)> = Q::new(NAMES).bind(organization).all(on).await?;
    for (product, name) in names {
        inventory.0.entry(product).or_default().name = Some(name);
    }
    for stored in inventory.0.values_mut() {
        stored.assets.sort();
    }
    Ok(inventory)
}

/// One asset of an organization.
#[derive(Clone, Copy, Debug)]
pub struct AssetRef<'a> {
    pub organization: OrgId,
    /// Of which product.
    pub product: &'a str,
    /// Which.
    pub asset: Asset,
}

/// The metadata of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Media type.
    pub content_type: String,
    /// SHA-256 (hex) of its bytes.
    pub sha256: String,
    /// Where they are; none = in the row.
    pub object: Option<Object>,
}

type FileRow = (String, String, Option<String>, Option<i64>);

/// The metadata of an asset, without its bytes.
pub async fn file(on: impl Into<On<'_>>, asset_ref: AssetRef<'_>) -> Result<Option<File>, StoreError> {
    let AssetRef { organization, product, asset } = asset_ref;
    let q = Q::new(FILE).bind(organization).bind(product).bind(asset.as_str());
    let row: Option<FileRow> = q.optional(on).await?;
    Ok(row.map(|(content_type, sha256, key, size)| File {
        content_type,
        sha256,
        object: Object::from_row(key, size),
    }))
}

/// The bytes of an asset, if its row still has those with this SHA-256.
pub async fn bytes(
    on: impl Into<On<'_>>,
    asset_ref: AssetRef<'_>,
    sha256: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    let AssetRef { organization, product, asset } = asset_ref;
    let q = Q::new(BYTES).bind(organization).bind(product).bind(asset.as_str()).bind(sha256);
    let row: Option<(Vec<u8>,)> = q.optional(on).await?;
    Ok(row.map(|(bytes,)| bytes))
}

/// A file to be stored.
#[derive(Clone, Debug)]
pub struct NewFile {
    /// As which asset.
    pub asset: Asset,
    /// Media type its bytes show.
    pub content_type: &'static str,
    /// SHA-256 of the bytes, hex.
    pub sha256: String,
    /// The bytes, or where they are.
    pub content: Content,
}

/// The keys of the objects with files of a product; all its rows are locked until the transaction ends.
pub async fn objects(
    tx: &mut Tx,
    target: &Granted<OrgId>,
    product: &str,
) -> Result<Vec<(Asset, String)>, StoreError> {
    let rows: Vec<(String, Option<String>)> = Q::new(OBJECTS).bind(target.id()).bind(product).all(tx).await?;
    let rows = rows.into_iter().filter_map(|(name, key)| Some((name, key?)));
    rows.map(|(name, key)| Ok((asset(&name)?, key))).collect()
}

/// Stores a file in place of the previous one. The caller must bury the previous one's object ([`objects`]).
pub async fn put(
    tx: &mut Tx,
    target: &Granted<OrgId>,
    product: &str,
    file: NewFile,
    at: Ts,
) -> Result<(), StoreError> {
    let (bytes, key, size) = file.content.into_columns();
    Q::new(PUT)
        .bind(target.id())
        .bind(product)
        .bind(file.asset.as_str())
        .bind(file.content_type)
        .bind(file.sha256)
        .bind(at)
        .bind(at)
        .bind(bytes)
        .bind(key)
        .bind(size)
        .run(tx)
        .await?;
    Ok(())
}

/// Stores the organization's name for the product.
pub async fn rename(
    tx: &mut Tx,
    target: &Granted<OrgId>,
    product: &str,
    name: &str,
) -> Result<(), StoreError> {
    Q::new(RENAME).bind(target.id()).bind(product).bind(name).run(tx).await?;
    Ok(())
}

/// Removes an asset. Returns its SHA-256, none when there was no asset, and the key of its object.
pub async fn remove(
    tx: &mut Tx,
    target: &Granted<OrgId>,
    product: &str,
    asset: Asset,
) -> Result<Option<(String, Option<String>)>, StoreError> {
    Q::new(REMOVE).bind(target.id()).bind(product).bind(asset.as_str()).optional(tx).await
}

/// Removes the stored rebranding of a product. Returns it, and the keys of its objects.
pub async fn remove_all(
    tx: &mut Tx,
    target: &Granted<OrgId>,
    product: &str,
) -> Result<(Stored, Vec<String>), StoreError> {
    let rows: Vec<(String, String, Option<String>)> =
        Q::new(REMOVE_ALL).bind(target.id()).bind(product).all(&mut *tx).await?;
    let name: Option<(String,)> =
        Q::new(REMOVE_NAME).bind(target.id()).bind(product).optional(&mut *tx).await?;
    let (mut assets, mut keys) = (Vec::new(), Vec::new());
    for (name, sha256, key) in rows {
        assets.push((asset(&name)?, sha256));
        keys.extend(key);
    }
    assets.sort();
    Ok((Stored { assets, name: name.map(|(name,)| name) }, keys))
}
