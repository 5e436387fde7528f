//! The links of every mail, opened as their readers would: signed out, by way of the sign-in, and signed in.

#[path = "../../console/every_mail.rs"]
mod every_mail;

use super::{Kind, Stage};
use bailiwick_testkit::{
    Engine, Test,
    engine::OWNER_PASSWORD,
    parts::{
        recorder::{Answer, Recorder},
        smtp::SmtpSink,
    },
};
use every_mail::{KINDS, NEW, everything, links, server};
use fantoccini::Locator;

const CHOSEN: &str = "Chosen-Horse-4-Staple";

/// Somebody who reads mails.
struct Reader {
    name: &'static str,
    password: String,
    /// Whether the next sign-in asks for another password.
    is_temporary: bool,
}

impl Reader {
    async fn sign_in(&mut self, stage: &Stage) {
        stage.type_into("name", self.name).await;
        stage.type_into("password", &self.password).await;
        stage.press().await;
        if std::mem::take(&mut self.is_temporary) {
            CHOSEN.clone_into(&mut self.password);
            stage.type_into("new_password", CHOSEN).await;
            stage.type_into("new_password_again", CHOSEN).await;
            stage.press().await;
        }
    }
}

/// Checks that the page of a link is shown.
async fn is_open(stage: &Stage, link: &str) {
    stage.text_of("main h1").await;
    let sent = |address: &str| address.split('#').next().unwrap().to_owned();
    let here = stage.browser.current_url().await.unwrap();
    assert_eq!(sent(here.as_str()), sent(link));
    let errors = stage.browser.find_all(Locator::Css("section.message")).await.unwrap();
    assert!(errors.is_empty(), "{link}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_link_of_every_mail_opens_its_page() {
    let sink = SmtpSink::start().await.unwrap();
    let (site, port) = (Recorder::start(|_| Answer::status(200)).await.unwrap(), sink.port());
    let (test, service) = Test::on_port(Engine::Sqlite, |s| s.mail = Some(server(port))).await;
    let (owner, tree) = (test.owner().await, test.tree().await);
    everything(&test, &owner, tree.customer).await;
    let stage = Stage::of(test, service, site, Kind::default()).await;
    let mails = sink.messages().unwrap();
    assert_eq!(mails.len(), KINDS);
    let first = mails.iter().find_map(|mail| mail.body().lines().find_map(|line| line.strip_prefix("    ")));
    let mut new = Reader { name: NEW, password: first.unwrap().trim().to_owned(), is_temporary: true };
    let mut own = Reader { name: "owner", password: OWNER_PASSWORD.to_owned(), is_temporary: false };
    for mail in &mails {
        let reader = if mail.to == [NEW] { &mut new } else { &mut own };
        for link in links(mail, &stage.service.url) {
            stage.browser.goto(&format!("{}/docs/guide", stage.service.url)).await.unwrap();
            stage.browser.delete_all_cookies().await.unwrap();
            stage.browser.goto(&link).await.unwrap();
            if link.contains("/console") {
                reader.sign_in(&stage).await;
                is_open(&stage, &link).await;
                stage.browser.goto(&link).await.unwrap();
                is_open(&stage, &link).await;
            } else {
                assert!(!stage.text_of("h1").await.is_empty(), "{link}");
                assert!(stage.browser.find(Locator::Css("form button")).await.is_ok(), "{link}");
            }
        }
    }
    stage.browser.clone().close().await.unwrap();
}
