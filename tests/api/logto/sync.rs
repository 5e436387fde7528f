//! `bailiwick logto sync`: differences at the tenant (spec: logto#calls).

use super::*;
use crate::avatars;
use bailiwick_identity::logto_sync::{ReconcileReport, reconcile};
use bailiwick_testkit::parts::{logto::Fault, recorder::Answer};

/// The reported differences, without ids, sorted.
async fn differences(t: &Test, is_dry: bool) -> (Vec<String>, ReconcileReport) {
    let mut lines = Vec::new();
    let figures = reconcile(&t.app.identity, is_dry, |difference| {
        lines.push(format!("{} {}: {}", difference.kind, difference.name, difference.problems.join("; ")));
    })
    .await
    .unwrap();
    lines.sort();
    (lines, figures)
}

logto_test!(what_is_missing_different_or_too_much, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    // The command leaves a user and an organization of the same names alone.
    let namesake = l.with(|tenant| {
        tenant.add_organization("Alfa Customer");
        tenant.add_user("somebody@example.org", "somebody")
    });
    let (lines, figures) = differences(&t, true).await;
    assert_eq!(lines.len(), 8, "{lines:#?}");
    assert!(lines.iter().all(|line| line.ends_with(": missing")), "{lines:#?}");
    assert_eq!((figures.looked_at, figures.different, figures.waiting), (8, 8, 0));
    assert!(changes(&l).is_empty());

    let (_, figures) = differences(&t, false).await;
    assert_eq!(figures.waiting, 0);
    let again = differences(&t, true).await;
    assert_eq!(again.0, [""; 0]);
    l.with(|tenant| assert_eq!((tenant.users.len(), tenant.organizations.len()), (2, 8)));

    let id = new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    let account = account(&l, &id);
    let _ = l.calls();
    let (customer, reseller) = l.with(|tenant| {
        let theirs = |id: OrgId| tenant.organization_of(&id.to_string()).unwrap();
        (theirs(tree.customer), theirs(tree.reseller))
    });
    l.with(|tenant| {
        let user = tenant.users.get_mut(&account).unwrap();
        user["name"] = json!("Another");
        user["isSuspended"] = json!(true);
        let roles = tenant.user_roles.get_mut(&account).unwrap();
        roles.clear();
        roles.extend(["role4".to_owned(), "role5".to_owned()]);
        tenant.members.entry((reseller, account.clone())).or_default();
        let ids = tenant.members.get_mut(&(customer.clone(), account.clone())).unwrap();
        ids.insert("orgrole0".to_owned());
        tenant.organizations.get_mut(&customer).unwrap()["description"] = json!("Another");
    });
    let expected = [
        "organization Alfa Customer: different: description".to_owned(),
        format!(
            "user anna@example.org: different: name; different: state; missing: role Admin; superfluous: role Reader; \
             superfluous: organization {}; superfluous: organization role Owner",
            tree.reseller
        ),
    ];
    assert_eq!(differences(&t, true).await.0, expected);
    assert!(changes(&l).is_empty());
    differences(&t, false).await;
    assert_eq!(differences(&t, true).await.0, [""; 0]);
    l.with(|tenant| {
        assert_eq!(tenant.role_names(&account), ["Admin", "Management API"]);
        assert_eq!(tenant.memberships(&account), [(customer.clone(), vec!["Customer".to_owned()])]);
        assert!(!is_suspended(tenant, &account));
    });

    // The service creates the removed account and organization again.
    l.with(|tenant| {
        tenant.users.remove(&account);
        tenant.organizations.remove(&customer);
    });
    let expected = ["organization Alfa Customer: missing", "user anna@example.org: missing"];
    assert_eq!(differences(&t, false).await.0, expected);
    assert_eq!(differences(&t, true).await.0, [""; 0]);
    assert!(l.with(|tenant| tenant.users.contains_key(&namesake)));
    assert_eq!(shown(&t, &id).await["logto_sync_error"], Value::Null);
});

logto_test!(an_unreachable_tenant_is_reported_to_the_operator, |t, l| async move {
    new_user(&t, &t.owner().await, "anna", t.tree().await.customer).await;
    push_changes(&t).await;
    l.always(Answer::status(500));
    let done = reconcile(&t.app.identity, true, |_| {}).await;
    assert!(done.is_err_and(|e| !e.to_string().contains("secret")));
});

logto_test!(a_tenant_that_is_none_ends_no_links, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    differences(&t, false).await;
    let account = account(&l, &id);
    for (status, what) in [(404, "/api/"), (405, "/api/"), (405, "/api/users/"), (405, "/api/organizations/")]
    {
        l.fail_by(move |request| {
            let fails = request.path.starts_with(what);
            fails.then(|| Fault::Answer(Answer::json(status, &json!({"code": "entity.not_found"}))))
        });
        assert!(reconcile(&t.app.identity, false, |_| {}).await.is_err());
    }
    l.recover();
    assert_eq!(differences(&t, true).await.0, [""; 0]);
    // A link that was made again meanwhile is not one that leads nowhere.
    l.with(|tenant| drop(tenant.users.remove(&account)));
    assert_eq!(differences(&t, false).await.0, ["user anna@example.org: missing"]);
    assert_eq!(differences(&t, true).await.0, [""; 0]);
});

logto_test!(pictures_are_compared, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let id = new_user(&t, &owner, "anna", tree.customer).await;
    let call = t.put(&format!("/api/users/{id}/avatar")).bearer(&owner.token);
    let sent = avatars::with_file(call, "avatar", &avatars::own_picture()).send().await.expect(200).data();
    differences(&t, false).await;
    let account = account(&l, &id);
    let avatar = || l.with(|tenant| tenant.users[&account]["avatar"].clone());
    assert_eq!(avatar(), sent["avatar_url"]);
    l.with(|tenant| tenant.users.get_mut(&account).unwrap()["avatar"] = json!("https://x.example/y.png"));
    assert_eq!(differences(&t, false).await.0, ["user anna@example.org: different: picture"]);
    assert_eq!(avatar(), sent["avatar_url"]);
    assert_eq!(differences(&t, true).await.0, [""; 0]);
});

#[tokio::test]
async fn it_needs_the_mode() {
    let t = Test::start(Engine::Sqlite, |_| {}).await;
    assert!(reconcile(&t.app.identity, true, |_| {}).await.is_err());
}
