//! Types of settings that are addresses: of listeners, services, databases and machines, and paths of the interface.

use super::{
    value::{Text, Value, ValueType},
    value_types::{COVERED, Secret},
};
use bailiwick_identity::oidc::clients::problem_of_address;
use bailiwick_settings::Network;
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};
use url::{Host, Url};

impl Text for HttpUrl {
    fn text(&self) -> &str {
        self.as_str()
    }
}

impl Text for Origin {
    fn text(&self) -> &str {
        self.as_str()
    }
}

impl Text for BasePath {
    fn text(&self) -> &str {
        self.before_route()
    }
    fn of_text(text: &str) -> Option<BasePath> {
        BasePath::parse(if text.is_empty() { "/" } else { text }).ok()
    }
}

impl Text for ClientUri {
    fn text(&self) -> &str {
        self.as_str()
    }
}

/// The listening address: `host:port` with an IP address or `localhost`; no host = every IPv4 address.
impl Value for SocketAddr {
    const KIND: ValueType = ValueType::text("address");
    fn parse(text: &str) -> Result<Self, String> {
        let why = "is not an address like 127.0.0.1:8080, [::1]:8080, localhost:8080 or :8080";
        if let Ok(address) = text.parse() {
            return Ok(address);
        }
        let (host, port) = text.split_once(':').ok_or(why)?;
        let ip = match host {
            "" => Ipv4Addr::UNSPECIFIED,
            "localhost" => Ipv4Addr::LOCALHOST,
            _ => return Err(why.into()),
        };
        let port = port.parse().map_err(|_| why)?;
        Ok(SocketAddr::new(IpAddr::V4(ip), port))
    }
    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

/// An http or https address without user information, query and fragment, written without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl(Url);

impl HttpUrl {
    /// The address without a trailing slash.
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// The parsed address.
    pub fn url(&self) -> &Url {
        &self.0
    }
}

impl Value for HttpUrl {
    const KIND: ValueType = ValueType { pattern: Some("^https?://"), ..ValueType::text("URL") };
    fn parse(text: &str) -> Result<Self, String> {
        let is_http = text.starts_with("http://") || text.starts_with("https://");
        if !is_http {
            return Err("does not begin with http:// or https://, as https://portal.example does".into());
        }
        let url = Url::parse(text).map_err(|why| format!("is not a URL: {why}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("carries user information, which would end up in logs".into());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("has a query or a fragment".into());
        }
        Ok(HttpUrl(url))
    }
    fn show(&self) -> Option<String> {
        Some(self.as_str().to_owned())
    }
    fn quoted(text: &str) -> String {
        quoted_address(text)
    }
}

/// The scheme alone of an address that is not understood: a part of a password may stand anywhere behind it.
pub(super) fn quoted_address(text: &str) -> String {
    let plain = |scheme: &&str| scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+');
    match text.split_once("://").map(|(scheme, _)| scheme).filter(plain) {
        Some(scheme) => format!("`{scheme}://…`"),
        None if text.contains('@') => "`…`".to_owned(),
        None => format!("`{text}`"),
    }
}

/// Scheme, host and port, without a path: the content of `Origin` headers and of the public address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(HttpUrl);

impl Origin {
    /// The origin as browsers write it.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The parsed address.
    pub fn url(&self) -> &Url {
        self.0.url()
    }
}

impl Value for Origin {
    const KIND: ValueType = ValueType { name: "origin", ..HttpUrl::KIND };
    fn parse(text: &str) -> Result<Self, String> {
        let url = HttpUrl::parse(text)?;
        if url.url().path() == "/" {
            Ok(Origin(url))
        } else {
            Err("has a path: give https://host or https://host:port; below a path of another site the service cannot be".into())
        }
    }
    fn show(&self) -> Option<String> {
        self.0.show()
    }
    fn quoted(text: &str) -> String {
        quoted_address(text)
    }
}

/// The name of a machine, in ASCII, or its IP address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// The name or address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for HostName {
    const KIND: ValueType = ValueType::text("host name");
    fn parse(text: &str) -> Result<Self, String> {
        if text.parse::<IpAddr>().is_ok() {
            return Ok(HostName(text.to_owned()));
        }
        match Host::parse(text) {
            Ok(Host::Domain(name)) => Ok(HostName(name)),
            _ => Err("is not a host name like mail.portal.example, nor an IP address".into()),
        }
    }
    fn show(&self) -> Option<String> {
        Some(self.0.clone())
    }
    fn quoted(text: &str) -> String {
        quoted_address(text)
    }
}

/// A base path of the whole API (spec: conventions#addresses): `/` or `/api`, never with a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasePath(String);

impl BasePath {
    /// `/` or the path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text before a route: nothing for `/`, else the path.
    pub fn before_route(&self) -> &str {
        self.0.trim_end_matches('/')
    }
}

impl Value for BasePath {
    const KIND: ValueType = ValueType { pattern: Some("^/"), ..ValueType::text("path") };
    fn parse(text: &str) -> Result<Self, String> {
        let path = text.trim_end_matches('/');
        let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
        let first = path.split('/').nth(1);
        if !text.starts_with('/') || text.contains("//") || !path.chars().all(plain) {
            return Err("is not a path like / or /api".into());
        }
        if first == Some("oidc") {
            return Err("is taken by the OpenID provider".into());
        }
        Ok(BasePath(if path.is_empty() { "/".into() } else { path.into() }))
    }
    fn show(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

/// An address of an OpenID client, kept as written, because it is compared character by character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientUri(String);

impl ClientUri {
    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for ClientUri {
    const KIND: ValueType = ValueType::text("URI");
    fn parse(text: &str) -> Result<Self, String> {
        problem_of_address(text).map_or_else(|| Ok(ClientUri(text.into())), |why| Err(why.into()))
    }
    fn show(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

/// A range of client or proxy addresses.
impl Value for Network {
    const KIND: ValueType = ValueType::text("address range");
    fn parse(text: &str) -> Result<Self, String> {
        let why = "is not an IP address or a range like 10.0.0.0/8";
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address = address.parse::<IpAddr>().map_err(|_| why)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse::<u8>).map_err(|_| why)?;
        if bits > most { Err(why.into()) } else { Ok(Network { address, bits }) }
    }
    fn show(&self) -> Option<String> {
        Some(format!("{}/{}", self.address, self.bits))
    }
}

/// Where the data lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A SQLite file; its directory must exist or be the data directory.
    Sqlite(PathBuf),
    /// A PostgreSQL address, password and all.
    Postgres(Secret),
}

impl Value for DatabaseUrl {
    const KIND: ValueType = ValueType {
        secret: true,
        pattern: Some("^(sqlite:|postgres(ql)?://)"),
        ..ValueType::text("database URL")
    };
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() || path.contains('?') || path.contains(":memory:") {
                return Err("does not name a file after `sqlite:`".into());
            }
            return Ok(DatabaseUrl::Sqlite(path.into()));
        }
        let behind =
            ["postgres://", "postgresql://"].into_iter().find_map(|scheme| text.strip_prefix(scheme));
        let behind = behind.ok_or("does not begin with sqlite:<path>, postgres:// or postgresql://")?;
        // What names the server ends at the first of these: in a password they would cut it.
        let end = behind.find(['/', '?', '#']).unwrap_or(behind.len());
        let is_cut = behind.contains('#') || behind.get(end..).is_some_and(|rest| rest.contains('@'));
        let url = Url::parse(text).ok().filter(|_| !is_cut).ok_or(NOT_UNDERSTOOD)?;
        // The driver writes those that it does not know into the log, with their values.
        let is_known = |name: &str| PARAMETERS.contains(&name) || name.starts_with("options[");
        if !url.query_pairs().all(|(name, _)| is_known(&name)) {
            return Err(format!("has another parameter than {}", PARAMETERS.join(", ")));
        }
        Ok(DatabaseUrl::Postgres(Secret::new(text.to_owned())))
    }
    fn show(&self) -> Option<String> {
        match self {
            DatabaseUrl::Sqlite(path) => Some(format!("sqlite:{}", path.display())),
            DatabaseUrl::Postgres(address) => Some(cover_password(address.reveal())),
        }
    }
}

/// About a PostgreSQL address of which nothing can be shown.
const NOT_UNDERSTOOD: &str = "is not an address like postgres://user:password@host:5432/database: in user and password write \
     `@` as %40, `/` as %2F, `#` as %23, `?` as %3F, `:` as %3A and `%` as %25";

/// What may stand behind the `?` of a PostgreSQL address, beside `options[…]`.
const PARAMETERS: [&str; 18] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// The address with the password and every query value covered: drivers accept passwords in the query too.
fn cover_password(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else { return COVERED.into() };
    if url.password().is_some() && url.set_password(Some(COVERED)).is_err() {
        return COVERED.into();
    }
    let names: Vec<String> = url.query_pairs().map(|(name, _)| format!("{name}={COVERED}")).collect();
    url.set_query(if names.is_empty() { None } else { Some(names.join("&")) }.as_deref());
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_addresses_do_not_print() {
        let url = DatabaseUrl::parse("postgres://me:hunter2@db/bw?password=hunter3&sslmode=require").unwrap();
        let shown = format!("{} {url:?}", url.show().unwrap());
        assert!(shown.starts_with("postgres://me:***@db/bw?password=***&sslmode=***"), "{shown}");
        assert!(!shown.contains("hunter"), "{shown}");
    }

    #[test]
    fn listen_addresses_may_leave_out_the_host() {
        assert_eq!(SocketAddr::parse(":8080").unwrap().to_string(), "0.0.0.0:8080");
        assert_eq!(SocketAddr::parse("localhost:80").unwrap().to_string(), "127.0.0.1:80");
        assert_eq!(SocketAddr::parse("[::1]:80").unwrap().to_string(), "[::1]:80");
        for text in ["", "8080", "host:80", "127.0.0.1", "127.0.0.1:99999"] {
            assert!(SocketAddr::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn databases_are_files_or_servers() {
        assert_eq!(DatabaseUrl::parse("sqlite:./a.db").unwrap(), DatabaseUrl::Sqlite("./a.db".into()));
        assert_eq!(DatabaseUrl::parse("sqlite:///a.db").unwrap(), DatabaseUrl::Sqlite("/a.db".into()));
        for text in
            ["", "a.db", "sqlite:", "sqlite::memory:", "sqlite:a?mode=rw", "mysql://x/y", "postgres:x"]
        {
            assert!(DatabaseUrl::parse(text).is_err(), "{text}");
        }
        for text in [
            "postgres:///fleet?host=/run/postgresql",
            "postgresql://me@[::1]:5432/fleet",
            "postgres://me:S3cr%40tP%40ss%23w0rd@127.0.0.1:1/db",
            // The last one ends the password.
            "postgres://me:S3cr@tP@ss@127.0.0.1:1/db",
        ] {
            assert!(DatabaseUrl::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn an_address_that_is_not_understood_shows_its_scheme_alone() {
        for text in [
            "postgres://me:S3cr@tP@ss#w0rd@127.0.0.1:1/db",
            "postgres://me:S3cr/t@127.0.0.1:1/db",
            "postgres://me:12/34@127.0.0.1:1/db",
            "postgres://me:1?S3cr@127.0.0.1:1/db",
            "postgres://me:S3cr t@127.0.0.1:port/db",
        ] {
            let why = DatabaseUrl::parse(text).unwrap_err();
            assert!(why.contains("%40") && why.contains("%23") && !why.contains("S3cr"), "{why}");
        }
        let why = DatabaseUrl::parse("postgres://me@host/db?pasword=S3cr").unwrap_err();
        assert!(why.contains("sslmode") && !why.contains("S3cr"), "{why}");
        for (text, shown) in [
            ("https://me:S3cr@host/", "`https://…`"),
            ("me:S3cr@host", "`…`"),
            ("portal.example", "`portal.example`"),
        ] {
            assert_eq!((HttpUrl::quoted(text), Origin::quoted(text)), (shown.to_owned(), shown.to_owned()));
        }
    }

    #[test]
    fn networks_contain_their_addresses() {
        let within = |net: &str, ip: &str| Network::parse(net).unwrap().contains(ip.parse().unwrap());
        assert!(within("10.0.0.0/8", "10.9.8.7") && within("10.0.0.0/8", "::ffff:10.1.1.1"));
        assert!(within("0.0.0.0/0", "1.2.3.4") && within("::/0", "2001:db8::1") && within("::1", "::1"));
        assert!(!within("10.0.0.0/8", "11.0.0.1") && !within("::1", "::2") && !within("::/0", "1.2.3.4"));
        for text in ["10.0.0.0/33", "10.0.0/8", "x", "::1/129", "1.1.1.1/"] {
            assert!(Network::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn addresses_and_paths_are_plain() {
        assert_eq!(HttpUrl::parse("http://mimir:9009/prefix/").unwrap().as_str(), "http://mimir:9009/prefix");
        assert_eq!(Origin::parse("https://portal.example").unwrap().as_str(), "https://portal.example");
        for text in
            ["portal.example", "portal.example:8443", "ftp://a", "http://u:p@a", "http://a?x", "http://a#x"]
        {
            assert!(HttpUrl::parse(text).is_err(), "{text}");
        }
        assert!(Origin::parse("https://portal.example/app").unwrap_err().contains("https://host"));
        for (text, host) in
            [("mail.example", "mail.example"), ("::1", "::1"), ("münchen.example", "xn--mnchen-3ya.example")]
        {
            assert_eq!(HostName::parse(text).unwrap().as_str(), host);
        }
        for text in ["", "a b", "smtp://u:p@mail.example", "u@mail.example", "mail.example:25", "mail/x"] {
            assert!(HostName::parse(text).is_err(), "{text}");
        }
        assert_eq!(BasePath::parse("/api/").unwrap().as_str(), "/api");
        assert_eq!(BasePath::parse("/").unwrap().as_str(), "/");
        for text in ["", "api", "//", "/a//b", "/{id}", "/oidc", "/oidc/x", "/a b"] {
            assert!(BasePath::parse(text).is_err(), "{text}");
        }
    }
}
