//! The user whom a person becomes at the first sign-in (spec: authentication#identity-modes).

use super::*;
use crate::mail;
use bailiwick_identity::relying_party;
use bailiwick_platform::audit;
use bailiwick_store::{identities::account_links, sql::Q};

async fn opened(t: &Test, p: &IdentityProvider, person: &str) -> Reply {
    let token = p.token("bailiwick", person, None).await.unwrap();
    exchange(t, &token).await
}

async fn out(t: &Test, p: &IdentityProvider, person: &str) {
    opened(t, p, person).await.expect_message(401, "invalid access token");
}

async fn change(t: &Test, q: Q) {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    assert!(q.run(&mut tx).await.unwrap() > 0);
    tx.commit().await.unwrap();
}

external_test!(a_verified_address_links_once, |t, p| async move {
    let owner = t.owner().await;
    let person = t.user(t.tree().await.customer, &["reader"]).await;
    let email: String = t.get("/api/me").bearer(&person.token).send().await.data()["email"].to_string();
    let email = email.trim_matches('"').to_owned();
    out(&t, p, &format!("a~{email}~false")).await;
    out(&t, p, "a~nobody@example.org~true").await;
    out(&t, p, "a").await;
    let first = format!("a~{}~true", email.to_uppercase());
    let data = opened(&t, p, &first).await.expect(200).data();
    assert_eq!(data["user"]["id"], person.id.to_string());
    // Another account with the same address is another person.
    out(&t, p, &format!("b~{email}~true")).await;
    opened(&t, p, &first).await.expect(200);
    let stored = account_links::user(&t.app.platform.db, &p.url(), &first).await.unwrap();
    assert_eq!(stored, Some(person.id));
    let mut rows = Vec::new();
    let filter = audit::Filter { object: Some(person.id.0), ..audit::Filter::default() };
    audit::read(&t.app.platform, &filter, 10, |page| {
        rows.extend(page.to_vec());
        true
    })
    .await
    .unwrap();
    assert_eq!(rows[0].action, "user.link");
    assert_eq!(rows[0].after.as_ref().unwrap()["subject"], first);

    // The address at the provider and the one here go their own ways from now on.
    let body = serde_json::json!({"email": "other@example.org"});
    t.put(&format!("/api/users/{}", person.id)).bearer(&owner.token).json(body).send().await.expect(200);
    opened(&t, p, &first).await.expect(200);

    // An operator may remove the link, so that the user can come with another account.
    let session = opened(&t, p, &first).await.data()["token"].as_str().unwrap().to_owned();
    t.get("/api/me").bearer(&session).send().await.expect(200);
    assert!(relying_party::unlink(&t.app.identity, "other@example.org").await.unwrap());
    t.get("/api/me").bearer(&session).send().await.expect_message(401, "token has been revoked");
    assert!(!relying_party::unlink(&t.app.identity, "other@example.org").await.unwrap());
    out(&t, p, &first).await;
    opened(&t, p, "c~other@example.org~true").await.expect(200);
});

external_test!(
    without_linking_nobody_new_comes_in,
    |issuer| issuer.link_by_email = false,
    |t, p| async move {
        out(&t, p, OWNER).await;
        let owner = t.owner().await;
        let mut tx = t.app.platform.db.begin().await.unwrap();
        assert!(
            account_links::insert(&mut tx, &p.url(), OWNER, owner.id, t.app.platform.now()).await.unwrap()
        );
        tx.commit().await.unwrap();
        opened(&t, p, OWNER).await.expect(200);
    }
);

external_test!(an_address_missing_from_the_token_is_fetched, |t, p| async move {
    // A token for a resource does not open this provider's userinfo: nothing proves the address.
    let silent = p.token("bailiwick", OWNER, Some("ES256,silent")).await.unwrap();
    refused(&t, &silent, "no address").await;
    opened(&t, p, OWNER).await.expect(200);
    exchange(&t, &silent).await.expect(200);
});

// Proves spec: guarantees#identity 10.
external_test!(the_state_of_the_user_decides, |t, p| async move {
    let person = t.user(t.tree().await.customer, &["reader"]).await;
    let me = t.get("/api/me").bearer(&person.token).send().await.data();
    let who = format!("a~{}~true", me["email"].as_str().unwrap());
    let suspended = |reply: Reply| {
        let reply = reply.expect_message(401, "user account has been suspended");
        assert_eq!(reply.data()["reason"], "user suspended by administrator");
    };
    t.suspend_user(person.id).await;
    suspended(opened(&t, p, &who).await);
    assert_eq!(
        account_links::user(&t.app.platform.db, &p.url(), &who).await.unwrap(),
        None,
        "not linked while suspended"
    );
    let now = Some(t.app.platform.now());
    let set = |column: &str, time: Option<Ts>| {
        Q::new(&format!("UPDATE users SET {column} = ? WHERE id = ?")).bind(time).bind(person.id)
    };
    change(&t, set("suspended_at", None)).await;
    change(&t, set("deleted_at", now)).await;
    out(&t, p, &who).await;
    change(&t, set("deleted_at", None)).await;
    change(&t, Q::new("UPDATE organizations SET eff_deleted_at = ?").bind(now)).await;
    out(&t, p, &who).await;
    change(&t, Q::new("UPDATE organizations SET eff_deleted_at = ?").bind(None::<Ts>)).await;
    opened(&t, p, &who).await.expect(200);
    change(&t, set("suspended_at", now)).await;
    suspended(opened(&t, p, &who).await);
    let token = p.token("bailiwick", &who, None).await.unwrap();
    suspended(profile(&t, &token).await);
    change(&t, set("suspended_at", None)).await;
    change(&t, set("deleted_at", now)).await;
    out(&t, p, &who).await;
    profile(&t, &token).await.expect_message(401, "token has been revoked");
});

external_test!(who_is_deleted_leaves_his_subject_to_who_comes_after_him, |t, p| async move {
    let owner = t.owner().await;
    let home = t.tree().await.customer;
    let first = mail::create(&t, &owner, "m.rossi@example.org", home).await;
    let who = "m~m.rossi@example.org~true";
    let id = first.to_string();
    assert_eq!(opened(&t, p, who).await.expect(200).data()["user"]["id"], id);
    t.delete(&format!("/api/users/{first}")).bearer(&owner.token).send().await.expect(200);
    out(&t, p, who).await;
    assert_eq!(
        account_links::user(&t.app.platform.db, &p.url(), who).await.unwrap(),
        Some(first),
        "while there is no other"
    );
    let second = mail::create(&t, &owner, "m.rossi@example.org", home).await;
    // The rules are the same as for every user.
    let token = p.token("bailiwick", "m~m.rossi@example.org~false", None).await.unwrap();
    exchange(&t, &token).await.expect(401);
    t.suspend_user(second).await;
    opened(&t, p, who).await.expect_message(401, "user account has been suspended");
    assert_eq!(
        account_links::user(&t.app.platform.db, &p.url(), who).await.unwrap(),
        Some(first),
        "not while suspended"
    );
    t.patch(&format!("/api/users/{second}/reactivate")).bearer(&owner.token).send().await.expect(200);
    assert_eq!(opened(&t, p, who).await.expect(200).data()["user"]["id"], second.to_string());
    assert_eq!(account_links::user(&t.app.platform.db, &p.url(), who).await.unwrap(), Some(second));
    for (user, action) in [(first, "user.unlink"), (second, "user.link")] {
        let filter = audit::Filter { object: Some(user.0), ..audit::Filter::default() };
        let mut actions = Vec::new();
        audit::read(&t.app.platform, &filter, 10, |page| {
            actions.extend(page.iter().map(|row| row.action.clone()));
            true
        })
        .await
        .unwrap();
        assert!(actions.iter().any(|done| done == action), "{actions:?}");
    }
    // A user with an account of their own keeps it.
    opened(&t, p, "n~m.rossi@example.org~true").await.expect(401);
});

external_test!(concurrent_first_sign_ins_create_one_link, |t, p| async move {
    let token = p.token("bailiwick", OWNER, None).await.unwrap();
    let other = p.token("bailiwick", "b~owner@example.org~true", None).await.unwrap();
    let replies = futures_util::future::join_all((0..6).map(|n| {
        let token = if n % 2 == 0 { &token } else { &other };
        exchange(&t, token)
    }))
    .await;
    let (first, second): (Vec<_>, Vec<_>) = replies.iter().enumerate().partition(|(n, _)| n % 2 == 0);
    let statuses = |of: Vec<(usize, &Reply)>| -> Vec<u16> {
        let mut all: Vec<u16> = of.iter().map(|(_, reply)| reply.status.as_u16()).collect();
        all.dedup();
        all
    };
    let (first, second) = (statuses(first), statuses(second));
    assert!(
        (first == [200] && second == [401]) || (first == [401] && second == [200]),
        "{first:?} {second:?}"
    );
});

external_test!(who_is_destroyed_takes_his_link_along, |t, p| async move {
    let owner = t.owner().await;
    let person = t.user(t.tree().await.customer, &["reader"]).await;
    let me = t.get("/api/me").bearer(&person.token).send().await.data();
    let who = format!("a~{}~true", me["email"].as_str().unwrap());
    opened(&t, p, &who).await.expect(200);
    t.delete(&format!("/api/users/{}/destroy", person.id)).bearer(&owner.token).send().await.expect(200);
    out(&t, p, &who).await;
    assert_eq!(account_links::user(&t.app.platform.db, &p.url(), &who).await.unwrap(), None);
});
