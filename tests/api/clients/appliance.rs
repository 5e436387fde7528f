//! Appliances: firewalls and clusters, by the curl they carry (spec: clients#appliances; checklist 1, 4 to 7, 15, 16).

use super::*;
use bailiwick_testkit::{api_test, eventually};
use std::time::{Duration, Instant};

/// An appliance that knows where it belongs.
struct Appliance {
    /// `{portal}{base}`.
    portal: String,
    /// `key:secret`, as `--user` takes it.
    user: String,
}

impl Appliance {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.portal)
    }

    async fn heartbeat(&self) -> Curled {
        let url = self.url("/systems/heartbeat");
        let flags = ["-m", "30", "--retry", "3", "-L", "-sSf", "-v", "-X", "POST", "--user"];
        curl(&[&flags[..], &[&self.user, &url]].concat(), b"").await
    }

    async fn inventory(&self, document: &[u8]) -> Curled {
        let url = self.url("/systems/inventory");
        let flags = ["-m", "180", "--retry", "3", "-L", "-sSf", "-v", "-X", "POST", "--user", &self.user];
        // By itself it waits a second for `100 Continue` and then sends the body unasked: too short on a busy machine.
        let patience = ["--expect100-timeout", "60"];
        let body = ["-H", "Content-Type: application/json", "--data-binary", "@-", &url];
        curl(&[&flags[..], &patience, &body].concat(), document).await
    }

    async fn info(&self) -> Curled {
        let url = self.url("/systems/info");
        let flags = ["-s", "-f", "-m", "20", "--retry", "2", "--retry-delay", "1", "-L", "--user"];
        curl(&[&flags[..], &[&self.user, &url]].concat(), b"").await
    }

    async fn backup(&self, bytes: &[u8]) -> Curled {
        let url = self.url("/systems/backups");
        let flags =
            ["-sS", "-v", "--fail-with-body", "-X", "POST", "-H", "Content-Type: application/octet-stream"];
        let body = ["-H", "X-Filename: backup.tar.gz.gpg", "--data-binary", "@-", "--user", &self.user, &url];
        curl(&[&flags[..], &body].concat(), bytes).await
    }

    /// The same with nothing but the method.
    async fn ask(&self, method: &str, path: &str) -> Curled {
        let flags = ["-sS", "-f", "-X", method, "--user", &self.user];
        curl(&[&flags[..], &[&self.url(path)]].concat(), b"").await
    }
}

async fn register(portal: &str, secret: &str, limit: &str) -> Curled {
    let (url, body) = (format!("{portal}/systems/register"), format!(r#"{{"system_secret":"{secret}"}}"#));
    let flags = ["-s", "-f", "-m", limit, "--retry", "3", "-L", "-X", "POST"];
    let head = ["-H", "Content-Type: application/json", "-H", "Accept: application/json"];
    curl(&[&flags[..], &head, &["-d", &body, &url]].concat(), b"").await
}

/// Creates a system as a person; returns its id and the secret that the person pastes into the appliance.
async fn created(t: &Test, owner: &Persona, organization: impl serde::Serialize) -> (String, String) {
    let body = json!({"name": "Appliance", "organization_id": organization, "notes": ""});
    let made = t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201).data();
    (text(&made, "id"), text(&made, "system_secret"))
}

api_test!(
    // Proves spec: clients#checklist 1 15.
    the_session_of_an_appliance_at_each_base_path,
    |s| portal(s),
    |t| async move {
        let tree = t.tree().await;
        let owner = t.owner().await;
        let running = t.serve().await;
        // Over 1 MB, so that curl asks first.
        let large = vec![7; 1_200_000];
        for (base, (document, kind)) in
            BASES.into_iter().zip([(NSEC, "nsec"), (NS8, "ns8")].into_iter().cycle())
        {
            let portal = format!("{}{base}", running.url);
            let (id, secret) = created(&t, &owner, tree.customer).await;
            let path = format!("/api/systems/{id}");
            let registered = register(&portal, &secret, "5").await.expect(200).data();
            let key = text(&registered, "system_key");
            let appliance = Appliance { portal, user: format!("{key}:{secret}") };

            appliance.heartbeat().await.expect(200);
            assert_eq!(shown(&t, &owner, &path).await["status"], "active", "{base}");
            appliance.inventory(document).await.expect(202);
            settle(&t).await;
            let system = shown(&t, &owner, &path).await;
            assert_eq!((&system["type"], &system["status"]), (&json!(kind), &json!("active")), "{base}");
            let sent: Value = serde_json::from_slice(document).unwrap();
            assert_eq!(shown(&t, &owner, &format!("{path}/inventory/latest")).await["data"], sent, "{base}");

            let info = appliance.info().await.expect(200).data();
            assert_eq!((&info["system_id"], &info["system_key"]), (&json!(id), &json!(key)));
            assert_eq!((&info["registered"], &info["suspended"]), (&json!(true), &json!(false)));
            assert_eq!(info["organization"]["name"], "Alfa Customer");

            // See spec: clients#appliances: behind the collect address, and with `/api` once more
            // (clients#alertmanager-clients).
            let host = running.url.trim_start_matches("http://");
            for prefix in ["/services", "/api/services"] {
                let url = format!(
                    "http://{}@{host}{base}{prefix}/mimir/alertmanager/api/v2/alerts",
                    appliance.user
                );
                let alerts = r#"[{"labels":{"alertname":"WanDown","interface":"eth1"},"startsAt":"2026-03-04T09:59:00Z","endsAt":"0001-01-01T00:00:00Z"}]"#;
                let flags =
                    ["-sS", "-f", "-X", "POST", "-H", "Content-Type: application/json", "-d", alerts, &url];
                curl(&flags, b"").await.expect(200);
            }

            let stored = appliance.backup(&large).await.expect(201);
            assert!(stored.stderr.contains("> Expect: 100-continue"), "{}", stored.stderr);
            assert!(stored.stderr.contains("< HTTP/1.1 100 Continue"), "{}", stored.stderr);
            let stored = stored.data();
            assert_eq!(
                (&stored["filename"], &stored["size"]),
                (&json!("backup.tar.gz.gpg"), &json!(1_200_000))
            );
            let listed = appliance.ask("GET", "/systems/backups").await.expect(200).data();
            assert_eq!(listed["backups"], json!([stored]));
            let one = format!("/systems/backups/{}", text(&stored, "id"));
            assert_eq!(appliance.ask("GET", &one).await.expect(200).body.len(), 1_200_000);
            appliance.ask("DELETE", &one).await.expect(200);

            // This is final: the appliance's credentials are worth nothing afterwards.
            appliance.ask("POST", "/systems/unregister").await.expect(200);
            appliance.ask("POST", "/systems/unregister").await.expect(401);
        }
    }
);

// Proves spec: clients#checklist 4.
api_test!(a_heartbeat_has_no_body_and_no_type, |s| portal(s), |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let running = t.serve().await;
    let user = format!("{}:{}", system.key, system.secret);
    for base in BASES {
        let appliance = Appliance { portal: format!("{}{base}", running.url), user: user.clone() };
        let beat = appliance.heartbeat().await.expect(200);
        let sent: Vec<&str> = beat.stderr.lines().filter(|line| line.starts_with("> ")).collect();
        let sent = sent.join("\n").to_lowercase();
        assert!(sent.starts_with("> post ") && !sent.contains("content-"), "{sent}");
    }
    // The service ignores any body of a heartbeat.
    for (kind, body) in
        [("application/json", "{"), ("text/plain", ""), ("application/x-www-form-urlencoded", "a=b")]
    {
        let call = t.post("/collect/api/systems/heartbeat").basic(&system.key, &system.secret);
        call.header("content-type", kind).body(body).send().await.expect(200);
    }
});

// Proves spec: clients#checklist 6.
api_test!(nothing_but_already_registered_is_a_409, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let running = t.serve().await;
    let portal = format!("{}/backend/api", running.url);
    let wrong = format!("my_{}.{}", "0".repeat(20), "0".repeat(40));
    for secret in ["", "x", "my_a", &wrong] {
        let refused = register(&portal, secret, "5").await;
        assert!(matches!(refused.status, 400 | 401), "{secret}: {}", refused.status);
    }
    let (id, secret) = created(&t, &owner, tree.customer).await;
    t.suspend_system(id.parse().unwrap()).await;
    register(&portal, &secret, "5").await.expect(403);
    t.patch(&format!("/api/systems/{id}/reactivate")).bearer(&owner.token).send().await.expect(200);
    let data = register(&portal, &secret, "5").await.expect(200).data();
    // Both go unquoted into an address and a JSON text.
    let key = text(&data, "system_key");
    assert!(key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-'), "{key}");
    assert!(secret.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.')));
    t.advance(Duration::from_secs(121));
    register(&portal, &secret, "180").await.expect(409);
    t.delete_system(id.parse().unwrap()).await;
    register(&portal, &secret, "5").await.expect(403);
});

// Proves spec: clients#checklist 7, acceptance#guarantees 12.
api_test!(registration_and_info_are_quick, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let running = t.serve().await;
    let spa = Spa::new(&running, "/collect/api", "");
    // A busy machine slows some of them down, but not all.
    let (mut is_registration_quick, mut is_info_quick) = (false, false);
    eventually("a quick one of each", async || {
        let (id, secret) = created(&t, &owner, tree.customer).await;
        let begun = Instant::now();
        let done = spa.post("/systems/register", json!({"system_secret": secret})).await.expect(200).data();
        is_registration_quick |= begun.elapsed() < Duration::from_secs(1);
        let key = text(&done, "system_key");
        let begun = Instant::now();
        let request = spa.http.get(format!("{}/systems/info", spa.url)).basic_auth(&key, Some(&secret));
        let info = reply(request.send().await.unwrap()).await.expect(200).data();
        is_info_quick |= begun.elapsed() < Duration::from_millis(300);
        // `{portal}/systems/{system_id}` leads to the page of the management id.
        assert_eq!(info["system_id"], id.as_str());
        is_registration_quick && is_info_quick
    })
    .await;
});

api_test!(
    // Proves spec: clients#checklist 5.
    a_push_of_alerts_as_appliances_write_them_is_exactly_200,
    |s| portal(s),
    |t| async move {
        let tree = t.tree().await;
        let system = t.system(tree.customer).await;
        for (base, path) in BASES.into_iter().zip(["/api/v2/alerts", "/api/v2/alerts/"].into_iter().cycle()) {
            let path = format!("{base}/services/mimir/alertmanager{path}");
            for body in [
                // The body of an Alertmanager's webhook, passed on as it came.
                r#"[{"status":"firing","labels":{"alertname":"LinkDown","severity":"critical"},"annotations":{"summary_en":"down","summary_it":"giù"},
                "startsAt":"2026-03-04T09:58:00.123456789Z","endsAt":"0001-01-01T00:00:00Z","generatorURL":"","fingerprint":"f00dfeedf00dfeed"}]"#,
                // An alert of vmalert. It evaluates its rules behind no address of its own, and writes a label twice.
                r#"[{"startsAt":"2026-03-04T09:59:00Z","generatorURL":"/vmalert/alert?group_id=1&alert_id=2","endsAt":"2026-03-04T10:20:00Z",
                "labels": {"alertname":"HighCpuUsage","alertgroup":"cpu","alertname":"HighCpuUsage","severity":"info","job":""},"annotations":{"description_en":"95 %"}}]"#,
                r#"[{"status":"resolved","labels":{"alertname":"LinkDown","severity":"critical"},"endsAt":"2026-03-04T09:59:59Z","fingerprint":"f00dfeedf00dfeed"}]"#,
                "[]",
            ] {
                let call = t.post(&path).basic(&system.key, &system.secret);
                let reply =
                    call.header("content-type", "application/json").body(body).send().await.expect(200);
                assert!(reply.body.is_empty(), "{}", reply.text());
            }
        }
        let listed =
            t.get("/api/services/mimir/alertmanager/api/v2/alerts").basic(&system.key, &system.secret);
        let listed = listed.send().await.expect(200).json();
        let names: Vec<&Value> =
            listed.as_array().unwrap().iter().map(|a| &a["labels"]["alertname"]).collect();
        assert_eq!(names, ["HighCpuUsage"], "{listed}");
        assert!(listed[0].get("status").is_some_and(Value::is_object), "{listed}");
    }
);

// Proves spec: clients#checklist 16.
api_test!(answers_are_compressed_when_asked_and_never_for_alerts, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let system = t.system(tree.customer).await;
    let running = t.serve().await;
    // Long enough to be worth it.
    let alerts = json!([{"labels": {"alertname": "A"}, "annotations": {"text": "x".repeat(8000)}}]);
    let push = t.post("/api/services/mimir/alertmanager/api/v2/alerts").basic(&system.key, &system.secret);
    push.json(alerts).send().await.expect(200);
    let user = format!("{}:{}", system.key, system.secret);
    let bearer = format!("Authorization: Bearer {}", owner.token);
    let appliance = Appliance { portal: format!("{}/collect/api", running.url), user };
    appliance.inventory(NS8).await.expect(202);
    settle(&t).await;
    let latest = format!("{}/api/systems/{}/inventory/latest", running.url, system.id);
    for (encoding, expected) in [("gzip, deflate, br, zstd", true), ("identity", false)] {
        let accept = format!("Accept-Encoding: {encoding}");
        let answer =
            curl(&["-sS", "-v", "-o", "/dev/null", "-H", &accept, "-H", &bearer, &latest], b"").await;
        assert_eq!(
            answer.stderr.to_lowercase().contains("< content-encoding: gzip"),
            expected,
            "{}",
            answer.stderr
        );
        for path in ["alerts", "alerts/groups", "silences", "status"] {
            let url = appliance.url(&format!("/services/mimir/alertmanager/api/v2/{path}"));
            let answer =
                curl(&["-sS", "-v", "--user", &appliance.user, "-H", &accept, &url], b"").await.expect(200);
            assert!(
                !answer.stderr.to_lowercase().contains("< content-encoding"),
                "{path}: {}",
                answer.stderr
            );
            serde_json::from_str::<Value>(&answer.body).expect("plain JSON");
        }
    }
    // For a document over 1 MB curl waits for `100 Continue`, and the answer follows the body.
    let mut large: Value = serde_json::from_slice(NSEC).unwrap();
    large["facts"]["blob"] = json!("y".repeat(1_100_000));
    let sent = appliance.inventory(large.to_string().as_bytes()).await.expect(202);
    assert!(sent.stderr.contains("< HTTP/1.1 100 Continue"), "{}", sent.stderr);
    // A system that may not send is refused before it has sent the body.
    let stranger = Appliance { user: "SYS-X:my_0.0".to_owned(), ..appliance };
    let refused = stranger.inventory(large.to_string().as_bytes()).await;
    assert_eq!(refused.status, 401, "{}", refused.stderr);
    assert!(!refused.stderr.contains("100 Continue"), "{}", refused.stderr);
});

// Proves spec: clients#checklist 15.
api_test!(no_answer_sends_anybody_elsewhere, |s| portal(s), |t| async move {
    let owner = t.owner().await;
    for base in BASES {
        for route in bailiwick_api::routes::table() {
            let path = filled(&route.path);
            // It would end the session that all the others need.
            if route.operation == "logout" || route.credential.is_of_alias() {
                continue;
            }
            for slash in ["", "/"] {
                let call = t.call(route.method.clone(), &format!("{base}{path}{slash}"));
                let call = if route.credential.is_of_system() { call } else { call.bearer(&owner.token) };
                let reply = call.send().await;
                assert!(!reply.status.is_redirection(), "{base}{path}{slash}: {}", reply.status);
                assert!(!reply.text().contains("api not found"), "{base}{path}{slash}");
            }
        }
    }
});
