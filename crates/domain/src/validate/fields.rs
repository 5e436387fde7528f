//! Collects the invalid fields of one request; also the rules that every text obeys.

use crate::{
    Error, FieldError, Result,
    visible::{is_blank, is_steering},
};

/// A code that clients translate (spec: conventions#validation-errors).
pub type Code = &'static str;

/// The accepted form of a field, or the code of its problem.
pub type Rule<T> = std::result::Result<T, Code>;

/// Longest name, e-mail address or VAT number, in characters (spec: conventions#limits, organizations#create).
pub const MAX_NAME_CHARS: usize = 255;

/// Longest free text that people write about an object, such as notes, in characters (spec: conventions#limits).
pub const MAX_FREE_TEXT_CHARS: usize = 16_384;

/// The invalid fields of one request, in the order in which they were found; the answer lists all of them.
#[derive(Debug, Default)]
pub struct Fields(Vec<FieldError>);

impl Fields {
    /// Nothing wrong yet.
    pub fn new() -> Fields {
        Fields::default()
    }

    /// Adds an invalid field. An empty `value` is left out of the answer; a secret must never be passed as one.
    pub fn push(&mut self, key: impl Into<String>, code: impl Into<String>, value: impl Into<String>) {
        self.0.push(FieldError::new(key, code).with_value(value));
    }

    /// The accepted form; a refusal is added with the value that was sent.
    pub fn check<T>(&mut self, key: &str, value: &str, outcome: Rule<T>) -> Option<T> {
        outcome.map_err(|code| self.push(key, code, value)).ok()
    }

    /// As [`Fields::check`] for passwords and secrets: the value is left out of the answer.
    pub fn check_secret<T>(&mut self, key: &str, outcome: Rule<T>) -> Option<T> {
        self.check(key, "", outcome)
    }

    /// Whether no problem was found so far.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses the request when anything was wrong.
    pub fn finish(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::Invalid(self.0)) }
    }
}

/// Whether the text has more than `max` characters (not bytes).
pub fn is_too_long(value: &str, max: usize) -> bool {
    // A text of at most `max` bytes cannot have more characters: most values end here.
    value.len() > max && value.chars().nth(max).is_some()
}

/// Text of any length: only U+0000 is refused, `invalid_format` (spec: conventions#limits).
pub(super) fn without_nul(value: &str) -> Rule<()> {
    if value.contains('\0') { Err("invalid_format") } else { Ok(()) }
}

/// A description or notes: as [`text`] with 16,384 characters.
pub fn free_text(value: &str) -> Rule<()> {
    text(value, MAX_FREE_TEXT_CHARS)
}

/// Text of at most `max` characters: `invalid_format` with U+0000, else `too_long`.
pub fn text(value: &str, max: usize) -> Rule<()> {
    without_nul(value)?;
    if is_too_long(value, max) { Err("too_long") } else { Ok(()) }
}

/// One line of at most `max` characters that people write, such as a name: `invalid_format` with control characters,
/// line breaks or formatting characters of direction (spec: conventions#limits), else `too_long`.
pub fn line(value: &str, max: usize) -> Rule<()> {
    if value.chars().any(is_steering) {
        return Err("invalid_format");
    }
    text(value, max)
}

/// Name of an organization or a user: `cannot_be_empty` when it shows nothing, else as [`line()`] with 255 characters
/// (spec: organizations#create, users#create). Stored as sent.
pub fn display_name(value: &str) -> Rule<()> {
    name_or(value, "cannot_be_empty")
}

/// Name of a system, a key or a passkey: as [`display_name`], but `required` when it shows nothing (spec:
/// systems#create, account#api-keys).
pub fn name(value: &str) -> Rule<()> {
    name_or(value, "required")
}

fn name_or(value: &str, blank: Code) -> Rule<()> {
    if is_blank(value) { Err(blank) } else { line(value, MAX_NAME_CHARS) }
}

#[cfg(test)]
mod tests {
    use super::{name as plain, *};
    use proptest::prelude::*;

    #[test]
    fn collects_in_order_and_hides_secrets() {
        let mut fields = Fields::new();
        assert!(fields.is_empty());
        assert_eq!(fields.check("name", " ", display_name(" ")), None);
        assert_eq!(fields.check("notes", "fine", free_text("fine")), Some(()));
        assert_eq!(fields.check_secret::<()>("password", Err("min_length")), None);
        let Err(Error::Invalid(found)) = fields.finish() else { panic!("two wrong fields pass") };
        assert_eq!(
            found,
            [
                FieldError::new("name", "cannot_be_empty").with_value(" "),
                FieldError::new("password", "min_length")
            ]
        );
        assert!(Fields::new().finish().is_ok());
    }

    #[test]
    fn names() {
        let longest = "é".repeat(255);
        for name in ["x", " kept as sent ", longest.as_str()] {
            assert_eq!((display_name(name), plain(name)), (Ok(()), Ok(())));
        }
        for blank in ["", " ", "\t\u{a0}\n", "\u{200b}", "\u{2060}\u{3164}"] {
            assert_eq!((display_name(blank), plain(blank)), (Err("cannot_be_empty"), Err("required")));
        }
        let longer = "é".repeat(256);
        assert_eq!((display_name(&longer), plain(&longer)), (Err("too_long"), Err("too_long")));
        assert_eq!((display_name("a\0"), plain("a\0")), (Err("invalid_format"), Err("invalid_format")));
        for steered in ["a\u{92}b", "a\tb", "a\nb", "\u{202e}gpj.exe", "a\u{200e}", "\u{1b}[1m"] {
            assert_eq!(
                (display_name(steered), line(steered, 9)),
                (Err("invalid_format"), Err("invalid_format"))
            );
        }
        assert_eq!(display_name("می\u{200c}خواهم \u{1f468}\u{200d}\u{1f469}"), Ok(()));
    }

    #[test]
    fn free_texts() {
        let longest = "é\n".repeat(8192);
        assert_eq!((free_text(""), free_text(&longest)), (Ok(()), Ok(())));
        assert_eq!(free_text(&format!("{longest}.")), Err("too_long"));
        assert_eq!(free_text("no \0 here"), Err("invalid_format"));
    }

    proptest! {
        #[test]
        fn length_is_counted_in_characters(value in any::<String>(), max in 0usize..40) {
            prop_assert_eq!(is_too_long(&value, max), value.chars().count() > max);
        }
    }
}
