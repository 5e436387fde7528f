//! Exports: the query of a list, answered with a file (spec: users#export, organizations#stats, systems#export).

use super::{organizations, systems, users};
use crate::{
    Uncompressed,
    error::Outcome,
    extract::{Family, Params, Service, Who},
};
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bailiwick_directory::{
    Directory,
    exports::{self, Asked, File},
};
use bailiwick_domain::{Error, OrgType, SortDirection};
use bailiwick_fleet::Fleet;
use http::{HeaderValue, header};

/// Filters by the names of their keys.
struct Keys {
    /// One value, the first; blank = no filter.
    texts: &'static [&'static str],
    /// Each value counts, whatever it is.
    lists: &'static [&'static str],
    /// Whether naming an organization can include those below it.
    hierarchy: bool,
}

const DISTRIBUTORS: Keys = Keys { texts: &["search"], lists: &["status", "created_by"], hierarchy: false };
const BELOW: Keys =
    Keys { texts: &["search"], lists: &["status", "created_by", "organization_id"], hierarchy: true };
const USERS: Keys = Keys {
    texts: &["search"],
    lists: &["status", "organization_id", "role", "created_by"],
    hierarchy: false,
};
const SYSTEMS: Keys = Keys {
    texts: &["search", "name", "system_key"],
    lists: &["type", "version", "status", "created_by", "organization_id"],
    hierarchy: true,
};

fn asked(params: &Params, keys: &Keys) -> Asked {
    let texts = keys.texts.iter().filter_map(|key| Some((*key, params.text(key)?.to_owned())));
    let lists = keys.lists.iter().flat_map(|key| params.many(key).into_iter().map(|value| (*key, value)));
    let mut filters: Vec<_> = texts.chain(lists).map(|(key, value)| (key.to_owned(), value)).collect();
    let hierarchy = "include_hierarchy";
    if keys.hierarchy && params.is_true(hierarchy) {
        filters.push((hierarchy.to_owned(), "true".to_owned()));
    }
    Asked { format: params.one("format").unwrap_or_default().to_owned(), filters }
}

/// Descending unless the client says otherwise; lists ascend.
fn direction(params: &Params) -> SortDirection {
    let sent = params.one("sort_direction");
    sent.and_then(|word| SortDirection::WORDS.parse(word)).unwrap_or(SortDirection::Desc)
}

/// `GET /{p}/export`.
pub async fn organizations(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Family(family): Family,
    params: Params,
) -> Outcome<Response> {
    let mut query = organizations::query(&params);
    query.direction = direction(&params);
    let keys = if family == OrgType::Distributor { &DISTRIBUTORS } else { &BELOW };
    let file = exports::organizations(&directory, &caller, family, query, asked(&params, keys)).await?;
    download(file)
}

/// `GET /users/export`.
pub async fn users(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Response> {
    let mut query = users::query(&params);
    query.direction = direction(&params);
    download(exports::users(&directory, &caller, query, asked(&params, &USERS)).await?)
}

/// `GET /systems/export`.
pub async fn systems(Service(fleet): Service<Fleet>, Who(caller): Who, params: Params) -> Outcome<Response> {
    let mut query = systems::query(&params);
    query.order = query.order.map(|(by, _)| (by, direction(&params)));
    download(bailiwick_fleet::systems::export(&fleet, &caller, query, asked(&params, &SYSTEMS)).await?)
}

/// The uncompressed file: compression would remove `Content-Length`, which these answers promise.
fn download(file: File) -> Outcome<Response> {
    let length = HeaderValue::from(file.bytes.len());
    let disposition = format!("attachment; filename=\"{}\"", file.name);
    let disposition = HeaderValue::from_str(&disposition).map_err(Error::internal)?;
    let mut response = Body::from(file.bytes).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.format.media_type()));
    headers.insert(header::CONTENT_LENGTH, length);
    headers.insert(header::CONTENT_DISPOSITION, disposition);
    response.extensions_mut().insert(Uncompressed);
    Ok(response)
}
