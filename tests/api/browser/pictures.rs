//! The pictures of the console in the README and in `docs/console.md`, made from demo data. `make pictures` writes them to
//! `docs/pictures/` with a digest of what each page says and of the stylesheet; the test fails as soon as a page says
//! something else, so that no picture grows stale.

use crate::{Kind, Stage};
use aws_lc_rs::digest;
use bailiwick_demo::{self as demo, Plan};
use bailiwick_testkit::{
    Engine, Test,
    engine::OWNER_PASSWORD,
    parts::recorder::{Answer, Recorder},
};
use fantoccini::Locator;
use serde_json::json;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Largest picture.
const BYTES: usize = 200_000;
/// Name of each picture and its page; `{first}` stands for the first row of the list named before.
const ON_A_DESK: &[(&str, &str)] = &[
    ("home", "/console/"),
    ("systems", "/console/systems?sort_by=name"),
    ("system", "/console/systems?search=Headquarters {first}"),
    ("changes", "/console/systems?search=Headquarters {first}/changes"),
    ("organizations", "/console/organizations"),
    ("users", "/console/users?sort_by=name"),
    ("applications", "/console/applications/summary"),
    ("alerts", "/console/alerts"),
    ("notifications", "/console/notifications"),
    ("account", "/console/account/sessions"),
];
/// Name, severity and summary of alerts of one system.
const ALERTS: &[(&str, &str, &str)] = &[
    ("DiskFull", "critical", "The disk of node 1 is 96 % full"),
    ("BackupFailed", "critical", "The backup of last night has failed"),
    ("CertificateEnds", "warning", "The certificate ends in nine days"),
    ("QueueGrows", "warning", "4,210 mails wait for delivery"),
    ("UpdateReady", "info", "Version 8.8 can be installed"),
];
const IN_THE_DARK: &[(&str, &str)] = &[("home-dark", "/console/")];
const ON_A_PHONE: &[(&str, &str)] =
    &[("home-phone", "/console/"), ("systems-phone", "/console/systems?sort_by=name")];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures")
}

async fn stage(kind: Kind) -> Stage {
    let site = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let (test, service) = Test::on_port(Engine::Sqlite, |_| {}).await;
    let plan = Plan { organizations: 120, systems: 2_400, users: None, applications: true, seed: 7 };
    demo::fill(&test.app.fleet, &plan, &mut |_| {}).await.unwrap();
    add_headquarters(&test).await;
    let stage = Stage::of(test, service, site, kind).await;
    stage.browser.goto(&format!("{}/console/", stage.service.url)).await.unwrap();
    stage.type_into("name", "owner@example.org").await;
    stage.type_into("password", OWNER_PASSWORD).await;
    stage.press().await;
    stage.text_of("main h1").await;
    stage
}

/// A system of the owner with documents and alerts: demo data has none.
async fn add_headquarters(t: &Test) {
    let owner = t.owner().await;
    let body = json!({"name": "Headquarters", "organization_id": owner.org});
    let made = t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201).data();
    let (key, secret) = (made["system_key"].as_str().unwrap(), made["system_secret"].as_str().unwrap());
    t.post("/api/systems/register").json(json!({"system_secret": secret})).send().await.expect(200);
    t.send_documents(key, secret).await;
    let alert = |(name, severity, summary): &(&str, &str, &str)| json!({"labels": {"alertname": name, "severity": severity}, "annotations": {"summary": summary}});
    let alerts: Vec<_> = ALERTS.iter().map(alert).collect();
    let path = "/api/services/mimir/alertmanager/api/v2/alerts";
    t.post(path).basic(key, secret).json(json!(alerts)).send().await.expect(200);
}

/// Goes to a page of the lists above.
async fn open_page(stage: &Stage, page: &str) {
    let (list, tail) = page.split_once(" {first}").unzip();
    stage.browser.goto(&format!("{}{}", stage.service.url, list.unwrap_or(page))).await.unwrap();
    if let Some(tail) = tail {
        let first = stage.browser.find(Locator::Css(".list tbody th a")).await.unwrap();
        let address = first.attr("href").await.unwrap().unwrap();
        stage.browser.goto(&format!("{}{address}{tail}", stage.service.url)).await.unwrap();
    }
    stage.text_of("main h1").await;
}

/// What is shown: the words of the page, and the stylesheet by the hash in its name.
async fn shown(stage: &Stage) -> String {
    let script = "return document.body.innerText + document.querySelector('link[rel=stylesheet]').getAttribute('href')";
    let text = stage.browser.execute(script, vec![]).await.unwrap();
    let text = text.as_str().unwrap().replace(&stage.service.url, "");
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    digest.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pictures_in_the_documents_show_the_present_pages() {
    let is_writing = std::env::var_os("BAILIWICK_WRITE_PICTURES").is_some();
    let mut shown_pages = BTreeMap::new();
    let kinds = [
        (Kind::default(), ON_A_DESK),
        (Kind { is_dark: true, ..Kind::default() }, IN_THE_DARK),
        (Kind { width: Some(360), ..Kind::default() }, ON_A_PHONE),
    ];
    for (kind, pictures) in kinds {
        let stage = stage(kind).await;
        for (name, page) in pictures {
            open_page(&stage, page).await;
            shown_pages.insert((*name).to_owned(), shown(&stage).await);
            let image = stage.browser.screenshot().await.unwrap();
            assert!(image.len() <= BYTES, "{name}: {} bytes", image.len());
            if is_writing {
                std::fs::create_dir_all(folder()).unwrap();
                std::fs::write(folder().join(format!("{name}.png")), image).unwrap();
            }
        }
        stage.browser.clone().close().await.unwrap();
    }
    let list = folder().join("shown.json");
    if is_writing {
        std::fs::write(&list, serde_json::to_string_pretty(&shown_pages).unwrap() + "\n").unwrap();
    }
    let listed: BTreeMap<String, String> =
        serde_json::from_str(&std::fs::read_to_string(&list).unwrap()).unwrap();
    assert_eq!(
        listed, shown_pages,
        "pages have changed since their pictures were made: run `make pictures` and look at them"
    );
    let documents = ["README.md", "docs/console.md"];
    let root = folder().join("../..");
    let text: String =
        documents.iter().map(|name| std::fs::read_to_string(root.join(name)).unwrap()).collect();
    for name in shown_pages.keys() {
        let file = format!("pictures/{name}.png");
        assert!(
            folder().join(format!("{name}.png")).exists() && text.contains(&file),
            "{file} is in no document"
        );
    }
}
