//! The links of every kind of mail lead to pages, where the console is the only user interface: signed out by way of the
//! sign-in, and signed in at once.

use super::{
    Browser, ORIGIN,
    every_mail::{KINDS, NEW, everything, links},
};
use bailiwick_testkit::{
    Engine, Test, engine,
    parts::smtp::{self, Received, SmtpSink},
};
use std::collections::BTreeSet;
use url::form_urlencoded;

async fn start(engine: Engine) -> (Test, SmtpSink) {
    let sink = SmtpSink::start().await.unwrap();
    let mut settings = engine::settings();
    settings.mail = Some(smtp::settings(sink.port()));
    (Test::with(engine, settings).await, sink)
}

/// Follows a link: without a session by way of the sign-in, with that of its reader to a page.
async fn follow(t: &Test, reader: &Browser<'_>, link: &str) {
    let path = link.strip_prefix(ORIGIN).unwrap();
    let sent = path.split('#').next().unwrap();
    let out = t.get(sent).send().await;
    if !path.starts_with("/console") {
        assert!(out.expect(200).text().contains("<h1"), "{link}");
        return;
    }
    let to = out.expect(303).header("location").unwrap().to_owned();
    let page = form_urlencoded::parse(to.split_once('?').map_or("", |(_, query)| query).as_bytes())
        .find(|(key, _)| key == "page")
        .map_or_else(|| "/console/".to_owned(), |(_, page)| page.into_owned());
    assert!(to.starts_with("/console/sign-in") && page == sent, "{link}: {to}");
    let shown = reader.get(sent).await.expect(200).text();
    assert!(shown.contains("<nav aria-label"), "{link}: {shown}");
    if let Some(part) = path.split_once('#').map(|(_, part)| part) {
        assert!(shown.contains(&format!("id=\"{part}\"")), "{link}");
    }
}

async fn every_link(engine: Engine) {
    let (t, sink) = start(engine).await;
    let tree = t.tree().await;
    let person = t.user(tree.customer, &["admin"]).await;
    let new = everything(&t, &person, tree.customer).await;
    let mails = sink.messages().unwrap();
    let subjects: Vec<&str> = mails.iter().map(Received::subject).collect();
    assert_eq!(mails.len(), KINDS, "{subjects:?}");
    let (own, came) = (Browser::of(&t, &person).await, Browser::of(&t, &new).await);
    let mut followed = BTreeSet::new();
    for mail in &mails {
        let reader = if mail.to == [NEW] { &came } else { &own };
        let links = links(mail, ORIGIN);
        assert!(!links.is_empty(), "{}: {}", mail.subject(), mail.body());
        for link in links {
            follow(&t, reader, &link).await;
            followed.insert(link);
        }
    }
    let leads = |part: &str| followed.iter().any(|link| link.contains(part));
    for part in [
        "/console/account#password",
        "/console/account/factors",
        "/console/alerts/",
        "/oidc/new-password/",
        "/oidc/confirm-address/",
    ] {
        assert!(leads(part), "{part} in {followed:?}");
    }
    // The alert is in its history now; its link still leads to it, and to the system once that is forgotten.
    let alert = followed.iter().find(|link| link.contains("/console/alerts/")).unwrap();
    let (path, system) = alert.strip_prefix(ORIGIN).unwrap().split_once("?system=").unwrap();
    assert!(own.get(path).await.expect(200).text().contains("DiskFull"));
    let gone = format!("{}/0000000000000000?system={system}", path.rsplit_once('/').unwrap().0);
    let to = own.get(&gone).await.expect(303);
    assert_eq!(to.header("location"), Some(&*format!("/console/systems/{system}/alerts")));
    own.get(&gone.replace(system, "nonsense")).await.expect(404);
}

mod every_link_of_every_mail_leads_to_a_page {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sqlite() {
        every_link(Engine::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        every_link(Engine::Postgres).await;
    }
}
