//! Random sequences of moves on a small tree against a model that knows own marks only (contract 02 §14, rules 14 and
//! 16 to 19).

use super::*;
use bailiwick_domain::{OrgId, OrgType, SystemId, Ts, UserId};
use std::collections::BTreeMap;

/// An organization of the model; `above` is an index into the tree.
struct Node {
    id: OrgId,
    org_type: OrgType,
    above: Option<usize>,
    suspended: Option<Ts>,
    deleted: Option<Ts>,
}

/// A user or system; an own mark never changes here.
struct Leaf {
    home: usize,
    is_system: bool,
    suspended: bool,
    deleted: bool,
}

#[derive(Default)]
struct Model {
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
}

/// The effective mark: when, and from whom if inherited.
type Shown = (Option<Ts>, Option<OrgId>);

#[derive(Clone, Copy, PartialEq, Debug)]
enum Mark {
    Suspended,
    Deleted,
}

impl Model {
    fn path(&self, i: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(i), |n| self.nodes[*n].above)
    }

    fn shown(&self, i: usize, mark: Mark) -> Shown {
        let own = |n: usize| match mark {
            Mark::Suspended => self.nodes[n].suspended,
            Mark::Deleted => self.nodes[n].deleted,
        };
        let acting = self.path(i).find(|n| own(*n).is_some());
        (acting.and_then(own), acting.filter(|n| *n != i).map(|n| self.nodes[n].id))
    }

    fn is(&self, i: usize, mark: Mark) -> bool {
        self.shown(i, mark).0.is_some()
    }

    fn above_is(&self, i: usize, mark: Mark) -> bool {
        self.nodes[i].above.is_some_and(|n| self.is(n, mark))
    }

    /// What each row below `i` is, with the counter it belongs to; suspensions of deleted rows do not show.
    fn below(&self, i: usize, mark: Mark) -> Vec<(&'static str, bool)> {
        let state = |suspended: bool, deleted: bool| match mark {
            Mark::Suspended => suspended && !deleted,
            Mark::Deleted => deleted,
        };
        let organizations = (0..self.nodes.len()).filter(|n| *n != i && self.path(*n).any(|a| a == i));
        let organizations = organizations.map(|n| {
            let shown = state(self.is(n, Mark::Suspended), self.is(n, Mark::Deleted));
            (self.nodes[n].org_type.plural(), shown)
        });
        let leaves = self.leaves.iter().filter(|l| self.path(l.home).any(|a| a == i)).map(|l| {
            let suspended = l.suspended || self.is(l.home, Mark::Suspended);
            let deleted = l.deleted || self.is(l.home, Mark::Deleted);
            (if l.is_system { "systems" } else { "users" }, state(suspended, deleted))
        });
        organizations.chain(leaves).collect()
    }

    /// Status and message of a move, and the marks after it.
    fn expect(&mut self, i: usize, verb: &str, now: Ts) -> (u16, String) {
        let one = self.nodes[i].org_type.as_str();
        let (suspended, deleted) = (self.is(i, Mark::Suspended), self.is(i, Mark::Deleted));
        let refused = match verb {
            "restore" if self.above_is(i, Mark::Deleted) => {
                Some((403, "is deleted by a parent organization and cannot be restored directly"))
            }
            "restore" if !deleted => Some((400, "is not deleted")),
            "restore" => None,
            _ if deleted => Some((404, "not found")),
            "suspend" if suspended => Some((400, "is already suspended")),
            "reactivate" if self.above_is(i, Mark::Suspended) => {
                Some((403, "is suspended by a parent organization and cannot be reactivated directly"))
            }
            "reactivate" if !suspended => Some((400, "is not suspended")),
            _ => None,
        };
        if let Some((status, text)) = refused {
            return (status, format!("{one} {text}"));
        }
        match verb {
            "suspend" => self.nodes[i].suspended = Some(now),
            "reactivate" => self.nodes[i].suspended = None,
            "delete" => self.nodes[i].deleted = Some(now),
            _ => self.nodes[i].deleted = None,
        }
        (200, format!("{one} {} successfully", past(verb)))
    }
}

fn past(verb: &str) -> String {
    if verb.ends_with('e') { format!("{verb}d") } else { format!("{verb}ed") }
}

fn mark_of(verb: &str) -> Mark {
    if verb == "suspend" || verb == "reactivate" { Mark::Suspended } else { Mark::Deleted }
}

async fn send(t: &Test, who: &Persona, node: (OrgType, OrgId), verb: &str) -> Reply {
    let path = format!("/api/{}/{}", node.0.plural(), node.1);
    let call = if verb == "delete" { t.delete(&path) } else { t.patch(&format!("{path}/{verb}")) };
    call.bearer(&who.token).send().await
}

/// Every family's counters of an answer, and no others.
fn counters(data: &Value, verb: &str) -> BTreeMap<String, u64> {
    let prefix = format!("{}_", past(verb));
    let all = data.as_object().unwrap().iter();
    let counts = all.filter_map(|(k, v)| Some((k.strip_prefix(&prefix)?.to_owned(), v.as_u64()?)));
    counts.filter_map(|(k, n)| Some((k.strip_suffix("_count")?.to_owned(), n))).collect()
}

fn expected_counters(
    org_type: OrgType,
    before: Vec<(&'static str, bool)>,
    after: Vec<(&'static str, bool)>,
) -> BTreeMap<String, u64> {
    let shown: &[&str] = match org_type {
        OrgType::Owner | OrgType::Distributor => &["resellers", "customers", "users", "systems"],
        OrgType::Reseller => &["customers", "users", "systems"],
        OrgType::Customer => &["users", "systems"],
    };
    let changed = |name: &str| {
        let pairs = before.iter().zip(&after).filter(|(b, _)| b.0 == name);
        pairs.filter(|(b, a)| b.1 != a.1).count() as u64
    };
    shown.iter().map(|name| ((*name).to_owned(), changed(name))).collect()
}

async fn stored(t: &Test, model: &Model, mark: Mark) -> Vec<Shown> {
    let column = if mark == Mark::Suspended { "suspended" } else { "deleted" };
    let mut shown = Vec::new();
    for node in &model.nodes {
        let found = bailiwick_store::organizations::get(&t.app.db, node.id).await.unwrap().expect(column);
        let found = if mark == Mark::Suspended { found.suspended } else { found.deleted };
        shown.push((found.at, found.by));
    }
    shown
}

/// Two branches, one of them below the owner without a distributor; leaves with and without own marks.
async fn build(t: &Test) -> Model {
    let owner = t.owner().await.org;
    let mut model = Model::default();
    let shape = [
        (OrgType::Distributor, None),
        (OrgType::Reseller, Some(0)),
        (OrgType::Customer, Some(1)),
        (OrgType::Customer, Some(0)),
        (OrgType::Reseller, Some(0)),
        (OrgType::Customer, Some(4)),
        (OrgType::Reseller, None),
        (OrgType::Customer, Some(6)),
    ];
    for (org_type, above) in shape {
        let parent = above.map_or(owner, |i: usize| model.nodes[i].id);
        let id = t.organization(parent, org_type, org_type.role_name()).await;
        model.nodes.push(Node { id, org_type, above, suspended: None, deleted: None });
    }
    for home in 0..shape.len() {
        let id = model.nodes[home].id;
        t.user(id, &["admin"]).await;
        model.leaves.push(Leaf { home, is_system: false, suspended: false, deleted: false });
        let system: SystemId = t.system(id).await.id;
        model.leaves.push(Leaf { home, is_system: true, suspended: home == 3, deleted: home == 5 });
        if home == 3 || home == 5 {
            t.mark_system(system, if home == 3 { "suspended_at" } else { "deleted_at" }).await;
        }
    }
    let marked: UserId = t.user(model.nodes[2].id, &["admin"]).await.id;
    t.suspend_user(marked).await;
    model.leaves.push(Leaf { home: 2, is_system: false, suspended: true, deleted: false });
    model
}

/// One move on both sides; everything that shows is compared.
async fn step(t: &Test, owner: &Persona, model: &mut Model, i: usize, verb: &str) {
    t.advance(std::time::Duration::from_secs(1));
    let (org_type, id, mark) = (model.nodes[i].org_type, model.nodes[i].id, mark_of(verb));
    let before = model.below(i, mark);
    let (status, message) = model.expect(i, verb, t.app.now());
    let reply = send(t, owner, (org_type, id), verb).await.expect_message(status, &message);
    if status == 200 {
        let after = model.below(i, mark);
        assert_eq!(
            counters(&reply.data(), verb),
            expected_counters(org_type, before, after),
            "{verb} of {org_type:?} {i}"
        );
    }
    for mark in [Mark::Suspended, Mark::Deleted] {
        let expected: Vec<Shown> = (0..model.nodes.len()).map(|n| model.shown(n, mark)).collect();
        assert_eq!(stored(t, model, mark).await, expected, "{mark:?} after {verb} of {i}");
    }
}

api_test!(rule_02_16_rule_02_18_rule_02_19_random_moves_follow_the_model, |t| async move {
    let mut model = build(&t).await;
    let owner = t.owner().await;
    let verbs = ["suspend", "suspend", "reactivate", "reactivate", "delete", "restore", "restore"];
    let mut done = [0_u32; 2];
    // A plain generator, so that every run and both engines see the same sequence.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for _ in 0..160 {
        let (mut i, verb) = (next(model.nodes.len()), verbs[next(verbs.len())]);
        // Most random places are under some mark already: every other way back starts at the top.
        let marked = |n: &Node| if verb == "restore" { n.deleted.is_some() } else { n.suspended.is_some() };
        if verb.starts_with("re") && next(2) == 0 {
            i = model.nodes.iter().position(marked).unwrap_or(i);
        }
        let marks = |m: &Model| m.nodes.iter().map(|n| (n.suspended, n.deleted)).collect::<Vec<_>>();
        let before = marks(&model);
        step(&t, &owner, &mut model, i, verb).await;
        done[usize::from(before == marks(&model))] += 1;
    }
    assert!(done.iter().all(|n| *n > 30), "moves and refusals: {done:?}");
    // Rule 16: from the top down everything comes back.
    for i in 0..model.nodes.len() {
        if model.nodes[i].deleted.is_some() {
            step(&t, &owner, &mut model, i, "restore").await;
        }
        if model.nodes[i].suspended.is_some() {
            step(&t, &owner, &mut model, i, "reactivate").await;
        }
    }
    assert!((0..model.nodes.len()).all(|i| !model.is(i, Mark::Suspended) && !model.is(i, Mark::Deleted)));
});
