//! Checks whether an address that a system has reported answers (spec: systems#reachability). Callers must not be able
//! to probe the network of the service, so every address is checked before the first packet.

use crate::plain_request::{any_certificate, ask};
use bailiwick_domain::net::{Network, is_global};
use http::Method;
use rustls::pki_types::ServerName;
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;

/// Time for one address of the list, from the connection to the head of the answer.
const TIME: Duration = Duration::from_secs(5);
/// Time for the name service.
const RESOLVE_TIME: Duration = Duration::from_secs(5);

/// Asks other hosts whether they answer.
#[derive(Clone)]
pub struct Reach {
    allowed: Arc<[Network]>,
    tls: TlsConnector,
}

impl std::fmt::Debug for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reach").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

/// One `https` address to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// As shown to people.
    pub url: String,
    pub port: u16,
    /// Path with its leading slash.
    pub path: &'static str,
}

impl Reach {
    /// `allowed`: ranges that may be contacted although they are not public, for laboratories.
    ///
    /// # Errors
    /// The TLS library refuses its own defaults.
    pub fn new(allowed: Vec<Network>) -> Result<Reach, rustls::Error> {
        Ok(Reach { allowed: allowed.into(), tls: any_certificate()? })
    }

    /// The addresses of a host name or address, if all of them may be contacted; none = do not connect.
    pub async fn resolve(&self, host: &str) -> Option<Vec<IpAddr>> {
        let host = plain_host(host)?;
        let found = timeout(RESOLVE_TIME, tokio::net::lookup_host((host, 443))).await.ok()?.ok()?;
        self.judged(found.map(|address| address.ip()).collect())
    }

    /// All of them or none: one internal address makes all suspect.
    fn judged(&self, addresses: Vec<IpAddr>) -> Option<Vec<IpAddr>> {
        let all_permitted = addresses.iter().all(|ip| self.permits(*ip));
        (all_permitted && !addresses.is_empty()).then_some(addresses)
    }

    fn permits(&self, address: IpAddr) -> bool {
        is_global(address) || self.allowed.iter().any(|network| network.contains(address))
    }

    /// Whether anything at these addresses speaks HTTP, whatever it answers. Connects to no others.
    pub async fn answers(&self, host: &str, addresses: &[IpAddr], candidate: &Candidate) -> bool {
        timeout(TIME, async {
            for address in addresses {
                if self.head(host, SocketAddr::new(*address, candidate.port), candidate).await.is_some() {
                    return true;
                }
            }
            false
        })
        .await
        .unwrap_or(false)
    }

    async fn head(&self, host: &str, address: SocketAddr, candidate: &Candidate) -> Option<()> {
        let stream = TcpStream::connect(address).await.ok()?;
        let name = ServerName::try_from(plain_host(host)?.to_owned()).ok()?;
        let stream = self.tls.connect(name, stream).await.ok()?;
        ask(stream, Method::HEAD, host, candidate.path).await.ok().map(drop)
    }
}

/// A host name or an address, and nothing beside it: no user, port, path or zone. Brackets of an IPv6 address are
/// taken off.
fn plain_host(host: &str) -> Option<&str> {
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if inner.parse::<IpAddr>().is_ok() {
        return Some(inner);
    }
    let is_name = !host.is_empty()
        && host.len() <= 253
        && host.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
                && !label.starts_with('-')
                && !label.ends_with('-')
        });
    is_name.then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_and_nothing_more() {
        for host in
            ["ns1.acme.example", "a", "firewall-2.lan_1.example", "192.0.2.7", "2001:db8::1", "[2001:db8::1]"]
        {
            assert!(plain_host(host).is_some(), "{host}");
        }
        for host in [
            "",
            ".",
            "a.",
            "a..b",
            "user@host",
            "host:80",
            "host/path",
            "[host]",
            "[::1",
            "fe80::1%eth0",
            "-a.example",
            "a-.example",
            "ho st",
            "ho\nst",
            "höst.example",
            "a?b",
            "a#b",
        ] {
            assert_eq!(plain_host(host), None, "{host}");
        }
        assert!(plain_host(&"a.".repeat(126)).is_none());
        assert!(plain_host(&format!("{}.example", "a".repeat(64))).is_none());
    }

    // Proves spec: guarantees#systems 38.
    #[test]
    fn one_address_inside_spoils_all_answers_of_the_name_service() {
        let outside = Reach::new(Vec::new()).unwrap();
        let judged = |texts: &[&str]| {
            let addresses = texts.iter().map(|text| text.parse().unwrap()).collect();
            outside.judged(addresses).map(|found| found.len())
        };
        assert_eq!(judged(&["8.8.8.8", "2606:4700::1111"]), Some(2));
        for inside in ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:192.168.0.1"] {
            assert_eq!(judged(&["8.8.8.8", inside]), None, "{inside}");
            assert_eq!(judged(&[inside, "8.8.8.8"]), None, "{inside}");
        }
        assert_eq!(judged(&[]), None);
    }

    #[tokio::test]
    async fn addresses_inside_are_not_asked_unless_allowed() {
        let outside = Reach::new(Vec::new()).unwrap();
        for host in
            ["127.0.0.1", "localhost", "::1", "[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254", "0"]
        {
            assert_eq!(outside.resolve(host).await, None, "{host}");
        }
        let laboratory =
            Reach::new(vec![Network { address: "127.0.0.0".parse().unwrap(), bits: 8 }]).unwrap();
        assert_eq!(laboratory.resolve("127.3.2.1").await, Some(vec!["127.3.2.1".parse().unwrap()]));
        assert_eq!(laboratory.resolve("::1").await, None);
    }
}
