//! Every route with an object, on real ones: an object in reach is served, and one out of reach looks as if it did not
//! exist (spec: guarantees#identity rule 4, authorization#guarantees rules 26 and 38).

use super::*;
use bailiwick_domain::OrgId;
use bailiwick_testkit::seed::Tree;
use serde_json::{Value, json};

/// Status and body without the parts that differ by request.
fn bytes(reply: &Reply) -> (u16, String) {
    (reply.status.as_u16(), reply.text())
}

/// Rows with the object of a path.
fn with_object() -> impl Iterator<Item = Route> {
    table().into_iter().filter(|r| takes_bearer(r) && r.path.contains("{id}"))
}

/// One user, one system, one application and one subscription of events of an organization.
struct Rows {
    user: String,
    system: String,
    application: String,
    subscription: String,
}

async fn rows(t: &Test, org: OrgId) -> Rows {
    let system = t.system(org).await;
    let body = json!({"name": "Hook", "url": "https://9.9.9.9/hook", "types": ["system.*"]});
    let call = t.post("/api/events/subscriptions").bearer(&t.user(org, &["admin"]).await.token);
    let made = call.json(body).send().await.expect(201).data();
    Rows {
        subscription: made["subscription"]["id"].as_str().unwrap().to_owned(),
        user: t.user(org, &["reader"]).await.id.to_string(),
        application: t.application(&system).await.to_string(),
        system: system.id.to_string(),
    }
}

/// The ids a row could be called with from these organizations and rows.
fn objects(route: &Route, organizations: &[(OrgType, OrgId)], rows: &[&Rows]) -> Vec<String> {
    match route.family {
        // Those of another type as well: they are not to be found there either.
        Some(_) => organizations.iter().map(|(_, id)| id.to_string()).collect(),
        None if route.path.starts_with("/organizations") => {
            organizations.iter().map(|(_, id)| id.to_string()).collect()
        }
        None if route.path.starts_with("/users") => rows.iter().map(|r| r.user.clone()).collect(),
        None if route.path.starts_with("/applications") => {
            rows.iter().map(|r| r.application.clone()).collect()
        }
        None if route.path.starts_with("/events/subscriptions") => {
            rows.iter().map(|r| r.subscription.clone()).collect()
        }
        None => rows.iter().map(|r| r.system.clone()).collect(),
    }
}

api_test!(
    // Proves spec: guarantees#identity 4, authorization#guarantees 26.
    foreign_malformed_and_missing_objects_answer_the_same_bytes,
    |t| async move {
        let tree = t.tree().await;
        let (of_owner, of_d, of_r) =
            (rows(&t, tree.owner).await, rows(&t, tree.distributor).await, rows(&t, tree.reseller).await);
        let of_other = rows(&t, tree.other_customer).await;
        use OrgType::{Customer, Distributor, Reseller};
        let other = [
            (Distributor, tree.other_distributor),
            (Reseller, tree.other_reseller),
            (Customer, tree.other_customer),
            (OrgType::Owner, tree.owner),
        ];
        let above = [(Distributor, tree.distributor), (Reseller, tree.reseller)];
        let from_r = [&other[..], &above[..1]].concat();
        let from_c = [&other[..], &above[..]].concat();
        let sibling = t.organization(tree.reseller, Customer, "Sibling").await;
        let from_c = [&from_c[..], &[(Customer, sibling)]].concat();
        for (org, organizations, rows) in [
            (tree.distributor, &other[..], vec![&of_other, &of_owner]),
            (tree.reseller, &from_r, vec![&of_other, &of_owner, &of_d]),
            (tree.customer, &from_c, vec![&of_other, &of_owner, &of_d, &of_r]),
        ] {
            let caller = t.user(org, &["super"]).await;
            for route in with_object() {
                let missing = bytes(&call(&t, &route, UNKNOWN).bearer(&caller.token).send().await);
                let ids = objects(&route, organizations, &rows);
                let malformed =
                    ["not-a-uuid", "0195fada00007000800000000000dead", "%00", "0", "%F0%9F%A6%80"];
                for id in ids.iter().map(String::as_str).chain(malformed) {
                    let reply = call(&t, &route, id).bearer(&caller.token).send().await;
                    assert_eq!(bytes(&reply), missing, "{route:?} with {id} from {:?}", caller.org_type);
                }
            }
        }
    }
);

// Proves spec: authorization#guarantees 26.
api_test!(deleted_and_misplaced_objects_are_missing_for_the_owner_too, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let gone = rows(&t, tree.other_customer).await;
    let path = format!("/api/distributors/{}", tree.other_distributor);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    for route in with_object() {
        let missing = bytes(&call(&t, &route, UNKNOWN).bearer(&owner.token).send().await);
        let is_for_deleted = route.path.ends_with("/restore") || route.path.ends_with("/destroy");
        let misplaced = match route.family {
            Some(OrgType::Distributor) => vec![tree.reseller, tree.customer, tree.owner],
            Some(OrgType::Reseller) => vec![tree.distributor, tree.customer, tree.owner],
            Some(_) => vec![tree.distributor, tree.reseller, tree.owner],
            None if route.path.starts_with("/organizations") => Vec::new(),
            None => vec![tree.customer],
        };
        let mut ids: Vec<String> = misplaced.iter().map(OrgId::to_string).collect();
        if !is_for_deleted {
            let deleted = [
                (OrgType::Distributor, tree.other_distributor),
                (OrgType::Reseller, tree.other_reseller),
                (OrgType::Customer, tree.other_customer),
            ];
            ids.extend(objects(&route, &deleted, &[&gone]));
        }
        for id in ids {
            let reply = call(&t, &route, &id).bearer(&owner.token).send().await;
            assert_eq!(bytes(&reply), missing, "{route:?} with {id}");
        }
    }
});

// Proves spec: guarantees#identity 4.
api_test!(references_in_bodies_and_filters_leak_no_other_branch, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let gone = t.organization(tree.other_distributor, OrgType::Customer, "Gone").await;
    t.delete(&format!("/api/customers/{gone}")).bearer(&owner.token).send().await.expect(200);
    let own = t.organization(tree.reseller, OrgType::Customer, "Own, gone").await;
    t.delete(&format!("/api/customers/{own}")).bearer(&owner.token).send().await.expect(200);
    let foreign = [tree.other_customer, tree.other_reseller, tree.other_distributor, gone, own, tree.owner];
    for org in [tree.distributor, tree.reseller, tree.customer] {
        let caller = t.user(org, &["super"]).await;
        let (user, system) = (t.user(org, &["reader"]).await.id, t.system(org).await.id);
        let person = json!({"email": "x@example.org", "name": "N", "user_role_ids": ["reader"]});
        let machine = json!({"name": "N", "organization_id": org});
        let named = json!({"name": "N", "custom_data": {"vat": "1"}});
        let references = [
            ("POST", "/users".to_owned(), person.clone(), "organization_id"),
            ("PUT", format!("/users/{user}"), json!({"name": "lost"}), "organization_id"),
            ("POST", "/systems".to_owned(), machine.clone(), "organization_id"),
            ("POST", "/systems".to_owned(), machine, "created_by_organization_id"),
            ("PUT", format!("/systems/{system}"), json!({"name": "lost"}), "organization_id"),
            ("POST", "/resellers".to_owned(), named.clone(), "created_by_organization_id"),
            ("POST", "/customers".to_owned(), named, "created_by_organization_id"),
        ];
        for (method, path, body, key) in references {
            let send = async |id: &str| {
                let mut body = body.clone();
                body[key] = json!(id);
                let call = t.call(method.parse().unwrap(), &format!("/api{path}"));
                bytes(&call.bearer(&caller.token).json(body).send().await)
            };
            let missing = send(UNKNOWN).await;
            assert_eq!(missing.0, 403, "{method} {path}: {}", missing.1);
            for id in foreign.iter().map(OrgId::to_string).chain(["x".to_owned()]) {
                assert_eq!(send(&id).await, missing, "{method} {path} {key}={id} from {:?}", caller.org_type);
            }
        }
        for list in ["resellers", "customers", "users", "systems"] {
            for more in ["", "&include_hierarchy=true", "&status=deleted"] {
                let ask = async |id: &str| {
                    let path = format!("/api/{list}?organization_id={id}{more}");
                    bytes(&t.get(&path).bearer(&caller.token).send().await)
                };
                let missing = ask(UNKNOWN).await;
                // Of systems the subtree of an organization above holds the caller's own ones (spec: systems#list).
                let is_above =
                    |id: &OrgId| *id == tree.owner && list == "systems" && more.contains("hierarchy");
                let strangers = foreign.iter().filter(|id| **id != own && !is_above(id));
                for id in strangers.map(OrgId::to_string).chain(["x".to_owned()]) {
                    assert_eq!(ask(&id).await, missing, "{list}{more} {id} from {:?}", caller.org_type);
                }
            }
        }
    }
    let touched = t.get("/api/users?search=lost").bearer(&owner.token).send().await.expect(200).data();
    assert_eq!(touched["pagination"]["total_count"], 0);
});

/// The status that a reader of a real object must get, from the specification's words alone.
fn expected(route: &Route, set: PermissionSet, org: (OrgType, OrgId), tree: &Tree, id: &str) -> u16 {
    let is_own = org.1.to_string() == id;
    match route.gate {
        Gate::Needs(needed) if !needed.iter().all(|p| set.contains(*p)) => 403,
        Gate::OneOf(enough) if !enough.iter().any(|p| set.contains(*p)) => 403,
        Gate::OwnOrganizationOr(p) if !set.contains(p) && !is_own => 403,
        _ => {
            let branch = [tree.owner, tree.distributor, tree.reseller, tree.customer];
            let depth = |id: &str| branch.iter().position(|o| o.to_string() == id);
            // Users, systems, applications and subscriptions of the sweep are in the customer, which all four reach.
            if depth(id).is_none_or(|d| d >= usize::from(org.0.level()) - 1) { 200 } else { 404 }
        }
    }
}

// Proves spec: authorization#guarantees 38.
api_test!(real_objects_are_read_by_exactly_those_who_may, |t| async move {
    let tree = t.tree().await;
    let inside = rows(&t, tree.customer).await;
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "admin", "backoffice", "support", "reader"] {
            let who = t.user(org, &[role]).await;
            let set = Catalogue::built_in().effective(who.org_type, &[role.to_owned()]).set();
            for route in with_object().filter(|r| {
                let is_within =
                    ["inventory", "{backup_id}", "{silence_id}"].iter().any(|p| r.path.contains(p));
                r.method == "GET" && !is_within
            }) {
                let own_family = match route.family {
                    Some(OrgType::Distributor) => vec![(OrgType::Distributor, tree.distributor)],
                    Some(OrgType::Reseller) => vec![(OrgType::Reseller, tree.reseller)],
                    _ => vec![(OrgType::Customer, tree.customer)],
                };
                let id = objects(&route, &own_family, &[&inside]).remove(0);
                let reply = call(&t, &route, &id).bearer(&who.token).send().await;
                let status = expected(&route, set, (who.org_type, org), &tree, &id);
                let what = format!("{route:?} {id} as {role} of {:?}: {}", who.org_type, reply.text());
                assert_eq!(reply.status.as_u16(), status, "{what}");
                match status {
                    200 => assert_ne!(reply.data(), Value::Null, "{what}"),
                    403 => assert_eq!(reply.message(), "insufficient permissions", "{what}"),
                    _ => assert!(reply.message().ends_with(" not found"), "{what}"),
                }
            }
        }
    }
});
