//! Passwords at the tenant (spec: account#password-operations, account#change-password, account#api-keys,
//! users#operations).

use super::*;
use bailiwick_testkit::parts::{logto::Fault, recorder::Answer};

const NEW: &str = "Correct-Horse-9-Staple";

/// A user with an account, a session of theirs, and their password at the tenant.
async fn person(t: &Test, l: &Logto, owner: &Persona) -> (Persona, String, String) {
    let home = t.tree().await.customer;
    let id = new_user(t, owner, "anna", home).await;
    push_changes(t).await;
    let account = account(l, &id);
    let password = l.with(|tenant| tenant.passwords[&account].clone());
    let _ = l.calls();
    (t.session(id.parse().unwrap()).await, account, password)
}

logto_test!(an_own_change_asks_and_sets_there, |t, l| async move {
    let owner = t.owner().await;
    let (person, account, password) = person(&t, &l, &owner).await;
    let other = t.session(person.id).await;
    let change = async |current: &str, new: &str| {
        let body = json!({"current_password": current, "new_password": new});
        t.post("/api/me/change-password").bearer(&person.token).json(body).send().await
    };
    let wrong = change("wrong", NEW).await.expect(400).data();
    assert_eq!(
        wrong["errors"],
        json!([{"key": "current_password", "message": "incorrect_password", "value": ""}])
    );
    let weak = change(&password, "weak").await.expect(400).data();
    assert_eq!(weak["errors"][0]["message"], "min_length");
    assert_eq!(changes(&l), ["POST /users/account/password/verify"]);
    change(&password, NEW).await.expect_message(200, "password changed successfully");
    assert_eq!(changes(&l), ["POST /users/account/password/verify", "PATCH /users/account/password"]);
    assert_eq!(l.with(|tenant| tenant.passwords[&account].clone()), NEW);
    t.get("/api/me").bearer(&person.token).send().await.expect(200);
    t.get("/api/me").bearer(&other.token).send().await.expect(401);
    let stored = bailiwick_store::identities::password(&t.app.platform.db, person.id).await.unwrap().unwrap();
    assert_eq!(stored.hash, None);
});

logto_test!(a_reset_sets_there_and_ends_sessions, |t, l| async move {
    let owner = t.owner().await;
    let (person, account, _) = person(&t, &l, &owner).await;
    let path = format!("/api/users/{}/password", person.id);
    let body = json!({"password": NEW});
    t.patch(&path)
        .bearer(&owner.token)
        .json(body)
        .send()
        .await
        .expect_message(200, "password reset successfully");
    assert_eq!(l.with(|tenant| tenant.passwords[&account].clone()), NEW);
    t.get("/api/me").bearer(&person.token).send().await.expect(401);
    // A user whom the tenant does not know yet has no password there.
    let id = {
        l.always(Answer::status(503));
        new_user(&t, &owner, "new", person.org).await
    };
    let path = format!("/api/users/{id}/password");
    let reply = t.patch(&path).bearer(&owner.token).json(json!({"password": NEW})).send().await;
    reply.expect_message(400, "user not synced to Logto");
});

logto_test!(a_key_is_made_with_the_password_there, |t, l| async move {
    let owner = t.owner().await;
    let (person, _, password) = person(&t, &l, &owner).await;
    let make = async |password: &str| {
        let body = json!({"name": "K", "mode": "read", "password": password});
        t.post("/api/me/api-keys").bearer(&person.token).json(body).send().await
    };
    let wrong = make("wrong").await.expect(400).data();
    assert_eq!(wrong["errors"], json!([{"key": "password", "message": "incorrect_password", "value": ""}]));
    make(&password).await.expect(201);
});

logto_test!(wrong_ones_are_limited_and_an_outage_is_no_wrong_one, |t, l| async move {
    let owner = t.owner().await;
    let (person, _, password) = person(&t, &l, &owner).await;
    let change = async |current: &str| {
        let body = json!({"current_password": current, "new_password": NEW});
        t.post("/api/me/change-password").bearer(&person.token).json(body).send().await
    };
    for (answer, status, message) in [
        (Answer::dropped(), 502, "identity provider unreachable"),
        (Answer::status(500), 502, "identity provider unreachable"),
        (Answer::json(403, &json!({"code": "secret"})), 502, "identity provider unreachable"),
        (Answer::json(404, &json!({"code": "secret"})), 502, "identity provider unreachable"),
        (Answer::json(408, &json!({"code": "secret"})), 504, "identity provider timeout"),
        (Answer::json(429, &json!({"code": "secret"})), 502, "identity provider unreachable"),
    ] {
        for _ in 0..2 {
            l.always(answer.clone());
            let reply = change(&password).await;
            assert!(!reply.text().contains("secret"));
            reply.expect_message(status, message);
        }
    }
    l.recover();
    for _ in 0..10 {
        change("wrong").await.expect(400);
    }
    change(&password).await.expect(429);
    t.advance(Duration::from_secs(901));
    let again = t.session(person.id).await;
    let body = json!({"current_password": password, "new_password": NEW});
    t.post("/api/me/change-password").bearer(&again.token).json(body).send().await.expect(200);
});

logto_test!(what_the_tenant_refuses_names_the_field, |t, l| async move {
    let owner = t.owner().await;
    let (person, _, password) = person(&t, &l, &owner).await;
    l.fail_by(|request| {
        let is_set = request.method == "PATCH" && request.path.ends_with("/password");
        let issue = json!({"path": ["password"], "code": "custom", "message": "secret"});
        let body = json!({"code": "password.rejected", "message": "secret", "data": {"issues": [issue]}});
        is_set.then(|| Fault::Answer(Answer::json(422, &body)))
    });
    let body = json!({"current_password": password, "new_password": NEW});
    let reply =
        t.post("/api/me/change-password").bearer(&person.token).json(body).send().await.expect(400).data();
    assert_eq!(reply["errors"], json!([{"key": "new_password", "message": "custom", "value": ""}]));
    // Nothing has changed here.
    t.get("/api/me").bearer(&person.token).send().await.expect(200);
    let path = format!("/api/users/{}/password", person.id);
    let reply =
        t.patch(&path).bearer(&owner.token).json(json!({"password": NEW})).send().await.expect(400).data();
    assert_eq!(reply["errors"], json!([{"key": "password", "message": "custom"}]));
    t.get("/api/me").bearer(&person.token).send().await.expect(200);
});

// The service cannot know whether the password was set. So it ends everything that a new password ends, and reports the
// error to the caller.
logto_test!(an_unknown_outcome_ends_sessions_too, |t, l| async move {
    let owner = t.owner().await;
    let (person, account, password) = person(&t, &l, &owner).await;
    let other = t.session(person.id).await;
    let fail = |fault: fn(Answer) -> Fault, answer: Answer| {
        l.fail_by(move |request| {
            let is_set = request.method == "PATCH" && request.path.ends_with("/password");
            is_set.then(|| fault(answer.clone()))
        });
    };
    let own = json!({"current_password": password, "new_password": NEW});
    // Not set: everything stays.
    fail(Fault::Answer, Answer::json(403, &json!({})));
    let reply = t.post("/api/me/change-password").bearer(&person.token).json(own.clone()).send().await;
    reply.expect_message(502, "identity provider unreachable");
    t.get("/api/me").bearer(&other.token).send().await.expect(200);
    assert_eq!(changed(&t).await, 0);

    fail(Fault::DoneBut, Answer::status(502));
    let reply = t.post("/api/me/change-password").bearer(&person.token).json(own).send().await;
    reply.expect_message(502, "identity provider unreachable");
    assert_eq!(l.with(|tenant| tenant.passwords[&account].clone()), NEW);
    t.get("/api/me").bearer(&other.token).send().await.expect(401);
    t.get("/api/me").bearer(&person.token).send().await.expect(200);
    assert_eq!(changed(&t).await, 1);

    fail(Fault::DoneBut, Answer::dropped());
    let path = format!("/api/users/{}/password", person.id);
    let reply = t.patch(&path).bearer(&owner.token).json(json!({"password": NEW})).send().await;
    reply.expect_message(502, "identity provider unreachable");
    t.get("/api/me").bearer(&person.token).send().await.expect(401);
    assert_eq!(changed(&t).await, 2);
});

async fn changed(t: &Test) -> u64 {
    let rows = "SELECT CAST(COUNT(*) AS BIGINT) FROM audit_log WHERE action = 'user.password'";
    bailiwick_store::sql::Q::new(rows).count(&t.app.platform.db).await.unwrap()
}

// The caller may leave as soon as the request is sent.
logto_test!(a_reset_ends_sessions_though_nobody_waits, |t, l| async move {
    let owner = t.owner().await;
    let (person, account, _) = person(&t, &l, &owner).await;
    l.fail_by(|request| {
        let is_set = request.method == "PATCH" && request.path.ends_with("/password");
        is_set.then(|| Fault::DoneBut(Answer::json(200, &json!({})).held()))
    });
    let path = format!("/api/users/{}/password", person.id);
    let call = t.patch(&path).bearer(&owner.token).json(json!({"password": NEW}));
    let reset = async {
        call.send().await;
    };
    let is_set = eventually("it is set", async || l.with(|tenant| tenant.passwords[&account] == NEW));
    tokio::select! {
        biased;
        () = is_set => {}
        () = reset => panic!("it was to be given up"),
    }
    l.release();
    let is_over = async || t.get("/api/me").bearer(&person.token).send().await.status == 401;
    eventually("their sessions end", is_over).await;
    assert_eq!(changed(&t).await, 1);
});
