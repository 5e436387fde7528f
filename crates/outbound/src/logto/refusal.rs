//! Refusals of Logto, in the words of the service (the last table of spec: logto#calls).

use serde_json::Value;
use std::fmt;

/// Most field errors that are taken from one refusal.
const MOST: usize = 20;

/// A refusal as field errors: key and code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogtoRefusal {
    /// HTTP status.
    pub status: u16,
    /// Keys and codes; at least one.
    pub fields: Vec<(String, String)>,
    /// Logto's code, if it is a plain word.
    pub code: Option<String>,
}

impl fmt::Display for LogtoRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields: Vec<String> = self.fields.iter().map(|(key, code)| format!("{key}: {code}")).collect();
        f.write_str(&fields.join("; "))
    }
}

impl LogtoRefusal {
    /// Of an answer with JSON; none for any other.
    pub(super) fn read(status: u16, body: &[u8]) -> Option<LogtoRefusal> {
        let body: Value = serde_json::from_slice(body).ok().filter(Value::is_object)?;
        let code = body.get("code").and_then(Value::as_str).filter(|code| is_word(code));
        let issues = body.pointer("/data/issues").and_then(Value::as_array).filter(|all| !all.is_empty());
        let fields = match issues {
            Some(issues) => issues.iter().take(MOST).map(issue).collect(),
            None => vec![field(code.unwrap_or_default())],
        };
        Some(LogtoRefusal { status, fields, code: code.map(str::to_owned) })
    }

    /// Whether the user name, address or phone already belongs to another account.
    pub fn is_taken(&self) -> bool {
        self.fields.iter().any(|(_, code)| code == "already_exists")
    }
}

/// Codes and keys are words; any other text of the provider is dropped.
fn is_word(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

fn word(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| is_word(text))
}

fn issue(issue: &Value) -> (String, String) {
    let key = match word(issue.pointer("/path/0")) {
        Some("primaryEmail") => "email",
        Some("primaryPhone") => "phone",
        Some(other) => other,
        None => "unknown",
    };
    let code = match word(issue.get("code")) {
        Some("invalid_string") => "invalid_format",
        Some(other) => other,
        None => "error",
    };
    (key.to_owned(), code.to_owned())
}

fn field(code: &str) -> (String, String) {
    let (key, message) = match code {
        "user.username_already_in_use" => ("username", "already_exists"),
        "user.email_already_in_use" => ("email", "already_exists"),
        "user.phone_already_in_use" => ("phone", "already_exists"),
        "user.invalid_email" => ("email", "invalid"),
        "user.invalid_phone" => ("phone", "invalid_format"),
        "user.email_not_exist" => ("email", "not_found"),
        "user.phone_not_exist" => ("phone", "not_found"),
        "user.identity_not_exist" => ("identity", "not_found"),
        "user.identity_already_in_use" | "user.social_account_exists_in_profile" => {
            ("identity", "already_exists")
        }
        "organization.require_membership" => ("organization_id", "access_denied"),
        "organization.role_names_not_found" => ("user_role_ids", "not_found"),
        _ => ("general", "error"),
    };
    (key.to_owned(), message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(body: Value) -> Vec<(String, String)> {
        LogtoRefusal::read(422, body.to_string().as_bytes()).unwrap().fields
    }

    #[test]
    fn refusals_are_translated_to_the_messages_of_the_service() {
        for (code, key, message) in [
            ("user.username_already_in_use", "username", "already_exists"),
            ("user.email_already_in_use", "email", "already_exists"),
            ("user.phone_already_in_use", "phone", "already_exists"),
            ("user.invalid_email", "email", "invalid"),
            ("user.invalid_phone", "phone", "invalid_format"),
            ("user.email_not_exist", "email", "not_found"),
            ("user.phone_not_exist", "phone", "not_found"),
            ("user.identity_not_exist", "identity", "not_found"),
            ("user.identity_already_in_use", "identity", "already_exists"),
            ("user.social_account_exists_in_profile", "identity", "already_exists"),
            ("organization.require_membership", "organization_id", "access_denied"),
            ("organization.role_names_not_found", "user_role_ids", "not_found"),
            ("something.else", "general", "error"),
        ] {
            let refused = fields(json!({"code": code, "message": "a text of theirs"}));
            assert_eq!(refused, [(key.to_owned(), message.to_owned())], "{code}");
        }
        assert_eq!(fields(json!({})), [("general".to_owned(), "error".to_owned())]);
    }

    #[test]
    fn issues_name_the_field_and_texts_go_nowhere() {
        let refused = fields(json!({"code": "guard.invalid_input", "data": {"issues": [
            {"path": ["primaryEmail", "x"], "code": "invalid_string", "message": "secret"},
            {"path": ["primaryPhone"], "code": "too_small"},
            {"path": ["name"], "code": "a text with spaces"},
            {"path": [], "code": "custom"},
            {"code": "custom"},
        ]}}));
        let refused: Vec<(&str, &str)> = refused.iter().map(|(k, m)| (k.as_str(), m.as_str())).collect();
        let expected = [
            ("email", "invalid_format"),
            ("phone", "too_small"),
            ("name", "error"),
            ("unknown", "custom"),
            ("unknown", "custom"),
        ];
        assert_eq!(refused, expected);
        assert!(LogtoRefusal::read(422, b"<html>").is_none() && LogtoRefusal::read(422, b"[]").is_none());
    }
}
