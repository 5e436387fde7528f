//! The commands of the guides (`docs/guides/`), line by line. The guide of Keycloak runs with `make test-issuers`.

use crate::program::repository;
use bailiwick_testkit::parts::{configurations::Configurations, postgres};
use std::process::Command;

/// In the order of `docs/guides/README.md`, which people follow.
const IN_ORDER: [&str; 9] = [
    "first-fleet",
    "onboarding-a-reseller",
    "connecting-appliances",
    "monitoring-tools",
    "mimir-in-front",
    "backup-and-restore",
    "upgrade",
    "moving-to-postgresql",
    "incident-checklist",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_guide_in_order_on_one_installation() {
    let router = Configurations::start().await.unwrap_or_else(|e| panic!("{e}"));
    let cluster = postgres::cluster().await.unwrap_or_else(|e| panic!("{e}"));
    cluster.create_database_from(None, "guide").await.expect("a database");
    let mut script = Command::new(repository().join("scripts/guides.sh"));
    script
        .args(IN_ORDER)
        .env("GUIDES_PROGRAM", env!("CARGO_BIN_EXE_bailiwick"))
        .env("GUIDES_DATABASE", cluster.url("guide"))
        .env("GUIDES_ROUTER", router.url());
    let output = tokio::task::spawn_blocking(move || script.output()).await.expect("the thread");
    let output = output.expect("the script runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    assert!(
        router.count() >= 1,
        "the customer's system has asked, and its alerts would find a configuration"
    );
}

/// A guide that no test runs would rot.
#[test]
fn every_guide_is_among_them() {
    let issuers = include_str!("../../../../tests/issuers/run.sh");
    for entry in std::fs::read_dir(repository().join("docs/guides")).expect("the guides") {
        let name = entry.expect("an entry").file_name().into_string().expect("text");
        let guide = name.trim_end_matches(".md");
        let is_walked = IN_ORDER.contains(&guide) || issuers.contains(&format!("guides.sh {guide}"));
        assert!(guide == "README" || is_walked, "{name} is run by no test");
    }
}
