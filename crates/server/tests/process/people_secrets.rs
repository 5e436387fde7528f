//! The log at its most talkative says nothing of people's and operators' secrets.

use crate::program::{Serving, wait_until};
use aws_lc_rs::digest::{SHA256, digest};
use bailiwick_testkit::parts::{ports, postgres};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use reqwest::{Client, header, redirect::Policy};
use serde_json::{Value, json};

const OWNER: (&str, &str) = ("owner@bailiwick.example", "Correct-Horse-7-Battery");
const WRONG: &str = "Wrong-Horse-7-Battery";
const SECRET: &str = "a-configured-secret-of-more-than-32-bytes";
const PREVIOUS: &str = "the-secret-before-it-of-more-than-32-bytes";
const SMTP: &str = "the-mail-server-s-password";
const HISTORY: &str = "the-history-webhook-s-secret-of-32-characters";
const METRICS: &str = "the-token-of-prometheus";
const CLIENT: &str = "bailiwick";

/// A browser and what it has seen of secrets.
struct Browser {
    client: Client,
    url: String,
    hidden: Vec<String>,
}

/// A browser without cookies.
fn fresh() -> Client {
    Client::builder().cookie_store(true).redirect(Policy::none()).build().expect("a client")
}

impl Browser {
    fn keep(&mut self, secret: impl Into<String>) -> String {
        let secret = secret.into();
        self.hidden.push(secret.clone());
        secret
    }

    /// Signs in at the provider: wrongly once, then rightly; a session.
    async fn sign_in(&mut self, password: &str) -> Value {
        // One that was signed in before would not be asked.
        self.client = fresh();
        let verifier = "v3rifier-".repeat(6);
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let redirect = format!("{}/login-redirect", self.url);
        let begin = url::Url::parse_with_params(
            &format!("{}/oidc/auth", self.url),
            [
                ("client_id", CLIENT),
                ("redirect_uri", &redirect),
                ("response_type", "code"),
                ("scope", "openid offline_access profile email"),
                ("state", "of-the-test"),
                ("code_challenge", &challenge),
                ("code_challenge_method", "S256"),
            ],
        );
        let begun = self.client.get(begin.expect("a URL")).send().await.expect("an answer");
        for cookie in begun.headers().get_all(header::SET_COOKIE) {
            let value = cookie.to_str().unwrap().split(';').next().and_then(|pair| pair.split_once('='));
            self.hidden.extend(value.map(|(_, value)| value.to_owned()).filter(|value| value.len() > 15));
        }
        let interaction = format!("{}/api/interaction", self.url);
        self.client.put(&interaction).body(r#"{"event":"SignIn"}"#).send().await.expect("an answer");
        for password in [WRONG, password] {
            let body = json!({"email": OWNER.0, "password": password}).to_string();
            let call = self.client.patch(format!("{interaction}/identifiers")).body(body);
            call.send().await.expect("an answer");
        }
        let done = self.client.post(format!("{interaction}/submit")).send().await.expect("an answer");
        let done: Value = done.json().await.expect("JSON");
        let back = self
            .client
            .get(done["redirectTo"].as_str().unwrap_or_else(|| panic!("{done}")))
            .send()
            .await
            .expect("an answer");
        for cookie in back.headers().get_all(header::SET_COOKIE) {
            let value = cookie.to_str().unwrap().split(';').next().and_then(|pair| pair.split_once('='));
            self.hidden.extend(value.map(|(_, value)| value.to_owned()).filter(|value| value.len() > 15));
        }
        let location = back.headers().get(header::LOCATION).expect("a way back").to_str().unwrap().to_owned();
        let location = url::Url::parse(&location).expect("a URL");
        let code = location.query_pairs().find(|(key, _)| key == "code").expect("a code").1.into_owned();
        self.keep(code.clone());
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", CLIENT),
            ("code", &code),
            ("code_verifier", &verifier),
            ("redirect_uri", &redirect),
        ];
        let tokens =
            self.client.post(format!("{}/oidc/token", self.url)).form(&form).send().await.expect("an answer");
        let tokens: Value = tokens.json().await.expect("JSON");
        for name in ["access_token", "refresh_token", "id_token"] {
            self.keep(tokens[name].as_str().expect("a token"));
        }
        let session =
            self.post("/api/auth/exchange", "", json!({"access_token": tokens["access_token"]})).await;
        self.keep(session["token"].as_str().expect("a token"));
        self.keep(session["refresh_token"].as_str().expect("a token"));
        session
    }

    async fn post(&self, path: &str, token: &str, body: Value) -> Value {
        let call = self.client.post(format!("{}{path}", self.url)).bearer_auth(token).body(body.to_string());
        let text = call.send().await.expect("an answer").text().await.expect("a body");
        serde_json::from_str::<Value>(&text).unwrap_or_default()["data"].take()
    }
}

/// Everything people do with secrets.
async fn act(serving: &Serving, browser: &mut Browser) {
    let session = browser.sign_in(OWNER.1).await;
    let token = session["token"].as_str().unwrap().to_owned();
    let renewed =
        browser.post("/api/auth/refresh", "", json!({"refresh_token": session["refresh_token"]})).await;
    browser.keep(renewed["token"].as_str().expect("a token"));
    browser.keep(renewed["refresh_token"].as_str().expect("a token"));
    let key = json!({"name": "CI", "mode": "write", "password": OWNER.1});
    let key =
        browser.post("/api/me/api-keys", &token, key).await["token"].as_str().expect("a key").to_owned();
    browser.keep(key.clone());
    let customer =
        browser.post("/api/customers", &key, json!({"name": "C", "custom_data": {"vat": "1"}})).await;
    browser.post("/api/customers", &key[..key.len() - 3], json!({})).await;
    let changed = "Another-Horse-7-Battery";
    let body = json!({"current_password": OWNER.1, "new_password": changed});
    browser.post("/api/me/change-password", &token, body).await;
    browser.keep(changed);
    let session = browser.sign_in(changed).await;
    let token = session["token"].as_str().unwrap().to_owned();
    let (bot, hook) = ("123456:the-token-of-a-telegram-bot", "the-secret-part-of-a-webhook");
    let layer = json!({
        "enabled": {"email": true, "webhook": true, "telegram": true},
        "webhook_recipients": [{"name": "hook", "url": format!("https://8.8.8.8/{hook}")}],
        "telegram_recipients": [{"bot_token": bot, "chat_id": 1, "language": "en"}],
    });
    let saved = browser.post("/api/alerts/config", &token, layer).await;
    assert!(!saved.is_null(), "the layer is stored");
    browser.keep(bot);
    browser.keep(hook);
    let user = json!({
        "email": "a@example.org", "name": "A", "user_role_ids": ["reader"],
        "organization_id": customer["id"],
    });
    let user =
        browser.client.post(format!("{}/api/users", browser.url)).bearer_auth(&token).body(user.to_string());
    let user: Value = user.send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(user["code"], 201, "{user}");
    let user = &user["data"];
    // The mail of a user whose password an administrator sets meanwhile is dropped instead.
    wait_until("a mail is tried", || serving.log().contains("mail delayed")).await;
    let path = format!("/api/users/{}/password", user["id"].as_str().expect("a user"));
    let given = "Given-Horse-7-Battery";
    let call = browser.client.patch(format!("{}{path}", browser.url)).bearer_auth(&token);
    call.body(json!({"password": given}).to_string()).send().await.expect("an answer");
    browser.keep(given);
    browser.post("/api/auth/logout", &token, Value::Null).await;
}

async fn the_log_is_silent(database: Option<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    let address = format!("127.0.0.1:{}", ports::spare().expect("a port"));
    let mut settings = vec![
        ("BAILIWICK_LOG__LEVEL", "trace"),
        ("BAILIWICK_SECRET", SECRET),
        ("BAILIWICK_PREVIOUS_SECRET", PREVIOUS),
        // No mail server is there: every mail is delayed, with its reason.
        ("BAILIWICK_SMTP__HOST", "127.0.0.1"),
        ("BAILIWICK_SMTP__PORT", "9"),
        ("BAILIWICK_SMTP__FROM", "fleet@example.org"),
        ("BAILIWICK_SMTP__USERNAME", "fleet"),
        ("BAILIWICK_SMTP__PASSWORD", SMTP),
        ("BAILIWICK_ALERTING__HISTORY_WEBHOOK__SECRET", HISTORY),
        ("BAILIWICK_ALERTING__TELEGRAM__ENABLED", "true"),
        ("BAILIWICK_METRICS__LISTEN", address.as_str()),
        ("BAILIWICK_METRICS__TOKEN", METRICS),
    ];
    if let Some(url) = &database {
        settings.push(("BAILIWICK_DATABASE__URL", url));
    }
    let mut serving = Serving::start(dir.path(), &settings).await;
    let hidden = [OWNER.1, WRONG, SECRET, PREVIOUS, SMTP, HISTORY, METRICS].map(str::to_owned).to_vec();
    let mut browser = Browser { client: fresh(), url: serving.url.clone(), hidden };
    act(&serving, &mut browser).await;
    let page = browser.client.get(format!("http://{address}/metrics")).bearer_auth(METRICS).send().await;
    let page = page.expect("an answer").text().await.expect("a page");
    assert!(page.contains("bailiwick_build_info"));
    let pushed =
        browser.client.post(format!("{}/api/alert_history", browser.url)).bearer_auth(HISTORY).body("{}");
    pushed.send().await.expect("an answer");
    assert!(serving.stop(), "{}", serving.log());
    let log = serving.log();
    for text in ["/auth/exchange", "/api-keys", "mail delayed", "stopped"] {
        assert!(log.contains(text), "the log does not contain {text}");
    }
    assert!(browser.hidden.len() > 20, "{}", browser.hidden.len());
    for secret in &browser.hidden {
        assert!(secret.len() >= 15, "{secret} is too short to be looked for");
        assert!(!log.contains(secret.as_str()), "{secret} is in the log");
        assert!(!page.contains(secret.as_str()), "{secret} is in the metrics");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_nothing_of_people_s_secrets_on_sqlite() {
    the_log_is_silent(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_nothing_of_people_s_secrets_on_postgres() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "people_secrets").await.expect("a database");
    the_log_is_silent(Some(cluster.url("people_secrets"))).await;
}
