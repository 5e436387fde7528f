//! Random sequences of moves on a small tree against a model that knows own marks and parents only (spec:
//! guarantees#organizations, rules 14, 16 to 19 and 23): suspend, reactivate, delete, restore, promote, destroy.

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
    /// Destroyed; stays in the list so that the others keep their place in it.
    gone: bool,
}

/// A user or system; an own mark never changes here.
struct Leaf {
    home: usize,
    user: Option<UserId>,
    is_system: bool,
    suspended: bool,
    deleted: bool,
}

#[derive(Default)]
struct Model {
    owner: Option<OrgId>,
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
}

/// The effective mark: its time, and the organization that it is inherited from.
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

    /// The state of each row below `i`, with the counter it belongs to; suspensions of deleted rows do not show.
    fn below(&self, i: usize, mark: Mark) -> Vec<(&'static str, bool)> {
        let state = |suspended: bool, deleted: bool| match mark {
            Mark::Suspended => suspended && !deleted,
            Mark::Deleted => deleted,
        };
        let all = (0..self.nodes.len()).filter(|n| !self.nodes[*n].gone);
        let organizations = all.filter(|n| *n != i && self.path(*n).any(|a| a == i));
        let organizations = organizations.map(|n| {
            let shown = state(self.is(n, Mark::Suspended), self.is(n, Mark::Deleted));
            (self.nodes[n].org_type.plural(), shown)
        });
        let there = self.leaves.iter().filter(|l| !self.nodes[l.home].gone);
        let leaves = there.filter(|l| self.path(l.home).any(|a| a == i)).map(|l| {
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
            // Promotion is asked of resellers only.
            "promote" if self.nodes[i].gone || self.nodes[i].org_type != OrgType::Reseller || deleted => {
                return (404, "reseller not found".to_owned());
            }
            _ if self.nodes[i].gone => Some((404, "not found")),
            "destroy" => None,
            "promote" if suspended => return (409, "validation failed".to_owned()),
            "promote" => None,
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
            "restore" => self.nodes[i].deleted = None,
            "promote" => {
                (self.nodes[i].org_type, self.nodes[i].above) = (OrgType::Distributor, None);
                return (200, "reseller promoted to distributor successfully".to_owned());
            }
            _ => {
                let below: Vec<usize> =
                    (0..self.nodes.len()).filter(|n| self.path(*n).any(|a| a == i)).collect();
                below.into_iter().for_each(|n| self.nodes[n].gone = true);
                return (200, format!("{one} permanently destroyed"));
            }
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
    let family = if verb == "promote" { OrgType::Reseller } else { node.0 };
    let path = format!("/api/{}/{}", family.plural(), node.1);
    let call = match verb {
        "delete" => t.delete(&path),
        "destroy" => t.delete(&format!("{path}/destroy")),
        _ => t.patch(&format!("{path}/{verb}")),
    };
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
    let mut shown = Vec::new();
    for node in &model.nodes {
        let found = bailiwick_store::organizations::get(&t.app.platform.db, node.id).await.unwrap();
        assert_eq!(found.is_none(), node.gone, "{:?}", node.id);
        let Some(found) = found else { continue };
        assert_eq!(found.org_type, node.org_type);
        assert_eq!(found.parent_id, Some(node.above.map_or(model.owner.unwrap(), |n| model.nodes[n].id)));
        let found = if mark == Mark::Suspended { found.suspended } else { found.deleted };
        shown.push((found.at, found.by));
    }
    shown
}

/// Two branches, one of them below the owner without a distributor; leaves with and without own marks.
async fn build(t: &Test) -> Model {
    let owner = t.owner().await.org;
    let mut model = Model { owner: Some(owner), ..Model::default() };
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
        model.nodes.push(Node { id, org_type, above, suspended: None, deleted: None, gone: false });
    }
    for home in 0..shape.len() {
        let id = model.nodes[home].id;
        let user = Some(t.user(id, &["admin"]).await.id);
        model.leaves.push(Leaf { home, user, is_system: false, suspended: false, deleted: false });
        let system: SystemId = t.system(id).await.id;
        model.leaves.push(Leaf {
            home,
            user: None,
            is_system: true,
            suspended: home == 3,
            deleted: home == 5,
        });
        match home {
            3 => t.suspend_system(system).await,
            5 => t.delete_system(system).await,
            _ => {}
        }
    }
    let marked: UserId = t.user(model.nodes[2].id, &["admin"]).await.id;
    t.suspend_user(marked).await;
    model.leaves.push(Leaf {
        home: 2,
        user: Some(marked),
        is_system: false,
        suspended: true,
        deleted: false,
    });
    model
}

/// One move on both sides; everything that shows is compared.
async fn step(t: &Test, owner: &Persona, model: &mut Model, i: usize, verb: &str) {
    t.advance(std::time::Duration::from_secs(1));
    let (org_type, id, mark) = (model.nodes[i].org_type, model.nodes[i].id, mark_of(verb));
    let before = model.below(i, mark);
    let (status, message) = model.expect(i, verb, t.app.platform.now());
    let reply = send(t, owner, (org_type, id), verb).await.expect_message(status, &message);
    if status == 200 && verb != "promote" && verb != "destroy" {
        let after = model.below(i, mark);
        assert_eq!(
            counters(&reply.data(), verb),
            expected_counters(org_type, before, after),
            "{verb} of {org_type:?} {i}"
        );
    }
    for mark in [Mark::Suspended, Mark::Deleted] {
        let there = (0..model.nodes.len()).filter(|n| !model.nodes[*n].gone);
        let expected: Vec<Shown> = there.map(|n| model.shown(n, mark)).collect();
        assert_eq!(stored(t, model, mark).await, expected, "{mark:?} after {verb} of {i}");
    }
    // A refused move has changed no organization, as the comparison above shows.
    if status == 200 {
        crate::answer_cache::is_true(&[t], owner, &format!("{verb} of {i}")).await;
    }
}

/// Users and systems are where their organization is, and every manager sees the objects of the model.
async fn check_views(t: &Test, model: &Model) {
    for table in ["users", "systems"] {
        let lost = Q::new(&format!(
            "SELECT COUNT(*) FROM {table} r LEFT JOIN organizations o ON o.id = r.organization_id \
             AND o.p2 = r.p2 AND o.p3 = r.p3 WHERE o.id IS NULL"
        ));
        assert_eq!(lost.count(&t.app.platform.db).await.unwrap(), 0, "{table}");
    }
    for (home, leaf) in model.leaves.iter().enumerate().filter_map(|(n, l)| Some((l.home, (n, l.user?)))) {
        let dead = model.nodes[home].gone || model.is(home, Mark::Deleted) || model.is(home, Mark::Suspended);
        if dead || model.leaves[leaf.0].suspended {
            continue;
        }
        let who = t.session(leaf.1).await;
        let expected = (0..model.nodes.len())
            .filter(|n| !model.nodes[*n].gone && !model.is(*n, Mark::Deleted))
            .filter(|n| model.path(*n).any(|a| a == home))
            .count();
        let data = get(t, &who, "/api/organizations").await.expect(200).data();
        assert_eq!(data["pagination"]["total_count"], json!(expected), "{:?}", model.nodes[home].org_type);
    }
}

/// A plain generator, so that every run and both engines see the same sequence.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }
}

/// Clears every mark that is left, from the top down, as the user who manages the organization; nothing stays behind.
async fn bring_back(t: &Test, owner: &Persona, model: &mut Model) {
    // Parents come before their children in the list, promoted ones are at the top.
    for i in (0..model.nodes.len()).filter(|i| !model.nodes[*i].gone).collect::<Vec<_>>() {
        if model.nodes[i].deleted.is_some() {
            step(t, owner, model, i, "restore").await;
        }
        if model.nodes[i].suspended.is_some() {
            step(t, owner, model, i, "reactivate").await;
        }
    }
    let there = (0..model.nodes.len()).filter(|i| !model.nodes[*i].gone);
    assert!({ there }.all(|i| !model.is(i, Mark::Suspended) && !model.is(i, Mark::Deleted)));
}

// Proves spec: guarantees#organizations 16 18 19.
api_test!(random_moves_follow_the_model, |t| async move {
    let mut model = build(&t).await;
    let owner = t.owner().await;
    let verbs = ["suspend", "suspend", "reactivate", "reactivate", "delete", "restore", "restore", "promote"];
    let mut done = [0_u32; 2];
    let mut promoted = 0;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for n in 0..160 {
        let (mut i, mut verb) = (dice.next(model.nodes.len()), verbs[dice.next(verbs.len())]);
        // Once in a while an organization is destroyed, a customer more often than one with a tree below it.
        if n % 40 == 39 {
            (i, verb) = ([2, 7, 5, 6][n / 40], "destroy");
        }
        // Most random places are under some mark already: every other way back starts at the top.
        let marked = |n: &Node| if verb == "restore" { n.deleted.is_some() } else { n.suspended.is_some() };
        if verb.starts_with("re") && dice.next(2) == 0 {
            i = model.nodes.iter().position(|n| !n.gone && marked(n)).unwrap_or(i);
        }
        let state = |m: &Model| {
            m.nodes.iter().map(|n| (n.suspended, n.deleted, n.gone, n.org_type)).collect::<Vec<_>>()
        };
        let before = state(&model);
        step(&t, &owner, &mut model, i, verb).await;
        done[usize::from(before == state(&model))] += 1;
        promoted += u32::from(verb == "promote" && before != state(&model));
        if n % 20 == 19 {
            check_views(&t, &model).await;
        }
        // Half-way everything comes back, so that promotions of unmarked organizations happen before and after.
        if n == 80 {
            bring_back(&t, &owner, &mut model).await;
            if let Some(i) = model.nodes.iter().position(|n| !n.gone && n.org_type == OrgType::Reseller) {
                step(&t, &owner, &mut model, i, "promote").await;
                promoted += 1;
            }
        }
    }
    assert!(done.iter().all(|n| *n > 30) && promoted > 0, "moves and refusals: {done:?}, {promoted}");
    bring_back(&t, &owner, &mut model).await;
    check_views(&t, &model).await;
});
