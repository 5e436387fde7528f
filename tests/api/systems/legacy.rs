//! Credentials from an earlier installation (spec: systems-interface#credentials, systems-interface#older-paths): older
//! pairs and the paths for them, imported hashes.

use super::{lifecycle::counters_are_true, *};
use argon2::{Argon2, PasswordHasher};
use bailiwick_alerts as alerts;
use bailiwick_directory::objects;
use bailiwick_domain::{Error, SystemId};
use bailiwick_fleet::{inventory, systems};
use bailiwick_identity::credentials::{self, Imports};
use bailiwick_platform::{RequestContext, conditions::Conditions};
use bailiwick_testkit::{Call, Engine, Settings, seed::Seeded};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::net::IpAddr;

const HEADER: &str = "system_id,legacy_id,legacy_secret,system_key,secret_public,secret_hash,registered_at";
const OLD_ID: &str = "5c6f3a52-77aa-4f7e-9f51-3f0e6c9b2f10";
const OLD_SECRET: &str = "4f1c0e5d7a3b9c8e6f2d1a0b3c4d5e6f7a8b9c0d";
const WRONG: &str = "invalid system credentials";
const BASES: [&str; 4] = ["", "/api", "/backend/api", "/collect/api"];

fn on(settings: &mut Settings) {
    settings.systems.legacy_aliases = true;
}

async fn import(t: &Test, rows: &str) -> Result<Imports, Vec<String>> {
    match credentials::import(&t.app.identity, format!("{HEADER}\n{rows}\n").as_bytes()).await {
        Ok(done) => Ok(done),
        Err(Error::Invalid(fields)) => {
            Err(fields.iter().map(|f| format!("{} {}", f.key, f.message)).collect())
        }
        Err(e) => Err(vec![e.to_string()]),
    }
}

async fn pair(t: &Test, system: SystemId) {
    let done = import(t, &format!("{system},{OLD_ID},{OLD_SECRET},,,,")).await;
    assert_eq!(done, Ok(Imports { pairs: 1, keys: 0 }));
}

fn old(call: Call) -> Call {
    call.basic(OLD_ID, OLD_SECRET)
}

async fn beat(t: &Test) -> Reply {
    old(t.post("/proxy/heartbeat")).send().await
}

api_test!(without_the_setting_nothing_older_is_served, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    pair(&t, system.id).await;
    for base in BASES {
        for (method, path) in [
            ("POST", "heartbeat"),
            ("POST", "inventory"),
            ("POST", "backup"),
            ("POST", "alerts"),
            ("POST", "alerts/api/v2/alerts"),
            ("GET", "credentials"),
        ] {
            let call = t.call(method.parse().unwrap(), &format!("{base}/proxy/{path}"));
            old(call).send().await.expect_message(404, "api not found");
        }
    }
});

api_test!(aliases_do_what_the_operations_do, |settings| on(settings), |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    pair(&t, system.id).await;
    let new = |call: Call| call.basic(&system.key, &system.secret);
    for base in BASES {
        for who in [&old as &(dyn Fn(Call) -> Call + Sync), &new] {
            let post_to = |path: &str| t.post(&format!("{base}/proxy/{path}"));
            let reply = who(post_to("heartbeat")).send().await.expect_message(200, "heartbeat acknowledged");
            assert_eq!(reply.data()["system_key"], json!(system.key));
            let document = json!({"installation": "nethserver", "facts": {"base": base}});
            let reply = who(post_to("inventory")).json(document).send().await.expect(202);
            assert_eq!(reply.message(), "Inventory received and queued for processing");
            for path in ["alerts", "alerts/", "alerts/api/v2/alerts"] {
                let alert = json!([{"labels": {"alertname": "A"}}]);
                let reply = who(post_to(path)).json(alert).send().await.expect(200);
                assert_eq!(reply.text(), "", "{base} {path}");
            }
        }
    }
    let upload = old(t.post("/proxy/backup")).header("content-length", "4").header("x-filename", "a.gpg");
    let made = upload.body("text").send().await.expect_message(201, "backup stored").data();
    assert!(text(&made, "id").ends_with(".gpg"));
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    let owner = t.owner().await;
    let shown = get(&t, &owner, &format!("/{}", system.id)).await.expect(200).data();
    assert_eq!((&shown["status"], &shown["type"]), (&json!("active"), &json!("ns8")));
    let alerts = new(t.get("/services/mimir/alertmanager/api/v2/alerts")).send().await.expect(200).json();
    assert_eq!(alerts[0]["labels"]["organization_id"], json!(tree.customer));
    // Errors are those of the operations as well.
    old(t.post("/proxy/inventory")).send().await.expect_message(400, "invalid inventory data");
    let reply = old(t.post("/proxy/alerts")).json(json!([{}])).send().await.expect(422);
    assert_eq!(reply.json()["code"], 602);
    old(t.post("/proxy/alerts")).body("[]").send().await.expect(415);
    for (method, path) in
        [("GET", "alerts"), ("GET", "heartbeat"), ("POST", "credentials"), ("POST", "alerts/x")]
    {
        let call = t.call(method.parse().unwrap(), &format!("/proxy/{path}"));
        old(call).send().await.expect_message(404, "api not found");
    }
    // The older pair opens nothing else.
    for (method, path) in [
        ("POST", "/systems/heartbeat"),
        ("GET", "/systems/info"),
        ("POST", "/systems/unregister"),
        ("GET", "/systems/backups"),
        ("GET", "/services/mimir/alertmanager/api/v2/alerts"),
    ] {
        old(t.call(method.parse().unwrap(), path)).send().await.expect_message(401, WRONG);
    }
});

api_test!(
    // Proves spec: guarantees#systems 17.
    older_pairs_live_by_the_rules_of_all_credentials,
    |settings| on(settings),
    |t| async move {
        let tree = t.tree().await;
        let other = match t.engine {
            Engine::Postgres => Some(t.replica().await),
            Engine::Sqlite => None,
        };
        let (owner, system) = (t.owner().await, t.system(tree.customer).await);
        pair(&t, system.id).await;
        let answers = async |is_allowed: bool| {
            for process in [Some(&t), other.as_ref()].into_iter().flatten() {
                let reply = beat(process).await;
                let credentials = old(process.get("/proxy/credentials"));
                if is_allowed {
                    reply.expect(200);
                } else {
                    reply.expect_message(401, WRONG);
                    credentials.send().await.expect_message(401, WRONG);
                }
            }
        };
        answers(true).await;
        let act = async |method: &str, path: String| {
            t.call(method.parse().unwrap(), &path).bearer(&owner.token).send().await.expect(200);
        };
        let of_system = format!("/api/systems/{}", system.id);
        for (end, begin) in [
            (("PATCH", format!("{of_system}/suspend")), ("PATCH", format!("{of_system}/reactivate"))),
            (("DELETE", of_system.clone()), ("PATCH", format!("{of_system}/restore"))),
            (
                ("PATCH", format!("/api/resellers/{}/suspend", tree.reseller)),
                ("PATCH", format!("/api/resellers/{}/reactivate", tree.reseller)),
            ),
            (
                ("DELETE", format!("/api/distributors/{}", tree.distributor)),
                ("PATCH", format!("/api/distributors/{}/restore", tree.distributor)),
            ),
        ] {
            act(end.0, end.1).await;
            answers(false).await;
            act(begin.0, begin.1).await;
            answers(true).await;
        }
        // Unregistered it may do nothing but fetch a new secret.
        let call = t.post("/systems/unregister").basic(&system.key, &system.secret);
        call.send().await.expect(200);
        beat(&t).await.expect_message(401, WRONG);
        old(t.get("/proxy/credentials")).send().await.expect_message(200, "credentials issued");
        answers(true).await;
        // It goes along, and goes with the system; or when an operator takes it away.
        put(&t, &owner, &system.id.to_string(), json!({"organization_id": tree.other_customer}))
            .await
            .expect(200);
        answers(true).await;
        assert_eq!(credentials::forget_legacy(&t.app.identity, Some(system.id)).await.unwrap(), 1);
        t.advance(Duration::from_secs(60));
        answers(false).await;
        pair(&t, system.id).await;
        t.advance(Duration::from_secs(60));
        answers(true).await;
        act("DELETE", format!("{of_system}/destroy")).await;
        answers(false).await;
        assert_eq!(
            Q::new("SELECT COUNT(*) FROM legacy_credentials").count(&t.app.platform.db).await.unwrap(),
            0
        );
        objects::run_until_idle(&t.app.directory).await.unwrap();
        counters_are_true(&t).await;
    }
);

api_test!(
    // Proves spec: guarantees#systems 18 43.
    guessing_at_older_pairs_is_limited,
    |settings| {
        on(settings);
        settings.limits.system_failures = 3;
    },
    |t| async move {
        let tree = t.tree().await;
        let system = t.system(tree.customer).await;
        pair(&t, system.id).await;
        let with = |id: &str, secret: &str, from: &str| {
            t.post("/proxy/heartbeat").basic(id, secret).from(from).send()
        };
        for bad in ["", "x", &OLD_SECRET[1..], &OLD_SECRET.to_uppercase()] {
            let reply = with(OLD_ID, bad, "192.0.2.1").await;
            assert!(reply.status == 401 || reply.status == 429, "{}", reply.text());
        }
        // From that address no longer, from another one still.
        let reply = with(OLD_ID, OLD_SECRET, "192.0.2.1").await.expect_message(429, "rate limit exceeded");
        assert!(reply.header("retry-after").is_some());
        with(OLD_ID, OLD_SECRET, "192.0.2.2").await.expect(200);
        t.advance(Duration::from_secs(60));
        with(OLD_ID, OLD_SECRET, "192.0.2.1").await.expect(200);
        // Text that no header may hold, text that can be no id, and unknown ids look alike.
        for id in ["nobody", "a\u{7f}b", &"x".repeat(300), &OLD_ID.to_uppercase(), ""] {
            let reply = with(id, OLD_SECRET, "192.0.2.3").await.expect_message(401, WRONG);
            assert_eq!(reply.header("www-authenticate"), Some("Basic realm=\"System Authentication\""));
        }
        // An unknown id is answered from memory: a pair that is imported meanwhile counts a minute later.
        let second = t.system(tree.customer).await;
        let row = format!("{},nobody,{OLD_SECRET},,,,", second.id);
        import(&t, &row).await.unwrap();
        with("nobody", OLD_SECRET, "192.0.2.4").await.expect_message(401, WRONG);
        t.advance(Duration::from_secs(60));
        let reply = with("nobody", OLD_SECRET, "192.0.2.4").await.expect(200);
        assert_eq!(reply.data()["system_key"], json!(second.key));
    }
);

api_test!(an_older_pair_fetches_a_key_and_a_secret, |settings| on(settings), |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let fresh = made(&t, &owner, tree.customer, "S").await;
    let id = text(&fresh, "id");
    pair(&t, id.parse().unwrap()).await;
    beat(&t).await.expect_message(401, WRONG);
    // Neither the pair of key and secret nor a HEAD gets one.
    let basic = t.get("/proxy/credentials").basic(text(&fresh, "system_key"), text(&fresh, "system_secret"));
    basic.send().await.expect_message(401, WRONG);
    let head = old(t.call("HEAD".parse().unwrap(), "/proxy/credentials")).send().await;
    assert_eq!(head.status, 404);
    let issue = async || {
        let reply = old(t.get("/collect/api/proxy/credentials")).from("192.0.2.9").send().await;
        let reply = reply.expect_message(200, "credentials issued");
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        reply.data()
    };
    let first = issue().await;
    assert_eq!(first.as_object().unwrap().len(), 2);
    assert_eq!(first["system_key"], fresh["system_key"]);
    let info = |issued: &Value| {
        t.get("/systems/info").basic(text(issued, "system_key"), text(issued, "system_secret")).send()
    };
    let shown = info(&first).await.expect(200).data();
    assert_eq!((&shown["registered"], &shown["registered_at"]), (&json!(true), &json!(t.app.platform.now())));
    register(&t, text(&fresh, "system_secret")).await.expect(401);
    // The registration it made up for cannot be repeated.
    let again = t.post("/api/systems/register").json(json!({"system_secret": first["system_secret"]}));
    again.from("192.0.2.9").send().await.expect_message(409, "system is already registered");
    t.advance(Duration::from_secs(3600));
    let second = issue().await;
    info(&first).await.expect_message(401, WRONG);
    let shown = info(&second).await.expect(200).data();
    assert_eq!(shown["registered_at"], json!(t.app.platform.now().minus(Duration::from_secs(3600))));
    beat(&t).await.expect(200);
    let owner = t.owner().await;
    assert_eq!(get(&t, &owner, &format!("/{id}")).await.data()["system_key"], fresh["system_key"]);
    let audited: Vec<(Value,)> =
        Q::new("SELECT after FROM audit_log WHERE action = 'system.issue_credentials'")
            .all(&t.app.platform.db)
            .await
            .unwrap();
    assert_eq!(audited.len(), 2);
    assert!(audited.iter().all(|(after,)| !after.to_string().contains("my_")));
});

/// As an earlier installation would have hashed it; cheaply.
fn argon2id(secret: &str) -> String {
    let params = argon2::Params::new(64, 1, 1, None).unwrap();
    let argon2 = Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
    argon2.hash_password_with_salt(secret.as_bytes(), &[7; 16]).unwrap().to_string()
}

const PUBLIC: &str = "0a1b2c3d4e5f60718293";
const HIDDEN: &str = "00112233445566778899aabbccddeeff00112233";

/// A system that has taken over a key and a hashed secret.
async fn imported(t: &Test, org: OrgId, registered_at: &str) -> Seeded {
    let owner = t.owner().await;
    let fresh = made(t, &owner, org, "S").await;
    let (id, hash) = (text(&fresh, "id"), argon2id(HIDDEN));
    let row = format!("{id},,,NETH-OLD-7,{PUBLIC},\"{hash}\",{registered_at}");
    assert_eq!(import(t, &row).await, Ok(Imports { pairs: 0, keys: 1 }));
    Seeded { id: id.parse().unwrap(), key: "NETH-OLD-7".to_owned(), secret: format!("my_{PUBLIC}.{HIDDEN}") }
}

async fn stored_hash(t: &Test) -> String {
    let (hash,): (String,) = Q::new("SELECT secret_hash FROM systems WHERE system_key = 'NETH-OLD-7'")
        .one(&t.app.platform.db)
        .await
        .unwrap();
    hash
}

fn info(t: &Test, system: &Seeded, secret: &str) -> Call {
    t.get("/systems/info").basic(&system.key, secret)
}

api_test!(a_pair_that_is_withdrawn_under_way_fetches_nothing, |settings| on(settings), |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    pair(&t, system.id).await;
    let ip = IpAddr::from([192, 0, 2, 9]);
    let header = format!("Basic {}", STANDARD.encode(format!("{OLD_ID}:{OLD_SECRET}")));
    let admitted = credentials::authenticate_legacy(&t.app.identity, Some(&header), ip).await.unwrap();
    credentials::forget_legacy(&t.app.identity, Some(system.id)).await.unwrap();
    let ctx = RequestContext {
        request_id: "r".into(),
        client_ip: ip,
        user_agent: None,
        conditions: Conditions::default(),
    };
    let issued = systems::issue_credentials(&t.app.fleet, &ctx, &admitted).await;
    assert!(matches!(issued, Err(Error::Unauthenticated { .. })), "{issued:?}");
    t.get("/systems/info").basic(&system.key, &system.secret).send().await.expect(200);
});

api_test!(an_imported_hash_is_accepted_once_and_replaced, |t| async move {
    let tree = t.tree().await;
    let other = match t.engine {
        Engine::Postgres => Some(t.replica().await),
        Engine::Sqlite => None,
    };
    let system = imported(&t, tree.customer, "2026-01-01T00:00:00Z").await;
    assert!(stored_hash(&t).await.starts_with("$argon2id$"));
    for wrong in [
        format!("my_{PUBLIC}.{}", HIDDEN.replace('0', "1")),
        format!("my_{}.{HIDDEN}", PUBLIC.replace('0', "1")),
        format!("my_{PUBLIC}.{}", &HIDDEN[..31]),
        stored_hash(&t).await,
    ] {
        info(&t, &system, &wrong).send().await.expect_message(401, WRONG);
        register(&t, &wrong).await;
    }
    assert!(stored_hash(&t).await.starts_with("$argon2id$"));
    // Many first uses at once, in every process: all of them are right, and one hash is left.
    let calls = (0..6).flat_map(|_| [Some(&t), other.as_ref()].into_iter().flatten());
    let tasks: Vec<_> = calls.map(|p| tokio::spawn(info(p, &system, &system.secret).send())).collect();
    for task in tasks {
        task.await.unwrap().expect(200);
    }
    let own = stored_hash(&t).await;
    assert_eq!((own.len(), own.as_bytes()[32]), (97, b':'));
    for process in [Some(&t), other.as_ref()].into_iter().flatten() {
        info(process, &system, &system.secret).send().await.expect(200);
    }
    assert_eq!(stored_hash(&t).await, own);
    // The same file again changes nothing that has been used since.
    let row = format!("{},,,NETH-OLD-7,{PUBLIC},\"{}\",", system.id, argon2id(HIDDEN));
    assert_eq!(import(&t, &row).await, Ok(Imports::default()));
    assert_eq!(stored_hash(&t).await, own);
    // It is found by its key, and pushes alerts under it.
    let owner = t.owner().await;
    assert_eq!(count(&t, &owner, "?search=neth-old").await, 1);
    let push = t.post("/services/mimir/alertmanager/api/v2/alerts").basic(&system.key, &system.secret);
    push.json(json!([{"labels": {"alertname": "A"}}])).send().await.expect(200);
    alerts::purge_ended(&t.app.alerts).await.unwrap();
});

api_test!(an_imported_secret_can_be_registered, |t| async move {
    let tree = t.tree().await;
    let system = imported(&t, tree.customer, "").await;
    info(&t, &system, &system.secret).send().await.expect_message(401, WRONG);
    let (audited,): (Value,) =
        Q::new("SELECT after FROM audit_log WHERE action = 'system.import_credentials'")
            .one(&t.app.platform.db)
            .await
            .unwrap();
    assert_eq!(audited["system_key"], Value::Null, "it is not registered yet");
    let done = register(&t, &system.secret).await.expect(200).data();
    assert_eq!(done["system_key"], "NETH-OLD-7");
    assert!(!stored_hash(&t).await.starts_with('$'));
    info(&t, &system, &system.secret).send().await.expect(200);
    // Suspended, deleted and renewed it is like any other.
    t.suspend_system(system.id).await;
    info(&t, &system, &system.secret).send().await.expect_message(401, WRONG);
});

// Proves spec: guarantees#systems 17.
api_test!(an_imported_secret_that_has_been_replaced_is_worth_nothing, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let system = imported(&t, tree.customer, "2026-01-01T00:00:00Z").await;
    let path = format!("/api/systems/{}/regenerate-secret", system.id);
    t.post(&path).bearer(&owner.token).json(json!({"force": true})).send().await.expect(200);
    info(&t, &system, &system.secret).send().await.expect_message(401, WRONG);
    register(&t, &system.secret).await.expect(401);
});

api_test!(what_cannot_be_imported_is_named_line_by_line_and_changes_nothing, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let registered = t.system(tree.customer).await;
    let fresh = made(&t, &owner, tree.customer, "S").await;
    let (id, hash) = (text(&fresh, "id"), argon2id(HIDDEN));
    let unknown = "01950000-0000-7000-8000-000000000000";
    for (row, message) in [
        (format!("x,{OLD_ID},{OLD_SECRET},,,,"), "line 3, system_id is no id of a system"),
        (format!("{unknown},a,{OLD_SECRET},,,,"), "line 3, system_id is no id of a system"),
        (format!("{id},,,,,,"), "line 3, system_id has neither an older pair nor a key with its secret"),
        (
            format!("{id},a:b,{OLD_SECRET},,,,"),
            "line 3, legacy_id is not 1 to 255 printable characters without space and colon",
        ),
        (format!("{id},a,0123456789abcdef,,,,"), "line 3, legacy_secret is not 32 to 512 hexadecimal digits"),
        (format!("{id},a,,,,,"), "line 3, legacy_secret is not 32 to 512 hexadecimal digits"),
        (
            format!("{id},,,lower,{PUBLIC},\"{hash}\","),
            "line 3, system_key is not 1 to 255 of the characters A to Z, 0 to 9 and -",
        ),
        (format!("{id},,,KEY,a.b,\"{hash}\","), "line 3, secret_public is not 1 to 64 letters, digits and _"),
        (format!("{id},,,KEY,{PUBLIC},plain,"), "line 3, secret_hash is no Argon2id hash of a bounded cost"),
        (
            format!("{id},,,KEY,{PUBLIC},\"{}\",", hash.replace("m=64", "m=4194304")),
            "line 3, secret_hash is no Argon2id hash of a bounded cost",
        ),
        (format!("{id},a,{OLD_SECRET},,,,tomorrow"), "line 3, registered_at is no RFC 3339 time"),
        (format!("{id},a,{OLD_SECRET},,,,2126-01-01T00:00:00Z"), "line 3, registered_at is in the future"),
        (format!("{},b,{OLD_SECRET},,,,", registered.id), "line 3, system_id is in the file twice"),
        (format!("{id},{OLD_ID},{OLD_SECRET},,,,"), "line 3, legacy_id is in the file twice"),
        (
            format!("{id},,,{},{PUBLIC},\"{hash}\",", registered.key),
            "line 3, system_key belongs to another system",
        ),
        (
            format!("{id},,,KEY,{},\"{hash}\",", &registered.secret[3..23]),
            "line 3, secret_public belongs to another system",
        ),
    ] {
        // A good line before it is not taken either.
        let rows = format!("{},{OLD_ID},{OLD_SECRET},,,,\n{row}", registered.id);
        assert_eq!(import(&t, &rows).await, Err(vec![message.to_owned()]), "{row}");
    }
    let row = format!("{},,,KEY,{PUBLIC},\"{hash}\",", registered.id);
    let message = "line 2, system_id is registered: it keeps its key and secret";
    assert_eq!(import(&t, &row).await, Err(vec![message.to_owned()]));
    assert_eq!(Q::new("SELECT COUNT(*) FROM legacy_credentials").count(&t.app.platform.db).await.unwrap(), 0);
    pair(&t, registered.id).await;
    let row = format!("{id},{OLD_ID},{OLD_SECRET},,,,");
    let message = "line 2, legacy_id belongs to another system";
    assert_eq!(import(&t, &row).await, Err(vec![message.to_owned()]));
    let wrong = import(&t, "\n\nx,,,,,,").await.unwrap_err();
    assert_eq!(wrong, ["line 4, system_id is no id of a system"]);
    let wrong = import(&t, "1,2,3").await.unwrap_err();
    assert_eq!(wrong, ["bad request: invalid CSV format: line 2 has 3 cells instead of 7"]);
    info(&t, &registered, &registered.secret).send().await.expect(200);
});
