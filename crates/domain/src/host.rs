//! One canonical form of domain names: lower-case A-labels (RFC 5890), as DNS and mail servers take them.

use std::borrow::Cow;

/// A domain as DNS knows it: `münchen.example` becomes `xn--mnchen-3ya.example`. None for what is no domain name (UTS
/// 46).
pub fn ascii_domain(domain: &str) -> Option<String> {
    idna::domain_to_ascii(domain).ok().filter(|ascii| !ascii.is_empty())
}

/// A host in its canonical form; an address of IP, and whatever is no name, as it is.
pub fn canonical_host(host: &str) -> Cow<'_, str> {
    if host.is_ascii() {
        return host.into();
    }
    ascii_domain(host).map_or(Cow::Borrowed(host), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_have_one_form() {
        for (domain, ascii) in [
            ("Example.ORG", "example.org"),
            ("münchen.example", "xn--mnchen-3ya.example"),
            ("MÜNCHEN.example", "xn--mnchen-3ya.example"),
            ("mu\u{308}nchen。example", "xn--mnchen-3ya.example"),
            ("XN--MNCHEN-3YA.example", "xn--mnchen-3ya.example"),
            ("straße.example", "xn--strae-oqa.example"),
            ("a_b.example", "a_b.example"),
        ] {
            assert_eq!(ascii_domain(domain).as_deref(), Some(ascii), "{domain}");
        }
        for bad in ["", "xn--a.example", "\u{200b}", "a\u{fffd}b.example"] {
            assert_eq!(ascii_domain(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn hosts_that_are_no_names_stay() {
        assert_eq!(canonical_host("münchen.example"), "xn--mnchen-3ya.example");
        for host in ["::1", "[::1]", "192.0.2.1", "localhost", "Mail.Example"] {
            assert_eq!(canonical_host(host), host);
        }
    }
}
