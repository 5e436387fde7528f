//! Roles, and what else the filters of the users' list offer (spec: users#operations, users#user-roles,
//! users#organization-roles).

use super::users::OrganizationRefOutput;
use bailiwick_directory::{organizations, roles::RoleChoice, users::Choices};
use serde::Serialize;
use utoipa::ToSchema;

/// A role: a named set of permissions.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoleOutput {
    /// Id of the role: its key in the catalogue of roles.
    pub id: String,
    /// Name of the role.
    pub name: String,
    /// What the role is for.
    pub description: String,
}

impl From<RoleChoice> for RoleOutput {
    fn from(role: RoleChoice) -> RoleOutput {
        RoleOutput { id: role.id, name: role.name, description: role.description }
    }
}

fn all(roles: Vec<RoleChoice>) -> Vec<RoleOutput> {
    roles.into_iter().map(RoleOutput::from).collect()
}

/// The roles that users can have.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoleList {
    /// The roles, in the order of the catalogue.
    pub roles: Vec<RoleOutput>,
}

impl From<Vec<RoleChoice>> for RoleList {
    fn from(roles: Vec<RoleChoice>) -> RoleList {
        RoleList { roles: all(roles) }
    }
}

/// The roles that users have by the level of their organization.
#[derive(Debug, Serialize, ToSchema)]
pub struct OrganizationRoleList {
    /// The roles, from the owner down.
    pub organization_roles: Vec<RoleOutput>,
}

impl From<Vec<RoleChoice>> for OrganizationRoleList {
    fn from(roles: Vec<RoleChoice>) -> OrganizationRoleList {
        OrganizationRoleList { organization_roles: all(roles) }
    }
}

/// A user who has created objects of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatorChoice {
    /// Id of the user.
    pub user_id: String,
    /// Name of the user at the time of their latest creation.
    pub name: String,
    /// E-mail address of the user at that time.
    pub email: String,
    /// Id of the user's organization; `""` if the user no longer exists or the caller may not see that organization.
    pub organization_id: String,
    /// Current name of that organization; `""` if `organization_id` is `""`.
    pub organization_name: String,
}

impl From<organizations::CreatorChoice> for CreatorChoice {
    fn from(creator: organizations::CreatorChoice) -> CreatorChoice {
        let (id, name) = creator.organization.map(|(id, name)| (id.to_string(), name)).unwrap_or_default();
        CreatorChoice {
            user_id: creator.user_id.to_string(),
            name: creator.name,
            email: creator.email,
            organization_id: id,
            organization_name: name,
        }
    }
}

/// The values that the list of a family can be filtered by.
#[derive(Debug, Serialize, ToSchema)]
pub struct OrganizationFilters {
    /// Users who have created such organizations, by name.
    pub created_by: Vec<CreatorChoice>,
}

impl From<Vec<organizations::CreatorChoice>> for OrganizationFilters {
    fn from(creators: Vec<organizations::CreatorChoice>) -> OrganizationFilters {
        OrganizationFilters { created_by: creators.into_iter().map(CreatorChoice::from).collect() }
    }
}

/// The values that the list of users can be filtered by.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserFilters {
    /// Roles, in the order of the catalogue.
    pub roles: Vec<RoleOutput>,
    /// Organizations with users that the caller may read, by name.
    pub organizations: Vec<OrganizationRefOutput>,
    /// Users who have created users, by name.
    pub created_by: Vec<CreatorChoice>,
    /// Names of the lists that have more matches than `limit`. Present only if the request has `q`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<Vec<&'static str>>,
}

impl From<Choices> for UserFilters {
    fn from(choices: Choices) -> UserFilters {
        UserFilters {
            roles: all(choices.roles),
            organizations: choices.organizations.into_iter().map(OrganizationRefOutput::from).collect(),
            created_by: choices.creators.into_iter().map(CreatorChoice::from).collect(),
            more: choices.more,
        }
    }
}
