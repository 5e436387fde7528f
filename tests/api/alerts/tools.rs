//! The Alertmanager interface of an organization, with both routers (spec: alerts-of-organizations).

use super::{
    lists::{client, fire, in_both_modes},
    silences::audited,
    *,
};
use bailiwick_policy::KeyMode;
use bailiwick_testkit::{Call, Engine, Persona, Reply, seed::Tree};

const UNKNOWN: &str = "0195fada-0000-4000-8000-00000000dead";

/// A person's tool, at one address.
pub(super) struct Tool<'t> {
    test: &'t Test,
    root: String,
    key: String,
}

impl<'t> Tool<'t> {
    async fn of(test: &'t Test, who: &Persona, mode: KeyMode, organization: &str) -> Tool<'t> {
        let (_, key) = test.api_key(who.id, mode).await;
        Tool { test, root: format!("/api/organizations/{organization}/alertmanager"), key }
    }

    /// The same key at another organization; `place` may end in `/tree`.
    fn at(&self, organization: impl std::fmt::Display) -> Tool<'t> {
        let root = format!("/api/organizations/{organization}/alertmanager");
        Tool { test: self.test, root, key: self.key.clone() }
    }

    fn call(&self, method: &str, path: &str) -> Call {
        let call = self.test.call(method.parse().unwrap(), &format!("{}/api/v2{path}", self.root));
        call.bearer(&self.key)
    }

    async fn get(&self, path: &str) -> Reply {
        self.call("GET", path).send().await
    }

    async fn post(&self, body: &Value) -> Reply {
        self.call("POST", "/silences").json(body.clone()).send().await
    }

    async fn list(&self, path: &str) -> Vec<Value> {
        self.get(path).await.expect(200).json().as_array().unwrap().clone()
    }

    /// The names of the alerts, sorted.
    async fn names(&self, query: &str) -> Vec<String> {
        let alerts = self.list(&format!("/alerts{query}")).await;
        let mut names: Vec<String> =
            alerts.iter().map(|a| a["labels"]["alertname"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }
}

/// A silence of a system for an hour.
fn silence_of(t: &Test, key: &str, name: &str) -> Value {
    json!({
        "matchers": [
            {"name": "alertname", "value": name, "isRegex": false},
            {"name": "system_key", "value": key, "isRegex": false, "isEqual": true},
        ],
        "startsAt": t.app.platform.now().rfc3339(0), "endsAt": t.app.platform.now().plus(MINUTE * 60).rfc3339(0),
        "createdBy": "grafana", "comment": "at work",
    })
}

/// One alert in each of four organizations, and their systems in that order.
async fn forest(t: &Test) -> (Tree, Vec<Client<'_>>) {
    let tree = t.tree().await;
    let mut clients = Vec::new();
    for (organization, name) in
        [(tree.reseller, "R"), (tree.customer, "C"), (tree.other_reseller, "OR"), (tree.other_customer, "OC")]
    {
        let c = client(t, organization).await;
        fire(&c, &[json!({"alertname": name, "severity": "warning", "job": "node"})]).await;
        clients.push(c);
    }
    (tree, clients)
}

in_both_modes!(alerts_of_one_organization_and_of_a_branch, |t| async {
    let (tree, clients) = forest(t).await;
    let support = t.user(tree.distributor, &["reader"]).await;
    let tool = Tool::of(t, &support, KeyMode::Read, &tree.reseller.to_string()).await;
    assert_eq!(tool.names("").await, ["R"]);
    assert_eq!(tool.at(tree.distributor).names("").await, [""; 0]);
    for organization in [tree.reseller, tree.distributor] {
        assert_eq!(tool.at(format!("{organization}/tree")).names("").await, ["C", "R"]);
    }
    let branch = tool.at(format!("{}/tree", tree.distributor));
    assert_eq!(branch.names("?filter=alertname%3DC").await, ["C"]);
    assert_eq!(
        branch.names("?filter=alertname%3D~C.*&filter=job%3Dnode&filter=severity%21%3Dinfo").await,
        ["C"]
    );
    assert_eq!(branch.names("?filter=severity%3Dcritical").await, [""; 0]);
    assert_eq!(branch.names("?filter=severity%3Dwarning&active=false").await, [""; 0]);
    assert_eq!(branch.names(&format!("?filter=organization_id%3D{}", tree.customer)).await, ["C"]);
    assert_eq!(branch.names(&format!("?filter=system_key%3D%22{}%22", clients[0].system.key)).await, ["R"]);
    assert_eq!(branch.names("?receiver=default").await, ["C", "R"]);
    assert_eq!(branch.names("?receiver=other").await, [""; 0]);
    let refused = branch.get("/alerts?filter=alertname").await.expect(400);
    assert!(refused.text().starts_with("\"bad matcher format"), "{}", refused.text());

    // Exactly what the system sees of its own alert, and it names its system.
    let alert = branch.list("/alerts?filter=alertname%3DC").await.remove(0);
    let own = clients[1].get("/api/v2/alerts").await.expect(200).json();
    assert_eq!(alert, own[0]);
    assert_eq!(alert["labels"]["organization_id"], tree.customer.to_string());
    assert_eq!(alert["receivers"], json!([{"name": "default"}]));
    let groups = branch.list("/alerts/groups").await;
    assert_eq!(groups.len(), 2);
    assert_eq!(groups[0]["labels"]["alertname"], "C");
    assert_eq!(groups[0]["alerts"][0], alert);
    assert_eq!(branch.get("/status").await.expect(200).json()["cluster"]["status"], "ready");
    assert_eq!(branch.list("/receivers").await, [json!({"name": "default", "labels": {"name": "default"}})]);

    // The owner, and a customer's user.
    let owner = Tool::of(t, &t.owner().await, KeyMode::Read, &format!("{}/tree", tree.owner)).await;
    assert_eq!(owner.names("").await, ["C", "OC", "OR", "R"]);
    assert_eq!(owner.at(tree.owner).names("").await, [""; 0]);
    let customer = t.user(tree.customer, &["reader"]).await;
    let own = Tool::of(t, &customer, KeyMode::Read, &tree.customer.to_string()).await;
    assert_eq!(own.names("").await, ["C"]);
    assert_eq!(own.at(format!("{}/tree", tree.customer)).names("").await, ["C"]);
    for (tool, foreign) in [(&own, tree.reseller), (&own, tree.other_customer), (&tool, tree.other_customer)]
    {
        for end in ["", "/tree"] {
            for path in ["/alerts", "/alerts/groups", "/silences", "/status", "/receivers"] {
                let theirs = tool.at(format!("{foreign}{end}")).get(path).await;
                assert_eq!(
                    (theirs.status.as_u16(), theirs.message().as_str()),
                    (404, "organization not found")
                );
                for unknown in [UNKNOWN, "x", "%00"] {
                    let unknown = tool.at(format!("{unknown}{end}")).get(path).await;
                    assert_eq!((unknown.status, &unknown.body), (theirs.status, &theirs.body), "{path}");
                }
            }
        }
    }
});

in_both_modes!(silences_are_made_seen_changed_and_ended, |t| async {
    let (tree, clients) = forest(t).await;
    let admin = t.user(tree.distributor, &["admin"]).await;
    let branch = Tool::of(t, &admin, KeyMode::Write, &format!("{}/tree", tree.distributor)).await;
    let (reseller, customer) = (branch.at(tree.reseller), branch.at(tree.customer));
    let system = &clients[1].system;
    for tool in [&branch, &customer] {
        let before = audited(t).await.len();
        let sent = silence_of(t, &system.key, "C");
        let id = tool.post(&sent).await.expect(200).json()["silenceID"].as_str().unwrap().to_owned();
        let alert =
            branch.list("/alerts").await.into_iter().find(|a| a["labels"]["alertname"] == "C").unwrap();
        assert_eq!(alert["status"]["silencedBy"], json!([id]));
        assert_eq!(branch.names("?silenced=false").await, ["R"]);
        // The system sees it as one of its own.
        let own = clients[1].get(&format!("/api/v2/silence/{id}")).await.expect(200).json();
        assert_eq!(own["matchers"].as_array().unwrap().len(), 2);
        for tool in [&branch, &customer] {
            let shown = tool.get(&format!("/silence/{id}")).await.expect(200).json();
            let organization = json!({"name": "organization_id", "value": tree.customer.to_string(), "isRegex": false, "isEqual": true});
            assert_eq!(shown["matchers"][2], organization);
            assert_eq!((&shown["createdBy"], &shown["comment"]), (&json!("grafana"), &json!("at work")));
            let filter = format!("?expired=false&filter=organization_id%3D%22{}%22", tree.customer);
            assert_eq!(tool.list(&format!("/silences{filter}")).await, [shown]);
        }
        assert_eq!(reseller.list("/silences").await, [] as [Value; 0]);
        assert_eq!(reseller.get(&format!("/silence/{id}")).await.expect(404).body.len(), 0);
        reseller.call("DELETE", &format!("/silence/{id}")).send().await.expect(404);

        // What is shown may be sent back with another end.
        let mut changed = tool.get(&format!("/silence/{id}")).await.expect(200).json();
        changed["endsAt"] = json!(t.app.platform.now().plus(MINUTE * 90).rfc3339(0));
        let again = tool.post(&changed).await.expect(200).json();
        assert_eq!(again["silenceID"], id.as_str(), "the same matchers keep the id");
        changed["id"] = json!(UNKNOWN);
        assert_eq!(tool.post(&changed).await.expect(404).text(), "\"silence not found\"\n");

        tool.call("DELETE", &format!("/silence/{id}")).send().await.expect(200);
        tool.call("DELETE", &format!("/silence/{id}")).send().await.expect(200);
        assert_eq!(branch.names("?silenced=false").await, ["C", "R"]);
        assert_eq!(tool.list("/silences?expired=false").await, [] as [Value; 0]);
        assert!(tool.list("/silences").await.iter().any(|s| s["id"] == id.as_str()));
        let recorded = audited(t).await.split_off(before);
        assert_eq!(recorded, ["alert_silence.create", "alert_silence.update", "alert_silence.delete"]);
    }
});

in_both_modes!(a_silence_is_for_one_system_within_reach, |t| async {
    let (tree, clients) = forest(t).await;
    let admin = t.user(tree.distributor, &["admin"]).await;
    let branch = Tool::of(t, &admin, KeyMode::Write, &format!("{}/tree", tree.distributor)).await;
    let one = branch.at(tree.customer);
    let (reseller, customer, foreign) = (&clients[0].system, &clients[1].system, &clients[3].system);
    let matcher = |name: &str, value: &str, is_regex: bool, is_equal: bool| json!({"name": name, "value": value, "isRegex": is_regex, "isEqual": is_equal});
    let unnamed = "\"a silence needs a matcher system_key=\\\"...\\\" of one system\"\n";
    let unreachable = "\"matcher system_key does not match a system of this organization\"\n";
    let named = |key: &str| vec![matcher("system_key", key, false, true)];
    let with = |more: Value| [named(&customer.key), vec![more]].concat();
    let other_organization = matcher("organization_id", &tree.other_customer.to_string(), false, true);
    for (tool, matchers, refusal) in [
        (&branch, vec![matcher("alertname", "C", false, true)], unnamed),
        (&branch, vec![matcher("system_key", &customer.key, true, true)], unnamed),
        (
            &branch,
            vec![matcher("system_key", &customer.key, false, false), matcher("a", "b", false, true)],
            unnamed,
        ),
        (&branch, [named(&customer.key), named(&reseller.key)].concat(), unnamed),
        (&branch, named(&foreign.key), unreachable),
        (&branch, named("SYS-UNKNOWN"), unreachable),
        (&branch, named("a\u{0}b"), unreachable),
        (&one, named(&reseller.key), unreachable),
        (&one, with(other_organization), "\"matcher organization_id does not match this system\"\n"),
        (
            &one,
            with(matcher("system_key", "x.*", true, true)),
            "\"matcher system_key does not match this system\"\n",
        ),
    ] {
        let mut body = silence_of(t, "", "");
        body["matchers"] = json!(matchers);
        let reply = tool.post(&body).await;
        assert_eq!((reply.status.as_u16(), reply.text().as_str()), (400, refusal), "{body}");
    }
    for (path, body, status) in [
        ("/silences", json!([]), 400),
        ("/silences", json!({}), 422),
        ("/silences", json!(null), 422),
        (
            "/silences",
            json!({"matchers": [], "startsAt": "", "endsAt": "", "createdBy": "", "comment": ""}),
            422,
        ),
        ("/silences", json!({"matchers": "x"}), 400),
    ] {
        let reply = branch.call("POST", path).json(body.clone()).send().await;
        assert_eq!(reply.status.as_u16(), status, "{body}: {}", reply.text());
    }
    for tool in [&branch, &one] {
        assert_eq!(tool.list("/silences").await, [] as [Value; 0], "nothing was written");
        let wrong = tool.get("/silence/x").await.expect(422).json();
        assert_eq!(wrong["code"], 601);
        // A silence of another branch, and of another system by its id.
        let theirs = silence_of(t, &foreign.key, "OC").to_string();
        let theirs =
            clients[3].silence(&theirs).await.expect(200).json()["silenceID"].as_str().unwrap().to_owned();
        for method in ["GET", "DELETE"] {
            let unknown = tool.call(method, &format!("/silence/{UNKNOWN}")).send().await.expect(404);
            let foreign = tool.call(method, &format!("/silence/{theirs}")).send().await.expect(404);
            assert_eq!(foreign.body, unknown.body);
        }
        let mut taken = silence_of(t, &customer.key, "C");
        taken["id"] = json!(theirs);
        assert_eq!(tool.post(&taken).await.expect(404).text(), "\"silence not found\"\n");
        let stored = clients[3].get(&format!("/api/v2/silence/{theirs}")).await.expect(200).json();
        assert_eq!(stored["status"]["state"], "active");
    }
});

api_test!(paths_and_credentials_of_tools, |s| generous(s), |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let reader = t.user(tree.distributor, &["reader"]).await;
    let admin = t.user(tree.distributor, &["admin"]).await;
    let read = Tool::of(&t, &admin, KeyMode::Read, &tree.customer.to_string()).await;
    let weak = Tool::of(&t, &reader, KeyMode::Write, &tree.customer.to_string()).await;
    let body = silence_of(&t, &system.key, "A");
    for tool in [&read, &weak] {
        tool.get("/silences").await.expect(200);
        tool.post(&body).await.expect_message(403, "insufficient permissions");
        let ended = tool.call("DELETE", &format!("/silence/{UNKNOWN}")).send().await;
        ended.expect_message(403, "insufficient permissions");
        // The permission comes before the organization.
        let foreign = tool.at(tree.other_customer).post(&body).await;
        foreign.expect_message(403, "insufficient permissions");
    }
    let root = format!("/api/organizations/{}/alertmanager", tree.customer);
    let alerts = format!("{root}/api/v2/alerts");
    for (call, status, message) in [
        (t.get(&alerts), 401, "authorization header required"),
        (t.get(&alerts).bearer(&admin.token), 401, "api key required"),
        (t.get(&alerts).basic(&system.key, &system.secret), 401, "api key required"),
        (t.get(&alerts).basic("me", "myk_1.2"), 401, "invalid api key"),
        (t.get(&alerts).header("authorization", "Basic !"), 401, "invalid authorization header format"),
        (t.get(&alerts).header("authorization", "Digest x"), 401, "invalid authorization header format"),
        (t.get(&alerts).header("authorization", "Bearer"), 401, "token not provided"),
    ] {
        let reply = call.send().await;
        assert!(
            status != 401 || reply.header("www-authenticate").unwrap().contains("Basic realm="),
            "{message}"
        );
        reply.expect_message(status, message);
    }
    for user in ["", "me", "a%3Ab"] {
        t.get(&alerts).basic(user, &read.key).send().await.expect(200);
    }
    for base in ["", "/api", "/backend/api", "/collect/api"] {
        let path = format!("{base}/organizations/{}/tree/alertmanager/api/v2/alerts/", tree.distributor);
        let reply = t.get(&path).bearer(&read.key).send().await.expect(200);
        assert_eq!(
            (reply.text().as_str(), reply.header("cache-control")),
            ("[]\n", Some("no-store")),
            "{path}"
        );
    }
    for (method, path, status, allow) in [
        ("POST", "/alerts", 405, Some("GET")),
        ("HEAD", "/alerts", 405, Some("GET")),
        ("PUT", "/silences", 405, Some("POST,GET")),
        ("POST", "/status", 405, Some("GET")),
        ("PUT", "/silence/x", 405, Some("DELETE,GET")),
        ("GET", "/silences/x", 404, None),
        ("GET", "/nope", 404, None),
        ("GET", "", 404, None),
    ] {
        let reply = read.call(method, path).send().await;
        assert_eq!((reply.status.as_u16(), reply.header("allow")), (status, allow), "{method} {path}");
        let unknown = read.at(UNKNOWN).call(method, path).send().await;
        assert_eq!(unknown.status, reply.status, "{method} {path}: the path comes before the organization");
    }
    t.get(&format!("{root}/api/v1/alerts")).bearer(&read.key).send().await.expect(410);
    for other in [
        format!("{root}/alertmanager/api/v2/status"),
        format!("{root}/x"),
        root.replace("/alertmanager", "/api/v2/status"),
    ] {
        t.get(&other).bearer(&read.key).send().await.expect_message(404, "api not found");
    }
    let reply = t.get(&alerts).bearer(&read.key).header("accept", "text/html").send().await;
    assert_eq!(reply.status, 406);
    // Suspended people and revoked keys are out at once.
    let owner = t.owner().await;
    t.patch(&format!("/api/users/{}/suspend", admin.id)).bearer(&owner.token).send().await.expect(200);
    read.get("/alerts").await.expect_message(401, "invalid api key");
});

/// A branch asks ten thousand times for what is another's, by every address and text it can think of.
async fn hostile(t: &Test, requests: u64) {
    let (tree, clients) = forest(t).await;
    let theirs = [&clients[2], &clients[3]];
    let mut secrets: Vec<String> = vec![tree.other_reseller.to_string(), tree.other_customer.to_string()];
    let mut silences = Vec::new();
    for c in theirs {
        let body = silence_of(t, &c.system.key, "SecretName").to_string();
        let id = c.silence(&body).await.expect(200).json()["silenceID"].as_str().unwrap().to_owned();
        secrets.extend([c.system.key.clone(), c.system.id.to_string(), id.clone()]);
        silences.push(id);
    }
    let admin = t.user(tree.distributor, &["admin"]).await;
    let tool = Tool::of(t, &admin, KeyMode::Write, "x").await;
    let own = [tree.distributor, tree.reseller, tree.customer].map(|id| id.to_string());
    // Often an address of their own, with something foreign in the request.
    let mut places: Vec<String> = std::iter::repeat_n(own, 4).flatten().collect();
    places.extend(secrets.iter().cloned());
    places.extend([
        tree.owner.to_string(),
        "..".into(),
        "%2e%2e".into(),
        format!("{}%2Ftree", tree.customer),
    ]);
    let mut state = 7_u64;
    let mut draw = move |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((state >> 33) % n as u64).unwrap()
    };
    let own: [&str; 2] = [&clients[0].system.key, &clients[1].system.key];
    let (mut good, mut refused) = (0, 0);
    for _ in 0..requests {
        let foreign = secrets[draw(secrets.len())].clone();
        let organization = &places[draw(places.len())];
        let probe = tool.at(format!("{organization}{}", ["", "/tree", "/tree/tree", "/%74ree"][draw(4)]));
        let name = ["organization_id", "system_key", "system_id", "alertname", "__name__"][draw(5)];
        let operator = ["%3D", "%21%3D", "%3D~", "%21~"][draw(4)];
        let value = [foreign.as_str(), ".*", "", "(?s).%2B", "%22"][draw(5)];
        let call = match draw(8) {
            0 => probe.call("GET", &format!("/silence/{}", silences[draw(2)])),
            1 => probe.call("DELETE", &format!("/silence/{}", silences[draw(2)])),
            2 | 3 => {
                let mut body = silence_of(t, if draw(2) == 0 { &foreign } else { own[draw(2)] }, "R");
                if draw(2) == 0 {
                    body["id"] = json!(silences[draw(2)]);
                }
                if draw(2) == 0 {
                    // Only names that are not stored: what a branch writes itself it may read.
                    let name = ["organization_id", "system_key", "system_id"][draw(3)];
                    let sent = json!({"name": name, "value": foreign, "isRegex": draw(2) == 0, "isEqual": draw(2) == 0});
                    body["matchers"].as_array_mut().unwrap().push(sent);
                }
                probe.call("POST", "/silences").json(body)
            }
            4 => probe.call("GET", &format!("/silences?filter={name}{operator}{value}")),
            5 => probe.call("GET", &format!("/alerts/groups?filter={name}{operator}{value}&receiver=.*")),
            _ => probe.call("GET", &format!("/alerts?filter={name}{operator}{value}&silenced={}", draw(2))),
        };
        let call = if draw(3) == 0 { call.header("x-scope-orgid", &secrets[draw(2)]) } else { call };
        let reply = call.send().await;
        assert!(reply.status.as_u16() < 500, "{}", reply.text());
        if reply.status == 200 {
            good += 1
        } else {
            refused += 1
        }
        let text = reply.text();
        for secret in &secrets {
            // A refused matcher may be repeated to the one who sent it.
            let is_echo = reply.status == 400 && text.contains("matcher");
            assert!(is_echo || !text.contains(secret.as_str()), "{organization}: {text}");
        }
    }
    assert!(good > requests / 20 && refused > requests / 20, "{good} and {refused}");
    for (c, id) in theirs.into_iter().zip(&silences) {
        let stored = c.get(&format!("/api/v2/silence/{id}")).await.expect(200).json();
        assert_eq!((&stored["status"]["state"], &stored["comment"]), (&json!("active"), &json!("at work")));
        let all = c.get("/api/v2/silences").await.expect(200).json();
        assert_eq!(all.as_array().unwrap().len(), 1, "no silence was made for them");
    }
}

/// A branch may write as many silences as it likes.
fn unlimited(settings: &mut bailiwick_testkit::Settings) {
    generous(settings);
    settings.alerting.limits.silences_per_tenant = 1_000_000;
    settings.alerting.limits.silences_per_system = 1_000_000;
}

api_test!(ten_thousand_hostile_requests_show_nothing, |s| unlimited(s), |t| async move {
    let requests = if t.engine == Engine::Sqlite { 6_000 } else { 4_000 };
    hostile(&t, requests).await;
});

// More alerts than fit into one read come in full, by fingerprint.
api_test!(many_alerts_come_in_full, |s| generous(s), |t| async move {
    let tree = t.tree().await;
    let admin = t.user(tree.distributor, &["admin"]).await;
    let branch = Tool::of(&t, &admin, KeyMode::Read, &format!("{}/tree", tree.distributor)).await;
    for organization in [tree.reseller, tree.customer] {
        let c = client(&t, organization).await;
        let alerts: Vec<Value> =
            (0..400).map(|n| json!({"labels": {"alertname": format!("A{n}")}})).collect();
        c.push(&json!(alerts).to_string()).await.expect(200);
    }
    written(&t).await;
    let alerts = branch.list("/alerts").await;
    let prints: Vec<&str> = alerts.iter().map(|a| a["fingerprint"].as_str().unwrap()).collect();
    assert_eq!(prints.len(), 800);
    assert!(prints.is_sorted());
    assert_eq!(branch.names("?filter=alertname%3DA7").await, ["A7", "A7"]);
});
