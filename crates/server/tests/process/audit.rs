//! `bailiwick audit` beside a running service.

use crate::program::{Serving, run, text};
use reqwest::Client;
use serde_json::{Value, json};
use std::path::Path;

/// The rows as JSON, the newest first.
fn rows(directory: &Path, arguments: &[&str]) -> Vec<Value> {
    let output = run(directory, &[&["audit", "--json"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    text(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn actions(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["action"].as_str().expect("an action")).collect()
}

#[tokio::test]
async fn who_changed_what_can_be_asked_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let serving = Serving::start(dir, &[]).await;
    let (client, token) = (Client::new(), serving.owner_token());
    let me =
        client.get(format!("{}/api/me", serving.url)).bearer_auth(&token).send().await.expect("an answer");
    let me: Value = serde_json::from_str(&me.text().await.expect("a body")).expect("JSON");
    let (owner, home) = (me["data"]["id"].clone(), me["data"]["organization_id"].clone());
    let url = format!("{}/api/customers", serving.url);
    let new = |name: &str, request: &str| {
        let body = json!({"name": name, "custom_data": {"vat": name}}).to_string();
        client.post(&url).bearer_auth(&token).header("x-request-id", request).body(body).send()
    };
    let made = new("IT1", "first").await.expect("an answer").text().await.expect("a body");
    let made: Value = serde_json::from_str(&made).expect("JSON");
    let customer = made["data"]["id"].as_str().expect("an id").to_owned();
    new("IT2", "second").await.expect("an answer");
    client.delete(format!("{url}/{customer}")).bearer_auth(&token).send().await.expect("an answer");

    let all = rows(dir, &[]);
    let expected = [
        "customer.delete",
        "customer.create",
        "customer.create",
        "token.create",
        "user.create",
        "organization.create",
    ];
    assert_eq!(actions(&all), expected);
    assert_eq!(all[5]["actor_user_id"], Value::Null, "the service itself");
    assert_eq!(
        (&all[2]["actor_user_id"], &all[2]["actor_email"]),
        (&owner, &json!("owner@bailiwick.example"))
    );
    assert_eq!((&all[2]["actor_organization_id"], &all[2]["object_id"]), (&home, &json!(customer)));
    assert_eq!((&all[2]["request_id"], &all[2]["after"]["name"]), (&json!("first"), &json!("IT1")));
    assert!(!format!("{all:?}").contains("Correct-Horse"));

    let owner = owner.as_str().expect("an id");
    for (arguments, found) in [
        (&["--actor", "Owner@bailiwick.example"][..], 3),
        (&["--actor", owner], 3),
        (&["--actor", owner, "--action", "customer.c"], 2),
        (&["--organization", home.as_str().expect("an id")], 3),
        (&["--object", &customer], 2),
        (&["--action", "customer"], 3),
        (&["--action", "customer.create", "--request-id", "second"], 1),
        (&["--request-id", "no such"], 0),
        (&["--limit", "2"], 2),
        (&["--since", "2026-01-01"], 6),
        (&["--until", "2026-01-01"], 0),
        (&["--since", "2026-01-01", "--until", "9999-01-01T00:00:00Z"], 6),
    ] {
        assert_eq!(rows(dir, arguments).len(), found, "{arguments:?}");
    }

    let table = text(&run(dir, &["audit", "--object", &customer]));
    let lines: Vec<_> = table.lines().collect();
    assert!(lines.len() == 3 && lines[0].starts_with("TIME"), "{table}");
    for word in ["owner@bailiwick.example", "customer.create", &format!("customer {customer}"), "first"] {
        assert!(lines[2].contains(word), "{word}: {table}");
    }
    for wrong in
        [["--actor", "nobody@example.org"], ["--since", "yesterday"], ["--object", "x"], ["--limit", "0"]]
    {
        assert!(!run(dir, &[&["audit"][..], &wrong].concat()).status.success(), "{wrong:?}");
    }
}
