//! Organizations of any family, as pages show them: one with its place and the organizations above it, lists with their
//! counts, the extent of a destruction.

use super::{
    list::{ListQuery, Listed, prepare, total},
    seen_from, shown,
};
use crate::Directory;
use bailiwick_domain::{Error, ObjectKind, OrgId, OrgType, Organization, Page, Result, org::OrgRef};
use bailiwick_platform::answer_cache::{self, DependsOn};
use bailiwick_policy::{
    Action, Caller, OrgNode, OrgTarget, Scope, decide, hierarchy, in_hierarchy, resource_of,
};
use bailiwick_store::organizations::{
    self, Counts, Stats, Totals,
    destroy::{self, Extent},
    list::{Selected, page_of},
};
use std::collections::HashMap;

/// An organization with its place in the tree.
#[derive(Clone, Debug)]
pub struct LocatedOrganization {
    pub organization: Organization,
    /// Its path, type and state.
    pub node: OrgNode,
}

impl LocatedOrganization {
    /// The organization as rules see it.
    pub const fn target(&self) -> OrgTarget {
        OrgTarget { family: self.organization.org_type, node: self.node }
    }
}

/// The organization, if the caller may do this to it. Organizations out of reach and unknown ones give the same error,
/// whatever the permissions of the caller are. `id`: none = malformed.
///
/// # Errors
/// `organization not found`, and the refusals of the action.
pub async fn find(
    service: &Directory,
    caller: &Caller,
    action: Action,
    id: Option<OrgId>,
) -> Result<LocatedOrganization> {
    let missing = || Error::NotFound(ObjectKind::Organization);
    let id = id.ok_or_else(missing)?;
    let node = organizations::node(&service.platform.db, id).await?.ok_or_else(missing)?;
    let is_hidden = node.standing.deleted && !action.reaches_deleted();
    // The owner organization is in no family, and only resellers can be promoted.
    let applies = resource_of(node.org_type).is_some_and(|resource| action.needs(resource).is_some());
    if is_hidden || !applies || !hierarchy(caller).contains(&node.path) {
        return Err(missing());
    }
    decide(caller, action, &OrgTarget { family: node.org_type, node }).granted()?;
    let organization = organizations::get(&service.platform.db, id).await?.ok_or_else(missing)?;
    Ok(LocatedOrganization { organization: shown(service, caller, organization).await?, node })
}

/// The organizations above this one that the caller may see, from the top; the owner organization is left out.
pub async fn above(service: &Directory, caller: &Caller, node: &OrgNode) -> Result<Vec<OrgRef>> {
    let path = node.path;
    let mut ids = vec![path.p2, path.p3];
    ids.dedup();
    ids.retain(|id| *id != path.id);
    let nodes = organizations::places(&service.platform.db, ids.iter().copied()).await?;
    let mut names = Vec::new();
    for id in ids {
        let node = nodes.iter().find(|node| node.path.id == id);
        if in_hierarchy(caller, node).is_err() || node.is_some_and(|p| p.org_type == OrgType::Owner) {
            continue;
        }
        if let Some(organization) = organizations::get(&service.platform.db, id).await? {
            names.push(OrgRef { id, name: organization.details.name, org_type: organization.org_type });
        }
    }
    Ok(names)
}

/// One page of a family inside the caller's hierarchy, each row with its counts.
pub async fn page(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    query: &ListQuery,
) -> Result<Page<Listed>> {
    let (scope, filter, order) = prepare(service, caller, family, query).await?;
    let total = total(service, family, scope, &filter).await?;
    let selected = Selected { family, scope: &scope, filter: &filter };
    let page = page_of(&service.platform.db, selected, order, query.page, total).await?;
    let ids = page.rows.iter().map(|o| o.id).collect();
    let mut stats = numbers(service, family, ids).await?;
    Ok(page.map(|organization| Listed {
        counts: Counts::from(stats.remove(&organization.id).unwrap_or_default()),
        organization: seen_from(&scope, organization),
    }))
}

/// The numbers of several organizations of a family, which the caller may see; an organization without an entry has
/// zeros.
pub async fn numbers(service: &Directory, family: OrgType, ids: Vec<OrgId>) -> Result<HashMap<OrgId, Stats>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let other = answer_cache::key_text(&(family, &ids));
    let make = async {
        let stats_by_id = organizations::stats_of(&service.platform.db, family, ids).await?;
        Ok(stats_by_id.into_iter().map(|(id, stats)| (id, to_numbers(stats))).collect::<Vec<_>>())
    };
    // Every caller who may see the organizations gets the same numbers.
    let stats_by_id: Vec<(OrgId, [u64; 8])> = answer_cache::computed(
        &service.platform,
        DependsOn::Figures,
        "numbers of organizations",
        Scope::Everything,
        other,
        make,
    )
    .await?;
    Ok(stats_by_id.into_iter().map(|(id, numbers)| (id, from_numbers(numbers))).collect())
}

/// As the cache keeps them.
const fn to_numbers(stats: Stats) -> [u64; 8] {
    let Stats { own, subtree, resellers, customers, applications } = stats;
    [
        own.users,
        own.systems,
        subtree.users,
        subtree.systems,
        resellers,
        customers,
        applications.own,
        applications.subtree,
    ]
}

fn from_numbers(numbers: [u64; 8]) -> Stats {
    let [users, systems, all_users, all_systems, resellers, customers, own, subtree] = numbers;
    Stats {
        own: Totals { users, systems },
        subtree: Totals { users: all_users, systems: all_systems },
        resellers,
        customers,
        applications: bailiwick_store::applications::counts::Assigned { own, subtree },
    }
}

/// The number of objects that a destruction of the organization would remove, for a caller who may do this to it.
///
/// # Errors
/// Those of [`find`].
pub async fn extent(
    service: &Directory,
    caller: &Caller,
    action: Action,
    id: Option<OrgId>,
) -> Result<Extent> {
    let node = find(service, caller, action, id).await?.node;
    Ok(destroy::extent(&service.platform.db, node.path.id, node.org_type).await?)
}
