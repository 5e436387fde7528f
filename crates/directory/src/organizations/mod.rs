//! The three organization families (spec: organizations#operations): create, read, change, suspend, delete, promote.
//!
//! Each use case checks permission by the organization's place before it reads any of the request's body, and again on
//! the locked row in the write transaction.

pub mod alert_tenants;
mod create;
mod destroy;
mod directory;
mod lifecycle;
mod list;
mod promote;
mod read;
mod second_factor;
mod stats;
mod tree;
mod update;

pub use bailiwick_store::{
    creators::CreatorChoice,
    organizations::{Stats, children::Child, destroy::Extent, directory::ListedOrganization},
};
pub use create::create;
pub use destroy::destroy;
pub use directory::{
    DIRECTORY_ORDERS, DirectoryQuery, directory, find, find_parents, name_within, names_within, search,
};
pub use lifecycle::{Move, Moved, change_state};
pub use list::prepare;
pub use list::{FilterValues, ListQuery, Listed, ORDERS, filters, list, walk};
pub use promote::{Promotion, promote};
pub use read::{LocatedOrganization, above, extent, find as find_for, numbers, page};
pub use second_factor::{OwnRequirement, SecondFactorPolicy, require_second_factor, second_factor_policy};
pub use stats::by_name;
pub use stats::{choices, family_total, growth, stats, suspended, trend, vat_exists};
pub use tree::{BRANCH, Branch, Node, OPEN, readable, tree};
pub use update::update;

use crate::Directory;
use bailiwick_domain::{
    Error, OrgId, OrgType, Organization, Result,
    org::Details,
    validate::{Fields, Vat, display_name, free_text, organization_custom_data},
};
use bailiwick_identity::logto_sync;
use bailiwick_platform::RequestContext;
use bailiwick_policy::{
    Action, Caller, Granted, OrgTarget, Scope, decide, gate, hierarchy, organization_in_reach, resource_of,
};
use bailiwick_store::{
    organizations::{self, Editable},
    sql::On,
};
use serde_json::{Map, Value, json};

/// The body of a creation or a change; absent and null are the same.
#[derive(Clone, Debug, Default)]
pub struct OrganizationBody {
    pub name: Option<String>,
    pub description: Option<String>,
    /// `custom_data` as sent, server-owned keys included.
    pub custom_data: Option<Map<String, Value>>,
    /// `created_by_organization_id`; only read on creation.
    pub created_by_organization_id: Option<String>,
}

/// The fields of a body that a creation takes.
pub(crate) struct Accepted {
    pub details: Details,
    pub custom_data: Map<String, Value>,
    pub vat: Option<Vat>,
}

/// The field rules of a creation (spec: organizations#create); imports apply them too.
pub(crate) fn accept(mut body: OrganizationBody) -> Result<Accepted> {
    let mut fields = Fields::new();
    let details = details(&mut fields, &Details::default(), &mut body);
    let (custom_data, vat) =
        organization_custom_data(&mut fields, Map::new(), body.custom_data.unwrap_or_default());
    fields.finish()?;
    Ok(Accepted { details, custom_data, vat })
}

/// The details of a body, checked; fields that it leaves out keep their values.
fn details(fields: &mut Fields, before: &Details, body: &mut OrganizationBody) -> Details {
    let name = body.name.take().unwrap_or_else(|| before.name.clone());
    let description = body.description.take().unwrap_or_else(|| before.description.clone());
    // What is stored was accepted under the rules of its time.
    if name.is_empty() || name != before.name {
        fields.check("name", &name, display_name(&name));
    }
    if description != before.description {
        fields.check("description", "", free_text(&description));
    }
    Details { name, description }
}

/// One organization of a family. `id`: none = malformed, treated as missing.
pub async fn get(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    id: Option<OrgId>,
) -> Result<Organization> {
    let granted = authorize(&service.platform.db, caller, Action::Read, family, id).await?;
    let organization = organizations::get(&service.platform.db, granted.id()).await?;
    shown(service, caller, organization.ok_or(Error::NotFound(family.into()))?).await
}

/// An organization as this caller sees it.
async fn shown(service: &Directory, caller: &Caller, organization: Organization) -> Result<Organization> {
    let organization = seen_from(&hierarchy(caller), organization);
    logto_sync::marked(&service.identity, organization).await
}

/// An organization as readers of the scope see it: who created or promoted it may belong to another branch.
fn seen_from(scope: &Scope, mut organization: Organization) -> Organization {
    organization.created_by = organization.created_by.filter(|creator| scope.shows(creator));
    if let Some(from) = &mut organization.promoted_from {
        from.by = from.by.take().filter(|creator| scope.shows(creator));
    }
    organization
}

/// Loads the place of an organization and checks permission, then the conditions of the request on its state.
async fn authorize_change(
    on: impl Into<On<'_>>,
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    action: Action,
    (family, id): (OrgType, Option<OrgId>),
) -> Result<Granted<OrgId>> {
    let mut on = on.into();
    let granted = authorize(on.reborrow(), caller, action, family, id).await?;
    if !ctx.is_unconditional() {
        let organization = organizations::get(on, granted.id()).await?;
        ctx.check_conditions(&service.platform, &organization.ok_or(Error::NotFound(family.into()))?)?;
    }
    Ok(granted)
}

/// An organization whose own settings are read or changed, if it is within reach and not deleted; a missing, a foreign
/// and a malformed id (none) give the same answer.
pub(crate) async fn in_reach(
    on: impl Into<On<'_>>,
    caller: &Caller,
    action: Action,
    id: Option<OrgId>,
) -> Result<Granted<OrgId>> {
    let node = match id {
        Some(id) => organizations::node(on, id).await?,
        None => None,
    };
    organization_in_reach(caller, action, node.as_ref())
}

/// Loads the place of an organization and checks permission; missing and unreadable ones give the same answer.
pub(crate) async fn authorize(
    on: impl Into<On<'_>>,
    caller: &Caller,
    action: Action,
    family: OrgType,
    id: Option<OrgId>,
) -> Result<Granted<OrgId>> {
    let node = match id {
        Some(id) => organizations::node(on, id).await?,
        None => None,
    };
    match node {
        Some(node) => decide(caller, action, &OrgTarget { family, node }).granted(),
        None => {
            if let Some(resource) = resource_of(family) {
                gate(caller, action, resource)?;
            }
            Err(Error::NotFound(family.into()))
        }
    }
}

/// Key of the VAT number in errors (spec: organizations#create).
const VAT: &str = "custom_data.vat";

/// The fields of an organization that the audit keeps.
fn audited(o: &Editable) -> Value {
    let mut shown = json!(o.details);
    shown["custom_data"] = json!(o.custom_data);
    shown
}
