//! Backup and restore, and the move from SQLite to PostgreSQL: the new database answers like the old one.

use crate::{
    fleet,
    program::{Serving, command, repository, run, text},
};
use bailiwick_testkit::parts::postgres;
use reqwest::Client;
use serde_json::Value;
use std::{io::Write as _, path::Path, process::Command, time::Instant};

fn ok(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    text(&output)
}

fn refused(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    assert!(!output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A size from the environment, for long runs.
fn size(name: &str, usual: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| usual.to_owned())
}

/// Pages that people see.
const PATHS: [&str; 17] = [
    "/me",
    "/distributors?page_size=100",
    "/resellers?page_size=100&sort_by=name",
    "/customers?page=2&page_size=50&sort_by=name&sort_direction=desc",
    "/customers?search=a&status=enabled",
    "/customers/totals",
    "/users?page_size=100",
    "/users/totals",
    "/systems?page_size=100",
    "/systems?page=3&page_size=25&sort_by=name",
    "/systems/totals",
    "/applications?page_size=100",
    "/applications/totals",
    "/filters/systems",
    "/filters/applications",
    "/filters/users",
    "/organizations?page=1&page_size=100",
];

/// Takes out the values that depend on the moment of the request.
fn without_age(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("heartbeat_minutes");
            map.values_mut().for_each(without_age);
        }
        Value::Array(list) => list.iter_mut().for_each(without_age),
        _ => {}
    }
}

/// The liveness monitor does nothing while a test runs: the statuses stay as they were made, and it raises and resolves
/// no alerts between two of the answers that are compared.
const STILL: (&str, &str) = ("BAILIWICK_SYSTEMS__CHECK_INTERVAL", "8760h");

/// All answers, with those about some systems; none is an error.
async fn all_answers(serving: &Serving) -> Vec<(String, Value)> {
    let (client, token) = (Client::new(), serving.owner_token());
    let get = async |path: &str| {
        let answer = client.get(format!("{}/api{path}", serving.url)).bearer_auth(&token).send().await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), 200, "{path}");
        let text = answer.text().await.expect("a body");
        let mut answer = serde_json::from_str::<Value>(&text).expect("JSON");
        without_age(&mut answer);
        (path.to_owned(), answer)
    };
    let mut all = Vec::new();
    for path in PATHS {
        all.push(get(path).await);
    }
    let systems = get("/systems?page_size=10&sort_by=name").await.1;
    for system in systems["data"]["systems"].as_array().expect("systems") {
        let id = system["id"].as_str().expect("an id");
        for more in ["", "/inventory/latest", "/inventory?page_size=5", "/inventory/diffs", "/alerts"] {
            all.push(get(&format!("/systems/{id}{more}")).await);
        }
    }
    all
}

/// A system of one's own with an inventory that has changed and an alert; returns its credential.
async fn one_more_system(serving: &Serving) -> (String, String) {
    let (client, token) = (Client::new(), serving.owner_token());
    let post = async |path: &str, body: String| {
        let call = client.post(format!("{}{path}", serving.url)).bearer_auth(&token).body(body);
        let text = call.send().await.expect("an answer").text().await.expect("a body");
        serde_json::from_str::<Value>(&text).expect("JSON")["data"].take()
    };
    let customer = post(
        "/api/customers",
        r#"{"name":"AAA","custom_data":{"vat":"77","note":"a\tb\\c \u00fc 1.50"}}"#.into(),
    )
    .await;
    let organization = customer["id"].as_str().expect("an id");
    let system =
        post("/api/systems", format!("{{\"name\":\"AAA system\",\"organization_id\":\"{organization}\"}}"))
            .await;
    let (key, secret) = (system["system_key"].as_str().unwrap(), system["system_secret"].as_str().unwrap());
    post("/api/systems/register", format!("{{\"system_secret\":\"{secret}\"}}")).await;
    let document =
        std::fs::read_to_string(repository().join("crates/inventory/tests/data/inventory-ns8.json")).unwrap();
    let send = async |path: &str, body: String| {
        let call = client.post(format!("{}/collect/api{path}", serving.url)).basic_auth(key, Some(secret));
        let answer =
            call.header("content-type", "application/json").body(body).send().await.expect("an answer");
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
    };
    let id = system["id"].as_str().expect("an id");
    send("/systems/inventory", document.clone()).await;
    send("/systems/inventory", document.replace("1.9.4", "1.9.9").replace("\"ns8", "\"ns9")).await;
    send(
        "/services/mimir/alertmanager/api/v2/alerts",
        r#"[{"labels":{"alertname":"Disk","severity":"warning"},"endsAt":"2050-01-01T00:00:00Z"}]"#.into(),
    )
    .await;
    send("/systems/backups", "ciphertext".into()).await;
    let limit = Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let url = format!("{}/api/systems/{id}/inventory?page_size=5", serving.url);
        let answer: Value = client.get(url).bearer_auth(&token).send().await.unwrap().json().await.unwrap();
        if answer["data"]["pagination"]["total_count"].as_u64() >= Some(2) {
            break;
        }
        assert!(Instant::now() < limit, "{answer}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    (key.to_owned(), secret.to_owned())
}

async fn heartbeat(serving: &Serving, (key, secret): &(String, String)) -> u16 {
    let call = Client::new().post(format!("{}/collect/api/systems/heartbeat", serving.url));
    call.basic_auth(key, Some(secret)).send().await.expect("an answer").status().as_u16()
}

fn assert_same(before: &[(String, Value)], after: &[(String, Value)]) {
    assert_eq!(before.len(), after.len());
    for ((path, one), (_, other)) in before.iter().zip(after) {
        assert_eq!(one, other, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_answers_as_sqlite_did_after_the_copy() {
    let (organizations, systems) =
        (size("BAILIWICK_COPY_ORGANIZATIONS", "60"), size("BAILIWICK_COPY_SYSTEMS", "300"));
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    assert!(refused(dir, &["copy-db", "--to", "postgres://nowhere"]).contains("there is no database"));
    ok(dir, &["demo", "--still", "--organizations", &organizations, "--systems", &systems]);
    let mut serving = Serving::start(dir, &[STILL]).await;
    let credential = one_more_system(&serving).await;
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "moved").await.expect("a database");
    let url = cluster.url("moved");
    assert!(refused(dir, &["copy-db", "--to", &url]).contains("served by another process"));
    let ids = fleet::ids(&serving).await;
    assert!(serving.stop(), "{}", serving.log());
    drop(serving);
    fleet::import_credentials(dir, &ids);
    let serving = Serving::start(dir, &[STILL, ("BAILIWICK_SYSTEMS__LEGACY_ALIASES", "true")]).await;
    let database = format!("sqlite:{}", dir.join("data/bailiwick.db").display());
    let started = Instant::now();
    let documents = fleet::send(&serving, &database, &ids).await;
    let sending = started.elapsed();
    assert!(documents > ids.len() && ids.len() > 100, "{documents} documents of {} systems", ids.len());
    let before = all_answers(&serving).await;
    drop(serving);

    std::fs::write(dir.join("target"), format!("{url}\n")).expect("a file");
    let started = Instant::now();
    let printed = ok(dir, &["copy-db", "--to-file", "target"]);
    assert!(printed.contains("compared") && printed.contains("inventory_records"), "{printed}");
    let (rows, copying) =
        (printed.lines().find(|line| line.contains("compared")).unwrap_or_default(), started.elapsed());
    let systems = ids.len();
    writeln!(
        std::io::stderr(),
        "{systems} systems, {documents} documents in {sending:.1?}; {rows} in {copying:.1?}"
    )
    .expect("standard error");
    assert!(refused(dir, &["copy-db", "--to", &url]).contains("not empty"));

    let moved = Serving::start(dir, &[STILL, ("BAILIWICK_DATABASE__URL", &url)]).await;
    assert_same(&before, &all_answers(&moved).await);
    // It goes on: credentials are good, and new rows get new numbers.
    assert_eq!(heartbeat(&moved, &credential).await, 200);
    let document = r#"{"$schema":"x","facts":{"new":true}}"#;
    let call = Client::new().post(format!("{}/collect/api/systems/inventory", moved.url));
    let sent =
        call.basic_auth(&credential.0, Some(&credential.1)).body(document).send().await.expect("an answer");
    assert_eq!(sent.status(), 202);
    the_dump_is_a_backup(dir, &url, cluster).await;
}

/// The steps of docs/backup.md for PostgreSQL: `pg_dump` and `pg_restore` into a new database.
async fn the_dump_is_a_backup(dir: &Path, url: &str, cluster: &postgres::Cluster) {
    cluster.create_database_from(None, "restored").await.expect("a database");
    let restored = cluster.url("restored");
    for (program, arguments) in [
        ("pg_dump", vec!["--format=custom", "--file=dump", url]),
        ("pg_restore", vec!["--no-owner", "--exit-on-error", "--dbname", restored.as_str(), "dump"]),
    ] {
        let output = Command::new(program).current_dir(dir).args(arguments).output().expect(program);
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let serving = Serving::start(dir, &[("BAILIWICK_DATABASE__URL", &restored)]).await;
    let statistics = "SELECT COUNT(DISTINCT tablename) FROM pg_stats WHERE tablename IN ('systems', 'users')";
    assert_eq!(cluster.query("restored", statistics).await.expect("an answer").trim(), "2");
    assert!(all_answers(&serving).await.len() > PATHS.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_made_while_serving_is_restored_elsewhere() {
    let (dir, other) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let (dir, elsewhere) = (dir.path(), other.path());
    ok(dir, &["demo", "--still", "--organizations", "60", "--systems", "50"]);
    let serving = Serving::start(dir, &[STILL]).await;
    let credential = one_more_system(&serving).await;
    ok(dir, &["backup", "kept/"]);
    assert!(refused(dir, &["backup", "kept"]).contains("exists"));
    let before = all_answers(&serving).await;
    drop(serving);
    let backup = dir.join("kept");
    let mode = |path: &Path| {
        std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777
    };
    assert_eq!((mode(&dir.join("data")), mode(&dir.join("data/assets"))), (0o700, 0o700));
    assert_eq!(
        (mode(&backup), mode(&backup.join("secret")), mode(&backup.join("bailiwick.db"))),
        (0o700, 0o600, 0o600)
    );

    let backup = backup.to_str().expect("UTF-8");
    assert!(refused(dir, &["restore", backup]).contains("exists"), "never over something");
    // A backup that has changed is not used.
    let secret = std::fs::read(dir.join("kept/secret")).unwrap();
    std::fs::write(dir.join("kept/secret"), "0".repeat(secret.len())).unwrap();
    assert!(refused(elsewhere, &["restore", backup]).contains("checksum of secret differs"));
    assert!(!elsewhere.join("data").exists());
    std::fs::write(dir.join("kept/secret"), secret).unwrap();
    // SQLite would play the files that a killed process has left beside its database into another database.
    std::fs::create_dir(elsewhere.join("data")).unwrap();
    let log = elsewhere.join("data/bailiwick.db-wal");
    std::fs::write(&log, "of another database").unwrap();
    assert!(refused(elsewhere, &["restore", backup]).contains("bailiwick.db-wal exists: move the files"));
    std::fs::remove_file(log).unwrap();
    ok(elsewhere, &["restore", backup]);
    assert!(refused(elsewhere, &["restore", backup]).contains("exists"));
    let restored = Serving::start(elsewhere, &[STILL]).await;
    assert_same(&before, &all_answers(&restored).await);
    assert_eq!(heartbeat(&restored, &credential).await, 200);
    let list = Client::new().get(format!("{}/collect/api/systems/backups", restored.url));
    let list: Value =
        list.basic_auth(&credential.0, Some(&credential.1)).send().await.unwrap().json().await.unwrap();
    let id = list["data"]["backups"][0]["id"].as_str().expect("a backup");
    let file = Client::new().get(format!("{}/collect/api/systems/backups/{id}", restored.url));
    let file =
        file.basic_auth(&credential.0, Some(&credential.1)).send().await.unwrap().text().await.unwrap();
    assert_eq!(file, "ciphertext");
    let output =
        command(elsewhere).env("BAILIWICK_DATABASE__URL", "postgres://x/y").args(["backup", "z"]).output();
    assert!(String::from_utf8_lossy(&output.expect("it runs").stderr).contains("pg_dump"));
}
