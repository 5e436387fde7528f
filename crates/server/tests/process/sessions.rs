//! `bailiwick sessions` and `bailiwick keys` beside a running service.

use crate::program::{Serving, run, text};
use reqwest::Client;
use serde_json::Value;
use std::path::Path;

const OWNER: &str = "owner@bailiwick.example";

fn listed(directory: &Path) -> Vec<Value> {
    let output = run(directory, &["sessions", "list", OWNER, "--json"]);
    assert!(output.status.success(), "{output:?}");
    text(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

async fn status_of(serving: &Serving, token: &str) -> u16 {
    let me = Client::new().get(format!("{}/api/me", serving.url)).bearer_auth(token);
    me.send().await.expect("an answer").status().as_u16()
}

#[tokio::test]
async fn an_operator_sees_sessions_and_ends_them_at_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let serving = Serving::start(dir, &[]).await;
    let (first, second, third) = (serving.owner_token(), serving.owner_token(), serving.owner_token());
    let open = listed(dir);
    assert_eq!(open.len(), 3, "{open:?}");
    let newest = open[0]["id"].as_str().expect("an id");
    let shown = run(dir, &["sessions", "list", OWNER]);
    assert!(text(&shown).contains(newest) && text(&shown).starts_with("KIND "), "{shown:?}");

    assert!(run(dir, &["sessions", "end", OWNER, "--id", newest]).status.success());
    assert_eq!(status_of(&serving, &third).await, 401);
    assert_eq!((status_of(&serving, &first).await, status_of(&serving, &second).await), (200, 200));
    let again = run(dir, &["sessions", "end", OWNER, "--id", newest]);
    assert!(!again.status.success() && text(&again).is_empty(), "{again:?}");
    assert!(!run(dir, &["sessions", "list", "nobody@example.org"]).status.success());

    assert!(run(dir, &["sessions", "end", OWNER]).status.success());
    assert_eq!((status_of(&serving, &first).await, status_of(&serving, &second).await), (401, 401));
    assert!(listed(dir).is_empty());
    assert_eq!(status_of(&serving, &serving.owner_token()).await, 200, "who signs in afterwards is in");
}

#[tokio::test]
async fn a_new_signing_key_is_published_beside_the_old_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let serving = Serving::start(dir, &[]).await;
    let published = async || {
        let jwks = Client::new().get(format!("{}/oidc/jwks", serving.url)).send().await.expect("an answer");
        let jwks: Value = serde_json::from_str(&jwks.text().await.expect("a body")).expect("JSON");
        let ids = jwks["keys"].as_array().expect("keys").iter().map(|key| key["kid"].to_string());
        ids.collect::<Vec<_>>()
    };
    let before = published().await;
    let output = run(dir, &["keys", "rotate"]);
    let kid = format!("\"{}\"", text(&output).trim());
    let after = published().await;
    assert!(!before.contains(&kid) && after.contains(&kid), "{before:?} {after:?} {kid}");
    assert!(before.iter().all(|old| after.contains(old)) && after.len() == before.len() + 1);
}
