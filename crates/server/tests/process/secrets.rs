//! The log at its most talkative says nothing of credentials (spec: guarantees#systems rule 19).

use crate::program::{Serving, run};
use bailiwick_testkit::parts::postgres;
use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

const HEADER: &str = "system_id,legacy_id,legacy_secret,system_key,secret_public,secret_hash,registered_at";
const OLD_SECRET: &str = "4f1c0e5d7a3b9c8e6f2d1a0b3c4d5e6f7a8b9c0d";
const IMPORTED: &str = "00112233445566778899aabbccddeeff00112233";
/// Of something else: it is never right.
const HASH: &str =
    "$argon2id$v=19$m=64,t=1,p=1$BwcHBwcHBwcHBwcHBwcHBw$geGC01tzwWfH/cgl+VEH2qOxdFbcwX/BWi363MdWdl0";

struct Service {
    url: String,
    token: String,
    client: Client,
}

impl Service {
    async fn manage(&self, method: Method, path: &str, body: Value) -> Value {
        let call = self.client.request(method, format!("{}/api{path}", self.url)).bearer_auth(&self.token);
        let text = call.body(body.to_string()).send().await.expect("an answer").text().await.expect("a body");
        serde_json::from_str::<Value>(&text).map(|mut answer| answer["data"].take()).unwrap_or_default()
    }

    async fn call(&self, method: Method, path: &str, who: (&str, &str), body: &str) -> Response {
        let call = self.client.request(method, format!("{}{path}", self.url)).basic_auth(who.0, Some(who.1));
        let call = call.header("content-type", "application/json").body(body.to_owned());
        call.send().await.expect("an answer")
    }
}

/// Does everything that systems do, rightly and wrongly; returns the values that must not be in the log.
async fn act(service: &Service) -> Vec<String> {
    let made =
        service.manage(Method::POST, "/customers", json!({"name": "C", "custom_data": {"vat": "1"}})).await;
    let new = json!({"name": "S", "organization_id": made["id"]});
    let made = service.manage(Method::POST, "/systems", new.clone()).await;
    let text = |value: &Value, key: &str| value[key].as_str().expect("a text").to_owned();
    let (id, key, secret) = (text(&made, "id"), text(&made, "system_key"), text(&made, "system_secret"));
    let wrong = format!("{}.{}", &secret[..23], "f".repeat(40));
    let who = (key.as_str(), secret.as_str());
    for secret in [&wrong, &secret] {
        service.manage(Method::POST, "/systems/register", json!({"system_secret": secret})).await;
        for (method, path, body) in [
            (Method::POST, "/systems/heartbeat", ""),
            (Method::GET, "/systems/info", ""),
            (Method::POST, "/systems/inventory", "{\"facts\":{}}"),
            (Method::POST, "/systems/inventory", "["),
            (Method::POST, "/systems/backups", "ciphertext"),
            (Method::GET, "/systems/backups/x", ""),
            (
                Method::POST,
                "/services/mimir/alertmanager/api/v2/alerts",
                "[{\"labels\":{\"alertname\":\"A\"}}]",
            ),
            (Method::POST, "/services/mimir/alertmanager/api/v2/silences", "{}"),
            (Method::GET, "/proxy/credentials", ""),
            (Method::GET, "/systems/nothing", ""),
        ] {
            service.call(method, path, (&key, secret), body).await;
        }
    }
    let last = service.call(Method::POST, "/systems/unregister", who, "").await;
    assert_eq!(last.status(), 200);
    let path = format!("/systems/{id}/regenerate-secret");
    let renewed = text(&service.manage(Method::POST, &path, json!({"force": true})).await, "system_secret");
    let mut hidden: Vec<String> = Vec::new();
    for secret in [&secret, &wrong, &renewed] {
        hidden.extend([secret[24..].to_owned(), BASE64_STANDARD.encode(format!("{key}:{secret}"))]);
    }
    hidden
}

async fn the_log_is_silent(database: Option<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("data/bailiwick.db");
    let database = database.unwrap_or_else(|| format!("sqlite:{}", file.display()));
    let settings = [
        ("BAILIWICK_DATABASE__URL", database.as_str()),
        ("BAILIWICK_LOG__LEVEL", "trace"),
        ("BAILIWICK_SYSTEMS__LEGACY_ALIASES", "true"),
    ];
    let mut serving = Serving::start(dir.path(), &settings).await;
    let service = Service { url: serving.url.clone(), token: serving.owner_token(), client: Client::new() };
    let mut hidden = act(&service).await;
    // An older pair and an imported hash, imported while no process serves.
    let customer = service.manage(Method::GET, "/customers", Value::Null).await["customers"][0]["id"].clone();
    let new = json!({"name": "Old", "organization_id": customer});
    let made = service.manage(Method::POST, "/systems", new).await;
    let id = made["id"].as_str().expect("an id");
    assert!(serving.stop(), "{}", serving.log());
    let row = format!("{id},old-1,{OLD_SECRET},OLD-KEY,0a1b2c3d4e5f60718293,\"{HASH}\",2026-01-01T00:00:00Z");
    std::fs::write(dir.path().join("old.csv"), format!("{HEADER}\n{row}\n")).expect("a file");
    let url = format!("database.url={database}");
    let imported = run(
        dir.path(),
        &["--set", &url, "--set", "log.level=trace", "system", "import-credentials", "old.csv"],
    );
    assert!(imported.status.success(), "{imported:?}");
    let text = [imported.stdout, imported.stderr].concat();
    let mut log = serving.log() + &String::from_utf8_lossy(&text);
    drop(serving);
    let serving = Serving::start(dir.path(), &settings).await;
    let service = Service { url: serving.url.clone(), ..service };
    let hashed = format!("my_0a1b2c3d4e5f60718293.{IMPORTED}");
    for who in [("old-1", OLD_SECRET), ("old-1", &IMPORTED[..39]), ("OLD-KEY", &hashed)] {
        service.call(Method::POST, "/proxy/heartbeat", who, "").await;
        hidden.push(BASE64_STANDARD.encode(format!("{}:{}", who.0, who.1)));
    }
    let issued = service.call(Method::GET, "/proxy/credentials", ("old-1", OLD_SECRET), "").await;
    let issued: Value = serde_json::from_str(&issued.text().await.expect("a body")).expect("JSON");
    let issued = issued["data"]["system_secret"].as_str().expect("a secret").to_owned();
    hidden.extend([
        OLD_SECRET.to_owned(),
        IMPORTED.to_owned(),
        issued[24..].to_owned(),
        HASH[..40].to_owned(),
    ]);
    log.push_str(&serving.log());
    // The log holds the requests, the reasons of their refusals, and the statements that they led to.
    for text in ["/systems/heartbeat", "invalid system credentials", "secret_hash"] {
        assert!(log.contains(text), "the log does not contain {text}");
    }
    for secret in &hidden {
        assert!(secret.len() >= 20 && !log.contains(secret.as_str()), "{secret} is in the log");
    }
    // The log holds no salted hash either. No other text has the form of one.
    let is_hash = |word: &str| {
        let parts = word.split_once(':').map(|(salt, hash)| (salt.len(), hash.len()));
        parts == Some((32, 64)) && word.bytes().all(|b| b.is_ascii_hexdigit() || b == b':')
    };
    let found = log.split(|c: char| !c.is_ascii_alphanumeric() && c != ':').find(|word| is_hash(word));
    assert_eq!(found, None);
}

// Proves spec: guarantees#systems 19.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_nothing_of_secrets_and_hashes_on_sqlite() {
    the_log_is_silent(None).await;
}

// Proves spec: guarantees#systems 19.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_nothing_of_secrets_and_hashes_on_postgres() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "secrets").await.expect("a database");
    the_log_is_silent(Some(cluster.url("secrets"))).await;
}
