//! Errors of use cases, worded for the operator.

use bailiwick_domain::Error;

/// The error; wrong fields are named by `name`, with the rule they break.
pub fn of(error: &Error, name: impl Fn(&str) -> String) -> String {
    let Error::Invalid(fields) = error else { return error.to_string() };
    let field =
        |field: &bailiwick_domain::FieldError| format!("{} {}", name(&field.key), rule(&field.message));
    fields.iter().map(field).collect::<Vec<_>>().join("; ")
}

/// The rule behind a code.
fn rule(code: &str) -> &str {
    match code {
        "required" | "cannot_be_empty" => "must not be empty",
        "min_length" => "must have at least 12 characters",
        "max_length" => "must have at most 128 characters",
        "missing_uppercase" => "must have an upper-case letter (A to Z)",
        "missing_lowercase" => "must have a lower-case letter (a to z)",
        "missing_digit" => "must have a digit",
        "missing_special_char" => "must have a character that is neither letter nor digit",
        "too_many_repeating_chars" => "must not have the same character four times in a row",
        "contains_weak_patterns" => "must not have common words or runs like `password`, `abc` or `123`",
        "already_exists" => "is taken (already_exists)",
        "too_long" => "is too long",
        "invalid" => "is not an e-mail address",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_domain::{ObjectKind, validate};

    #[test]
    fn every_rule_of_passwords_has_words() {
        for weak in [
            "",
            "short",
            &"Aa1!".repeat(40),
            "correct-horse-7",
            "CORRECT-HORSE-7",
            "Correct-Horse-X",
            "CorrectHorse7X9",
            "Correct-Horrrrse-7",
            "Correct-Horse-789",
        ] {
            let code = validate::password(weak).expect_err(weak);
            assert_ne!(rule(code), code, "{weak}");
        }
        let error = Error::field("owner.password", "min_length");
        assert_eq!(of(&error, |key| format!("`{key}`")), "`owner.password` must have at least 12 characters");
        assert_eq!(of(&Error::NotFound(ObjectKind::User), str::to_owned), "user not found");
    }
}
