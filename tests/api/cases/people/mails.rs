//! How many mails people cause, and in which language.

use super::{files::HEADER, *};
use bailiwick_settings::Language;
use bailiwick_testkit::{Engine, parts::smtp::SmtpSink};

mail_test!(mails_are_limited_by_organization_and_by_address, |t, sink| async move {
    let tree = t.tree().await;
    let admin = t.user(tree.customer, &["admin"]).await;
    // Ten for an address, whatever stands behind a plus.
    for n in 0..10 {
        post(&t, &admin, "/api/users", &user(&format!("victim+{n}@target.example"), tree.customer))
            .await
            .expect(201);
    }
    let refused = post(&t, &admin, "/api/users", &user("Victim@Target.example", tree.customer)).await;
    let refused = refused.expect_message(429, "too many mails to this address in an hour");
    assert!(refused.header("retry-after").is_some());
    let made =
        post(&t, &admin, "/api/users", &user("z@other.example", tree.customer)).await.expect(201).data();
    let path = format!("/api/users/{}", made["id"].as_str().unwrap());
    let change = json!({"email": "victim@target.example"});
    t.put(&path)
        .bearer(&admin.token)
        .json(change)
        .send()
        .await
        .expect_message(429, "too many mails to this address in an hour");
    let file = "email,name,phone,company_name,roles\nvictim+x@target.example,A,,Alfa Customer,Reader\n";
    let preview = upload(&t, &admin, "users", file).await.expect(200).data();
    let done = post(&t, &admin, "/api/users/import/confirm", &json!({"import_id": preview["import_id"]}))
        .await
        .expect(200)
        .data();
    assert_eq!(done["results"][0]["error"], "too many mails to this address in an hour");
    assert_eq!(deliver(&t, &sink).await.len(), 11, "nothing half-written");
    // What was refused did not count.
    t.advance(std::time::Duration::from_secs(3601));
    let admin = t.session(admin.id).await;
    post(&t, &admin, "/api/users", &user("victim@target.example", tree.customer)).await.expect(201);
});

/// As [`mail_test`] with settings of its own.
async fn with_mail(
    engine: Engine,
    change: impl FnOnce(&mut bailiwick_testkit::Settings),
) -> (Test, SmtpSink) {
    let sink = SmtpSink::start().await.unwrap_or_else(|e| panic!("{e}"));
    let mut settings = mail::settings(sink.port());
    change(&mut settings);
    (Test::with(engine, settings).await, sink)
}

async fn an_organization_has_so_many_mails(engine: Engine) {
    let (t, sink) = with_mail(engine, |settings| {
        (settings.limits.mails_per_organization, settings.limits.mails_per_recipient) = (4, 1);
    })
    .await;
    let tree = t.tree().await;
    let admin = t.user(tree.customer, &["admin"]).await;
    for n in 0..3 {
        post(&t, &admin, "/api/users", &user(&format!("n{n}@x.example"), tree.customer)).await.expect(201);
        // What is refused for another reason, or for the address, does not count.
        let existing = user(&format!("n{n}@x.example"), tree.customer);
        assert_eq!(refusals(&post(&t, &admin, "/api/users", &existing).await), ["email: already_exists"]);
        let same = post(&t, &admin, "/api/users", &user(&format!("n{n}+a@x.example"), tree.customer)).await;
        same.expect_message(429, "too many mails to this address in an hour");
    }
    post(&t, &admin, "/api/users", &user("n3@x.example", tree.customer)).await.expect(201);
    let refused = post(&t, &admin, "/api/users", &user("n4@x.example", tree.customer)).await;
    refused.expect_message(429, "too many mails of this organization in an hour");
    let other = t.user(tree.other_customer, &["admin"]).await;
    post(&t, &other, "/api/users", &user("n4@x.example", tree.other_customer)).await.expect(201);
    assert_eq!(deliver(&t, &sink).await.len(), 5);
}

/// The old and the new address get a mail each.
async fn changes_of_the_own_address_count(engine: Engine) {
    let (t, sink) = with_mail(engine, |settings| settings.limits.mails_per_recipient = 1).await;
    let person = t.user(t.tree().await.customer, &["reader"]).await;
    let change = async |email: &str| {
        let body = json!({"email": email});
        t.post("/api/me/change-info").bearer(&person.token).json(body).send().await
    };
    change("one@target.example").await.expect(200);
    change("two@target.example").await.expect_message(429, "too many mails to this address in an hour");
    assert_eq!(get(&t, &person, "/api/me").await["email"], "one@target.example", "nothing half-written");
    assert_eq!(deliver(&t, &sink).await.len(), 2);
}

async fn the_default_language_is_a_setting(engine: Engine) {
    for (language, subject) in [(Language::English, "Welcome to"), (Language::Italian, "Benvenuto su")] {
        let (t, sink) = with_mail(engine, |settings| settings.language = language).await;
        let tree = t.tree().await;
        let owner = t.owner().await;
        post(&t, &owner, "/api/users", &user("m@x.example", tree.customer)).await.expect(201);
        assert!(last(&deliver(&t, &sink).await, 1).subject().starts_with(subject), "{language:?}");
        let file = format!("{HEADER}\nUno;;V1;;;;;;;\n");
        let preview = upload(&t, &owner, "customers", &file).await.expect(200).data();
        assert_eq!(preview["rows"][0]["data"]["language"], language.code());
        let layer = json!({"enabled": {}, "email_recipients": [{"address": "noc@x.example"}]});
        post(&t, &owner, "/api/alerts/config", &layer).await.expect(200);
        let saved = get(&t, &owner, "/api/alerts/config").await;
        assert!(saved.to_string().contains(&format!("\"language\":\"{}\"", language.code())), "{saved}");
    }
}

macro_rules! on_both_engines {
    ($($name:ident),+) => {$(
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                super::$name(Engine::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                super::$name(Engine::Postgres).await;
            }
        }
    )+};
}
on_both_engines!(
    an_organization_has_so_many_mails,
    changes_of_the_own_address_count,
    the_default_language_is_a_setting
);
