//! What an operation can answer: its success, each refusal that is possible there, and what tests have really got.

use super::examples::{Example, Examples};
use crate::routes::{Credential, Gate, Route};
use serde_json::{Map, Value, json};

/// Refusals that many operations share.
const SHARED: [(u16, &str, &str); 9] = [
    (
        400,
        "BadRequest",
        "Malformed or not allowed: what is wrong is named. Also an `API-Version` that does not exist.",
    ),
    (401, "Unauthorized", "The credential is missing, wrong, expired or revoked."),
    (403, "Forbidden", "A permission is missing, or the object may be read but not changed so."),
    (404, "NotFound", "Missing, or not to be seen by the caller."),
    (413, "TooLarge", "The body is too large."),
    (429, "TooMany", "Too many requests; `Retry-After` says when to come again."),
    (500, "Failed", "A fault of the service."),
    (
        503,
        "Unavailable",
        "Overload, start-up, or state that cannot be read; `Retry-After` says when to come again.",
    ),
    (409, "Conflict", "It does not go with what is there."),
];

/// The shared answers of the document.
pub(super) fn components() -> Value {
    let response = |(_, name, about): &(u16, &str, &str)| ((*name).to_owned(), refusal(about, &Map::new()));
    Value::Object(SHARED.iter().map(response).collect())
}

fn refusal(about: &str, examples: &Map<String, Value>) -> Value {
    let mut content = json!({"schema": {"$ref": "#/components/schemas/Error"}});
    if !examples.is_empty() {
        content["examples"] = Value::Object(examples.clone());
    }
    json!({"description": about, "content": {"application/json": content}})
}

/// Which of the shared ones an operation can give.
fn possible(route: &Route) -> Vec<u16> {
    let is_a_persons = !route.credential.is_of_system()
        && !matches!(route.credential, Credential::Public | Credential::HistoryWebhook);
    let has_body = route.takes.is_some() || route.is_upload();
    let mut statuses = vec![400, 500, 503];
    if route.credential != Credential::Public {
        statuses.push(401);
    }
    if is_a_persons && (route.gate != Gate::Open || route.credential != Credential::SessionOrKey) {
        statuses.push(403);
    }
    if route.path.contains('{') {
        statuses.push(404);
    }
    if has_body {
        statuses.push(413);
    }
    if route.credential == Credential::SessionOrKey {
        statuses.push(429);
    }
    statuses.sort_unstable();
    statuses
}

/// Adds the refusals, and the examples to all.
pub(super) fn complete(route: &Route, responses: &mut Map<String, Value>, examples: &Examples) {
    // The alerting proxy answers in words of its own.
    if route.is_proxied() {
        return;
    }
    for status in possible(route) {
        if let Some((_, name, _)) = SHARED.iter().find(|(of, ..)| *of == status) {
            let shared = json!({"$ref": format!("#/components/responses/{name}")});
            responses.insert(status.to_string(), shared);
        }
    }
    for (status, example) in examples.of_operation(&route.operation) {
        let shown: Map<String, Value> =
            [("tested".to_owned(), json!({"value": example.answer}))].into_iter().collect();
        if status == route.success {
            responses[&status.to_string()]["content"]["application/json"]["examples"] = Value::Object(shown);
        } else if let Some((_, _, about)) = SHARED.iter().find(|(of, ..)| *of == status) {
            responses.insert(status.to_string(), refusal(about, &shown));
        }
    }
    responses.sort_keys();
}

/// What has been sent for the success.
pub(super) fn sent<'a>(route: &Route, examples: &'a Examples) -> Option<&'a Value> {
    let success = examples.of_operation(&route.operation).find(|(status, _)| *status == route.success);
    success.map(|(_, Example { sent, .. })| sent).filter(|sent| !sent.is_null())
}
