//! Answers that are kept are those that would be made, after every change and in every process.

use bailiwick_domain::OrgType;
use bailiwick_testkit::{Engine, Persona, Test, api_test};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::io::Read as _;

const KEPT: [&str; 6] = [
    "/api/filters/users",
    "/api/filters/distributors",
    "/api/filters/customers",
    "/api/users/trend?period=30",
    "/api/distributors/trend",
    "/api/customers/trend",
];

async fn ask(t: &Test, who: &Persona) -> Vec<Value> {
    let mut answers = Vec::new();
    for path in KEPT {
        answers.push(t.get(path).bearer(&who.token).send().await.expect(200).data());
    }
    answers
}

/// What the processes answer is what each answers once it has forgotten everything.
pub async fn is_true(processes: &[&Test], who: &Persona, after: &str) {
    for t in processes {
        let kept = ask(t, who).await;
        t.app.kept.forget();
        assert_eq!(kept, ask(t, who).await, "after {after}");
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
