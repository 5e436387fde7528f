//! The commands of the guides (`docs/guides/`), line by line. The guide of Keycloak runs with `make test-issuers`.

use crate::program::repository;
use bailiwick_testkit::parts::{configurations::Configurations, postgres};
use std::process::Command;

fn walk(guide: &str, environment: &[(&str, &str)]) {
    let output = Command::new(repository().join("scripts/guides.sh"))
        .arg(guide)
        .env("GUIDES_PROGRAM", env!("CARGO_BIN_EXE_bailiwick"))
        .envs(environment.iter().copied())
        .output()
        .expect("the script runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
}

#[test]
fn first_fleet() {
    walk("first-fleet", &[]);
}

#[test]
fn onboarding_a_reseller() {
    walk("onboarding-a-reseller", &[]);
}

#[test]
fn connecting_appliances() {
    walk("connecting-appliances", &[]);
}

#[test]
fn monitoring_tools() {
    walk("monitoring-tools", &[]);
}

#[test]
fn backup_and_restore() {
    walk("backup-and-restore", &[]);
}

#[test]
fn upgrade() {
    walk("upgrade", &[]);
}

#[test]
fn incident_checklist() {
    walk("incident-checklist", &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_to_postgresql() {
    let cluster = postgres::cluster().await.unwrap_or_else(|e| panic!("{e}"));
    cluster.create_database_from(None, "guide").await.expect("a database");
    let url = cluster.url("guide");
    tokio::task::spawn_blocking(move || walk("moving-to-postgresql", &[("GUIDES_DATABASE", &url)]))
        .await
        .expect("the guide");
}

#[tokio::test(flavor = "multi_thread")]
async fn mimir_in_front() {
    let router = Configurations::start().await.unwrap_or_else(|e| panic!("{e}"));
    let url = router.url();
    tokio::task::spawn_blocking(move || walk("mimir-in-front", &[("GUIDES_ROUTER", &url)]))
        .await
        .expect("the guide");
    assert_eq!(router.count(), 2, "the owner and the customer have a configuration each");
}

/// A guide that no test runs would rot.
#[test]
fn every_guide_is_among_them() {
    let here = include_str!("guides.rs");
    let issuers = include_str!("../../../../tests/issuers/run.sh");
    for entry in std::fs::read_dir(repository().join("docs/guides")).expect("the guides") {
        let name = entry.expect("an entry").file_name().into_string().expect("text");
        let guide = name.trim_end_matches(".md");
        let is_walked =
            here.contains(&format!("walk(\"{guide}\"")) || issuers.contains(&format!("guides.sh {guide}"));
        assert!(guide == "README" || is_walked, "{name} is run by no test");
    }
}
