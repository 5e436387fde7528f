//! Roles, and what else the filters of the users' list offer (contract 01 §5.4, §6.1, §6.2).

use super::users::OrganizationRefOutput;
use bailiwick_app::{roles::RoleChoice, users::Choices};
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

/// A user who created others.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatorChoice {
    /// His id.
    pub user_id: String,
    /// His name then.
    pub name: String,
    /// His e-mail then.
    pub email: String,
    /// His organization then.
    #[schema(required = true)]
    pub organization_id: Option<String>,
    /// Its present name.
    pub organization_name: String,
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
}

impl From<Choices> for UserFilters {
    fn from(choices: Choices) -> UserFilters {
        let creators = choices.creators.into_iter().map(|(id, creator)| CreatorChoice {
            user_id: id.to_string(),
            name: creator.name,
            email: creator.email,
            organization_id: creator.organization_id.map(|id| id.to_string()),
            organization_name: creator.organization_name,
        });
        UserFilters {
            roles: all(choices.roles),
            organizations: choices.organizations.into_iter().map(OrganizationRefOutput::from).collect(),
            created_by: creators.collect(),
        }
    }
}
