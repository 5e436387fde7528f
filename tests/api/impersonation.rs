//! Impersonation with consent (spec: impersonation#requests-while-impersonating, authorization#impersonation). The
//! numbers in the names are the rules of spec: guarantees#identity and spec: authorization#guarantees.

/// An [`api_test!`](bailiwick_testkit::api_test) with `impersonation.scope = "consent"`, where the tree does not count.
macro_rules! scope_of_consent_test {
    ($name:ident, |$t:ident| $body:expr) => {
        bailiwick_testkit::api_test!(
            $name,
            |settings| settings.impersonation.scope = bailiwick_settings::ImpersonationScope::Consent,
            |$t| $body
        );
    };
}

mod consent;
mod end;
mod flow;
mod races;
mod recorded;
mod refusals;
mod revocation;

pub use races::{let_wait, let_wait_in};

use bailiwick_testkit::{Call, Persona, Reply, Test};
use serde_json::{Value, json};

const NO_CONSENT: &str = "target user has not provided consent for impersonation or consent has expired";

/// Consent for some hours, given by the user themselves.
async fn agree(t: &Test, user: &Persona, hours: u64) -> Value {
    let call = t.post("/api/impersonate/consent").bearer(&user.token).json(json!({"duration_hours": hours}));
    call.send().await.expect(200).data()["consent"].take()
}

async fn withdraw(t: &Test, user: &Persona) {
    t.delete("/api/impersonate/consent").bearer(&user.token).send().await.expect(200);
}

fn starting(t: &Test, token: &str, target: &Persona) -> Call {
    t.post("/api/impersonate").bearer(token).json(json!({"user_id": target.id}))
}

/// Starts a session; its answer.
async fn start(t: &Test, actor: &Persona, target: &Persona) -> Value {
    starting(t, &actor.token, target)
        .send()
        .await
        .expect_message(200, "impersonation started successfully")
        .data()
}

/// An impersonation of a user who has agreed, by a user who may: the answer that started the session, and the two
/// users.
struct Acting {
    actor: Persona,
    target: Persona,
    session: String,
    token: String,
}

/// A Super Admin of the first distributor acts as an administrator of a customer below it.
async fn acting(t: &Test) -> Acting {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let target = t.user(tree.customer, &["admin"]).await;
    agree(t, &target, 2).await;
    let started = start(t, &actor, &target).await;
    Acting { session: text(&started["session_id"]), token: text(&started["token"]), actor, target }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

async fn me(t: &Test, token: &str) -> Reply {
    t.get("/api/me").bearer(token).send().await
}

#[track_caller]
fn is_over(reply: Reply) {
    let reply = reply.expect_message(401, "token has been revoked");
    assert_eq!(reply.data(), json!({"reason": "session ended"}));
}

#[track_caller]
fn is_withdrawn(reply: Reply) {
    let reply = reply.expect_message(401, "impersonation consent has been revoked");
    let message = "the user has revoked consent for impersonation. please exit impersonation mode.";
    assert_eq!(reply.data(), json!({ "message": message }));
}

async fn status(t: &Test, token: &str) -> Value {
    t.get("/api/impersonate/status").bearer(token).send().await.expect(200).data()
}

/// The one session of the user as the target, from the list.
async fn only_session(t: &Test, target: &Persona) -> Value {
    let list = t.get("/api/impersonate/sessions").bearer(&target.token).send().await.expect(200).data();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
    list["sessions"][0].clone()
}

async fn entries(t: &Test, reader: &Persona, session: &str) -> Vec<Value> {
    let path = format!("/api/impersonate/sessions/{session}/audit?page_size=100");
    let reply = t.get(&path).bearer(&reader.token).send().await;
    reply.expect(200).data()["entries"].as_array().unwrap().clone()
}

/// `METHOD path status` of each call, and the words of the other entries.
async fn audit_lines(t: &Test, reader: &Persona, session: &str) -> Vec<String> {
    let line = |entry: &Value| match entry["action_type"].as_str().unwrap() {
        "api_call" => format!(
            "{} {} {}",
            text(&entry["http_method"]),
            text(&entry["api_endpoint"]),
            entry["response_status"]
        ),
        word => word.to_owned(),
    };
    entries(t, reader, session).await.iter().map(line).collect()
}
