//! Schemas as rows: every field with its type, those of objects inside below it.

use crate::markdown;
use serde::Serialize;
use serde_json::Value;

/// Objects inside of objects that are shown.
const DEEPEST: usize = 6;
/// Rows of a schema that are shown.
const MOST_ROWS: usize = 400;

/// A field.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    depth: usize,
    name: String,
    kind: String,
    is_required: bool,
    is_deprecated: bool,
    about: String,
    values: Vec<String>,
}

/// What a schema says.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape<'a> {
    /// Its type in words.
    pub(super) kind: String,
    /// What it may be.
    pub(super) values: Vec<String>,
    fields: Vec<(&'a str, &'a Value, bool)>,
    /// Names of the schemas that it stands for.
    names: Vec<&'a str>,
}

/// The rows of a schema.
pub(super) fn rows(document: &Value, schema: &Value) -> Vec<Row> {
    let mut rows = Vec::new();
    let shape = shape(document, schema, 0);
    add(document, &shape, 0, &shape.names, &mut rows);
    rows
}

fn add(document: &Value, shape: &Shape<'_>, depth: usize, inside: &[&str], rows: &mut Vec<Row>) {
    for (name, schema, is_required) in &shape.fields {
        if rows.len() >= MOST_ROWS {
            return;
        }
        let inner = self::shape(document, schema, 0);
        rows.push(Row {
            depth,
            name: (*name).to_owned(),
            kind: inner.kind.clone(),
            is_required: *is_required,
            is_deprecated: schema["deprecated"] == true,
            about: schema["description"].as_str().map(markdown::short).unwrap_or_default(),
            values: inner.values.clone(),
        });
        let repeats = inner.names.iter().any(|name| inside.contains(name));
        if depth + 1 < DEEPEST && !repeats {
            add(document, &inner, depth + 1, &[inside, &inner.names].concat(), rows);
        }
    }
}

/// Follows references, lists and alternatives.
pub(super) fn shape<'a>(document: &'a Value, schema: &'a Value, depth: usize) -> Shape<'a> {
    if depth > DEEPEST {
        return Shape::default();
    }
    let follow = |schema: &'a Value| shape(document, schema, depth + 1);
    if let Some(target) = schema["$ref"].as_str() {
        let name = target.rsplit('/').next().unwrap_or_default();
        let mut shape_found =
            target.strip_prefix('#').and_then(|at| document.pointer(at)).map(follow).unwrap_or_default();
        shape_found.names.push(name);
        return shape_found;
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        if let Some(all) = schema[key].as_array() {
            return together(all.iter().map(follow).collect(), if key == "allOf" { " and " } else { " or " });
        }
    }
    let is_type = |wanted: &str| {
        let of = &schema["type"];
        of == wanted || of.as_array().is_some_and(|all| all.iter().any(|one| one == wanted))
    };
    if is_type("array") {
        let mut item = follow(&schema["items"]);
        item.kind = format!("list of {}", item.kind);
        return item;
    }
    let mut shape_found = Shape { kind: kind(schema), values: values(schema), ..Shape::default() };
    if let Some(fields) = schema["properties"].as_object() {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        shape_found.fields =
            fields.iter().map(|(name, of)| (name.as_str(), of, required.contains(&name.as_str()))).collect();
    } else if schema["additionalProperties"].is_object() {
        let mut of = follow(&schema["additionalProperties"]);
        of.kind = format!("object: each value {}", of.kind);
        return of;
    }
    shape_found
}

fn together<'a>(all: Vec<Shape<'a>>, word: &str) -> Shape<'a> {
    let mut kinds: Vec<String> = Vec::new();
    let mut combined = Shape::default();
    for shape in all {
        if !kinds.contains(&shape.kind) {
            kinds.push(shape.kind);
        }
        combined.values.extend(shape.values);
        combined.fields.extend(shape.fields);
        combined.names.extend(shape.names);
    }
    // "null or object" reads better the other way round.
    kinds.sort_by_key(|kind| kind == "null");
    combined.kind =
        if word == " and " { kinds.into_iter().next().unwrap_or_default() } else { kinds.join(word) };
    combined
}

fn kind(schema: &Value) -> String {
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let format = schema["format"].as_str().or_else(|| schema["contentMediaType"].as_str().map(|_| "file"));
    let format = format.map(|format| format!(" ({format})")).unwrap_or_default();
    let types = if types.is_empty() { "any value".to_owned() } else { types.join(" or ") };
    format!("{types}{format}")
}

fn values(schema: &Value) -> Vec<String> {
    let words = schema["enum"].as_array().into_iter().flatten();
    words.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_of_objects_inside_are_below() {
        let document = json!({"components": {"schemas": {
            "Tree": {"type": "object", "required": ["id"], "properties": {
                "id": {"type": "string", "format": "uuid", "description": "Its `id`."},
                "state": {"type": ["string", "null"], "enum": ["on", "off"]},
                "above": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Tree"}]},
                "marks": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}},
            }},
        }}});
        let rows = rows(&document, &json!({"$ref": "#/components/schemas/Tree"}));
        let listed: Vec<String> = rows
            .iter()
            .map(|row| format!("{} {} {} {}", row.depth, row.name, row.kind, row.is_required))
            .collect();
        assert_eq!(
            listed,
            [
                "0 id string (uuid) true",
                "0 state string or null false",
                "0 above object or null false",
                "0 marks list of object false",
                "1 x integer false",
            ]
        );
        assert_eq!(rows[1].values, ["on", "off"]);
    }
}
