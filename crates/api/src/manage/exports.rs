//! Exports: the query of a list, answered with a file (spec: users#export, organizations#stats, systems#export).

use super::{organizations, systems::PAGE_SIZE};
use crate::{
    error::Outcome,
    extract::{Family, Params, Service, Who},
};
use axum::response::Response;
use bailiwick_directory::{Directory, exports};
use bailiwick_domain::OrgType;
use bailiwick_fleet::Fleet;
use bailiwick_web::{Keys, SYSTEMS, USERS, asked, download, export_direction, system_query, user_query};

const DISTRIBUTORS: Keys = Keys { texts: &["search"], lists: &["status", "created_by"], hierarchy: false };
const BELOW: Keys =
    Keys { texts: &["search"], lists: &["status", "created_by", "organization_id"], hierarchy: true };

/// `GET /{p}/export`.
pub async fn organizations(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Family(family): Family,
    params: Params,
) -> Outcome<Response> {
    let mut query = organizations::query(&params);
    query.direction = export_direction(&params);
    let keys = if family == OrgType::Distributor { &DISTRIBUTORS } else { &BELOW };
    let file = exports::organizations(&directory, &caller, family, query, asked(&params, keys)).await?;
    Ok(download(file)?)
}

/// `GET /users/export`.
pub async fn users(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Response> {
    let mut query = user_query(&params, PAGE_SIZE);
    query.direction = export_direction(&params);
    Ok(download(exports::users(&directory, &caller, query, asked(&params, &USERS)).await?)?)
}

/// `GET /systems/export`.
pub async fn systems(Service(fleet): Service<Fleet>, Who(caller): Who, params: Params) -> Outcome<Response> {
    let mut query = system_query(&params, PAGE_SIZE);
    query.order = query.order.map(|(by, _)| (by, export_direction(&params)));
    Ok(download(bailiwick_fleet::systems::export(&fleet, &caller, query, asked(&params, &SYSTEMS)).await?)?)
}
