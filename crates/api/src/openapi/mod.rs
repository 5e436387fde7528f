//! The OpenAPI 3.1 document, made from the route table and the wire types. `bailiwick openapi` prints it.

mod answers;
pub mod compat;
mod examples;
mod query;
mod words;

use crate::routes::{Class, Credential, Gate, Route, table};
use examples::Examples;
use serde_json::{Map, Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{Object, Schema, Type},
    },
};

/// A wire type's schema, with those it refers to.
#[derive(Clone, Copy)]
pub struct SchemaOf {
    name: fn() -> String,
    schema: fn() -> RefOr<Schema>,
    others: fn(&mut Vec<(String, RefOr<Schema>)>),
}

impl SchemaOf {
    /// Of a type.
    pub fn of<T: ToSchema>() -> SchemaOf {
        SchemaOf {
            name: || T::name().into_owned(),
            schema: <T as PartialSchema>::schema,
            others: <T as ToSchema>::schemas,
        }
    }

    /// Of an answer whose `data` is always null.
    pub fn null() -> SchemaOf {
        SchemaOf {
            name: || "Null".to_owned(),
            schema: || Schema::Object(Object::builder().schema_type(Type::Null).build()).into(),
            others: |_| {},
        }
    }

    fn register(&self, components: &mut Map<String, Value>) -> Value {
        let mut others = Vec::new();
        (self.others)(&mut others);
        others.push(((self.name)(), (self.schema)()));
        for (name, schema) in others {
            components.insert(name, serde_json::to_value(schema).unwrap_or(Value::Null));
        }
        json!({"$ref": format!("#/components/schemas/{}", (self.name)())})
    }
}

/// The document; keys in a fixed order, so that it can be compared byte by byte.
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    let mut components: Map<String, Value> = Map::new();
    let routes = table();
    let name = |r: &Route| (r.method.to_string(), r.path.clone(), r.operation.clone());
    let examples = Examples::of(&routes.iter().map(name).collect::<Vec<_>>());
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
        "servers": [{"url": "/api"}, {"url": "/"}, {"url": "/backend/api"}, {"url": "/collect/api"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": answers::components(),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "Session token of POST /auth/exchange."},
                "system": {"type": "http", "scheme": "basic", "description": "system_key and system_secret."},
                "historyWebhook": {"type": "http", "scheme": "bearer", "description": "The setting alerting.history_webhook.secret."}
            }
        }
    })
}

fn operation(route: &Route, components: &mut Map<String, Value>, examples: &Examples) -> Value {
    let mut out = json!({
        "operationId": route.operation,
        "summary": words::summary(&route.operation),
        "description": words::description(route),
        "tags": [words::tag(route)],
        "x-class": match route.class { Class::Core => "core", Class::Extra => "extra" },
        "parameters": path_parameters(&route.path).chain(query::parameters(&route.operation)).collect::<Vec<_>>(),
        "security": security(route.credential),
        "responses": responses(route, components, examples),
    });
    let Some(map) = out.as_object_mut() else { return out };
    let permissions = permissions(route.gate);
    if !permissions.is_empty() {
        map.insert("x-permissions".to_owned(), json!(permissions));
    }
    if let Some(schema) = &route.takes {
        let schema = schema.register(components);
        map.insert(
            "requestBody".to_owned(),
            json!({"required": true, "content": {"application/json": {"schema": schema}}}),
        );
        if let Some(sent) = answers::sent(route, examples) {
            map["requestBody"]["content"]["application/json"]["examples"] =
                json!({"tested": {"value": sent}});
        }
    }
    if let Some(part) = route.takes_file {
        let schema = json!({
            "type": "object", "required": [part],
            "properties": {part: {"type": "string", "contentMediaType": "application/octet-stream"}},
        });
        map.insert(
            "requestBody".to_owned(),
            json!({"required": true, "content": {"multipart/form-data": {"schema": schema}}}),
        );
    }
    if !route.takes_form.is_empty() {
        let part = |(name, is_file): &(&str, bool)| {
            let text = json!({"type": "string"});
            let file = json!({"type": "string", "contentMediaType": "application/octet-stream"});
            ((*name).to_owned(), if *is_file { file } else { text })
        };
        let properties: Map<String, Value> = route.takes_form.iter().map(part).collect();
        let schema = json!({"type": "object", "properties": properties});
        map.insert(
            "requestBody".to_owned(),
            json!({"required": true, "content": {"multipart/form-data": {"schema": schema}}}),
        );
    }
    if route.takes_bytes {
        map.insert(
            "requestBody".to_owned(),
            json!({"required": true, "content": {"application/octet-stream": {}}}),
        );
    }
    out
}

fn permissions(gate: Gate) -> Vec<&'static str> {
    match gate {
        Gate::Needs(list) => list.iter().map(|p| p.as_str()).collect(),
        Gate::OwnOrganizationOr(p) => vec![p.as_str()],
        Gate::Open | Gate::Rebranding(_) => Vec::new(),
    }
}

fn security(credential: Credential) -> Value {
    match credential {
        Credential::Public => json!([]),
        Credential::HistoryWebhook => json!([{"historyWebhook": []}]),
        credential if credential.is_of_system() => json!([{"system": []}]),
        _ => json!([{"bearer": []}]),
    }
}

fn path_parameters(path: &str) -> impl Iterator<Item = Value> {
    path.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
}

fn responses(route: &Route, components: &mut Map<String, Value>, examples: &Examples) -> Value {
    let mut out = Map::new();
    let data = route.gives.as_ref().map_or(json!({}), |s| s.register(components));
    let envelope = json!({
        "type": "object",
        "required": ["code", "message", "data"],
        "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": data},
    });
    let success = if route.is_proxied() { json!({}) } else { envelope };
    let content: Map<String, Value> = match route.gives_file {
        [] => [("application/json".to_owned(), json!({"schema": success}))].into_iter().collect(),
        files => files.iter().map(|media_type| ((*media_type).to_owned(), json!({}))).collect(),
    };
    out.insert(route.success.to_string(), json!({"description": "Done.", "content": content}));
    out.insert(
        "default".to_owned(),
        json!({"description": "Refused or failed.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}),
    );
    answers::complete(route, &mut out, examples);
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
                    "type": {"const": "validation_error"},
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
