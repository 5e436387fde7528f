//! Organizations of all families, their trends and filters, the VAT check, promotion (spec: organizations#stats,
//! organizations#promotion, organizations#directory).

use super::PAGE_SIZE;
use crate::{
    envelope::{Answer, Cached, Gzip},
    error::Outcome,
    extract::{Ctx, Family, Params, PathId, Service, Who},
    wire::{
        organization_lists::{Directory as OrganizationDirectory, PromotedOutput, VatOutput},
        roles::OrganizationFilters,
        stats::TrendOutput,
    },
};
use bailiwick_directory::{
    Directory,
    organizations::{self, DirectoryQuery},
};
use bailiwick_domain::{Error, OrgId, OrgType, PageRequest, SortDirection};
use std::str::FromStr;

/// Rows for older clients, which say nothing and expect all there are.
const WHOLE_PAGE: u64 = 1000;

/// `GET /{p}/trend`.
pub async fn trend(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Family(family): Family,
    gzip: Gzip,
    params: Params,
) -> Outcome<Cached> {
    let write = |trend| {
        let output = TrendOutput::from(trend).with_older_spelling();
        Answer::ok(format!("{} trend retrieved successfully", family.plural()), output).write()
    };
    Ok(Cached(organizations::trend(&directory, &caller, family, params.one("period"), write).await?, gzip))
}

/// `GET /filters/{p}`.
pub async fn filters(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Family(family): Family,
    gzip: Gzip,
) -> Outcome<Cached> {
    let write = |creators| {
        let message = format!("{} filters retrieved successfully", family.as_str());
        Answer::ok(message, OrganizationFilters::from(creators)).write()
    };
    Ok(Cached(organizations::choices(&directory, &caller, family, write).await?, gzip))
}

/// `GET /organizations`.
pub async fn directory(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    gzip: Gzip,
    params: Params,
) -> Outcome<Cached> {
    let write = |page| {
        let list = OrganizationDirectory::of(page, params.one("sort_by"), params.one("sort_direction"));
        Answer::ok("organizations retrieved successfully", list).write()
    };
    Ok(Cached(organizations::directory(&directory, &caller, query(&params), write).await?, gzip))
}

fn query(params: &Params) -> DirectoryQuery {
    let text = |key| params.one(key).map(str::to_owned);
    let says_nothing = params.one("page").is_none() && params.one("page_size").is_none();
    DirectoryQuery {
        page: if says_nothing {
            PageRequest { page: 1, page_size: WHOLE_PAGE }
        } else {
            params.page(PAGE_SIZE)
        },
        search: params.one("search").unwrap_or_default().to_owned(),
        name: text("name"),
        description: text("description"),
        types: params.many("type"),
        created_by: text("created_by"),
        sort_by: params.one("sort_by").unwrap_or_default().to_owned(),
        direction: SortDirection::parse(params.one("sort_direction").unwrap_or_default()),
    }
}

/// The name of a family in a path.
#[derive(Clone, Copy, Debug)]
pub struct EntityType(OrgType);

impl FromStr for EntityType {
    type Err = ();
    fn from_str(word: &str) -> Result<EntityType, ()> {
        OrgType::FAMILIES.into_iter().find(|family| family.plural() == word).map(EntityType).ok_or(())
    }
}

/// `GET /validators/vat/{entity_type}`.
pub async fn validate_vat(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    PathId(family): PathId<EntityType>,
    params: Params,
) -> Outcome<Answer<VatOutput>> {
    let unknown = || Error::bad_request("entity_type must be one of: distributors, resellers, customers");
    let EntityType(family) = family.ok_or_else(unknown)?;
    let missing = || Error::bad_request("vat query parameter is required");
    let vat = params.one("vat").filter(|vat| !vat.is_empty()).ok_or_else(missing)?;
    let except: Option<OrgId> = params.one("exclude_id").and_then(|id| id.parse().ok());
    let exists = organizations::vat_exists(&directory, &caller, family, vat, except).await?;
    Ok(Answer::ok("VAT validation completed", VatOutput { exists }))
}

/// `PATCH /resellers/{id}/promote`.
pub async fn promote(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<OrgId>,
) -> Outcome<Answer<PromotedOutput>> {
    let done = organizations::promote(&directory, &caller, &request, id).await?;
    Ok(Answer::ok("reseller promoted to distributor successfully", done.into()))
}
