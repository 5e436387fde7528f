//! `bailiwick sessions` and `bailiwick keys` beside a running service.

use crate::program::{Serving, command, run, text};
use reqwest::Client;
use serde_json::{Value, json};
use std::path::Path;

const OWNER: &str = "owner@bailiwick.example";

fn listed(directory: &Path) -> Vec<Value> {
    let output = run(directory, &["sessions", "list", OWNER, "--json"]);
    assert!(output.status.success(), "{output:?}");
    text(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[tokio::test]
async fn an_operator_sees_sessions_and_ends_them_at_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let serving = Serving::start(dir, &[]).await;
    let (first, second, third) = (serving.owner_token(), serving.owner_token(), serving.owner_token());
    let open = listed(dir);
    assert_eq!(open.len(), 3, "{open:?}");
    assert!(open.iter().all(|session| session["kind"] == "token"), "nobody has signed in: {open:?}");
    let recorded = run(dir, &["audit", "--action", "token", "--json"]);
    let rows: Vec<Value> =
        text(&recorded).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows.len(), 3, "{recorded:?}");
    assert_eq!((&rows[0]["action"], &rows[0]["after"]["session"]), (&json!("token.create"), &open[0]["id"]));
    let newest = open[0]["id"].as_str().expect("an id");
    let shown = run(dir, &["sessions", "list", OWNER]);
    assert!(text(&shown).contains(newest) && text(&shown).starts_with("KIND "), "{shown:?}");

    assert!(run(dir, &["sessions", "end", OWNER, "--id", newest]).status.success());
    assert_eq!(serving.status_of(&third).await, 401);
    assert_eq!((serving.status_of(&first).await, serving.status_of(&second).await), (200, 200));
    let again = run(dir, &["sessions", "end", OWNER, "--id", newest]);
    assert!(!again.status.success() && text(&again).is_empty(), "{again:?}");
    assert!(!run(dir, &["sessions", "list", "nobody@example.org"]).status.success());

    assert!(run(dir, &["sessions", "end", OWNER]).status.success());
    assert_eq!((serving.status_of(&first).await, serving.status_of(&second).await), (401, 401));
    assert!(listed(dir).is_empty());
    assert_eq!(serving.status_of(&serving.owner_token()).await, 200, "who signs in afterwards is in");
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

#[tokio::test]
async fn a_secret_is_replaced_without_losing_what_is_sealed() {
    const OLD: &str = "the first secret, 32 bytes or more";
    const NEW: &str = "another secret of at least 32 bytes";
    const HOOK: &str = "http://127.0.0.1:9/hook";
    const HERE: (&str, &str) = ("BAILIWICK_ALERTING__WEBHOOK__ALLOWED_HOSTS", "127.0.0.1");
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let hook = async |serving: &Serving, save: bool| {
        let url = format!("{}/api/alerting/config", serving.url);
        let client = Client::new();
        if save {
            let body =
                json!({"enabled": {"webhook": true}, "webhook_recipients": [{"name": "hook", "url": HOOK}]});
            let sent = client.post(&url).bearer_auth(serving.owner_token()).body(body.to_string());
            let answer = sent.send().await.expect("an answer");
            assert!(answer.status().is_success(), "{}", answer.text().await.expect("a body"));
        }
        let read = client.get(&url).bearer_auth(serving.owner_token()).send().await.expect("an answer");
        read.text().await.expect("a body").contains(HOOK)
    };
    let mut serving = Serving::start(dir, &[("BAILIWICK_SECRET", OLD), HERE]).await;
    assert!(hook(&serving, true).await);
    serving.stop();
    let both = [("BAILIWICK_SECRET", NEW), ("BAILIWICK_PREVIOUS_SECRET", OLD), HERE];
    let mut serving = Serving::start(dir, &both).await;
    assert!(hook(&serving, false).await);
    let done = command(dir).envs(both).args(["keys", "reseal"]).output().expect("the program runs");
    assert!(done.status.success() && text(&done).starts_with("1 alert configuration"), "{done:?}");
    serving.stop();
    let serving = Serving::start(dir, &[("BAILIWICK_SECRET", NEW), HERE]).await;
    assert!(hook(&serving, false).await, "the previous secret is forgotten, the recipient is not");
}
