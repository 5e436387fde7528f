//! One scope everywhere: lists, details, totals and filters of every level agree, in every process, after every change
//! (spec: guarantees#organizations rules 2, 4, 22; spec: authorization#guarantees rules 28, 29, 34).

use bailiwick_domain::{OrgId, OrgType};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const FAMILIES: [&str; 3] = ["distributors", "resellers", "customers"];

/// An organization as the test knows it; `parent` is an index into the list.
struct Node {
    id: OrgId,
    org_type: OrgType,
    parent: Option<usize>,
    is_deleted: bool,
}

async fn get(t: &Test, who: &Persona, path: &str) -> bailiwick_testkit::Reply {
    t.get(&format!("/api{path}")).bearer(&who.token).send().await
}

/// Every shape the tree can have: each type below each parent it may have, a suspended branch and a deleted one.
async fn forest(t: &Test) -> Vec<Node> {
    use OrgType::{Customer, Distributor, Reseller};
    let mut nodes =
        vec![Node { id: t.tree().await.owner, org_type: OrgType::Owner, parent: None, is_deleted: false }];
    for (org_type, parent) in [
        (Distributor, 0),
        (Reseller, 1),
        (Customer, 2),
        (Customer, 1),
        (Reseller, 0),
        (Customer, 5),
        (Customer, 0),
        (Distributor, 0),
        (Reseller, 8),
        (Customer, 9),
        (Reseller, 1),
        (Customer, 11),
    ] {
        let id = t.organization(nodes[parent].id, org_type, &format!("N{}", nodes.len())).await;
        nodes.push(Node { id, org_type, parent: Some(parent), is_deleted: false });
    }
    nodes
}

/// Whether `i` is `top` or below it, and not deleted, by the test's own walk up the parents.
fn reaches(nodes: &[Node], top: usize, i: usize) -> bool {
    let path: Vec<usize> = std::iter::successors(Some(i), |n| nodes[*n].parent).collect();
    path.contains(&top) && path.iter().all(|n| !nodes[*n].is_deleted)
}

async fn ids(t: &Test, who: &Persona, what: &str) -> BTreeSet<String> {
    let data = get(t, who, &format!("/{what}?page_size=100")).await.expect(200).data();
    let rows = data[what].as_array().unwrap();
    assert_eq!(data["pagination"]["total_count"], json!(rows.len()), "{what}");
    rows.iter().map(|r| r["id"].as_str().unwrap().to_owned()).collect()
}

/// Users or systems with their organizations, as stored.
async fn stored(t: &Test, table: &str) -> Vec<(String, OrgId)> {
    let rows: Vec<(uuid::Uuid, uuid::Uuid)> =
        Q::new(&format!("SELECT id, organization_id FROM {table}")).all(&t.app.platform.db).await.unwrap();
    rows.into_iter().map(|(id, org)| (id.to_string(), OrgId(org))).collect()
}

/// The families: lists, details, stats and totals against the expected set.
async fn families_agree(t: &Test, nodes: &[Node], top: usize, who: &Persona) {
    let level = nodes[top].org_type.level();
    for family in FAMILIES {
        let one = family.trim_end_matches('s');
        let members: Vec<usize> =
            (0..nodes.len()).filter(|i| nodes[*i].org_type.plural() == family).collect();
        let is_open = level < nodes[members[0]].org_type.level();
        let expected: BTreeSet<String> =
            members.iter().filter(|i| reaches(nodes, top, **i)).map(|i| nodes[*i].id.to_string()).collect();
        if is_open {
            let listed = ids(t, who, family).await;
            // The trees that every test database has beside this one are the owner's too.
            let ours: BTreeSet<String> = members.iter().map(|i| nodes[*i].id.to_string()).collect();
            assert_eq!(
                listed.intersection(&ours).cloned().collect::<BTreeSet<_>>(),
                expected,
                "{family} of {top}"
            );
            assert!(top == 0 || listed == expected, "{family} of {top}");
            let total = get(t, who, &format!("/{family}/totals")).await.expect(200).data()["total"].clone();
            assert_eq!(total, json!(listed.len()), "{family} of {top}");
        } else {
            get(t, who, &format!("/{family}")).await.expect_message(403, "insufficient permissions");
        }
        for i in members {
            for path in [format!("/{family}/{}", nodes[i].id), format!("/{family}/{}/stats", nodes[i].id)] {
                let reply = get(t, who, &path).await;
                if reaches(nodes, top, i) && (is_open || i == top) {
                    reply.expect(200);
                } else if is_open {
                    reply.expect_message(404, &format!("{one} not found"));
                } else {
                    reply.expect_message(403, "insufficient permissions");
                }
            }
        }
    }
}

/// Users and systems: lists, details and totals against the organizations in reach.
async fn rows_agree(t: &Test, nodes: &[Node], top: usize, who: &Persona) {
    for table in ["users", "systems"] {
        let in_reach = |org: &OrgId| {
            nodes.iter().position(|n| n.id == *org).map_or(top == 0, |i| reaches(nodes, top, i))
        };
        let all = stored(t, table).await;
        let expected: BTreeSet<String> =
            all.iter().filter(|(_, org)| in_reach(org)).map(|(id, _)| id.clone()).collect();
        assert!(!expected.is_empty() && (top == 0 || expected.len() < all.len()));
        assert_eq!(ids(t, who, table).await, expected, "{table} of {top}");
        for (id, _) in &all {
            let status = get(t, who, &format!("/{table}/{id}")).await.status.as_u16();
            assert_eq!(status, if expected.contains(id) { 200 } else { 404 }, "{table}/{id} of {top}");
        }
        // A filter that names organizations outside the scope adds nothing.
        let foreign: Vec<String> = nodes.iter().map(|n| format!("organization_id={}", n.id)).collect();
        let data =
            get(t, who, &format!("/{table}?page_size=100&{}", foreign.join("&"))).await.expect(200).data();
        let filtered = data[table].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap().to_owned());
        assert!(filtered.collect::<BTreeSet<_>>().is_subset(&expected), "{table} of {top}");
    }
    let totals = get(t, who, "/users/totals").await.expect(200).data();
    assert_eq!(totals["total"], json!(ids(t, who, "users").await.len()));
}

// Proves spec: guarantees#organizations 2, authorization#guarantees 28 34.
api_test!(lists_and_details_agree_for_every_level, |t| async move {
    let mut nodes = forest(&t).await;
    let mut personas = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let who = t.user(node.id, &["super"]).await;
        t.system(node.id).await;
        // No user of a suspended branch (8) or of a deleted one (11) can ask.
        if !reaches(&nodes, 8, i) && !reaches(&nodes, 11, i) {
            personas.push((i, who));
        }
    }
    let owner = t.owner().await;
    let act = |method: &str, path: String| t.call(method.parse().unwrap(), &path).bearer(&owner.token).send();
    act("PATCH", format!("/api/distributors/{}/suspend", nodes[8].id)).await.expect(200);
    act("DELETE", format!("/api/resellers/{}", nodes[11].id)).await.expect(200);
    nodes[11].is_deleted = true;
    for (top, who) in &personas {
        families_agree(&t, &nodes, *top, who).await;
        rows_agree(&t, &nodes, *top, who).await;
    }
    act("PATCH", format!("/api/resellers/{}/restore", nodes[11].id)).await.expect(200);
    nodes[11].is_deleted = false;
    for (top, who) in personas.iter().take(3) {
        families_agree(&t, &nodes, *top, who).await;
        rows_agree(&t, &nodes, *top, who).await;
    }
});

// Proves spec: guarantees#organizations 4, authorization#guarantees 28.
api_test!(every_process_sees_the_present_tree, |t| async move {
    let tree = t.tree().await;
    let second = t.replica().await;
    // SQLite belongs to one process.
    let other = if t.app.platform.db.is_postgres() { &second } else { &t };
    let owner = t.owner().await;
    let (d, r) = (t.user(tree.distributor, &["super"]).await, t.user(tree.reseller, &["super"]).await);
    let user = t.user(tree.reseller, &["reader"]).await;
    let sees = async |who: &Persona, what: &str, id: &str| {
        let status = get(other, who, &format!("/{what}/{id}")).await.status.as_u16();
        let listed = ids(other, who, what).await.contains(id);
        assert_eq!(status, if listed { 200 } else { 404 }, "{what}/{id}");
        listed
    };
    // Both processes have been asked before anything changes.
    assert!(sees(&r, "users", &user.id.to_string()).await);
    let body =
        json!({"name": "New", "custom_data": {"vat": "1"}, "created_by_organization_id": tree.reseller});
    let made = t.post("/api/customers").bearer(&d.token).json(body).send().await.expect(201).data();
    let id = made["id"].as_str().unwrap();
    assert!(sees(&r, "customers", id).await && sees(&d, "customers", id).await);
    let path = format!("/api/customers/{id}");
    t.delete(&path).bearer(&d.token).send().await.expect(200);
    assert!(!sees(&r, "customers", id).await);
    t.patch(&format!("{path}/restore")).bearer(&d.token).send().await.expect(200);
    assert!(sees(&r, "customers", id).await);
    t.delete(&format!("{path}/destroy")).bearer(&owner.token).send().await.expect(200);
    assert!(!sees(&d, "customers", id).await);
    let move_to = |org: OrgId| {
        let call = t.put(&format!("/api/users/{}", user.id)).bearer(&owner.token);
        call.json(json!({"organization_id": org})).send()
    };
    move_to(tree.other_customer).await.expect(200);
    assert!(!sees(&r, "users", &user.id.to_string()).await && !sees(&d, "users", &user.id.to_string()).await);
    // The moved user sees what users of their new organization see, with the token that they had.
    let visible = ids(other, &user, "users").await;
    assert!(visible.contains(&user.id.to_string()) && !visible.contains(&r.id.to_string()));
    move_to(tree.distributor).await.expect(200);
    assert!(sees(&d, "users", &user.id.to_string()).await && !sees(&r, "users", &user.id.to_string()).await);
    t.delete(&format!("/api/resellers/{}", tree.reseller)).bearer(&d.token).send().await.expect(200);
    assert!(!sees(&d, "customers", &tree.customer.to_string()).await);
    assert!(!sees(&d, "users", &r.id.to_string()).await);
});

// Proves spec: authorization#guarantees 29.
api_test!(a_new_system_is_visible_at_once_to_all_above, |t| async move {
    let tree = t.tree().await;
    let second = t.replica().await;
    let mut personas = Vec::new();
    for (org, sees) in [
        (tree.owner, true),
        (tree.distributor, true),
        (tree.reseller, true),
        (tree.customer, true),
        (tree.other_distributor, false),
        (tree.other_reseller, false),
        (tree.other_customer, false),
    ] {
        let who = t.user(org, &["support"]).await;
        assert_eq!(ids(&t, &who, "systems").await.len(), 0);
        personas.push((who, sees));
    }
    let body = json!({"name": "Fresh", "organization_id": tree.customer});
    let made = t.post("/api/systems").bearer(&personas[2].0.token).json(body).send().await.expect(201).data();
    let id = made["id"].as_str().unwrap();
    let processes = if t.app.platform.db.is_postgres() { vec![&t, &second] } else { vec![&t] };
    for process in processes {
        for (who, sees) in &personas {
            assert_eq!(ids(process, who, "systems").await.contains(id), *sees, "{:?}", who.org_type);
            let status = get(process, who, &format!("/systems/{id}")).await.status.as_u16();
            assert_eq!(status, if *sees { 200 } else { 404 }, "{:?}", who.org_type);
        }
    }
});

// Proves spec: guarantees#organizations 22.
api_test!(customers_of_a_deleted_reseller_are_hidden_from_all_alike, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["super"]).await;
    let (user, system) = (t.user(tree.customer, &["reader"]).await, t.system(tree.customer).await);
    let paths = [
        format!("/customers/{}", tree.customer),
        format!("/users/{}", user.id),
        format!("/systems/{}", system.id),
    ];
    t.delete(&format!("/api/resellers/{}", tree.reseller)).bearer(&d.token).send().await.expect(200);
    for who in [&owner, &d] {
        for path in &paths {
            get(&t, who, path).await.expect(404);
        }
        assert!(!ids(&t, who, "customers").await.contains(&tree.customer.to_string()));
        let deleted = get(&t, who, "/customers?status=deleted").await.expect(200).data();
        assert_eq!(deleted["customers"][0]["id"], json!(tree.customer));
        assert_eq!(deleted["customers"][0]["deleted_by_org_id"], json!(tree.reseller));
    }
    t.patch(&format!("/api/resellers/{}/restore", tree.reseller)).bearer(&d.token).send().await.expect(200);
    for path in &paths {
        let read = get(&t, &d, path).await.expect(200).data();
        assert_eq!((&read["deleted_at"], &read["deleted_by_org_id"]), (&Value::Null, &Value::Null));
    }
});
