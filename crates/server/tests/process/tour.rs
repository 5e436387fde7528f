//! The README's five minutes, line by line, on both ends of what can be configured.

use crate::program::repository;
use bailiwick_testkit::parts::{alertmanager, ports, postgres};
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::Command,
};

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

/// Something else has the address and answers everything with 401; where.
fn a_stranger() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = BufReader::new(&stream).read_line(&mut String::new());
            let body = r#"{"code":401,"message":"invalid token","data":null}"#;
            let head = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close\r\n";
            let _ = write!(&stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
        }
    });
    address
}

/// As a reader copies it, into a shell without any options: the first step that fails ends it.
#[test]
fn a_step_that_fails_ends_it() {
    let extracted = Command::new("python3")
        .current_dir(repository())
        .args(["scripts/blocks.py", "extract", "README.md"])
        .output()
        .expect("python3");
    assert!(extracted.status.success(), "{extracted:?}");
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("tour"), extracted.stdout).expect("a file");
    let nobody = format!("http://127.0.0.1:{}", ports::spare().expect("a port"));
    let stranger = a_stranger();
    for (program, base) in [("/bin/false", &stranger), ("/bin/echo", &stranger), ("/bin/echo", &nobody)] {
        let mut tour = Command::new("timeout");
        let tour = tour.args(["60", "bash", "tour"]).current_dir(dir.path());
        std::fs::create_dir_all(dir.path().join("target/debug")).expect("a directory");
        let link = dir.path().join("target/debug/bailiwick");
        // It may be there from before.
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(program, link).expect("a link");
        let output = tour.env("TOUR_BASE", base).env("TOUR_PASSWORD", "x").output().expect("bash");
        let code = output.status.code();
        assert!(code.is_some_and(|code| code != 0 && code != 124), "{output:?}");
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!shown.contains("=== 2"), "it went on: {shown}");
    }
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
