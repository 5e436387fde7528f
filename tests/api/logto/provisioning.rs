//! Changes of users that the service sends to the tenant (spec: logto#calls).

use super::*;
use crate::{
    avatars,
    imports::{row_issues, upload},
    mail,
    session::exchange,
};
use bailiwick_store::{
    logto::outbox::{self, OutboxKind},
    sql::Q,
};
use bailiwick_testkit::parts::{logto::CLIENT, smtp::SmtpSink};

logto_test!(several_users_of_a_new_organization_get_their_accounts_at_once, |t, l| async move {
    let tree = t.tree().await;
    let users = [t.user(tree.customer, &["admin"]).await.id, t.user(tree.customer, &["reader"]).await.id];
    let issuer = l.settings().issuer.url;
    let everything_about_a_user = 0b1_1111;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    for id in users {
        outbox::put(&mut tx, &issuer, OutboxKind::User, id.0, everything_about_a_user, t.app.platform.now())
            .await
            .unwrap();
    }
    tx.commit().await.unwrap();
    push_changes(&t).await;
    for id in users {
        account(&l, &id.to_string());
    }
    assert_eq!(waiting(&t, &l).await, 0);
});

logto_test!(a_new_user_gets_an_account, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let body = json!({"email": "m.rossi@example.org", "name": "Mario", "username": "mrossi", "phone": "+39 333 123456",
        "user_role_ids": ["admin"], "organization_id": tree.reseller, "custom_data": {"desk": 4, "createdBy": "x"}});
    let made = t.post("/api/users").bearer(&owner.token).json(body).send().await.expect(201).data();
    let id = made["id"].as_str().unwrap();
    push_changes(&t).await;
    let expected = [
        "POST /organizations",
        "POST /organizations/organization/jit/roles",
        "POST /users",
        "POST /users/account/roles",
        "POST /organizations/organization/users",
        "POST /organizations/organization/users/account/roles",
    ];
    assert_eq!(changes(&l), expected);
    let account = account(&l, id);
    let (user, roles, homes, jit) = l.with(|tenant| {
        let homes = tenant.memberships(&account);
        let jit = tenant.jit_names(&homes[0].0);
        (tenant.users[&account].clone(), tenant.role_names(&account), homes, jit)
    });
    assert_eq!(user["username"], "mrossi");
    assert_eq!(user["primaryPhone"], "39333123456");
    let custom_data = &user["customData"];
    assert_eq!(custom_data["desk"], 4);
    assert_eq!(custom_data["bailiwickId"], id);
    assert_eq!(custom_data["organizationId"], json!(tree.reseller));
    assert_eq!(custom_data["userRoleIds"], json!(["admin"]));
    assert_eq!(custom_data["createdBy"], json!(tree.owner));
    assert_eq!(roles, ["Admin"]);
    assert_eq!((homes[0].1.clone(), jit), (vec!["Reseller".to_owned()], vec!["Reseller".to_owned()]));
    let organization = l.with(|tenant| tenant.organizations[&homes[0].0].clone());
    assert_eq!(organization["customData"]["bailiwickId"], json!(tree.reseller));
    assert_eq!(organization["customData"]["type"], "reseller");

    let stored = shown(&t, id).await;
    assert_eq!(stored["logto_synced_at"], json!(t.app.platform.now()));
    assert_eq!((&stored["logto_sync_error"], &stored["logto_id"]), (&Value::Null, &stored["id"]));
    let page = t.get("/api/users?search=m.rossi").bearer(&owner.token).send().await.expect(200).data();
    assert_eq!(page["users"][0]["logto_synced_at"], json!(t.app.platform.now()));
    let home = t.get(&format!("/api/resellers/{}", tree.reseller)).bearer(&owner.token).send().await;
    assert_eq!(home.expect(200).data()["logto_synced_at"], json!(t.app.platform.now()));
    let page = t.get("/api/resellers").bearer(&owner.token).send().await.expect(200).data();
    let marks: Vec<&Value> =
        page["resellers"].as_array().unwrap().iter().map(|o| &o["logto_synced_at"]).collect();
    assert!(marks.contains(&&json!(t.app.platform.now())) && marks.contains(&&Value::Null), "{marks:?}");

    // The user signs in by the subject of the account, whatever its address.
    l.with(|tenant| tenant.users.get_mut(&account).unwrap()["primaryEmail"] = json!("x@example.org"));
    let token = l.with(|tenant| tenant.sign_in(&account, CLIENT));
    assert_eq!(exchange(&t, &token).await.expect(200).data()["user"]["id"], id);
    // The service sends each change only once.
    push_changes(&t).await;
    assert_eq!(changes(&l), [""; 0]);
});

logto_test!(changes_follow_in_order, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.reseller).await;
    push_changes(&t).await;
    let account = account(&l, &id);
    assert!(l.with(|tenant| tenant.user_roles.get_mut(&account).unwrap().insert("role5".to_owned())));
    let _ = l.calls();
    let path = format!("/api/users/{id}");
    let body = json!({"name": "Anna B", "phone": "", "user_role_ids": ["support"], "organization_id": tree.customer});
    t.put(&path).bearer(&owner.token).json(body).send().await.expect(200);
    push_changes(&t).await;
    // Changes that need no organization do not wait for the new one; when it exists, the service sends them all once
    // more.
    let expected = [
        "PATCH /users/account/is-suspended",
        "PATCH /users/account",
        "POST /users/account/roles",
        "DELETE /users/account/roles/role",
        "POST /organizations",
        "POST /organizations/organization/jit/roles",
        "PATCH /users/account/is-suspended",
        "PATCH /users/account",
        "POST /organizations/organization/users",
        "POST /organizations/organization/users/account/roles",
        "DELETE /organizations/organization/users/account",
    ];
    assert_eq!(changes(&l), expected);
    l.with(|tenant| {
        // The service leaves a role alone that is not of the catalogue.
        assert_eq!(tenant.role_names(&account), ["Support", "Management API"]);
        let homes = tenant.memberships(&account);
        assert_eq!(homes.len(), 1);
        assert_eq!(homes[0].1, ["Customer"]);
        assert_eq!(tenant.users[&account]["name"], "Anna B");
        assert_eq!(tenant.users[&account]["primaryPhone"], "");
    });

    let person = t.session(id.parse().unwrap()).await;
    t.post("/api/me/change-info")
        .bearer(&person.token)
        .json(json!({"name": "Anna C"}))
        .send()
        .await
        .expect(200);
    push_changes(&t).await;
    assert_eq!(changes(&l), ["PATCH /users/account"]);

    for (method, what, suspended) in [
        ("PATCH", "suspend", true),
        ("PATCH", "reactivate", false),
        ("DELETE", "", true),
        ("PATCH", "restore", false),
    ] {
        let path = format!("{path}/{what}");
        t.call(method.parse().unwrap(), path.trim_end_matches('/'))
            .bearer(&owner.token)
            .send()
            .await
            .expect(200);
        push_changes(&t).await;
        assert_eq!(changes(&l), ["PATCH /users/account/is-suspended"], "{what}");
        assert_eq!(l.with(|tenant| is_suspended(tenant, &account)), suspended, "{what}");
    }
    t.delete(&format!("{path}/destroy")).bearer(&owner.token).send().await.expect(200);
    push_changes(&t).await;
    assert_eq!(changes(&l), ["DELETE /users/account"]);
    assert!(l.with(|tenant| tenant.users.is_empty()));
});

logto_test!(users_destroyed_before_the_first_sync_are_never_created, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    l.always(bailiwick_testkit::parts::recorder::Answer::status(503));
    let id = new_user(&t, &owner, "anna", tree.reseller).await;
    t.delete(&format!("/api/users/{id}/destroy")).bearer(&owner.token).send().await.expect(200);
    l.recover();
    t.advance(Duration::from_secs(4 * 3600));
    push_changes(&t).await;
    assert!(l.with(|tenant| tenant.users.is_empty()));
});

logto_test!(users_matched_by_address_get_no_second_account, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let theirs = l.with(|tenant| tenant.add_user("anna@example.org", "somebody"));
    let id = new_user(&t, &owner, "anna", tree.reseller).await;
    push_changes(&t).await;
    assert_eq!(l.with(|tenant| tenant.users.len()), 1);
    let stored = shown(&t, &id).await;
    assert_eq!(stored["logto_sync_error"], "email: already_exists");
    assert_eq!(stored["logto_synced_at"], Value::Null);
    let path = format!("/api/users/{id}/password");
    let body = json!({"password": "Correct-Horse-9-Staple"});
    let reply = t.patch(&path).bearer(&owner.token).json(body).send().await;
    reply.expect_message(400, "user not synced to Logto");
    let token = l.with(|tenant| tenant.sign_in(&theirs, CLIENT));
    exchange(&t, &token).await.expect(200);
    push_changes(&t).await;
    assert_eq!(shown(&t, &id).await["logto_sync_error"], Value::Null);
    assert_eq!(l.with(|tenant| tenant.account_of(&id)).as_ref(), Some(&theirs));
    assert_eq!(l.with(|tenant| tenant.role_names(&theirs)), ["Admin"]);
});

logto_test!(a_picture_is_sent_as_its_address, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.reseller).await;
    push_changes(&t).await;
    let account = account(&l, &id);
    let path = format!("/api/users/{id}/avatar");
    let call = avatars::with_file(t.put(&path).bearer(&owner.token), "avatar", &avatars::own_picture());
    let sent = call.send().await.expect(200).data();
    push_changes(&t).await;
    assert_eq!(l.with(|tenant| tenant.users[&account]["avatar"].clone()), sent["avatar_url"]);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    push_changes(&t).await;
    assert_eq!(l.with(|tenant| tenant.users[&account]["avatar"].clone()), "");
});

/// The mail comes when the account is there, with the password the account has.
async fn welcomed(engine: Engine) {
    let logto = Logto::start().await.unwrap();
    let sink = SmtpSink::start().await.unwrap();
    let mut all = mail::settings(sink.port());
    all.identity = settings(&logto, |_| {}).identity;
    let t = Test::with(engine, all).await;
    let (owner, tree) = (t.owner().await, t.tree().await);
    logto.always(bailiwick_testkit::parts::recorder::Answer::status(503));
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    assert!(mail::deliver(&t, &sink).await.is_empty());
    logto.recover();
    t.advance(Duration::from_secs(3600));
    push_changes(&t).await;
    let messages = mail::deliver(&t, &sink).await;
    assert_eq!(messages.len(), 1);
    let password = logto.with(|tenant| {
        let account = tenant.account_of(&id).unwrap();
        tenant.passwords[&account].clone()
    });
    assert!(messages[0].body().contains(&password), "{}", messages[0].body());
    assert!(!messages[0].body().contains("{{"));
    // It is kept nowhere.
    let pending = bailiwick_store::logto::pending(
        &t.app.platform.db,
        &logto.settings().issuer.url,
        id.parse().unwrap(),
    )
    .await;
    assert_eq!(pending.unwrap().sealed_password, None);
}
on_both!(a_generated_password_is_sealed_until_it_is_delivered, welcomed);

/// The configured owner organization and first user.
async fn configured(engine: Engine) {
    let logto = Logto::start().await.unwrap();
    let (organization, person) = logto.with(|tenant| {
        (tenant.add_organization("Another name"), tenant.add_user("another@example.org", "another"))
    });
    let named = settings(&logto, |tenancy| {
        tenancy.owner_organization_id = Some(organization.clone());
        tenancy.owner_user_id = Some(person.clone());
    });
    let t = Test::with(engine, named).await;
    let token = logto.with(|tenant| tenant.sign_in(&person, CLIENT));
    // The worker links them as it starts.
    eventually("the first user is linked", async || exchange(&t, &token).await.status == 200).await;
    push_changes(&t).await;
    logto.with(|tenant| {
        assert_eq!((tenant.users.len(), tenant.organizations.len()), (1, 1));
        assert_eq!(tenant.users[&person]["primaryEmail"], "owner@example.org");
        assert_eq!(tenant.memberships(&person), [(organization, vec!["Owner".to_owned()])]);
    });
}
on_both!(the_configured_owner_is_linked_by_id, configured);

// In the other modes people share phones, and the mode may change.
logto_test!(users_who_share_a_phone_already_can_be_changed, |t, _l| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    let mut ids = Vec::new();
    for name in ["one", "two"] {
        ids.push(new_user(&t, &owner, name, tree.customer).await);
    }
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let q = Q::new("UPDATE users SET phone = '390115550100' WHERE username IN ('one', 'two')");
    assert_eq!(q.run(&mut tx).await.unwrap(), 2);
    tx.commit().await.unwrap();
    for id in &ids {
        for body in [json!({"name": "Anna"}), json!({"phone": "+39 011 5550100"})] {
            let call = t.put(&format!("/api/users/{id}")).bearer(&owner.token);
            assert_eq!(call.json(body).send().await.expect(200).data()["phone"], "390115550100");
        }
    }
    let rows = "one@example.org,A,+390115550100,Alfa Customer,Admin\n\
        two@example.org,A,+390115550100,Alfa Customer,Admin\n\
        three@example.org,A,+390115550100,Alfa Customer,Admin\n";
    let file = format!("email,name,phone,company_name,roles\n{rows}");
    let preview = upload(&t, &owner, "users", &file).await.expect(200).data();
    let issues = row_issues(&preview);
    assert_eq!(issues[0], "warning: email already_exists [one@example.org]");
    assert_eq!(issues[1], "warning: email already_exists [two@example.org]");
    assert!(issues[2].starts_with("error: phone duplicate_in_csv [+390115550100] [2]"), "{issues:?}");
    // Another user cannot get it.
    let third = new_user(&t, &owner, "three", tree.customer).await;
    let call = t.put(&format!("/api/users/{third}")).bearer(&owner.token);
    let reply = call.json(json!({"phone": "+39 011 5550100"})).send().await;
    reply.expect_fields(&[("phone", "already_exists")]);
});

// Logto signs people in by phone, so each needs a number of their own; elsewhere colleagues share one.
logto_test!(a_phone_is_that_of_one_user, |t, _l| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    let create = async |email: &str| {
        let body = json!({"email": email, "name": "Anna", "phone": "+39 011 5550100", "user_role_ids": ["reader"],
            "organization_id": tree.customer});
        t.post("/api/users").bearer(&owner.token).json(body).send().await
    };
    let first = create("one@example.org").await.expect(201).data()["id"].as_str().unwrap().to_owned();
    create("two@example.org").await.expect(400).expect_fields(&[("phone", "already_exists")]);
    let file =
        "email,name,phone,company_name,roles\nthree@example.org,A,+39 0115550100,Alfa Customer,Reader\n";
    let preview = upload(&t, &owner, "users", file).await.expect(200).data();
    assert_eq!(row_issues(&preview), ["error: phone already_used [+39 0115550100] [one@example.org]"]);
    // A deleted user gives it up, and does not get it back while another user has it.
    let path = format!("/api/users/{first}");
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    create("two@example.org").await.expect(201);
    let restored = t.patch(&format!("{path}/restore")).bearer(&owner.token).send().await;
    restored.expect(400).expect_fields(&[("phone", "already_exists")]);
});
