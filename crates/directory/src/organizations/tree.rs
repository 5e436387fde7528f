//! The tree below the caller's organization, as far as it is opened.

use super::read::numbers;
use crate::Directory;
use bailiwick_domain::{OrgId, OrgType, Result};
use bailiwick_policy::{Action, Caller, gate, resource_of};
use bailiwick_store::organizations::{
    Stats,
    children::{Child, children},
};
use std::collections::{HashMap, HashSet};

/// Organizations of a branch that are shown; the lists have the others.
pub const BRANCH: u64 = 50;
/// Branches that can be open at the same time.
pub const OPEN: usize = 40;
/// Levels below the owner.
const LEVELS: usize = 3;

/// An organization of the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// The organization.
    pub child: Child,
    /// Its numbers.
    pub stats: Stats,
    /// The organizations below it; none = its branch is closed.
    pub branch: Option<Branch>,
}

/// The organizations below another one.
#[derive(Clone, Debug, Default)]
pub struct Branch {
    /// The first [`BRANCH`] of them, by family and name.
    pub nodes: Vec<Node>,
    /// Whether there are more.
    pub has_more: bool,
}

/// The families of the tree that the caller may read.
pub fn readable(caller: &Caller) -> Vec<OrgType> {
    let own = caller.org_type().map_or(u8::MAX, OrgType::level);
    let may = |family: &OrgType| {
        family.level() > own && resource_of(*family).is_some_and(|r| gate(caller, Action::Read, r).is_ok())
    };
    OrgType::FAMILIES.into_iter().filter(may).collect()
}

/// The tree below the caller's own organization. `open`: the branches that are wanted.
pub async fn tree(service: &Directory, caller: &Caller, open: &[OrgId]) -> Result<Branch> {
    let Some(root) = caller.org().map(|own| own.id) else { return Ok(Branch::default()) };
    let families = readable(caller);
    let open: HashSet<OrgId> = open.iter().copied().take(OPEN).collect();
    let mut by_parent: HashMap<OrgId, Vec<Child>> = HashMap::new();
    let mut parents = vec![root];
    // It reads only branches of organizations that it shows, so it never reaches those beside the caller's own.
    for _ in 0..LEVELS {
        let children = children(&service.platform.db, &parents, &families, BRANCH + 1).await?;
        for parent in parents {
            by_parent.insert(parent, Vec::new());
        }
        parents = children.iter().map(|child| child.id).filter(|id| open.contains(id)).collect();
        for child in children {
            by_parent.entry(child.parent_id).or_default().push(child);
        }
    }
    let mut stats = HashMap::new();
    for family in families {
        let of_family = by_parent.values().flatten().filter(|child| child.org_type == family);
        let mut ids: Vec<OrgId> = of_family.map(|child| child.id).collect();
        ids.sort_unstable();
        stats.extend(numbers(service, family, ids).await?);
    }
    Ok(branch(root, &mut by_parent, &stats))
}

fn branch(
    parent: OrgId,
    by_parent: &mut HashMap<OrgId, Vec<Child>>,
    stats: &HashMap<OrgId, Stats>,
) -> Branch {
    let mut children = by_parent.remove(&parent).unwrap_or_default();
    let has_more = children.len() as u64 > BRANCH;
    if has_more {
        children.pop();
    }
    let node = |child: Child| {
        let is_open = by_parent.contains_key(&child.id);
        Node {
            stats: stats.get(&child.id).copied().unwrap_or_default(),
            branch: is_open.then(|| branch(child.id, by_parent, stats)),
            child,
        }
    };
    Branch { nodes: children.into_iter().map(node).collect(), has_more }
}
