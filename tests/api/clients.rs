//! What existing clients send and need (spec: clients). Here are the clients themselves: an appliance's
//! curl, the browser's calls, tools that speak to an Alertmanager, over a real port and with exactly what they send.

mod account;
mod alertmanager;
mod answers;
mod appliance;
mod bodies;
mod browser;
mod dashboards;
mod entities;
mod faults;
mod organizations;
mod queries;
mod systems;

use bailiwick_fleet::inventory;
use bailiwick_testkit::{Persona, Reply, Running, Settings, Test, parts::programs, published};
use reqwest::Method;
use serde_json::{Value, json};

/// The base paths that are there without being configured, and one of an operator's own ([`portal`]).
const BASES: [&str; 5] = ["", "/api", "/backend/api", "/collect/api", "/portal"];

/// The operator adds a base path.
fn portal(settings: &mut Settings) {
    settings.base_paths.push("/portal".to_owned());
}

const NS8: &[u8] = include_bytes!("../../crates/inventory/tests/data/inventory-ns8.json");
const NSEC: &[u8] = include_bytes!("../../crates/inventory/tests/data/inventory-nsec.json");

/// The browser's part of a session: every call with the headers and the query its client library writes.
struct Spa {
    http: reqwest::Client,
    /// Address of the API, no slash at its end.
    url: String,
    /// The service's own access token.
    token: String,
}

impl Spa {
    fn new(running: &Running, base: &str, token: &str) -> Spa {
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let http = http.build().expect("a client");
        Spa { http, url: format!("{}{base}", running.url), token: token.to_owned() }
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        let request = self.http.request(method.clone(), format!("{}{path}", self.url));
        let request = request
            .header("accept", "application/json, text/plain, */*")
            .header("accept-language", "it-IT,it;q=0.9,en;q=0.8")
            .header("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:136.0) Gecko/20100101 Firefox/136.0");
        let request = if self.token.is_empty() { request } else { request.bearer_auth(self.token.as_str()) };
        let request = match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        };
        let reply = reply(request.send().await.expect("an answer")).await;
        published::check(&method, path, &reply);
        reply
    }

    async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, None).await
    }

    async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(Method::POST, path, Some(body)).await
    }

    async fn put(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PUT, path, Some(body)).await
    }

    /// The actions without parameters send `{}`.
    async fn patch(&self, path: &str) -> Reply {
        self.send(Method::PATCH, path, Some(json!({}))).await
    }

    async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, None).await
    }
}

/// The answer to a request over a real port.
async fn reply(response: reqwest::Response) -> Reply {
    let (status, headers) = (response.status(), response.headers().clone());
    Reply { status, headers, body: response.bytes().await.expect("a body") }
}

/// The query of every list.
fn page(more: &str) -> String {
    format!("?page=1&page_size=10&sort_by=&sort_direction=asc{more}")
}

/// The result of a run of curl.
struct Curled {
    /// 0, or what went wrong; 22 with `-f` is a status from 400 on.
    exit: i32,
    status: u16,
    body: String,
    /// The output of `-v`.
    stderr: String,
}

impl Curled {
    #[track_caller]
    fn expect(self, status: u16) -> Curled {
        assert_eq!(self.status, status, "{}\n{}", self.body, self.stderr);
        // With -f an answer from 400 on is a failure of the program too.
        assert_eq!(self.exit == 0, status < 400, "{}", self.exit);
        self
    }

    #[track_caller]
    fn data(&self) -> Value {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body));
        body["data"].clone()
    }
}

/// `curl` itself, as appliances run it, without the settings of any user.
async fn curl(arguments: &[&str], input: &[u8]) -> Curled {
    use tokio::io::AsyncWriteExt;
    let program = programs::find(&["curl"], "curl", &[]).expect("curl");
    let mut child = tokio::process::Command::new(program)
        .args(["-q", "-w", "\n%{http_code}"])
        .args(arguments)
        .env_clear()
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("curl starts");
    let mut stdin = child.stdin.take().expect("its input");
    // It does not read what it has no use for.
    let _ = stdin.write_all(input).await;
    drop(stdin);
    let output = child.wait_with_output().await.expect("its end");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, status) = text.rsplit_once('\n').unwrap_or(("", "0"));
    Curled {
        exit: output.status.code().unwrap_or(-1),
        status: status.parse().unwrap_or(0),
        body: body.to_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[track_caller]
fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_else(|| panic!("{key} in {value}")).to_owned()
}

/// Every waiting document is worked on.
async fn settle(t: &Test) {
    inventory::run_until_idle(&t.app.fleet).await.expect("a worker");
}

/// Asks until there is an answer, as an open page does.
async fn soon<T>(what: &str, attempt: impl AsyncFn() -> Option<T>) -> T {
    bailiwick_testkit::patience::found(|| what.to_owned(), attempt).await
}

/// What management reads of one thing.
async fn shown(t: &Test, who: &Persona, path: &str) -> Value {
    t.get(path).bearer(&who.token).send().await.expect(200).data()
}

/// A path of the table with unknown values in its placeholders.
fn filled(path: &str) -> String {
    let mut path = path.replace("{service}", "services/mimir/alertmanager");
    while let (Some(from), Some(to)) = (path.find('{'), path.find('}')) {
        path.replace_range(from..=to, "0195fada-0000-7000-8000-00000000dead");
    }
    path
}
