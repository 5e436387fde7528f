//! Traces as a collector gets them, and as the alert router behind the proxy sees them.

use crate::program::{Serving, wait_until};
use bailiwick_testkit::parts::{
    ports, postgres,
    recorder::{Answer, Recorded, Recorder},
};
use reqwest::Client;
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";
const SECRET: &str = "Bearer a-secret-of-the-collector";

/// Every span that a collector has been sent, checked for its form.
fn spans(collector: &Recorder) -> Vec<Value> {
    let mut all = Vec::new();
    for request in collector.requests() {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/traces"));
        assert_eq!(request.values("content-type"), ["application/json"]);
        assert_eq!(request.values("authorization"), [SECRET]);
        let body = request.json().expect("JSON");
        let resource = &body["resourceSpans"][0];
        assert_eq!(resource["resource"]["attributes"][0]["value"]["stringValue"], "portal");
        for span in resource["scopeSpans"][0]["spans"].as_array().expect("spans") {
            let is_id = |name: &str, length: usize| {
                let id = span[name].as_str().unwrap_or_default();
                id.len() == length
                    && id.bytes().all(|b| b"0123456789abcdef".contains(&b))
                    && id.contains(|c| c != '0')
            };
            assert!(is_id("traceId", 32) && is_id("spanId", 16), "{span}");
            assert!(span["parentSpanId"].is_null() || is_id("parentSpanId", 16), "{span}");
            let nanos =
                |name: &str| span[name].as_str().and_then(|text| text.parse::<u64>().ok()).expect("a time");
            assert!(nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"));
            all.push(span.clone());
        }
    }
    all
}

fn attributes(span: &Value) -> BTreeMap<&str, &Value> {
    let list = span["attributes"].as_array().expect("attributes").iter();
    list.map(|a| {
        (
            a["key"].as_str().expect("a key"),
            a["value"].as_object().expect("a value").values().next().expect("it"),
        )
    })
    .collect()
}

fn named<'s>(spans: &'s [Value], name: &str) -> Option<&'s Value> {
    spans.iter().find(|span| span["name"] == name)
}

struct Services {
    collector: Recorder,
    router: Recorder,
    dir: tempfile::TempDir,
}

impl Services {
    async fn new() -> Services {
        let collector = Recorder::start(|_| Answer::json(200, &json!({}))).await.expect("a collector");
        let router = Recorder::start(|_| Answer::json(200, &json!([]))).await.expect("a router");
        Services { collector, router, dir: tempfile::tempdir().expect("a directory") }
    }

    async fn serve(&self, database: Option<&str>, more: &[(&str, &str)]) -> Serving {
        let url = self.router.url();
        let mut settings =
            vec![("BAILIWICK_ALERTING__MODE", "remote"), ("BAILIWICK_ALERTING__REMOTE__URL", &url)];
        settings.extend(database.map(|url| ("BAILIWICK_DATABASE__URL", url)));
        settings.extend(more);
        Serving::start(self.dir.path(), &settings).await
    }

    fn pushes(&self) -> Vec<Recorded> {
        let mut requests = self.router.requests();
        requests.retain(|request| request.method == "POST" && request.path.ends_with("/api/v2/alerts"));
        requests
    }
}

/// A system that pushes an alert with some `traceparent`.
async fn push(serving: &Serving, traceparent: &str) {
    let (client, url, token) = (Client::new(), &serving.url, serving.owner_token());
    let post = async |path: &str, body: Value| {
        let call = client.post(format!("{url}{path}")).bearer_auth(&token).body(body.to_string());
        let text = call.send().await.expect("an answer").text().await.expect("a body");
        serde_json::from_str::<Value>(&text).unwrap_or_default()["data"].take()
    };
    let customer =
        post("/api/customers", json!({"name": "Customer-Name", "custom_data": {"vat": "1"}})).await;
    let system =
        post("/api/systems?hidden=query-value", json!({"name": "S", "organization_id": customer["id"]}))
            .await;
    let (key, secret) = (system["system_key"].as_str().unwrap(), system["system_secret"].as_str().unwrap());
    post("/api/systems/register", json!({"system_secret": secret})).await;
    let alerts = format!("{url}/collect/api/services/mimir/alertmanager/api/v2/alerts?hidden=query-value");
    let push = client.post(alerts).basic_auth(key, Some(secret)).header("content-type", "application/json");
    let push =
        push.header("traceparent", traceparent).header("tracestate", "v=1").header("x-request-id", "push-1");
    let pushed = push.body("[{\"labels\":{\"alertname\":\"Alert-Name\"}}]").send().await.expect("an answer");
    assert_eq!(pushed.status(), 200);
}

async fn traces_reach_a_collector(database: Option<String>) {
    let services = Services::new().await;
    let (endpoint, metrics) =
        (services.collector.url(), format!("127.0.0.1:{}", ports::spare().expect("a port")));
    let settings = [
        ("BAILIWICK_TELEMETRY__OTLP_ENDPOINT", endpoint.as_str()),
        ("BAILIWICK_TELEMETRY__OTLP_AUTHORIZATION", SECRET),
        ("BAILIWICK_TELEMETRY__SERVICE_NAME", "portal"),
        ("BAILIWICK_METRICS__LISTEN", &metrics),
        ("BAILIWICK_LOG__LEVEL", "trace"),
    ];
    let mut serving = services.serve(database.as_deref(), &settings).await;
    push(&serving, &format!("00-{TRACE}-{CALLER}-01")).await;

    let proxied = "POST /{service}/api/v2/alerts";
    wait_until("the push is exported", || named(&spans(&services.collector), proxied).is_some()).await;
    let all = spans(&services.collector);
    let request = named(&all, proxied).expect("it");
    assert_eq!((request["traceId"].as_str(), request["parentSpanId"].as_str()), (Some(TRACE), Some(CALLER)));
    assert_eq!(request["kind"], 2);
    let attrs = attributes(request);
    let keys: Vec<&str> = attrs.keys().copied().collect();
    assert_eq!(keys, ["http.request.method", "http.response.status_code", "http.route", "request.id"]);
    assert_eq!((attrs["request.id"], attrs["http.response.status_code"]), (&json!("push-1"), &json!("200")));
    let within = |name: &str| {
        let is_within = |span: &&Value| span["name"] == name && span["parentSpanId"] == request["spanId"];
        all.iter().find(is_within).cloned()
    };
    let call = within("alert router").expect("a call");
    assert_eq!((call["kind"].as_u64(), call["traceId"].as_str()), (Some(3), Some(TRACE)));
    let pushes = services.pushes();
    assert_eq!(pushes.len(), 1);
    let passed = format!("00-{TRACE}-{}-01", call["spanId"].as_str().expect("an id"));
    assert_eq!(
        (pushes[0].values("traceparent"), pushes[0].values("tracestate")),
        (vec![passed.as_str()], vec![])
    );

    let system = named(&all, "POST /systems").expect("another request");
    assert!(system["parentSpanId"].is_null() && system["traceId"] != TRACE);
    let is_commit = |span: &Value| span["name"] == "transaction" && span["parentSpanId"] == system["spanId"];
    let commit = all.iter().find(|span| is_commit(span)).expect("its transaction");
    let engine = if database.is_some() { "postgresql" } else { "sqlite" };
    let attrs = attributes(commit);
    assert_eq!((attrs["db.system.name"], attrs["db.operation.name"]), (&json!(engine), &json!("COMMIT")));

    // The last spans arrive before the process ends.
    let response =
        Client::new().get(format!("{}/api/v9/not-there", serving.url)).send().await.expect("an answer");
    assert_eq!(response.status(), 404);
    let page =
        Client::new().get(format!("http://{metrics}/metrics")).send().await.unwrap().text().await.unwrap();
    assert!(
        page.contains("bailiwick_trace_spans_exported_total ") && page.contains("spans_dropped_total 0\n"),
        "{page}"
    );
    assert!(serving.stop());
    let all = spans(&services.collector);
    let is_last = |span: &Value| attributes(span).get("http.response.status_code") == Some(&&json!("404"));
    assert!(all.iter().any(is_last), "{all:#?}");
    let text = json!(all).to_string();
    for hidden in
        ["query-value", "Customer-Name", "Alert-Name", "my_", "Correct-Horse", "not-there", "traceparent"]
    {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    assert!(!serving.log().contains(SECRET));
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_reach_a_collector_on_sqlite() {
    traces_reach_a_collector(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_reach_a_collector_on_postgres() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "traces").await.expect("a database");
    traces_reach_a_collector(Some(cluster.url("traces"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_setting_no_trace_is_exported_or_propagated() {
    let services = Services::new().await;
    let mut serving = services.serve(None, &[]).await;
    push(&serving, &format!("00-{TRACE}-{CALLER}-01")).await;
    assert!(serving.stop());
    let pushes = services.pushes();
    assert_eq!(pushes.len(), 1);
    assert!(pushes[0].values("traceparent").is_empty(), "{:?}", pushes[0].headers);
    assert!(services.collector.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_lessen_and_garbage_does_not_count() {
    let services = Services::new().await;
    let endpoint = services.collector.url();
    let settings = [
        ("BAILIWICK_TELEMETRY__OTLP_ENDPOINT", endpoint.as_str()),
        ("BAILIWICK_TELEMETRY__OTLP_AUTHORIZATION", SECRET),
        ("BAILIWICK_TELEMETRY__SERVICE_NAME", "portal"),
    ];
    let mut serving = services.serve(None, &settings).await;
    push(&serving, &format!("00-{TRACE}-{CALLER}-00")).await;
    push(&serving, &format!("00-{TRACE}-{CALLER}-01; drop")).await;
    assert!(serving.stop());
    let pushes = services.pushes();
    let [unwanted, fresh] = &pushes[..] else { panic!("{pushes:?}") };
    let (unwanted, fresh) =
        (unwanted.value("traceparent").expect("one"), fresh.value("traceparent").expect("one"));
    assert!(unwanted.starts_with(&format!("00-{TRACE}-")) && unwanted.ends_with("-00"), "{unwanted}");
    assert!(!fresh.contains(TRACE) && fresh.ends_with("-01") && fresh.len() == 55, "{fresh}");
    assert!(spans(&services.collector).iter().all(|span| span["traceId"] != TRACE));
}

/// The service does its work, ends well, and says so once.
#[tokio::test(flavor = "multi_thread")]
async fn a_dead_collector_costs_a_warning() {
    let services = Services::new().await;
    let endpoint = format!("http://127.0.0.1:{}", ports::spare().expect("a port"));
    let mut serving = services.serve(None, &[("BAILIWICK_TELEMETRY__OTLP_ENDPOINT", &endpoint)]).await;
    push(&serving, "").await;
    wait_until("the warning", || serving.log().contains("trace export failed")).await;
    assert!(serving.stop());
    assert_eq!(serving.log().matches("trace export failed").count(), 1);
}

#[test]
fn settings_are_checked() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let output = crate::program::command(dir)
        .env("BAILIWICK_TELEMETRY__OTLP_ENDPOINT", "grpc://collector")
        .env("BAILIWICK_TELEMETRY__SAMPLE_RATIO", "1.5")
        .args(["config", "check"])
        .output()
        .expect("the program runs");
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(!output.status.success());
    for name in ["telemetry.otlp_endpoint", "telemetry.sample_ratio"] {
        assert!(printed.contains(name), "{printed}");
    }
}
