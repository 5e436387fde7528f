//! The settings' own types: secrets, addresses, database locations, enumerations.

use super::value::{Choice, Form, Kind, Text, Value};
use bailiwick_domain::OrgType;
use bailiwick_identity::oidc::clients::problem_of_address;
use bailiwick_settings::{
    CatalogueEntry, IdentityMode, ImpersonationScope, Issuer, Logto, Network, RemoteRouter, Router,
    RouterKind, SecondFactorMode, Security,
};
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};
use url::Url;

/// The text shown in place of a secret.
pub(super) const COVERED: &str = "***";

/// A text that no log, error or report ever shows.
pub type Secret = bailiwick_platform::Secret<String>;

impl Value for Secret {
    const KIND: Kind = Kind { secret: true, ..Kind::text("secret") };
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() { Err("is empty".into()) } else { Ok(Secret::new(text.to_owned())) }
    }
    fn show(&self) -> Option<String> {
        Some(COVERED.into())
    }
}

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

impl Text for Word {
    fn text(&self) -> &str {
        self.as_str()
    }
}

/// The listening address: `host:port` with an IP address or `localhost`; no host = every IPv4 address.
impl Value for SocketAddr {
    const KIND: Kind = Kind::text("address");
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
    const KIND: Kind = Kind { pattern: Some("^https?://"), ..Kind::text("URL") };
    fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|why| format!("is not a URL: {why}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("is not an http or https URL".into());
        }
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
    const KIND: Kind = Kind { name: "origin", ..HttpUrl::KIND };
    fn parse(text: &str) -> Result<Self, String> {
        let url = HttpUrl::parse(text)?;
        if url.url().path() == "/" { Ok(Origin(url)) } else { Err("has a path".into()) }
    }
    fn show(&self) -> Option<String> {
        self.0.show()
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
    const KIND: Kind = Kind { pattern: Some("^/"), ..Kind::text("path") };
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
    const KIND: Kind = Kind::text("URI");
    fn parse(text: &str) -> Result<Self, String> {
        problem_of_address(text).map_or_else(|| Ok(ClientUri(text.into())), |why| Err(why.into()))
    }
    fn show(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

/// One path segment or word of `A-Z a-z 0-9 - _ .`, which needs no escaping anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word(String);

/// A name of alerts with its severity and maybe its service.
impl Value for CatalogueEntry {
    const KIND: Kind =
        Kind { pattern: Some("^[^:,]+:[^:,]+(:[^:,]+)?$"), ..Kind::text("name:severity[:service]") };
    fn parse(text: &str) -> Result<Self, String> {
        CatalogueEntry::parse(text)
            .ok_or_else(|| "is not like `DiskFull:critical` or `DiskFull:critical:storage`".into())
    }
    fn show(&self) -> Option<String> {
        let CatalogueEntry { name, severity, service } = self;
        let service = service.as_ref().map(|service| format!(":{service}")).unwrap_or_default();
        Some(format!("{name}:{severity}{service}"))
    }
}

impl Word {
    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for Word {
    const KIND: Kind = Kind { pattern: Some("^[A-Za-z0-9][A-Za-z0-9_.-]*$"), ..Kind::text("word") };
    fn parse(text: &str) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if starts && text.chars().all(plain) {
            Ok(Word(text.into()))
        } else {
            Err("is not a word of letters, digits, `-`, `_` and `.`".into())
        }
    }
    fn show(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

/// A range of client or proxy addresses.
impl Value for Network {
    const KIND: Kind = Kind::text("address range");
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
    const KIND: Kind =
        Kind { secret: true, pattern: Some("^(sqlite:|postgres(ql)?://)"), ..Kind::text("database URL") };
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() || path.contains('?') || path.contains(":memory:") {
                return Err("does not name a file after `sqlite:`".into());
            }
            return Ok(DatabaseUrl::Sqlite(path.into()));
        }
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "postgres" | "postgresql"));
        let why = "does not begin with sqlite:<path>, postgres:// or postgresql://";
        url.map(|_| DatabaseUrl::Postgres(Secret::new(text.to_owned()))).ok_or_else(|| why.into())
    }
    fn show(&self) -> Option<String> {
        match self {
            DatabaseUrl::Sqlite(path) => Some(format!("sqlite:{}", path.display())),
            DatabaseUrl::Postgres(address) => Some(cover_password(address.reveal())),
        }
    }
}

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

/// The filter of the log, in the syntax of `tracing` filters: `info`, `warn,bailiwick_api=debug`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    /// The filter's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for LogFilter {
    const KIND: Kind = Kind { form: Form::Text, ..Kind::text("log filter") };
    fn parse(text: &str) -> Result<Self, String> {
        let read = tracing_subscriber::EnvFilter::builder().parse(text);
        read.map(|_| LogFilter(text.into())).map_err(|why| format!("is not a log filter: {why}"))
    }
    fn show(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

/// The mode alone; its issuer or tenant comes from the sections of its own.
impl Value for IdentityMode {
    const KIND: Kind = Kind { choices: &["embedded", "oidc", "logto"], ..Kind::text("identity mode") };
    fn parse(text: &str) -> Result<Self, String> {
        let issuer = || Issuer::new("", "");
        match text {
            "embedded" => Ok(IdentityMode::Embedded),
            "oidc" => Ok(IdentityMode::Oidc(Box::new(issuer()))),
            "logto" => Ok(IdentityMode::Logto(Box::new(Logto::new(issuer(), "", "")))),
            _ => Err(Self::KIND.refuse()),
        }
    }
    fn show(&self) -> Option<String> {
        let word = match self {
            IdentityMode::Embedded => "embedded",
            IdentityMode::Oidc(_) => "oidc",
            IdentityMode::Logto(_) => "logto",
        };
        Some(word.to_owned())
    }
}

/// The mode of alerting (spec: alerts#settings); the remote router comes from its own section.
impl Value for Router {
    const KIND: Kind = Kind { choices: &["embedded", "remote"], ..Kind::text("alerting mode") };
    fn parse(text: &str) -> Result<Self, String> {
        let (url, prefix) = (String::new(), String::new());
        match text {
            "embedded" => Ok(Router::Embedded),
            "remote" => Ok(Router::Remote(RemoteRouter {
                url,
                prefix,
                kind: RouterKind::Mimir,
                is_provisioned: true,
            })),
            _ => Err(Self::KIND.refuse()),
        }
    }
    fn show(&self) -> Option<String> {
        let word = match self {
            Router::Embedded => "embedded",
            Router::Remote(_) => "remote",
        };
        Some(word.to_owned())
    }
}

impl Choice for ImpersonationScope {
    const NAME: &'static str = "impersonation scope";
    const WORDS: &'static [&'static str] = &["consent", "hierarchy"];
    const VALUES: &'static [Self] = &[ImpersonationScope::Consent, ImpersonationScope::Hierarchy];
}

impl Choice for SecondFactorMode {
    const NAME: &'static str = "second factor mode";
    const WORDS: &'static [&'static str] = &["off", "optional", "required"];
    const VALUES: &'static [Self] =
        &[SecondFactorMode::Off, SecondFactorMode::Optional, SecondFactorMode::Required];
}

impl Choice for OrgType {
    const NAME: &'static str = "level";
    const WORDS: &'static [&'static str] = &["owner", "distributor", "reseller", "customer"];
    const VALUES: &'static [Self] = &OrgType::ALL;
}

impl Choice for RouterKind {
    const NAME: &'static str = "router kind";
    const WORDS: &'static [&'static str] = &["mimir", "cortex", "plain"];
    const VALUES: &'static [Self] = &[RouterKind::Mimir, RouterKind::Cortex, RouterKind::Plain];
}

impl Choice for Security {
    const NAME: &'static str = "mail security";
    const WORDS: &'static [&'static str] = &["starttls", "tls", "none"];
    const VALUES: &'static [Self] = &[Security::StartTls, Security::Tls, Security::None];
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people; coloured on a terminal.
    Text,
    /// One JSON object per line.
    Json,
}

impl Choice for LogFormat {
    const NAME: &'static str = "log format";
    const WORDS: &'static [&'static str] = &["text", "json"];
    const VALUES: &'static [Self] = &[LogFormat::Text, LogFormat::Json];
}

/// A part of the whole, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio(pub f64);

impl Value for Ratio {
    const KIND: Kind = Kind { form: Form::Number, ..Kind::text("number from 0 to 1") };
    fn parse(text: &str) -> Result<Self, String> {
        let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio.map(Ratio).ok_or_else(|| "is not a number from 0 to 1".into())
    }
    fn show(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_print() {
        let secret = Secret::new("hunter2".to_owned());
        assert!(!format!("{secret:?} {:?}", Some(&secret)).contains("hunter2"));
        assert_eq!(secret.show().unwrap(), "***");
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
        for text in ["", "a.db", "sqlite:", "sqlite::memory:", "sqlite:a?mode=rw", "mysql://x/y"] {
            assert!(DatabaseUrl::parse(text).is_err(), "{text}");
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
        for text in ["portal.example", "ftp://a", "http://u:p@a", "http://a?x", "http://a#x"] {
            assert!(HttpUrl::parse(text).is_err(), "{text}");
        }
        assert!(Origin::parse("https://portal.example/app").is_err());
        assert_eq!(BasePath::parse("/api/").unwrap().as_str(), "/api");
        assert_eq!(BasePath::parse("/").unwrap().as_str(), "/");
        for text in ["", "api", "//", "/a//b", "/{id}", "/oidc", "/oidc/x", "/a b"] {
            assert!(BasePath::parse(text).is_err(), "{text}");
        }
    }
}
