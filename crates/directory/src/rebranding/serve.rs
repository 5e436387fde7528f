//! Serves rebranding: files to management and to systems, and the document of a system (spec:
//! rebranding#system-document, rebranding#serving).

use super::{ProductStatus, change::parse_asset};
use crate::{Directory, avatars::is_named, images, organizations::in_reach};
use bailiwick_domain::{
    Error, ObjectKind, OrgId, OrgType, Result,
    rebranding::{Asset, Media, ProductType},
};
use bailiwick_identity::credentials::SystemIdentity;
use bailiwick_policy::{Action, Caller};
use bailiwick_store::rebranding::{self as stored, AssetRef};
use bytes::Bytes;

/// Hexadecimal digits of the digest that make an entity tag.
const TAG_DIGITS: usize = 32;
/// How often a file is read again if it was replaced meanwhile.
const TRIES: usize = 4;

/// A file without its bytes.
#[derive(Clone, Debug)]
pub struct File {
    /// Which asset it is.
    pub asset: Asset,
    /// The type found in its bytes when it was stored.
    pub media: Media,
    /// Entity tag, quoted.
    pub etag: String,
}

/// A file as a client receives it.
#[derive(Clone, Debug)]
pub enum ServedFile {
    /// All of it.
    Content(File, Bytes),
    /// The client has it already.
    Unchanged(File),
}

/// A file of an organization within the caller's reach, whether rebranding is on or off.
///
/// # Errors
/// `organization not found`; 400 `invalid asset name`; `asset not found`.
pub async fn asset(
    service: &Directory,
    caller: &Caller,
    id: Option<OrgId>,
    (product, asset): (&str, &str),
    if_none_match: Option<&str>,
) -> Result<ServedFile> {
    let organization = in_reach(&service.platform.db, caller, Action::Read, id).await?.id();
    shown(service, AssetRef { organization, product, asset: parse_asset(asset)? }, if_none_match).await
}

/// The file that a system shows.
///
/// # Errors
/// 400 `invalid asset name`; `rebranding not enabled`; `asset not found`.
pub async fn asset_for_system(
    service: &Directory,
    system: &SystemIdentity,
    (product, asset): (&str, &str),
    if_none_match: Option<&str>,
) -> Result<ServedFile> {
    let asset = parse_asset(asset)?;
    let nearest = stored::nearest_to(&service.platform.db, system.organization.id).await?;
    let (organization, _) = nearest.ok_or(Error::NotFound(ObjectKind::Rebranding))?;
    shown(service, AssetRef { organization, product, asset }, if_none_match).await
}

async fn shown(
    service: &Directory,
    asset_ref: AssetRef<'_>,
    if_none_match: Option<&str>,
) -> Result<ServedFile> {
    let missing = || Error::NotFound(ObjectKind::Asset);
    // A product that is no longer configured is not found.
    super::product(service, asset_ref.product).ok_or_else(missing)?;
    for _ in 0..TRIES {
        let stored::File { content_type, sha256, object } =
            stored::file(&service.platform.db, asset_ref).await?.ok_or_else(missing)?;
        let media = Media::parse(&content_type)
            .ok_or_else(|| Error::internal(format_args!("a file of type \"{content_type}\"")))?;
        let tag = sha256.get(..TAG_DIGITS).unwrap_or(&sha256);
        let file = File { asset: asset_ref.asset, media, etag: format!("\"{tag}\"") };
        if if_none_match.is_some_and(|if_none_match| is_named(if_none_match, &file.etag)) {
            return Ok(ServedFile::Unchanged(file));
        }
        let read = match &object {
            Some(object) => {
                let again = async {
                    Ok(stored::file(&service.platform.db, asset_ref).await?.and_then(|file| file.object))
                };
                images::of_object(service, object, &sha256, missing(), again).await
            }
            None => {
                let read = async {
                    let bytes = stored::bytes(&service.platform.db, asset_ref, &sha256).await?;
                    bytes.map(Bytes::from).ok_or_else(missing)
                };
                service.images.get(&sha256, read).await
            }
        };
        match read {
            Ok(bytes) => return Ok(ServedFile::Content(file, bytes)),
            // Replaced, moved or removed since.
            Err(Error::NotFound(_)) => {}
            Err(e) => return Err(e),
        }
    }
    Err(missing())
}

/// The rebranding that a system shows.
#[derive(Clone, Debug)]
pub struct Document {
    /// The organization that all values come from, unless it is the system's own.
    pub inherited_from: Option<(OrgType, OrgId)>,
    /// Products with stored values, in the order of lists.
    pub products: Vec<ProductStatus>,
}

impl Document {
    /// Its products of one type.
    pub fn of(&self, product_type: ProductType) -> impl Iterator<Item = &ProductStatus> {
        self.products.iter().filter(move |p| p.product.product_type == product_type)
    }
}

/// The values that the nearest organization with rebranding gives the system; none when there is no such organization.
pub async fn document(service: &Directory, system: &SystemIdentity) -> Result<Option<Document>> {
    let own = system.organization.id;
    let Some((id, org_type)) = stored::nearest_to(&service.platform.db, own).await? else { return Ok(None) };
    let mut inventory = stored::inventory(&service.platform.db, id).await?;
    let products = service.settings.rebranding.products.iter().filter_map(|product| {
        let stored = inventory.take(&product.id);
        let assets: Vec<Asset> = stored.assets.into_iter().map(|(asset, _)| asset).collect();
        let is_empty = assets.is_empty() && stored.name.is_none();
        (!is_empty).then(|| ProductStatus { product: product.clone(), name: stored.name, assets })
    });
    Ok(Some(Document { inherited_from: (id != own).then_some((org_type, id)), products: products.collect() }))
}
