//! Events for other software (docs/events.md).

mod deliver;
mod deliver_races;
mod list;
mod stream;
mod subscriptions;

use aws_lc_rs::hmac;
use bailiwick_events as events;
use bailiwick_settings::{AllowedHosts, Network, Settings};
use bailiwick_testkit::{
    Persona, Test,
    parts::recorder::{Answer, Recorded, Recorder},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// Everything that has happened so far has a number.
async fn settle(t: &Test) {
    events::number_all(&t.app.events).await.unwrap();
}

/// The events a caller reads, the oldest first.
async fn read(t: &Test, who: &Persona, query: &str) -> Vec<Value> {
    settle(t).await;
    let path = format!("/api/events?page_size=100&sort_direction=asc&{query}");
    let data = t.get(&path).bearer(&who.token).send().await.expect(200).data();
    data["events"].as_array().unwrap().clone()
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// Webhooks may go to this machine.
fn settings(settings: &mut Settings) {
    settings.alerting.allowed_hosts =
        AllowedHosts::new([], vec![Network { address: [127, 0, 0, 0].into(), bits: 8 }]);
}

async fn act(t: &Test, who: &Persona, method: &str, path: &str, body: Value) -> Value {
    let call = t.call(method.parse().unwrap(), &format!("/api{path}")).bearer(&who.token);
    let call = if body.is_null() { call } else { call.json(body) };
    let reply = call.send().await;
    assert!(reply.status.is_success(), "{method} {path}: {}", reply.text());
    reply.data()
}

/// A recipient of events.
struct Hook {
    sink: Recorder,
}

impl Hook {
    async fn start() -> Hook {
        Hook { sink: Recorder::start(|_| Answer::status(200)).await.unwrap() }
    }

    fn url(&self) -> String {
        format!("{}/hook", self.sink.url())
    }

    /// As specified: one of the signatures was made with this secret.
    fn is_signed(&self, request: &Recorded, secret: &str, t: &Test) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let value = |name| request.value(name).unwrap();
        let (id, timestamp) = (value("webhook-id"), value("webhook-timestamp"));
        assert_eq!(timestamp, t.app.platform.now().secs().to_string());
        assert_eq!(request.json().unwrap()["id"], id);
        let content = [format!("{id}.{timestamp}.").as_bytes(), &request.body].concat();
        let mine = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &content);
        let mine = format!("v1,{}", STANDARD.encode(mine));
        value("webhook-signature").split(' ').any(|one| one == mine)
    }
}

async fn create(t: &Test, who: &Persona, hook: &Hook, types: &[&str]) -> Value {
    let body = json!({"name": "Hook", "url": hook.url(), "types": types});
    act(t, who, "POST", "/events/subscriptions", body).await["subscription"].clone()
}
