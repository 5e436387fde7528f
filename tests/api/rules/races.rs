//! Requests at the same moment: one wins, the others get the words of the specification, and none gets a fault (spec:
//! guarantees#identity rule 33; guarantees#organizations rules 11, 19, 23).

use bailiwick_domain::OrgType;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Persona, Reply, Test, api_test};
use futures_util::future::join_all;
use serde_json::{Value, json};

async fn send(t: &Test, who: &Persona, method: &str, path: &str, body: Value) -> Reply {
    t.call(method.parse().unwrap(), &format!("/api{path}")).bearer(&who.token).json(body).send().await
}

/// Exactly one has `status`; every other one is a 400 that names exactly this field with its value.
#[track_caller]
fn one_wins(replies: Vec<Reply>, status: u16, key: &str, message: &str, value: &str) {
    let won = replies.iter().filter(|r| r.status == status).count();
    assert_eq!(won, 1, "{:?}", replies.iter().map(Reply::text).collect::<Vec<_>>());
    for lost in replies.into_iter().filter(|r| r.status != status) {
        let data = lost.expect_message(400, "validation failed").data();
        let errors = json!([{"key": key, "message": message, "value": value}]);
        assert_eq!(data, json!({"type": "validation_error", "errors": errors}));
    }
}

/// The requests at once, each as a task of its own.
async fn at_once(calls: impl IntoIterator<Item = bailiwick_testkit::Call>) -> Vec<Reply> {
    let tasks: Vec<_> = calls.into_iter().map(|call| tokio::spawn(call.send())).collect();
    join_all(tasks).await.into_iter().map(Result::unwrap).collect()
}

// Proves spec: guarantees#identity 33.
api_test!(of_creations_with_one_address_or_name_one_wins, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    for round in 0..3 {
        for (key, value) in [("email", "race@example.org"), ("username", "racer")] {
            let value = format!("{value}{round}");
            let calls = (0..4).map(|n| {
                let mut body = json!({"email": format!("r{round}{key}{n}@example.org"), "name": "N",
                    "user_role_ids": ["reader"], "organization_id": tree.customer});
                body[key] = json!(value);
                t.post("/api/users").bearer(&d.token).json(body)
            });
            one_wins(at_once(calls).await, 201, key, "already_exists", &value);
        }
    }
    let users = send(&t, &d, "GET", "/users?page_size=100", json!({})).await.expect(200).data();
    assert_eq!(users["pagination"]["total_count"], 7);
});

// Proves spec: guarantees#identity 33.
api_test!(of_changes_to_one_address_or_name_one_wins, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let mut people = Vec::new();
    for _ in 0..4 {
        people.push(t.user(tree.customer, &["reader"]).await);
    }
    for (round, (key, value)) in
        [("email", "one@example.org"), ("username", "single")].into_iter().enumerate()
    {
        let calls = people.iter().map(|p| {
            t.put(&format!("/api/users/{}", p.id))
                .bearer(&d.token)
                .json(json!({key: value, "name": format!("Winner {round}")}))
        });
        one_wins(at_once(calls).await, 200, key, "already_exists", value);
        let changed = send(&t, &d, "GET", &format!("/users?search=Winner%20{round}"), json!({}))
            .await
            .expect(200)
            .data();
        assert_eq!(changed["pagination"]["total_count"], 1, "a refused change changes nothing");
    }
    let own = json!({"email": "own@example.org"});
    let calls = people.iter().map(|p| t.post("/api/me/change-info").bearer(&p.token).json(own.clone()));
    one_wins(at_once(calls).await, 200, "email", "already_exists", "own@example.org");
});

// Proves spec: guarantees#organizations 11.
api_test!(of_creations_changes_and_restores_with_one_vat_one_wins, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for family in ["distributors", "resellers"] {
        let body = |vat: &str| json!({"name": "N", "custom_data": {"vat": vat}});
        let post = |vat: &str| t.post(&format!("/api/{family}")).bearer(&owner.token).json(body(vat));
        let replies = at_once((0..4).map(|_| post("RACE 1"))).await;
        one_wins(replies, 201, "custom_data.vat", "already exists", "RACE 1");
        let mut made = Vec::new();
        for n in 0..3 {
            let reply = post(&format!("{family}{n}")).send().await.expect(201);
            made.push(reply.data()["id"].as_str().unwrap().to_owned());
        }
        let puts = made.iter().map(|id| {
            t.put(&format!("/api/{family}/{id}"))
                .bearer(&owner.token)
                .json(json!({"custom_data": {"vat": "RACE 2"}}))
        });
        one_wins(at_once(puts).await, 200, "custom_data.vat", "already exists", "RACE 2");
        // Two deleted ones that had the same number in turn come back at once.
        let mut gone = Vec::new();
        for _ in 0..3 {
            let id = post("RACE 3").send().await.expect(201).data()["id"].as_str().unwrap().to_owned();
            send(&t, &owner, "DELETE", &format!("/{family}/{id}"), json!({})).await.expect(200);
            gone.push(id);
        }
        let restores =
            gone.iter().map(|id| t.patch(&format!("/api/{family}/{id}/restore")).bearer(&owner.token));
        one_wins(at_once(restores).await, 200, "custom_data.vat", "already exists", "RACE 3");
    }
    // Customers have no such rule.
    let body =
        json!({"name": "N", "custom_data": {"vat": "RACE"}, "created_by_organization_id": tree.reseller});
    let calls = (0..4).map(|_| t.post("/api/customers").bearer(&owner.token).json(body.clone()));
    for reply in at_once(calls).await {
        reply.expect(201);
    }
});

/// A branch with people who sign in and systems that speak while it is moved and destroyed.
async fn storm(t: &Test, round: usize) {
    let owner = t.owner().await;
    let d = t.organization(owner.org, OrgType::Distributor, "D").await;
    let other = t.organization(owner.org, OrgType::Distributor, "E").await;
    let r = t.organization(d, OrgType::Reseller, "R").await;
    let (c1, c2) =
        (t.organization(r, OrgType::Customer, "C1").await, t.organization(r, OrgType::Customer, "C2").await);
    let mut calls = Vec::new();
    for (n, org) in [d, r, c1, c2, c1, c2].into_iter().enumerate() {
        let user = t.user(org, &["reader"]).await;
        let system = t.system(org).await;
        let destination = if n % 2 == 0 { other } else { r };
        calls.push(
            t.put(&format!("/api/users/{}", user.id))
                .bearer(&owner.token)
                .json(json!({"organization_id": destination})),
        );
        calls.push(t.post("/api/auth/refresh").json(json!({"refresh_token": user.refresh_token})));
        calls.push(t.post("/api/systems/heartbeat").basic(&system.key, &system.secret));
        calls.push(t.patch(&format!("/api/systems/{}/suspend", system.id)).bearer(&owner.token));
        calls.push(t.delete(&format!("/api/users/{}", user.id)).bearer(&owner.token));
    }
    let act = |method: &str, path: String| t.call(method.parse().unwrap(), &path).bearer(&owner.token);
    for (family, id) in [("customers", c1), ("resellers", r), ("distributors", d), ("customers", c2)] {
        calls.push(act("PATCH", format!("/api/{family}/{id}/suspend")));
        calls.push(act("DELETE", format!("/api/{family}/{id}/destroy")));
        calls.push(act("DELETE", format!("/api/{family}/{id}")));
        calls.push(act("PUT", format!("/api/{family}/{id}")).json(json!({"name": "X"})));
    }
    for n in 0..4 {
        let body = json!({"name": "New", "custom_data": {"vat": format!("S{round}{n}")}, "created_by_organization_id": r});
        calls.push(t.post("/api/customers").bearer(&owner.token).json(body));
        let body = json!({"email": format!("s{round}{n}@example.org"), "name": "N", "user_role_ids": ["reader"], "organization_id": c2});
        calls.push(t.post("/api/users").bearer(&owner.token).json(body));
    }
    // A test has two connections, and a heartbeat waits two seconds at most: so nine requests at a time. Each round takes them
    // in another order, by a step that has no divisor in common with their number.
    assert_eq!(calls.len(), 54);
    let step = [5, 7, 11, 13, 17, 19][round];
    let mut calls: Vec<_> = calls.into_iter().map(Some).collect();
    let order: Vec<usize> = (0..54).map(|n| n * step % 54).collect();
    for some in order.chunks(9) {
        for reply in at_once(some.iter().filter_map(|n| calls[*n].take())).await {
            assert!(reply.status.as_u16() < 500, "{}", reply.text());
        }
    }
    let left = Q::new("SELECT COUNT(*) FROM organizations WHERE id = ? OR p2 = ?").bind(d).bind(d);
    assert_eq!(
        left.count(&t.app.platform.db).await.unwrap(),
        0,
        "the distributor was destroyed whatever else happened"
    );
}

// Proves spec: guarantees#organizations 19 23.
api_test!(overlapping_moves_and_destructions_do_not_block_each_other, |t| async move {
    for round in 0..6 {
        storm(&t, round).await;
        let wrong: Vec<(i64, i64, i64, i64)> = Q::new(
            "SELECT n.users, CAST((SELECT COUNT(*) FROM users u WHERE u.organization_id = n.organization_id \
             AND u.deleted_at IS NULL) AS BIGINT), n.systems, CAST((SELECT COUNT(*) FROM systems s \
             WHERE s.organization_id = n.organization_id AND s.deleted_at IS NULL) AS BIGINT) FROM organization_counts n",
        )
        .all(&t.app.platform.db)
        .await
        .unwrap();
        assert!(wrong.iter().all(|(users, u, systems, s)| users == u && systems == s), "{wrong:?}");
    }
});
