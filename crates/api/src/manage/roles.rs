//! Role lists and third-party applications (spec: users#user-roles, users#organization-roles,
//! openid-provider#third-party-applications), for any authenticated caller.

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Service, Who},
    wire::{
        roles::{OrganizationRoleList, RoleList},
        third_party::{ThirdPartyApplicationOutput, ThirdPartyApplications},
    },
};
use bailiwick_directory::{Directory, roles};
use bailiwick_identity::{Identity, third_party};

/// `GET /roles`.
pub async fn list(Service(directory): Service<Directory>, Who(caller): Who) -> Outcome<Answer<RoleList>> {
    Ok(Answer::ok("roles retrieved successfully", roles::user_roles(&directory, &caller).into()))
}

/// `GET /organization-roles`.
pub async fn list_of_organizations(
    Service(directory): Service<Directory>,
) -> Outcome<Answer<OrganizationRoleList>> {
    Ok(Answer::ok("organization roles retrieved successfully", roles::organization_roles(&directory).into()))
}

/// `GET /third-party-applications`.
pub async fn third_party_applications(
    Service(identity): Service<Identity>,
    Who(caller): Who,
) -> Outcome<Answer<ThirdPartyApplications>> {
    let visible = third_party::visible(&identity, &caller).await;
    let list = ThirdPartyApplications(visible.into_iter().map(ThirdPartyApplicationOutput::from).collect());
    Ok(Answer::ok("third-party applications retrieved successfully", list))
}
