//! `PUT /rebranding/{org_id}/products/{product_id}` (spec: rebranding#operations): stores all of a form or nothing.

use super::{change, file_check, known_since, product};
use crate::{Directory, images, organizations::in_reach};
use bailiwick_domain::{AuditAction, Error, ObjectKind, OrgId, Result, rebranding::Asset};
use bailiwick_platform::{RequestContext, limits::acquire_within};
use bailiwick_policy::{Action, Caller, RebrandingChange, rebranding_gate};
use bailiwick_store::{
    Tx,
    rebranding::{self as stored, NewFile},
};
use bytes::Bytes;
use serde_json::json;
use std::{collections::HashSet, time::Duration};

/// Longest name of a product, in bytes.
pub const MAX_NAME_BYTES: usize = 100;
/// The field with the name.
const NAME: &str = "product_name";
/// How long an upload waits for a place.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    /// Media type as declared.
    pub content_type: Option<String>,
    /// Number of bytes; more than `bytes` has when the part is too large.
    pub size: u64,
    /// The bytes that were kept, from the first.
    pub bytes: Bytes,
}

/// The content of a form.
struct Form {
    files: Vec<NewFile>,
    name: Option<String>,
}

/// Stores what `form` gives once the caller has been let in and the product may be rebranded. Empty fields count as not
/// sent.
///
/// # Errors
/// In the order of the specification: `organization not found`, `rebranding product not found`, 403 `rebranding is not
/// enabled for this organization`, the errors of reading the form, the problems of its fields; 503 when too many
/// upload, 502 and 504 of the bucket.
pub async fn upload(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    (id, product_id): (Option<OrgId>, &str),
    form: impl Future<Output = Result<Vec<Part>>>,
) -> Result<()> {
    let change = RebrandingChange::Update;
    rebranding_gate(caller, change, service.settings.rebranding.organizations_manage_assets)?;
    let target = in_reach(&service.platform.db, caller, Action::Update, id).await?;
    let product_id = &product(service, product_id).ok_or(Error::NotFound(ObjectKind::RebrandingProduct))?.id;
    if !stored::is_enabled(&service.platform.db, target.id()).await? {
        return Err(not_enabled());
    }
    let permit = service.rebranding.places.clone().acquire_owned();
    let upload_permit = acquire_within(permit, LONGEST_WAIT, "too many rebranding uploads").await?;
    let parts = form.await?;
    let form = tokio::task::spawn_blocking(move || judged(parts)).await.map_err(Error::internal)??;
    known_since(service).await?;

    let mut form = form;
    let written = form.files.iter_mut().map(|file| (file.sha256.as_str(), &mut file.content)).collect();
    let staged = images::stage(service, images::Owner::Organization(target.id()), written).await?;
    match written_down(service, caller, ctx, (id, product_id), form, &staged).await {
        Ok(tx) => tx.commit().await?,
        Err(e) => {
            staged.give_up(service).await;
            return Err(e);
        }
    }
    service.objects.wake();
    drop(upload_permit);
    Ok(())
}

/// A transaction that has stored everything in the form, not committed yet.
async fn written_down(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    (id, product_id): (Option<OrgId>, &str),
    form: Form,
    staged: &images::Staged,
) -> Result<Tx> {
    let mut tx = service.platform.db.begin().await?;
    // The first decision may be outdated after the upload, so it is repeated.
    let target = change::lock_organization(service, &mut tx, caller, id, RebrandingChange::Update).await?;
    if !stored::hold_enabled(&mut tx, target.id()).await? {
        return Err(not_enabled());
    }
    let now = service.platform.now();
    let files: Vec<_> = form.files.iter().map(|file| (file.asset, file.sha256.clone())).collect();
    let stored = stored::inventory(&mut tx, target.id()).await?.take(product_id);
    let before = change::audited(product_id, &stored.assets, stored.name.as_deref());
    let replaced = stored::objects(&mut tx, &target, product_id).await?;
    let replaced = replaced.into_iter().filter(|(asset, _)| files.iter().any(|(sent, _)| sent == asset));
    let replaced: Vec<String> = replaced.map(|(_, key)| key).collect();
    for file in form.files {
        stored::put(&mut tx, &target, product_id, file, now).await?;
    }
    images::bury(service, &mut tx, &replaced).await?;
    staged.keep(&mut tx).await?;
    if let Some(name) = &form.name {
        stored::rename(&mut tx, &target, product_id, name).await?;
    }
    let after = change::audited(product_id, &files, form.name.as_deref());
    let states = (Some(before), Some(after));
    change::record(&mut tx, now, (caller, ctx), AuditAction::RebrandingUpdate, &target, states).await?;
    Ok(tx)
}

fn not_enabled() -> Error {
    Error::forbidden("rebranding is not enabled for this organization")
}

fn malformed() -> Error {
    Error::bad_request("invalid multipart form")
}

/// Checks the whole form for one kind of mistake before the next.
fn judged(parts: Vec<Part>) -> Result<Form> {
    let mut names = HashSet::new();
    let is_known = |part: &Part| part.name == NAME || Asset::parse(&part.name).is_some();
    if !parts.iter().all(|part| is_known(part) && names.insert(part.name.clone())) {
        return Err(malformed());
    }
    let (names, files): (Vec<Part>, Vec<Part>) =
        parts.into_iter().filter(|part| part.size > 0).partition(|part| part.name == NAME);
    let files: Vec<(Asset, Part)> =
        files.into_iter().filter_map(|part| Some((Asset::parse(&part.name)?, part))).collect();
    for (asset, part) in &files {
        let max_size = asset.max_bytes();
        if part.size > max_size {
            let data = json!({"field": asset.as_str(), "max_size": max_size, "actual_size": part.size});
            return Err(refused(*asset, "exceeds maximum size", data));
        }
    }
    let files = file_check::files(files)?;
    let name = names.into_iter().next().map(name).transpose()?.flatten();
    if files.is_empty() && name.is_none() {
        return Err(Error::bad_request("at least one asset or product_name is required"));
    }
    Ok(Form { files, name })
}

/// The name in a form; none when it is blank.
fn name(part: Part) -> Result<Option<String>> {
    if part.size > MAX_NAME_BYTES as u64 {
        let data = json!({"max_length": MAX_NAME_BYTES});
        return Err(Error::BadRequest { message: "product name exceeds maximum length".into(), data });
    }
    let text = std::str::from_utf8(&part.bytes).map_err(|_| malformed())?.trim();
    if text.contains('\0') {
        return Err(malformed());
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// 400 about one asset.
pub(super) fn refused(asset: Asset, what: &str, data: serde_json::Value) -> Error {
    Error::BadRequest { message: format!("{} {what}", asset.as_str()).into(), data }
}
