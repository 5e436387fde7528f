//! Events as they happen.

use super::{read, settle, types};
use axum::body::BodyDataStream;
use bailiwick_policy::KeyMode;
use bailiwick_testkit::{Call, Persona, Test, api_test};
use futures_util::StreamExt;
use serde_json::{Value, json};

/// The blocks that a reader of a stream gets.
struct Reader {
    body: BodyDataStream,
    text: String,
}

#[derive(Debug, Default)]
struct Block {
    id: Option<String>,
    event: Option<String>,
    data: Option<Value>,
    retry: bool,
}

impl Reader {
    async fn open(call: Call) -> Reader {
        let response = call.open().await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut reader = Reader { body: response.into_body().into_data_stream(), text: String::new() };
        assert!(reader.next().await.unwrap().retry);
        reader
    }

    /// None at the end.
    async fn next(&mut self) -> Option<Block> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let mut out = Block::default();
                for line in block.lines() {
                    match line.split_once(": ") {
                        Some(("id", v)) => out.id = Some(v.to_owned()),
                        Some(("event", v)) => out.event = Some(v.to_owned()),
                        Some(("data", v)) => out.data = Some(serde_json::from_str(v).unwrap()),
                        Some(("retry", _)) => out.retry = true,
                        _ => {}
                    }
                }
                self.text = rest.to_owned();
                return Some(out);
            }
            let more = tokio::time::timeout(bailiwick_testkit::PATIENCE, self.body.next())
                .await
                .expect("in time")?;
            self.text.push_str(std::str::from_utf8(&more.unwrap()).unwrap());
        }
    }

    async fn event(&mut self) -> Block {
        loop {
            let block = self.next().await.expect("not the end");
            if block.data.is_some() {
                return block;
            }
        }
    }
}

async fn rename(t: &Test, who: &Persona, system: &str, name: &str) {
    let call = t.put(&format!("/api/systems/{system}")).bearer(&who.token).json(json!({"name": name}));
    call.send().await.expect(200);
}

api_test!(a_stream_sends_events_and_resumes_where_its_reader_was, |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let admin = t.user(tree.customer, &["admin"]).await;
    let (own, other) =
        (t.system(tree.customer).await.id.to_string(), t.system(tree.other_customer).await.id.to_string());
    settle(&t).await;
    let stream = |query: &str| t.get(&format!("/api/events/stream{query}")).bearer(&admin.token);
    let mut all = Reader::open(stream("")).await;
    let mut users = Reader::open(stream("?types=user.*")).await;
    rename(&t, &owner, &other, "Hidden").await;
    rename(&t, &owner, &own, "First").await;
    let first = all.event().await;
    assert_eq!(first.event.as_deref(), Some("system.updated"));
    let data = first.data.unwrap();
    assert_eq!((&data["data"]["name"], data["sequence"].as_str()), (&json!("First"), first.id.as_deref()));
    assert_eq!(read(&t, &admin, "types=system.updated").await, [data], "the same as in the list");
    drop(all);
    rename(&t, &owner, &own, "Second").await;
    rename(&t, &owner, &own, "Third").await;
    let last = first.id.unwrap();
    let mut again = Reader::open(stream("").header("last-event-id", &last)).await;
    for name in ["Second", "Third"] {
        assert_eq!(again.event().await.data.unwrap()["data"]["name"], name);
    }
    let mut whole = Reader::open(stream(&format!("?last_event_id={last}&types=system.updated"))).await;
    assert_eq!(whole.event().await.data.unwrap()["data"]["name"], "Second");
    let mut beginning = Reader::open(stream("?last_event_id=0&types=system.updated")).await;
    assert_eq!(beginning.event().await.data.unwrap()["data"]["name"], "First");
    let body = json!({"email": "m@example.org", "name": "M", "user_role_ids": ["reader"], "organization_id": tree.customer});
    t.post("/api/users").bearer(&owner.token).json(body).send().await.expect(201);
    assert_eq!(users.event().await.event.as_deref(), Some("user.created"));
});

api_test!(
    a_reader_is_warned_when_events_may_be_missing,
    |settings| settings.events.most = 1,
    |t| async move {
        let owner = t.owner().await;
        let system = t.system(t.tree().await.customer).await.id.to_string();
        for name in ["A", "B", "C"] {
            rename(&t, &owner, &system, name).await;
        }
        settle(&t).await;
        bailiwick_events::purge(&t.app.events).await.unwrap();
        let events = read(&t, &owner, "").await;
        assert_eq!(types(&events), ["system.updated"]);
        let newest: u64 = events[0]["sequence"].as_str().unwrap().parse().unwrap();
        for (last, reason, after) in
            [("1", "expired", newest - 1), ("999", "unknown", newest), ("x", "unknown", newest)]
        {
            let call = t.get("/api/events/stream").bearer(&owner.token).header("last-event-id", last);
            let gap = Reader::open(call).await.event().await;
            assert_eq!(gap.event.as_deref(), Some("events.gap"));
            assert_eq!(gap.data.unwrap(), json!({"reason": reason, "resumed_after": after.to_string()}));
            assert_eq!(gap.id, Some(after.to_string()));
        }
        let call = t.get("/api/events/stream?last_event_id=0").bearer(&owner.token);
        assert_eq!(Reader::open(call).await.event().await.event.as_deref(), Some("system.updated"));
    }
);

// Retention was faster than the reader.
api_test!(an_open_stream_reports_missed_events, |settings| settings.events.most = 1, |t| async move {
    let owner = t.owner().await;
    let system = t.system(t.tree().await.customer).await.id.to_string();
    settle(&t).await;
    let mut reader = Reader::open(t.get("/api/events/stream").bearer(&owner.token)).await;
    for name in ["A", "B", "C"] {
        rename(&t, &owner, &system, name).await;
    }
    settle(&t).await;
    bailiwick_events::purge(&t.app.events).await.unwrap();
    let gap = reader.event().await;
    assert_eq!(gap.event.as_deref(), Some("events.gap"));
    let after = gap.data.unwrap();
    assert_eq!(after["reason"], "expired");
    let next = reader.event().await;
    assert_eq!(next.data.unwrap()["data"]["name"], "C");
    let next: u64 = next.id.unwrap().parse().unwrap();
    assert_eq!(after["resumed_after"], (next - 1).to_string());
});

api_test!(a_stream_ends_with_the_right_to_it, |t| async move {
    let tree = t.tree().await;
    let (admin, other) = (t.user(tree.customer, &["admin"]).await, t.user(tree.customer, &["admin"]).await);
    let (key_id, key) = t.api_key(other.id, KeyMode::Read).await;
    let mut by_token = Reader::open(t.get("/api/events/stream").bearer(&admin.token)).await;
    let mut by_key = Reader::open(t.get("/api/events/stream").bearer(&key)).await;
    t.post("/api/auth/logout").bearer(&admin.token).send().await.expect(200);
    let end = by_token.event().await;
    assert_eq!(end.event.as_deref(), Some("events.end"));
    assert_eq!(end.data.unwrap(), json!({"code": 401, "message": "token has been revoked"}));
    assert!(by_token.next().await.is_none());
    t.delete(&format!("/api/me/api-keys/{key_id}")).bearer(&other.token).send().await;
    t.suspend_user(other.id).await;
    assert_eq!(by_key.event().await.data.unwrap()["code"], 401);
    assert!(by_key.next().await.is_none());
    t.get("/api/events/stream").send().await.expect_message(401, "authorization header required");
});

api_test!(streams_are_few_and_end_with_the_process, |t| async move {
    let admin = t.user(t.tree().await.customer, &["admin"]).await;
    let call = || t.get("/api/events/stream").bearer(&admin.token);
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(Reader::open(call()).await);
    }
    let refused = call().send().await.expect_message(429, "rate limit exceeded");
    assert!(refused.header("retry-after").is_some());
    open.pop();
    open.push(Reader::open(call()).await);
    t.app.platform.leaving.cancel();
    for mut reader in open {
        assert!(reader.next().await.unwrap().retry);
        assert!(reader.next().await.is_none());
    }
});
