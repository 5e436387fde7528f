//! A small tree and callers in it, shared by the policy tests.
#![allow(dead_code, reason = "each test binary uses its part")]

use bailiwick_domain::{ApplicationId, OrgId, OrgType, SystemId, UserId, org::OrgRef};
use bailiwick_policy::*;
use std::sync::Arc;

pub fn org_id(n: u128) -> OrgId {
    format!("00000000-0000-7000-8000-{n:012x}").parse().unwrap()
}

pub fn user_id(n: u128) -> UserId {
    UserId(org_id(0x1_0000 + n).0)
}

pub fn system_id(n: u128) -> SystemId {
    SystemId(org_id(0x2_0000 + n).0)
}

/// An organization of the test tree and its ancestors, stored separately from `Path` as an independent check.
#[derive(Clone, Debug)]
pub struct Node {
    pub path: Path,
    pub org_type: OrgType,
    pub ancestors: Vec<OrgId>,
}

impl Node {
    pub fn owner() -> Node {
        let id = org_id(1);
        Node { path: Path::owner(id), org_type: OrgType::Owner, ancestors: vec![id] }
    }

    pub fn child(&self, n: u128, org_type: OrgType) -> Node {
        let id = org_id(n);
        let mut ancestors = self.ancestors.clone();
        ancestors.push(id);
        Node { path: self.path.child(id, org_type), org_type, ancestors }
    }

    pub fn id(&self) -> OrgId {
        self.path.id
    }

    /// Whether `self` is `root` or below it.
    pub fn below(&self, root: OrgId) -> bool {
        self.ancestors.contains(&root)
    }

    pub fn org_node(&self, standing: Standing) -> OrgNode {
        OrgNode { path: self.path, org_type: self.org_type, standing }
    }

    pub fn target(&self, standing: Standing) -> OrgTarget {
        // The owner organization is tested through a family by which a caller could try to reach it.
        let family = if self.org_type == OrgType::Owner { OrgType::Distributor } else { self.org_type };
        OrgTarget { family, node: self.org_node(standing) }
    }

    pub fn system(&self, standing: Standing) -> SystemTarget {
        SystemTarget { id: system_id(1), path: self.path, org_type: self.org_type, standing }
    }

    pub fn application(&self, standing: Standing) -> ApplicationTarget {
        ApplicationTarget { id: ApplicationId(org_id(0x3_0001).0), path: self.path, standing }
    }

    pub fn user(&self, n: u128, effective: Effective, standing: Standing) -> UserTarget {
        UserTarget { id: user_id(n), path: self.path, effective, standing, consent: Consent::Everyone }
    }

    pub fn identity(&self, n: u128, effective: Effective) -> Arc<UserIdentity> {
        Arc::new(UserIdentity {
            user_id: user_id(n),
            username: format!("u{n}"),
            name: format!("User {n}"),
            email: format!("u{n}@example.org"),
            phone: None,
            organization: OrgRef { id: self.id(), name: "Org".to_owned(), org_type: self.org_type },
            effective,
        })
    }
}

pub const LIVE: Standing =
    Standing { suspended: false, suspended_above: false, deleted: false, deleted_above: false };
pub const DELETED: Standing =
    Standing { suspended: false, suspended_above: false, deleted: true, deleted_above: false };

pub fn built_in(org_type: OrgType, roles: &[&str]) -> Effective {
    let ids: Vec<String> = roles.iter().map(|r| (*r).to_owned()).collect();
    Catalogue::built_in().effective(org_type, &ids)
}

/// Owner; distributors 2, 3; resellers 4, 5 (of 2), 6 (of 3), 7 (of the owner); customers 8, 9 (of 4), 10 (of 5),
/// 11 (of 2), 12 (of 6), 13 (of 7), 14 (of the owner).
pub fn tree() -> Vec<Node> {
    use OrgType::{Customer, Distributor, Reseller};
    let mut nodes = vec![Node::owner()];
    let shape = [
        (2, 0, Distributor),
        (3, 0, Distributor),
        (4, 1, Reseller),
        (5, 1, Reseller),
        (6, 2, Reseller),
        (7, 0, Reseller),
        (8, 3, Customer),
        (9, 3, Customer),
        (10, 4, Customer),
        (11, 1, Customer),
        (12, 5, Customer),
        (13, 6, Customer),
        (14, 0, Customer),
    ];
    for (n, parent, org_type) in shape {
        let child = nodes[parent].child(n, org_type);
        nodes.push(child);
    }
    nodes
}
