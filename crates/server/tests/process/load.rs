//! Documents under full load: one process that is killed in the middle, two that share the work.
//!
//! `make test` sends for seconds; `BAILIWICK_LOAD_SECONDS=60` (`make test-long`) sends for as long as one likes.

use crate::{program::Serving, survival::post};
use bailiwick_store::{Db, Options, sql::Q};
use bailiwick_testkit::{
    eventually,
    parts::{
        postgres,
        recorder::{Answer, Recorded, Recorder},
    },
};
use reqwest::Client;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

/// Appliances that send at the same time, each its next document when the one before is acknowledged.
const SENDERS: usize = 24;
/// Each of them sends far more often than a real one.
const MANY_DOCUMENTS: (&str, &str) = ("BAILIWICK_SYSTEMS__INVENTORIES_PER_HOUR", "1000000");
/// How long the queue may take to end after the last document, for each second of sending, and at least.
const WORK_OFF: (u32, Duration) = (10, Duration::from_secs(120));
/// How long after the end an appliance tries to send its last document: the program starts again meanwhile.
const TRIES: Duration = Duration::from_secs(180);

fn seconds() -> Duration {
    let set = std::env::var("BAILIWICK_LOAD_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(set.unwrap_or(4))
}

/// The id and the credentials that an appliance needs to call.
#[derive(Clone)]
struct Appliance {
    id: String,
    key: String,
    secret: String,
}

async fn appliances(serving: &Serving, client: &Client, token: &str, count: usize) -> Vec<Appliance> {
    let api = format!("{}/api", serving.url);
    let customer = json!({"name": "Under load", "custom_data": {"vat": "IT1"}});
    let customer = post(client, &format!("{api}/customers"), token, customer).await["id"].clone();
    let mut made = Vec::new();
    for n in 0..count {
        let new = json!({"name": format!("s{n}"), "organization_id": customer});
        let new = post(client, &format!("{api}/systems"), token, new).await;
        let field = |name: &str| new[name].as_str().expect("a text").to_owned();
        let one = Appliance { id: field("id"), key: field("system_key"), secret: field("system_secret") };
        let register = json!({"system_secret": one.secret});
        post(client, &format!("{api}/systems/register"), token, register).await;
        made.push(one);
    }
    made
}

/// A document of 34 kB with this number as its `sequence`.
fn document(sample: &Value, number: u64) -> String {
    let mut document = sample.clone();
    document["sequence"] = json!(number);
    document.to_string()
}

/// Sends documents until the time is over, each until some process acknowledges it; how many those were.
async fn send(client: Client, urls: Vec<String>, who: Appliance, sample: Value, until: Instant) -> u64 {
    let mut number = 0;
    let mut turn = 0;
    // Two make a difference.
    while Instant::now() < until || number < 2 {
        let body = document(&sample, number);
        loop {
            turn += 1;
            let url = format!("{}/collect/api/systems/inventory", urls[turn % urls.len()]);
            let request = client.post(url).basic_auth(&who.key, Some(&who.secret)).body(body.clone());
            match request.send().await.map(|answer| answer.status().as_u16()) {
                Ok(202) => break,
                // Killed, not up again yet, or too busy: the appliance comes back.
                Err(_) | Ok(429 | 503) => tokio::time::sleep(Duration::from_millis(20)).await,
                Ok(other) => panic!("{other}"),
            }
            assert!(Instant::now() < until + TRIES, "nobody takes document {number}");
        }
        number += 1;
    }
    number
}

/// Sends from all appliances at once; how many documents of each were acknowledged.
fn start(
    client: &Client,
    urls: &[String],
    all: &[Appliance],
    until: Instant,
) -> Vec<tokio::task::JoinHandle<u64>> {
    let sample = include_str!("../../../inventory/tests/data/inventory-ns8.json");
    let sample: Value = serde_json::from_str(sample).expect("JSON");
    all.iter()
        .map(|one| {
            tokio::task::spawn(send(client.clone(), urls.to_vec(), one.clone(), sample.clone(), until))
        })
        .collect()
}

/// Waits for the end of the queue, from which a document that failed would never go; then every system has a record and
/// a difference for each acknowledged document, in their order, none twice. A document that was sent again because its
/// answer was lost is the same as the latest.
async fn each_document_once(database: &str, sent: &BTreeMap<String, u64>) {
    let db = Db::open(&Options::new(database)).await.expect("the database");
    let (each, least) = WORK_OFF;
    let limit = Instant::now() + least.max(seconds() * each);
    loop {
        let left = Q::new("SELECT COUNT(*) FROM inventory_queue").count(&db).await.expect("a count");
        if left == 0 {
            break;
        }
        assert!(Instant::now() < limit, "{left} documents are still in the queue");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for (id, acknowledged) in sent {
        let id: uuid::Uuid = id.parse().expect("an id");
        let diffs: Vec<(Option<String>, Option<String>)> = Q::new(
            "SELECT previous_value, current_value FROM inventory_diffs \
             WHERE system_id = ? AND field_path = 'sequence' ORDER BY id",
        )
        .bind(id)
        .all(&db)
        .await
        .expect("rows");
        let wanted: Vec<_> =
            (1..*acknowledged).map(|n| (Some((n - 1).to_string()), Some(n.to_string()))).collect();
        assert_eq!(diffs.len(), wanted.len(), "{id}: acknowledged {acknowledged}");
        assert_eq!(diffs, wanted, "{id}");
        let records = Q::new("SELECT COUNT(*) FROM inventory_records WHERE system_id = ?").bind(id);
        assert_eq!(records.count(&db).await.expect("a count"), *acknowledged, "{id}");
    }
    db.close().await;
}

async fn acknowledged(all: &[Appliance], tasks: Vec<tokio::task::JoinHandle<u64>>) -> BTreeMap<String, u64> {
    let mut sent = BTreeMap::new();
    for (one, task) in all.iter().zip(tasks) {
        sent.insert(one.id.clone(), task.await.expect("a task"));
    }
    let count: u64 = sent.values().sum();
    writeln!(std::io::stderr(), "{count} documents in {:?}", seconds()).expect("standard error");
    sent
}

async fn survives_a_kill_at_full_load(database: Option<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    let database = database.unwrap_or_else(|| format!("sqlite:{}", dir.path().join("load.db").display()));
    let settings = [("BAILIWICK_DATABASE__URL", database.as_str()), MANY_DOCUMENTS];
    let serving = Serving::start(dir.path(), &settings).await;
    let (client, token) = (Client::new(), serving.owner_token());
    let all = appliances(&serving, &client, &token, SENDERS).await;
    let tasks = start(&client, std::slice::from_ref(&serving.url), &all, Instant::now() + seconds());
    tokio::time::sleep(seconds() / 2).await;
    let serving = serving.kill_and_start_again().await;
    let sent = acknowledged(&all, tasks).await;
    assert!(sent.values().all(|n| *n > 1), "{sent:?}");
    each_document_once(&database, &sent).await;
    drop(serving);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_document_is_there_once_after_a_kill_at_full_load_on_sqlite() {
    survives_a_kill_at_full_load(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_document_is_there_once_after_a_kill_at_full_load_on_postgres() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "full_load").await.expect("a database");
    survives_a_kill_at_full_load(Some(cluster.url("full_load"))).await;
}

/// Two processes with one secret, each with a directory of its own.
async fn two(directory: &Path, settings: &[(&str, &str)]) -> (Serving, Serving) {
    let secret = ("BAILIWICK_SECRET", "0123456789abcdef0123456789abcdef0123456789abcdef");
    let settings: Vec<(&str, &str)> = settings.iter().copied().chain([secret]).collect();
    let (one, other) = (directory.join("one"), directory.join("other"));
    for directory in [&one, &other] {
        std::fs::create_dir(directory).expect("a directory");
    }
    (Serving::start(&one, &settings).await, Serving::start(&other, &settings).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_the_documents_and_one_takes_over_what_the_other_leaves() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "shared_load").await.expect("a database");
    let (dir, database) = (tempfile::tempdir().expect("a directory"), cluster.url("shared_load"));
    let settings = [("BAILIWICK_DATABASE__URL", database.as_str()), MANY_DOCUMENTS];
    let (first, second) = two(dir.path(), &settings).await;
    let (client, token) = (Client::new(), first.owner_token());
    let all = appliances(&first, &client, &token, SENDERS).await;
    let urls = [first.url.clone(), second.url.clone()];
    let tasks = start(&client, &urls, &all, Instant::now() + seconds());
    tokio::time::sleep(seconds() / 2).await;
    // The other process gets the claimed work of this one when the leases end. Its appliances find the other by
    // themselves.
    drop(first);
    let sent = acknowledged(&all, tasks).await;
    each_document_once(&database, &sent).await;
    drop(second);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_raise_the_alert_of_a_silent_system_once() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "shared_watch").await.expect("a database");
    let router = Recorder::start(|_| Answer::json(200, &json!([]))).await.expect("a router");
    let router_url = router.url();
    let (dir, database) = (tempfile::tempdir().expect("a directory"), cluster.url("shared_watch"));
    let settings = [
        ("BAILIWICK_DATABASE__URL", database.as_str()),
        ("BAILIWICK_ALERTING__MODE", "remote"),
        ("BAILIWICK_ALERTING__REMOTE__URL", router_url.as_str()),
        ("BAILIWICK_SYSTEMS__CHECK_INTERVAL", "1s"),
        ("BAILIWICK_SYSTEMS__LIVENESS_TIMEOUT", "2s"),
    ];
    let (first, second) = two(dir.path(), &settings).await;
    let (client, token) = (Client::new(), first.owner_token());
    let all = appliances(&first, &client, &token, 3).await;
    for one in &all {
        let beat = client.post(format!("{}/collect/api/systems/heartbeat", second.url));
        let answer = beat.basic_auth(&one.key, Some(&one.secret)).send().await.expect("an answer");
        assert_eq!(answer.status(), 200);
    }
    let raised = || {
        let mut keys: BTreeMap<String, usize> = BTreeMap::new();
        // The other interface takes the configurations of tenants.
        let is_push = |r: &&Recorded| r.method == "POST" && r.path.ends_with("/api/v2/alerts");
        for request in router.requests().iter().filter(is_push) {
            for alert in request.json().expect("JSON").as_array().expect("a list") {
                assert_eq!(alert["labels"]["alertname"], "LinkFailed");
                *keys
                    .entry(alert["labels"]["system_key"].as_str().expect("a key").to_owned())
                    .or_default() += 1;
            }
        }
        keys
    };
    let limit = Instant::now() + Duration::from_secs(60);
    while raised().len() < all.len() {
        assert!(Instant::now() < limit, "{:?}", raised());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // What was raised and is not recorded would be raised again by the other process.
    let db = Db::open(&Options::new(&database)).await.expect("the database");
    let are_recorded = async || {
        let q = Q::new("SELECT COUNT(*) FROM link_alerts");
        q.count(&db).await.expect("a count") == all.len() as u64
    };
    eventually("all are recorded", are_recorded).await;
    db.close().await;
    // Several checks of both later nothing has been raised again, nor when the one that watched is gone.
    tokio::time::sleep(Duration::from_secs(3)).await;
    drop(first);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(raised().values().all(|n| *n == 1), "{:?}", raised());
    drop(second);
}
