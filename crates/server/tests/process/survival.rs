//! Acknowledged requests are there after a kill in the middle of the work.

use crate::program::Serving;
use bailiwick_testkit::parts::postgres;
use reqwest::Client;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

pub async fn post(client: &Client, url: &str, token: &str, body: Value) -> Value {
    let request = client.post(url).bearer_auth(token).body(body.to_string());
    let answer = request.send().await.expect("an answer").text().await.expect("a body");
    serde_json::from_str::<Value>(&answer).expect("JSON")["data"].take()
}

/// A registered system: its id, key and secret.
pub async fn system(serving: &Serving, client: &Client, token: &str) -> (String, String, String) {
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

// Proves spec: guarantees#systems 20.
#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_documents_and_alerts_survive_a_kill_on_sqlite() {
    survives_a_kill(None).await;
}

// Proves spec: guarantees#systems 20.
#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_documents_and_alerts_survive_a_kill_on_postgres() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "survival").await.expect("a database");
    survives_a_kill(Some(cluster.url("survival"))).await;
}

async fn survives_a_kill(database: Option<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    let database = database.unwrap_or_else(|| format!("sqlite:{}", dir.path().join("survival.db").display()));
    let settings = [
        ("BAILIWICK_DATABASE__URL", database.as_str()),
        ("BAILIWICK_SYSTEMS__INVENTORIES_PER_HOUR", "1000000"),
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

    // Load until the kill: every task counts the requests that the service acknowledged to it.
    let taken = Arc::new(AtomicUsize::new(0));
    let load = |task: usize| {
        let count = taken.clone();
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
                count.fetch_add(1, Ordering::Relaxed);
            }
            acknowledged
        })
    };
    let tasks: Vec<_> = (0..4).map(load).collect();
    bailiwick_testkit::eventually("some are taken", async || taken.load(Ordering::Relaxed) >= 40).await;
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
    every_document_once_with_its_difference(
        &client,
        &format!("{}/api/systems/{id}/inventory", serving.url),
        &token,
        &names,
    )
    .await;
}

async fn get(client: &Client, url: &str, token: &str) -> Value {
    let answer =
        client.get(url).bearer_auth(token).send().await.expect("an answer").text().await.expect("a body");
    serde_json::from_str::<Value>(&answer).expect("JSON")["data"].take()
}

/// All pages of a list. A row that is added meanwhile moves others to the next page, where they are met once more.
async fn all(client: &Client, url: &str, token: &str, list: &str) -> Vec<Value> {
    let (mut rows, mut ids) = (Vec::new(), BTreeSet::new());
    for page in 1.. {
        let found = get(client, &format!("{url}?page={page}&page_size=100"), token).await;
        let found_rows = found[list].as_array().expect("a list").iter();
        rows.extend(found_rows.filter(|row| ids.insert(row["id"].to_string())).cloned());
        if found["pagination"]["has_next"] != true {
            break;
        }
    }
    rows
}

/// Waits until the queue has ended, then looks for each document: a record of its own, and what it changed.
async fn every_document_once_with_its_difference(client: &Client, url: &str, token: &str, names: &[String]) {
    // On PostgreSQL the work that the killed process had taken waits for the end of its lease.
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(120);
    let records = loop {
        let records = all(client, url, token, "records").await;
        let stored = |name: &String| records.iter().filter(|r| r["data"]["name"] == json!(name)).count();
        if names.iter().all(|name| stored(name) > 0) {
            assert!(names.iter().all(|name| stored(name) == 1), "a document is there twice");
            break records;
        }
        assert!(std::time::Instant::now() < limit, "{} of {} documents", records.len(), names.len());
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    };
    let oldest = records.iter().map(|r| r["id"].as_i64()).min().expect("a record");
    for record in records.iter().filter(|r| r["id"].as_i64() != oldest) {
        assert!(record["processed_at"].is_string() && record["change_count"] == 1, "{record}");
    }
    let diffs = all(client, &format!("{url}/diffs"), token, "diffs").await;
    for record in &records {
        let of_record: Vec<&Value> = diffs.iter().filter(|d| d["inventory_id"] == record["id"]).collect();
        let is_oldest = record["id"].as_i64() == oldest;
        assert_eq!(of_record.len(), usize::from(!is_oldest), "{record}");
        assert!(
            of_record
                .iter()
                .all(|d| d["field_path"] == "name" && d["current_value"] == record["data"]["name"])
        );
    }
}
