//! What was acknowledged is there after a kill in the middle of the work.

use crate::program::Serving;
use reqwest::Client;
use serde_json::{Value, json};

async fn post(client: &Client, url: &str, token: &str, body: Value) -> Value {
    let request = client.post(url).bearer_auth(token).body(body.to_string());
    let answer = request.send().await.expect("an answer").text().await.expect("a body");
    serde_json::from_str::<Value>(&answer).expect("JSON")["data"].take()
}

/// A registered system: its id, key and secret.
async fn system(serving: &Serving, client: &Client, token: &str) -> (String, String, String) {
    let api = format!("{}/api", serving.url);
    let customer = json!({"name": "Survivor", "custom_data": {"vat": "IT1"}});
    let customer = post(client, &format!("{api}/customers"), token, customer).await["id"].clone();
    let new = json!({"name": "s", "organization_id": customer});
    let made = post(client, &format!("{api}/systems"), token, new).await;
    let field = |name: &str| made[name].as_str().expect("a text").to_owned();
    let (id, key, secret) = (field("id"), field("system_key"), field("system_secret"));
    post(client, &format!("{api}/systems/register"), token, json!({"system_secret": secret})).await;
    (id, key, secret)
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_documents_alerts_and_silences_survive_a_kill() {
    let dir = tempfile::tempdir().expect("a directory");
    let settings = [
        ("BAILIWICK_ALERTING__LIMITS__REQUESTS_PER_SECOND", "10000"),
        ("BAILIWICK_ALERTING__LIMITS__REQUEST_BURST", "10000"),
        ("BAILIWICK_ALERTING__LIMITS__ALERTS_PER_SYSTEM", "100000"),
        ("BAILIWICK_ALERTING__LIMITS__ALERTS_PER_TENANT", "100000"),
    ];
    let serving = Serving::start(dir.path(), &settings).await;
    let (client, token) = (Client::new(), serving.owner_token());
    let (id, key, secret) = system(&serving, &client, &token).await;
    let collect = format!("{}/collect/api", serving.url);
    let alerts = format!("{collect}/services/mimir/alertmanager/api/v2/alerts");

    // Load until the kill: every task counts what was acknowledged to it.
    let load = |task: usize| {
        let (client, key, secret) = (client.clone(), key.clone(), secret.clone());
        let (inventory, alerts) = (format!("{collect}/systems/inventory"), alerts.clone());
        tokio::task::spawn(async move {
            let mut acknowledged = Vec::new();
            for n in 0..10_000 {
                let name = format!("A{task}x{n}");
                let alert = json!([{"labels": {"alertname": name}}]).to_string();
                let push = client
                    .post(&alerts)
                    .basic_auth(&key, Some(&secret))
                    .header("content-type", "application/json");
                let pushed = push.body(alert).send().await.is_ok_and(|r| r.status() == 200);
                let document = json!({"installation": "other", "name": name}).to_string();
                let sent =
                    client.post(&inventory).basic_auth(&key, Some(&secret)).body(document).send().await;
                if !pushed || !sent.is_ok_and(|r| r.status() == 202) {
                    break;
                }
                acknowledged.push(name);
            }
            acknowledged
        })
    };
    let tasks: Vec<_> = (0..4).map(load).collect();
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    let serving = serving.kill_and_start_again().await;
    let mut names = Vec::new();
    for task in tasks {
        names.extend(task.await.expect("a task"));
    }
    assert!(!names.is_empty(), "the load has done something");

    let listed = client.get(&alerts).basic_auth(&key, Some(&secret)).send().await.expect("an answer");
    let listed = listed.text().await.expect("a body");
    for name in &names {
        assert!(listed.contains(&format!("\"alertname\":\"{name}\"")), "{name} is lost");
    }
    // Documents are taken in order, so the newest acknowledged ones are there once the queue is empty.
    let latest = format!("{}/api/systems/{id}/inventory/latest", serving.url);
    let newest: Vec<String> =
        (0..4).filter_map(|t| names.iter().rfind(|n| n.starts_with(&format!("A{t}x"))).cloned()).collect();
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let answer = client
            .get(&latest)
            .bearer_auth(&token)
            .send()
            .await
            .expect("an answer")
            .text()
            .await
            .expect("a body");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        let name = answer["data"]["data"]["name"].as_str().unwrap_or_default().to_owned();
        // One that was stored but whose answer was cut off by the kill may follow the acknowledged ones.
        let (task, number) = name.trim_start_matches('A').split_once('x').unwrap_or_default();
        let acknowledged = newest.iter().find(|n| n.starts_with(&format!("A{task}x")));
        let reached = acknowledged.is_some_and(|n| {
            let n = n.rsplit('x').next().and_then(|n| n.parse::<u32>().ok());
            n <= number.parse::<u32>().ok()
        });
        if reached {
            break;
        }
        assert!(std::time::Instant::now() < limit, "the queue does not end: {name}, {newest:?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
