//! One text over all kinds of objects (spec: search#search).

use bailiwick_directory::{organizations::ListedOrganization, users::FoundUser};
use bailiwick_domain::{Page, System, org::OrgRef};
use bailiwick_fleet::{applications::ApplicationRecord, search::SearchResults};
use serde::Serialize;
use utoipa::ToSchema;

/// The organization that a search result belongs to.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchHome {
    /// Id of the organization.
    pub id: String,
    /// Name of the organization.
    pub name: String,
}

/// One result of a search.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchHit {
    /// Id of the object.
    pub id: String,
    /// Name of the object.
    pub name: String,
    /// What tells objects of the same name apart: the type of an organization, the e-mail address of a user, the host
    /// name or key of a system, the name of an application's system. May be empty.
    pub detail: String,
    /// Organization of the user or system, or the one that the application is assigned to; null for organizations and
    /// unassigned applications.
    #[schema(required = true)]
    pub organization: Option<SearchHome>,
}

/// The search results of one kind.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchGroup {
    /// The first results, by name.
    pub items: Vec<SearchHit>,
    /// Number of all results of this kind.
    pub total_count: u64,
}

/// The results of a search. A kind is null if it was not asked for, the caller may not read it, or `q` is blank.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct SearchOutput {
    /// The organizations found.
    #[schema(required = true)]
    pub organizations: Option<SearchGroup>,
    /// The users found.
    #[schema(required = true)]
    pub users: Option<SearchGroup>,
    /// The systems found.
    #[schema(required = true)]
    pub systems: Option<SearchGroup>,
    /// The applications found.
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
