//! `bailiwick token`: the users that it makes tokens for, and whether a service accepts the tokens.

use crate::program::{Serving, command};
use bailiwick_testkit::parts::postgres;
use std::path::Path;

/// Standard output and error of `bailiwick token`.
fn token(dir: &Path, settings: &[(&str, &str)]) -> (String, String) {
    let mut command = command(dir);
    command.envs(settings.iter().copied()).args(["token", "owner@bailiwick.example"]);
    let output = command.output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    (String::from_utf8_lossy(&output.stdout).trim().to_owned(), stderr)
}

async fn a_token_for_another_address_causes_a_warning(database: Option<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let url = database.unwrap_or_else(|| format!("sqlite:{}", dir.join("token.db").display()));
    let database = ("BAILIWICK_DATABASE__URL", url.as_str());
    let mut serving = Serving::start(dir, &[database]).await;
    let listen = serving.url.strip_prefix("http://").unwrap().to_owned();
    let (good, stderr) = token(dir, &[database, ("BAILIWICK_HTTP__LISTEN", &listen)]);
    assert_eq!(serving.status_of(&good).await, 200);
    assert!(
        stderr.contains("issuer 127.0.0.1") && stderr.contains(&format!("audience {}/api", serving.url)),
        "{stderr}"
    );
    assert!(!stderr.contains("warning"), "{stderr}");

    // Without the address that the service has: the token is for another one.
    let (other, stderr) = token(dir, &[database]);
    assert_eq!(serving.status_of(&other).await, 401);
    assert!(
        stderr.contains("issuer 127.0.0.1") && stderr.contains("audience http://127.0.0.1:8080/api"),
        "{stderr}"
    );
    assert!(stderr.contains("warning: ") && stderr.contains(&format!("{}/api", serving.url)), "{stderr}");

    assert!(serving.stop(), "{}", serving.log());
    let (_, stderr) = token(dir, &[database, ("BAILIWICK_HTTP__LISTEN", &listen)]);
    assert!(stderr.contains("no process serves"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_another_address_causes_a_warning_on_sqlite() {
    a_token_for_another_address_causes_a_warning(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_another_address_causes_a_warning_on_postgres() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "tokens").await.expect("a database");
    a_token_for_another_address_causes_a_warning(Some(cluster.url("tokens"))).await;
}
