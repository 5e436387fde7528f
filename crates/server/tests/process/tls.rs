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

/// A certificate for 127.0.0.1 in the two files, and once more in a third by this name, for clients that trust it.
pub fn renew(dir: &Path, trusted: &str) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    fs::write(dir.join("key.pem"), pem("PRIVATE KEY", &made.signing_key.serialize_der())).unwrap();
    for name in ["cert.pem", trusted] {
        fs::write(dir.join(name), pem("CERTIFICATE", made.cert.der())).unwrap();
    }
}

fn pem(what: &str, der: &[u8]) -> String {
    format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", BASE64_STANDARD.encode(der))
}

/// Ended when dropped.
pub struct Ending(pub Child);

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
        .args(["-s", "-i", "--max-time", "60", "--noproxy", "*", "--cacert", trusted])
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

/// A certificate that ends on a day, and its key.
fn ending(dir: &Path, (year, month, day): (i32, u8, u8)) {
    let mut parameters = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(year, month, day);
    let key = rcgen::KeyPair::generate().unwrap();
    fs::write(dir.join("cert.pem"), pem("CERTIFICATE", parameters.self_signed(&key).unwrap().der())).unwrap();
    fs::write(dir.join("key.pem"), pem("PRIVATE KEY", &key.serialize_der())).unwrap();
}

fn settings(metrics: &str) -> [(&str, &str); 3] {
    [
        ("BAILIWICK_HTTP__TLS_CERTIFICATE", "cert.pem"),
        ("BAILIWICK_HTTP__TLS_KEY", "key.pem"),
        ("BAILIWICK_METRICS__LISTEN", metrics),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warning_precedes_the_end_of_a_certificate() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let expires = async |metrics: &str| {
        let limit = Instant::now() + Duration::from_secs(60);
        loop {
            if let Ok(page) = reqwest::get(format!("http://{metrics}/metrics")).await {
                let page = page.text().await.unwrap();
                let name = "bailiwick_tls_certificate_expires_timestamp_seconds ";
                return page.lines().find_map(|line| line.strip_prefix(name)?.parse::<f64>().ok());
            }
            assert!(Instant::now() < limit, "no page at {metrics}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let started = |metrics: &str, address: &str| {
        let log = fs::File::create(dir.join("log")).unwrap();
        let mut command = command(dir);
        command.env("BAILIWICK_HTTP__LISTEN", address).envs(settings(metrics)).arg("serve");
        Ending(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().expect("the program starts"))
    };
    let log = || fs::read_to_string(dir.join("log")).unwrap_or_default();
    let address = || format!("127.0.0.1:{}", ports::spare().expect("a port"));

    ending(dir, (2021, 3, 4));
    let metrics = address();
    let service = started(&metrics, &address());
    until("it warns", || log().contains("has expired"));
    let line = log().lines().find(|line| line.contains("has expired")).unwrap().to_owned();
    assert!(line.contains("WARN") && line.contains("cert.pem") && line.contains("2021-03-04"), "{line}");
    assert_eq!(expires(&metrics).await, Some(1_614_816_000.0));
    // The new one is noticed with the signal.
    ending(dir, (2199, 1, 1));
    Command::new("kill").args(["-HUP", &service.0.id().to_string()]).status().expect("kill");
    until("it is read", || log().contains("SIGHUP: new connections get"));
    assert_eq!(expires(&metrics).await, Some(7_226_582_400.0));
    drop(service);

    let metrics = address();
    let service = started(&metrics, &address());
    until("it listens", || log().contains("listening"));
    assert_eq!(expires(&metrics).await, Some(7_226_582_400.0));
    assert!(!log().contains("expire"), "{}", log());
    drop(service);
}

#[test]
fn a_problem_with_a_certificate_names_the_right_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let metrics = "127.0.0.1:0";
    let no = || {
        let mut command = command(dir);
        command.env("BAILIWICK_HTTP__LISTEN", "127.0.0.1:0").envs(settings(metrics)).arg("serve");
        let (_, stderr) = crate::program::refused(&mut command);
        stderr
    };
    renew(dir, "first.pem");
    // A block of the right name with something else in it.
    fs::write(dir.join("cert.pem"), pem("CERTIFICATE", b"no certificate at all")).unwrap();
    let stderr = no();
    assert!(stderr.contains("cert.pem") && stderr.contains("http.tls_certificate"), "{stderr}");
    assert!(!stderr.contains("key.pem"), "the key is right: {stderr}");
    fs::copy(dir.join("first.pem"), dir.join("cert.pem")).unwrap();
    // The second of a chain counts too.
    let chain = fs::read_to_string(dir.join("first.pem")).unwrap() + &pem("CERTIFICATE", b"garbage");
    fs::write(dir.join("cert.pem"), chain).unwrap();
    let stderr = no();
    assert!(stderr.contains("cert.pem") && !stderr.contains("key.pem"), "{stderr}");
    fs::copy(dir.join("first.pem"), dir.join("cert.pem")).unwrap();
    let key = fs::read(dir.join("key.pem")).unwrap();
    fs::write(dir.join("key.pem"), pem("PRIVATE KEY", b"no key at all")).unwrap();
    let stderr = no();
    assert!(
        stderr.contains("key.pem") && stderr.contains("http.tls_key") && !stderr.contains("cert.pem"),
        "{stderr}"
    );
    fs::write(dir.join("key.pem"), key).unwrap();
    // Each is good by itself.
    ending(dir, (2199, 1, 1));
    fs::copy(dir.join("first.pem"), dir.join("cert.pem")).unwrap();
    let stderr = no();
    assert!(
        stderr.contains("cert.pem")
            && stderr.contains("key.pem")
            && stderr.contains("do not belong together"),
        "{stderr}"
    );
    fs::remove_file(dir.join("key.pem")).unwrap();
    let stderr = no();
    assert!(stderr.contains("key.pem") && stderr.contains("No such file"), "{stderr}");
}
