//! Answers that are kept are those that would be made, after every change and in every process.

mod figures;
mod narrow;

use crate::{
    applications::{assign, cluster, id_of, module, send, unassign},
    impersonation::let_wait,
    session::{exchange, provider_token, user},
};
use bailiwick_domain::OrgType;
use bailiwick_store::{
    impersonation::consents::{self, Consent},
    sql::Q,
};
use bailiwick_testkit::{Engine, Persona, Test, api_test};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::{io::Read as _, time::Duration};

const KEPT: [&str; 26] = [
    "/api/distributors",
    "/api/resellers?sort_by=name",
    "/api/customers?search=e&page_size=2&page=2",
    "/api/customers?status=deleted",
    "/api/users",
    "/api/users?sort_by=latest_login_at&sort_direction=desc",
    "/api/users?search=some",
    "/api/users?search=some&sort_by=latest_login_at&page_size=1",
    "/api/users/totals",
    "/api/organizations?page=1",
    "/api/customers/totals",
    "/api/filters/users",
    "/api/filters/distributors",
    "/api/filters/customers",
    "/api/users/trend?period=30",
    "/api/distributors/trend",
    "/api/customers/trend",
    "/api/applications/totals",
    "/api/applications?page_size=1",
    "/api/applications/trend?period=30",
    "/api/filters/systems",
    "/api/systems/trend?period=30",
    "/api/systems?status=deleted&sort_by=name",
    "/api/systems?status=deleted&name=e&page_size=1",
    "/api/applications?search=e&page_size=1",
    "/api/search?q=e",
];

async fn ask(t: &Test, who: &Persona, paths: &[&str]) -> Vec<Value> {
    let mut answers = Vec::new();
    for path in paths {
        answers.push(t.get(path).bearer(&who.token).send().await.expect(200).data());
    }
    answers
}

/// Checks that each process answers the same as it does after it has forgotten its whole answer cache.
pub async fn is_true(processes: &[&Test], who: &Persona, after: &str) {
    is_same(processes, who, &KEPT, after).await;
}

async fn is_same(processes: &[&Test], who: &Persona, paths: &[&str], after: &str) {
    for t in processes {
        let first = ask(t, who, paths).await;
        t.app.platform.answers.forget();
        assert_eq!(first, ask(t, who, paths).await, "after {after}");
    }
}

api_test!(every_change_of_organizations_and_users_shows_at_once_in_every_process, |t| async move {
    let tree = t.tree().await;
    let replica = if t.engine == Engine::Postgres { Some(t.replica().await) } else { None };
    let processes: Vec<&Test> = std::iter::once(&t).chain(&replica).collect();
    let owner = t.owner().await;
    let user = t.user(tree.reseller, &["admin"]).await;
    let account = json!({"email": "someone@example.org", "name": "Someone", "user_role_ids": ["reader"],
        "organization_id": tree.customer.to_string()});
    let company = json!({"name": "A new company", "description": "", "custom_data": {"vat": "12345678901"}});
    is_true(&processes, &owner, "nothing").await;

    let call = async |method: &str, path: String, body: Value| {
        let request = match method {
            "POST" => t.post(&path),
            "PUT" => t.put(&path),
            "PATCH" => t.patch(&path),
            _ => t.delete(&path),
        };
        let request = request.bearer(&owner.token);
        let reply = if body.is_null() { request.send().await } else { request.json(body).send().await };
        assert!(reply.status.is_success(), "{method} {path}: {}", reply.text());
        is_true(&processes, &owner, &format!("{method} {path}")).await;
        reply
    };
    let id = call("POST", "/api/users".into(), account).await.data()["id"].as_str().unwrap().to_owned();
    let new = format!("/api/users/{id}");
    call("PUT", new.clone(), json!({"name": "Somebody", "organization_id": tree.other_customer.to_string()}))
        .await;
    call("PATCH", format!("{new}/suspend"), Value::Null).await;
    call("DELETE", new.clone(), Value::Null).await;
    call("PATCH", format!("{new}/restore"), Value::Null).await;
    call("DELETE", format!("{new}/destroy"), Value::Null).await;
    let made = call("POST", "/api/distributors".into(), company).await;
    let made = format!("/api/distributors/{}", made.data()["id"].as_str().unwrap());
    call("PUT", made.clone(), json!({"name": "Renamed"})).await;
    call("PUT", format!("/api/customers/{}", tree.customer), json!({"name": "Renamed too"})).await;
    call("PATCH", format!("/api/resellers/{}/promote", tree.reseller), Value::Null).await;
    call("DELETE", made.clone(), Value::Null).await;
    call("DELETE", format!("{made}/destroy"), Value::Null).await;

    let own = json!({"name": "Another name", "email": "another@example.org"});
    t.post("/api/me/change-info").bearer(&user.token).json(own).send().await.expect(200);
    is_true(&processes, &owner, "a change of own details").await;
});

api_test!(every_change_of_figures_and_every_sign_in_shows_at_once_in_every_process, |t| async move {
    let tree = t.tree().await;
    let replica = if t.engine == Engine::Postgres { Some(t.replica().await) } else { None };
    let processes: Vec<&Test> = std::iter::once(&t).chain(&replica).collect();
    let owner = t.owner().await;
    let who = user(&t).await;
    let stats = [
        ("distributors", tree.distributor),
        ("customers", tree.customer),
        ("customers", tree.other_customer),
    ]
    .map(|(family, id)| format!("/api/{family}/{id}/stats"));
    let is_true = async |after: &str| {
        for t in &processes {
            let mut both = [Vec::new(), Vec::new()];
            for answers in &mut both {
                for path in &stats {
                    answers.push(t.get(path).bearer(&owner.token).send().await.expect(200).data());
                }
                t.app.platform.answers.forget();
            }
            assert_eq!(both[0], both[1], "after {after}");
        }
        is_true(&processes, &owner, after).await;
        let data = t.get(&stats[1]).bearer(&owner.token).send().await.expect(200).data();
        (data["systems_count"].as_u64().unwrap(), data["applications_count"].as_u64().unwrap())
    };
    assert_eq!(is_true("nothing").await, (0, 0));

    let system = t.system(tree.customer).await;
    let path = format!("/api/systems/{}", system.id);
    assert_eq!(is_true("a new system").await, (1, 0));
    send(&t, &system, cluster(json!([module("mail1", "mail")]))).await;
    let application = id_of(&t, &owner, "mail1").await;
    assign(&t, &owner, &application, tree.customer).await.expect(200);
    assert_eq!(is_true("an assignment").await, (1, 1));
    send(&t, &system, cluster(json!([module("web1", "web")]))).await;
    assert_eq!(is_true("a document without the application").await, (1, 0));
    send(&t, &system, cluster(json!([module("mail1", "mail")]))).await;
    is_true("a document with it again").await;
    assign(&t, &owner, &application, tree.customer).await;
    unassign(&t, &owner, &application).await;
    assert_eq!(is_true("an assignment taken back").await, (1, 0));
    for (method, path, systems) in [
        ("DELETE", path.clone(), 0),
        ("PATCH", format!("{path}/restore"), 1),
        ("PUT", path.clone(), 0),
        ("DELETE", path.clone(), 0),
        ("DELETE", format!("{path}/destroy"), 0),
    ] {
        let call = match method {
            "PUT" => t.put(&path).json(json!({"organization_id": tree.other_customer.to_string()})),
            "PATCH" => t.patch(&path),
            _ => t.delete(&path),
        };
        call.bearer(&owner.token).send().await.expect(200);
        assert_eq!(is_true(&format!("{method} {path}")).await.0, systems, "{method} {path}");
    }
    let logins = async || -> Vec<Value> {
        let reply = t.get("/api/users?sort_by=latest_login_at").bearer(&owner.token).send().await.expect(200);
        reply.data()["users"].as_array().unwrap().iter().map(|user| user["latest_login_at"].clone()).collect()
    };
    let before = logins().await;
    t.advance(Duration::from_secs(60));
    let (token, _) = provider_token(&t, who, "bailiwick").await;
    exchange(&t, &token).await.expect(200);
    is_true("a sign-in").await;
    assert_ne!(before, logins().await);
});

api_test!(a_kept_answer_is_compressed_for_who_takes_that, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for _ in 0..8 {
        t.user(tree.customer, &["reader"]).await;
        t.organization(tree.reseller, OrgType::Customer, "Another one").await;
    }
    let ask = async |accept: &str| {
        let call = t.get("/api/filters/users").bearer(&owner.token);
        let call = if accept.is_empty() { call } else { call.header("accept-encoding", accept) };
        call.send().await.expect(200)
    };
    let plain = ask("").await;
    assert!(plain.body.len() > 1024 && plain.header("content-encoding").is_none());
    for accept in ["gzip", "br, GZIP;q=0.5", "gzip, deflate, br, zstd"] {
        let reply = ask(accept).await;
        assert_eq!(
            (reply.header("content-encoding"), reply.header("vary")),
            (Some("gzip"), Some("accept-encoding"))
        );
        let mut text = Vec::new();
        GzDecoder::new(reply.body.as_ref()).read_to_end(&mut text).unwrap();
        assert_eq!(text, plain.body);
    }
    for accept in ["gzip;q=0", "gzip; q=0.0", "br", "identity"] {
        assert_eq!(ask(accept).await.body, plain.body, "{accept}");
    }
});

api_test!(a_consent_given_during_a_list_request_shows_no_longer_than_it_lasts, |t| async move {
    if t.engine != Engine::Postgres {
        return;
    }
    let tree = t.tree().await;
    let (actor, target) = (t.user(tree.owner, &["super"]).await, t.user(tree.customer, &["reader"]).await);
    let shown = async || {
        let list = t.get("/api/users?page_size=100").bearer(&actor.token).send().await.expect(200).data();
        let users = list["users"].as_array().unwrap();
        let row = users.iter().find(|user| user["id"] == json!(target.id)).unwrap();
        row["can_be_impersonated"].as_bool().unwrap()
    };
    let mut tx = t.begin_apart().await;
    let (now, life) = (t.app.platform.now(), Duration::from_secs(60));
    let consent = Consent {
        id: t.app.platform.fresh(),
        user_id: target.id,
        expires_at: now.plus(life),
        max_duration_minutes: 1,
        created_at: now,
    };
    consents::put(&mut tx, &consent).await.unwrap();
    Q::new("LOCK TABLE list_epochs IN ACCESS EXCLUSIVE MODE").run(&mut tx).await.unwrap();
    let moved = Q::new("UPDATE list_epochs SET people = people + 1");
    assert!(let_wait(tx, moved, shown()).await);
    t.advance(life);
    assert!(!shown().await);
});
