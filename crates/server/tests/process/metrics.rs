//! The service's metrics, read by Prometheus' own programs while there is traffic.

use crate::program::{Serving, repository};
use bailiwick_testkit::{
    eventually,
    parts::{ports, postgres, prometheus::Prometheus},
    patience::found,
};
use reqwest::Client;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    io::Write,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const TOKEN: &str = "a-token-for-prometheus";

/// Names of the families of a page.
fn families(page: &str) -> BTreeSet<String> {
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Names of series in an expression, without what histograms append.
fn names_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = words.filter(|word| word.starts_with("bailiwick_") || word.starts_with("process_"));
    ours.map(|word| word.trim_end_matches("_bucket").to_owned()).collect()
}

/// Passes the page through `promtool check metrics`.
fn promtool_accepts(page: &str) {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool (apt-get install prometheus)");
    promtool.stdin.take().expect("a pipe").write_all(page.as_bytes()).expect("it reads");
    let output = promtool.wait_with_output().expect("its end");
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && printed.trim().is_empty(), "{printed}\n{page}");
}

/// A series' value; the labels as they are written.
fn value(page: &str, series: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

async fn query(prometheus: &Prometheus, expression: &str) -> Vec<Value> {
    let address = format!("{}/api/v1/query", prometheus.url());
    let url = url::Url::parse_with_params(&address, [("query", expression)]).expect("a URL");
    let answer = Client::new().get(url).send().await.expect("an answer");
    let answer: Value = answer.json().await.expect("JSON");
    answer["data"]["result"].as_array().cloned().unwrap_or_default()
}

/// Some of everything.
async fn traffic(serving: &Serving) {
    let (client, url, token) = (Client::new(), &serving.url, serving.owner_token());
    let post = |path: &str, body: Value| {
        let call = client.post(format!("{url}{path}")).bearer_auth(&token).body(body.to_string());
        async move {
            let text = call.send().await.expect("an answer").text().await.expect("a body");
            serde_json::from_str::<Value>(&text).unwrap_or_default()["data"].take()
        }
    };
    let customer = post("/api/customers", json!({"name": "C", "custom_data": {"vat": "1"}})).await;
    let system = post("/api/systems", json!({"name": "S", "organization_id": customer["id"]})).await;
    let (key, secret) = (system["system_key"].as_str().unwrap(), system["system_secret"].as_str().unwrap());
    post("/api/systems/register", json!({"system_secret": secret})).await;
    for _ in 0..3 {
        let beat = client.post(format!("{url}/collect/api/systems/heartbeat")).basic_auth(key, Some(secret));
        assert_eq!(beat.send().await.expect("an answer").status(), 200);
    }
    let alerts = format!("{url}/collect/api/services/mimir/alertmanager/api/v2/alerts");
    let push = client.post(alerts).basic_auth(key, Some(secret)).header("content-type", "application/json");
    let pushed = push.body("[{\"labels\":{\"alertname\":\"A\"}}]").send().await.expect("an answer");
    assert_eq!(pushed.status(), 200);
    let id = system["id"].as_str().unwrap();
    for path in [&format!("/api/systems/{id}"), "/api/systems/nothing", "/no/such/path", "/oidc/jwks"] {
        client.get(format!("{url}{path}")).bearer_auth(&token).send().await.expect("an answer");
    }
}

async fn prometheus_reads_the_metrics(database: Option<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    let address = format!("127.0.0.1:{}", ports::spare().expect("a port"));
    // Alloy collects it as the guide says, from the address of the example in docs/observability.md.
    let guide = include_str!("../../../../docs/tools.md");
    assert!(guide.contains(r#"{"__address__" = "127.0.0.1:9464", "__metrics_path__" = "/metrics"}"#));
    let mut settings =
        vec![("BAILIWICK_METRICS__LISTEN", address.as_str()), ("BAILIWICK_METRICS__TOKEN", TOKEN)];
    // No collector is there. The test compares the page's figures of traces, too.
    let nobody = format!("http://127.0.0.1:{}", ports::spare().expect("a port"));
    settings.push(("BAILIWICK_TELEMETRY__OTLP_ENDPOINT", &nobody));
    if let Some(url) = &database {
        settings.push(("BAILIWICK_DATABASE__URL", url));
    }
    let mut serving = Serving::start(dir.path(), &settings).await;
    traffic(&serving).await;

    let get = async |path: &str, token: &str| {
        let call = Client::new().get(format!("http://{address}{path}")).bearer_auth(token);
        let answer = call.send().await.expect("an answer");
        (answer.status().as_u16(), answer.text().await.expect("a text"))
    };
    assert_eq!(get("/metrics", "another-token-of-some-length").await.0, 401);
    // The answer is another one while the machine is too busy to write within two seconds.
    let is_ready = async || get("/ready", "").await == (200, "ready\n".to_owned());
    eventually("it is ready", is_ready).await;
    assert_eq!(get("/live", "").await.0, 200);
    assert_eq!(get("/health", "").await.0, 404);
    let main = Client::new().get(format!("{}/metrics", serving.url)).bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(main.status(), 404, "not on the service's own address");

    // A busy machine may need more than the four seconds in which waiting work must be counted.
    let whole = async || {
        let (status, page) = get("/metrics", TOKEN).await;
        assert_eq!(status, 200);
        (value(&page, "bailiwick_database_up") == Some(1.0)).then_some(page)
    };
    let page = found(|| serving.log(), whole).await;
    promtool_accepts(&page);
    let count = |method: &str, route: &str, class: &str| {
        let labels = format!("{{method=\"{method}\",route=\"{route}\",status=\"{class}\"}}");
        value(&page, &format!("bailiwick_http_requests_total{labels}"))
    };
    assert_eq!(count("POST", "/systems/heartbeat", "2xx"), Some(3.0), "{page}");
    assert_eq!(count("POST", "/{service}/api/v2/alerts", "2xx"), Some(1.0));
    assert_eq!(
        (count("GET", "/systems/{id}", "2xx"), count("GET", "/systems/{id}", "4xx")),
        (Some(1.0), Some(1.0))
    );
    assert_eq!((count("any", "other", "4xx"), count("GET", "/oidc/jwks", "2xx")), (Some(2.0), Some(1.0)));
    assert_eq!(value(&page, "bailiwick_alerts_active"), Some(1.0));
    assert_eq!(value(&page, "bailiwick_http_requests_in_flight"), Some(0.0));
    let pool = if database.is_some() { "all" } else { "read" };
    let most = format!("bailiwick_database_connections_max{{pool=\"{pool}\"}}");
    assert!(value(&page, &most).is_some());
    assert!(value(&page, "bailiwick_database_wait_seconds_count{for=\"write\"}") > Some(3.0));
    assert!(!page.contains("SYS-"), "a system's key is a label");

    the_documents_name_what_there_is(&families(&page));
    each_queue_has_a_rule_and_a_panel(&page);
    a_prometheus_scrapes(&address).await;
    assert!(serving.stop(), "{}", serving.log());
    let log = serving.log();
    assert!(log.contains("listening") && log.contains("stopped") && !log.contains(TOKEN), "{log}");
}

/// The list in the documentation, the rules and the dashboard.
fn the_documents_name_what_there_is(families: &BTreeSet<String>) {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).expect("a file");
    let listed = read("docs/observability.md");
    let rows = listed.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let listed: BTreeSet<String> = rows
        .filter(|name| name.starts_with("bailiwick_") || name.starts_with("process_"))
        .map(str::to_owned)
        .collect();
    assert_eq!(&listed, families, "docs/observability.md lists other series than there are");
    let rules = repository().join("packaging/prometheus/bailiwick.rules.yml");
    let checked = Command::new("promtool").args(["check", "rules"]).arg(&rules).output().expect("promtool");
    assert!(checked.status.success(), "{checked:?}");
    let unknown = |text: &str| names_in(text).difference(families).cloned().collect::<Vec<_>>();
    let rules = read("packaging/prometheus/bailiwick.rules.yml");
    assert_eq!(unknown(&rules), Vec::<String>::new(), "rules");
    let dashboard: Value = serde_json::from_str(&read("packaging/grafana/bailiwick.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let queries = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let queries: Vec<&str> = queries.filter_map(|target| target["expr"].as_str()).collect();
    assert!(queries.len() > 20, "{}", queries.len());
    for query in queries {
        assert_eq!(unknown(query), Vec::<String>::new(), "{query}");
        assert!(!names_in(query).is_empty(), "{query}");
    }
}

/// A line of the log that a rule quotes is a text of the program.
#[test]
fn rules_quote_what_is_logged() {
    let rules = repository().join("packaging/prometheus/bailiwick.rules.yml");
    let rules = std::fs::read_to_string(rules).expect("a file");
    let quoted = rules.split("(`").skip(1).filter_map(|rest| rest.split("`)").next());
    let lines: Vec<&str> = quoted.filter(|text| text.starts_with(char::is_lowercase)).collect();
    assert!(lines.len() > 2, "{lines:?}");
    for line in lines {
        let mut grep = Command::new("grep");
        grep.current_dir(repository()).args(["-rqF", "--include=*.rs", "--exclude-dir=tests"]);
        let found = grep.args(["--", &format!("\"{line}\""), "crates"]).status().expect("grep");
        assert!(found.success(), "{line}");
    }
}

/// Every queue has a rule that fires when its oldest entry grows old, and a panel of ages that does not leave it out;
/// so have jobs.
fn each_queue_has_a_rule_and_a_panel(page: &str) {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).expect("a file");
    let ages = |line: &str| {
        Some(line.strip_prefix("bailiwick_queue_oldest_seconds{queue=\"")?.split_once('"')?.0.to_owned())
    };
    let queues: BTreeSet<String> = page.lines().filter_map(ages).collect();
    assert!(queues.len() >= 7, "{queues:?}");
    let counted =
        |queue: &String| value(page, &format!("bailiwick_queue_waiting{{queue=\"{queue}\"}}")).is_some();
    assert!(queues.iter().all(counted), "{queues:?}");
    let rules = read("packaging/prometheus/bailiwick.rules.yml");
    let ruled =
        |queue: &&String| !rules.contains(&format!("bailiwick_queue_oldest_seconds{{queue=\"{queue}\"}} >"));
    assert_eq!(queues.iter().filter(ruled).collect::<Vec<_>>(), Vec::<&String>::new(), "without a rule");
    assert!(rules.contains("bailiwick_queue_oldest_seconds{queue=\"inventory\"} > 60\n"), "a minute");
    assert!(rules.contains("bailiwick_jobs_overdue_seconds >"));
    assert!(value(page, "bailiwick_jobs_overdue_seconds{kind=\"mail\"}").is_some(), "before the first mail");
    let dashboard = read("packaging/grafana/bailiwick.json");
    for expression in [
        "max by (queue) (bailiwick_queue_oldest_seconds{instance=~\\\"$instance\\\"})",
        "max by (kind) (bailiwick_jobs_overdue_seconds{instance=~\\\"$instance\\\"})",
        "bailiwick_alert_router_in_flight_max{",
        "limit=~\\\"alert_.*",
    ] {
        assert!(dashboard.contains(expression), "{expression}");
    }
}

/// With the rules of the package: it finds the process, its series, and nothing to complain of in either.
async fn a_prometheus_scrapes(address: &str) {
    let configuration = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [rules.yml]\nscrape_configs:\n  \
         - job_name: bailiwick\n    authorization: {{credentials: {TOKEN}}}\n    \
         static_configs: [{{targets: ['{address}']}}]\n"
    );
    let rules =
        std::fs::read_to_string(repository().join("packaging/prometheus/bailiwick.rules.yml")).unwrap();
    let prometheus = Prometheus::start(&configuration, &rules).await.expect("a Prometheus");
    let limit = Instant::now() + bailiwick_testkit::PATIENCE;
    while query(&prometheus, "bailiwick_http_requests_total{route=\"/systems/heartbeat\"}").await.is_empty() {
        assert!(Instant::now() < limit, "nothing was scraped: {}", prometheus.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Where the page takes more than a second, one scrape fails, and until the next one the process counts as down.
    let quantile = "histogram_quantile(0.99, sum by (le) (bailiwick_http_request_duration_seconds_bucket))";
    for (expression, rows) in
        [("up{job=\"bailiwick\"} == 1", 1), (quantile, 1), ("ALERTS{severity=\"critical\"}", 0)]
    {
        eventually(expression, async || query(&prometheus, expression).await.len() == rows).await;
    }
    assert!(!prometheus.log().contains("level=warn"), "{}", prometheus.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_reads_the_metrics_on_sqlite() {
    prometheus_reads_the_metrics(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_reads_the_metrics_on_postgres() {
    let cluster = postgres::cluster().await.expect("PostgreSQL");
    cluster.create_database_from(None, "metrics").await.expect("a database");
    prometheus_reads_the_metrics(Some(cluster.url("metrics"))).await;
}

#[test]
fn an_open_listener_wants_a_token() {
    let dir = tempfile::tempdir().expect("a directory");
    let check = |more: &[&str]| {
        let arguments = [&["--set", "metrics.listen=0.0.0.0:9464"], more, &["config", "check"]].concat();
        let output = crate::program::run(dir.path(), &arguments);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (ok, stderr) = check(&[]);
    assert!(!ok && stderr.contains("metrics.token") && stderr.contains("loopback"), "{stderr}");
    assert!(!check(&["--set", "metrics.token=short"]).0);
    assert!(check(&["--set", "metrics.token=long-enough-to-use"]).0);
}
