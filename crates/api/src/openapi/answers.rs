//! The answers of an operation: its success, each refusal that is possible there, and recorded answers of the tests.

use super::examples::{Example, Examples};
use crate::route::{Body, Content, Credential, Gate, Route};
use http::Method;
use serde_json::{Map, Value, json};

/// Refusals that many operations share.
const SHARED: [(u16, &str, &str); 15] = [
    (
        400,
        "BadRequest",
        "The request is malformed or not allowed; the answer names what is wrong. Also an unknown `API-Version`.",
    ),
    (401, "Unauthorized", "The credential is missing, wrong, expired or revoked."),
    (403, "Forbidden", "The caller lacks a permission, or may read the object but not change it like this."),
    (404, "NotFound", "The object does not exist, or the caller may not see it."),
    (408, "TooSlow", "The body arrived too slowly."),
    (413, "TooLarge", "The body is too large."),
    (415, "Unsupported", "The encoding of the body is not supported."),
    (429, "TooMany", "Too many requests; `Retry-After` says when to try again."),
    (500, "Failed", "An error in the service."),
    (
        503,
        "Unavailable",
        "The service is overloaded, starting, or cannot read its data; `Retry-After` says when to try again.",
    ),
    (409, "Conflict", "The request conflicts with the present state."),
    (412, "PreconditionFailed", "The object has changed since the caller read it; nothing has been done."),
    (411, "LengthRequired", "The request does not state the length of its body."),
    (502, "BadGateway", "An upstream service cannot be reached."),
    (504, "GatewayTimeout", "An upstream service did not answer in time."),
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

/// The shared answers that an operation can give.
fn possible(route: &Route) -> Vec<u16> {
    let is_a_persons = !route.credential.is_of_system()
        && !matches!(route.credential, Credential::Public | Credential::HistoryWebhook);
    let has_body = !matches!(route.body, Body::Empty);
    let mut statuses = vec![400, 500, 503];
    statuses.extend(route.may_answer);
    if route.credential != Credential::Public {
        statuses.push(401);
    }
    if is_a_persons && (route.gate != Gate::Open || route.credential != Credential::SessionOrKey) {
        statuses.push(403);
    }
    if route.path.contains('{') {
        statuses.push(404);
    }
    if route.is_conditional && route.method != Method::GET {
        statuses.push(412);
    }
    if has_body {
        statuses.extend([408, 413]);
    }
    // Rate limits apply to requests with an API key or for a token, and to failed sign-ins of systems.
    if matches!(route.credential, Credential::SessionOrKey | Credential::Provider)
        || route.credential.is_of_system()
    {
        statuses.push(429);
    }
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

/// Adds the refusals, and the examples to all.
pub(super) fn complete(route: &Route, responses: &mut Map<String, Value>, examples: &Examples) {
    // The alerting proxy has refusals of its own.
    if !route.is_proxied() {
        for status in possible(route) {
            if let Some((_, name, _)) = SHARED.iter().find(|(of, ..)| *of == status) {
                let shared = json!({"$ref": format!("#/components/responses/{name}")});
                responses.insert(status.to_string(), shared);
            }
        }
    }
    for (status, answer) in examples.refusals(&route.operation) {
        if let Some((_, _, about)) = SHARED.iter().find(|(of, ..)| *of == status) {
            responses.insert(status.to_string(), refusal(about, &named(None, answer)));
        }
    }
    let success = responses.get_mut(&route.success.to_string());
    if let (Some(success), Some(Example { request, media_type, answer: Some(answer), .. })) =
        (success, examples.success(&route.operation))
        && let Some(content) = success.pointer_mut(&format!("/content/{}", media_type.replace('/', "~1")))
    {
        content["examples"] = Value::Object(named(Some(request), answer));
    }
    responses.sort_keys();
}

/// What a success carries, in the words of its schema.
pub(super) fn about_success(route: &Route, data: Option<&Value>, components: &Map<String, Value>) -> String {
    if let Content::File(types) = route.content {
        return format!("The content itself, as `{}`.", types.join("` or `"));
    }
    let name = data.and_then(|schema| schema["$ref"].as_str()?.rsplit('/').next());
    let about = name.and_then(|name| components.get(name)?["description"].as_str());
    match about {
        Some(about) if matches!(route.content, Content::JsonOrNull(_)) => {
            format!("{about} `data` is null if there is none.")
        }
        Some(about) => about.to_owned(),
        None if data.is_some() => "Success; `data` is null.".to_owned(),
        None => "Success; no body.".to_owned(),
    }
}

/// Answers of the alert interface: those of an Alertmanager, and the envelope for refusals of the service itself (spec:
/// alerts#identity-labels, alerts#proxy-errors). The schema is that of the row; none if the answer is not JSON.
pub(super) fn of_router(
    route: &Route,
    answer: Option<Value>,
    about: &str,
    responses: &mut Map<String, Value>,
) {
    let typed = |about: &str, media_type: &str, schema: Value| json!({"description": about, "content": {media_type: {"schema": schema}}});
    let done = match (answer, route.operation.as_str()) {
        (Some(schema), _) => typed(about, "application/json", schema),
        (None, name) if name.ends_with("RouterMetrics") || name.starts_with("isRouter") => {
            typed("Plain text.", "text/plain", json!({"type": "string"}))
        }
        (None, _) => json!({"description": about}),
    };
    responses.insert(route.success.to_string(), done);
    if route.path.contains("{silence_id}") {
        responses.insert(
            "404".to_owned(),
            json!({"description": "No such silence, or not the system's own; no body."}),
        );
    }
    if route.path.contains("{id}") {
        let about = "No such organization within reach, or no such silence (no body).";
        let mut missing = refusal(about, &Map::new());
        let schema = json!({"anyOf": [{"$ref": "#/components/schemas/Error"}, {"type": "string"}]});
        missing["content"]["application/json"]["schema"] = schema;
        responses.insert("404".to_owned(), missing);
    }
    let coded = json!({
        "type": "object", "required": ["code", "message"],
        "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
    });
    let refused = json!({"anyOf": [{"$ref": "#/components/schemas/Error"}, coded, {"type": "string"}]});
    responses.insert(
        "default".to_owned(),
        json!({
            "description": "Refused or failed, in the words of an Alertmanager or of the service.",
            "content": {"application/json": {"schema": refused}},
        }),
    );
}

fn named(request: Option<&str>, value: &Value) -> Map<String, Value> {
    let mut example = json!({"value": value});
    if let Some(request) = request {
        example["summary"] = json!(request);
    }
    [("tested".to_owned(), example)].into_iter().collect()
}

/// The recorded request of the success.
pub(super) fn sent(route: &Route, examples: &Examples) -> Option<Value> {
    let Example { request, sent, .. } = examples.success(&route.operation)?;
    Some(Value::Object(named(Some(request), sent.as_ref()?)))
}
