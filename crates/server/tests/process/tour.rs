//! The README's five minutes, line by line, on both ends of what can be configured.

use crate::program::repository;
use bailiwick_testkit::parts::{alertmanager, postgres};
use std::process::Command;

fn tour(arguments: &[&str]) {
    let output = Command::new(repository().join("scripts/tour.sh"))
        .args(arguments)
        .env("TOUR_PROGRAM", env!("CARGO_BIN_EXE_bailiwick"))
        .output()
        .expect("the script runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
}

#[test]
fn with_everything_embedded() {
    tour(&["embedded"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_postgresql_and_a_real_alertmanager() {
    let cluster = postgres::cluster().await.unwrap_or_else(|e| panic!("{e}"));
    cluster.create_database_from(None, "tour").await.expect("a database");
    let router = alertmanager::Alertmanager::start(alertmanager::SILENT_CONFIGURATION)
        .await
        .unwrap_or_else(|e| panic!("{e}"));
    let (database, router_url) = (cluster.url("tour"), router.url().to_string());
    tokio::task::spawn_blocking(move || tour(&["postgres", &database, &router_url])).await.expect("the tour");
}
