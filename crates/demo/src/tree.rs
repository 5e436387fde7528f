//! The organizations of a synthetic tree, all in memory: places, names, states, times.

use super::{
    random::{Dice, mix},
    words::{Country, slug},
};
use bailiwick_domain::{
    OrgId, OrgType, Organization, Result, Ts,
    id::uuid_v7,
    org::{Creator, Details, Mark, SyncState},
};
use bailiwick_policy::Path;
use bailiwick_store::demo::snapshot_text;
use serde_json::json;
use std::{sync::Arc, time::Duration};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// How far back the oldest organization goes.
pub(super) const HISTORY: Duration = Duration::from_secs(4 * 365 * 24 * 3600);

/// One organization of the tree.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub path: Path,
    pub org_type: OrgType,
    /// Position of its parent; its own for the owner.
    pub parent: usize,
    /// Whether it is the great distributor or below it.
    pub in_great_branch: bool,
    pub name: String,
    pub city: &'static str,
    pub country: Country,
    /// Its mail domain.
    pub domain: String,
    pub vat: String,
    pub created_at: Ts,
    pub suspended: Mark,
    pub deleted: Mark,
    /// Its number of systems, relative to others.
    pub weight: u64,
    /// Its first user, once there is one: the creator of everything that belongs to it.
    pub admin: Option<Admin>,
}

/// A user who creates objects, and the stored form of that creator.
#[derive(Clone, Debug)]
pub(super) struct Admin {
    pub creator: Creator,
    pub snapshot: Arc<str>,
}

impl Admin {
    pub(super) fn new(creator: Creator) -> Result<Admin> {
        let snapshot = snapshot_text(&creator)?;
        Ok(Admin { creator, snapshot })
    }
}

/// All organizations in the order of their creation; the first is the owner, which exists already.
#[derive(Debug)]
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    /// Makes the names and numbers of one seed differ from those of another.
    pub series: u64,
}

/// The owner organization.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub id: OrgId,
    pub name: String,
    pub admin: Admin,
}

/// Numbers of distributors, resellers and customers among `n` organizations.
pub(super) fn shape(n: u64) -> [u64; 3] {
    let distributors = (n / 400).max(2).min(n);
    let resellers = (n / 10).max(1).min(n - distributors);
    [distributors, resellers, n - distributors - resellers]
}

/// A number from 200 to 799 derived from the seed: no tax office has such a number, so no VAT number here is a real
/// one.
pub(super) const fn series(seed: u64) -> u64 {
    200 + mix(seed) % 600
}

/// The VAT number of the largest distributor, which shows whether a series is in a database already.
pub(super) fn first_vat(seed: u64) -> String {
    Country::Italy.vat(series(seed), 0)
}

struct Planting<'a> {
    dice: &'a Dice,
    now: Ts,
    start: Ts,
    series: u64,
    nodes: Vec<Node>,
    /// Positions of distributors, and of resellers inside and outside the great branch.
    distributors: Vec<usize>,
    resellers: [Vec<usize>; 2],
}

/// Creates `organizations` below the owner: one distributor holds a third of everything.
pub(super) fn plant(dice: &Dice, seed: u64, organizations: u64, root: &Root, now: Ts) -> Tree {
    let mut planting = Planting {
        dice,
        now,
        start: now.minus(HISTORY),
        series: series(seed),
        nodes: vec![owner(root, now)],
        distributors: Vec::new(),
        resellers: [Vec::new(), Vec::new()],
    };
    let [distributors, resellers, customers] = shape(organizations);
    for _ in 0..distributors {
        planting.distributor();
    }
    for i in 0..resellers {
        planting.reseller(i % 3 == 0);
    }
    for i in 0..customers {
        planting.customer(i % 3 == 0);
    }
    Tree { series: planting.series, nodes: in_order_of_creation(planting.nodes) }
}

fn owner(root: &Root, now: Ts) -> Node {
    Node {
        path: Path::owner(root.id),
        org_type: OrgType::Owner,
        parent: 0,
        in_great_branch: false,
        name: root.name.clone(),
        city: "Pesaro",
        country: Country::Italy,
        domain: "owner.example".to_owned(),
        vat: String::new(),
        created_at: now.minus(HISTORY),
        suspended: Mark::default(),
        deleted: Mark::default(),
        weight: 50,
        admin: Some(root.admin.clone()),
    }
}

impl Planting<'_> {
    fn distributor(&mut self) {
        let is_great = self.distributors.is_empty();
        let span = if is_great { HOUR } else { HISTORY / 20 };
        let created_at = self.dice.time(self.start, self.start.plus(span));
        let index = self.grow(OrgType::Distributor, 0, is_great, created_at);
        self.distributors.push(index);
    }

    fn reseller(&mut self, is_great: bool) {
        let parent = if is_great {
            self.distributors.first().copied().unwrap_or(0)
        } else if self.dice.per_mille(60) {
            0
        } else {
            skewed(self.dice, self.distributors.get(1..).unwrap_or_default()).unwrap_or(0)
        };
        let from = self.nodes[parent].created_at.plus(HOUR);
        let created_at = self.dice.time(from, from.plus(HISTORY / 5));
        let index = self.grow(OrgType::Reseller, parent, is_great, created_at);
        self.resellers[usize::from(is_great)].push(index);
    }

    fn customer(&mut self, is_great: bool) {
        let level = self.dice.below(100);
        let distributors = match (is_great, self.distributors.as_slice()) {
            (true, all) => all.get(..1),
            (false, all) => all.get(1..),
        };
        let distributors = distributors.unwrap_or_default();
        let parent = match level {
            0..=2 if !is_great => None,
            3..=13 => skewed(self.dice, distributors),
            _ => skewed(self.dice, &self.resellers[usize::from(is_great)])
                .or_else(|| skewed(self.dice, distributors)),
        }
        .unwrap_or(if is_great { self.distributors[0] } else { 0 });
        let from = self.nodes[parent].created_at.plus(HOUR);
        // Half of them in the first third of the history: the systems of a new customer come after it.
        let to = if self.dice.per_mille(500) { from.plus(HISTORY / 3) } else { self.now.minus(DAY) };
        let created_at = self.dice.time(from, to);
        self.grow(OrgType::Customer, parent, is_great, created_at);
    }

    /// Adds an organization and returns its position.
    fn grow(&mut self, org_type: OrgType, parent: usize, is_great: bool, created_at: Ts) -> usize {
        let dice = self.dice;
        let n = self.nodes.len();
        let is_first = n == 1;
        let above = &self.nodes[parent];
        let id = OrgId(uuid_v7(&created_at_clock(created_at), dice));
        let country = if is_first { Country::Italy } else { Country::any(dice) };
        let city = dice.pick(country.cities());
        let name = country.company(dice, city);
        let domain = format!("{}-{}{n}.example", slug(&name), self.series);
        let (suspended, deleted) = marks(dice, org_type, is_first, created_at, self.now);
        let inherit = |mark: Mark| mark.inherited_from(above.path.id);
        let node = Node {
            path: above.path.child(id, org_type),
            org_type,
            parent,
            in_great_branch: is_great,
            name,
            city,
            country,
            domain,
            vat: country.vat(self.series, (n - 1) as u64),
            created_at,
            suspended: Mark::effective(suspended, inherit(above.suspended)),
            deleted: Mark::effective(deleted, inherit(above.deleted)),
            weight: match org_type {
                OrgType::Customer => 1000 / (1 + dice.below(100)),
                OrgType::Reseller => 20,
                OrgType::Owner | OrgType::Distributor => 60,
            },
            admin: None,
        };
        self.nodes.push(node);
        n
    }
}

/// A fixed clock, for ids of objects made in the past.
#[derive(Clone, Copy)]
pub(super) struct Past(Ts);

/// The clock of a moment.
pub(super) const fn created_at_clock(at: Ts) -> Past {
    Past(at)
}

impl bailiwick_domain::Clock for Past {
    fn now(&self) -> Ts {
        self.0
    }
}

/// Own marks: few, and never on the great distributor.
fn marks(dice: &Dice, org_type: OrgType, is_first: bool, from: Ts, now: Ts) -> (Option<Ts>, Option<Ts>) {
    let (suspended, deleted) = match org_type {
        _ if is_first => (0, 0),
        OrgType::Customer => (20, 7),
        OrgType::Reseller => (10, 5),
        OrgType::Owner | OrgType::Distributor => (0, 0),
    };
    let time_if = |n| dice.per_mille(n).then(|| dice.time(from, now));
    (time_if(suspended), time_if(deleted))
}

/// One of the positions; the first ones much more often, so that sizes differ as in real data: of 650, the first is
/// drawn one time in 25.
fn skewed(dice: &Dice, positions: &[usize]) -> Option<usize> {
    let fraction = dice.below(1 << 20);
    let position = (fraction * fraction * positions.len() as u64) >> 40;
    usize::try_from(position).ok().and_then(|position| positions.get(position)).copied()
}

/// Sorts by creation, which keeps parents before children, and updates the positions.
fn in_order_of_creation(nodes: Vec<Node>) -> Vec<Node> {
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|&i| (i > 0, nodes[i].created_at, nodes[i].path.id));
    let mut new_index = vec![0; nodes.len()];
    for (new, &old) in order.iter().enumerate() {
        new_index[old] = new;
    }
    let mut sorted: Vec<(usize, Node)> =
        nodes.into_iter().enumerate().map(|(i, n)| (new_index[i], n)).collect();
    sorted.sort_by_key(|(at, _)| *at);
    sorted
        .into_iter()
        .map(|(_, mut node)| {
            node.parent = new_index[node.parent];
            node
        })
        .collect()
}

impl Tree {
    /// The nearest user at or above the organization who can have created something in it.
    pub(super) fn admin(&self, mut index: usize) -> &Admin {
        loop {
            match &self.nodes[index].admin {
                Some(admin) => return admin,
                None => index = self.nodes[index].parent,
            }
        }
    }

    /// The organization and those above it, from the owner downwards.
    pub(super) fn line(&self, mut index: usize) -> Vec<OrgId> {
        let mut line = vec![self.nodes[index].path.id];
        while index != 0 {
            index = self.nodes[index].parent;
            line.push(self.nodes[index].path.id);
        }
        line.reverse();
        line
    }

    /// The organization as it is stored.
    pub fn organization(&self, index: usize, dice: &Dice) -> Organization {
        let node = &self.nodes[index];
        let (first, last) = node.country.person(dice);
        let phone =
            format!("+{} 0{} {:06}", node.country.calling_code(), 1 + dice.below(9), dice.below(1_000_000));
        let custom_data = json!({
            "vat": node.vat,
            "address": node.country.address(dice),
            "city": node.city,
            "main_contact": format!("{first} {last}"),
            "email": format!("info@{}", node.domain),
            "phone": phone,
            "language": node.country.language(),
            "notes": "",
        });
        let description = if dice.per_mille(400) { format!("{} area", node.city) } else { String::new() };
        Organization {
            id: node.path.id,
            org_type: node.org_type,
            parent_id: Some(self.nodes[node.parent].path.id),
            details: Details::new(node.name.clone(), description),
            vat: Some(node.vat.clone()),
            custom_data: custom_data.as_object().cloned().unwrap_or_default(),
            created_at: node.created_at,
            updated_at: node.created_at,
            updated_by_org_id: None,
            created_by: Some(self.admin(node.parent).creator.clone()),
            suspended: node.suspended,
            deleted: node.deleted,
            promoted_from: None,
            rebranding: None,
            mirrored: SyncState::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn tree(n: u64, seed: u64) -> Tree {
        let id = OrgId(uuid::Uuid::from_u128(1));
        let admin = Creator {
            user_id: None,
            username: "root".into(),
            name: "Root".into(),
            email: "root@owner.example".into(),
            organization_id: Some(id),
            organization_name: "Owner".into(),
            ..Creator::default()
        };
        let root = Root { id, name: "Owner".into(), admin: Admin::new(admin).unwrap() };
        plant(&Dice::new(seed), seed, n, &root, Ts::from_secs(1_772_355_600))
    }

    #[test]
    fn every_size_has_its_organizations() {
        for n in [1, 2, 3, 4, 10, 57] {
            assert_eq!(shape(n).iter().sum::<u64>(), n);
            assert_eq!(tree(n, 1).nodes.len() as u64, n + 1);
        }
    }

    #[test]
    fn the_tree_is_a_tree_of_the_allowed_pairs() {
        let tree = tree(3_000, 5);
        let now = Ts::from_secs(1_772_355_600);
        for (i, node) in tree.nodes.iter().enumerate().skip(1) {
            let parent = &tree.nodes[node.parent];
            assert!(node.parent < i && parent.org_type < node.org_type);
            assert!(node.org_type != OrgType::Distributor || parent.org_type == OrgType::Owner);
            assert_eq!(node.path, parent.path.child(node.path.id, node.org_type));
            assert!(node.created_at >= parent.created_at && node.created_at < now);
            assert!(!parent.deleted.is_set() || node.deleted.is_set());
            assert!(!parent.suspended.is_set() || node.suspended.is_set());
        }
        let great = tree.nodes.iter().filter(|n| n.in_great_branch).count();
        assert!((900..=1_100).contains(&great), "{great}");
    }

    #[test]
    fn what_must_be_unique_is_and_seeds_repeat() {
        let (a, b, c) = (tree(2_000, 5), tree(2_000, 5), tree(2_000, 6));
        let vats: HashSet<_> = a.nodes.iter().chain(&c.nodes).map(|n| &n.vat).collect();
        assert_eq!(vats.len(), 4_001);
        let ids: HashSet<_> = a.nodes.iter().map(|n| n.path.id).collect();
        assert_eq!(ids.len(), 2_001);
        let text = |t: &Tree| format!("{:?}", t.nodes);
        assert_eq!(text(&a), text(&b));
        assert_eq!(a.nodes.iter().filter(|n| n.vat == first_vat(5)).count(), 1);
    }
}
