//! `bailiwick user set-password` and `bailiwick mail test`.

use crate::program::{Serving, command, run, text};
use bailiwick_testkit::parts::ports;
use std::{io::Write, path::Path, process::Stdio};

const OWNER: &str = "owner@bailiwick.example";

fn set(dir: &Path, password: &str) -> (bool, String) {
    let mut command = command(dir);
    command.args(["user", "set-password", OWNER]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    writeln!(child.stdin.take().expect("its input"), "{password}").expect("a line");
    let output = child.wait_with_output().expect("its end");
    (output.status.success(), text(&output) + &String::from_utf8_lossy(&output.stderr))
}

#[tokio::test]
async fn a_lost_password_is_set_by_the_operator() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let serving = Serving::start(dir, &[]).await;
    let token = serving.owner_token();
    let (done, printed) = set(dir, "short");
    assert!(!done && printed.contains("at least 12") && !printed.contains("short"), "{printed}");
    assert_eq!(serving.status_of(&token).await, 200, "nothing was changed");
    let (done, printed) = set(dir, "Another-Horse-8-Battery");
    assert!(done && printed.contains(OWNER) && !printed.contains("Another"), "{printed}");
    assert_eq!(serving.status_of(&token).await, 401, "the sessions have ended");
    let drawn = run(dir, &["user", "set-password", OWNER, "--generate"]);
    assert!(text(&drawn).contains("password (shown only now): "), "{drawn:?}");
    let recorded = run(dir, &["audit", "--action", "user.password", "--json"]);
    assert_eq!(text(&recorded).lines().count(), 2, "{recorded:?}");
    assert!(!run(dir, &["user", "set-password", "nobody@example.org", "--generate"]).status.success());
}

#[test]
fn a_test_of_mail_says_which_server_did_not_take_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let off = run(dir.path(), &["mail", "test", OWNER]);
    assert!(!off.status.success() && String::from_utf8_lossy(&off.stderr).contains("smtp.host"), "{off:?}");
    let port = ports::spare().expect("a port nobody listens on").to_string();
    let output = command(dir.path())
        .env("BAILIWICK_SMTP__HOST", "127.0.0.1")
        .env("BAILIWICK_SMTP__PORT", &port)
        .env("BAILIWICK_SMTP__FROM", "fleet@example.org")
        .args(["mail", "test", OWNER])
        .output()
        .expect("the program runs");
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains(&format!("127.0.0.1:{port}")) && printed.contains("refused"), "{printed}");
}
