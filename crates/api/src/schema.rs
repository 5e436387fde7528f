//! The schema of a wire type, as the route table names it.

use serde_json::{Map, Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{Object, RefOr, Schema, schema::Type},
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

    /// Of an answer with `data` that is always null.
    pub fn null() -> SchemaOf {
        SchemaOf {
            name: || "Null".to_owned(),
            schema: || Schema::Object(Object::builder().schema_type(Type::Null).build()).into(),
            others: |_| {},
        }
    }

    /// The schema and those it refers to, each with its name.
    pub(crate) fn named(&self) -> impl Iterator<Item = (String, Value)> {
        let mut all = Vec::new();
        (self.others)(&mut all);
        all.push(((self.name)(), (self.schema)()));
        all.into_iter().map(|(name, schema)| {
            let mut schema = serde_json::to_value(schema).unwrap_or(Value::Null);
            spell_out(&mut schema);
            any_of_its_forms(&mut schema);
            (name, schema)
        })
    }

    pub(crate) fn register(&self, components: &mut Map<String, Value>) -> Value {
        components.extend(self.named());
        json!({"$ref": format!("#/components/schemas/{}", (self.name)())})
    }
}

/// Keywords that a field sets by an extension `x-<keyword>`: the derive takes them as literals only, an extension from
/// the table or constant that the code uses.
const FROM_EXTENSIONS: [&str; 5] = ["enum", "minLength", "maxLength", "minimum", "maximum"];

/// Makes implicit rules explicit for client generators: an object without properties may have any, and a default of
/// null is removed, because a missing field is not a null one. Extensions become keywords.
fn spell_out(schema: &mut Value) {
    let parts: Vec<&mut Value> = match schema {
        Value::Array(parts) => parts.iter_mut().collect(),
        Value::Object(words) => {
            let is_object = allows(words, "object");
            if is_object && !words.contains_key("properties") && !words.contains_key("additionalProperties") {
                words.insert("additionalProperties".to_owned(), json!(true));
            }
            if words.get("default").is_some_and(Value::is_null) {
                words.remove("default");
            }
            for keyword in FROM_EXTENSIONS {
                if let Some(value) = words.remove(&format!("x-{keyword}")) {
                    words.insert(keyword.to_owned(), value);
                }
            }
            if allows(words, "null")
                && let Some(Value::Array(values)) = words.get_mut("enum")
            {
                values.push(Value::Null);
            }
            // The derive gives the extensions of a list to its items.
            let most = words.get_mut("items").and_then(|items| items.as_object_mut()?.remove("x-maxItems"));
            if let Some(most) = most {
                words.insert("maxItems".to_owned(), most);
            }
            // The derive describes an object that may be null within the first of its two forms.
            if !words.contains_key("description")
                && let Some(form) = words.get_mut("oneOf").and_then(|forms| forms.get_mut(0)?.as_object_mut())
                && let Some(about) = form.remove("description")
            {
                words.insert("description".to_owned(), about);
            }
            words.values_mut().collect()
        }
        _ => return,
    };
    parts.into_iter().for_each(spell_out);
}

fn allows(words: &Map<String, Value>, kind: &str) -> bool {
    let types = words.get("type");
    types.is_some_and(|types| types == kind || types.as_array().is_some_and(|all| all.contains(&kind.into())))
}

/// Forms are distinguished by their fields, and unknown fields are ignored, so a value may match two forms; `oneOf`
/// would forbid that.
fn any_of_its_forms(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(forms) = schema.remove("oneOf") {
        schema.insert("anyOf".to_owned(), forms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_and_descriptions_go_where_generators_look() {
        let mut schema = json!({"properties": {
            "word": {"type": ["string", "null"], "x-enum": ["a"], "x-maxLength": 1},
            "list": {"type": "array", "items": {"type": "string", "x-maxItems": 2}},
            "form": {"oneOf": [{"$ref": "#/x", "description": "d"}, {"type": "null"}]},
        }});
        spell_out(&mut schema);
        let clear = json!({"properties": {
            "word": {"type": ["string", "null"], "enum": ["a", null], "maxLength": 1},
            "list": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            "form": {"oneOf": [{"$ref": "#/x"}, {"type": "null"}], "description": "d"},
        }});
        assert_eq!(schema, clear);
    }
}
