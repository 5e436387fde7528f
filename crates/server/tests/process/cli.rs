//! Commands.

use crate::program::{Serving, command, repository, run, text, wait_until};
use bailiwick_store::{Db, Options, sql::Q};
use serde_json::{Value, json};

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

#[test]
fn openapi_is_a_document_of_version_3_1() {
    let dir = directory();
    let output = run(dir.path(), &["openapi"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], "2026-03-04");
    let older = run(dir.path(), &["openapi", "--openapi", "3.0"]);
    let older: Value = serde_json::from_slice(&older.stdout).expect("JSON");
    assert_eq!(older["openapi"], "3.0.3");
}

#[test]
fn files_that_the_program_writes_about_itself_are_up_to_date() {
    let dir = directory();
    for (file, arguments) in
        [("openapi.json", &["openapi"][..]), ("docs/configuration.md", &["config", "docs"])]
    {
        let committed = std::fs::read_to_string(repository().join(file)).expect("a file of the repository");
        let now = text(&run(dir.path(), arguments));
        let differs = committed.lines().zip(now.lines()).find(|(committed, now)| committed != now);
        assert!(committed == now, "{file} is out of date, run `make generate` and commit it: {differs:?}");
    }
}

#[test]
fn a_wrong_configuration_stops_the_start_with_all_problems() {
    let dir = directory();
    let output = command(dir.path())
        .env("BAILIWICK_SECRET", "hunter2")
        .env("BAILIWICK_HTTP__LISTEN", "nowhere")
        .env("BAILIWICK_ALERTING__MODE", "remote")
        .env("BAILIWICK_NO_SUCH__SETTING", "1")
        .arg("serve")
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(78));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    for name in ["secret", "http.listen", "alerting.remote.url", "NO_SUCH"] {
        assert!(stderr.contains(name), "{name}: {stderr}");
    }
    assert!(!stderr.contains("hunter2"), "a secret is not shown: {stderr}");
    assert!(!dir.path().join("data").exists(), "nothing is created");
}

#[test]
fn migrate_and_demo_work_on_an_empty_directory() {
    let dir = directory();
    assert!(run(dir.path(), &["migrate"]).status.success());
    let demo = ["demo", "--organizations", "12", "--systems", "40", "--seed", "7"];
    let output = run(dir.path(), &demo);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output).contains("40 systems"), "{}", text(&output));
    let password = "password    ";
    assert!(text(&output).contains(password), "the first command prints the password: {}", text(&output));
    let again = run(dir.path(), &demo);
    assert_eq!(again.status.code(), Some(1), "what is there is not mixed with made-up data");
    assert!(String::from_utf8_lossy(&again.stderr).contains("--into-existing"), "{again:?}");
    let again = run(dir.path(), &[&demo[..], &["--into-existing"]].concat());
    assert_eq!(again.status.code(), Some(1), "the same data is refused");
    assert!(String::from_utf8_lossy(&again.stderr).contains("--seed"), "{again:?}");
    let more =
        ["demo", "--organizations", "5", "--systems", "4", "--seed", "8", "--into-existing", "--still"];
    assert!(run(dir.path(), &more).status.success());
    let shown = run(dir.path(), &["demo", "remove"]);
    assert!(
        shown.status.success() && text(&shown).contains("17 organizations, 25 users, 44 systems"),
        "{shown:?}"
    );
    assert!(text(&run(dir.path(), &["demo", "remove"])).contains("nothing has changed"));
    let taken = run(dir.path(), &["demo", "remove", "--yes"]);
    assert!(taken.status.success() && text(&taken).contains("taken out"), "{taken:?}");
    assert!(text(&run(dir.path(), &["demo", "remove"])).contains("has made nothing"));
    let still = run(dir.path(), &[&demo[..], &["--still"]].concat());
    assert!(still.status.success() && text(&still).contains("stand still"), "{still:?}");
}

#[tokio::test]
async fn credentials_of_demo_systems_go_to_a_file_that_only_its_owner_reads() {
    use std::os::unix::fs::PermissionsExt;
    let dir = directory();
    let path = dir.path().join("credentials");
    let demo = |seed: &str| {
        let line = [
            "demo",
            "--still",
            "--organizations",
            "12",
            "--systems",
            "60",
            "--seed",
            seed,
            "--credentials",
            "credentials",
        ];
        run(dir.path(), &line)
    };
    assert!(demo("7").status.success());
    assert_eq!(path.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
    let list = std::fs::read_to_string(&path).expect("its lines");
    let mut serving = Serving::start(dir.path(), &[]).await;
    let client = reqwest::Client::new();
    let mut registered = 0;
    for line in list.lines() {
        let [credential, id, organization, state] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("four fields: {line}");
        };
        let (key, secret) = credential.split_once(':').expect("key and secret");
        let info = client.get(format!("{}/api/systems/info", serving.url)).basic_auth(key, Some(secret));
        let info = info.send().await.expect("an answer");
        if state == "new" {
            assert_eq!(info.status(), 401, "{line}");
            let register = client.post(format!("{}/api/systems/register", serving.url));
            let register = register.json(&serde_json::json!({ "system_secret": secret })).send().await;
            assert_eq!(register.expect("an answer").status(), 200, "{line}");
            continue;
        }
        registered += 1;
        let data = info.json::<Value>().await.expect("JSON")["data"].take();
        assert_eq!((&data["system_id"], &data["system_key"]), (&id.into(), &key.into()));
        assert_eq!(data["organization"]["id"], organization.rsplit('/').next().expect("an organization"));
    }
    assert!((40..=60).contains(&registered), "{registered}");
    assert!(serving.stop(), "{}", serving.log());
    let again = demo("8");
    assert_eq!(again.status.code(), Some(1), "a file that is there stays as it is");
    assert_eq!(std::fs::read_to_string(&path).expect("its lines"), list);
}

/// Whatever the umask and the directories that are there already.
#[test]
fn what_the_program_makes_is_for_nobody_else() {
    use std::{fs, os::unix::fs::PermissionsExt, process::Command};
    let dir = directory();
    let (data, elsewhere) = (dir.path().join("data"), dir.path().join("elsewhere"));
    let migrate = |setting: &str| {
        let mut shell = Command::new("/bin/sh");
        shell.current_dir(dir.path()).env_clear();
        shell.args(["-c", "umask 000 && exec \"$0\" migrate --set \"$1\""]);
        let output = shell.arg(command(dir.path()).get_program()).arg(setting).output();
        let output = output.expect("the program runs");
        assert!(output.status.success(), "{output:?}");
    };
    let mode = |path: &std::path::Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
    for directory in [&data, &elsewhere] {
        fs::create_dir(directory).expect("a directory");
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    migrate("http.workers=1");
    migrate("database.url=sqlite:elsewhere/other.db");
    for directory in [&data, &elsewhere] {
        assert_eq!(mode(directory), 0o755, "what was there stays as it was");
        for file in fs::read_dir(directory).expect("its files") {
            let path = file.expect("a file").path();
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
    assert!(data.join("bailiwick.db").exists() && elsewhere.join("other.db").exists());
    migrate("data_dir=fresh");
    assert_eq!(mode(&dir.path().join("fresh")), 0o700);
}

#[tokio::test]
async fn the_first_start_says_where_to_sign_in_and_a_second_service_is_refused() {
    let dir = directory();
    let mut serving = Serving::start(dir.path(), &[]).await;
    // The first answer may come before the greeting.
    let is_greeted = || serving.log().contains("  password    the one you have configured\n");
    wait_until("it greets", is_greeted).await;
    let log = serving.log();
    assert!(log.contains("owner@bailiwick.example"), "{log}");
    assert!(!log.contains("Correct-Horse"), "a configured password is not printed: {log}");
    let second =
        command(dir.path()).args(["serve", "--listen", "127.0.0.1:0"]).output().expect("the program runs");
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another process"), "{second:?}");
    let me = reqwest::Client::new().get(format!("{}/api/me", serving.url)).bearer_auth(serving.owner_token());
    assert_eq!(me.send().await.expect("an answer").status(), 200);
    assert!(serving.stop(), "{}", serving.log());
}

#[tokio::test]
async fn further_owners_come_from_the_command_line() {
    let dir = directory();
    let create = ["user", "create-owner", "--email", "second@example.org", "--name", "Second"];
    let output = run(dir.path(), &create);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output).contains("password (shown only now): "), "{}", text(&output));
    let again = run(dir.path(), &create);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("already_exists"), "{again:?}");
}

#[test]
fn retention_counts_or_removes_and_says_how_much() {
    let dir = directory();
    let counted = run(dir.path(), &["retention", "--dry-run"]);
    assert!(counted.status.success(), "{counted:?}");
    let stdout = text(&counted);
    assert!(
        stdout.starts_with("0 inventory records would be thinned out\n")
            && stdout.lines().all(|line| line.starts_with("0 ") && line.contains(" would be ")),
        "{stdout}"
    );
    let done = run(dir.path(), &["retention"]);
    assert!(text(&done).starts_with("0 inventory records thinned out\n"), "{done:?}");
}

#[tokio::test]
async fn an_operator_sees_what_waits_and_what_runs_regularly() {
    let dir = directory();
    let empty = text(&run(dir.path(), &["jobs"]));
    let mail = empty.lines().find(|line| line.starts_with("mail ")).expect("the queue of mails");
    assert_eq!(mail.split_whitespace().collect::<Vec<_>>(), ["mail", "0", "0", "-"], "{empty}");
    let database = format!("sqlite:{}", dir.path().join("data/bailiwick.db").display());
    let db = Db::open(&Options::new(database)).await.expect("the database");
    let mut tx = db.begin_relaxed().await.expect("a transaction");
    for (id, ended) in [(1_u8, None), (2, None), (3, Some(1_i64))] {
        let q = Q::new(
            "INSERT INTO jobs (id, kind, payload, next_at, ended_at, created_at) VALUES (?, 'mail', '{}', 0, ?, 0)",
        );
        let id = uuid::Uuid::from_bytes([id; 16]);
        q.bind(id).bind(ended).run(&mut tx).await.expect("a job");
    }
    tx.commit().await.expect("a commit");
    db.close().await;

    let output = run(dir.path(), &["jobs", "--json"]);
    let rows: Vec<Value> =
        text(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mail = rows.iter().find(|row| row["queue"] == "mail").expect("the queue of mails");
    assert_eq!((&mail["waiting"], &mail["given_up"]), (&json!(2), &json!(1)), "{output:?}");
    assert!(mail["since"].as_str().is_some_and(|at| at.starts_with("1970-01-01T00:00:00")), "{output:?}");
    let monitor = rows.iter().find(|row| row["task"] == "system statuses").expect("the monitor");
    assert_eq!(
        (&monitor["interval_seconds"], &monitor["exclusive"]),
        (&json!(15.0), &json!(true)),
        "{output:?}"
    );
    let table = text(&run(dir.path(), &["jobs"]));
    let mail = table.lines().find(|line| line.starts_with("mail ")).expect("the queue of mails");
    assert_eq!(mail.split_whitespace().collect::<Vec<_>>(), ["mail", "2", "1", "1970-01-01T00:00:00Z"]);
}

#[tokio::test]
async fn older_credentials_are_taken_over_while_nobody_serves_and_forgotten_again() {
    let dir = directory();
    let demo = ["demo", "--still", "--organizations", "5", "--systems", "3", "--seed", "7"];
    assert!(run(dir.path(), &demo).status.success());
    let header = "system_id,legacy_id,legacy_secret,system_key,secret_public,secret_hash,registered_at";
    let unknown = "01950000-0000-7000-8000-000000000000";
    let secret = "00112233445566778899aabbccddeeff";
    std::fs::write(dir.path().join("pairs.csv"), format!("{header}\n{unknown},old-1,{secret},,,,\n"))
        .expect("a file");
    let output = run(dir.path(), &["system", "import-credentials", "pairs.csv"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr.contains("nothing was taken over") && stderr.contains("line 2, system_id is no id"),
        "{stderr}"
    );
    assert!(!stderr.contains(secret), "a secret is not shown: {stderr}");
    let output = run(dir.path(), &["system", "forget-legacy", "--all"]);
    assert_eq!(text(&output), "0 older pair(s) forgotten\n", "{output:?}");
    assert_eq!(run(dir.path(), &["system", "forget-legacy"]).status.code(), Some(2));
    let mut serving = Serving::start(dir.path(), &[]).await;
    let output = run(dir.path(), &["system", "forget-legacy", "--all"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("another process"), "{output:?}");
    assert!(serving.stop(), "{}", serving.log());
}

#[test]
fn the_route_of_an_alert_is_explained() {
    let dir = directory();
    let unknown = "01950000-0000-7000-8000-000000000000";
    let routes =
        ["alerts", "routes", "--organization", unknown, "--labels", "severity=critical,system_key=SYS-1"];
    let output = run(dir.path(), &routes);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("organization not found"), "{output:?}");
    let output = run(dir.path(), &["alerts", "routes", "--organization", unknown, "--labels", "severity"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
