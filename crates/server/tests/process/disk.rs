//! A full disk: the program on a small file system of its own.

use crate::program::{Serving, command, wait_until};
use bailiwick_testkit::{eventually, parts::ports};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use tokio::task::JoinHandle;

/// A small file system in memory; it goes when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None where this process may not mount one.
    fn mount(path: PathBuf) -> Option<SmallDisk> {
        fs::create_dir(&path).expect("a directory");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16m", "none"]).arg(&path).output();
        mount.is_ok_and(|output| output.status.success()).then_some(SmallDisk(path))
    }

    fn fill(&self) {
        let mut file = File::create(self.0.join("filling")).expect("a file");
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("filling")).expect("the file");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // It may still be in use for a moment: then it goes with its last user.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The service with one system.
struct Service {
    serving: Serving,
    metrics: String,
    settings: Vec<(&'static str, String)>,
    client: Client,
    token: String,
    key: String,
    secret: String,
}

impl Service {
    async fn start(dir: &Path, disk: &SmallDisk) -> Service {
        let metrics = format!("127.0.0.1:{}", ports::spare().expect("a port"));
        let settings = vec![
            ("BAILIWICK_DATA_DIR", disk.0.display().to_string()),
            ("BAILIWICK_METRICS__LISTEN", metrics.clone()),
        ];
        let borrowed: Vec<(&str, &str)> = settings.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let serving = Serving::start(dir, &borrowed).await;
        let token = serving.owner_token();
        let mut service = Service {
            serving,
            metrics,
            settings,
            client: Client::new(),
            token,
            key: String::new(),
            secret: String::new(),
        };
        let customer = data(service.create("Before").await).await;
        let body = json!({"name": "S", "organization_id": customer["id"]});
        let system = data(service.post("/api/systems", &body).await).await;
        service.key = system["system_key"].as_str().expect("a key").to_owned();
        service.secret = system["system_secret"].as_str().expect("a secret").to_owned();
        data(service.post("/api/systems/register", &json!({"system_secret": service.secret})).await).await;
        service
    }

    async fn post(&self, path: &str, body: &Value) -> Response {
        let call = self.client.post(format!("{}{path}", self.serving.url)).bearer_auth(&self.token);
        call.body(body.to_string()).send().await.expect("an answer")
    }

    async fn create(&self, name: &str) -> Response {
        self.post("/api/customers", &customer(name)).await
    }

    /// Goes on creating customers until it is aborted: a refusal counts for five seconds, in which a busy
    /// machine may not come to the next one.
    fn create_more(&self) -> JoinHandle<()> {
        let (client, token) = (self.client.clone(), self.token.clone());
        let url = format!("{}/api/customers", self.serving.url);
        tokio::spawn(async move {
            let mut turns = tokio::time::interval(Duration::from_millis(100));
            for n in 0.. {
                turns.tick().await;
                let body = customer(&format!("More {n}")).to_string();
                let answer = client.post(&url).bearer_auth(&token).body(body).send().await;
                is_put_off(&answer.expect("an answer"));
            }
        })
    }

    /// A request of the system.
    async fn send(&self, path: &str, body: String) -> Response {
        let call = self.client.post(format!("{}{path}", self.serving.url));
        let call = call.basic_auth(&self.key, Some(&self.secret)).header("content-type", "application/json");
        call.body(body).send().await.expect("an answer")
    }

    async fn of_operators(&self, path: &str) -> (StatusCode, String) {
        let answer =
            self.client.get(format!("http://{}{path}", self.metrics)).send().await.expect("an answer");
        (answer.status(), answer.text().await.expect("a text"))
    }

    fn is_ready_by_command(&self, dir: &Path) -> bool {
        let mut health = command(dir);
        health.envs(self.settings.iter().map(|(k, v)| (*k, v.as_str()))).args(["health", "--ready"]);
        health.output().expect("the program runs").status.success()
    }
}

/// A new one, large enough for a few pages.
fn customer(name: &str) -> Value {
    json!({"name": name, "description": "d".repeat(1000), "custom_data": {"vat": "1"}})
}

async fn data(answer: Response) -> Value {
    assert!(answer.status().is_success(), "{answer:?}");
    let text = answer.text().await.expect("a body");
    serde_json::from_str::<Value>(&text).expect("JSON")["data"].take()
}

/// Whether it was refused for the moment. Any other refusal is a fault.
fn is_put_off(answer: &Response) -> bool {
    let put_off = answer.status() == StatusCode::SERVICE_UNAVAILABLE;
    assert!(put_off || answer.status().is_success(), "{answer:?}");
    assert!(!put_off || answer.headers().contains_key("retry-after"), "{answer:?}");
    put_off
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_stops_writing_until_there_is_room_and_loses_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(disk) = SmallDisk::mount(dir.path().join("disk")) else {
        eprintln!("skipped: this process may not mount a file system");
        return;
    };
    let service = Service::start(dir.path(), &disk).await;
    assert_eq!(service.of_operators("/ready").await.0, 200);
    disk.fill();
    let mut accepted = vec!["Before".to_owned()];
    // What fits in the space that the files of the database have already is kept.
    loop {
        let name = format!("Customer {}", accepted.len());
        if is_put_off(&service.create(&name).await) {
            break;
        }
        accepted.push(name);
    }
    let more = service.create_more();
    assert_eq!(service.of_operators("/ready").await.0, 503);
    assert!(!service.is_ready_by_command(dir.path()));
    let health =
        service.client.get(format!("{}/health", service.serving.url)).send().await.expect("an answer");
    assert_eq!(health.status(), 503);
    for n in 0..5 {
        let document = json!({"facts": {"n": n, "text": "t".repeat(20_000)}}).to_string();
        let alerts = json!([{"labels": {"alertname": format!("A{n}")}}]).to_string();
        is_put_off(&service.send("/api/systems/heartbeat", String::new()).await);
        is_put_off(&service.send("/api/systems/inventory", document).await);
        is_put_off(&service.send("/api/services/mimir/alertmanager/api/v2/alerts", alerts).await);
    }
    let page = service.of_operators("/metrics").await.1;
    assert!(page.contains("\nbailiwick_database_writable 0\n"), "{page}");
    assert_eq!(service.of_operators("/live").await.0, 200);
    assert!(!more.is_finished(), "each was accepted or put off");
    more.abort();

    disk.make_room();
    eventually("it is ready", async || service.of_operators("/ready").await.0 == 200).await;
    wait_until("the command says so", || service.is_ready_by_command(dir.path())).await;
    data(service.create("After").await).await;
    assert_eq!(service.send("/api/systems/heartbeat", String::new()).await.status(), 200);
    accepted.push("After".to_owned());
    let log = service.serving.log();
    assert_eq!(log.matches("the database cannot be written").count(), 1, "{log}");
    assert!(log.contains("the database can be written again"), "{log}");

    let Service { serving, client, .. } = service;
    let serving = serving.kill_and_start_again().await;
    // Some that were created beside them may be there as well, behind them.
    let address = format!("{}/api/customers?page_size=100&sort_by=name&sort_direction=asc", serving.url);
    let listed =
        data(client.get(address).bearer_auth(serving.owner_token()).send().await.expect("an answer")).await;
    let mut names: Vec<String> = Vec::new();
    for customer in listed["customers"].as_array().expect("a list") {
        names.push(customer["name"].as_str().expect("a name").to_owned());
    }
    for name in accepted {
        assert!(names.contains(&name), "{name} is lost: {names:?}");
    }
}
