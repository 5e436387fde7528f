//! Rebranding for management (spec: rebranding#operations).

use crate::{
    envelope::Answer,
    error::{Failure, Outcome},
    extract::{Ctx, Service, Who},
    wire::rebranding::{RebrandableProductList, RebrandingStatusOutput},
};
use axum::{
    extract::{FromRequestParts, RawPathParams},
    response::Response,
};
use bailiwick_directory::{Directory, rebranding};
use bailiwick_domain::OrgId;
use bailiwick_web::{Upload, known_version, rebranding_file, rebranding_form};
use http::{HeaderMap, request::Parts};

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

/// `GET /rebranding/{org_id}/products`: the data of [`status`], with another message.
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
    rebranding::upload(&directory, &caller, &request, target, rebranding_form(upload)).await?;
    Ok(Answer::ok("rebranding assets uploaded successfully", ()))
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
    let known = known_version(&headers);
    Ok(rebranding_file(
        rebranding::asset(&directory, &caller, path.organization, path.asset(), known).await?,
    )?)
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
