//! Free data of organizations, users and systems: which keys a client may not set, and which values are allowed.

use super::{Fields, free_text};
use serde_json::{Map, Value};

/// The kind of entity with the data; each has keys of its own that only the service sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// See spec: organizations#custom-data.
    Organization,
    /// See spec: users#create.
    User,
    /// See spec: systems#system.
    System,
}

/// Parent, type, creator and owner references are columns on everything (spec: authorization#guarantees).
const SERVER_OWNED: [&str; 6] =
    ["createdBy", "createdByUser", "type", "createdAt", "organizationId", "userRoleIds"];

/// More on organizations (spec: organizations#custom-data).
const SERVER_OWNED_BY_ORGANIZATIONS: [&str; 3] = ["updatedBy", "updatedAt", "promotedFrom"];

impl Holder {
    /// Whether a client's value under this key is dropped.
    pub fn owns(self, key: &str) -> bool {
        SERVER_OWNED.contains(&key)
            || (self == Holder::Organization && SERVER_OWNED_BY_ORGANIZATIONS.contains(&key))
    }
}

/// The data a client sent, without the keys of the server, in the same order.
pub fn client_keys(holder: Holder, mut sent: Map<String, Value>) -> Map<String, Value> {
    sent.retain(|key, _| !holder.owns(key));
    sent
}

/// Refuses U+0000 in any key or text, at any depth: `custom_data.<key>` / `invalid_format` (spec: conventions#limits).
pub fn text_values(fields: &mut Fields, data: &Map<String, Value>) {
    for (key, value) in data {
        if free_text(key).is_err() {
            fields.push("custom_data", "invalid_format", key);
        } else if has_nul(value) {
            fields.push(format!("custom_data.{key}"), "invalid_format", value.as_str().unwrap_or(""));
        }
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(entries) => entries.iter().any(|(key, value)| key.contains('\0') || has_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// As [`text_values`] for data that is text to text (systems): another value is `custom_data.<key>` / `wrong_type`.
pub fn string_values(fields: &mut Fields, data: &Map<String, Value>) {
    for (key, value) in data {
        if !value.is_string() && free_text(key).is_ok() {
            fields.push(format!("custom_data.{key}"), "wrong_type", value.to_string());
        }
    }
    text_values(fields, data);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, FieldError};
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    fn errors(fields: Fields) -> Vec<FieldError> {
        match fields.finish() {
            Err(Error::Invalid(errors)) => errors,
            _ => Vec::new(),
        }
    }

    #[test]
    fn server_keys_are_dropped_and_order_is_kept() {
        let sent = object(json!({
            "z": 1, "createdBy": "x", "a": {"type": "kept"}, "createdByUser": 1, "type": "t", "createdAt": "",
            "organizationId": "o", "userRoleIds": [], "updatedBy": "u", "m": null, "updatedAt": "u", "promotedFrom": "p"
        }));
        let keys = |holder| client_keys(holder, sent.clone()).keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(Holder::Organization), ["z", "a", "m"]);
        for holder in [Holder::User, Holder::System] {
            assert_eq!(keys(holder), ["z", "a", "updatedBy", "m", "updatedAt", "promotedFrom"]);
        }
        assert!(!Holder::User.owns("Type"));
    }

    #[test]
    fn nul_is_refused_anywhere() {
        let mut fields = Fields::new();
        text_values(
            &mut fields,
            &object(json!({"a": "x\0", "b": [{"c\0": 1}], "d\0": 1, "e": {"f": ["\0"]}, "g": "fine"})),
        );
        assert_eq!(
            errors(fields),
            [
                FieldError::new("custom_data.a", "invalid_format").with_value("x\0"),
                FieldError::new("custom_data.b", "invalid_format"),
                FieldError::new("custom_data", "invalid_format").with_value("d\0"),
                FieldError::new("custom_data.e", "invalid_format"),
            ]
        );
    }

    #[test]
    fn systems_hold_text_only() {
        let mut fields = Fields::new();
        string_values(&mut fields, &object(json!({"site": "milan", "floor": 3, "x": null, "y": "\0"})));
        assert_eq!(
            errors(fields),
            [
                FieldError::new("custom_data.floor", "wrong_type").with_value("3"),
                FieldError::new("custom_data.x", "wrong_type").with_value("null"),
                FieldError::new("custom_data.y", "invalid_format").with_value("\0"),
            ]
        );
    }
}
