//! Whether a value matches a schema of the document: JSON Schema as far as the document uses it. An unknown keyword
//! fails, so that none is ignored.

use serde_json::{Map, Value};

/// Words without effect on the allowed values.
const REMARKS: [&str; 6] = ["description", "title", "default", "examples", "example", "deprecated"];

/// The violations of the schema by the value, and their places.
pub fn differences(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut check = Check { document, found: Vec::new() };
    check.schema("", schema, value);
    check.found
}

struct Check<'a> {
    document: &'a Value,
    found: Vec<String>,
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("no type {other}"),
    }
}

fn has_format(format: &str, text: &str) -> bool {
    match format {
        "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
        "date" => text.parse::<jiff::civil::Date>().is_ok(),
        "uuid" => uuid::Uuid::parse_str(text).is_ok(),
        other => panic!("no format {other}"),
    }
}

impl Check<'_> {
    fn expect(&mut self, is_so: bool, at: &str, what: impl FnOnce() -> String) {
        if !is_so {
            self.found.push(format!("{at}: {}", what()));
        }
    }

    fn count(&self, schema: &Value, value: &Value) -> bool {
        differences(self.document, schema, value).is_empty()
    }

    fn schema(&mut self, at: &str, schema: &Value, value: &Value) {
        for (word, says) in schema.as_object().into_iter().flatten() {
            match word.as_str() {
                "$ref" => {
                    let path = says.as_str().unwrap().trim_start_matches('#');
                    let named = self.document.pointer(path).unwrap_or_else(|| panic!("no {path}"));
                    self.schema(at, named, value);
                }
                "type" => {
                    let one = [says.clone()];
                    let kinds = says.as_array().map_or(&one[..], Vec::as_slice);
                    let fits = kinds.iter().any(|kind| is_of(kind.as_str().unwrap(), value));
                    self.expect(fits, at, || format!("{value} is no {says}"));
                }
                "enum" => {
                    let fits = says.as_array().unwrap().contains(value);
                    self.expect(fits, at, || format!("{value} is not in {says}"));
                }
                "const" => self.expect(says == value, at, || format!("{value} is not {says}")),
                "allOf" => says.as_array().unwrap().iter().for_each(|part| self.schema(at, part, value)),
                "oneOf" | "anyOf" => {
                    let fitting =
                        says.as_array().unwrap().iter().filter(|part| self.count(part, value)).count();
                    let fits = if word == "oneOf" { fitting == 1 } else { fitting > 0 };
                    self.expect(fits, at, || format!("{fitting} of {word} fit {value}"));
                }
                "format" => {
                    if let (Value::String(text), "date-time" | "date" | "uuid") =
                        (value, says.as_str().unwrap())
                    {
                        self.expect(has_format(says.as_str().unwrap(), text), at, || {
                            format!("{text} is no {says}")
                        });
                    }
                }
                "minimum" | "maximum" => {
                    if let (Some(value), Some(bound)) = (value.as_f64(), says.as_f64()) {
                        let fits = if word == "minimum" { value >= bound } else { value <= bound };
                        self.expect(fits, at, || format!("{value} is beyond {word} {bound}"));
                    }
                }
                "minItems" | "maxItems" | "minLength" | "maxLength" => {
                    let size = match value {
                        Value::Array(all) if word.ends_with("Items") => Some(all.len()),
                        Value::String(text) if word.ends_with("Length") => Some(text.chars().count()),
                        _ => None,
                    };
                    let (size, bound) = (size.map(|size| size as u64), says.as_u64());
                    let is_least = word.starts_with("min");
                    let fits = size.is_none_or(|_| if is_least { size >= bound } else { size <= bound });
                    self.expect(fits, at, || format!("{size:?} is beyond {word} {says}"));
                }
                "items" => {
                    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.schema(&format!("{at}[{i}]"), says, item);
                    }
                }
                "required" | "properties" | "additionalProperties" | "propertyNames" => {
                    if let Some(fields) = value.as_object() {
                        self.fields(at, schema, word, fields);
                    }
                }
                "contentMediaType" => {}
                word if REMARKS.contains(&word) => {}
                word => panic!("{at}: nobody knows what {word} means"),
            }
        }
    }

    fn fields(&mut self, at: &str, schema: &Value, word: &str, fields: &Map<String, Value>) {
        let says = &schema[word];
        match word {
            "required" => {
                for name in says.as_array().unwrap() {
                    let name = name.as_str().unwrap();
                    self.expect(fields.contains_key(name), at, || format!("{name} is missing"));
                }
            }
            "properties" => {
                for (name, part) in says.as_object().unwrap() {
                    if let Some(value) = fields.get(name) {
                        self.schema(&format!("{at}.{name}"), part, value);
                    }
                }
            }
            "propertyNames" => {
                for name in fields.keys() {
                    self.schema(&format!("{at} key {name}"), says, &Value::String(name.clone()));
                }
            }
            _ => {
                for (name, value) in
                    fields.iter().filter(|(name, _)| schema["properties"].get(name).is_none())
                {
                    match says {
                        Value::Bool(allowed) => {
                            self.expect(*allowed, at, || format!("{name} is not described"))
                        }
                        says => self.schema(&format!("{at}.{name}"), says, value),
                    }
                }
            }
        }
    }
}

#[test]
fn what_does_not_match_is_named() {
    let document = serde_json::json!({"components": {"schemas": {"Name": {"type": "string"}}}});
    let schema = serde_json::json!({
        "type": "object", "required": ["id"],
        "properties": {
            "id": {"type": "integer", "minimum": 1}, "name": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Name"}]},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}}, "at": {"type": "string", "format": "date-time"},
        },
        "additionalProperties": false,
    });
    let problems = |value: Value| differences(&document, &schema, &value);
    assert!(
        problems(serde_json::json!({"id": 1, "name": null, "tags": ["a"], "at": "2026-03-04T10:00:00Z"}))
            .is_empty()
    );
    for (value, wrong) in [
        (serde_json::json!([]), ": [] is no \"object\""),
        (serde_json::json!({}), ": id is missing"),
        (serde_json::json!({"id": 0}), ".id: 0 is beyond minimum 1"),
        (serde_json::json!({"id": 1, "name": 2}), ".name: 0 of oneOf fit 2"),
        (serde_json::json!({"id": 1, "tags": ["c"]}), ".tags[0]: \"c\" is not in [\"a\",\"b\"]"),
        (serde_json::json!({"id": 1, "at": "soon"}), ".at: soon is no \"date-time\""),
        (serde_json::json!({"id": 1, "more": 1}), ": more is not described"),
    ] {
        assert_eq!(problems(value), [wrong]);
    }
}
