//! The addresses webhooks may have (spec: alert-configuration#layers, "Webhook address policy"), as far as they can be
//! checked without a name server. Code that resolves a name calls [`AllowedHosts::permits`] for every address, on
//! saving and again at each delivery.

use bailiwick_domain::{
    net::{Network, is_global, unwrapped},
    validate::Rule,
};
use std::net::IpAddr;
use url::Url;

/// Longest address, in characters.
pub const MAX_URL_CHARS: usize = 2048;

/// Hosts and networks that webhooks may use although they are not public.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    names: Vec<String>,
    networks: Vec<Network>,
}

impl AllowedHosts {
    /// From names (compared without case) and networks.
    pub fn new(names: impl IntoIterator<Item = String>, networks: Vec<Network>) -> AllowedHosts {
        AllowedHosts { names: names.into_iter().map(|n| n.to_ascii_lowercase()).collect(), networks }
    }

    /// May a webhook connect to this address?
    pub fn permits(&self, address: IpAddr) -> bool {
        is_global(unwrapped(address)) || self.networks.iter().any(|network| network.contains(address))
    }

    fn names(&self, host: &str) -> bool {
        self.names.iter().any(|name| name == host)
    }
}

/// Where a webhook leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The address as it is requested.
    pub url: Url,
    /// Host name in small letters, or address without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The setting names the host, so its addresses need not be public.
    pub is_allowed_by_name: bool,
}

impl Target {
    /// Checks the text of an address: `required`, `max`, `invalid_format`, `invalid_scheme`, `missing_host`,
    /// `credentials_not_allowed`, `invalid_host_format`, `host_not_allowed` or `host_not_publicly_routable`.
    pub fn parse(text: &str, allowed: &AllowedHosts) -> Rule<Target> {
        if text.trim().is_empty() {
            return Err("required");
        }
        if text.chars().count() > MAX_URL_CHARS {
            return Err("max");
        }
        // Characters that address parsers disagree about, and the brackets of a router's templates.
        let is_doubtful = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
        if text.contains(is_doubtful) || text.contains("{{") {
            return Err("invalid_format");
        }
        // A router refuses its whole document if a path or fragment has an incomplete escape.
        if !has_whole_escapes(text) {
            return Err("invalid_format");
        }
        let (scheme, rest) = text.split_once(':').ok_or("invalid_scheme")?;
        if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
            return Err("invalid_scheme");
        }
        let authority = rest.strip_prefix("//").ok_or("missing_host")?;
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err("credentials_not_allowed");
        }
        let written = host_of(authority);
        if written.is_empty() {
            return Err("missing_host");
        }
        let url = Url::parse(text).map_err(|_| "invalid_host_format")?;
        let port = url.port_or_known_default().filter(|p| *p != 0).ok_or("invalid_format")?;
        let host = canonical_host(written, &url)?;
        let is_allowed_by_name = allowed.names(&host);
        if !is_allowed_by_name {
            match host.parse::<IpAddr>() {
                Ok(address) if !allowed.permits(address) => return Err("host_not_publicly_routable"),
                Err(_) if is_local_name(&host) => return Err("host_not_allowed"),
                _ => {}
            }
        }
        Ok(Target { url, host, port, is_allowed_by_name })
    }

    /// The host when it is an address and no name.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

/// Whether two hexadecimal digits follow every `%` outside the query.
fn has_whole_escapes(text: &str) -> bool {
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    let path = before.split('?').next().unwrap_or_default();
    [path, fragment].into_iter().all(|part| {
        let mut rest = part.split('%').skip(1).map(str::as_bytes);
        rest.all(|after| after.len() >= 2 && after[..2].iter().all(u8::is_ascii_hexdigit))
    })
}

/// The host as written, without port; an IPv6 address with its brackets.
fn host_of(authority: &str) -> &str {
    match authority.find(']') {
        Some(end) if authority.starts_with('[') => &authority[..=end],
        _ => authority.split(':').next().unwrap_or_default(),
    }
}

/// Small letters, no brackets. Refuses hosts that different programs would read differently (`0x7f.1`, `127.1`, names
/// in other scripts, a dot at the end).
fn canonical_host(written: &str, url: &Url) -> Rule<String> {
    let read = url.host_str().ok_or("missing_host")?;
    if let Some(inner) = written.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address: IpAddr = inner.parse().map_err(|_| "invalid_host_format")?;
        return Ok(address.to_string());
    }
    if !written.eq_ignore_ascii_case(read) {
        return Err("invalid_host_format");
    }
    let host = written.to_ascii_lowercase();
    if host.parse::<IpAddr>().is_ok() || is_dns_name(&host) { Ok(host) } else { Err("invalid_host_format") }
}

fn is_dns_name(host: &str) -> bool {
    host.len() <= 253
        && host.contains(|c: char| c.is_ascii_alphabetic())
        && host.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
}

/// Names that stand for the machine itself or its own network wherever they are resolved.
fn is_local_name(host: &str) -> bool {
    host.rsplit('.').next().is_some_and(|last| matches!(last, "localhost" | "local" | "internal"))
}

/// `scheme://host/[REDACTED]`: the part of an address that may be shown.
pub fn redacted(url: &str) -> String {
    let parts = url.split_once("://").map(|(scheme, rest)| {
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        (scheme, authority.rsplit('@').next().unwrap_or_default())
    });
    match parts {
        Some((scheme, host)) => format!("{scheme}://{host}/{}", crate::redacted::REDACTED),
        None => crate::redacted::REDACTED.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(url: &str) -> &'static str {
        Target::parse(url, &AllowedHosts::default()).map_or_else(|code| code, |_| "fine")
    }

    #[test]
    fn addresses_are_judged_by_their_text() {
        for (url, expected) in [
            ("https://hooks.example.org/services/T0/B0/x?y=z#f", "fine"),
            ("http://Example.ORG", "fine"),
            ("https://8.8.8.8/x", "fine"),
            ("https://[2606:4700::1111]:8443/x", "fine"),
            ("https://[::ffff:8.8.8.8]/", "fine"),
            // Networks without IPv4 reach IPv4 addresses through these.
            ("https://[64:ff9b::808:808]/", "fine"),
            ("https://[2002:808:808::1]/", "fine"),
            ("", "required"),
            ("  ", "required"),
            ("ftp://example.org/", "invalid_scheme"),
            ("example.org/x", "invalid_scheme"),
            ("javascript:alert(1)", "invalid_scheme"),
            ("https:example.org", "missing_host"),
            ("https:///x", "missing_host"),
            ("https://", "missing_host"),
            ("https://:8443/", "missing_host"),
            ("https://user:pass@example.org/", "credentials_not_allowed"),
            ("https://@example.org/", "credentials_not_allowed"),
            ("https://exa mple.org/", "invalid_format"),
            ("https://example.org\\@evil.example/", "invalid_format"),
            ("https://example.org/\n", "invalid_format"),
            ("https://example.org/{{ .x }}", "invalid_format"),
            ("https://example.org/%zz", "invalid_format"),
            ("https://example.org/a%2", "invalid_format"),
            ("https://example.org/%", "invalid_format"),
            ("https://example.org/?a=100%&b=%zz", "fine"),
            ("https://example.org/a%2Fb?c=%41#%64", "fine"),
            ("https://example.org/?a#%é1", "invalid_format"),
            ("https://example.org:0/", "invalid_format"),
            ("https://example.org:99999/", "invalid_host_format"),
            ("https://example.org./", "invalid_host_format"),
            ("https://höst.example/", "invalid_host_format"),
            ("https://-a.example/", "invalid_host_format"),
            ("https://a..example/", "invalid_host_format"),
            ("https://127.1/", "invalid_host_format"),
            ("https://0x7f000001/", "invalid_host_format"),
            ("https://2130706433/", "invalid_host_format"),
            ("https://0177.0.0.1/", "invalid_host_format"),
            ("https://%6cocalhost/", "invalid_host_format"),
            ("https://[::1%25eth0]/", "invalid_host_format"),
            ("https://localhost/", "host_not_allowed"),
            ("https://a.LOCALHOST/", "host_not_allowed"),
            ("https://printer.local/", "host_not_allowed"),
            ("https://metadata.google.internal/", "host_not_allowed"),
            ("https://127.0.0.1/", "host_not_publicly_routable"),
            ("https://10.1.2.3/", "host_not_publicly_routable"),
            ("https://100.64.0.1/", "host_not_publicly_routable"),
            ("https://169.254.169.254/latest", "host_not_publicly_routable"),
            ("https://192.0.2.1/", "host_not_publicly_routable"),
            ("https://224.0.0.1/", "host_not_publicly_routable"),
            ("https://0.0.0.0/", "host_not_publicly_routable"),
            ("https://[::1]/", "host_not_publicly_routable"),
            ("https://[fc00::1]/", "host_not_publicly_routable"),
            ("https://[fe80::1]/", "host_not_publicly_routable"),
            ("https://[::ffff:127.0.0.1]/", "host_not_publicly_routable"),
            ("https://[64:ff9b::7f00:1]/", "host_not_publicly_routable"),
            ("https://[2002:7f00:1::1]/", "host_not_publicly_routable"),
            ("https://[2002:a00:1::]/", "host_not_publicly_routable"),
        ] {
            assert_eq!(code(url), expected, "{url}");
        }
        assert_eq!(code(&format!("https://example.org/{}", "a".repeat(MAX_URL_CHARS))), "max");
    }

    #[test]
    fn an_operator_allows_hosts_and_networks() {
        let network = Network { address: "10.0.0.0".parse().unwrap(), bits: 8 };
        let allowed = AllowedHosts::new(["Chat.Internal".to_owned()], vec![network]);
        let target = Target::parse("http://chat.internal:8065/hooks/x", &allowed).unwrap();
        assert_eq!(
            (target.host.as_str(), target.port, target.is_allowed_by_name),
            ("chat.internal", 8065, true)
        );
        assert!(Target::parse("http://10.1.2.3/", &allowed).is_ok());
        assert_eq!(Target::parse("http://192.168.0.1/", &allowed), Err("host_not_publicly_routable"));
        assert!(!allowed.permits("192.168.0.1".parse().unwrap()));
        assert!(allowed.permits("10.9.9.9".parse().unwrap()) && allowed.permits("9.9.9.9".parse().unwrap()));
    }

    #[test]
    fn what_is_shown_of_an_address() {
        for (url, expected) in [
            ("https://hooks.example.org/services/T0/B0/x?y=z", "https://hooks.example.org/[REDACTED]"),
            ("http://example.org:8080", "http://example.org:8080/[REDACTED]"),
            ("https://user:pass@example.org/x", "https://example.org/[REDACTED]"),
            ("https://example.org?token=x", "https://example.org/[REDACTED]"),
            ("no address", "[REDACTED]"),
        ] {
            assert_eq!(redacted(url), expected);
        }
    }
}
