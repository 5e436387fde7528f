//! `bailiwick health`, as the health check of a container runs it: with the configuration of the service.

use crate::program::{Serving, command, text, wait_until};
use bailiwick_testkit::{
    parts::{ports, postgres::Cluster},
    patience::found,
};
use std::{fs, path::Path, process::Stdio};

/// Whether `bailiwick health` calls the service well, and its one line.
fn health(dir: &Path, settings: &[(&str, &str)], more: &[&str]) -> (bool, String) {
    let output = command(dir).envs(settings.iter().copied()).arg("health").args(more).output();
    let output = output.expect("the program runs");
    let printed = text(&output) + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(printed.lines().count(), 1, "{printed}");
    // An ending of its own would be a failure of the command itself.
    assert_eq!(output.status.code(), Some(i32::from(!output.status.success())));
    (output.status.success(), printed)
}

fn is_well(dir: &Path, settings: &[(&str, &str)], more: &[&str]) -> bool {
    health(dir, settings, more).0
}

/// What it prints when the service is well. A busy machine may need more than the five seconds of one question.
async fn well(dir: &Path, settings: &[(&str, &str)], more: &[&str]) -> String {
    found(
        || format!("{:?}", health(dir, settings, more)),
        async || Some(health(dir, settings, more)).filter(|(well, _)| *well).map(|(_, printed)| printed),
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_is_alive_and_ready_until_it_ends() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let mut serving = Serving::start(dir, &[]).await;
    let address = serving.url.trim_start_matches("http://").to_owned();
    // A container listens on every address. Nobody can call such an address, so `health` asks on loopback.
    let everywhere = address.replace("127.0.0.1", "0.0.0.0");
    for listen in [&address, &everywhere] {
        let settings = [("BAILIWICK_HTTP__LISTEN", listen.as_str())];
        let printed = well(dir, &settings, &[]).await;
        assert!(printed.starts_with(&format!("alive: http://{address}/ answers ")), "{printed}");
        let printed = well(dir, &settings, &["--ready"]).await;
        assert_eq!(printed, format!("ready: http://{address}/health answers 200\n"));
    }
    assert!(serving.stop());
    let settings = [("BAILIWICK_HTTP__LISTEN", everywhere.as_str())];
    let (well, printed) = health(dir, &settings, &[]);
    assert!(
        !well && printed.contains(&format!("not alive: http://{address}/: Connection refused")),
        "{printed}"
    );
    assert!(!is_well(dir, &settings, &["--ready"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_waits_for_its_database_or_drains_is_alive_and_not_ready() {
    let cluster = Cluster::start().await.expect("PostgreSQL");
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let metrics = format!("127.0.0.1:{}", ports::spare().expect("a port"));
    let url = cluster.url("postgres");
    let settings = [
        ("BAILIWICK_DATABASE__URL", url.as_str()),
        ("BAILIWICK_METRICS__LISTEN", metrics.as_str()),
        ("BAILIWICK_HTTP__DRAIN_DELAY", "5m"),
    ];
    let serving = Serving::start(dir, &settings).await;
    let listen = serving.url.trim_start_matches("http://");
    let front = [("BAILIWICK_HTTP__LISTEN", listen)];
    for settings in [&settings[..], &front] {
        well(dir, settings, &[]).await;
        well(dir, settings, &["--ready"]).await;
    }
    cluster.signal("STOP").await.expect("a signal");
    for settings in [&settings[..], &front] {
        well(dir, settings, &[]).await;
        wait_until("it is not ready", || !is_well(dir, settings, &["--ready"])).await;
    }
    cluster.signal("CONT").await.expect("a signal");
    wait_until("it is ready again", || is_well(dir, &settings, &["--ready"])).await;
    serving.terminate();
    wait_until("it drains", || !is_well(dir, &settings, &["--ready"])).await;
    let printed = well(dir, &settings, &[]).await;
    assert_eq!(printed, format!("alive: http://{metrics}/live answers 200\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_certificate_of_the_own_port_is_not_compared() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    crate::tls::renew(dir, "trusted.pem");
    let address = format!("127.0.0.1:{}", ports::spare().expect("a port"));
    let settings = [
        ("BAILIWICK_HTTP__LISTEN", address.as_str()),
        ("BAILIWICK_HTTP__TLS_CERTIFICATE", "cert.pem"),
        ("BAILIWICK_HTTP__TLS_KEY", "key.pem"),
    ];
    let mut service = command(dir);
    service
        .envs(settings)
        .arg("serve")
        .stdout(Stdio::null())
        .stderr(fs::File::create(dir.join("log")).unwrap());
    let _service = crate::tls::Ending(service.spawn().expect("the program starts"));
    wait_until("it is ready", || is_well(dir, &settings, &["--ready"])).await;
    let printed = well(dir, &settings, &[]).await;
    assert!(printed.starts_with(&format!("alive: https://{address}/ answers ")), "{printed}");
    assert!(!is_well(dir, &settings[..1], &[]), "without TLS there is no answer");
}

#[test]
fn an_unknown_port_is_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    let (well, printed) = health(dir.path(), &[("BAILIWICK_HTTP__LISTEN", "127.0.0.1:0")], &[]);
    assert!(!well && printed.contains("http.listen has port 0"), "{printed}");
}

#[test]
fn another_program_on_the_port_is_not_the_service() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let dir = tempfile::tempdir().expect("a directory");
    let (well, printed) = health(dir.path(), &[("BAILIWICK_HTTP__LISTEN", &address)], &[]);
    assert!(!well && printed.contains("another program"), "{printed}");
}
