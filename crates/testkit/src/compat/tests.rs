//! Breaking and compatible changes of a small document, and the comparison of the interface with the released one.

use super::breaking_changes;
use serde_json::{Value, json};

fn document() -> Value {
    json!({
        "paths": {
            "/things": {
                "get": {
                    "operationId": "listThings", "security": [{"bearer": []}], "x-permissions": ["read:things"],
                    "parameters": [{"name": "page", "in": "query", "schema": {"type": "integer", "maximum": 100}}],
                    "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/List"}}}}}
                },
                "post": {
                    "operationId": "createThing", "security": [{"bearer": []}],
                    "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/New"}}}},
                    "responses": {"201": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}}
                }
            },
            "/open": {"get": {"operationId": "open", "security": [], "responses": {"200": {}}}}
        },
        "components": {"schemas": {
            "New": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string", "maxLength": 255},
                "kind": {"type": ["string", "null"], "enum": ["a", "b", null]},
                "nested": {"type": "object", "properties": {"deep": {"type": "number"}}}
            }},
            "Base": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
            "Thing": {"allOf": [{"$ref": "#/components/schemas/Base"}, {
                "type": "object", "required": ["state"], "properties": {
                    "state": {"type": "string", "enum": ["on", "off"]},
                    "note": {"type": ["string", "null"]},
                    "parent": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Thing"}]}
                }
            }]},
            "List": {"type": "object", "required": ["things"], "properties": {
                "things": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}
            }}
        }}
    })
}

/// The breaks that a change of the document causes.
fn broken(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut new = document();
    change(&mut new);
    breaking_changes(&document(), &new)
}

fn schema<'a>(document: &'a mut Value, name: &str) -> &'a mut Value {
    &mut document["components"]["schemas"][name]
}

fn own(document: &mut Value) -> &mut Value {
    &mut schema(document, "Thing")["allOf"][1]
}

fn remove(object: &mut Value, key: &str) {
    assert!(object.as_object_mut().unwrap().shift_remove(key).is_some(), "{key}");
}

#[test]
fn the_same_breaks_nothing() {
    assert_eq!(broken(|_| {}), [""; 0]);
}

#[test]
fn more_to_get_and_less_to_send_breaks_nothing() {
    assert_eq!(
        broken(|d| {
            d["paths"]["/more"] = json!({"get": {"operationId": "more", "responses": {}}});
            d["paths"]["/things"]["delete"] = json!({"operationId": "deleteThings", "responses": {}});
            let get = &mut d["paths"]["/things"]["get"];
            get["x-permissions"] = json!([]);
            get["summary"] = json!("Other words");
            get["responses"]["429"] = json!({});
            get["parameters"][0]["schema"]["maximum"] = json!(1000);
            get["parameters"]
                .as_array_mut()
                .unwrap()
                .push(json!({"name": "more", "in": "query", "schema": {}}));
            let new = schema(d, "New");
            new["required"] = json!([]);
            new["properties"]["more"] = json!({"type": "string"});
            new["properties"]["name"]["maxLength"] = json!(300);
            new["properties"]["kind"]["enum"] = json!(["a", "b", "c", null]);
            new["properties"]["nested"]["properties"]["deep"]["type"] = json!(["number", "string"]);
            let thing = own(d);
            thing["properties"]["more"] = json!({"type": "string"});
            thing["required"] = json!(["state", "note", "more"]);
            thing["properties"]["note"]["type"] = json!("string");
            thing["properties"]["state"]["enum"] = json!(["on"]);
        }),
        [""; 0]
    );
}

/// Other words are treated as before: the list only names those with a meaning.
#[test]
fn a_parameter_may_come_to_list_its_words_and_bounds_and_then_keeps_them() {
    let with = |schema: Value| {
        let mut document = document();
        let all = document["paths"]["/things"]["get"]["parameters"].as_array_mut().unwrap();
        all.push(json!({"name": "by", "in": "query", "schema": schema}));
        document
    };
    let plain = |schema: Value| schema;
    let repeated = |schema: Value| json!({"type": "array", "items": schema});
    for form in [plain, repeated] {
        let silent = with(form(json!({"type": "string"})));
        let listing = with(form(json!({"type": "string", "enum": ["a", "b"]})));
        let fewer = with(form(json!({"type": "string", "enum": ["a"]})));
        assert_eq!(breaking_changes(&silent, &listing), [""; 0]);
        assert_eq!(breaking_changes(&listing, &silent), [""; 0]);
        assert_eq!(breaking_changes(&listing, &fewer).len(), 1);
    }
    let (silent, bounded) =
        (with(json!({"type": "integer"})), with(json!({"type": "integer", "maximum": 100})));
    assert_eq!(breaking_changes(&silent, &bounded), [""; 0]);
    assert_eq!(breaking_changes(&bounded, &with(json!({"type": "integer", "maximum": 50}))).len(), 1);
    assert_eq!(breaking_changes(&silent, &with(json!({"type": "string"}))).len(), 1);
    // A body with another word is refused.
    let found = broken(|d| schema(d, "Base")["properties"]["id"] = json!({"type": "string", "enum": ["a"]}));
    assert_eq!(found, [""; 0], "an answer may promise more");
    let found = broken(|d| schema(d, "New")["properties"]["name"]["enum"] = json!(["a"]));
    assert_eq!(found, ["POST /things body.name takes fewer values"]);
}

#[test]
fn each_of_these_breaks_somebody() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 21] = [
        (|d| remove(&mut d["paths"], "/open"), "GET /open is gone"),
        (|d| remove(&mut d["paths"]["/things"], "post"), "POST /things is gone"),
        (|d| d["paths"]["/open"]["get"]["operationId"] = json!("x"), "GET /open has another operationId"),
        (
            |d| d["paths"]["/open"]["get"]["security"] = json!([{"bearer": []}]),
            "GET /open no longer takes a credential that it took",
        ),
        (
            |d| d["paths"]["/things"]["get"]["x-permissions"] = json!(["read:things", "manage:things"]),
            "GET /things needs manage:things now",
        ),
        (|d| d["paths"]["/things"]["get"]["parameters"] = json!([]), "GET /things parameter page is gone"),
        (
            |d| d["paths"]["/things"]["get"]["parameters"][0]["required"] = json!(true),
            "GET /things parameter page is required now",
        ),
        (
            |d| d["paths"]["/things"]["get"]["parameters"][0]["schema"]["maximum"] = json!(50),
            "GET /things parameter page has a narrower maximum",
        ),
        (
            |d| {
                d["paths"]["/open"]["get"]["parameters"] =
                    json!([{"name": "x", "in": "query", "required": true}])
            },
            "GET /open parameter x is new and required",
        ),
        (
            |d| d["paths"]["/open"]["get"]["requestBody"] = json!({"required": true}),
            "GET /open body is required now",
        ),
        (
            |d| remove(&mut d["paths"]["/things"]["post"]["responses"], "201"),
            "POST /things answer 201 is gone",
        ),
        (
            |d| schema(d, "New")["required"] = json!(["name", "kind"]),
            "POST /things body.kind is required now",
        ),
        (|d| remove(&mut schema(d, "New")["properties"], "kind"), "POST /things body.kind is gone"),
        (
            |d| schema(d, "New")["properties"]["kind"]["type"] = json!("string"),
            "POST /things body.kind takes fewer types",
        ),
        (
            |d| schema(d, "New")["properties"]["kind"]["enum"] = json!(["a", null]),
            "POST /things body.kind takes fewer values",
        ),
        (
            |d| schema(d, "New")["properties"]["name"]["maxLength"] = json!(10),
            "POST /things body.name has a narrower maxLength",
        ),
        (
            |d| schema(d, "New")["properties"]["nested"]["properties"]["deep"]["type"] = json!("integer"),
            "POST /things body.nested.deep takes fewer types",
        ),
        (|d| remove(&mut own(d)["properties"], "note"), "GET /things answer 200.things[].note is gone"),
        (|d| own(d)["required"] = json!([]), "GET /things answer 200.things[].state may be left out now"),
        (
            |d| schema(d, "Base")["properties"]["id"]["type"] = json!(["string", "null"]),
            "GET /things answer 200.things[].id promises fewer types",
        ),
        (
            |d| own(d)["properties"]["parent"] = json!({"oneOf": [{"type": "null"}, {"type": "string"}]}),
            "GET /things answer 200.things[].parent has other alternatives",
        ),
    ];
    for (change, message) in cases {
        let found = broken(change);
        assert!(found.iter().any(|found_message| found_message == message), "{message}: {found:?}");
    }
}

/// The released document of the present label. It is replaced when a compatible release is made, and never within one
/// that is not (docs/versioning.md).
#[test]
fn the_interface_keeps_what_its_label_has_promised() {
    let path =
        format!("{}/../../docs/openapi-{}.json", env!("CARGO_MANIFEST_DIR"), bailiwick_domain::API_VERSION);
    let released: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(breaking_changes(&released, &bailiwick_api::openapi::document()), [""; 0]);
}
