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

/// Makes implicit rules explicit for client generators: an object without properties may have any, and a default of
/// null is removed, because a missing field is not a null one.
fn spell_out(schema: &mut Value) {
    let parts: Vec<&mut Value> = match schema {
        Value::Array(parts) => parts.iter_mut().collect(),
        Value::Object(words) => {
            let is_object = words.get("type").is_some_and(|kind| {
                kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("object")))
            });
            if is_object && !words.contains_key("properties") && !words.contains_key("additionalProperties") {
                words.insert("additionalProperties".to_owned(), json!(true));
            }
            if words.get("default").is_some_and(Value::is_null) {
                words.remove("default");
            }
            words.values_mut().collect()
        }
        _ => return,
    };
    parts.into_iter().for_each(spell_out);
}

/// Forms are distinguished by their fields, and unknown fields are ignored, so a value may match two forms; `oneOf`
/// would forbid that.
fn any_of_its_forms(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(forms) = schema.remove("oneOf") {
        schema.insert("anyOf".to_owned(), forms);
    }
}
