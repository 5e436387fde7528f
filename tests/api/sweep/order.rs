//! Which check comes first, on every route (spec: conventions#order-of-checks, authorization#order-of-checks).

use super::*;

// Proves spec: authorization#guarantees 38.
api_test!(the_version_is_looked_at_before_the_caller, |settings| all(settings), |t| async move {
    for route in table().iter().filter(|r| !r.is_proxied()) {
        let reply = call(&t, route, UNKNOWN).header("api-version", "2020-01-01").send().await;
        assert_eq!(
            (reply.status.as_u16(), reply.message()),
            (400, "unsupported api version".to_owned()),
            "{route:?}"
        );
    }
});

// Proves spec: authorization#guarantees 38.
api_test!(the_gate_is_asked_before_the_body_is_read, |t| async move {
    let tree = t.tree().await;
    let huge = "x".repeat(1_048_577);
    let nobody = t.user(tree.customer, &["support"]).await;
    let set = Catalogue::built_in().effective(nobody.org_type, &["support".to_owned()]).set();
    for route in table().iter().filter(|r| takes_bearer(r) && r.method != "GET") {
        let Some(text) = refusal(route.gate, set, nobody.org_type) else { continue };
        for body in ["{", "", &huge] {
            let reply = t
                .call(route.method.clone(), &path(route, UNKNOWN))
                .bearer(&nobody.token)
                .body(body.to_owned());
            reply.send().await.expect_message(403, &text);
        }
    }
});

// Proves spec: authorization#guarantees 38.
api_test!(an_object_out_of_reach_is_missing_whatever_the_body_is, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["super"]).await;
    let foreign = t.user(tree.other_customer, &["reader"]).await.id.to_string();
    let system = t.system(tree.other_customer).await;
    let (application, system) = (t.application(&system).await.to_string(), system.id.to_string());
    let set = Catalogue::built_in().effective(d.org_type, &["super".to_owned()]).set();
    let rows = table().into_iter().filter(|r| takes_bearer(r) && r.path.contains("{id}"));
    for route in rows.filter(|r| r.method != "GET") {
        let (id, kind) = match route.family {
            Some(OrgType::Reseller) => (tree.other_reseller.to_string(), "reseller"),
            Some(OrgType::Customer) => (tree.other_customer.to_string(), "customer"),
            Some(_) => (tree.other_distributor.to_string(), "distributor"),
            None if route.path.starts_with("/resellers") => (tree.other_reseller.to_string(), "reseller"),
            None if route.path.starts_with("/users") => (foreign.clone(), "user"),
            None if route.path.starts_with("/events/subscriptions") => {
                (UNKNOWN.to_owned(), "event subscription")
            }
            None if route.path.starts_with("/me/second-factors") => (UNKNOWN.to_owned(), "passkey"),
            None if route.path.starts_with("/organizations") => {
                (tree.other_customer.to_string(), "organization")
            }
            None if route.path.starts_with("/me/api-keys") => (UNKNOWN.to_owned(), "api key"),
            None if route.path.starts_with("/me/sessions") => (UNKNOWN.to_owned(), "session"),
            None if route.path.starts_with("/resellers") => (tree.other_reseller.to_string(), "reseller"),
            None if route.path.starts_with("/applications") => (application.clone(), "application"),
            None => (system.clone(), "system"),
        };
        for body in ["{", "{}", "[]", "{\"name\":\"\",\"organization_id\":\"x\",\"user_role_ids\":[]}"] {
            let reply =
                t.call(route.method.clone(), &path(&route, &id)).bearer(&d.token).body(body).send().await;
            match refusal(route.gate, set, d.org_type) {
                Some(text) => reply.expect_message(403, &text),
                None => reply.expect_message(404, &format!("{kind} not found")),
            };
        }
    }
});

// Proves spec: authorization#guarantees 38.
api_test!(oneself_is_refused_after_the_gate_and_before_the_body, |t| async move {
    let tree = t.tree().await;
    let (boss, support) = (t.owner().await, t.user(tree.distributor, &["support"]).await);
    let guarded: Vec<Route> = table().into_iter().filter(|r| r.not_self).collect();
    assert!(guarded.len() >= 7, "{guarded:?}");
    for route in table().iter().filter(|r| r.path.starts_with("/users/{id}") && r.method != "GET") {
        assert!(route.not_self, "{route:?} has no self guard");
    }
    for route in guarded {
        for id in [boss.id.to_string(), boss.id.to_string().to_uppercase()] {
            let own =
                t.call(route.method.clone(), &path(&route, &id)).bearer(&boss.token).body("{").send().await;
            own.expect_message(403, "cannot perform administrative actions on yourself");
        }
        let own = path(&route, &support.id.to_string());
        let reply = t.call(route.method.clone(), &own).bearer(&support.token).body("{").send().await;
        reply.expect_message(403, "insufficient permissions");
    }
    t.get("/api/me").bearer(&boss.token).send().await.expect(200);
});
