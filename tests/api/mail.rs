//! Mail against a real mail server (spec: openid-provider#endpoints, account#change-info, users#create, users#update).

mod addresses;
mod forgotten;
mod letters;
mod outbox;

use crate::provider::client::{Browser, form_token, local};
use bailiwick_domain::UserId;
use bailiwick_events::mail;
use bailiwick_settings::Settings;
use bailiwick_store::{mail_links, sql::Q};
use bailiwick_testkit::{
    Engine, Persona, Reply, Test, engine,
    parts::smtp::{self, Received, SmtpSink},
};
use serde_json::{Value, json};

/// The password that a person chooses.
pub const CHOSEN: &str = "Chosen-Horse-4-Staple";

/// The settings of every test with mail.
pub fn settings(port: u16) -> Settings {
    let mut settings = engine::settings();
    settings.app_url = Some("https://ui.example.org".to_owned());
    settings.mail = Some(smtp::settings(port));
    settings
}

pub async fn start(engine: Engine) -> (Test, SmtpSink) {
    let sink = SmtpSink::start().await.unwrap_or_else(|e| panic!("{e}"));
    (Test::with(engine, settings(sink.port())).await, sink)
}

/// `mail_test!(name, |t, sink| async move { … })` becomes `name::sqlite` and `name::postgres`.
macro_rules! mail_test {
    ($name:ident, |$t:ident, $sink:ident| $body:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            async fn body_of_it($t: Test, $sink: SmtpSink) {
                $body.await
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                let (t, sink) = start(Engine::Sqlite).await;
                body_of_it(t, sink).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                let (t, sink) = start(Engine::Postgres).await;
                body_of_it(t, sink).await;
            }
        }
    };
}
pub(crate) use mail_test;

/// Sends the due mails; returns all mails that were ever received.
pub async fn deliver(t: &Test, sink: &SmtpSink) -> Vec<Received> {
    mail::run_until_idle(&t.app.events).await.unwrap();
    sink.messages().unwrap()
}

/// The last message, of exactly `n`.
#[track_caller]
pub fn last(messages: &[Received], n: usize) -> Received {
    let subjects: Vec<&str> = messages.iter().map(Received::subject).collect();
    assert_eq!(messages.len(), n, "{subjects:?}");
    messages[n - 1].clone()
}

/// Creates a user over HTTP; returns the id.
pub async fn create(t: &Test, who: &Persona, email: &str, organization: impl serde::Serialize) -> UserId {
    let body = json!({"email": email, "name": "Mario Rossi", "user_role_ids": ["reader"], "organization_id": organization});
    let made = t.post("/api/users").bearer(&who.token).json(body).send().await;
    made.expect_message(201, "user created successfully").data()["id"].as_str().unwrap().parse().unwrap()
}

/// The password in a welcome mail.
pub fn password_in(message: &Received) -> String {
    let indented = message.body().lines().find_map(|line| line.strip_prefix("    "));
    indented.unwrap_or_else(|| panic!("no password: {}", message.body())).trim().to_owned()
}

/// The link in a mail.
pub fn link_in(message: &Received) -> String {
    let line = message.body().lines().find(|line| line.starts_with("http"));
    line.unwrap_or_else(|| panic!("no link: {}", message.body())).to_owned()
}

/// A job as the database has it.
#[derive(Debug)]
pub struct Row {
    pub payload: String,
    pub error: Option<String>,
    pub is_ended: bool,
}

pub async fn jobs(t: &Test) -> Vec<Row> {
    let sql = "SELECT CAST(payload AS TEXT), last_error, CAST(CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END AS BIGINT) \
        FROM jobs WHERE kind = 'mail' ORDER BY created_at, id";
    let rows: Vec<(String, Option<String>, i64)> = Q::new(sql).all(&t.app.platform.db).await.unwrap();
    rows.into_iter().map(|(payload, error, ended)| Row { payload, error, is_ended: ended == 1 }).collect()
}

pub async fn is_verified(t: &Test, user: UserId) -> bool {
    mail_links::addresses(&t.app.platform.db, user).await.unwrap().unwrap().email_verified
}

/// Opens the page of a link: its form token.
pub async fn open(browser: &Browser<'_>, link: &str) -> String {
    form_token(&browser.get(link).await.expect(200))
}

/// Signs in at the provider without a client; returns the page and the answer to the form.
pub async fn sign_in(browser: &Browser<'_>, name: &str, password: &str) -> (String, Reply) {
    let sent = browser.get("/oidc/login").await.expect(303);
    let page = sent.header("location").unwrap().to_owned();
    let token = form_token(&browser.get(&page).await.expect(200));
    let reply = browser.submit(&page, &token, name, password).await;
    (page, reply)
}

/// Asks for a new password on the page.
pub async fn ask(t: &Test, name: &str, from: &str) -> Reply {
    let browser = Browser::new(t);
    let token = form_token(&browser.get("/oidc/forgotten-password").await.expect(200));
    let form = [("form_token", token.as_str()), ("name", name)];
    browser.send(t.post("/oidc/forgotten-password").form(&form).from(from)).await
}

/// Sets a new password by a link.
pub async fn reset(t: &Test, link: &str, password: &str) -> Reply {
    let browser = Browser::new(t);
    let shown = browser.get(link).await;
    if shown.status != 200 {
        return shown;
    }
    let token = form_token(&shown);
    let form = [("form_token", token.as_str()), ("new_password", password), ("new_password_again", password)];
    browser.post(local(link), &form).await
}

/// Changes the fields that users may change about themselves.
pub async fn change_info(t: &Test, who: &Persona, body: Value) -> Reply {
    t.post("/api/me/change-info").bearer(&who.token).json(body).send().await
}
