//! Random trees: no answer to any caller holds a name, an id or a count of another branch (spec:
//! guarantees#organizations, rules 2, 3, 5, 6 and 25). Every GET of the route table takes part, so one that is added
//! later does too.

use bailiwick_api::routes::{Credential, Route, table};
use bailiwick_domain::{OrgId, OrgType};
use bailiwick_testkit::{Persona, Reply, Test, api_test, seed::Seeded};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// An organization with its users and systems.
struct Node {
    id: OrgId,
    org_type: OrgType,
    /// Index of the one above; none = the owner.
    above: Option<usize>,
    name: String,
    /// Own deletion.
    deleted: bool,
    suspended: bool,
    users: Vec<Persona>,
    /// Id and key of its systems.
    systems: Vec<[String; 2]>,
}

struct Tree(Vec<Node>);

/// A plain generator, so that both engines see the same trees.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }
}

impl Tree {
    fn path(&self, i: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(i), |n| self.0[*n].above)
    }

    /// Inside the subtree of `root`; none = everything.
    fn contains(&self, root: Option<usize>, i: usize) -> bool {
        root.is_none_or(|root| self.path(i).any(|n| n == root))
    }

    fn is_deleted(&self, i: usize) -> bool {
        self.path(i).any(|n| self.0[n].deleted)
    }

    fn can_sign_in(&self, i: usize) -> bool {
        !self.path(i).any(|n| self.0[n].deleted || self.0[n].suspended)
    }

    /// Rows that a list, total, trend or filter of this scope may count.
    fn live(&self, root: Option<usize>) -> impl Iterator<Item = &Node> {
        (0..self.0.len()).filter(move |i| self.contains(root, *i) && !self.is_deleted(*i)).map(|i| &self.0[i])
    }

    /// The texts that must not be in any answer: everything that is neither in the scope nor above it.
    fn foreign(&self, root: Option<usize>) -> Vec<(usize, Vec<String>)> {
        let above = |i: usize| root.is_some_and(|root| self.path(root).any(|n| n == i));
        let others = (0..self.0.len()).filter(|i| !self.contains(root, *i) && !above(*i));
        others
            .map(|i| {
                let node = &self.0[i];
                let mut words = vec![node.id.to_string(), node.name.clone()];
                words.extend(node.users.iter().map(|u| u.id.to_string()));
                words.extend(node.systems.iter().flatten().cloned());
                (i, words)
            })
            .collect()
    }
}

/// An alert that fires, silenced, with a note, and one that is over; their names are that of the organization.
async fn alarm(t: &Test, system: &Seeded, name: &str) {
    let call = |path: &str, body: Value| {
        let call = t.post(&format!("/api/services/mimir/alertmanager/api/v2/{path}"));
        call.basic(&system.key, &system.secret).json(body).send()
    };
    let now = t.app.platform.now();
    let end = now.plus(std::time::Duration::from_secs(3600)).rfc3339(0);
    let alerts = serde_json::json!([
        {"labels": {"alertname": format!("{name}-fires"), "severity": "critical"}, "endsAt": end},
        {"labels": {"alertname": format!("{name}-over")}, "startsAt": now.minus(std::time::Duration::from_secs(9)).rfc3339(0),
            "endsAt": now.rfc3339(0)},
    ]);
    call("alerts", alerts).await.expect(200);
    let silence = serde_json::json!({"matchers": [{"name": "alertname", "value": format!("{name}-fires"),
        "isRegex": false}], "comment": name, "createdBy": name, "startsAt": now.rfc3339(0), "endsAt": end});
    call("silences", silence).await.expect(200);
}

async fn grow(t: &Test, dice: &mut Dice) -> Tree {
    let owner = t.owner().await;
    let mut tree = Tree(Vec::new());
    for n in 0..12 {
        let choices: Vec<(Option<usize>, OrgType)> = (0..tree.0.len())
            .filter(|i| tree.0[*i].org_type != OrgType::Customer)
            .flat_map(|i| {
                let reseller = (tree.0[i].org_type == OrgType::Distributor).then_some(OrgType::Reseller);
                reseller.into_iter().chain([OrgType::Customer]).map(move |kind| (Some(i), kind))
            })
            .chain([(None, OrgType::Reseller), (None, OrgType::Customer)])
            .collect();
        // Two distributors to begin with.
        let (above, org_type) =
            if n < 2 { (None, OrgType::Distributor) } else { choices[dice.next(choices.len())] };
        let name = format!("zq{n}{}q", dice.next(1000));
        let id = t.organization(above.map_or(owner.org, |i| tree.0[i].id), org_type, &name).await;
        let mut users = Vec::new();
        for role in ["super", "reader"] {
            users.push(t.user(id, &[role]).await);
        }
        let mut systems = Vec::new();
        for _ in 0..dice.next(3) {
            let system = t.system(id).await;
            alarm(t, &system, &name).await;
            systems.push([system.id.to_string(), system.key]);
        }
        tree.0.push(Node { id, org_type, above, name, deleted: false, suspended: false, users, systems });
    }
    // A user of the organization above creates a user below, so that there are creators.
    for i in 2..tree.0.len() {
        let creator = tree.0[i].above.and_then(|a| tree.0[a].users.first()).cloned();
        let body = serde_json::json!({"email": format!("made{i}@example.org"), "name": "Made",
            "user_role_ids": ["reader"], "organization_id": tree.0[i].id});
        let creator = creator.unwrap_or_else(|| owner.clone());
        let made = t.post("/api/users").bearer(&creator.token).json(body).send().await.expect(201).data();
        let id = made["id"].as_str().unwrap().parse().unwrap();
        tree.0[i].users.push(Persona { id, ..creator });
    }
    for verb in ["suspend", "delete"] {
        let i = 2 + dice.next(tree.0.len() - 2);
        let path = format!("/api/{}/{}", tree.0[i].org_type.plural(), tree.0[i].id);
        if verb == "delete" {
            t.delete(&path).bearer(&owner.token).send().await.expect(200);
            tree.0[i].deleted = true;
        } else {
            t.patch(&format!("{path}/suspend")).bearer(&owner.token).send().await.expect(200);
            tree.0[i].suspended = true;
        }
    }
    tree
}

/// GETs without an object that answer a person's token.
fn readable() -> Vec<Route> {
    let takes_bearer =
        |r: &Route| matches!(r.credential, Credential::User | Credential::Session | Credential::SessionOrKey);
    let plain = |r: &Route| r.method == "GET" && !r.path.contains('{');
    table().into_iter().filter(|r| plain(r) && takes_bearer(r) && !r.is_proxied()).collect()
}

async fn get(t: &Test, who: &Persona, path: &str) -> Reply {
    t.get(path).bearer(&who.token).send().await
}

fn check(reply: &Reply, what: &str, foreign: &[(usize, Vec<String>)]) {
    let text = reply.text();
    assert!(reply.status.as_u16() < 500, "{what}: {text}");
    for word in foreign.iter().flat_map(|(_, words)| words) {
        assert!(!text.contains(word.as_str()), "{what} leaks {word}: {text}");
    }
}

/// Answers about missing objects, each requested once.
struct Absent<'a> {
    t: &'a Test,
    who: &'a Persona,
    answers: BTreeMap<String, Reply>,
}

impl Absent<'_> {
    /// Asserts that the answer about an object of another branch is the same.
    async fn answers_like(&mut self, family: &str, id: &str, rest: &str, other: &str) {
        let path = |id: &str| format!("/api/{family}/{id}{rest}");
        let nowhere = path("00000000-0000-7000-8000-000000000000");
        if !self.answers.contains_key(&nowhere) {
            let reply = get(self.t, self.who, &nowhere).await;
            self.answers.insert(nowhere.clone(), reply);
        }
        let (reply, missing) = (get(self.t, self.who, &path(id)).await, &self.answers[&nowhere]);
        assert_eq!(
            (reply.status, &reply.body),
            (missing.status, &missing.body),
            "{family}{rest} of a {other}"
        );
    }
}

/// Everything this person can ask for, in all the ways that might reach across.
async fn ask(t: &Test, tree: &Tree, root: Option<usize>, who: &Persona, dice: &mut Dice) {
    let foreign = tree.foreign(root);
    let strange = (!foreign.is_empty()).then(|| &foreign[dice.next(foreign.len())]);
    for route in readable() {
        let mut queries = vec![
            String::new(),
            "?format=csv&period=365".to_owned(),
            "?page_size=100&status=deleted&status=suspended&status=enabled&sort_by=name".to_owned(),
        ];
        if let Some((i, words)) = strange {
            let node = &tree.0[*i];
            queries.push(format!("?search={}&format=csv", node.name));
            queries.push(format!("?organization_id={}&include_hierarchy=true&format=csv", node.id));
            queries.push(format!("?created_by={}", words[2]));
            queries.push(format!("?organization_id={}&include=descendants", node.id));
            if let Some([_, key]) = node.systems.first() {
                queries.push(format!(
                    "?system_key={key}&status=firing&status=resolved&status=active&status=suppressed"
                ));
            }
        }
        // Each time the plain query and some of the others. Over all callers, every query runs many times.
        while queries.len() > 4 {
            queries.remove(1 + dice.next(queries.len() - 1));
        }
        for query in queries {
            let path = format!("/api{}{query}", route.path);
            let reply = get(t, who, &path).await;
            check(&reply, &path, &foreign);
        }
    }
    let mut absent = Absent { t, who, answers: BTreeMap::new() };
    for (i, _) in &foreign {
        let node = &tree.0[*i];
        let (one, many) = (node.org_type.as_str(), node.org_type.plural());
        for rest in ["", "/stats"] {
            absent.answers_like(many, &node.id.to_string(), rest, one).await;
        }
        absent.answers_like("users", &node.users[0].id.to_string(), "", one).await;
        if let Some([id, _]) = node.systems.first() {
            for rest in ["", "/alerts", "/alerts/history", "/alerts/silences"] {
                absent.answers_like("systems", id, rest, one).await;
            }
        }
        let vat = bailiwick_store::organizations::get(&t.app.platform.db, node.id)
            .await
            .unwrap()
            .unwrap()
            .vat
            .unwrap();
        let answer = get(t, who, &format!("/api/validators/vat/{many}?vat={vat}")).await.expect(200).data();
        assert_eq!(answer["exists"], false, "{many} {vat}");
    }
}

fn names(data: &Value, key: &str) -> BTreeSet<String> {
    let rows = data[key].as_array().unwrap_or_else(|| panic!("{key}: {data}"));
    rows.iter().map(|r| r["name"].as_str().unwrap().to_owned()).collect()
}

/// Totals, lists, trends and filters agree with the model.
async fn count(t: &Test, tree: &Tree, root: Option<usize>, who: &Persona) {
    let live: Vec<&Node> = tree.live(root).collect();
    for family in [OrgType::Distributor, OrgType::Reseller, OrgType::Customer] {
        let many = family.plural();
        let listed = get(t, who, &format!("/api/{many}?page_size=100")).await;
        if listed.status == 403 {
            continue;
        }
        let expected: BTreeSet<String> =
            live.iter().filter(|n| n.org_type == family).map(|n| n.name.clone()).collect();
        let data = listed.expect(200).data();
        assert_eq!(names(&data, many), expected);
        let total = get(t, who, &format!("/api/{many}/totals")).await.expect(200).data();
        let trend = get(t, who, &format!("/api/{many}/trend?period=30")).await.expect(200).data();
        for n in [&data["pagination"]["total_count"], &total["total"], &trend["current_total"]] {
            assert_eq!(n.as_u64(), Some(expected.len() as u64), "{many}");
        }
    }
    let everything = get(t, who, "/api/organizations").await.expect(200).data();
    assert_eq!(names(&everything, "organizations"), live.iter().map(|n| n.name.clone()).collect());
    // The owner's own users are in the owner's scope only.
    let users = live.iter().map(|n| n.users.len()).sum::<usize>() + usize::from(root.is_none());
    let systems = live.iter().map(|n| n.systems.len()).sum::<usize>();
    for (family, expected) in [("users", users), ("systems", systems)] {
        let data = get(t, who, &format!("/api/{family}?page_size=1")).await.expect(200).data();
        assert_eq!(data["pagination"]["total_count"].as_u64(), Some(expected as u64), "{family}");
    }
    let listed = get(t, who, "/api/alerts?page_size=1").await.expect(200).data();
    let figures = get(t, who, "/api/alerts/totals").await.expect(200).data();
    let stats = get(t, who, "/api/alerts/stats").await.expect(200).data();
    let trend = get(t, who, "/api/alerts/trend").await.expect(200).data();
    let history = get(t, who, "/api/alerts/history").await.expect(200).data();
    let silences = get(t, who, "/api/alerts/silences").await.expect(200).data();
    // Of each system one fires, which is silenced, and one is over.
    for n in [
        &listed["pagination"]["total_count"],
        &figures["active"],
        &figures["critical"],
        &figures["muted"],
        &figures["history"],
        &stats["total"],
        &trend["current_total"],
        &history["pagination"]["total_count"],
        &Value::from(silences["silences"].as_array().map(Vec::len).unwrap_or_default()),
    ] {
        assert_eq!(n.as_u64(), Some(systems as u64), "{figures} {stats}");
    }
    let totals = get(t, who, "/api/users/totals").await.expect(200).data();
    let trend = get(t, who, "/api/users/trend").await.expect(200).data();
    assert_eq!((&totals["total"], &trend["current_total"]), (&users.into(), &users.into()));
    let filters = get(t, who, "/api/filters/users").await.expect(200).data();
    let mut homes: BTreeSet<String> = live.iter().map(|n| n.name.clone()).collect();
    if root.is_none() {
        homes.insert("Owner".to_owned());
    }
    assert_eq!(names(&filters, "organizations"), homes);
}

// Proves spec: guarantees#organizations 2 25.
api_test!(no_answer_leaks_another_branch, |t| async move {
    let mut dice = Dice(0x5851_f42d_4c95_7f2d);
    for _ in 0..2 {
        let tree = grow(&t, &mut dice).await;
        for i in (0..tree.0.len()).filter(|i| tree.can_sign_in(*i)) {
            // The user with the most rights asks for everything; a user who may only read asks for the counts.
            ask(&t, &tree, Some(i), &tree.0[i].users[0], &mut dice).await;
            count(&t, &tree, Some(i), &tree.0[i].users[1]).await;
        }
        let owner = t.owner().await;
        count(&t, &tree, None, &owner).await;
        // The next tree stands alone again.
        for node in tree.0.iter().filter(|node| node.above.is_none()) {
            let path = format!("/api/{}/{}/destroy", node.org_type.plural(), node.id);
            t.delete(&path).bearer(&owner.token).send().await.expect(200);
        }
    }
});
