//! Changes of organizations that the service sends to the tenant (spec: logto#calls, organizations#life-cycle,
//! organizations#promotion).

use super::*;
use bailiwick_testkit::{parts::recorder::Answer, seed::Tree};

async fn seeded(t: &Test, l: &Logto, owner: &Persona) -> (Tree, [String; 3]) {
    let tree = t.tree().await;
    let mut people = Vec::new();
    for (name, home) in [("dora", tree.distributor), ("rita", tree.reseller), ("carla", tree.customer)] {
        people.push(new_user(t, owner, name, home).await);
    }
    push_changes(t).await;
    let _ = l.calls();
    (tree, people.try_into().unwrap())
}

logto_test!(an_organization_is_made_and_changed, |t, l| async move {
    let owner = t.owner().await;
    let body = json!({"name": "Alfa", "custom_data": {"vat": "IT90000000017", "city": "Torino"}});
    let made = t.post("/api/distributors").bearer(&owner.token).json(body).send().await.expect(201).data();
    assert_eq!((&made["logto_synced_at"], &made["logto_id"]), (&Value::Null, &made["id"]));
    let id = made["id"].as_str().unwrap();
    push_changes(&t).await;
    assert_eq!(changes(&l), ["POST /organizations", "POST /organizations/organization/jit/roles"]);
    let path = format!("/api/distributors/{id}");
    let body = json!({"name": "Alfa Nuova", "description": "North"});
    t.put(&path).bearer(&owner.token).json(body).send().await.expect(200);
    push_changes(&t).await;
    assert_eq!(changes(&l), ["PATCH /organizations/organization"]);
    let theirs = l.with(|tenant| tenant.organization_of(id)).unwrap();
    let organization = l.with(|tenant| tenant.organizations[&theirs].clone());
    assert_eq!(
        (&organization["name"], &organization["description"]),
        (&json!("Alfa Nuova"), &json!("North"))
    );
    assert_eq!(organization["customData"]["city"], "Torino");
    let shown = t.get(&path).bearer(&owner.token).send().await.expect(200).data();
    assert_eq!(
        (&shown["logto_synced_at"], &shown["logto_sync_error"]),
        (&json!(t.app.platform.now()), &Value::Null)
    );
    t.delete(&format!("{path}/destroy")).bearer(&owner.token).send().await.expect(200);
    push_changes(&t).await;
    assert_eq!(changes(&l), ["DELETE /organizations/organization"]);
});

logto_test!(all_users_who_inherit_a_state_are_updated, |t, l| async move {
    let owner = t.owner().await;
    let (tree, people) = seeded(&t, &l, &owner).await;
    let accounts: Vec<String> = people.iter().map(|id| account(&l, id)).collect();
    let path = format!("/api/distributors/{}", tree.distributor);
    // One of the users is suspended directly and stays so.
    t.patch(&format!("/api/users/{}/suspend", people[2])).bearer(&owner.token).send().await.expect(200);
    for (method, what, expected) in [
        ("PATCH", "/suspend", [true, true, true]),
        ("PATCH", "/reactivate", [false, false, true]),
        ("DELETE", "", [true, true, true]),
        ("PATCH", "/restore", [false, false, true]),
    ] {
        t.call(method.parse().unwrap(), &format!("{path}{what}"))
            .bearer(&owner.token)
            .send()
            .await
            .expect(200);
        push_changes(&t).await;
        let calls = changes(&l);
        assert!(calls.iter().all(|call| call == "PATCH /users/account/is-suspended"), "{calls:?}");
        let state: Vec<bool> =
            l.with(|tenant| accounts.iter().map(|account| is_suspended(tenant, account)).collect());
        assert_eq!(state, expected, "{what}");
    }
});

logto_test!(the_state_sent_is_that_of_the_delivery, |t, l| async move {
    let owner = t.owner().await;
    let (tree, people) = seeded(&t, &l, &owner).await;
    l.always(Answer::status(503));
    let path = format!("/api/resellers/{}", tree.reseller);
    t.patch(&format!("{path}/suspend")).bearer(&owner.token).send().await.expect(200);
    push_changes(&t).await;
    t.patch(&format!("{path}/reactivate")).bearer(&owner.token).send().await.expect(200);
    l.recover();
    t.advance(Duration::from_secs(4 * 3600));
    push_changes(&t).await;
    let account = account(&l, &people[1]);
    assert!(!l.with(|tenant| is_suspended(tenant, &account)));
});

logto_test!(a_promotion_gives_new_roles_before_it_takes_the_old, |t, l| async move {
    let owner = t.owner().await;
    let (tree, people) = seeded(&t, &l, &owner).await;
    let path = format!("/api/resellers/{}/promote", tree.reseller);
    let reply = t.patch(&path).bearer(&owner.token).send().await;
    reply.expect(200);
    push_changes(&t).await;
    let expected = [
        "PATCH /organizations/organization",
        "POST /organizations/organization/jit/roles",
        "DELETE /organizations/organization/jit/roles/orgrole",
        "POST /organizations/organization/users/account/roles",
        "DELETE /organizations/organization/users/account/roles/orgrole",
    ];
    assert_eq!(changes(&l), expected);
    let (member, other) = (account(&l, &people[1]), account(&l, &people[2]));
    l.with(|tenant| {
        assert_eq!(tenant.memberships(&member)[0].1, ["Distributor"]);
        assert_eq!(tenant.memberships(&other)[0].1, ["Customer"]);
        let theirs = tenant.memberships(&member)[0].0.clone();
        assert_eq!(tenant.jit_names(&theirs), ["Distributor"]);
        assert_eq!(tenant.organizations[&theirs]["customData"]["type"], "distributor");
    });
});

logto_test!(a_destroyed_tree_goes_users_first_then_bottom_up, |t, l| async move {
    let owner = t.owner().await;
    let (tree, _) = seeded(&t, &l, &owner).await;
    let ids = l.with(|tenant| {
        [tree.customer, tree.reseller, tree.distributor]
            .map(|id| tenant.organization_of(&id.to_string()).unwrap())
    });
    let path = format!("/api/distributors/{}/destroy", tree.distributor);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    push_changes(&t).await;
    let calls = l.calls();
    let (users, organizations) = calls.split_at(3);
    assert!(users.iter().all(|call| call.starts_with("DELETE /users/")), "{calls:?}");
    assert_eq!(organizations, ids.map(|id| format!("DELETE /organizations/{id}")));
});

logto_test!(a_large_tree_is_gone_through_in_portions, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    // Enough users for two portions. Two of them have accounts: the first and the last.
    let first = new_user(&t, &owner, "anna", tree.customer).await;
    for _ in 0..520 {
        t.user(tree.customer, &["reader"]).await;
    }
    let last = new_user(&t, &owner, "zoe", tree.customer).await;
    push_changes(&t).await;
    let _ = l.calls();
    let path = format!("/api/customers/{}/suspend", tree.customer);
    t.patch(&path).bearer(&owner.token).send().await.expect(200);
    push_changes(&t).await;
    assert_eq!(changes(&l), ["PATCH /users/account/is-suspended"; 2]);
    for id in [first, last] {
        let account = account(&l, &id);
        assert!(l.with(|tenant| is_suspended(tenant, &account)));
    }
});
