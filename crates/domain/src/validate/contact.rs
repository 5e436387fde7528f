//! Phones and e-mail addresses (spec: users#phone, users#email-uniqueness).

use super::{MAX_NAME_CHARS, Rule, text};
use crate::fold::fold;
use std::fmt;

/// An e-mail address: trimmed but otherwise unchanged, with the key by which addresses are compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Email {
    text: String,
    key: String,
}

impl Email {
    /// As given, trimmed: the form that is stored and returned.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Folded form: two addresses are the same when their keys are.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The key of an address that was checked before.
    pub fn key_of(address: &str) -> String {
        fold(address)
    }

    /// The part before the `@`.
    pub fn local_part(&self) -> &str {
        self.text.split_once('@').map_or("", |(local, _)| local)
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An e-mail address (spec: users#email-uniqueness): `required` when blank, `too_long` above 255 characters, `invalid`
/// unless it has one `@` between a local part and a domain. Control characters are invalid: the address ends in mail
/// headers.
pub fn email(value: &str) -> Rule<Email> {
    let trimmed = value.trim();
    if trimmed.is_empty() {
        return Err("required");
    }
    text(trimmed, MAX_NAME_CHARS)?;
    let mut parts = trimmed.split('@');
    let well_formed = match (parts.next(), parts.next(), parts.next()) {
        (Some(local), Some(domain), None) => !local.is_empty() && !domain.is_empty(),
        _ => false,
    };
    if !well_formed || trimmed.contains(char::is_control) {
        return Err("invalid");
    }
    Ok(Email { text: trimmed.to_owned(), key: Email::key_of(trimmed) })
}

/// Longest address that mail can carry, in bytes.
const MAX_ADDRESS_BYTES: usize = 254;

/// An address in the form of RFC 5322 (`addr-spec`, letters of any script), or nothing: `invalid_format`. Spec:
/// imports-and-exports#imports requires it of the contact address of an imported organization.
pub fn imported_address(value: &str) -> Rule<()> {
    let fits = value.len() <= MAX_ADDRESS_BYTES && is_addr_spec(value);
    if value.is_empty() || fits { Ok(()) } else { Err("invalid_format") }
}

/// Whether the text is one address in the form of RFC 5322 (`addr-spec`, letters of any script), of any length.
pub fn is_addr_spec(value: &str) -> bool {
    let Some((local, domain)) = value.rsplit_once('@') else { return false };
    let quoted = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let literal = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    quoted.map_or_else(|| is_dot_atom(local), is_quoted_text)
        && literal.map_or_else(
            || is_dot_atom(domain),
            |inner| inner.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '[' | ']' | '\\')),
        )
}

fn is_dot_atom(text: &str) -> bool {
    let is_atom_text = |c: char| {
        c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || (!c.is_ascii() && !c.is_control())
    };
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom_text))
}

/// Whether this is valid text between the quotes of a local part: a backslash escapes the next character.
fn is_quoted_text(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let taken = if c == '\\' { chars.next() } else { Some(c).filter(|c| *c != '"') };
        if taken.is_none_or(char::is_control) {
            return false;
        }
    }
    true
}

/// Fewest and most characters of a phone after an optional `+`.
const PHONE_CHARS: std::ops::RangeInclusive<usize> = 7..=20;

/// A phone as digits only; none for `""`, which removes it (spec: users#phone).
///
/// `invalid_format` unless it is an optional `+` and 7 to 20 digits, spaces, `-`, `(` and `)`; a number without any
/// digit is refused too, because its digits would be empty.
pub fn phone(value: &str) -> Rule<Option<String>> {
    if value.is_empty() {
        return Ok(None);
    }
    phone_digits(value.strip_prefix('+').unwrap_or(value)).map(Some)
}

/// A phone in a CSV file: as [`phone`] but the leading `+` is required.
pub fn imported_phone(value: &str) -> Rule<Option<String>> {
    if value.is_empty() {
        return Ok(None);
    }
    phone_digits(value.strip_prefix('+').ok_or("invalid_format")?).map(Some)
}

fn phone_digits(body: &str) -> Rule<String> {
    let allowed = |b: u8| matches!(b, b'0'..=b'9' | b' ' | b'\t'..=b'\r' | b'-' | b'(' | b')');
    if !PHONE_CHARS.contains(&body.len()) || !body.bytes().all(allowed) {
        return Err("invalid_format");
    }
    let digits: String = body.chars().filter(char::is_ascii_digit).collect();
    if digits.is_empty() { Err("invalid_format") } else { Ok(digits) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses() {
        let given = email(" M.Rossi@Example.ORG\t").unwrap();
        assert_eq!(given.as_str(), "M.Rossi@Example.ORG");
        assert_eq!(given.key(), "m.rossi@example.org");
        assert_eq!(given.local_part(), "M.Rossi");
        assert_eq!(given.to_string(), given.as_str());
        let longest = format!("{}@x.example", "é".repeat(245));
        assert_eq!(email(&longest).unwrap().as_str(), longest);
        for (value, code) in [
            ("", "required"),
            ("  \n", "required"),
            ("rossi", "invalid"),
            ("@example.org", "invalid"),
            ("rossi@", "invalid"),
            (" @ ", "invalid"),
            ("a@b@c", "invalid"),
            ("a\r\nBcc: x@example.org", "invalid"),
            ("a\0@example.org", "invalid_format"),
            (&format!("e{longest}"), "too_long"),
        ] {
            assert_eq!(email(value), Err(code), "{value}");
        }
    }

    #[test]
    fn imported_addresses() {
        for value in [
            "",
            "info@gamma.example",
            "a.b+c_d@localhost",
            "o'neil@x.example",
            "perché@caffè.example",
            "\"a b\\\"@c\"@x.example",
            "root@[192.0.2.1]",
        ] {
            assert_eq!(imported_address(value), Ok(()), "{value}");
        }
        let long = format!("{}@x.example", "e".repeat(245));
        for value in [
            "gamma.example",
            "@x.example",
            "a@",
            "a@@b",
            "a b@x.example",
            ".a@x.example",
            "a.@x.example",
            "a..b@x.example",
            "a@x..example",
            "a@x.example.",
            "A <a@x.example>",
            "\"a\"b\"@x.example",
            "\"a\\\"@x.example",
            "a\0@x.example",
            "a@[b]]",
            &long,
        ] {
            assert_eq!(imported_address(value), Err("invalid_format"), "{value}");
        }
    }

    #[test]
    fn phones() {
        for (value, digits) in [
            ("+39 333 123456", "39333123456"),
            ("(039) 333-1234", "0393331234"),
            ("1234567", "1234567"),
            ("+12345678901234567890", "12345678901234567890"),
            ("1\t34567", "134567"),
        ] {
            assert_eq!(phone(value), Ok(Some(digits.to_owned())), "{value}");
            assert_eq!(imported_phone(value).is_ok(), value.starts_with('+'), "{value}");
        }
        assert_eq!((phone(""), imported_phone("")), (Ok(None), Ok(None)));
        for value in [
            "123456",
            "+123456",
            "123456789012345678901",
            "++1234567",
            "12345x7",
            "1234567\0",
            "٣٣٣١٢٣٤",
            "12\u{a0}34567",
            " (-) (-) ",
        ] {
            assert_eq!((phone(value), imported_phone(value)), (Err("invalid_format"), Err("invalid_format")));
        }
    }

    proptest! {
        #[test]
        fn a_normal_form_is_its_own(value in "\\+?[0-9 ()-]{7,20}") {
            if let Ok(Some(digits)) = phone(&value) {
                prop_assert!(digits.bytes().all(|b| b.is_ascii_digit()));
                if digits.len() >= 7 {
                    prop_assert_eq!(phone(&digits), Ok(Some(digits)));
                }
            } else {
                prop_assert!(!value.contains(|c: char| c.is_ascii_digit()));
            }
        }

        #[test]
        fn same_address_in_any_case(value in "[a-zA-Z.]{1,9}@[a-zA-Z.]{1,9}") {
            let key = |text: String| email(&text).map(|address| address.key().to_owned());
            prop_assert_eq!(key(value.to_lowercase()), key(value.to_uppercase()));
        }

        #[test]
        fn any_text_has_an_answer(value in any::<String>()) {
            let _ = (phone(&value), email(&value), imported_address(&value));
        }
    }
}
