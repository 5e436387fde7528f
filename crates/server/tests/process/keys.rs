//! The secret of a database: the service refuses a wrong or a lost one, and replacing it on purpose ends no session.

use crate::{
    program::{Serving, command, execute, refused, run, text},
    proxies::after,
};
use bailiwick_testkit::parts::postgres;
use std::{path::Path, process::Command};

const OLD: &str = "the first secret, 32 bytes or more";
const NEW: &str = "another secret of at least 32 bytes";
const THIRD: &str = "a secret that nobody has ever heard of";
/// One address for all, as behind a load balancer: it is in their tokens.
const PUBLIC: (&str, &str) = ("BAILIWICK_HTTP__PUBLIC_URL", "http://fleet.example.org");
const OWNER: &str = "owner@bailiwick.example";

/// `bailiwick …` with settings; it ends well.
fn ok(dir: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> String {
    let output = command(dir).envs(settings.iter().copied()).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    text(&output)
}

/// The messages of `bailiwick …` when it is refused: they hold no secret.
fn no(dir: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> String {
    let mut command = command(dir);
    command.envs(settings.iter().copied()).args(["--listen", "127.0.0.1:0"]).args(arguments);
    let (_, stderr) = refused(&mut command);
    for secret in [OLD, NEW, THIRD] {
        assert!(!stderr.contains(secret), "{stderr}");
    }
    stderr
}

async fn another_secret_is_refused(database: String) {
    let (here, elsewhere) =
        (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let (dir, elsewhere) = (here.path(), elsewhere.path());
    let with =
        |secret| vec![("BAILIWICK_DATABASE__URL", database.as_str()), PUBLIC, ("BAILIWICK_SECRET", secret)];
    let (old, new) = (with(OLD), with(NEW));
    let mut serving = Serving::start(dir, &old).await;
    let token = serving.owner_token();
    assert!(serving.stop(), "{}", serving.log());

    for arguments in [
        &["serve"][..],
        &["token", OWNER],
        &["keys", "reseal"],
        &["keys", "rotate"],
        &["sessions", "list", OWNER],
    ] {
        let stderr = no(dir, &new, arguments);
        assert!(stderr.contains("secret (variable BAILIWICK_SECRET)"), "{stderr}");
        assert!(
            stderr.contains("not the secret of this database") && stderr.contains("previous_secret"),
            "{stderr}"
        );
    }
    // The place of a generated one: it is not made, as it would be another one.
    let lost = no(elsewhere, &old[..2], &["serve"]);
    assert!(lost.contains("data/secret") && lost.contains("there is no such file"), "{lost}");
    assert!(!elsewhere.join("data/secret").exists());
    std::fs::create_dir_all(elsewhere.join("data")).unwrap();
    std::fs::write(elsewhere.join("data/secret"), THIRD).unwrap();
    let wrong = no(elsewhere, &old[..2], &["serve"]);
    assert!(wrong.contains("data/secret") && wrong.contains("not the secret of this database"), "{wrong}");

    // A secret that was never the database's is no way to replace it either.
    let both = [new.clone(), vec![("BAILIWICK_PREVIOUS_SECRET", THIRD)]].concat();
    assert!(no(dir, &both, &["serve"]).contains("not the secret of this database"));
    let serving = Serving::start(dir, &old).await;
    assert_eq!(serving.status_of(&token).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_secret_is_refused_on_sqlite() {
    let dir = tempfile::tempdir().expect("a directory");
    another_secret_is_refused(format!("sqlite:{}", dir.path().join("keys.db").display())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_secret_is_refused_on_postgres() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "keys").await.expect("a database");
    another_secret_is_refused(cluster.url("keys")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_third_process_with_another_secret_does_not_start() {
    let dir = tempfile::tempdir().expect("a directory");
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "third").await.expect("a database");
    let url = cluster.url("third");
    let database = ("BAILIWICK_DATABASE__URL", url.as_str());
    let [one, two, three] = ["one", "two", "three"].map(|name| dir.path().join(name));
    for directory in [&one, &two, &three] {
        std::fs::create_dir(directory).unwrap();
    }
    let first = Serving::start(&one, &[database, PUBLIC, ("BAILIWICK_SECRET", OLD)]).await;
    let second = Serving::start(&two, &[database, PUBLIC, ("BAILIWICK_SECRET", OLD)]).await;
    let token = first.owner_token();
    assert_eq!(second.status_of(&token).await, 200);
    for other in [&[database, ("BAILIWICK_SECRET", NEW)][..], &[database]] {
        let stderr = no(&three, other, &["serve"]);
        assert!(stderr.contains("secret"), "{stderr}");
    }
    assert!(!three.join("data/secret").exists());
}

async fn a_database_from_before_takes_the_first_secret(database: Option<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let url = database.unwrap_or_else(|| format!("sqlite:{}", dir.join("before.db").display()));
    let database = ("BAILIWICK_DATABASE__URL", url.as_str());
    let mut serving = Serving::start(dir, &[database, PUBLIC]).await;
    let token = serving.owner_token();
    assert!(serving.stop(), "{}", serving.log());
    assert_eq!(execute(&url, "DELETE FROM secrets").await, 1);
    let secret = std::fs::read(dir.join("data/secret")).expect("the secret that was made");
    std::fs::remove_file(dir.join("data/secret")).unwrap();
    let lost = no(dir, &[database], &["serve"]);
    assert!(lost.contains("there is no such file") && lost.contains("data/secret"), "{lost}");
    assert!(!dir.join("data/secret").exists(), "there was one, whatever it was");
    std::fs::write(dir.join("data/secret"), secret).unwrap();
    // A command that only reads does not record its secret as the database's.
    ok(dir, &[database, ("BAILIWICK_SECRET", THIRD)], &["audit"]);
    let mut serving = Serving::start(dir, &[database, PUBLIC]).await;
    assert_eq!(serving.status_of(&token).await, 200);
    assert!(serving.stop(), "{}", serving.log());
    no(dir, &[database, ("BAILIWICK_SECRET", THIRD)], &["serve"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_from_before_takes_the_first_secret_on_sqlite() {
    a_database_from_before_takes_the_first_secret(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_from_before_takes_the_first_secret_on_postgres() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "before").await.expect("a database");
    a_database_from_before_takes_the_first_secret(Some(cluster.url("before"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_roll_one_after_another_keep_every_session() {
    let dir = tempfile::tempdir().expect("a directory");
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "rolling").await.expect("a database");
    let url = cluster.url("rolling");
    let database = ("BAILIWICK_DATABASE__URL", url.as_str());
    let with = |secret: &'static str, previous: Option<&'static str>| {
        let mut settings = vec![database, PUBLIC, ("BAILIWICK_SECRET", secret)];
        settings.extend(previous.map(|previous| ("BAILIWICK_PREVIOUS_SECRET", previous)));
        settings
    };
    let directories = ["one", "two", "three"].map(|name| dir.path().join(name));
    let (mut all, mut tokens) = (Vec::new(), Vec::new());
    for directory in &directories {
        std::fs::create_dir(directory).unwrap();
        let serving = Serving::start(directory, &with(OLD, None)).await;
        tokens.push(serving.owner_token());
        all.push(serving);
    }
    // The new secret cannot come at once: the running processes would refuse everything that it signs.
    let early = no(dir.path(), &with(NEW, Some(OLD)), &["serve"]);
    assert!(early.contains("does not know") && early.contains("previous_secret"), "{early}");

    for (secret, previous) in [(OLD, Some(NEW)), (NEW, Some(OLD))] {
        for (n, directory) in directories.iter().enumerate() {
            assert!(all[n].stop(), "{}", all[n].log());
            all[n] = Serving::start(directory, &with(secret, previous)).await;
            tokens.push(all[n].owner_token());
            for serving in &all {
                for token in &tokens {
                    assert_eq!(serving.status_of(token).await, 200, "{}", serving.log());
                }
            }
            if n == 0 && secret == NEW {
                let stderr = no(dir.path(), &with(NEW, Some(OLD)), &["keys", "reseal"]);
                assert!(stderr.contains("still seals with"), "{stderr}");
                // A process that was left behind, and a word that was mistyped.
                let behind = no(dir.path(), &with(OLD, None), &["serve"]);
                assert!(behind.contains("is being replaced"), "{behind}");
                let other = no(dir.path(), &with(NEW, Some(THIRD)), &["serve"]);
                assert!(other.contains("previous_secret (variable BAILIWICK_PREVIOUS_SECRET)"), "{other}");
            }
        }
    }
    // The service does not start with the new secret alone before everything is sealed with it.
    let early = no(dir.path(), &with(NEW, None), &["serve"]);
    assert!(early.contains("keys reseal"), "{early}");
    ok(dir.path(), &with(NEW, Some(OLD)), &["keys", "reseal"]);
    let wrong = no(dir.path(), &with(NEW, Some(THIRD)), &["serve"]);
    assert!(wrong.contains("previous_secret (variable BAILIWICK_PREVIOUS_SECRET)"), "{wrong}");
    for (n, directory) in directories.iter().enumerate() {
        assert!(all[n].stop(), "{}", all[n].log());
        all[n] = Serving::start(directory, &with(NEW, None)).await;
        assert_eq!(all[n].status_of(tokens.last().expect("a token")).await, 200);
    }
    let back = no(dir.path(), &with(OLD, None), &["serve"]);
    assert!(back.contains("was replaced"), "{back}");
}

/// The page to which a browser comes from an address below [`PUBLIC`], and behind it the page's address. The browser
/// keeps its cookies in the directory.
fn browse(dir: &Path, serving: &Serving, arguments: &[&str], address: &str) -> String {
    let service = format!("fleet.example.org:80:{}", serving.url.trim_start_matches("http://"));
    let mut curl = Command::new("curl");
    curl.current_dir(dir).args(["-sSL", "--noproxy", "*", "--max-time", "60"]);
    curl.args(["-c", "cookies", "-b", "cookies", "--connect-to", &service]);
    curl.args(["-w", "\nit is at \"%{url_effective}"]).args(arguments).arg(address);
    text(&curl.output().expect("curl"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_lost_for_good_is_given_up_on_purpose() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let mut serving = Serving::start(dir, &[PUBLIC]).await;
    let token = serving.owner_token();
    let console = format!("{}/console/", PUBLIC.1);
    let page = browse(dir, &serving, &[], &console);
    let form_token = after(&page, "name=\"form_token\" value=\"");
    let form = [
        "--data-urlencode",
        &format!("form_token={form_token}"),
        "--data-urlencode",
        &format!("name={OWNER}"),
        "--data-urlencode",
        "password=Correct-Horse-7-Battery",
    ];
    let home = browse(dir, &serving, &form, after(&page, "\nit is at \""));
    assert!(home.contains("/console/sign-out"), "{home}");
    let busy = no(dir, &[("BAILIWICK_SECRET", NEW)], &["keys", "adopt"]);
    assert!(busy.contains("another process"), "{busy}");
    assert!(serving.stop(), "{}", serving.log());
    std::fs::remove_file(dir.join("data/secret")).unwrap();
    let lost = no(dir, &[], &["serve"]);
    assert!(lost.contains("keys adopt"), "{lost}");
    let printed = ok(dir, &[], &["keys", "adopt"]);
    assert!(printed.contains("data/secret") && printed.contains("authenticator"), "{printed}");
    let serving = Serving::start(dir, &[PUBLIC]).await;
    assert_eq!(serving.status_of(&token).await, 401, "it was signed with the one that is lost");
    let page = browse(dir, &serving, &[], &console);
    assert!(page.contains("name=\"form_token\"") && !page.contains("/console/sign-out"), "{page}");
    assert_eq!(serving.status_of(&serving.owner_token()).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_the_database_does_not_give_the_secret_away() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut serving = Serving::start(dir.path(), &[("BAILIWICK_SECRET", OLD)]).await;
    assert!(serving.stop(), "{}", serving.log());
    let bytes = std::fs::read(dir.path().join("data/bailiwick.db")).unwrap();
    let plain = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, OLD.as_bytes());
    for secret in [OLD.as_bytes(), plain.as_ref()] {
        assert!(!bytes.windows(16).any(|window| window == &secret[..16]));
    }
    let output = run(dir.path(), &["--set", &format!("secret={OLD}"), "token", OWNER]);
    assert!(output.status.success(), "{output:?}");
}
