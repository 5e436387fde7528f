//! Rebranding for management (spec: rebranding#operations), and the public answers with files (spec:
//! rebranding#serving).

use crate::{
    Uncompressed,
    envelope::Answer,
    error::{Failure, Outcome},
    extract::{Ctx, Service, Who},
    wire::rebranding::{RebrandableProductList, RebrandingStatusOutput},
};
use axum::{
    body::Body,
    extract::{FromRequestParts, RawPathParams},
    response::Response,
};
use bailiwick_directory::{
    Directory,
    rebranding::{self, MAX_NAME_BYTES, Part, Shown},
};
use bailiwick_domain::{Error, OrgId, Result, rebranding::Asset};
use bailiwick_web::{Upload, UploadFault};
use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use serde_json::Value;
use std::time::Duration;

/// Largest form, in bytes.
const FORM_BYTES: u64 = 15 * 1024 * 1024;
/// Time for the whole body.
const BODY: Duration = Duration::from_secs(30);

/// Content that a file could run stays inactive when the file is shown as a page of its own.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

/// Organization, product and asset of the path; missing parts are empty.
#[derive(Debug)]
pub struct RebrandingPath {
    organization: Option<OrgId>,
    product: String,
    asset: String,
}

impl RebrandingPath {
    pub(crate) fn asset(&self) -> (&str, &str) {
        (&self.product, &self.asset)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RebrandingPath {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<RebrandingPath, Failure> {
        // A path that is not UTF-8 names nothing.
        let params = RawPathParams::from_request_parts(parts, state).await.ok();
        let find = |key: &str| {
            let mut all = params.iter().flat_map(RawPathParams::iter);
            all.find(|(name, _)| *name == key).map(|(_, value)| value.to_owned()).unwrap_or_default()
        };
        let organization = find("org_id").parse().ok();
        Ok(RebrandingPath { organization, product: find("product_id"), asset: find("asset") })
    }
}

/// `GET /rebranding/products`.
pub async fn products(Service(directory): Service<Directory>) -> Outcome<Answer<RebrandableProductList>> {
    let products = rebranding::products(&directory).await?.into_iter().map(Into::into).collect();
    Ok(Answer::ok("rebrandable products retrieved successfully", RebrandableProductList { products }))
}

/// `PATCH /rebranding/{org_id}/enable`.
pub async fn enable(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    path: RebrandingPath,
) -> Outcome<Answer<()>> {
    rebranding::enable(&directory, &caller, &request, path.organization).await?;
    Ok(Answer::ok("rebranding enabled successfully", ()))
}

/// `PATCH /rebranding/{org_id}/disable`.
pub async fn disable(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    path: RebrandingPath,
) -> Outcome<Answer<()>> {
    rebranding::disable(&directory, &caller, &request, path.organization).await?;
    Ok(Answer::ok("rebranding disabled successfully", ()))
}

/// `GET /rebranding/{org_id}/status`.
pub async fn status(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    path: RebrandingPath,
) -> Outcome<Answer<RebrandingStatusOutput>> {
    let status = rebranding::status(&directory, &caller, path.organization).await?;
    Ok(Answer::ok("rebranding status retrieved successfully", status.into()))
}

/// `GET /rebranding/{org_id}/products`: the same data.
pub async fn organization_products(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    path: RebrandingPath,
) -> Outcome<Answer<RebrandingStatusOutput>> {
    let status = rebranding::status(&directory, &caller, path.organization).await?;
    Ok(Answer::ok("rebranding products retrieved successfully", status.into()))
}

/// `PUT /rebranding/{org_id}/products/{product_id}`.
pub async fn upload(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    path: RebrandingPath,
    upload: Upload,
) -> Outcome<Answer<()>> {
    let target = (path.organization, path.product.as_str());
    rebranding::upload(&directory, &caller, &request, target, form(upload)).await?;
    Ok(Answer::ok("rebranding assets uploaded successfully", ()))
}

async fn form(upload: Upload) -> Result<Vec<Part>> {
    // Bytes of a part beyond its limit are counted and not kept.
    let kept = |name: &str| Asset::parse(name).map_or(MAX_NAME_BYTES as u64, Asset::max_bytes);
    let parts = upload.parts(FORM_BYTES, BODY, kept).await.map_err(|fault| match fault {
        UploadFault::TooLarge(_) => {
            Error::TooLarge { message: "request body too large".into(), data: Value::Null }
        }
        UploadFault::TimedOut => Error::SlowBody,
        UploadFault::Malformed | UploadFault::Missing => Error::bad_request("invalid multipart form"),
    })?;
    let part = |part: bailiwick_web::Part| Part {
        name: part.name,
        content_type: part.content_type,
        size: part.size,
        bytes: part.bytes,
    };
    Ok(parts.into_iter().map(part).collect())
}

/// `DELETE /rebranding/{org_id}/products/{product_id}`.
pub async fn delete_product(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    path: RebrandingPath,
) -> Outcome<Answer<()>> {
    rebranding::delete_product(&directory, &caller, &request, path.organization, &path.product).await?;
    Ok(Answer::ok("rebranding product deleted successfully", ()))
}

/// `GET /rebranding/{org_id}/products/{product_id}/{asset}`.
pub async fn asset(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    path: RebrandingPath,
    headers: HeaderMap,
) -> Outcome<Response> {
    let known = known(&headers);
    file(rebranding::asset(&directory, &caller, path.organization, path.asset(), known).await?)
}

/// `DELETE /rebranding/{org_id}/products/{product_id}/{asset}`.
pub async fn delete_asset(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    path: RebrandingPath,
) -> Outcome<Answer<()>> {
    rebranding::delete_asset(&directory, &caller, &request, path.organization, path.asset()).await?;
    Ok(Answer::ok("rebranding asset deleted successfully", ()))
}

/// The version that the client has already.
pub(crate) fn known(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok())
}

/// The public answer with a file. A 304 replaces the stored headers of the earlier answer, so it has the same ones.
pub(crate) fn file(shown: Shown) -> Outcome<Response> {
    let (status, file, bytes) = match shown {
        Shown::Content(file, bytes) => (StatusCode::OK, file, Some(bytes)),
        Shown::Unchanged(file) => (StatusCode::NOT_MODIFIED, file, None),
    };
    let length = bytes.as_ref().map(|bytes| bytes.len() as u64);
    let mut response = Response::new(bytes.map_or_else(Body::empty, Body::from));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if let Some(length) = length {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media.content_type()));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    let name = format!("inline; filename=\"{}.{}\"", file.asset.as_str(), file.media.extension());
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::try_from(name).map_err(Error::internal)?);
    headers.insert(header::ETAG, HeaderValue::try_from(file.etag).map_err(Error::internal)?);
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "private, max-age=300"),
        (header::VARY, "Authorization"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-site"));
    response.extensions_mut().insert(Uncompressed);
    Ok(response)
}
