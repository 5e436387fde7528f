//! The examples of the API reference: one walk through every operation, on both engines. Its requests and answers are
//! `crates/api/src/openapi/examples.json`, from which the document takes them; `make examples` rewrites the file.

mod alerts;
mod appliance;
mod book;
mod people;
mod systems;
mod tree;

use bailiwick_platform::Secret;
use bailiwick_settings::{AccessControl, AllowedHosts, Application, Client, Network, Settings};
use bailiwick_testkit::{Persona, api_test, seed::Seeded};
use book::{Book, Sent, Who};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// The secret of a remote router, which reports ended alerts.
const HISTORY_SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Where passkeys are offered.
const PORTAL: &str = "https://portal.example.org";

fn settings(settings: &mut Settings) {
    settings.public_url = PORTAL.to_owned();
    settings.systems.legacy_aliases = true;
    settings.alerting.history_secret = Some(Secret::new(HISTORY_SECRET.to_owned()));
    settings.alerting.allowed_hosts =
        AllowedHosts::new([], vec![Network { address: [127, 0, 0, 0].into(), bits: 8 }]);
    settings.provider.clients.push(Client {
        id: "wiki".to_owned(),
        secret_sha256: None,
        redirect_uris: vec!["https://wiki.example.org/callback".to_owned()],
        post_logout_redirect_uris: vec![],
        first_party: false,
        application: Application {
            name: Some("Wiki".to_owned()),
            display_name: Some("Wiki".to_owned()),
            description: "How things are done here".to_owned(),
            login_url: Some("https://wiki.example.org/".to_owned()),
            access_control: Some(AccessControl {
                organization_roles: vec!["owner".to_owned()],
                ..AccessControl::default()
            }),
            ..Application::default()
        },
    });
}

#[track_caller]
fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_else(|| panic!("{key} in {value}")).to_owned()
}

api_test!(every_operation_as_the_reference_shows_it, |s| settings(s), |t| async move {
    let mut book = Book::new(&t);
    let places = tree::walk(&mut book).await;
    let mario = people::walk(&mut book, &places).await;
    let owner = t.owner().await;
    let system = appliance::walk(&mut book, &owner, &places).await;
    systems::walk(&mut book, &owner, &places, &system).await;
    alerts::walk(&mut book, &owner, &places).await;
    people::own_sessions(&mut book, mario).await;
    let written = book.finish();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/api/src/openapi/examples.json");
    if std::env::var_os("BAILIWICK_WRITE_EXAMPLES").is_some() {
        fs::write(&file, &written).unwrap();
    }
    let stored = fs::read_to_string(&file).unwrap();
    let differing = written.lines().zip(stored.lines()).find(|(now, before)| now != before);
    assert!(
        written == stored,
        "answers are not those that the reference shows (`make examples` takes them over): {differing:#?}"
    );
});
