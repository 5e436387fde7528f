//! What the log says of requests, and of configurations that are probably not meant so.

use crate::{
    program::{Serving, command, repository, run, text, wait_until},
    survival::{post, system},
};
use bailiwick_testkit::parts::{postgres, smtp::SmtpSink};
use reqwest::Client;
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};
use tokio::net::{TcpListener, TcpStream};

/// The lines with this text.
fn lines(serving: &Serving, wanted: &str) -> Vec<Value> {
    let log = serving.log();
    let all = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    all.filter(|line| line["message"].as_str().is_some_and(|text| text.contains(wanted))).collect()
}

const JSON: (&str, &str) = ("BAILIWICK_LOG__FORMAT", "json");

#[tokio::test]
async fn a_line_names_its_request_at_every_level_and_refusals_are_logged() {
    // The second is answered by the proxy of alerts.
    for (path, route) in [
        ("/systems/info", "/systems/info"),
        ("/services/mimir/alertmanager/api/v2/alerts", "/{service}/api/v2/alerts"),
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let settings =
            [JSON, ("BAILIWICK_LOG__LEVEL", "warn"), ("BAILIWICK_LIMITS__SYSTEM_AUTH_FAILURES", "1")];
        let serving = Serving::start(dir.path(), &settings).await;
        let (client, url) = (Client::new(), format!("{}/api{path}", serving.url));
        let began = Instant::now();
        let mut refused = 0;
        while refused < 3 {
            let request = client.get(&url).basic_auth("SYS-1", Some("x"));
            let request = request.header("x-request-id", format!("r-{refused}"));
            let answer = request.send().await.expect("an answer");
            refused += usize::from(answer.status() == 429);
        }
        // A line in ten seconds at most.
        let most = 1 + usize::try_from(began.elapsed().as_secs()).expect("a number") / 10;
        wait_until("the refusal is logged", || !lines(&serving, "refused (429)").is_empty()).await;
        let logged = lines(&serving, "refused (429)");
        assert!((1..=most).contains(&logged.len()), "{logged:?}");
        let span = &logged[0]["span"];
        assert_eq!(
            (&logged[0]["level"], &span["id"], &span["method"]),
            (&"WARN".into(), &"r-0".into(), &"GET".into())
        );
        assert_eq!((&span["route"], &logged[0]["times"]), (&route.into(), &1.into()), "{logged:?}");
        assert!(span.get("path").is_none(), "{logged:?}");
    }
}

#[tokio::test]
async fn a_line_names_route_and_caller() {
    let dir = tempfile::tempdir().expect("a directory");
    let settings = [JSON, ("BAILIWICK_LOG__LEVEL", "warn,bailiwick_api=debug")];
    let serving = Serving::start(dir.path(), &settings).await;
    let system = format!("{}/api/systems/01950000-0000-7000-8000-000000000000", serving.url);
    let request =
        Client::new().get(system).bearer_auth(serving.owner_token()).header("x-request-id", "find-me");
    assert_eq!(request.send().await.expect("an answer").status(), 404);
    wait_until("it is logged", || !lines(&serving, "request refused").is_empty()).await;
    let span = &lines(&serving, "request refused")[0]["span"];
    let (id, route, caller) = ("find-me".into(), "/systems/{id}".into(), "user".into());
    assert_eq!((&span["id"], &span["route"], &span["caller"]), (&id, &route, &caller), "{span}");
}

#[tokio::test]
async fn a_request_by_another_address_is_logged_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(dir.path(), &[JSON]).await;
    let sign_in = format!("{}/console/sign-in", serving.url);
    let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build().expect("a client");
    client.get(&sign_in).send().await.expect("an answer");
    assert!(lines(&serving, "http.public_url").is_empty() && lines(&serving, "trusted_proxies").is_empty());
    for _ in 0..3 {
        let request =
            client.get(&sign_in).header("host", "192.168.1.5:18080").header("x-forwarded-for", "192.0.2.1");
        request.send().await.expect("an answer");
    }
    wait_until("both are logged", || {
        !lines(&serving, "by another address").is_empty() && !lines(&serving, "trusted_proxies").is_empty()
    })
    .await;
    let logged = lines(&serving, "by another address");
    assert_eq!((logged.len(), &logged[0]["host"]), (1, &"192.168.1.5:18080".into()), "{logged:?}");
    assert_eq!(lines(&serving, "http.trusted_proxies").len(), 1);
}

#[tokio::test]
async fn a_start_logs_its_address_and_probable_mistakes() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
    let secret = dir.path().join("secret-of-all");
    fs::write(&secret, "0123456789abcdef0123456789abcdef").expect("a file");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).expect("its mode");
    fs::write(dir.path().join("bailiwick.toml"), "app_url = \"https://ui.example\"\n").expect("a file");
    let secret = secret.display().to_string();
    let settings = [JSON, ("BAILIWICK_SECRET_FILE", secret.as_str()), ("APP_URL", "https://other.example")];
    let serving = Serving::start(dir.path(), &settings).await;
    wait_until("it listens", || !lines(&serving, "listening").is_empty()).await;
    let listening = &lines(&serving, "listening")[0];
    assert!(
        listening["database"].as_str().is_some_and(|name| name.ends_with("data/bailiwick.db")),
        "{listening}"
    );
    assert_eq!(listening["configuration"], "bailiwick.toml");
    for wanted in ["APP_URL counts for nothing", "secret-of-all"] {
        let logged = lines(&serving, wanted);
        assert!(logged.len() == 1 && logged[0]["level"] == "WARN", "{wanted}: {}", serving.log());
    }
}

fn exits(dir: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> (Option<i32>, String) {
    let output =
        command(dir).envs(settings.iter().copied()).args(arguments).output().expect("the program runs");
    (output.status.code(), text(&output) + &String::from_utf8_lossy(&output.stderr))
}

/// A line of the systemd unit.
fn is_in_unit(line: &str) -> bool {
    let unit =
        fs::read_to_string(repository().join("packaging/systemd/bailiwick.service")).expect("the unit");
    unit.lines().any(|other| other == line)
}

#[test]
fn a_wrong_configuration_has_a_status_of_its_own() {
    assert!(is_in_unit("RestartPreventExitStatus=78"));
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    for level in ["warning", "err", "verbose", ""] {
        let (code, stderr) = exits(dir, &[], &["--log-level", level, "config", "check"]);
        assert!(code == Some(78) && stderr.contains("log.level"), "{stderr}");
    }
    let certificate = [("BAILIWICK_HTTP__TLS_CERTIFICATE", "no.pem"), ("BAILIWICK_HTTP__TLS_KEY", "no.key")];
    for arguments in [&["config", "check"][..], &["serve"]] {
        let (code, stderr) = exits(dir, &certificate, arguments);
        assert!(
            code == Some(78) && stderr.contains("http.tls_certificate") && stderr.contains("no.pem"),
            "{stderr}"
        );
    }
    // Another command needs no certificate.
    assert_eq!(exits(dir, &certificate, &["migrate"]).0, Some(0));
    let weak = [("BAILIWICK_OWNER_PASSWORD", "short"), ("BAILIWICK_HTTP__LISTEN", "127.0.0.1:0")];
    assert_eq!(exits(dir, &weak, &["serve"]).0, Some(78));
    let help = run(dir, &["--help"]);
    assert!(text(&help).contains("78") && text(&help).contains("Examples:"), "{help:?}");
    let url = "postgres://user:S3cr@tP@ss#w0rd@127.0.0.1:1/db";
    for arguments in [&["config", "check"][..], &["serve"], &["migrate"]] {
        let (code, stderr) = exits(dir, &[("BAILIWICK_DATABASE__URL", url)], arguments);
        assert!(code == Some(78) && stderr.contains("%40"), "{stderr}");
        assert!(!stderr.contains("S3cr") && !stderr.contains("ss#") && !stderr.contains("w0rd"), "{stderr}");
    }
}

/// `Type=notify` of the unit: started means that it listens.
#[tokio::test]
async fn a_supervisor_learns_of_start_and_end() {
    assert!(is_in_unit("Type=notify"));
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(bailiwick_testkit::PATIENCE)).expect("a time");
    let notified = || {
        let mut bytes = [0; 64];
        let length = socket.recv(&mut bytes).expect("a word");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let path = path.display().to_string();
    let mut serving = Serving::start(dir.path(), &[("NOTIFY_SOCKET", &path)]).await;
    assert_eq!(notified(), "READY=1");
    assert!(serving.stop());
    assert_eq!(notified(), "STOPPING=1");
}

/// The greeting of the first start, and the end of a start that fails, are lines like all others.
#[tokio::test]
async fn a_log_of_json_has_no_other_line() {
    let dir = tempfile::tempdir().expect("a directory");
    // The password is made up, and no level of the log hides the greeting.
    let settings = [JSON, ("BAILIWICK_LOG__LEVEL", "error"), ("BAILIWICK_OWNER_PASSWORD", "")];
    let mut serving = Serving::start(dir.path(), &settings).await;
    wait_until("it greets", || !lines(&serving, "Bailiwick is ready").is_empty()).await;
    let greeting = &lines(&serving, "Bailiwick is ready")[0];
    assert_eq!(greeting["sign_in_at"], format!("{}/console/", serving.url));
    assert_eq!((&greeting["level"], &greeting["email"]), (&"INFO".into(), &"owner@bailiwick.example".into()));
    assert!(greeting["password"].as_str().is_some_and(|password| password.len() >= 12), "{greeting}");
    assert!(greeting["timestamp"].is_string() && greeting.get("issuer").is_none(), "{greeting}");
    assert!(serving.stop());
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = other.local_addr().expect("its address").to_string();
    let (code, stderr) = exits(dir.path(), &[JSON, ("BAILIWICK_HTTP__LISTEN", &taken)], &["serve"]);
    let why = stderr.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let why = why.unwrap_or_else(|| panic!("not JSON: {stderr}"));
    assert!(
        code == Some(1)
            && why["level"] == "ERROR"
            && why["message"].as_str().is_some_and(|text| text.contains("in use")),
        "{stderr}"
    );
    for line in serving.log().lines().chain(stderr.lines()) {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "not JSON: {line}");
    }
}

/// People are sent to the address of the process that they reach.
#[tokio::test(flavor = "multi_thread")]
async fn processes_of_one_database_with_different_addresses_are_logged() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "addresses").await.expect("a database");
    let database = cluster.url("addresses");
    let dirs = [0; 3].map(|_| tempfile::tempdir().expect("a directory"));
    let secret = ("BAILIWICK_SECRET", "0123456789abcdef0123456789abcdef");
    let settings = |url| {
        [JSON, secret, ("BAILIWICK_DATABASE__URL", database.as_str()), ("BAILIWICK_HTTP__PUBLIC_URL", url)]
    };
    let _first = Serving::start(dirs[0].path(), &settings("https://one.example")).await;
    let same = Serving::start(dirs[1].path(), &settings("https://one.example")).await;
    let other = Serving::start(dirs[2].path(), &settings("https://other.example")).await;
    let wanted = "another http.public_url";
    wait_until("it is logged", || lines(&other, wanted).len() == 2).await;
    for logged in lines(&other, wanted) {
        let addresses = (&logged["public_url"], &logged["other"]);
        assert_eq!(addresses, (&"https://other.example".into(), &"https://one.example".into()));
        assert!(logged["level"] == "WARN" && logged["host"].is_string(), "{logged}");
    }
    wait_until("it listens", || lines(&same, "listening").len() == 1).await;
    assert!(lines(&same, wanted).is_empty(), "{}", same.log());
}

/// A mail server that cannot be reached while the door is shut; returns its port.
async fn behind_a_door(sink: &SmtpSink, is_open: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (port, server) = (listener.local_addr().expect("its address").port(), sink.port());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            if is_open.load(Relaxed) {
                tokio::spawn(async move {
                    let mut inner = TcpStream::connect(("127.0.0.1", server)).await.expect("the server");
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut inner).await;
                });
            }
        }
    });
    port
}

#[tokio::test]
async fn a_recipient_that_fails_and_its_recovery_are_logged_once_by_name() {
    let (sink, is_open) = (SmtpSink::start().await.expect("a mail server"), Arc::new(AtomicBool::new(false)));
    let port = behind_a_door(&sink, is_open.clone()).await.to_string();
    let dir = tempfile::tempdir().expect("a directory");
    let settings = [
        JSON,
        ("BAILIWICK_SMTP__HOST", "127.0.0.1"),
        ("BAILIWICK_SMTP__PORT", port.as_str()),
        ("BAILIWICK_SMTP__TLS", "none"),
        ("BAILIWICK_SMTP__FROM", "fleet@example.org"),
        ("BAILIWICK_ALERTING__GROUP_WAIT", "1s"),
    ];
    let serving = Serving::start(dir.path(), &settings).await;
    let (client, token) = (Client::new(), serving.owner_token());
    let layer = json!({"email_recipients": [{"address": "noc@example.org"}]});
    post(&client, &format!("{}/api/alerts/config", serving.url), &token, layer).await;
    let (_, key, secret) = system(&serving, &client, &token).await;
    let alerts = format!("{}/collect/api/services/mimir/alertmanager/api/v2/alerts", serving.url);
    let push = client.post(alerts).basic_auth(key, Some(secret)).header("content-type", "application/json");
    let sent = push.body(r#"[{"labels":{"alertname":"A","severity":"critical"}}]"#).send().await;
    assert_eq!(sent.expect("an answer").status(), 200);
    for (wanted, level) in [("cannot be reached", "WARN"), ("is reached again", "INFO")] {
        wait_until(wanted, || !lines(&serving, wanted).is_empty()).await;
        let logged = lines(&serving, wanted);
        let line = &logged[0];
        assert_eq!(
            (logged.len(), &line["level"], &line["channel"]),
            (1, &level.into(), &"email".into()),
            "{logged:?}"
        );
        assert_eq!(
            (&line["organization"], &line["recipient"]),
            (&"Survivor".into(), &"noc@example.org".into()),
            "{logged:?}"
        );
        is_open.store(true, Relaxed);
    }
    assert_eq!(lines(&serving, "cannot be reached").len(), 1, "nothing is logged between them");
}
