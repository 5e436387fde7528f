//! The page of an operation.

use super::schema;
use crate::markdown;
use serde_json::{Value, json};

/// What the page is rendered from.
pub(super) fn context(document: &Value, operation: &Value) -> Value {
    let servers = match operation["servers"].as_array() {
        Some(own) => own,
        None => document["servers"].as_array().unwrap_or(const { &Vec::new() }),
    };
    let servers: Vec<&str> = servers.iter().filter_map(|server| server["url"].as_str()).collect();
    let answers = answers(document, operation);
    let (good, bad): (Vec<Value>, Vec<Value>) =
        answers.into_iter().partition(|answer| answer["is_good"] == true);
    json!({
        "about": markdown::short(operation["description"].as_str().unwrap_or_default()),
        "permissions": operation["x-permissions"].as_array(),
        "one_of": operation["x-permissions-one-of"].as_array(),
        "credentials": credentials(document, operation),
        "schemes": schemes(operation).join(" "),
        "servers": servers,
        "parameters": parameters(document, operation),
        "bodies": contents(document, &operation["requestBody"]),
        "needs_body": operation["requestBody"]["required"] == true,
        "good": good,
        "bad": bad,
    })
}

fn schemes(operation: &Value) -> Vec<&str> {
    let all = operation["security"].as_array().into_iter().flatten();
    all.filter_map(Value::as_object).flat_map(|one| one.keys().map(String::as_str)).collect()
}

/// What a caller shows to be let in, in words.
fn credentials(document: &Value, operation: &Value) -> Vec<Value> {
    let description = |name: &str| {
        let scheme = &document["components"]["securitySchemes"][name];
        let how = if scheme["scheme"] == "basic" { "Basic" } else { "Bearer" };
        json!({"how": how, "about": scheme["description"]})
    };
    schemes(operation).into_iter().map(description).collect()
}

fn parameters(document: &Value, operation: &Value) -> Vec<Value> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    all.map(|parameter| {
        let schema = &parameter["schema"];
        let shape = schema::shape(document, schema, 0);
        let is_list = schema["type"] == "array";
        let form = match (is_list, shape.values.is_empty(), schema["type"].as_str()) {
            (true, ..) => "list",
            (false, false, _) => "choice",
            (false, true, Some("boolean")) => "yes_no",
            _ => "text",
        };
        let example = match &parameter["example"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        json!({
            "name": parameter["name"],
            "place": parameter["in"],
            "kind": shape.kind,
            "values": shape.values,
            "form": form,
            "is_required": parameter["required"] == true,
            "is_deprecated": parameter["deprecated"] == true,
            "about": markdown::short(parameter["description"].as_str().unwrap_or_default()),
            "most": schema["maximum"].as_i64(),
            "example": example,
        })
    })
    .collect()
}

/// The answers, each with what it holds.
fn answers(document: &Value, operation: &Value) -> Vec<Value> {
    let all = operation["responses"].as_object().into_iter().flatten();
    all.map(|(status, answer)| {
        let target = answer["$ref"].as_str().and_then(|at| document.pointer(at.strip_prefix('#')?));
        let answer = target.unwrap_or(answer);
        json!({
            "status": if status == "default" { "other" } else { status },
            "is_good": status.starts_with(['1', '2', '3']),
            "about": markdown::short(answer["description"].as_str().unwrap_or_default()),
            "contents": contents(document, answer),
        })
    })
    .collect()
}

/// Every media type with its fields and an example.
fn contents(document: &Value, body: &Value) -> Vec<Value> {
    let all = body["content"].as_object().into_iter().flatten();
    all.map(|(media_type, content)| {
        let examples = content["examples"].as_object().into_iter().flat_map(|all| all.values());
        let example = examples.map(|example| &example["value"]).next();
        let shape = schema::shape(document, &content["schema"], 0);
        json!({
            "media_type": media_type,
            "kind": shape.kind,
            "rows": schema::rows(document, &content["schema"]),
            "example": example.map(written),
            "values": example.filter(|value| value.is_object()),
        })
    })
    .collect()
}

fn written(example: &Value) -> String {
    match example {
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    }
}
