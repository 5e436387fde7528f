//! Each mail that the service can send to people, opened by its links in chromium as its recipient would: signed out, by way of
//! the sign-in, and signed in. Pages of the provider need no sign-in.

#[path = "../console/every_mail.rs"]
mod every_mail;

use crate::{Kind, Stage, console::check_page};
use bailiwick_identity::passwords;
use bailiwick_store::identities;
use bailiwick_testkit::{
    Engine, Test,
    engine::OWNER_PASSWORD,
    parts::{
        recorder::{Answer, Recorder},
        smtp::{self, Received, SmtpSink},
    },
};
use every_mail::{KINDS, NEW, everything, links};
use fantoccini::Locator;
use serde_json::json;

/// What a new user takes instead of the password of their welcome.
const CHOSEN: &str = "Chosen-Horse-4-Staple";

/// What someone signs in with.
struct Login {
    name: String,
    password: String,
}

/// The temporary password in a welcome: the line that is set off.
fn temporary_password(welcome: &Received) -> String {
    let text = welcome.text.as_deref().unwrap();
    let line = text.lines().find(|line| line.starts_with("    ")).unwrap();
    line.trim().to_owned()
}

impl Stage {
    /// Fills in the sign-in that is shown, and chooses another password where one is required.
    async fn sign_in_as(&self, login: &mut Login) {
        self.type_into("name", &login.name).await;
        self.type_into("password", &login.password).await;
        self.press().await;
        if self.browser.find(Locator::Id("new_password_again")).await.is_ok() {
            CHOSEN.clone_into(&mut login.password);
            self.type_into("new_password", CHOSEN).await;
            self.type_into("new_password_again", CHOSEN).await;
            self.press().await;
        }
    }

    /// A page with a title is shown, at this address, and reports no fault.
    async fn has_arrived(&self, link: &str) {
        assert!(!self.text_of("h1").await.is_empty(), "{link}");
        let fault = self.browser.find(Locator::Css("main .message")).await;
        let address = self.browser.current_url().await.unwrap();
        assert!(fault.is_err(), "{link}: {address}");
        let sent = link.split('#').next().unwrap();
        let title = self.text_of("h1").await;
        assert_eq!(address.as_str().split('#').next().unwrap(), sent, "{title}");
    }

    /// Opens a link of a mail, first signed out.
    async fn follow(&self, link: &str, login: &mut Login, picture: &str) {
        let is_console = link.contains("/console");
        self.browser.delete_all_cookies().await.unwrap();
        self.browser.goto(link).await.unwrap();
        if is_console {
            self.sign_in_as(login).await;
        }
        self.has_arrived(link).await;
        self.browser.goto(link).await.unwrap();
        self.has_arrived(link).await;
        if let Some((_, part)) = link.split_once('#') {
            let target = self.browser.execute("return document.querySelector(':target')?.id", vec![]).await;
            assert_eq!(target.unwrap(), json!(part), "{link}");
        }
        if is_console {
            check_page(self, picture).await;
        } else {
            // What the mail asks for can be done.
            self.text_of("form button").await;
            self.picture(picture).await;
        }
    }
}

async fn every_link(engine: Engine, kind: Kind, name: &str) {
    let sink = SmtpSink::start().await.unwrap();
    let site = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let (t, service) =
        Test::on_port(engine, |settings| settings.mail = Some(smtp::settings(sink.port()))).await;
    let tree = t.tree().await;
    let person = t.user(tree.customer, &["admin"]).await;
    let hash = passwords::hash(&t.app.identity, OWNER_PASSWORD).await.unwrap();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    identities::set_password(&mut tx, person.id, &hash, None).await.unwrap();
    tx.commit().await.unwrap();
    let path = format!("/api/users/{}", person.id);
    let shown = t.get(&path).bearer(&t.owner().await.token).send().await.expect(200).data();
    everything(&t, &person, tree.customer).await;

    let mails = sink.messages().unwrap();
    let subjects: Vec<&str> = mails.iter().map(Received::subject).collect();
    assert_eq!(mails.len(), KINDS, "{subjects:?}");
    let welcome = mails.iter().find(|mail| mail.subject().starts_with("Welcome")).unwrap();
    let mut new = Login { name: NEW.to_owned(), password: temporary_password(welcome) };
    // Their address has changed by now.
    let username = shown["username"].as_str().unwrap().to_owned();
    let mut own = Login { name: username, password: OWNER_PASSWORD.to_owned() };
    let stage = Stage::of(t, service, site, kind).await;
    // Pages of the provider first: whoever signs in with a temporary password chooses one, which ends the link to a new one.
    for of_console in [false, true] {
        for (number, mail) in mails.iter().enumerate() {
            let login = if mail.to == [NEW] { &mut new } else { &mut own };
            let links = links(mail, &stage.service.url);
            assert!(!links.is_empty(), "{}: {}", mail.subject(), mail.body());
            for (part, link) in links.iter().enumerate() {
                if link.contains("/console") == of_console {
                    stage.follow(link, login, &format!("mail-{name}-{number}-{part}")).await;
                }
            }
        }
    }
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_link_of_every_mail_leads_to_a_page_on_sqlite() {
    every_link(Engine::Sqlite, Kind::default(), "1280-light").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_link_of_every_mail_leads_to_a_page_on_postgresql() {
    let kind = Kind { is_dark: true, width: Some(360), ..Kind::default() };
    every_link(Engine::Postgres, kind, "360-dark").await;
}
