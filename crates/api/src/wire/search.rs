//! One text over all kinds of objects (spec: search#search).

use bailiwick_directory::{organizations::ListedOrganization, users::FoundUser};
use bailiwick_domain::{Page, System, org::OrgRef};
use bailiwick_fleet::{applications::ApplicationRecord, search::SearchResults};
use serde::Serialize;
use utoipa::ToSchema;

/// An organization that something belongs to.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchHome {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
}

/// Something that was found.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchHit {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Distinguishes it from others with its name: the type of an organization, the address of a user, the host name or key
    /// of a system, the system of an application. May be empty.
    pub detail: String,
    /// The organization of a user or system, and that which an application is assigned to.
    #[schema(required = true)]
    pub organization: Option<SearchHome>,
}

/// What was found of one kind.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchGroup {
    /// The first ones, by name.
    pub items: Vec<SearchHit>,
    /// How many there are.
    pub total_count: u64,
}

/// `GET /search`. A kind is null where it is not asked for or the caller may not read it.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct SearchOutput {
    /// Organizations.
    #[schema(required = true)]
    pub organizations: Option<SearchGroup>,
    /// Users.
    #[schema(required = true)]
    pub users: Option<SearchGroup>,
    /// Systems.
    #[schema(required = true)]
    pub systems: Option<SearchGroup>,
    /// Applications.
    #[schema(required = true)]
    pub applications: Option<SearchGroup>,
}

impl From<SearchResults> for SearchOutput {
    fn from(found: SearchResults) -> SearchOutput {
        SearchOutput {
            organizations: found.organizations.map(|page| group(page, organization)),
            users: found.users.map(|page| group(page, user)),
            systems: found.systems.map(|page| group(page, system)),
            applications: found.applications.map(|page| group(page, application)),
        }
    }
}

fn group<T>(page: Page<T>, hit: impl Fn(T) -> SearchHit) -> SearchGroup {
    SearchGroup { total_count: page.total, items: page.rows.into_iter().map(hit).collect() }
}

fn home(organization: OrgRef) -> SearchHome {
    SearchHome { id: organization.id.to_string(), name: organization.name }
}

fn organization(entry: ListedOrganization) -> SearchHit {
    SearchHit {
        id: entry.id.to_string(),
        name: entry.name,
        detail: entry.org_type.as_str().to_owned(),
        organization: None,
    }
}

fn user(user: FoundUser) -> SearchHit {
    let organization = SearchHome { id: user.organization_id.to_string(), name: user.organization };
    SearchHit {
        id: user.id.to_string(),
        name: user.name,
        detail: user.email,
        organization: Some(organization),
    }
}

fn system(system: System) -> SearchHit {
    // The key is hidden until the system is registered (spec: systems#system).
    let key = system.registered_at.map(|_| system.system_key);
    let detail = Some(system.fqdn).filter(|fqdn| !fqdn.is_empty()).or(key).unwrap_or_default();
    SearchHit {
        id: system.id.to_string(),
        name: system.name,
        detail,
        organization: Some(home(system.organization)),
    }
}

fn application(found: ApplicationRecord) -> SearchHit {
    let named = found.display_name.filter(|name| !name.is_empty()).or(found.name);
    SearchHit {
        id: found.id.to_string(),
        name: named.unwrap_or(found.module_id),
        detail: found.system_name,
        organization: found.organization.map(home),
    }
}
