//! Role lists and third-party applications (spec: users#user-roles, users#organization-roles,
//! openid-provider#third-party-applications), for any authenticated caller.

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::Who,
    wire::{
        roles::{OrganizationRoleList, RoleList},
        third_party::{ThirdPartyApplicationOutput, ThirdPartyApplications},
    },
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::roles;
use bailiwick_identity::third_party;

/// `GET /roles`.
pub async fn list(State(app): State<App>, Who(caller): Who) -> Outcome<Answer<RoleList>> {
    Ok(Answer::ok("roles retrieved successfully", roles::user_roles(&app, &caller).into()))
}

/// `GET /organization-roles`.
pub async fn list_of_organizations(State(app): State<App>) -> Outcome<Answer<OrganizationRoleList>> {
    Ok(Answer::ok("organization roles retrieved successfully", roles::organization_roles(&app).into()))
}

/// `GET /third-party-applications`.
pub async fn third_party_applications(
    State(app): State<App>,
    Who(caller): Who,
) -> Outcome<Answer<ThirdPartyApplications>> {
    let visible = third_party::visible(&app, &caller).await;
    let list = ThirdPartyApplications(visible.into_iter().map(ThirdPartyApplicationOutput::from).collect());
    Ok(Answer::ok("third-party applications retrieved successfully", list))
}
