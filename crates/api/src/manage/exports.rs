//! Exports: the query of a list, answered with a file (spec: users#export, organizations#stats, systems#export).

use super::LONG_PAGE_SIZE;
use crate::{
    error::Outcome,
    extract::{Family, Params, Service, Who},
};
use axum::response::Response;
use bailiwick_directory::{Directory, exports, organizations, users};
use bailiwick_fleet::{Fleet, systems};
use bailiwick_web::{asked, download, export_direction, organization_query, system_query, user_query};

/// `GET /{p}/export`.
pub async fn organizations(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Family(family): Family,
    params: Params,
) -> Outcome<Response> {
    let mut query = organization_query(&params, family, LONG_PAGE_SIZE);
    query.direction = export_direction(&params);
    let asked = asked(&params, organizations::filters(family));
    Ok(download(exports::organizations(&directory, &caller, family, query, asked).await?)?)
}

/// `GET /users/export`.
pub async fn users(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Response> {
    let mut query = user_query(&params, LONG_PAGE_SIZE);
    query.direction = export_direction(&params);
    Ok(download(exports::users(&directory, &caller, query, asked(&params, users::FILTERS)).await?)?)
}

/// `GET /systems/export`.
pub async fn systems(Service(fleet): Service<Fleet>, Who(caller): Who, params: Params) -> Outcome<Response> {
    let mut query = system_query(&params, LONG_PAGE_SIZE);
    query.order = query.order.map(|(by, _)| (by, export_direction(&params)));
    Ok(download(systems::export(&fleet, &caller, query, asked(&params, systems::FILTERS)).await?)?)
}
