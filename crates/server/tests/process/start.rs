//! The messages of a start: none is untrue, and a failure says what to do about it.

use crate::program::{Serving, command, execute, refused, run, text};
use bailiwick_testkit::{
    eventually,
    parts::{ports, postgres},
};
use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Ended when dropped.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(dir: &Path, settings: &[(&str, &str)]) -> Command {
    let mut command = command(dir);
    // Not the port of a service that already runs on this machine.
    command.env("BAILIWICK_HTTP__LISTEN", "127.0.0.1:0");
    command.envs(settings.iter().copied()).arg("serve");
    command
}

/// The messages of a start that fails; nothing on standard output, and no Rust in them.
fn no(dir: &Path, settings: &[(&str, &str)]) -> String {
    let (out, stderr) = refused(&mut serve(dir, settings));
    assert_eq!(out, "", "{stderr}");
    for debug in [" { ", "Some(", "Os {", "[FieldError", "Err("] {
        assert!(!stderr.contains(debug), "{stderr}");
    }
    stderr
}

/// Waits for a text in a file.
fn wait_for_text(file: &Path, wanted: &str) -> String {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if text.contains(wanted) {
            return text;
        }
        assert!(Instant::now() < limit, "no `{wanted}` in: {text}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_sent_to_an_address_before_it_answers() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    let listen = format!("127.0.0.1:{}", ports::spare().expect("a port"));
    let stderr = no(dir, &[("BAILIWICK_HTTP__LISTEN", &taken)]);
    assert!(
        stderr.contains(&taken) && stderr.contains("http.listen") && stderr.contains("in use"),
        "{stderr}"
    );
    let metrics = [("BAILIWICK_HTTP__LISTEN", listen.as_str()), ("BAILIWICK_METRICS__LISTEN", &taken)];
    let stderr = no(dir, &metrics);
    assert!(stderr.contains(&taken) && stderr.contains("metrics.listen"), "{stderr}");
    let stderr = no(dir, &[("BAILIWICK_HTTP__LISTEN", &listen), ("BAILIWICK_HTTP__STATIC_DIR", "nowhere")]);
    assert!(stderr.contains("http.static_dir") && stderr.contains("nowhere"), "{stderr}");

    // A start that fails makes no password, which would be lost. The start that succeeds makes it, and prints it when
    // the address answers.
    let out = dir.join("out");
    let mut start = serve(dir, &[("BAILIWICK_HTTP__LISTEN", &listen)]);
    let start = start.stdout(std::fs::File::create(&out).unwrap()).stderr(Stdio::null());
    let _serving = Ending(start.spawn().expect("the program starts"));
    let greeting = wait_for_text(&out, "password    ");
    assert!(greeting.contains(&format!("http://{listen}/console/")), "{greeting}");
    let answer = reqwest::get(format!("http://{listen}/health")).await.expect("it listens");
    assert_eq!(answer.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn any_free_port_is_named_as_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out");
    let mut start = serve(dir.path(), &[("BAILIWICK_HTTP__LISTEN", "127.0.0.1:0")]);
    let start = start.stdout(std::fs::File::create(&out).unwrap()).stderr(Stdio::null());
    let _serving = Ending(start.spawn().expect("the program starts"));
    let greeting = wait_for_text(&out, "password    ");
    let url = greeting.lines().find_map(|line| line.trim().strip_prefix("sign in at")).expect("an address");
    let base = url.trim().strip_suffix("/console/").expect("the console");
    let discovery = reqwest::get(format!("{base}/oidc/.well-known/openid-configuration")).await;
    let discovery = discovery.expect("it listens").text().await.expect("a body");
    assert!(discovery.contains(&format!("\"{base}/oidc\"")), "{discovery}");
}

#[test]
fn a_command_does_not_greet_like_a_service() {
    for arguments in [
        &["demo", "--still", "--organizations", "5", "--systems", "2"][..],
        &["user", "create-owner", "--email", "second@example.org", "--name", "Second"],
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let output = run(dir.path(), arguments);
        let stdout = text(&output);
        assert!(output.status.success() && stdout.contains("password    "), "{output:?}");
        assert!(stdout.contains("owner@bailiwick.example") && stdout.contains("bailiwick serve"), "{stdout}");
        assert!(!stdout.contains("is ready") && !stdout.contains("http://"), "nothing listens: {stdout}");
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("file"), "no directory").unwrap();
    let stderr = no(dir.path(), &[("BAILIWICK_DATA_DIR", "file/data")]);
    assert!(stderr.contains("file/data") && stderr.contains("data_dir"), "{stderr}");
    // The directory is there, and the database in it is none.
    std::fs::create_dir_all(dir.path().join("data/bailiwick.db")).unwrap();
    let stderr = no(dir.path(), &[]);
    assert!(stderr.contains("data/bailiwick.db"), "{stderr}");
    std::fs::create_dir(dir.path().join("other")).unwrap();
    std::fs::write(dir.path().join("other/bailiwick.db"), "this is a text of somebody else, and no database")
        .unwrap();
    let stderr = no(dir.path(), &[("BAILIWICK_DATA_DIR", "other")]);
    assert!(stderr.contains("other/bailiwick.db") && stderr.contains("not a database"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgresql_that_is_away_is_named_with_the_cause() {
    let dir = tempfile::tempdir().expect("a directory");
    let port = ports::spare().expect("a port").to_string();
    let url = format!("postgres://fleet:not-for-the-log@127.0.0.1:{port}/fleet");
    let stderr = no(dir.path(), &[("BAILIWICK_DATABASE__URL", &url)]);
    for part in ["127.0.0.1", &port, "refused", "database.url", "PostgreSQL"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert!(!stderr.contains("pool") && !stderr.contains("not-for-the-log"), "{stderr}");
    // A server that takes the connection and says nothing.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = mute.local_addr().unwrap().port().to_string();
    let stderr =
        no(dir.path(), &[("BAILIWICK_DATABASE__URL", &format!("postgres://fleet@127.0.0.1:{port}/fleet"))]);
    assert!(stderr.contains(&port) && stderr.contains("no answer"), "{stderr}");
    let stderr =
        no(dir.path(), &[("BAILIWICK_DATABASE__URL", "postgres://fleet@no-such-host.invalid/fleet")]);
    assert!(stderr.contains("no-such-host.invalid"), "{stderr}");
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    let url = cluster.url("there_is_none");
    let stderr = no(dir.path(), &[("BAILIWICK_DATABASE__URL", &url)]);
    assert!(stderr.contains("there_is_none") && stderr.contains("does not exist"), "{stderr}");
}

#[test]
fn a_weak_password_of_the_owner_is_explained() {
    let dir = tempfile::tempdir().expect("a directory");
    for (password, words) in [
        ("short", "at least 12"),
        ("correct-horse-7-battery", "upper-case"),
        ("Correct-Horse-X-Battery", "digit"),
    ] {
        let stderr = no(dir.path(), &[("BAILIWICK_OWNER_PASSWORD", password)]);
        assert!(stderr.contains("owner.password (variable BAILIWICK_OWNER_PASSWORD)"), "{stderr}");
        assert!(stderr.contains(words) && !stderr.contains(password), "{stderr}");
    }
    let stderr = no(dir.path(), &[("BAILIWICK_OWNER__NAME", &"n".repeat(300))]);
    assert!(stderr.contains("owner.name (variable BAILIWICK_OWNER__NAME)"), "{stderr}");
}

/// Makes a database with a migration that this program does not know.
async fn newer_database(dir: &Path, url: &str) {
    let migrated = command(dir).env("BAILIWICK_DATABASE__URL", url).arg("migrate").output().expect("it runs");
    assert!(migrated.status.success(), "{migrated:?}");
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         SELECT 9999, 'newer', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1";
    assert_eq!(execute(url, newer).await, 1);
}

fn refuses_newer_database(dir: &Path, url: &str) {
    let stderr = no(dir, &[("BAILIWICK_DATABASE__URL", url)]);
    assert!(stderr.contains("newer") && stderr.contains("9999") && stderr.contains("upgrade"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_sqlite_file_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("sqlite:{}", dir.path().join("newer.db").display());
    newer_database(dir.path(), &url).await;
    refuses_newer_database(dir.path(), &url);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schema_of_the_next_version_is_used_while_it_supports_this_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "newer").await.expect("a database");
    let url = cluster.url("newer");
    newer_database(dir.path(), &url).await;
    let mut beside = Serving::start(dir.path(), &[("BAILIWICK_DATABASE__URL", url.as_str())]).await;
    // It holds nothing that a process of the newer version, or another of this one, needs to start.
    // The workers lock for moments, and other tests have databases of their own in this cluster.
    let is_free = "UPDATE schema_compatibility SET oldest = oldest WHERE NOT EXISTS (SELECT 1 FROM pg_locks \
         WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))";
    eventually("the lock of migrations is free", async || execute(&url, is_free).await == 1).await;
    let second = Serving::start(dir.path(), &[("BAILIWICK_DATABASE__URL", url.as_str())]).await;
    drop(second);
    assert!(beside.stop(), "{}", beside.log());
    let log = beside.log();
    assert!(log.contains("WARN") && log.contains("a newer version") && log.contains("9999"), "{log}");
    assert_eq!(execute(&url, "UPDATE schema_compatibility SET oldest = 9999").await, 1);
    refuses_newer_database(dir.path(), &url);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_an_owner_who_is_there_are_named_at_the_level_of_debugging() {
    const WARNING: &str = "only the first start reads these settings";
    let dir = tempfile::tempdir().expect("a directory");
    let mut first = Serving::start(dir.path(), &[]).await;
    assert!(first.stop(), "{}", first.log());
    assert!(!first.log().contains(WARNING), "{}", first.log());
    drop(first);
    let email = ("BAILIWICK_OWNER_EMAIL", "other@example.org");
    let mut second = Serving::start(dir.path(), &[email]).await;
    assert!(second.stop() && !second.log().contains(WARNING), "{}", second.log());
    drop(second);
    let third =
        Serving::start(dir.path(), &[email, ("BAILIWICK_LOG__LEVEL", "info,bailiwick_server=debug")]).await;
    let log = third.log();
    let line = log.lines().find(|line| line.contains(WARNING)).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("DEBUG") && line.contains("BAILIWICK_OWNER_EMAIL"), "{line}");
    assert!(line.contains("BAILIWICK_OWNER_PASSWORD") && line.contains("user create-owner"), "{line}");
    assert!(!log.contains("Correct-Horse"), "{log}");
}

#[tokio::test]
async fn an_empty_file_is_taken_for_a_new_installation_and_named() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(dir.path().join("data")).expect("a directory");
    std::fs::write(dir.path().join("data/bailiwick.db"), "").expect("a file");
    let serving = Serving::start(dir.path(), &[]).await;
    let log = serving.log();
    let line = log.lines().find(|line| line.contains("the database file is empty")).expect("a warning");
    assert!(line.contains("WARN") && line.contains("bailiwick.db"), "{line}");
}
