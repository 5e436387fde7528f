//! The OpenAPI 3.1 document, made from the route table and the wire types. `bailiwick openapi` prints it.

mod answers;
mod conditions;
mod descriptions;
mod examples;
mod order;
mod query;
mod v3_0;

pub use v3_0::as_3_0;

use crate::routes::{Body, Class, Content, Credential, Route, table};
use examples::Examples;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The base paths that exist without configuration.
const BASES: [&str; 4] = ["/api", "", "/backend/api", "/collect/api"];
/// The address of the alert router for programs that do not allow slashes in a parameter.
const SERVICE: &str =
    "`services/<name>/<router>`; with the base path ended by `/services/<name>`, the router alone.";
/// The end of the server URLs of those operations.
const MOUNT: &str = "/services/mimir";

/// The document of a service with these base paths.
pub fn document_at(bases: &[String]) -> Value {
    let mut document = document();
    let at = |end: &str| -> Value {
        let url = |base: &String| format!("{base}{end}");
        bases
            .iter()
            .map(|base| json!({"url": if url(base).is_empty() { "/".to_owned() } else { url(base) }}))
            .collect()
    };
    document["servers"] = at("");
    let operations = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    for operation in operations.filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        if let Some(servers) = operation.get_mut("servers") {
            *servers = at(MOUNT);
        }
    }
    document
}

/// The document; keys in a fixed order, so that it can be compared byte by byte.
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    let mut components: Map<String, Value> = Map::new();
    let routes = table();
    let name = |r: &Route| (r.method.to_string(), r.path.clone(), r.operation.clone());
    let examples = Examples::of(&routes.iter().map(name).collect::<Vec<_>>());
    let tags: BTreeSet<String> = routes.iter().map(descriptions::tag).collect();
    let tags: Vec<Value> =
        tags.iter().map(|tag| json!({"name": tag, "description": descriptions::about_tag(tag)})).collect();
    for route in routes {
        let item = paths.entry(route.path.clone()).or_insert_with(|| json!({}));
        if let Some(item) = item.as_object_mut() {
            item.insert(
                route.method.as_str().to_ascii_lowercase(),
                operation(&route, &mut components, &examples),
            );
        }
    }
    components.insert("Error".to_owned(), error_schema());
    components.sort_keys();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Bailiwick",
            "version": bailiwick_domain::API_VERSION,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
            "description": "Organizations, users, systems and the tenant-isolating alerting proxy. All paths exist under every configured base path."
        },
        "servers": BASES.map(|base| json!({"url": if base.is_empty() { "/" } else { base }})),
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": answers::components(),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "Session token of POST /auth/exchange."},
                "system": {"type": "http", "scheme": "basic", "description": "system_key and system_secret."},
                "apiKey": {"type": "http", "scheme": "basic", "description": "Any user name, and a personal API key as the password."},
                "historyWebhook": {"type": "http", "scheme": "bearer", "description": "The setting alerting.history_webhook.secret."}
            }
        }
    })
}

fn operation(route: &Route, components: &mut Map<String, Value>, examples: &Examples) -> Value {
    let mut out = json!({
        "operationId": route.operation,
        "summary": descriptions::summary(route),
        "description": descriptions::description(route),
        "tags": [descriptions::tag(route)],
        "x-class": match route.class { Class::Core => "core", Class::Extra => "extra" },
        "parameters": path_parameters(&route.path).chain(query::parameters(route)).chain(conditions::parameters(route)).collect::<Vec<_>>(),
        "security": security(route.credential),
        "responses": responses(route, components, examples),
    });
    let Some(map) = out.as_object_mut() else { return out };
    if descriptions::is_older_spelling(route) {
        map.insert("deprecated".to_owned(), json!(true));
    }
    if let Some(order) = order::extension(route) {
        map.insert("x-order".to_owned(), order);
    }
    if route.path.starts_with("/{service}") {
        let servers: Vec<Value> = BASES.iter().map(|base| json!({"url": format!("{base}{MOUNT}")})).collect();
        map.insert("servers".to_owned(), json!(servers));
    }
    for (word, permissions) in [
        ("x-permissions", descriptions::permissions(route)),
        ("x-permissions-one-of", descriptions::one_of(route)),
    ] {
        if !permissions.is_empty() {
            map.insert(word.to_owned(), json!(permissions));
        }
    }
    if let Some(body) = request_body(route.body, components) {
        map.insert("requestBody".to_owned(), body);
    }
    if let (Some(body), Some(sent)) = (map.get_mut("requestBody"), answers::sent(route, examples)) {
        for content in body["content"].as_object_mut().into_iter().flat_map(Map::values_mut) {
            content["examples"] = sent.clone();
        }
    }
    out
}

fn request_body(body: Body, components: &mut Map<String, Value>) -> Option<Value> {
    let file = json!({"type": "string", "contentMediaType": "application/octet-stream"});
    let json_body = |required: bool, schema: Value| json!({"required": required, "content": {"application/json": {"schema": schema}}});
    let form =
        |schema: Value| json!({"required": true, "content": {"multipart/form-data": {"schema": schema}}});
    Some(match body {
        Body::Empty => return None,
        Body::Json(schema) => json_body(true, schema.register(components)),
        Body::OptionalJson(schema) => json_body(false, schema.register(components)),
        Body::File(part) => form(json!({"type": "object", "required": [part], "properties": {part: file}})),
        Body::Form(parts) => {
            let part = |(name, is_file): &(&str, bool)| {
                ((*name).to_owned(), if *is_file { file.clone() } else { json!({"type": "string"}) })
            };
            let properties: Map<String, Value> = parts.iter().map(part).collect();
            form(json!({"type": "object", "properties": properties}))
        }
        // No bytes at all are bytes too.
        Body::Bytes => json!({"required": false, "content": {"application/octet-stream": {}}}),
    })
}

fn security(credential: Credential) -> Value {
    match credential {
        Credential::Public => json!([]),
        Credential::HistoryWebhook => json!([{"historyWebhook": []}]),
        Credential::ApiKey => json!([{"bearer": []}, {"apiKey": []}]),
        credential if credential.is_of_system() => json!([{"system": []}]),
        _ => json!([{"bearer": []}]),
    }
}

fn path_parameters(path: &str) -> impl Iterator<Item = Value> {
    path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| {
        let mut parameter =
            json!({"name": name, "in": "path", "required": true, "description": query::about_part(name),
                "schema": query::of_path(name)});
        if name == "service" {
            parameter["description"] = json!(SERVICE);
            parameter["example"] = json!("alertmanager");
        }
        parameter
    })
}

fn responses(route: &Route, components: &mut Map<String, Value>, examples: &Examples) -> Value {
    let mut out = Map::new();
    let data = route.content.schema().map(|schema| schema.register(components));
    let about = answers::about_success(route, data.as_ref(), components);
    if route.is_proxied() {
        answers::of_router(route, data, &about, &mut out);
        answers::complete(route, &mut out, examples);
        return Value::Object(out);
    }
    let mut data = data.unwrap_or_else(|| json!({}));
    if matches!(route.content, Content::JsonOrNull(_)) {
        data = json!({"oneOf": [data, {"type": "null"}]});
    }
    let envelope = json!({
        "type": "object",
        "required": ["code", "message", "data"],
        "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": data},
    });
    let content: Map<String, Value> = match route.content {
        Content::File(types) => {
            types.iter().map(|media_type| ((*media_type).to_owned(), json!({}))).collect()
        }
        _ => [("application/json".to_owned(), json!({"schema": envelope}))].into_iter().collect(),
    };
    let done = match route.success {
        204 => json!({"description": about}),
        _ => json!({"description": about, "content": content}),
    };
    out.insert(route.success.to_string(), done);
    out.insert(
        "default".to_owned(),
        json!({"description": "Refused or failed.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}),
    );
    answers::complete(route, &mut out, examples);
    conditions::complete(route, &mut out);
    Value::Object(out)
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["code", "message", "data"],
        "properties": {
            "code": {"type": "integer", "description": "HTTP status."},
            "message": {"type": "string"},
            "data": {
                "type": ["object", "null"],
                "properties": {
                    "type": {
                        "enum": ["validation_error", "conflict"],
                        "description": "`conflict`: there is an impersonation already."
                    },
                    "errors": {"type": "array", "items": {
                        "type": "object",
                        "required": ["key", "message"],
                        "properties": {"key": {"type": "string"}, "message": {"type": "string"}, "value": {"type": "string"}}
                    }}
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    // The last one would describe all.
    #[test]
    fn no_two_types_have_one_name() {
        let mut known: BTreeMap<String, Value> = BTreeMap::new();
        let routes = table();
        let body = |route: &Route| match route.body {
            Body::Json(schema) | Body::OptionalJson(schema) => Some(schema),
            _ => None,
        };
        for schema in routes.iter().flat_map(|route| [body(route), route.content.schema().copied()]).flatten()
        {
            for (name, schema) in schema.named() {
                let before = known.entry(name.clone()).or_insert_with(|| schema.clone());
                assert_eq!(*before, schema, "{name} is two types");
            }
        }
        assert!(known.len() > 100);
    }

    #[test]
    fn null_is_a_default_of_nothing() {
        let text = document()["components"]["schemas"].to_string();
        for wrong in ["\"default\":null", "\"properties\":null"] {
            assert!(!text.contains(wrong), "{wrong}");
        }
    }

    #[test]
    fn what_may_be_null_or_left_out_is_said() {
        let document = document();
        let answer = |path: &str| {
            document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]["properties"]
                ["data"]
                .clone()
        };
        for path in ["inventory/latest", "inventory/changes", "inventory/changes/latest"] {
            let data = answer(&format!("/systems/{{id}}/{path}"));
            assert_eq!(data["oneOf"][1], json!({"type": "null"}), "{path}");
        }
        let change = &document["components"]["schemas"]["DiffOutput"];
        assert!(change["properties"]["previous_value"]["type"].is_null(), "a value of any type: {change}");
        let body =
            |method: &str, path: &str| document["paths"][path][method]["requestBody"]["required"].clone();
        assert_eq!(body("put", "/applications/{id}"), false);
        assert_eq!(body("post", "/systems/{id}/regenerate-secret"), false);
        assert_eq!(body("post", "/systems/inventory"), true);
    }

    #[test]
    fn a_value_may_have_several_of_the_forms_of_its_type() {
        let schemas = document()["components"]["schemas"].clone();
        assert!(
            schemas["AlertConfigOutput"]["anyOf"].is_array()
                && schemas["AlertConfigInput"]["anyOf"].is_array()
        );
        for (name, schema) in schemas.as_object().into_iter().flatten() {
            assert!(schema["oneOf"].is_null(), "{name}");
        }
    }

    // An answer that is not JSON, or has no body, is not described as JSON.
    #[test]
    fn answers_of_the_router_have_the_types_they_are_sent_with() {
        let document = document();
        let content = |method: &str, path: &str, status: &str| {
            document["paths"][path][method]["responses"][status]["content"].clone()
        };
        for path in ["-/ready", "-/healthy", "metrics"] {
            assert!(
                content("get", &format!("/{{service}}/{path}"), "200")["text/plain"].is_object(),
                "{path}"
            );
        }
        assert!(content("post", "/{service}/api/v2/alerts", "200").is_null());
        let silence = "/{service}/api/v2/silence/{silence_id}";
        assert!(content("delete", silence, "200").is_null() && content("get", silence, "404").is_null());
        assert!(content("post", "/alert_history", "204").is_null());
    }

    // Validators would require a part of `allOf` that may be missing.
    #[test]
    fn no_part_of_an_object_may_be_missing() {
        let document = document();
        for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
            for part in schema["allOf"].as_array().into_iter().flatten() {
                assert!(part["oneOf"].is_null(), "{name}: {part}");
            }
        }
    }
}
