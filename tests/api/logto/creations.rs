//! Creations that were refused, that got no answer, or that are no longer wanted (spec: logto#calls).

use super::*;
use crate::{avatars, mail};
use bailiwick_domain::UserId;
use bailiwick_store::{identities::account_links, logto, sql::Q};
use bailiwick_testkit::parts::{logto::Fault, recorder::Answer, smtp::SmtpSink};

const A_DAY: Duration = Duration::from_secs(86_400);

/// The tenant creates accounts and organizations, but the answers are lost; nor can they be searched for yet.
fn lose_answers(l: &Logto) {
    l.fail_by(|request| {
        let is_about_all = matches!(request.path.as_str(), "/api/users" | "/api/organizations");
        let answer = match request.method.as_str() {
            "POST" => Fault::DoneBut(Answer::dropped()),
            _ => Fault::Answer(Answer::status(503)),
        };
        is_about_all.then_some(answer)
    });
}

/// The tenant answers again, and gets all changes. The attempts that are under way end first.
async fn come_back(t: &Test, l: &Logto) {
    push_changes(t).await;
    l.recover();
    t.advance(A_DAY);
    push_changes(t).await;
}

/// Creates a distributor; returns its id.
async fn new_distributor(t: &Test) -> String {
    let body = json!({"name": "Delta", "custom_data": {"vat": "IT90000000017"}});
    let call = t.post("/api/distributors").bearer(&t.owner().await.token).json(body);
    call.send().await.expect(201).data()["id"].as_str().unwrap().to_owned()
}

async fn change(t: &Test, path: &str, body: Value) {
    t.put(path).bearer(&t.owner().await.token).json(body).send().await.expect(200);
}

logto_test!(what_was_refused_is_not_searched_for, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    l.with(|tenant| drop(tenant.add_user("anna@example.org", "somebody")));
    l.fail_by(|request| {
        let is_refused = request.method == "POST" && request.path == "/api/organizations";
        is_refused.then(|| Fault::Answer(Answer::json(422, &json!({"code": "something.wrong"}))))
    });
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    l.recover();
    change(&t, &format!("/api/customers/{}", tree.customer), json!({"name": "Alfa Two"})).await;
    t.advance(A_DAY);
    push_changes(&t).await;
    assert_eq!(shown(&t, &id).await["logto_sync_error"], "email: already_exists");
    // The stand-in fails the test on a search.
    change(&t, &format!("/api/users/{id}"), json!({"name": "Anna B"})).await;
    push_changes(&t).await;
    assert_eq!(shown(&t, &id).await["logto_sync_error"], "email: already_exists");
    assert_eq!(l.with(|tenant| (tenant.users.len(), tenant.organizations.len())), (1, 1));
});

logto_test!(what_is_found_again_is_brought_up_to_date, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    new_user(&t, &owner, "first", tree.customer).await;
    push_changes(&t).await;
    lose_answers(&l);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    let distributor = new_distributor(&t).await;
    push_changes(&t).await;
    assert_eq!(l.with(|tenant| (tenant.users.len(), tenant.organizations.len())), (2, 2));
    // Both are called otherwise by the time they are searched for.
    change(&t, &format!("/api/users/{id}"), json!({"username": "another", "name": "Anna B"})).await;
    let body = json!({"name": "Omega", "description": "South"});
    change(&t, &format!("/api/distributors/{distributor}"), body).await;
    come_back(&t, &l).await;
    let account = account(&l, &id);
    l.with(|tenant| {
        assert_eq!((tenant.users.len(), tenant.organizations.len()), (2, 2));
        let user = &tenant.users[&account];
        assert_eq!((&user["username"], &user["name"]), (&json!("another"), &json!("Anna B")));
        assert_eq!(tenant.memberships(&account)[0].1, ["Customer"]);
        let theirs = tenant.organization_of(&distributor).unwrap();
        let organization = &tenant.organizations[&theirs];
        assert_eq!((&organization["name"], &organization["description"]), (&json!("Omega"), &json!("South")));
        assert_eq!(tenant.jit_names(&theirs), ["Distributor"]);
    });
    assert_eq!(shown(&t, &id).await["logto_sync_error"], Value::Null);
});

logto_test!(accounts_of_unknown_outcome_are_removed_on_destruction, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    new_user(&t, &owner, "first", tree.customer).await;
    push_changes(&t).await;
    lose_answers(&l);
    let own = new_user(&t, &owner, "anna", tree.customer).await;
    let below = new_user(&t, &owner, "bruno", tree.customer).await;
    let distributor = new_distributor(&t).await;
    push_changes(&t).await;
    assert_eq!(l.with(|tenant| (tenant.users.len(), tenant.organizations.len())), (3, 2));
    for path in [
        format!("/api/users/{own}/destroy"),
        format!("/api/customers/{}/destroy", tree.customer),
        format!("/api/distributors/{distributor}/destroy"),
    ] {
        t.delete(&path).bearer(&owner.token).send().await.expect(200);
    }
    come_back(&t, &l).await;
    l.with(|tenant| assert_eq!((&tenant.users.len(), &tenant.organizations.len()), (&0, &0), "{below}"));
    assert_eq!(waiting(&t, &l).await, 0);
});

logto_test!(users_deleted_before_the_first_sync_are_created_on_restoration, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    l.always(Answer::status(503));
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    let distributor = new_distributor(&t).await;
    let home = format!("/api/distributors/{distributor}");
    let other = new_user(&t, &owner, "bruno", distributor.parse().unwrap()).await;
    for path in [format!("/api/users/{id}"), home.clone()] {
        t.delete(&path).bearer(&owner.token).send().await.expect(200);
    }
    come_back(&t, &l).await;
    l.with(|tenant| {
        assert!(tenant.users.is_empty() && tenant.organization_of(&distributor).is_none());
    });
    let owner = t.owner().await;
    for path in [format!("/api/users/{id}/restore"), format!("{home}/restore")] {
        t.patch(&path).bearer(&owner.token).send().await.expect(200);
    }
    push_changes(&t).await;
    for id in [&id, &other] {
        let account = account(&l, id);
        l.with(|tenant| {
            assert!(!is_suspended(tenant, &account));
            assert_eq!(tenant.memberships(&account).len(), 1);
        });
    }
});

// The account of a deleted user may exist after a creation with a lost answer. The user must not come in.
logto_test!(accounts_of_unknown_outcome_are_suspended_on_deletion, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    new_user(&t, &owner, "first", tree.customer).await;
    push_changes(&t).await;
    lose_answers(&l);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    t.delete(&format!("/api/users/{id}")).bearer(&owner.token).send().await.expect(200);
    come_back(&t, &l).await;
    let account = account(&l, &id);
    assert!(l.with(|tenant| is_suspended(tenant, &account)));
});

logto_test!(an_account_linked_to_another_user_is_left_alone, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let holder = new_user(&t, &owner, "first", tree.customer).await;
    push_changes(&t).await;
    // The id the next account will have.
    let next = l.with(|tenant| {
        let last = tenant.add_user("last@example.org", "last");
        tenant.users.remove(&last);
        format!("account{}", last.trim_start_matches("account").parse::<u32>().unwrap() + 1)
    });
    let issuer = l.settings().issuer.url;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let holder_id: UserId = holder.parse().unwrap();
    account_links::remove(&mut tx, &issuer, holder_id).await.unwrap();
    assert!(account_links::insert(&mut tx, &issuer, &next, holder_id, t.app.platform.now()).await.unwrap());
    tx.commit().await.unwrap();
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    t.advance(A_DAY);
    push_changes(&t).await;
    assert_eq!(account(&l, &id), next);
    assert_eq!(shown(&t, &id).await["logto_sync_error"], "account: already_exists");
});

logto_test!(a_new_account_has_the_picture, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    l.always(Answer::status(503));
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    let call = t.put(&format!("/api/users/{id}/avatar")).bearer(&owner.token);
    let call = avatars::with_file(call, "avatar", &avatars::own_picture());
    let sent = call.send().await.expect(200).data();
    // Only that it is a new account matters, not that a picture was noted.
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("UPDATE logto_outbox SET aspects = 2").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    come_back(&t, &l).await;
    let account = account(&l, &id);
    assert_eq!(l.with(|tenant| tenant.users[&account]["avatar"].clone()), sent["avatar_url"]);
});

/// Which password an account has is known only while the one is kept that it was made with.
async fn unknown_password(engine: Engine) {
    let logto = Logto::start().await.unwrap();
    let sink = SmtpSink::start().await.unwrap();
    let mut all = mail::settings(sink.port());
    all.identity = settings(&logto, |_| {}).identity;
    let t = Test::with(engine, all).await;
    let (owner, tree) = (t.owner().await, t.tree().await);
    new_user(&t, &owner, "first", tree.customer).await;
    push_changes(&t).await;
    assert_eq!(mail::deliver(&t, &sink).await.len(), 1);
    lose_answers(&logto);
    for name in ["anna", "bruno"] {
        new_user(&t, &owner, name, tree.customer).await;
    }
    push_changes(&t).await;
    assert_eq!(logto.with(|tenant| tenant.users.len()), 3);
    // The secret is another one by now.
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let lost = "UPDATE logto_users SET sealed_password = 'AAAA' WHERE user_id IN \
        (SELECT id FROM users WHERE username = 'anna')";
    assert_eq!(Q::new(lost).run(&mut tx).await.unwrap(), 1);
    tx.commit().await.unwrap();
    come_back(&t, &logto).await;
    let messages = mail::deliver(&t, &sink).await;
    // With that of the first.
    assert_eq!(messages.len(), 2, "only of an account whose password is known");
    let username = logto.with(|tenant| {
        let (account, _) = tenant.users.iter().find(|(_, user)| user["username"] == "bruno").unwrap();
        tenant.passwords[account].clone()
    });
    assert!(messages[1].body().contains(&username));
    assert_eq!(logto.with(|tenant| tenant.users.len()), 3);
}
on_both!(only_the_password_of_the_account_is_mailed, unknown_password);

logto_test!(an_organization_linked_to_another_tenant_is_left_alone, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    new_user(&t, &owner, "first", tree.customer).await;
    push_changes(&t).await;
    // The id the next organization will have.
    let next = l.with(|tenant| {
        let last = tenant.add_organization("last");
        tenant.organizations.remove(&last);
        format!("organization{}", last.trim_start_matches("organization").parse::<u32>().unwrap() + 1)
    });
    let issuer = l.settings().issuer.url;
    let hold = async |id: &str| {
        let mut tx = t.app.platform.db.begin().await.unwrap();
        let linked = logto::link_organization(&mut tx, &issuer, tree.customer, id).await.unwrap();
        tx.commit().await.unwrap();
        linked
    };
    assert!(hold(&next).await);
    let id = new_distributor(&t).await;
    push_changes(&t).await;
    let shown = async || {
        let call = t.get(&format!("/api/distributors/{id}")).bearer(&t.owner().await.token);
        call.send().await.expect(200).data()
    };
    assert_eq!(shown().await["logto_sync_error"], "organization: already_exists");
    // The service sends the creation once, not again and again; the next change makes another attempt.
    drop(l.calls());
    t.advance(A_DAY);
    push_changes(&t).await;
    assert_eq!(l.calls(), [""; 0]);
    change(&t, &format!("/api/distributors/{id}"), json!({"name": "Delta Two"})).await;
    push_changes(&t).await;
    assert_eq!(shown().await["logto_sync_error"], Value::Null);
    // A link of one organization is no other's, and is its own again.
    assert!(hold(&next).await);
    let mine =
        logto::organization(&t.app.platform.db, &issuer, id.parse().unwrap()).await.unwrap().id.unwrap();
    assert!(!hold(&mine).await);
});
