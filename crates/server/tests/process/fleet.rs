//! The inventories of a whole fleet: every system of the demo data sends documents of its own.

use crate::program::{Serving, run};
use bailiwick_store::{Db, Options, sql::Q};
use futures_util::StreamExt;
use reqwest::Client;
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    path::Path,
    time::{Duration, Instant},
};

/// Systems that send at the same time.
const SENDERS: usize = 16;
/// One of so many sends a second document, which differs.
const CHANGED: usize = 5;
const SECRET: &str = "4f1c0e5d7a3b9c8e6f2d1a0b3c4d5e6f7a8b9c0d";

/// Every system that may send: those that are suspended may not.
pub async fn ids(serving: &Serving) -> Vec<String> {
    let (client, token) = (Client::new(), serving.owner_token());
    let mut ids = Vec::new();
    for page in 1.. {
        let url = format!("{}/api/systems?page={page}&page_size=100", serving.url);
        let answer = client.get(url).bearer_auth(&token).send().await.expect("an answer");
        let answer: Value = answer.json().await.expect("JSON");
        let systems = answer["data"]["systems"].as_array().expect("systems");
        let may_send = systems.iter().filter(|system| system["suspended_at"].is_null());
        ids.extend(may_send.map(|system| system["id"].as_str().expect("an id").to_owned()));
        if systems.len() < 100 {
            break;
        }
    }
    ids
}

/// Gives each system a known credential, a pair of an earlier installation. No process serves meanwhile.
pub fn import_credentials(directory: &Path, ids: &[String]) {
    let header = "system_id,legacy_id,legacy_secret,system_key,secret_public,secret_hash,registered_at\n";
    let mut file = header.to_owned();
    for id in ids {
        writeln!(file, "{id},old-{id},{SECRET},,,,2026-01-01T00:00:00Z").expect("a line");
    }
    std::fs::write(directory.join("fleet.csv"), file).expect("a file");
    let output = run(directory, &["system", "import-credentials", "fleet.csv"]);
    assert!(output.status.success(), "{output:?}");
}

/// Sends the documents and waits until all differences are made; how many they were.
pub async fn send(serving: &Serving, database: &str, ids: &[String]) -> usize {
    let sample = include_str!("../../../inventory/tests/data/inventory-ns8.json");
    let sample: Value = serde_json::from_str(sample).expect("JSON");
    let (client, url) = (Client::new(), format!("{}/api/proxy/inventory", serving.url));
    let sent: Vec<usize> = futures_util::stream::iter(ids.iter().enumerate())
        .map(|(number, id)| {
            let bodies: Vec<String> = (0..if number % CHANGED == 0 { 2 } else { 1 })
                .map(|version| {
                    let mut document = sample.clone();
                    document["facts"]["cluster"]["ui_name"] = json!(id);
                    document["facts"]["modules"][0]["version"] = json!(format!("9.{version}.0"));
                    document.to_string()
                })
                .collect();
            let (client, url) = (client.clone(), url.clone());
            async move {
                let count = bodies.len();
                for body in bodies {
                    post(&client, &url, &format!("old-{id}"), body).await;
                }
                count
            }
        })
        .buffer_unordered(SENDERS)
        .collect()
        .await;
    differences_are_made(database).await;
    sent.iter().sum()
}

/// Sends one document; repeats it when the service asks for that.
async fn post(client: &Client, url: &str, who: &str, body: String) {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        let call = client.post(url).basic_auth(who, Some(SECRET)).header("content-type", "application/json");
        let answer = call.body(body.clone()).send().await.expect("an answer");
        match answer.status().as_u16() {
            202 => break,
            429 | 503 if Instant::now() < limit => tokio::time::sleep(Duration::from_millis(20)).await,
            other => panic!("{other}: {:?}", answer.text().await),
        }
    }
}

async fn differences_are_made(database: &str) {
    let db = Db::open(&Options::new(database)).await.expect("the database");
    let limit = Instant::now() + Duration::from_secs(600);
    loop {
        let left = Q::new("SELECT COUNT(*) FROM inventory_queue").count(&db).await.expect("a count");
        if left == 0 {
            break;
        }
        assert!(Instant::now() < limit, "{left} documents wait");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    db.close().await;
}
