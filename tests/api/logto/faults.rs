//! A tenant that is gone, slow, refuses or forgets to answer (spec: guarantees#identity rules 27, 29, 36, 37).

use super::*;
use bailiwick_testkit::parts::{logto::Fault, recorder::Answer};

const A_DAY: Duration = Duration::from_secs(86_400);

// Proves spec: guarantees#identity 29.
logto_test!(an_outage_fails_nothing_and_is_made_good, |t, l| async move {
    l.always(Answer::dropped());
    let (owner, tree) = (t.owner().await, t.tree().await);
    let body = json!({"name": "Delta", "custom_data": {"vat": "IT90000000017"}});
    let made = t.post("/api/distributors").bearer(&owner.token).json(body).send().await.expect(201).data();
    let home = made["id"].as_str().unwrap().to_owned();
    let id = new_user(&t, &owner, "anna", home.parse().unwrap()).await;
    let path = format!("/api/users/{id}");
    for body in [json!({"name": "B"}), json!({"name": "C"}), json!({"organization_id": tree.customer})] {
        t.put(&path).bearer(&owner.token).json(body).send().await.expect(200);
        push_changes(&t).await;
    }
    t.patch(&format!("{path}/suspend")).bearer(&owner.token).send().await.expect(200);
    t.patch(&format!("/api/distributors/{home}/suspend")).bearer(&owner.token).send().await.expect(200);
    assert_eq!(shown(&t, &id).await["logto_sync_error"], Value::Null);
    push_changes(&t).await;
    l.recover();
    t.advance(A_DAY);
    push_changes(&t).await;
    let account = account(&l, &id);
    l.with(|tenant| {
        assert_eq!(tenant.users.len(), 1);
        assert_eq!(tenant.users[&account]["name"], "C");
        assert!(is_suspended(tenant, &account));
        assert_eq!(tenant.memberships(&account)[0].1, ["Customer"]);
        assert!(tenant.organization_of(&home).is_some());
    });
    assert_eq!(shown(&t, &id).await["logto_synced_at"], json!(t.app.platform.now()));
});

// Proves spec: guarantees#identity 27 28.
logto_test!(a_change_and_its_sync_entry_commit_together, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    new_user(&t, &owner, "taken", tree.customer).await;
    push_changes(&t).await;
    let _ = l.calls();
    // A change that fails changes nothing anywhere: neither name nor roles, and there is nothing to send.
    let body = json!({"name": "B", "user_role_ids": ["reader"], "email": "taken@example.org"});
    t.put(&format!("/api/users/{id}")).bearer(&owner.token).json(body).send().await.expect(400);
    let user = shown(&t, &id).await;
    assert_eq!((&user["name"], &user["roles"][0]["id"]), (&json!("anna"), &json!("admin")));
    push_changes(&t).await;
    assert_eq!(l.calls(), [""; 0]);
    // No request of management waits for the provider.
    l.always(Answer::status(200).after(Duration::from_secs(600)));
    t.put(&format!("/api/users/{id}"))
        .bearer(&owner.token)
        .json(json!({"name": "C"}))
        .send()
        .await
        .expect(200);
});

logto_test!(creations_whose_answer_was_lost_are_found_again, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    // Another organization there with the same name is not ours.
    l.with(|tenant| drop(tenant.add_organization("Alfa Customer")));
    l.fail_by(|request| {
        let is_creation =
            request.method == "POST" && matches!(request.path.as_str(), "/api/users" | "/api/organizations");
        is_creation.then(|| Fault::DoneBut(Answer::dropped()))
    });
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    for _ in 0..3 {
        push_changes(&t).await;
        t.advance(A_DAY);
    }
    l.fail_by(|request| {
        let is_user = request.method == "POST" && request.path == "/api/users";
        is_user.then(|| Fault::DoneBut(Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"id\"")))
    });
    push_changes(&t).await;
    t.advance(A_DAY);
    l.recover();
    push_changes(&t).await;
    l.with(|tenant| {
        assert_eq!((tenant.users.len(), tenant.organizations.len()), (1, 2));
        let account = tenant.account_of(&id).unwrap();
        assert_eq!(tenant.memberships(&account)[0].1, ["Customer"]);
    });
    assert!(shown(&t, &id).await["logto_synced_at"].is_string());
});

logto_test!(every_step_can_be_repeated, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    // Each call that changes something is done, and its answer lost, once.
    let handled = std::sync::Mutex::new(std::collections::HashSet::new());
    l.fail_by(move |request| {
        let is_change = request.path.starts_with("/api/") && request.method != "GET";
        let is_new =
            is_change && handled.lock().unwrap().insert((request.method.clone(), request.path.clone()));
        is_new.then(|| Fault::DoneBut(Answer::status(502)))
    });
    for _ in 0..20 {
        push_changes(&t).await;
        t.advance(A_DAY);
    }
    let account = account(&l, &id);
    l.with(|tenant| {
        assert_eq!((tenant.users.len(), tenant.organizations.len()), (1, 1));
        assert_eq!(tenant.role_names(&account), ["Admin"]);
        assert_eq!(tenant.memberships(&account)[0].1, ["Customer"]);
    });
    let user = shown(&t, &id).await;
    assert!(user["logto_synced_at"].is_string() && user["logto_sync_error"].is_null(), "{user}");
});

logto_test!(a_refusal_is_shown_and_tried_again_after_the_next_change, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    l.with(|tenant| drop(tenant.add_user("b@example.org", "b")));
    let path = format!("/api/users/{id}");
    let body = json!({"email": "b@example.org"});
    t.put(&path).bearer(&owner.token).json(body).send().await.expect(200);
    t.patch(&format!("{path}/suspend")).bearer(&owner.token).send().await.expect(200);
    push_changes(&t).await;
    let user = shown(&t, &id).await;
    assert_eq!(user["logto_sync_error"], "email: already_exists");
    // The changes that the tenant did not refuse reach it.
    let account = account(&l, &id);
    assert!(l.with(|tenant| is_suspended(tenant, &account)));
    let _ = l.calls();
    t.advance(A_DAY);
    push_changes(&t).await;
    assert_eq!(l.calls(), [""; 0]);
    l.with(|tenant| tenant.users.retain(|_, user| user["username"] != "b"));
    let owner = t.owner().await;
    t.patch(&format!("{path}/reactivate")).bearer(&owner.token).send().await.expect(200);
    push_changes(&t).await;
    assert_eq!(shown(&t, &id).await["logto_sync_error"], Value::Null);
    assert_eq!(l.with(|tenant| tenant.users[&account]["primaryEmail"].clone()), "b@example.org");
});

logto_test!(an_account_missing_at_the_tenant_is_reported, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    l.with(|tenant| tenant.users.clear());
    t.patch(&format!("/api/users/{id}/suspend")).bearer(&owner.token).send().await.expect(200);
    push_changes(&t).await;
    assert_eq!(shown(&t, &id).await["logto_sync_error"], "account: not_found");
    // To be destroyed it need not be there.
    t.delete(&format!("/api/users/{id}/destroy")).bearer(&owner.token).send().await.expect(200);
    push_changes(&t).await;
    assert_eq!(waiting(&t, &l).await, 0);
});

logto_test!(roles_missing_at_the_tenant_are_reported, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    l.with(|tenant| tenant.roles.clear());
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    assert_eq!(shown(&t, &id).await["logto_sync_error"], "user_role_ids: not_found");
    l.with(|tenant| tenant.roles.push(("r".to_owned(), "ADMIN".to_owned())));
    t.advance(Duration::from_secs(10));
    t.put(&format!("/api/users/{id}"))
        .bearer(&owner.token)
        .json(json!({"name": "B"}))
        .send()
        .await
        .expect(200);
    push_changes(&t).await;
    assert_eq!(shown(&t, &id).await["logto_sync_error"], Value::Null);
});

// Proves spec: guarantees#identity 36 37.
logto_test!(error_texts_of_the_tenant_are_not_shown, |t, l| async move {
    let refuse = |beginning: &'static str| {
        let issue = json!({"path": ["secret key"], "code": "secret code"});
        let body = json!({"code": "secret text", "message": "secret", "data": {"issues": [issue]}});
        l.fail_by(move |request| {
            let is_refused = request.path.starts_with(beginning);
            is_refused.then(|| Fault::Answer(Answer::json(422, &body)))
        });
    };
    refuse("/api/");
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    let home = format!("/api/customers/{}", tree.customer);
    let user = t.get(&home).bearer(&owner.token).send().await.expect(200).data();
    assert_eq!(user["logto_sync_error"], "unknown: error");
    refuse("/api/users");
    t.put(&home).bearer(&owner.token).json(json!({"name": "Alfa Two"})).send().await.expect(200);
    t.advance(A_DAY);
    push_changes(&t).await;
    let owner = t.owner().await;
    assert_eq!(shown(&t, &id).await["logto_sync_error"], "unknown: error");
    let rows: Vec<(Option<String>,)> = bailiwick_store::sql::Q::new("SELECT problem FROM logto_outbox")
        .all(&t.app.platform.db)
        .await
        .unwrap();
    assert!(rows.iter().all(|(problem,)| !problem.as_deref().unwrap_or_default().contains("secret")));
    let user = t.get(&home).bearer(&owner.token).send().await.expect(200);
    assert!(!user.text().contains("secret"));
    // The token endpoint answers with the error: the tenant is away, and everything else works.
    refuse("/");
    l.with(Tenant::expire_tokens);
    let other = new_user(&t, &owner, "bruno", tree.customer).await;
    push_changes(&t).await;
    assert!(!shown(&t, &other).await.to_string().contains("secret"));
    t.get("/api/health").send().await.expect(200);
    let owner = t.owner().await;
    let roles = t.get("/api/roles").bearer(&owner.token).send().await.expect(200).data();
    assert_eq!(roles["roles"].as_array().unwrap().len(), 5);
});

logto_test!(no_organization_keeps_a_suspension_back, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    l.fail_by(|request| {
        let is_creation = request.method == "POST" && request.path == "/api/organizations";
        is_creation.then(|| Fault::Answer(Answer::status(503)))
    });
    let path = format!("/api/users/{id}");
    let body = json!({"organization_id": tree.reseller, "name": "Anna B", "user_role_ids": ["support"]});
    t.put(&path).bearer(&owner.token).json(body).send().await.expect(200);
    t.patch(&format!("{path}/suspend")).bearer(&owner.token).send().await.expect(200);
    // Organizations come first, and one that fails ends the round.
    for _ in 0..2 {
        push_changes(&t).await;
    }
    let account = account(&l, &id);
    l.with(|tenant| {
        assert!(is_suspended(tenant, &account));
        assert_eq!(tenant.users[&account]["name"], "Anna B");
        assert_eq!(tenant.role_names(&account), ["Support"]);
        assert_eq!(tenant.memberships(&account)[0].1, ["Customer"]);
    });
    l.recover();
    t.advance(A_DAY);
    push_changes(&t).await;
    l.with(|tenant| {
        assert_eq!(tenant.memberships(&account).len(), 1);
        assert_eq!(tenant.memberships(&account)[0].1, ["Reseller"]);
    });
});

logto_test!(a_role_that_was_made_anew_there_is_found, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    let account = account(&l, &id);
    let path = format!("/api/users/{id}");
    let mut assigned = Vec::new();
    for body in [json!({"user_role_ids": ["support"]}), json!({"organization_id": tree.reseller})] {
        l.with(|tenant| {
            for (id, _) in tenant.roles.iter_mut().chain(&mut tenant.organization_roles) {
                id.push_str("new");
            }
        });
        t.put(&path).bearer(&owner.token).json(body).send().await.expect(200);
        push_changes(&t).await;
        assert_eq!(shown(&t, &id).await["logto_sync_error"], Value::Null);
        assigned
            .push(l.with(|tenant| (tenant.role_names(&account), tenant.memberships(&account)[0].1.clone())));
    }
    assert_eq!(assigned[0].0, ["Support"]);
    assert_eq!(assigned[1].1, ["Reseller"]);
});

logto_test!(an_organization_missing_at_the_tenant_is_reported, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    new_user(&t, &owner, "rita", tree.reseller).await;
    push_changes(&t).await;
    l.with(|tenant| {
        let theirs = tenant.organization_of(&tree.reseller.to_string()).unwrap();
        tenant.organizations.remove(&theirs);
    });
    let path = format!("/api/users/{id}");
    let body = json!({"organization_id": tree.reseller});
    t.put(&path).bearer(&owner.token).json(body).send().await.expect(200);
    push_changes(&t).await;
    assert_eq!(shown(&t, &id).await["logto_sync_error"], "organization: not_found");
    let promoted = t.patch(&format!("/api/resellers/{}/promote", tree.reseller)).bearer(&owner.token);
    promoted.send().await.expect(200);
    push_changes(&t).await;
    let home = t.get(&format!("/api/distributors/{}", tree.reseller)).bearer(&owner.token).send().await;
    assert_eq!(home.expect(200).data()["logto_sync_error"], "organization: not_found");
});

logto_test!(an_account_that_cannot_be_removed_is_suspended_and_not_forgotten, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let refused = new_user(&t, &owner, "anna", tree.customer).await;
    let unsupported = new_user(&t, &owner, "bruno", tree.customer).await;
    push_changes(&t).await;
    let destroy = async |id: &str| {
        t.delete(&format!("/api/users/{id}/destroy")).bearer(&owner.token).send().await.expect(200);
        push_changes(&t).await;
    };
    let (kept_account, account) = (account(&l, &refused), account(&l, &unsupported));
    let answer_deletions = |answer: Answer| {
        l.fail_by(move |request| (request.method == "DELETE").then(|| Fault::Answer(answer.clone())));
    };
    answer_deletions(Answer::json(422, &json!({"code": "user.cannot_delete"})));
    destroy(&refused).await;
    assert!(l.with(|tenant| is_suspended(tenant, &kept_account)));
    // Another version of Logto, or something else that answers: it means nothing for the account.
    answer_deletions(Answer::json(405, &json!({})));
    destroy(&unsupported).await;
    assert_eq!(waiting(&t, &l).await, 2);
    l.recover();
    t.advance(A_DAY);
    push_changes(&t).await;
    l.with(|tenant| {
        assert!(!tenant.users.contains_key(&account) && tenant.users.contains_key(&kept_account));
    });
    let app = t.app.clone();
    let held = tokio::task::spawn(async move {
        bailiwick_identity::logto_sync::reconcile(&app.identity, false, |_| {}).await
    });
    held.await.unwrap().unwrap();
    assert!(!l.with(|tenant| tenant.users.contains_key(&kept_account)));
    assert_eq!(waiting(&t, &l).await, 0);
});

logto_test!(retry_after_is_honoured, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    l.fail_by(|request| {
        let is_api = request.path.starts_with("/api/");
        is_api.then(|| Fault::Answer(Answer::status(429).header("retry-after", "3600")))
    });
    let _ = l.calls();
    t.patch(&format!("/api/users/{id}/suspend")).bearer(&owner.token).send().await.expect(200);
    push_changes(&t).await;
    assert_eq!(l.calls().len(), 1);
    l.recover();
    t.advance(Duration::from_secs(3599));
    push_changes(&t).await;
    assert_eq!(l.calls(), [""; 0]);
    t.advance(Duration::from_secs(1));
    push_changes(&t).await;
    assert_eq!(changes(&l), ["PATCH /users/account/is-suspended"]);
});

// Changes that wait for a former tenant of the service are not kept for ever, nor are passwords for it.
logto_test!(sync_entries_of_another_tenant_expire_after_30_days, |t, l| async move {
    use bailiwick_store::logto as store;
    const OTHER: &str = "https://other.example/oidc";
    l.always(Answer::status(503));
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id: bailiwick_domain::UserId = new_user(&t, &owner, "anna", tree.customer).await.parse().unwrap();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    store::keep_password(&mut tx, OTHER, id, "sealed", Some(t.app.platform.now())).await.unwrap();
    store::outbox::put(&mut tx, OTHER, store::outbox::OutboxKind::User, id.0, 1, t.app.platform.now())
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let own = l.settings().issuer.url;
    for (days, is_there) in [(29, true), (2, false)] {
        t.advance(days * A_DAY);
        bailiwick_app::retention::run(&t.app).await.unwrap().unwrap();
        let left = store::pending(&t.app.platform.db, OTHER, id).await.unwrap().sealed_password.is_some();
        assert_eq!(
            (left, store::outbox::waiting(&t.app.platform.db, OTHER).await.unwrap() > 0),
            (is_there, is_there)
        );
        // The own tenant's wait as long as it is away.
        assert!(store::pending(&t.app.platform.db, &own, id).await.unwrap().sealed_password.is_some());
        assert!(waiting(&t, &l).await > 0);
    }
});

/// Two processes on one database send each user once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_the_work() {
    let l = Logto::start().await.unwrap();
    let t = service(Engine::Postgres, &l).await;
    let other = t.replica().await;
    let (owner, tree) = (t.owner().await, t.tree().await);
    for n in 0..6 {
        new_user(&t, &owner, &format!("u{n}"), tree.customer).await;
    }
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while l.with(|tenant| tenant.members.len()) < 6 {
        assert!(std::time::Instant::now() < deadline);
        tokio::join!(push_changes(&t), push_changes(&other));
        t.advance(Duration::from_secs(30));
    }
    l.with(|tenant| assert_eq!((tenant.users.len(), tenant.organizations.len()), (6, 1)));
}
