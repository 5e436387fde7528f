//! Free data of organizations, users and systems: which keys a client may not set, and which values are allowed.

use super::{Fields, fields::without_nul};
use crate::exact;
use serde_json::{Map, Value};

/// Largest free data, in bytes of its JSON (spec: conventions#limits).
pub(super) const MAX_BYTES: usize = 64 * 1024;

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

/// Refuses data that is too large as a whole: `custom_data` / `too_long`.
pub(super) fn check_size(fields: &mut Fields, data: &Map<String, Value>) {
    let mut json = Vec::new();
    let written = exact::write(data, &mut serde_json::Serializer::new(&mut json));
    if written.is_err() || json.len() > MAX_BYTES {
        fields.push("custom_data", "too_long", "");
    }
}

/// Refuses U+0000 in any key or text, at any depth: `custom_data.<key>` / `invalid_format` (spec: conventions#limits).
pub(super) fn check_texts(fields: &mut Fields, data: &Map<String, Value>) {
    for (key, value) in data {
        if without_nul(key).is_err() {
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

/// The rules for data with values of any type (users): its size and its texts.
pub fn free_values(fields: &mut Fields, data: &Map<String, Value>) {
    check_size(fields, data);
    check_texts(fields, data);
}

/// As [`free_values`] for data that is text to text (systems): another value is `custom_data.<key>` / `wrong_type`.
pub fn string_values(fields: &mut Fields, data: &Map<String, Value>) {
    check_size(fields, data);
    for (key, value) in data {
        if !value.is_string() && without_nul(key).is_ok() {
            fields.push(format!("custom_data.{key}"), "wrong_type", value.to_string());
        }
    }
    check_texts(fields, data);
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
        free_values(
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
    fn the_whole_has_a_largest_size() {
        let of = |bytes: usize| object(json!({"n": "x".repeat(bytes - r#"{"n":""}"#.len())}));
        for check in [free_values, string_values] {
            let (mut fits, mut large) = (Fields::new(), Fields::new());
            check(&mut fits, &of(MAX_BYTES));
            check(&mut large, &of(MAX_BYTES + 1));
            assert_eq!(errors(fits), []);
            assert_eq!(errors(large), [FieldError::new("custom_data", "too_long")]);
        }
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
