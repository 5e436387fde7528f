//! Roles, and what else the filters of the users' list offer (spec: users#operations, users#user-roles,
//! users#organization-roles).

use super::users::OrganizationRefOutput;
use bailiwick_directory::{organizations, roles::RoleChoice, users::Choices};
use serde::Serialize;
use utoipa::ToSchema;

/// A role.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoleOutput {
    /// Catalogue key.
    pub id: String,
    /// Name.
    pub name: String,
    /// Description.
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

/// User roles.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoleList {
    /// In catalogue order.
    pub roles: Vec<RoleOutput>,
}

impl From<Vec<RoleChoice>> for RoleList {
    fn from(roles: Vec<RoleChoice>) -> RoleList {
        RoleList { roles: all(roles) }
    }
}

/// Organization roles.
#[derive(Debug, Serialize, ToSchema)]
pub struct OrganizationRoleList {
    /// From the owner down.
    pub organization_roles: Vec<RoleOutput>,
}

impl From<Vec<RoleChoice>> for OrganizationRoleList {
    fn from(roles: Vec<RoleChoice>) -> OrganizationRoleList {
        OrganizationRoleList { organization_roles: all(roles) }
    }
}

/// A user who created an entity.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatorChoice {
    /// The user's id.
    pub user_id: String,
    /// The user's name at the latest creation.
    pub name: String,
    /// The user's e-mail address then.
    pub email: String,
    /// The user's organization; `""` if the user no longer exists.
    pub organization_id: String,
    /// Its present name.
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

/// What the filters of a family's list can be set to.
#[derive(Debug, Serialize, ToSchema)]
pub struct OrganizationFilters {
    /// One entry for each creating user, by name.
    pub created_by: Vec<CreatorChoice>,
}

impl From<Vec<organizations::CreatorChoice>> for OrganizationFilters {
    fn from(creators: Vec<organizations::CreatorChoice>) -> OrganizationFilters {
        OrganizationFilters { created_by: creators.into_iter().map(CreatorChoice::from).collect() }
    }
}

/// What the filters of the users' list can be set to.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserFilters {
    /// Roles.
    pub roles: Vec<RoleOutput>,
    /// Organizations with visible users, by name.
    pub organizations: Vec<OrganizationRefOutput>,
    /// One entry for each creating user, by name.
    pub created_by: Vec<CreatorChoice>,
    /// Only with `q`: the lists that have more choices than `limit`.
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
