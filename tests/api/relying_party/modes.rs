//! Differences of the service when people sign in elsewhere.

use super::*;
use crate::mail;
use bailiwick_app::operator;
use bailiwick_store::identities;
use bailiwick_testkit::{api_test, parts::smtp::SmtpSink};
use serde_json::json;

/// An issuer that no request needs to reach.
fn elsewhere(settings: &mut Settings) {
    settings.identity = IdentityMode::Oidc(Box::new(Issuer::new("http://127.0.0.1:1", "bailiwick")));
}

api_test!(there_are_no_passwords, |settings| elsewhere(settings), |t| async move {
    let owner = t.owner().await;
    let person = t.user(t.tree().await.customer, &["reader"]).await;
    let text = "password change not available for this user";
    for body in [json!({}), json!({"current_password": "x", "new_password": "y"})] {
        let reply = t.post("/api/me/change-password").bearer(&owner.token).json(body.clone()).send().await;
        assert_eq!(reply.expect_message(400, text).data(), json!({"type": "validation_error", "errors": []}));
        let key = t.post("/api/me/api-keys").bearer(&owner.token).json(body.clone()).send().await;
        key.expect_message(403, "api keys are not available for this account");
        let path = format!("/api/users/{}/password", person.id);
        let reply = t.patch(&path).bearer(&owner.token).json(body.clone()).send().await;
        reply.expect_message(400, text);
        // A caller without the permission gets no details.
        let reply = t.patch(&path).bearer(&person.token).json(body).send().await;
        reply.expect_message(403, "insufficient permissions");
    }
    t.get("/api/me/api-keys").bearer(&owner.token).send().await.expect(200);
    let nobody = t.app.platform.fresh::<uuid::Uuid>();
    let reply = t.patch(&format!("/api/users/{nobody}/password")).bearer(&owner.token).send().await;
    reply.expect_message(404, "user not found");
});

api_test!(the_service_is_no_provider, |settings| elsewhere(settings), |t| async move {
    for path in [
        "/oidc",
        "/oidc/login",
        "/oidc/auth?client_id=bailiwick",
        "/oidc/jwks",
        "/oidc/me",
        "/oidc/.well-known/openid-configuration",
        "/oidc/forgotten-password",
        "/api/interaction",
    ] {
        for method in ["GET", "POST", "PUT", "OPTIONS"] {
            let call = t.call(method.parse().unwrap(), path).header("origin", "https://a.example");
            let reply = call.send().await.expect_message(404, "api not found");
            assert_eq!(reply.data(), Value::Null);
            assert_eq!(reply.header("access-control-allow-origin"), None);
        }
    }
    t.call("PATCH".parse().unwrap(), "/api/interaction/identifiers")
        .send()
        .await
        .expect_message(404, "api not found");
});

api_test!(tokens_of_the_embedded_provider_are_of_no_use, |settings| elsewhere(settings), |t| async move {
    let user = crate::session::user(&t).await;
    let (token, _) = crate::session::provider_token(&t, user, "bailiwick").await;
    refused(&t, &token, "of the time when people signed in here").await;
});

/// The mails of the service while another provider signs people in.
async fn check_mails(engine: Engine) {
    let sink = SmtpSink::start().await.unwrap();
    let mut settings = mail::settings(sink.port());
    elsewhere(&mut settings);
    let t = Test::with(engine, settings).await;
    let owner = t.owner().await;
    let home = t.tree().await.customer;
    let user = mail::create(&t, &owner, "m.rossi@example.org", home).await;
    let welcome = mail::last(&mail::deliver(&t, &sink).await, 1);
    assert!(welcome.subject().starts_with("Welcome to "), "{}", welcome.subject());
    assert!(!welcome.body().contains("Password") && welcome.body().contains("https://ui.example.org"));
    insta::assert_snapshot!("welcome_elsewhere", welcome.body());
    assert_eq!(identities::password(&t.app.platform.db, user).await.unwrap().unwrap().hash, None);

    // The service asks for no confirmation of an address here: both addresses get a mail.
    let person = t.session(user).await;
    let body = json!({"email": "n@example.org"});
    t.post("/api/me/change-info").bearer(&person.token).json(body).send().await.expect(200);
    let messages = mail::deliver(&t, &sink).await;
    let notices: Vec<_> = messages.iter().skip(1).map(|m| (m.to.join(","), m.subject().to_owned())).collect();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices.iter().all(|(_, subject)| *subject == notices[0].1), "{notices:?}");
    assert!(messages.iter().all(|message| !message.body().contains("/oidc/")));
}

/// Own changes of an address, each of which is mailed to whatever address is named.
async fn own_changes(engine: Engine) {
    let sink = SmtpSink::start().await.unwrap();
    let mut settings = mail::settings(sink.port());
    elsewhere(&mut settings);
    let t = Test::with(engine, settings).await;
    let person = t.user(t.tree().await.customer, &["reader"]).await;
    let change = async |token: &str, n: usize| {
        let body = json!({"email": format!("victim{n}@example.org")});
        t.post("/api/me/change-info").bearer(token).json(body).send().await
    };
    change(&person.token, 0).await.expect(200);
    t.advance(std::time::Duration::from_secs(300));
    for n in 1..5 {
        change(&person.token, n).await.expect(200);
    }
    assert_eq!(change(&person.token, 5).await.expect(429).header("retry-after"), Some("3300"));
    let mailed = mail::deliver(&t, &sink).await;
    assert_eq!(mailed.len(), 10);
    assert!(mailed.iter().all(|message| !message.body().contains("/oidc/")));
    t.advance(std::time::Duration::from_secs(3300));
    change(&t.session(person.id).await.token, 6).await.expect(200);
}
on_both!(own_changes_of_an_address_are_limited, own_changes);

mod mails_show_where_people_sign_in {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sqlite() {
        check_mails(Engine::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        check_mails(Engine::Postgres).await;
    }
}

api_test!(owners_are_made_without_a_password, |settings| elsewhere(settings), |t| async move {
    let new = operator::NewOwnerUser {
        email: "second@example.org".to_owned(),
        username: None,
        name: "Second".to_owned(),
        password: None,
    };
    let id = operator::create_owner_user(&t.app, &new).await.unwrap();
    assert_eq!(identities::password(&t.app.platform.db, id).await.unwrap().unwrap().hash, None);
});
