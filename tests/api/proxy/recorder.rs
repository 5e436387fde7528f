//! The requests that reach a remote router, and the parts of its answers that reach systems (spec: alerts#tenant,
//! alerts#request-order, alerts#answers, alerts#waiting-tenants, alert-router#remote).

use super::*;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{
    api_test, eventually,
    parts::recorder::{Answer, Recorded, Recorder},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ID: &str = "a2e4ebe0-81c0-474b-a001-eed897ce79ab";

fn silence_of(key: &str) -> Value {
    json!({
        "id": ID, "status": {"state": "active"}, "updatedAt": "2026-03-04T09:00:00.000Z", "comment": "c",
        "createdBy": "t", "startsAt": "2026-03-04T09:00:00.000Z", "endsAt": "2026-03-04T12:00:00.000Z",
        "matchers": [{"name": "system_key", "value": key, "isRegex": false, "isEqual": true}],
    })
}

/// A router that works and has one silence of the system with this key.
fn works(request: &Recorded, key: &str) -> Answer {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", path) if path.ends_with("/alerts") || path.ends_with("/silences") => {
            Answer::json(200, &json!([]))
        }
        ("GET", path) if path.contains("/silence/") => Answer::json(200, &silence_of(key)),
        ("POST", path) if path.ends_with("/silences") => Answer::json(200, &json!({"silenceID": ID})),
        _ => Answer::status(200),
    }
}

const SILENCE: &str = r#"{"matchers":[{"name":"alertname","value":"A","isRegex":false}],"startsAt":"2026-03-04T10:00:00Z",
    "endsAt":"2026-03-04T12:00:00Z","createdBy":"me","comment":"c","secret":{"x":[1]}}"#;

/// Sends a request as its text, whatever a client library would make of it.
async fn raw(url: &str, head: &str, body: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(url.trim_start_matches("http://")).await.unwrap();
    let request = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

api_test!(
    // Proves spec: authorization#guarantees 13.
    the_tenant_is_the_callers_organization_exactly_once_whatever_the_client_sends,
    |t| async move {
        use base64::Engine as _;
        let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
        let p = remote_alone(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
        let tree = p.tree().await;
        let system = p.system(tree.customer).await;
        let key = system.key.clone();
        upstream.answer_by(move |request| works(request, &key));
        let service = p.serve().await;
        let pair =
            base64::engine::general_purpose::STANDARD.encode(format!("{}:{}", system.key, system.secret));
        let other = tree.other_customer;
        let lines = [
            format!("X-Scope-OrgID: {other}\r\n"),
            format!("x-scope-orgid: {other}\r\nX-SCOPE-ORGID: {other}|{}\r\n", tree.customer),
            format!("X-Scope-OrgID: {}\r\nX-Scope-Orgid: {other}\r\n", tree.customer),
            "X-Scope-OrgID:\r\n".to_owned(),
            format!("Connection: X-Scope-OrgID\r\nX-Scope-OrgID: {other}\r\n"),
            String::new(),
        ];
        let extra = "Cookie: a=b\r\nForwarded: for=1.2.3.4\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: evil\r\n\
                 X-Prometheus-Remote-Write-Version: 1\r\nAccept-Encoding: gzip\r\nContent-Encoding: identity\r\n\
                 X-Request-Id: from-client\r\nTE: trailers\r\nContent-Type: application/json; charset=utf-8\r\n";
        for (method, path, body) in [
            ("GET", "/api/v2/alerts?filter=a%3Db", ""),
            ("POST", "/api/v2/alerts", r#"[{"labels":{"alertname":"A"}}]"#),
            ("GET", "/api/v2/silences", ""),
            ("POST", "/api/v2/silences", SILENCE),
            ("GET", &format!("/api/v2/silences/{ID}"), ""),
            ("DELETE", &format!("/api/v2/silence/{ID}"), ""),
            ("GET", "/api/v2/alerts/groups", ""),
        ] {
            for line in &lines {
                for (before, after) in [(line.as_str(), ""), ("", line.as_str())] {
                    let head = format!(
                        "{method} {P}{path} HTTP/1.1\r\n{before}Host: evil.example\r\nAuthorization: Basic {pair}\r\n{extra}{after}"
                    );
                    let answer = raw(&service.url, &head, body).await;
                    assert!(answer.starts_with("HTTP/1.1 200 "), "{head}{answer}");
                }
            }
        }
        let requests = upstream.take();
        assert!(requests.len() >= 7 * lines.len() * 2);
        let tenant = tree.customer.to_string();
        let host = upstream.url().trim_start_matches("http://").to_owned();
        for request in requests {
            assert_eq!(request.values("x-scope-orgid"), [tenant.as_str()]);
            let mut names: Vec<String> =
                request.headers.iter().map(|(n, _)| n.to_ascii_lowercase()).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), request.headers.len(), "no header twice: {request:?}");
            let allowed = [
                "accept",
                "content-length",
                "content-type",
                "host",
                "user-agent",
                "x-request-id",
                "x-scope-orgid",
            ];
            assert!(names.iter().all(|n| allowed.contains(&n.as_str())), "{names:?}");
            assert_eq!(request.value("host"), Some(host.as_str()));
            assert_eq!(request.value("accept"), Some("application/json"));
            assert_eq!(request.value("content-type"), Some("application/json"));
            assert!(request.value("user-agent").unwrap().starts_with("Bailiwick/"));
            assert_eq!(request.value("x-request-id"), Some("from-client"));
            assert!(request.path.starts_with("/alertmanager/api/v2/"), "{}", request.path);
        }
    }
);

api_test!(bodies_and_queries_are_written_anew, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Cortex, |_| {}).await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let key = system.system.key.clone();
    let own = key.clone();
    upstream.answer_by(move |request| works(request, &own));
    system
        .push(
            r#" [ {"labels":{"alertname":"A","system_key":"VICTIM","e":""},"LABELS":{"system_key":"VICTIM"},"annotations":{"s":"x"},
               "labelſ":{"system_key":"VICTIM"},"startsAt":"2026-03-04T11:00:00.5+01:00","generatorURL":"http://x/y","status":{"a":[1,2]}} ]"#,
        )
        .await
        .expect(200);
    let [push] = &upstream.take()[..] else { panic!("one request") };
    let text = String::from_utf8(push.body.clone()).unwrap();
    assert!(!text.contains("VICTIM") && !text.contains("status"), "{text}");
    let sent = push.json().unwrap();
    let labels = json!({"alertname": "A", "organization_id": tree.customer, "system_id": system.system.id, "system_key": key});
    assert_eq!(sent[0]["labels"], labels);
    assert_eq!(sent[0]["annotations"]["s"], "x");
    assert_eq!(sent[0]["startsAt"], "2026-03-04T10:00:00.5Z");
    assert_eq!(sent[0]["generatorURL"], "http://x/y");
    let keys: Vec<&String> = sent[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["labels", "annotations", "startsAt", "generatorURL"]);

    let reply = system.silence(SILENCE).await.expect(200);
    assert_eq!(reply.json(), json!({"silenceID": ID}));
    let requests = upstream.take();
    let post = requests.iter().find(|r| r.method == "POST").unwrap();
    assert_eq!(
        post.json().unwrap(),
        json!({
            "matchers": [
                {"name": "alertname", "value": "A", "isRegex": false, "isEqual": true},
                {"name": "system_key", "value": key, "isRegex": false, "isEqual": true},
            ],
            "startsAt": "2026-03-04T10:00:00Z", "endsAt": "2026-03-04T12:00:00Z", "createdBy": "me", "comment": "c",
        })
    );

    system
        .get("/api/v2/alerts?filter=%20a%20%3D~%20b%2Bc%20&x=y&a;filter=system_key!%3D%22%22&active=false&receiver=default")
        .await
        .expect(200);
    let [list] = &upstream.take()[..] else { panic!("one request") };
    let query: Vec<(String, String)> =
        url::form_urlencoded::parse(list.query.as_ref().unwrap().as_bytes()).into_owned().collect();
    let filter = |text: String| ("filter".to_owned(), text);
    assert_eq!(query, [filter(r#"a=~"b+c""#.to_owned()), filter(format!(r#"system_key="{key}""#))]);
});

fn alert(key: &str, organization: &str, name: &str) -> Value {
    json!({
        "labels": {"alertname": name, "system_key": key, "organization_id": organization}, "annotations": {"s": "x"},
        "startsAt": "2026-03-04T09:00:00.000Z", "endsAt": "2026-03-04T12:00:00.000Z",
        "updatedAt": "2026-03-04T09:00:00.123456Z", "fingerprint": "9822ee52b31ac95f", "generatorURL": "",
        "receivers": [{"name": "the-secret-receiver"}], "routeLabels": {"x": "secret"},
        "status": {"state": "suppressed", "silencedBy": [ID, "00000000-0000-4000-8000-000000000001"],
                   "inhibitedBy": ["secret"], "mutedBy": ["secret"]},
    })
}

// Proves spec: alert-guarantees#guarantees 8.
api_test!(router_messages_about_other_tenants_are_not_passed_on, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let (key, org) = (system.system.key.clone(), tree.customer.to_string());
    let alerts = json!([
        alert("SYS-OTHER", &org, "secret"),
        alert(&key, "other-organization", "secret"),
        alert(&key, &org, "mine"),
        {"labels": {"alertname": "secret"}, "startsAt": "2026-03-04T09:00:00Z", "endsAt": "2026-03-04T12:00:00Z",
         "updatedAt": "2026-03-04T09:00:00Z", "fingerprint": "9822ee52b31ac950", "status": {"state": "active"}},
    ]);
    let mut tricks = vec![silence_of(&key), silence_of("SYS-OTHER")];
    for (is_regex, is_equal) in [(true, true), (false, false), (true, false)] {
        let mut silence = silence_of(&key);
        silence["id"] = json!(format!("00000000-0000-4000-8000-00000000000{}", tricks.len()));
        silence["matchers"][0]["isRegex"] = json!(is_regex);
        silence["matchers"][0]["isEqual"] = json!(is_equal);
        tricks.push(silence);
    }
    tricks[1]["id"] = json!("00000000-0000-4000-8000-000000000009");
    let silences = json!(tricks);
    upstream.answer_by(move |request| match request.path.as_str() {
        path if path.ends_with("/alerts") => Answer::json(200, &alerts),
        _ => Answer::json(200, &silences),
    });
    let reply = system.get("/api/v2/alerts").await.expect(200);
    let expected = json!([{
        "labels": {"alertname": "mine", "system_key": key, "organization_id": org}, "annotations": {"s": "x"},
        "startsAt": "2026-03-04T09:00:00.000Z", "endsAt": "2026-03-04T12:00:00.000Z",
        "updatedAt": "2026-03-04T09:00:00.123Z", "fingerprint": "9822ee52b31ac95f",
        "receivers": [{"name": "default"}],
        "status": {"state": "suppressed", "silencedBy": [ID], "inhibitedBy": [], "mutedBy": []},
    }]);
    assert_eq!(reply.json(), expected);
    let groups = system.get("/api/v2/alerts/groups").await.expect(200);
    assert!(!groups.text().contains("secret"), "{}", groups.text());
    let list = system.get("/api/v2/silences").await.expect(200).json();
    assert_eq!(list.as_array().unwrap().iter().map(|s| &s["id"]).collect::<Vec<_>>(), [ID]);
});

api_test!(filters_too_long_for_an_address_are_applied_to_the_answer, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let (key, org) = (system.system.key.clone(), tree.customer.to_string());
    let alerts = json!([alert(&key, &org, "A"), alert(&key, &org, "B")]);
    let silences = json!([silence_of(&key)]);
    upstream.answer_by(move |request| match request.path.as_str() {
        path if path.ends_with("/alerts") => Answer::json(200, &alerts),
        _ => Answer::json(200, &silences),
    });
    let long = vec![format!("filter=alertname!={}", "(".repeat(1000)); 30].join("&");
    assert_eq!(system.alert_names(&format!("?{long}&filter=alertname%3DA")).await, ["A"]);
    let found = system.get(&format!("/api/v2/silences?{long}")).await.expect(200).json();
    assert_eq!(found, json!([]));
    let own = format!("filter=system_key%3D%22{key}%22");
    let requests = upstream.take();
    assert!(requests.iter().all(|r| r.query.as_ref() == Some(&own)), "{requests:?}");
});

// Proves spec: acceptance#guarantees 1 2, alert-guarantees#guarantees 3 4.
api_test!(a_foreign_silence_is_left_alone, |t| async move {
    let upstream = Recorder::start(|r| works(r, "SYS-OTHER")).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    for path in ["silence", "silences"] {
        assert!(system.get(&format!("/api/v2/{path}/{ID}")).await.expect(404).body.is_empty());
        assert!(system.delete(&format!("/api/v2/{path}/{ID}")).await.expect(404).body.is_empty());
    }
    let update = SILENCE.replacen('{', &format!("{{\"id\":\"{ID}\","), 1);
    assert_eq!(system.silence(&update).await.expect(404).text(), "\"silence not found\"\n");
    assert!(upstream.take().iter().all(|r| r.method == "GET"), "nothing was changed");
});

api_test!(a_status_that_the_router_does_not_know_is_worked_out, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Cortex, |_| {}).await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let (key, org) = (system.system.key.clone(), tree.customer.to_string());
    let mut list = json!([alert(&key, &org, "A"), alert(&key, &org, "B")]);
    for (n, alert) in list.as_array_mut().unwrap().iter_mut().enumerate() {
        alert["status"] = json!({"state": "unprocessed", "silencedBy": [], "inhibitedBy": [], "mutedBy": []});
        alert["fingerprint"] = json!(format!("000000000000000{n}"));
    }
    let mut silence = silence_of(&key);
    silence["matchers"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "alertname", "value": "A|X", "isRegex": true}));
    upstream.answer_by(move |request| match request.path.as_str() {
        path if path.ends_with("/alerts") => Answer::json(200, &list),
        _ => Answer::json(200, &json!([silence])),
    });
    let alerts = system.get("/api/v2/alerts").await.expect(200).json();
    assert_eq!(alerts[0]["status"]["state"], "suppressed");
    assert_eq!(alerts[0]["status"]["silencedBy"], json!([ID]));
    assert_eq!(alerts[1]["status"]["state"], "active");
    assert_eq!(system.alert_names("?silenced=false").await, ["B"]);
    assert_eq!(system.alert_names("?active=false").await, ["A"]);
});

/// The signs of spec: alerts#waiting-tenants.
const UNKNOWN: &[(u16, &str)] = &[
    (404, "the Alertmanager is not configured\n"),
    (406, "Not initializing the Alertmanager\n"),
    (412, "the Alertmanager is not configured\n"),
    (500, "Failed to initialize the Alertmanager\n"),
    (503, "Alertmanager not ready\n"),
];

// Proves spec: alert-guarantees#guarantees 23.
api_test!(a_tenant_that_does_not_run_yet_can_push_and_list_at_once, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let p = remote_alone(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    for (status, text) in UNKNOWN {
        upstream.answer_by(|_| Answer::status(*status).header("content-type", "text/plain").body(*text));
        let _ = upstream.take();
        for path in ["alerts", "alerts/groups", "silences"] {
            assert_eq!(system.get(&format!("/api/v2/{path}")).await.expect(200).text(), "[]\n", "{text}");
        }
        assert!(system.get(&format!("/api/v2/silence/{ID}")).await.expect(404).body.is_empty());
        assert!(system.delete(&format!("/api/v2/silences/{ID}")).await.expect(404).body.is_empty());
        let reply = system.silence(SILENCE).await.expect_message(503, "alerting backend is not ready");
        assert_eq!(reply.header("retry-after"), Some("15"));
        assert_eq!(upstream.take().len(), 6, "each asked once");
        let body = format!(r#"[{{"labels":{{"alertname":"A{status}"}}}}]"#);
        assert!(system.push(&body).await.expect(200).body.is_empty());
    }
    // It comes to run: everything arrives, with the time of the push as its start.
    upstream.answer_by(|_| Answer::status(200));
    let _ = upstream.take();
    p.advance(Duration::from_secs(120));
    let mut names = Vec::new();
    while names.len() < UNKNOWN.len() {
        bailiwick_alerts::deliver_queued(&p.app.alerts).await.unwrap();
        for request in upstream.wait_for(1).await.map(|_| upstream.take()).unwrap() {
            assert_eq!(request.values("x-scope-orgid").len(), 1);
            for alert in request.json().unwrap().as_array().unwrap() {
                assert_eq!(alert["startsAt"], "2026-03-04T10:00:00Z");
                names.push(alert["labels"]["alertname"].as_str().unwrap().to_owned());
            }
        }
    }
    names.sort();
    assert_eq!(names, ["A404", "A406", "A412", "A500", "A503"]);
});

/// Delivers the alerts that are due; returns those that the router has received.
async fn delivered(p: &Test, upstream: &Recorder) -> Vec<Value> {
    bailiwick_alerts::deliver_queued(&p.app.alerts).await.unwrap();
    let requests = upstream.take();
    requests.iter().flat_map(|r| r.json().unwrap().as_array().unwrap().clone()).collect()
}

api_test!(queued_alerts_are_replaced_superseded_and_given_up, |s| generous(s), |t| async move {
    let upstream = Recorder::start(|_| Answer::status(412)).await.unwrap();
    let p = remote_alone(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    let push = async |name: &str, text: &str| {
        let body = json!([{"labels": {"alertname": name}, "annotations": {"t": text}}]);
        system.push(&body.to_string()).await.expect(200);
    };
    push("A", "old").await;
    push("A", "new").await;
    push("B", "old").await;
    let _ = upstream.take();
    assert!(delivered(&p, &upstream).await.is_empty(), "not before a second has passed");
    // The tenant runs, but no alert overtakes a waiting one: the new B takes its place.
    upstream.answer_by(|_| Answer::status(200));
    push("B", "direct").await;
    assert!(upstream.take().is_empty());
    p.advance(Duration::from_secs(1));
    let sent = delivered(&p, &upstream).await;
    let name_and_text = |alert: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&alert["labels"]["alertname"]), text(&alert["annotations"]["t"]))
    };
    let mut sent: Vec<(String, String)> = sent.iter().map(name_and_text).collect();
    sent.sort();
    let expected = [("A", "new"), ("B", "direct")].map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(sent, expected);
    // An alert that the router does not take is dropped when it is out of date.
    let _ = upstream.take();
    upstream.answer_by(|_| Answer::status(412));
    push("C", "x").await;
    p.advance(Duration::from_secs(6 * 3600 + 1));
    upstream.answer_by(|_| Answer::status(200));
    let _ = upstream.take();
    assert!(delivered(&p, &upstream).await.is_empty());
});

api_test!(queued_alerts_outlive_the_process, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(412)).await.unwrap();
    let p = remote_alone(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let system = Client::new(&p).await;
    system.push(r#"[{"labels":{"alertname":"A"}}]"#).await.expect(200);
    p.app.platform.stop.cancel();
    let _ = upstream.take();
    upstream.answer_by(|_| Answer::status(200));
    p.advance(Duration::from_secs(300));
    let again = p.replica().await;
    bailiwick_alerts::deliver_queued(&again.app.alerts).await.unwrap();
    let sent = upstream.wait_for(1).await.unwrap();
    assert_eq!(sent[0].json().unwrap()[0]["labels"]["alertname"], "A");
});

// Its silences about a part of its alerts end, too.
api_test!(a_destroyed_system_leaves_nothing_that_waits_or_is_in_force, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(412)).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let tree = p.tree().await;
    let system = Client { test: &p, system: p.system(tree.customer).await };
    let (key, organization) = (system.system.key.clone(), tree.customer.to_string());
    system.push(r#"[{"labels":{"alertname":"Waits"}}]"#).await.expect(200);
    let waiting =
        async || Q::new("SELECT COUNT(*) FROM alert_queue").count(&p.app.platform.db).await.unwrap();
    assert_eq!(waiting().await, 1);
    let _ = upstream.take();
    let mut silence = silence_of(&key);
    let part = json!({"name": "alertname", "value": "A", "isRegex": false, "isEqual": true});
    silence["matchers"].as_array_mut().unwrap().push(part);
    let fires = alert(&key, &organization, "Fires");
    upstream.answer_by(move |request| match (request.method.as_str(), request.path.as_str()) {
        ("GET", path) if path.ends_with("/alerts") => Answer::json(200, &json!([fires])),
        ("GET", path) if path.ends_with("/silences") => Answer::json(200, &json!([silence])),
        ("GET", _) => Answer::json(200, &silence),
        _ => Answer::status(200),
    });
    let owner = p.owner().await;
    let path = format!("/api/systems/{}/destroy", system.system.id);
    p.delete(&path).bearer(&owner.token).send().await.expect(200);
    assert_eq!(waiting().await, 0);
    bailiwick_alerts::transfer_cleanup::run_until_idle(&p.app.alerts).await.unwrap();
    let requests = upstream.take();
    let pushed: Vec<Value> =
        requests.iter().filter(|r| r.method == "POST").map(|r| r.json().unwrap()).collect();
    let [ended] = &pushed[..] else { panic!("{requests:?}") };
    assert_eq!((ended.as_array().unwrap().len(), &ended[0]["labels"]["alertname"]), (1, &json!("Fires")));
    assert!(ended[0].get("endsAt").is_some(), "{ended}");
    assert!(requests.iter().any(|r| r.method == "DELETE" && r.path.ends_with(ID)), "{requests:?}");
});

api_test!(readiness_is_the_routers_own, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    for (kind, path) in [(RouterKind::Mimir, "/ready"), (RouterKind::Plain, "/-/ready")] {
        let p = remote(&t, &upstream.url(), kind, |_| {}).await;
        upstream.answer_by(|_| Answer::status(200));
        let ready = async || p.get(&format!("{P}/-/ready")).send().await;
        // A busy machine may be too slow for the router's answer, which counts for a second then.
        eventually("it is ready", async || {
            p.advance(Duration::from_secs(1));
            let _ = upstream.take();
            ready().await.status == 200
        })
        .await;
        for _ in 0..2 {
            ready().await.expect(200);
        }
        let requests = upstream.take();
        assert_eq!(requests.len(), 1, "the answer counts for a while");
        assert_eq!(requests[0].target(), path);
        assert!(requests[0].values("x-scope-orgid").is_empty());
        upstream.answer_by(|_| Answer::status(503));
        p.advance(Duration::from_secs(15));
        assert_eq!(ready().await.expect(503).text(), "Service Unavailable");
        p.get(&format!("{P}/-/healthy")).send().await.expect(200);
        let _ = upstream.take();
    }
});
