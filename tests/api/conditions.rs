//! Conditional requests: the tag of an entity, answers that are not sent twice, and changes that are refused because
//! another caller was faster (RFC 9110 §13; docs/clients.md).

mod parts;
mod races;
mod reads;
mod states;
mod writes;

use axum::http::Method;
use bailiwick_testkit::{Call, Persona, Reply, Test, seed::Tree};
use serde_json::{Value, json};

/// An entity with a tag, and how a test changes it.
struct Entity {
    /// Where it is read and changed.
    path: String,
    method: Method,
    /// The body that writes a word into it.
    body: fn(&str) -> Value,
    /// The field of the answer that shows the word.
    shown: &'static str,
}

impl Entity {
    fn write(&self, t: &Test, who: &Persona, word: &str) -> Call {
        t.call(self.method.clone(), &self.path).bearer(&who.token).json((self.body)(word))
    }

    async fn read(&self, t: &Test, who: &Persona) -> Reply {
        t.get(&self.path).bearer(&who.token).send().await.expect(200)
    }

    /// Its tag.
    async fn tag(&self, t: &Test, who: &Persona) -> String {
        tag(&self.read(t, who).await)
    }

    /// The word that it shows.
    async fn word(&self, t: &Test, who: &Persona) -> Value {
        self.read(t, who).await.data().pointer(self.shown).cloned().unwrap_or_default()
    }
}

/// The tag of an answer, which is a strong one.
#[track_caller]
fn tag(reply: &Reply) -> String {
    let tag = reply.header("etag").unwrap_or_else(|| panic!("no tag: {}", reply.text()));
    assert!(tag.len() > 20 && tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    tag.to_owned()
}

/// Checks the answer to a request with a condition that does not hold.
#[track_caller]
fn refused(reply: Reply, header: &str) {
    let data = reply.expect_message(412, "precondition failed").data();
    assert_eq!(data, json!({"reason": "precondition_failed", "header": header}));
}

fn layer(word: &str) -> Value {
    json!({"email_recipients": [
        {"address": format!("{word}@example.org"), "severities": [], "language": "en", "format": "plain"}
    ]})
}

/// One entity of each kind of the other branch, which nothing else in a test touches, and a user who may change all of
/// them.
async fn entities(t: &Test, tree: &Tree) -> (Persona, Vec<Entity>) {
    let owner = t.owner().await;
    let user = t.user(tree.other_reseller, &["reader"]).await;
    let system = t.system(tree.other_customer).await;
    let application = t.application(&system).await;
    let entity = |path: String, body: fn(&str) -> Value, shown: &'static str| Entity {
        method: if path.contains("/config") { Method::POST } else { Method::PUT },
        path: format!("/api{path}"),
        body,
        shown,
    };
    let described = |word: &str| json!({"description": word});
    let noted = |word: &str| json!({"notes": word});
    let pointer = "/email_recipients/0/address";
    let all = vec![
        entity(format!("/distributors/{}", tree.other_distributor), described, "/description"),
        entity(format!("/resellers/{}", tree.other_reseller), described, "/description"),
        entity(format!("/customers/{}", tree.other_customer), described, "/description"),
        entity(format!("/users/{}", user.id), |word| json!({"name": word}), "/name"),
        entity(format!("/systems/{}", system.id), noted, "/notes"),
        entity(format!("/applications/{application}"), noted, "/notes"),
        entity(format!("/alerts/config?organization_id={}", tree.other_customer), layer, pointer),
        entity(format!("/alerting/config?organization_id={}", tree.other_reseller), layer, pointer),
    ];
    (owner, all)
}
