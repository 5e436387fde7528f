//! VAT numbers and the free data of organizations (spec: organizations#custom-data, organizations#create,
//! organizations#update, organizations#vat-uniqueness).

use super::{
    Fields, Holder, MAX_NAME_CHARS, client_keys, contact_address,
    custom_data::{check_size, check_texts},
    fields::without_nul,
    line, text,
};
use crate::{
    exact,
    visible::{is_blank, visible_chars},
};
use serde_json::{Map, Value};

const EMAIL: &str = "email";

/// Texts that name or reach a person. A text that is stored already is not checked again.
const CONTACT: [&str; 2] = [EMAIL, "main_contact"];

/// A VAT number: stored and answered as sent, compared by its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Vat {
    text: String,
    key: String,
}

impl Vat {
    /// As sent.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What is seen of it without white space, upper-cased: the form that uniqueness compares.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The key of any text, also of one searched for in a query (spec: organizations#vat-uniqueness).
    pub fn key_of(text: &str) -> String {
        visible_chars(text).flat_map(char::to_uppercase).collect()
    }
}

/// Checks the data a client sent for an organization, merged over the stored data (nothing at a creation).
///
/// Returns the client keys of the result and its VAT number; each problem is added to `fields` in the order of spec:
/// organizations#create (and then there may be no VAT number). Keys are overwritten, never removed (spec:
/// organizations#update).
pub fn organization_custom_data(
    fields: &mut Fields,
    stored: Map<String, Value>,
    sent: Map<String, Value>,
) -> (Map<String, Value>, Option<Vat>) {
    // Server-owned, hence dropped below; only this one value is refused instead.
    let claimed_type = sent.get("type").and_then(Value::as_str).filter(|t| t.eq_ignore_ascii_case("owner"));
    let claimed_type = claimed_type.map(str::to_owned);
    let sent = client_keys(Holder::Organization, sent);
    let changed = |key: &&str| sent.get(*key).filter(|value| stored.get(*key) != Some(*value));
    let contact = CONTACT.iter().filter_map(|key| Some((*key, changed(key)?.as_str()?.to_owned())));
    let contact: Vec<(&str, String)> = contact.collect();
    let mut merged = stored;
    merged.extend(sent);
    check_size(fields, &merged);
    let vat = check_vat(fields, merged.get("vat"));
    if let Some(claimed) = claimed_type {
        fields.push("custom_data.type", "organization type 'owner' is reserved and cannot be used", claimed);
    }
    check_texts(fields, &merged);
    for (key, value) in contact.iter().filter(|(_, value)| without_nul(value).is_ok()) {
        let outcome = if *key == EMAIL { contact_address(value) } else { line(value, MAX_NAME_CHARS) };
        fields.check(&format!("custom_data.{key}"), value, outcome);
    }
    (merged, vat)
}

fn check_vat(fields: &mut Fields, value: Option<&Value>) -> Option<Vat> {
    const KEY: &str = "custom_data.vat";
    match value {
        None | Some(Value::Null) => fields.push(KEY, "required", ""),
        Some(Value::String(vat)) if is_blank(vat) => fields.push(KEY, "cannot_be_empty", vat),
        // The rule for all values reports U+0000.
        Some(Value::String(vat)) => match text(vat, MAX_NAME_CHARS) {
            Ok(()) => return Some(Vat { text: vat.clone(), key: Vat::key_of(vat) }),
            Err("too_long") => fields.push(KEY, "too_long", vat),
            Err(_) => {}
        },
        Some(other) => fields.push(KEY, "cannot_be_empty", exact::text(other)),
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, FieldError, validate::custom_data::MAX_BYTES, visible::is_invisible};
    use proptest::prelude::*;
    use serde_json::json;

    fn check(stored: Value, sent: Value) -> (Map<String, Value>, Option<Vat>, Vec<FieldError>) {
        let mut fields = Fields::new();
        let object = |value: Value| value.as_object().cloned().unwrap();
        let (merged, vat) = organization_custom_data(&mut fields, object(stored), object(sent));
        let errors = match fields.finish() {
            Err(Error::Invalid(errors)) => errors,
            _ => Vec::new(),
        };
        (merged, vat, errors)
    }

    fn created(sent: Value) -> Vec<FieldError> {
        let (_, vat, errors) = check(json!({}), sent);
        assert!(vat.is_some() || !errors.is_empty());
        errors
    }

    #[test]
    fn vat_number() {
        let vat = |code, value: &str| vec![FieldError::new("custom_data.vat", code).with_value(value)];
        assert_eq!(created(json!({})), vat("required", ""));
        assert_eq!(created(json!({"vat": null})), vat("required", ""));
        assert_eq!(created(json!({"vat": ""})), vat("cannot_be_empty", ""));
        assert_eq!(created(json!({"vat": " \t"})), vat("cannot_be_empty", " \t"));
        assert_eq!(created(json!({"vat": 15})), vat("cannot_be_empty", "15"));
        assert_eq!(created(json!({"vat": {"a": [1]}})), vat("cannot_be_empty", "{\"a\":[1]}"));
        assert_eq!(created(json!({"vat": "\0"})), vat("invalid_format", "\0"));
        let longer = "9".repeat(256);
        assert_eq!(created(json!({ "vat": longer })), vat("too_long", &longer));
        assert_eq!(created(json!({ "vat": "9".repeat(255) })), []);
    }

    #[test]
    fn vat_is_kept_as_sent_and_compared_by_key() {
        let (merged, vat, errors) = check(json!({}), json!({"vat": " it 0123\u{a0}4x "}));
        assert_eq!(errors, []);
        assert_eq!(merged["vat"], " it 0123\u{a0}4x ");
        let vat = vat.unwrap();
        assert_eq!((vat.as_str(), vat.key()), (" it 0123\u{a0}4x ", "IT01234X"));
    }

    #[test]
    fn vat_is_compared_by_its_visible_characters() {
        for unseen in ["IT\u{200e}01", "I\u{ad}T01", "\u{feff}it 01", "IT0\u{1b}1"] {
            assert_eq!(Vat::key_of(unseen), "IT01", "{unseen:?}");
        }
        assert_eq!(created(json!({"vat": "\u{200b}"}))[0].message, "cannot_be_empty");
    }

    #[test]
    fn contacts_must_be_reachable_unless_they_are_stored_already() {
        for (key, value, wrong) in [
            ("email", json!("not-an-email"), true),
            ("email", json!("A <a@x.example>"), true),
            ("email", json!("info@x.example"), false),
            ("email", json!(""), false),
            ("email", json!(7), false),
            ("main_contact", json!("Anna\u{202e}"), true),
            ("main_contact", json!("Anna"), false),
        ] {
            let errors = created(json!({"vat": "1", key: value}));
            let refused: Vec<_> = errors.iter().map(|f| (f.key.as_str(), f.message.as_str())).collect();
            let path = format!("custom_data.{key}");
            let expected = wrong.then_some((path.as_str(), "invalid_format"));
            assert_eq!(refused, expected.into_iter().collect::<Vec<_>>(), "{key} {value}");
            assert_eq!(check(json!({"vat": "1", key: value}), json!({key: value})).2, []);
        }
    }

    #[test]
    fn the_owner_type_is_refused_other_server_keys_are_dropped() {
        let message = "organization type 'owner' is reserved and cannot be used";
        assert_eq!(
            created(json!({"vat": "1", "type": "Owner"})),
            [FieldError::new("custom_data.type", message).with_value("Owner")]
        );
        let (merged, _, errors) = check(
            json!({}),
            json!({"type": "reseller", "vat": "1", "createdBy": 1, "promotedFrom": {}, "k": [1]}),
        );
        assert_eq!(errors, []);
        assert_eq!(Value::Object(merged), json!({"vat": "1", "k": [1]}));
        assert_eq!(created(json!({"vat": "1", "type": 7})), []);
    }

    #[test]
    fn size_of_the_whole() {
        let overhead = json!({"vat": "1", "n": ""}).to_string().len();
        let fits = "x".repeat(MAX_BYTES - overhead);
        assert_eq!(created(json!({"vat": "1", "n": fits})), []);
        let too_long = [FieldError::new("custom_data", "too_long")];
        assert_eq!(created(json!({"vat": "1", "n": format!("{fits}x")})), too_long);
        // Stored data counts, dropped data does not.
        let (_, _, errors) = check(json!({"vat": "1", "n": fits}), json!({"o": 1}));
        assert_eq!(errors, too_long);
        assert_eq!(created(json!({"vat": "1", "createdAt": format!("{fits}xxxxxx")})), []);
    }

    #[test]
    fn problems_come_in_the_order_of_the_table() {
        let errors = created(json!({"n": "x".repeat(MAX_BYTES), "type": "OWNER", "z": "\0"}));
        let keys: Vec<_> = errors.iter().map(|f| f.key.as_str()).collect();
        assert_eq!(keys, ["custom_data", "custom_data.vat", "custom_data.type", "custom_data.z"]);
    }

    #[test]
    fn an_update_overwrites_and_never_removes() {
        let stored = json!({"vat": "1", "city": "Milano", "n": {"a": 1}});
        let sent = json!({"city": "Asti", "n": {"b": 2}, "new": true});
        let (merged, vat, errors) = check(stored.clone(), sent);
        assert_eq!(errors, []);
        assert_eq!(vat.unwrap().as_str(), "1");
        assert_eq!(Value::Object(merged), json!({"vat": "1", "city": "Asti", "n": {"b": 2}, "new": true}));
        for (vat, code) in [(json!(null), "required"), (json!(" "), "cannot_be_empty")] {
            assert_eq!(check(stored.clone(), json!({ "vat": vat })).2[0].message, code);
        }
    }

    proptest! {
        #[test]
        fn a_key_is_its_own_key(value in any::<String>()) {
            let key = Vat::key_of(&value);
            prop_assert!(!key.contains(|c: char| c.is_whitespace() || is_invisible(c)));
            prop_assert_eq!(Vat::key_of(&key), key);
        }
    }
}
