//! Role lists (contract 01 §6.1, §6.2), for any authenticated caller.

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::Who,
    wire::roles::{OrganizationRoleList, RoleList},
};
use axum::extract::State;
use bailiwick_app::{App, roles};

/// `GET /roles`.
pub async fn list(State(app): State<App>, Who(caller): Who) -> Outcome<Answer<RoleList>> {
    Ok(Answer::ok("roles retrieved successfully", roles::user_roles(&app, &caller).into()))
}

/// `GET /organization-roles`.
pub async fn list_of_organizations(State(app): State<App>) -> Outcome<Answer<OrganizationRoleList>> {
    Ok(Answer::ok("organization roles retrieved successfully", roles::organization_roles(&app).into()))
}
