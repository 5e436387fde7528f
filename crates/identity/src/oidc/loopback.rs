//! Addresses of the same machine, to which native applications are sent their codes (RFC 8252 §7.3).

/// An `http` address on loopback without its port. Compared as text, so no leniency of a parser applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loopback<'a> {
    host: &'a str,
    /// The path and what follows it.
    pub(super) path: &'a str,
}

impl<'a> Loopback<'a> {
    /// None for every other address.
    pub(super) fn of(address: &'a str) -> Option<Loopback<'a>> {
        let address = address.strip_prefix("http://")?;
        let (authority, path) = address.split_at(address.find(['/', '?']).unwrap_or(address.len()));
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => is_port(port).then_some(host)?,
            _ => authority,
        };
        let loopback = Loopback { host, path };
        (host == "localhost" || loopback.is_literal()).then_some(loopback)
    }

    /// Whether the host is an IP address, not the name `localhost`.
    pub(super) fn is_literal(self) -> bool {
        matches!(self.host, "127.0.0.1" | "[::1]")
    }
}

fn is_port(digits: &str) -> bool {
    digits.bytes().all(|b| b.is_ascii_digit()) && digits.parse::<u16>().is_ok_and(|port| port > 0)
}
