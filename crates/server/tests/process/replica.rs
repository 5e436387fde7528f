//! Reads from a real streaming replica that lags, freezes, is lost, replaced and promoted.

use crate::{
    program::{Serving, command, refused, wait_until},
    survival::post,
};
use bailiwick_testkit::{
    PATIENCE, eventually,
    parts::{
        ports,
        postgres::{self, Cluster},
    },
};
use reqwest::Client;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const DATABASE: &str = "replicated";

/// The service on a primary and its replica, and the owner.
struct Pair {
    serving: Serving,
    client: Client,
    token: String,
    metrics: String,
    _dir: tempfile::TempDir,
}

impl Pair {
    async fn start(primary: &Cluster, replica: &str) -> Pair {
        let dir = tempfile::tempdir().expect("a directory");
        let metrics = format!("127.0.0.1:{}", ports::spare().expect("a port"));
        let settings = [
            ("BAILIWICK_DATABASE__URL", primary.url(DATABASE)),
            ("BAILIWICK_DATABASE__READ_URL", replica.to_owned()),
            ("BAILIWICK_METRICS__LISTEN", metrics.clone()),
        ];
        let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
        let serving = Serving::start(dir.path(), &settings).await;
        let token = serving.owner_token();
        Pair { serving, client: Client::new(), token, metrics, _dir: dir }
    }

    async fn get(&self, path: &str) -> Value {
        let request = self.client.get(format!("{}/api{path}", self.serving.url)).bearer_auth(&self.token);
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status(), 200, "{path}");
        answer.json::<Value>().await.expect("JSON")["data"].take()
    }

    /// Creates a customer and finds it in everything that shows customers.
    async fn create_and_find(&self, name: &str) {
        let before = self.total().await;
        let new = json!({"name": name, "custom_data": {"vat": name}});
        let made = post(&self.client, &format!("{}/api/customers", self.serving.url), &self.token, new).await;
        let id = made["id"].as_str().expect("an id");
        let newest = self.get("/customers?sort_by=created_at&sort_direction=desc&page_size=50").await;
        let mut newest = newest["customers"].as_array().expect("rows").iter();
        assert!(newest.any(|customer| customer["id"] == id), "among the newest is {name}");
        assert_eq!(self.get(&format!("/customers?search={name}")).await["customers"][0]["id"], id);
        assert_eq!(self.get(&format!("/customers/{id}")).await["name"], name);
        assert!(self.total().await > before, "{name} is counted");
        let file = format!("{}/api/customers/export?format=csv&search={name}", self.serving.url);
        let limit = Instant::now() + PATIENCE;
        let (status, text) = loop {
            let answer = self.client.get(&file).bearer_auth(&self.token).send().await.expect("a file");
            // Few people of one organization export at once; the others are asked to come again.
            if answer.status() != 503 || Instant::now() > limit {
                break (answer.status(), answer.text().await.expect("a text"));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert!(text.contains(name), "{name} is exported: {status} {text}");
    }

    async fn total(&self) -> u64 {
        self.get("/customers/totals").await["total"].as_u64().expect("a number")
    }

    /// How many requests have read from the replica, and from the primary.
    async fn readers(&self) -> (u64, u64) {
        let page = reqwest::get(format!("http://{}/metrics", self.metrics)).await.expect("metrics");
        let page = page.text().await.expect("a text");
        let value = |from: &str| {
            let series = format!("bailiwick_database_replica_requests_total{{reads_from=\"{from}\"}} ");
            page.lines().find_map(|line| line.strip_prefix(&series)?.parse().ok()).expect("a counter")
        };
        (value("replica"), value("primary"))
    }

    /// How often the log says that the replica is lost, and that it is used again.
    fn reports(&self) -> (usize, usize) {
        let log = self.serving.log();
        let count = |text: &str| log.matches(text).count();
        (count("the replica cannot be used"), count("use the replica again"))
    }

    /// Whether the log says that the replica is lost, for which a busy machine is enough.
    fn is_given_up(&self) -> bool {
        let (lost, used) = self.reports();
        lost > used
    }

    /// Reads until the replica answers.
    async fn until_replica_answers(&self) {
        let (before, limit) = (self.readers().await.0, Instant::now() + PATIENCE);
        while self.readers().await.0 == before || self.is_given_up() {
            assert!(Instant::now() < limit, "the replica is not used: {}", self.serving.log());
            self.get("/customers").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Waits until a statement says yes.
async fn until(cluster: &Cluster, statement: &str) {
    let limit = Instant::now() + PATIENCE;
    while cluster.query(DATABASE, statement).await.expect("an answer").trim() != "t" {
        assert!(Instant::now() < limit, "{statement}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn with_replica() -> (Cluster, Cluster, u16) {
    let primary = Cluster::start_replicated().await.expect("PostgreSQL");
    primary.create_database_from(None, DATABASE).await.expect("a database");
    let port = ports::spare().expect("a port");
    let replica = primary.replica(port).await.expect("a replica");
    (primary, replica, port)
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_a_replica_have_every_change_made_before() {
    let (primary, replica, _) = with_replica().await;
    let pair = Pair::start(&primary, &replica.url(DATABASE)).await;
    pair.until_replica_answers().await;

    // Six people at once, each of whom wants to see what they have just done.
    let people = (0..6).map(|person| {
        let pair = &pair;
        async move {
            for n in 0..8 {
                pair.create_and_find(&format!("p{person}n{n}x")).await;
            }
        }
    });
    futures_util::future::join_all(people).await;
    let lists = "SELECT COUNT(*) > 0 FROM pg_stat_activity \
         WHERE application_name = 'bailiwick' AND query LIKE '%FROM organizations%'";
    let has_served_lists = async || {
        // On a busy machine its connections may just have been given up.
        pair.get("/customers").await;
        replica.query(DATABASE, lists).await.expect("an answer").trim() == "t"
    };
    eventually("it has served lists", has_served_lists).await;
    let failed = replica.log();
    assert!(!failed.contains("ERROR"), "{failed}");

    // It lags.
    replica.query(DATABASE, "SELECT pg_wal_replay_pause()").await.expect("a pause");
    until(&replica, "SELECT pg_get_wal_replay_pause_state() = 'paused'").await;
    let (_, before) = pair.readers().await;
    for n in 0..5 {
        pair.create_and_find(&format!("lag{n}x")).await;
    }
    assert!(pair.readers().await.1 > before, "the primary has answered");
    replica.query(DATABASE, "SELECT pg_wal_replay_resume()").await.expect("an end of the pause");
    pair.until_replica_answers().await;
    pair.create_and_find("afterwards").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_is_lost_is_replaced_without_a_failed_request() {
    let (primary, replica, port) = with_replica().await;
    let address = replica.url(DATABASE);
    let pair = Pair::start(&primary, &address).await;
    pair.until_replica_answers().await;

    let (lost_before, _) = pair.reports();

    // It freezes: connections stay open, and nothing comes.
    replica.signal("STOP").await.expect("a signal");
    for n in 0..3 {
        pair.create_and_find(&format!("frozen{n}x")).await;
    }
    replica.signal("CONT").await.expect("a signal");
    pair.until_replica_answers().await;

    // It is gone.
    drop(replica);
    for n in 0..3 {
        pair.create_and_find(&format!("lost{n}x")).await;
    }
    let (lost, used) = pair.reports();
    assert!(lost >= lost_before + 2, "each loss is reported: {}", pair.serving.log());
    assert_eq!(lost, used + 1, "each loss is reported once: {}", pair.serving.log());

    // A new one has its address.
    let replica = primary.replica(port).await.expect("a replica");
    pair.until_replica_answers().await;
    pair.create_and_find("replaced").await;

    // It becomes a primary of its own, with data of its own.
    replica.query(DATABASE, "SELECT pg_promote()").await.expect("a promotion");
    until(&replica, "SELECT NOT pg_is_in_recovery()").await;
    replica.query(DATABASE, "UPDATE organizations SET name = 'of the other'").await.expect("a change");
    for n in 0..3 {
        pair.create_and_find(&format!("promoted{n}x")).await;
    }
    assert!(!pair.get("/customers").await.to_string().contains("of the other"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_no_replica_of_the_primary_is_not_read() {
    let primary = Cluster::start().await.expect("PostgreSQL");
    primary.create_database_from(None, DATABASE).await.expect("a database");
    let other = postgres::cluster().await.expect("PostgreSQL").url("postgres");
    let mut pair = Pair::start(&primary, &other).await;
    pair.create_and_find("alone").await;
    for starts in 1.. {
        wait_until("the log says so", || pair.reports().0 >= starts).await;
        if pair.serving.log().contains("of another cluster") {
            break;
        }
        // A busy machine needed more than the second that a question may take. The log does not say more until a
        // replica is used, so the service is asked once more.
        assert!(starts < 10, "{}", pair.serving.log());
        let serving = pair.serving.kill_and_start_again().await;
        pair = Pair { serving, ..pair };
        pair.get("/customers").await;
    }
    pair.create_and_find("still").await;
    assert!(pair.serving.log().contains("the replica is of another cluster"), "{}", pair.serving.log());
    assert_eq!(pair.readers().await.0, 0);
}

#[test]
fn a_replica_belongs_to_a_postgresql() {
    let dir = tempfile::tempdir().expect("a directory");
    let refusal = |all: &str, read: &str| {
        let mut check = command(dir.path());
        check.args(["config", "check"]).env("BAILIWICK_DATABASE__URL", all);
        refused(check.env("BAILIWICK_DATABASE__READ_URL", read)).1
    };
    let (primary, standby) = ("postgres://db/bailiwick", "postgres://standby/bailiwick");
    let of_a_file = refusal("sqlite:a.db", standby);
    assert!(
        of_a_file.contains("database.read_url") && of_a_file.contains("needs a PostgreSQL"),
        "{of_a_file}"
    );
    let file = refusal(primary, "sqlite:a.db");
    assert!(file.contains("database.read_url") && file.contains("does not begin with postgres"), "{file}");
}
