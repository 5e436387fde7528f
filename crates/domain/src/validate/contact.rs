//! Phones and e-mail addresses (spec: users#phone, users#email-uniqueness).

use super::{MAX_NAME_CHARS, Rule, text};
use crate::{fold::fold, host::ascii_domain, visible::is_invisible};
use std::{borrow::Cow, fmt, net::IpAddr};

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

    /// Folded local part and canonical domain: two addresses are the same when their keys are.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// An address that was accepted before, whatever the rule is today.
    pub fn stored(address: &str) -> Email {
        Email { text: address.to_owned(), key: Email::key_of(address) }
    }

    /// The key of any text, also of one that a person signs in with.
    pub fn key_of(address: &str) -> String {
        let address = address.trim();
        match address.rsplit_once('@').and_then(|(local, domain)| Some((local, ascii_domain(domain)?))) {
            Some((local, domain)) => format!("{}@{domain}", fold(local)),
            None => fold(address),
        }
    }

    /// The address as mail servers take it: with the A-label of its domain. They need no extension for it then, as long
    /// as the local part is ASCII (RFC 6531).
    pub fn sent_form(address: &str) -> Cow<'_, str> {
        let address = address.trim();
        match address.rsplit_once('@') {
            Some((local, domain)) if !domain.is_ascii() => {
                ascii_domain(domain).map_or(address.into(), |domain| format!("{local}@{domain}").into())
            }
            _ => address.into(),
        }
    }

    /// The part before the `@`.
    pub fn local_part(&self) -> &str {
        self.text.rsplit_once('@').map_or("", |(local, _)| local)
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An e-mail address (spec: users#email-uniqueness): `required` when blank, `too_long` above 255 characters, `invalid`
/// unless mail can be sent to it ([`is_mailable`]).
pub fn email(value: &str) -> Rule<Email> {
    let trimmed = value.trim();
    if trimmed.is_empty() {
        return Err("required");
    }
    text(trimmed, MAX_NAME_CHARS)?;
    if is_mailable(trimmed) { Ok(Email::stored(trimmed)) } else { Err("invalid") }
}

/// Longest address that mail can carry, and longest local part and label of a domain, in bytes (RFC 5321 §4.5.3.1).
const MAX_ADDRESS_BYTES: usize = 254;
const MAX_LOCAL_BYTES: usize = 64;
const MAX_LABEL_BYTES: usize = 63;

/// The contact address of an organization: one that mail can be sent to, or nothing; else `invalid_format` (spec:
/// organizations#custom-data, imports-and-exports#imports).
pub fn contact_address(value: &str) -> Rule<()> {
    if value.is_empty() || is_mailable(value) { Ok(()) } else { Err("invalid_format") }
}

/// Whether mail can be sent to this text: one address in the form of RFC 5322 (`addr-spec`, letters of any script)
/// without control characters, within the lengths of RFC 5321, at a host name (RFC 1123 §2.1, RFC 5891) or an address
/// of IP. The one rule for users, contacts of organizations, recipients and imports.
pub fn is_mailable(value: &str) -> bool {
    let Some((local, domain)) = value.rsplit_once('@') else { return false };
    let quoted = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let literal = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_local =
        local.len() <= MAX_LOCAL_BYTES && quoted.map_or_else(|| is_dot_atom(local), is_quoted_text);
    let is_at = |domain: &str| {
        is_dot_atom(domain) && ascii_domain(domain).is_some_and(|ascii| ascii.split('.').all(is_label))
    };
    let is_domain = literal.map_or_else(|| is_at(domain), |inner| inner.parse::<IpAddr>().is_ok());
    is_local
        && is_domain
        && Email::sent_form(value).len() <= MAX_ADDRESS_BYTES
        && !value.contains(char::is_control)
}

fn is_label(label: &str) -> bool {
    let is_end = |end: Option<&u8>| end.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = label.as_bytes();
    let is_inside = |b: &u8| b.is_ascii_alphanumeric() || *b == b'-';
    bytes.len() <= MAX_LABEL_BYTES
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(is_inside)
}

fn is_dot_atom(text: &str) -> bool {
    let is_atom_text = |c: char| {
        c.is_ascii_alphanumeric()
            || "!#$%&'*+-/=?^_`{|}~".contains(c)
            || (!c.is_ascii() && !c.is_control() && !c.is_whitespace() && !is_invisible(c))
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
    let value = seen_phone(value);
    phone_digits(value.strip_prefix('+').unwrap_or(&value)).map(Some)
}

/// A phone in a CSV file: as [`phone`] but the leading `+` is required.
pub fn imported_phone(value: &str) -> Rule<Option<String>> {
    if value.is_empty() {
        return Ok(None);
    }
    phone_digits(seen_phone(value).strip_prefix('+').ok_or("invalid_format")?).map(Some)
}

/// Numbers that are copied from a list of contacts often have direction marks around them.
fn seen_phone(value: &str) -> String {
    value.chars().filter(|c| !is_invisible(*c)).collect()
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
        let address = email(" M.Rossi@Example.ORG\t").unwrap();
        assert_eq!(address.as_str(), "M.Rossi@Example.ORG");
        assert_eq!(address.key(), "m.rossi@example.org");
        assert_eq!(address.local_part(), "M.Rossi");
        assert_eq!(address.to_string(), address.as_str());
        for (value, code) in [
            ("", "required"),
            ("  \n", "required"),
            ("rossi", "invalid"),
            ("a\0@example.org", "invalid_format"),
            (&format!("{}@x.example", "e".repeat(250)), "too_long"),
        ] {
            assert_eq!(email(value), Err(code), "{value}");
        }
    }

    #[test]
    fn only_what_mail_can_be_sent_to_is_an_address() {
        let longest = format!("{}@{}.example", "é".repeat(32), "e".repeat(63));
        for value in [
            "info@gamma.example",
            "a.b+c_d@localhost",
            "o'neil@x.example",
            "perché@caffè.example",
            "mario@münchen.example",
            "\"a b\\\"@c\"@x.example",
            "root@[192.0.2.1]",
            &longest,
        ] {
            assert_eq!(
                (contact_address(value), email(value).map(|e| e.text)),
                (Ok(()), Ok(value.to_owned()))
            );
        }
        assert_eq!(contact_address(""), Ok(()));
        for value in [
            "gamma.example",
            "@x.example",
            "a@",
            " @ ",
            "a@@b",
            "a@b@c",
            "<u@x.example>",
            "u@x.example>",
            "a b@x.example",
            ".a@x.example",
            "a.@x.example",
            "a..b@x.example",
            "a@x..example",
            "a@x.example.",
            "a@x_y.example",
            "a@-x.example",
            "a@xn--a.example",
            "a,b@x.example",
            "A <a@x.example>",
            "\"a\"b\"@x.example",
            "\"a\\\"@x.example",
            "a\u{200b}b@x.example",
            "a\u{a0}b@x.example",
            "a\r\nBcc: x@example.org",
            "a@[b]]",
            "a@[b]",
            &format!("{}@x.example", "e".repeat(65)),
            &format!("a@{}.example", "e".repeat(64)),
            &format!("a@{}.example", "ü".repeat(60)),
            &format!("a@{}.example", vec!["e".repeat(50); 5].join(".")),
        ] {
            assert_eq!(contact_address(value), Err("invalid_format"), "{value}");
            assert!(matches!(email(value), Err("invalid" | "too_long")), "{value}");
        }
    }

    #[test]
    fn a_domain_has_one_form() {
        let same = ["mario@münchen.example", "MARIO@MÜNCHEN.example", "mario@xn--mnchen-3ya.example"];
        for address in same {
            let address = email(address).unwrap();
            assert_eq!(address.key(), "mario@xn--mnchen-3ya.example");
            assert_eq!(Email::key_of(address.key()), address.key());
            assert_eq!(Email::sent_form(address.as_str()).to_lowercase(), "mario@xn--mnchen-3ya.example");
        }
        assert_eq!(Email::key_of(" M_Rossi "), "m_rossi");
        assert_eq!(Email::key_of("root@[192.0.2.1]"), "root@[192.0.2.1]");
        assert_eq!(Email::sent_form("Perché@X.example"), "Perché@X.example");
    }

    #[test]
    fn phones() {
        for (value, digits) in [
            ("+39 333 123456", "39333123456"),
            ("(039) 333-1234", "0393331234"),
            ("1234567", "1234567"),
            ("+12345678901234567890", "12345678901234567890"),
            ("1\t34567", "134567"),
            ("\u{202a}+39 333 123456\u{202c}", "39333123456"),
        ] {
            assert_eq!(phone(value), Ok(Some(digits.to_owned())), "{value}");
            assert_eq!(imported_phone(value).is_ok(), value.contains('+'), "{value}");
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
            let _ = (phone(&value), email(&value), contact_address(&value), Email::sent_form(&value));
        }
    }
}
