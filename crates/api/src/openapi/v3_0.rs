//! The document as OpenAPI 3.0, for client generators that read no newer version. It has the same content in the
//! keywords of that version; parts without such a keyword are left out.

use serde_json::{Map, Value, json};

/// The document in version 3.0.
pub fn as_3_0(mut document: Value) -> Value {
    document["openapi"] = json!("3.0.3");
    if let Some(license) = document.pointer_mut("/info/license").and_then(Value::as_object_mut) {
        license.remove("identifier");
    }
    for place in ["/paths", "/components"] {
        document.pointer_mut(place).into_iter().for_each(contents);
    }
    document
}

/// Finds the schemas: those of contents and parameters, and the list of named ones.
fn contents(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(contents),
        Value::Object(fields) => {
            for (key, value) in fields {
                match key.as_str() {
                    "schema" => schema(value),
                    "schemas" => value.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(schema),
                    "content" => media_types(value),
                    // Examples are data, so they stay as they are.
                    "examples" => {}
                    _ => contents(value),
                }
            }
        }
        _ => {}
    }
}

fn media_types(content: &mut Value) {
    for (media_type, content) in content.as_object_mut().into_iter().flatten() {
        // In OpenAPI 3.0 bytes need a schema.
        if content["schema"].is_null() {
            let text = json!({"type": "string"});
            let bytes = json!({"type": "string", "format": "binary"});
            content["schema"] = if media_type.starts_with("text/") { text } else { bytes };
        }
        contents(content);
    }
}

fn schema(value: &mut Value) {
    let Some(fields) = value.as_object_mut() else { return };
    for key in ["items", "additionalProperties"] {
        fields.get_mut(key).into_iter().for_each(schema);
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(schema);
    }
    fields.remove("propertyNames");
    if fields.remove("contentMediaType").is_some() {
        fields.insert("format".to_owned(), json!("binary"));
    }
    if let Some(only) = fields.remove("const") {
        fields.insert("enum".to_owned(), json!([only]));
    }
    if let Some(Value::Array(mut examples)) = fields.remove("examples")
        && !examples.is_empty()
    {
        fields.insert("example".to_owned(), examples.swap_remove(0));
    }
    types(fields);
    alternatives(fields);
    // Nothing could stand beside a reference.
    if fields.len() > 1
        && let Some(reference) = fields.remove("$ref")
    {
        fields.insert("allOf".to_owned(), json!([{"$ref": reference}]));
    }
}

/// `null` was no type but a property of others.
fn types(fields: &mut Map<String, Value>) {
    let mut kinds = match fields.remove("type") {
        Some(Value::Array(kinds)) => kinds,
        Some(one) => vec![one],
        None => return,
    };
    let all = kinds.len();
    kinds.retain(|kind| kind != "null");
    if kinds.len() < all {
        fields.insert("nullable".to_owned(), json!(true));
    }
    // Several types become no type, which allows any.
    if let [kind] = kinds.as_slice() {
        fields.insert("type".to_owned(), kind.clone());
    }
}

fn alternatives(fields: &mut Map<String, Value>) {
    for key in ["oneOf", "anyOf", "allOf"] {
        let Some(Value::Array(mut parts)) = fields.remove(key) else { continue };
        let all = parts.len();
        if key != "allOf" {
            parts.retain(|part| part["type"] != "null");
        }
        parts.iter_mut().for_each(schema);
        let is_nullable = parts.len() < all;
        if is_nullable {
            fields.insert("nullable".to_owned(), json!(true));
        }
        let key = if is_nullable && parts.len() == 1 { "allOf" } else { key };
        fields.insert(key.to_owned(), Value::Array(parts));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn older(value: Value) -> Value {
        let mut value = value;
        schema(&mut value);
        value
    }

    #[test]
    fn schemas_say_the_same_in_older_words() {
        for (new, old) in [
            (json!({"type": ["string", "null"]}), json!({"type": "string", "nullable": true})),
            (json!({"type": "null"}), json!({"nullable": true})),
            (json!({"type": ["string", "integer"]}), json!({})),
            (json!({"const": "a"}), json!({"enum": ["a"]})),
            (
                json!({"oneOf": [{"type": "null"}, {"$ref": "#/x"}]}),
                json!({"allOf": [{"$ref": "#/x"}], "nullable": true}),
            ),
            (
                json!({"$ref": "#/x", "description": "d"}),
                json!({"allOf": [{"$ref": "#/x"}], "description": "d"}),
            ),
            (
                json!({"type": "object", "propertyNames": {"type": "string"},
                    "additionalProperties": {"type": ["array", "null"], "items": {"const": 1}}}),
                json!({"type": "object",
                    "additionalProperties": {"type": "array", "nullable": true, "items": {"enum": [1]}}}),
            ),
        ] {
            assert_eq!(older(new), old);
        }
    }

    #[test]
    fn nothing_newer_is_left_in_the_document() {
        let new = crate::openapi::document();
        let old = as_3_0(new.clone());
        let operations = |document: &Value| {
            let paths = document["paths"].as_object().into_iter().flat_map(Map::values);
            paths.map(|item| item.as_object().map_or(0, Map::len)).sum::<usize>()
        };
        assert_eq!(operations(&old), operations(&new));
        fn look(at: &Value, is_data: bool) {
            match at {
                Value::Array(items) => items.iter().for_each(|item| look(item, is_data)),
                Value::Object(fields) if !is_data => {
                    for (key, value) in fields {
                        assert!(
                            !["const", "propertyNames", "contentMediaType"].contains(&key.as_str()),
                            "{fields:?}"
                        );
                        let is_named = ["properties", "schemas"].contains(&key.as_str());
                        assert!(key != "type" || !value.is_array() && value != "null", "{fields:?}");
                        match value {
                            Value::Object(named) if is_named => named.values().for_each(|v| look(v, false)),
                            value => look(value, key == "examples" || key == "enum"),
                        }
                    }
                }
                _ => {}
            }
        }
        look(&old, false);
    }
}
