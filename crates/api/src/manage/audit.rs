//! The audit record (spec: audit#list).

use super::PAGE_SIZE;
use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Params, Service, Who},
    wire::audit::AuditPage,
};
use bailiwick_directory::{Directory, audit};
use bailiwick_web::audit_query;

/// `GET /audit`.
pub async fn list(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<AuditPage>> {
    let found = audit::list(&directory, &caller, audit_query(&params, PAGE_SIZE)).await?;
    Ok(Answer::ok("audit retrieved successfully", found.into()))
}
