//! Notifications of alerts when the program is killed while it sends them (spec: alert-guarantees#guarantees rules 26,
//! 27).

use crate::{program::Serving, survival::system};
use bailiwick_store::{Db, Options, sql::Q};
use bailiwick_testkit::{
    eventually,
    parts::{postgres, smtp::SmtpSink},
};
use reqwest::Client;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// Groups, each of them one alert and one mail: more than a tenant may send in a second.
const GROUPS: usize = 120;
/// Mails that may be under way when the program dies: one recipient of one system gets one after the other.
const UNDER_WAY: usize = 1;

// Proves spec: alert-guarantees#guarantees 26.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_notifications_are_sent_on_sqlite() {
    everybody_is_notified(None).await;
}

// Proves spec: alert-guarantees#guarantees 26.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_notifications_are_sent_on_postgres() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "delivery").await.expect("a database");
    everybody_is_notified(Some(cluster.url("delivery"))).await;
}

async fn everybody_is_notified(database: Option<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    let database = database.unwrap_or_else(|| format!("sqlite:{}", dir.path().join("delivery.db").display()));
    let sink = SmtpSink::start().await.expect("a mail server");
    let port = sink.port().to_string();
    let settings = [
        ("BAILIWICK_DATABASE__URL", database.as_str()),
        ("BAILIWICK_ALERTING__GROUP_WAIT", "1s"),
        ("BAILIWICK_SMTP__HOST", "127.0.0.1"),
        ("BAILIWICK_SMTP__PORT", &port),
        ("BAILIWICK_SMTP__TLS", "none"),
        ("BAILIWICK_SMTP__FROM", "alerts@example.org"),
    ];
    let mut serving = Serving::start(dir.path(), &settings).await;
    let (client, token) = (Client::new(), serving.owner_token());
    let (_, key, secret) = system(&serving, &client, &token).await;
    let db = Db::open(&Options::new(&database)).await.expect("the database");
    configure_recipients(&db).await;

    let names: BTreeSet<String> = (0..GROUPS).map(|n| format!("Alert{n}")).collect();
    let alerts: Vec<Value> = names.iter().map(|n| json!({"labels": {"alertname": n}})).collect();
    let push = client
        .post(format!("{}/collect/api/services/mimir/alertmanager/api/v2/alerts", serving.url))
        .basic_auth(&key, Some(&secret))
        .header("content-type", "application/json")
        .body(json!(alerts).to_string());
    assert_eq!(push.send().await.expect("an answer").status(), 200);

    let logged = async || {
        let q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM router_notices");
        usize::try_from(q.count(&db).await.expect("a count")).expect("a number")
    };
    let sent = || sink.messages().expect("the mails").len();
    eventually("some mails are sent and logged", async || sent() >= 20 && logged().await > 0).await;
    serving.kill();
    // The service sends a mail again if the kill came before the commit that logs it.
    let (before, logged) = (sent(), logged().await);
    assert!(before < GROUPS, "killed too late: {before}");
    let serving = serving.start_again().await;
    let notified = || {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        for mail in sink.messages().expect("the mails") {
            let name = mail.subject().split(' ').nth(1).expect("a name").to_owned();
            *times.entry(name).or_default() += 1;
        }
        times
    };
    // On PostgreSQL the work that the killed process had begun waits for the end of its lease.
    until("all recipients to be notified", Duration::from_secs(180), || notified().len() == GROUPS).await;
    assert!(notified().keys().all(|name| names.contains(name)), "{:?}", notified());
    // Until all of it is written down: then nothing more is due.
    let limit = Instant::now() + bailiwick_testkit::PATIENCE;
    let under_way = async || {
        let q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM router_groups WHERE started_at IS NOT NULL");
        q.count(&db).await.expect("a count")
    };
    while under_way().await > 0 {
        assert!(Instant::now() < limit, "{} groups are still under way", under_way().await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let twice = notified().values().map(|times| times - 1).sum::<usize>();
    assert!(
        twice + logged <= before + UNDER_WAY,
        "{twice} twice, {logged} of {before} logged: {:?}",
        notified()
    );
    drop(serving);
}

/// Two programs on one database, each taking half of the alerts.
// Proves spec: alert-guarantees#guarantees 30.
#[tokio::test(flavor = "multi_thread")]
async fn two_programs_send_each_notification_once() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "deliveries").await.expect("a database");
    let database = cluster.url("deliveries");
    let sink = SmtpSink::start().await.expect("a mail server");
    let port = sink.port().to_string();
    let settings = [
        ("BAILIWICK_DATABASE__URL", database.as_str()),
        ("BAILIWICK_SECRET", "one secret of two programs, long enough"),
        ("BAILIWICK_ALERTING__GROUP_WAIT", "1s"),
        ("BAILIWICK_ALERTING__GROUP_INTERVAL", "1s"),
        ("BAILIWICK_SMTP__HOST", "127.0.0.1"),
        ("BAILIWICK_SMTP__PORT", &port),
        ("BAILIWICK_SMTP__TLS", "none"),
        ("BAILIWICK_SMTP__FROM", "alerts@example.org"),
    ];
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let first = Serving::start(dirs[0].path(), &settings).await;
    let second = Serving::start(dirs[1].path(), &settings).await;
    let (client, token) = (Client::new(), first.owner_token());
    let (_, key, secret) = system(&first, &client, &token).await;
    let db = Db::open(&Options::new(&database)).await.expect("the database");
    configure_recipients(&db).await;
    for n in 0..40 {
        let url = if n % 2 == 0 { &first.url } else { &second.url };
        let push = client
            .post(format!("{url}/collect/api/services/mimir/alertmanager/api/v2/alerts"))
            .basic_auth(&key, Some(&secret))
            .header("content-type", "application/json")
            .body(json!([{"labels": {"alertname": format!("Alert{n}")}}]).to_string());
        assert_eq!(push.send().await.expect("an answer").status(), 200);
    }
    let mails = || sink.messages().expect("the mails").len();
    until("all mails", Duration::from_secs(60), || mails() >= 40).await;
    // Several more rounds of both, in which every group is looked at again.
    let looked_at = async || {
        let q = Q::new("SELECT CAST(EXTRACT(EPOCH FROM MIN(due_at)) AS BIGINT) FROM router_groups");
        q.count(&db).await.expect("a count")
    };
    let before = looked_at().await;
    let limit = Instant::now() + bailiwick_testkit::PATIENCE;
    while looked_at().await < before + 3 {
        assert!(Instant::now() < limit, "groups are not looked at any more");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(mails(), 40);
}

/// All alerts go to one mailbox.
async fn configure_recipients(db: &Db) {
    let layer = json!({"enabled": {"email": true}, "email_recipients": [{"address": "noc@example.org"}]});
    let mut tx = db.begin().await.expect("a transaction");
    let q = Q::new(
        "INSERT INTO alert_layers (organization_id, layer, updated_by_name, created_at, updated_at) \
         SELECT o.id, ?, 'Test', o.created_at, o.created_at FROM organizations o WHERE o.type = 'owner'",
    );
    q.bind(layer).run(&mut tx).await.expect("a layer");
    Q::new("UPDATE alert_config_epoch SET n = n + 1").run(&mut tx).await.expect("an epoch");
    tx.commit().await.expect("a commit");
}

async fn until(what: &str, limit: Duration, is_so: impl Fn() -> bool) {
    let end = Instant::now() + limit;
    while !is_so() {
        assert!(Instant::now() < end, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
