//! TLS by setting, as a client sees it (curl).

use crate::program::{command, run};
use bailiwick_testkit::parts::ports;
use base64::{Engine, prelude::BASE64_STANDARD};
use std::{
    fs,
    path::Path,
    process::{Child, Command},
    time::{Duration, Instant},
};

/// A certificate for 127.0.0.1 in the two files, and once more in a third by this name, for those who trust it.
fn renew(dir: &Path, trusted: &str) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let pem = |what: &str, der: &[u8]| {
        format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", BASE64_STANDARD.encode(der))
    };
    fs::write(dir.join("key.pem"), pem("PRIVATE KEY", &made.signing_key.serialize_der())).unwrap();
    for name in ["cert.pem", trusted] {
        fs::write(dir.join(name), pem("CERTIFICATE", made.cert.der())).unwrap();
    }
}

/// Ended when dropped.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Status and headers; empty when there is no connection.
fn curl(dir: &Path, trusted: &str, url: &str, more: &[&str]) -> String {
    let output = Command::new("curl")
        .current_dir(dir)
        .args(["-s", "-i", "--max-time", "10", "--noproxy", "*", "--cacert", trusted])
        .args(more)
        .arg(url)
        .output()
        .expect("curl");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_service_speaks_tls_and_takes_a_new_certificate() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    renew(dir, "old.pem");
    let address = format!("127.0.0.1:{}", ports::spare().expect("a port"));
    let log = || fs::read_to_string(dir.join("log")).unwrap_or_default();
    let file = fs::File::create(dir.join("log")).unwrap();
    let child = command(dir)
        .env("BAILIWICK_HTTP__LISTEN", &address)
        .env("BAILIWICK_HTTP__TLS_CERTIFICATE", "cert.pem")
        .env("BAILIWICK_HTTP__TLS_KEY", "key.pem")
        .arg("serve")
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .spawn()
        .expect("the program starts");
    let mut child = Ending(child);
    let url = format!("https://{address}/health");
    until("it answers", || curl(dir, "old.pem", &url, &[]).starts_with("HTTP/1.1 200"));
    let answer = curl(dir, "old.pem", &url, &[]);
    assert!(answer.contains("strict-transport-security: max-age=31536000"), "{answer}");
    assert_eq!(curl(dir, "old.pem", &url.replace("https", "http"), &[]), "");
    assert_eq!(curl(dir, "old.pem", &url, &["--tls-max", "1.1"]), "");
    assert!(curl(dir, "old.pem", &url, &["--tls-max", "1.2"]).starts_with("HTTP/1.1 200"));
    let discovery =
        curl(dir, "old.pem", &format!("https://{address}/oidc/.well-known/openid-configuration"), &[]);
    assert!(discovery.contains(&format!("https://{address}/oidc/token")), "{discovery}");

    let hang_up = |id: u32| Command::new("kill").args(["-HUP", &id.to_string()]).status().expect("kill");
    renew(dir, "new.pem");
    assert_eq!(curl(dir, "new.pem", &url, &[]), "", "not read yet");
    hang_up(child.0.id());
    until("the new certificate is in use", || curl(dir, "new.pem", &url, &[]).starts_with("HTTP/1.1 200"));
    fs::write(dir.join("key.pem"), "nothing").unwrap();
    hang_up(child.0.id());
    until("the log says so", || log().contains("cannot be used"));
    assert!(curl(dir, "new.pem", &url, &[]).starts_with("HTTP/1.1 200"));
    Command::new("kill").arg(child.0.id().to_string()).status().expect("kill");
    assert!(child.0.wait().expect("its end").success(), "{}", log());
    assert!(!log().contains("PRIVATE"), "{}", log());
}

#[test]
fn certificate_and_key_go_together() {
    let dir = tempfile::tempdir().expect("a directory");
    let check = |set: &str| {
        let output = run(dir.path(), &["--set", set, "config", "check"]);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(check("http.tls_certificate=cert.pem").contains("http.tls_key"));
    assert!(check("http.tls_key=key.pem").contains("http.tls_certificate"));
}
