//! Events at a consumer written with the stock library of Standard Webhooks, while either side is killed.
//!
//! `make test` makes hundreds; `BAILIWICK_EVENTS=10000` (`make test-long`) makes as many as one likes.

use crate::{
    program::Serving,
    survival::{post, system},
};
use bailiwick_store::{Db, Options, sql::Q};
use bailiwick_testkit::parts::{event_consumer::EventConsumer, postgres};
use reqwest::Client;
use serde_json::json;
use std::{
    collections::BTreeSet,
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

/// Changes that are made at the same time.
const WRITERS: usize = 8;

fn count() -> usize {
    std::env::var("BAILIWICK_EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(400)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_consumer_misses_nothing_while_either_side_is_killed_on_sqlite() {
    nothing_is_missing(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_consumer_misses_nothing_while_either_side_is_killed_on_postgres() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "events").await.expect("a database");
    nothing_is_missing(Some(cluster.url("events"))).await;
}

async fn nothing_is_missing(database: Option<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    let database = database.unwrap_or_else(|| format!("sqlite:{}", dir.path().join("events.db").display()));
    let settings = [
        ("BAILIWICK_DATABASE__URL", database.as_str()),
        ("BAILIWICK_ALERTING__WEBHOOK__ALLOWED_HOSTS", "127.0.0.0/8"),
    ];
    let mut serving = Serving::start(dir.path(), &settings).await;
    let (client, token) = (Client::new(), serving.owner_token());
    let (id, ..) = system(&serving, &client, &token).await;
    let port = EventConsumer::port().expect("a port");
    let body =
        json!({"name": "Stock", "url": format!("http://127.0.0.1:{port}/"), "types": ["system.updated"]});
    let api = format!("{}/api", serving.url);
    let made = post(&client, &format!("{api}/events/subscriptions"), &token, body).await;
    let secret = made["subscription"]["secret"].as_str().expect("a secret").to_owned();
    let file = dir.path().join("taken");
    let mut consumer = EventConsumer::start(port, &file, &[&secret]).await.expect("the consumer");

    let (count, mut acknowledged) = (count(), 0);
    let started = Instant::now();
    let change = async |n: usize, url: String| {
        let body = json!({"name": format!("n{n}")});
        let sent = client.put(format!("{url}/api/systems/{id}")).bearer_auth(&token).json(&body).send().await;
        sent.is_ok_and(|answer| answer.status() == 200)
    };
    let mut next = 0;
    let (kill_service, kill_consumer) = (count / 3, count * 2 / 3);
    while acknowledged < count {
        let group = (0..WRITERS.min(count - acknowledged)).map(|i| change(next + i, serving.url.clone()));
        let answers = futures_util::future::join_all(group).await;
        next += WRITERS;
        let before = acknowledged;
        acknowledged += answers.into_iter().filter(|is_done| *is_done).count();
        let passes = |mark: usize| before < mark && acknowledged >= mark;
        if passes(kill_service) {
            serving = serving.kill_and_start_again().await;
        }
        if passes(kill_consumer) {
            consumer = consumer.kill().await.expect("the consumer again");
        }
    }
    let ids = event_ids(&database).await;
    assert!(ids.len() >= acknowledged, "{} events of {acknowledged} changes", ids.len());
    // On PostgreSQL the work that the killed process held waits for the end of its lease.
    let limit = Instant::now()
        + Duration::from_secs(120)
        + Duration::from_millis(20) * u32::try_from(count).unwrap_or(0);
    while consumer.taken().len() < ids.len() {
        let log = serving.log();
        let tail: String = log.lines().rev().take(20).collect::<Vec<_>>().join("\n");
        assert!(Instant::now() < limit, "{} of {}: {tail}", consumer.taken().len(), ids.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(consumer.taken(), ids);
    let (duplicates, refused) = consumer.figures().await.expect("figures");
    assert_eq!(refused, 0);
    assert!(duplicates <= 64, "{duplicates} came twice");
    let seconds = started.elapsed().as_secs();
    writeln!(std::io::stderr(), "{} events in {seconds} s, {duplicates} came twice", ids.len())
        .expect("standard error");
    check_the_command_line(dir.path(), &settings, ids.len());
}

/// Ids of all events there are, once all have their numbers.
async fn event_ids(database: &str) -> BTreeSet<String> {
    let db = Db::open(&Options::new(database)).await.expect("the database");
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        let waiting =
            Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM event_outbox").count(&db).await.expect("a count");
        if waiting == 0 {
            break;
        }
        assert!(Instant::now() < limit, "{waiting} events without a number");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let q = Q::new("SELECT id FROM events WHERE type = 'system.updated'");
    let ids: Vec<(uuid::Uuid,)> = q.all(&db).await.expect("the events");
    db.close().await;
    ids.into_iter().map(|(id,)| id.to_string()).collect()
}

fn check_the_command_line(dir: &Path, settings: &[(&str, &str)], count: usize) {
    let run = |arguments: &[&str]| {
        let output = crate::program::command(dir)
            .envs(settings.iter().copied())
            .args(arguments)
            .output()
            .expect("the program runs");
        assert!(output.status.success(), "{output:?}");
        crate::program::text(&output)
    };
    let list = run(&["events", "list", "--type", "system.updated", "--limit", "150"]);
    assert_eq!(list.lines().count(), count.min(150));
    let first: serde_json::Value = serde_json::from_str(list.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["type"], "system.updated");
    let table = run(&["events", "subscriptions"]);
    let row = table.lines().nth(1).expect("a row");
    assert!(row.contains("enabled") && row.ends_with("Stock"), "{table}");
    let id = row.split_whitespace().next().expect("an id");
    let event = first["id"].as_str().expect("an id");
    assert_eq!(run(&["events", "replay", id, "--event", event]), "1 event(s) will be delivered again\n");
}
