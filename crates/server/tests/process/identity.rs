//! People who sign in elsewhere: the program's messages at its start, and `bailiwick logto sync`.

use crate::program::{Serving, command, text, wait_until};
use bailiwick_testkit::parts::{
    logto::{APP, CLIENT, Logto},
    ports, postgres,
};
use serde_json::json;
use std::path::Path;

#[tokio::test(flavor = "multi_thread")]
async fn a_start_warns_of_tokens_made_for_others() {
    const WARNING: &str = "accept_any_client is set without audiences";
    let nobody = format!("http://127.0.0.1:{}", ports::spare().expect("a port"));
    let common = [
        ("BAILIWICK_IDENTITY__MODE", "oidc"),
        ("BAILIWICK_IDENTITY__OIDC__ISSUER", nobody.as_str()),
        ("BAILIWICK_IDENTITY__OIDC__ACCEPT_ANY_CLIENT", "true"),
    ];
    for (audiences, is_warned) in [(None, true), (Some("https://portal.example/api"), false)] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut settings = common.to_vec();
        settings.extend(audiences.map(|audiences| ("BAILIWICK_IDENTITY__OIDC__AUDIENCES", audiences)));
        let serving = Serving::start(dir.path(), &settings).await;
        // This message comes after the warning at a start.
        wait_until("the issuer", || serving.log().contains("the identity provider does not answer")).await;
        let log = serving.log();
        assert_eq!(log.contains(WARNING), is_warned, "{log}");
        assert!(!is_warned || log.contains("section=\"identity.oidc\""), "{log}");
    }
}

/// Standard output of `bailiwick logto sync …`, which ends well.
fn sync(dir: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> String {
    let output = command(dir)
        .envs(settings.iter().copied())
        .args(["logto", "sync"])
        .args(arguments)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    text(&output)
}

async fn a_tenant_is_compared_and_corrected(database: Option<String>) {
    let logto = Logto::start().await.expect("a tenant");
    let at = logto.settings();
    let mut settings = vec![
        ("BAILIWICK_IDENTITY__MODE", "logto"),
        ("BAILIWICK_IDENTITY__LOGTO__TENANT_ID", "tenant"),
        ("BAILIWICK_IDENTITY__LOGTO__ISSUER", at.issuer.url.as_str()),
        ("BAILIWICK_IDENTITY__LOGTO__MANAGEMENT_URL", at.management_url.as_str()),
        ("BAILIWICK_IDENTITY__LOGTO__MANAGEMENT_RESOURCE", at.resource.as_str()),
        ("BAILIWICK_IDENTITY__LOGTO__APP_ID", APP.0),
        ("BAILIWICK_IDENTITY__LOGTO__APP_SECRET", APP.1),
        ("BAILIWICK_IDENTITY__LOGTO__CLIENT_IDS", CLIENT),
        ("BAILIWICK_OWNER_PASSWORD", ""),
    ];
    settings.extend(database.as_deref().map(|url| ("BAILIWICK_DATABASE__URL", url)));
    let dir = tempfile::tempdir().expect("a directory");
    let mut serving = Serving::start(dir.path(), &settings).await;
    wait_until("the owner", || {
        logto.with(|tenant| {
            tenant.members.len() == 1 && tenant.user_roles.values().any(|roles| !roles.is_empty())
        })
    })
    .await;
    let made = logto.with(|tenant| tenant.passwords.values().next().cloned()).expect("a password");
    assert!(serving.stop());
    assert!(
        serving.log().contains(&format!("  password    {made} ")),
        "it is printed once: {}",
        serving.log()
    );
    let dir = dir.path();
    assert_eq!(sync(dir, &settings, &["--dry-run"]), "2 looked at, 0 otherwise at Logto\n");

    logto.with(|tenant| {
        let user = tenant.users.values_mut().next().expect("the owner");
        user["name"] = json!("Another\u{1b}[2J");
    });
    let printed = sync(dir, &settings, &["--dry-run"]);
    let (line, sum) = printed.split_once('\n').expect("two lines");
    assert!(
        line.starts_with("user ") && line.ends_with("owner@bailiwick.example: different: name"),
        "{printed}"
    );
    assert_eq!(sum, "2 looked at, 1 otherwise at Logto\n");
    let _ = logto.calls();
    let printed = sync(dir, &settings, &[]);
    assert!(printed.ends_with("\n2 looked at, 1 otherwise at Logto and corrected\n"), "{printed}");
    assert!(logto.calls().iter().any(|call| call.starts_with("PATCH /users/")));
    assert_eq!(sync(dir, &settings, &["--dry-run"]), "2 looked at, 0 otherwise at Logto\n");
    assert!(!printed.contains(APP.1));

    // Without the mode there is no tenant to compare with.
    let output = command(dir).args(["logto", "sync"]).output().expect("it runs");
    assert!(!output.status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_is_compared_and_corrected_on_sqlite() {
    a_tenant_is_compared_and_corrected(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_is_compared_and_corrected_on_postgres() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "logto_sync").await.expect("a database");
    a_tenant_is_compared_and_corrected(Some(cluster.url("logto_sync"))).await;
}
