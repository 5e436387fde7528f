//! Registered clients: the built-in one and the configured ones (spec: openid-provider#endpoints).

use super::{Code, OAuthError, loopback::Loopback};
use aws_lc_rs::{constant_time, digest};
use bailiwick_domain::{OrgId, fold::fold, ports::hex};
use bailiwick_policy::UserIdentity;
use bailiwick_settings::{AccessControl, Application, Client as Configured, Settings};
use std::iter;
use url::{Host, Url};

/// `client_id` of the built-in client: the service's own user interface.
pub const DEFAULT_ID: &str = "bailiwick";

/// `client_id` of the console. Its codes are exchanged in the process, so no other program can act as this client.
pub const CONSOLE_ID: &str = "bailiwick-console";

/// Where the console is sent its codes, below the public address.
pub const CONSOLE_REDIRECT: &str = "console/signed-in";

/// Where the reference of the interface is sent the codes of the built-in client, below each base path.
pub const REFERENCE_REDIRECT: &str = "docs/signed-in";

const DEFAULT_REDIRECT: &str = "login-redirect";
const DEFAULT_POST_LOGOUT: &str = "login";

/// A registered client.
#[derive(Clone, Debug)]
pub struct Client {
    id: String,
    secret_sha256: Option<String>,
    redirects: Addresses,
    post_logout: Addresses,
    /// The description that users see of a third-party client.
    third_party: Option<Application>,
}

/// Addresses a client may be sent to.
#[derive(Clone, Debug)]
struct Addresses {
    /// Those on a loopback literal are accepted with any port (RFC 8252 §7.3).
    exact: Vec<String>,
    /// Accepted on `http://localhost` and on loopback literals with any port.
    loopback_paths: Vec<String>,
}

impl Addresses {
    fn allow(&self, address: &str) -> bool {
        let loopback = Loopback::of(address);
        self.exact.iter().any(|exact| {
            exact == address
                || loopback.is_some_and(|wanted| wanted.is_literal() && Loopback::of(exact) == Some(wanted))
        }) || loopback.is_some_and(|wanted| self.loopback_paths.iter().any(|path| path == wanted.path))
    }

    fn allow_origin(&self, origin: &str) -> bool {
        let has_origin =
            |address: &String| Url::parse(address).is_ok_and(|u| u.origin().ascii_serialization() == origin);
        // An opaque origin is written "null", which no page may claim.
        origin != "null"
            && (self.exact.iter().any(has_origin)
                || (!self.loopback_paths.is_empty()
                    && Loopback::of(origin).is_some_and(|origin| origin.path.is_empty())))
    }
}

/// The credentials a client presents at an endpoint.
#[derive(Clone, Debug, Default)]
pub struct ClientCredentials {
    /// `client_id`.
    pub id: Option<String>,
    /// Secret of a confidential client, from the header or the form.
    pub secret: Option<String>,
}

impl Client {
    /// `client_id`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// No secret: PKCE binds the code to the client.
    pub const fn is_public(&self) -> bool {
        self.secret_sha256.is_none()
    }

    /// Whether it is the service's own or the operator's client: it needs no consent, and its tokens can be exchanged.
    pub const fn is_first_party(&self) -> bool {
        self.third_party.is_none()
    }

    /// The description that users see of a third-party client.
    pub const fn third_party(&self) -> Option<&Application> {
        self.third_party.as_ref()
    }

    /// Its name for users.
    pub fn display_name(&self) -> &str {
        let application = self.third_party.as_ref();
        application.and_then(|a| a.display_name.as_ref().or(a.name.as_ref())).unwrap_or(&self.id)
    }

    /// Whether codes may be sent there.
    pub fn may_redirect_to(&self, uri: &str) -> bool {
        self.redirects.allow(uri)
    }

    /// Whether the browser may be redirected there after sign-out.
    pub fn may_return_to(&self, uri: &str) -> bool {
        self.post_logout.allow(uri)
    }

    fn has_secret(&self, secret: &str) -> bool {
        let Some(expected) = &self.secret_sha256 else { return false };
        let secret = hex(digest::digest(&digest::SHA256, secret.as_bytes()).as_ref());
        let expected = expected.to_ascii_lowercase();
        constant_time::verify_slices_are_equal(secret.as_bytes(), expected.as_bytes()).is_ok()
    }
}

fn default_client(settings: &Settings) -> Client {
    let base = &settings.public_url;
    // The user interface may have an address of its own.
    let addresses = |path: &str, more: &[String]| Addresses {
        exact: [base, settings.app_url()]
            .map(|base| format!("{base}/{path}"))
            .into_iter()
            .chain(more.iter().cloned())
            .collect(),
        loopback_paths: loopback_path(base, path).into_iter().collect(),
    };
    let provider = &settings.provider;
    let mut redirects = addresses(DEFAULT_REDIRECT, &provider.redirect_uris);
    for path in reference_redirects(settings) {
        redirects.exact.push(format!("{base}{path}"));
        redirects.loopback_paths.extend(loopback_path(base, path.trim_start_matches('/')));
    }
    Client {
        id: DEFAULT_ID.to_owned(),
        secret_sha256: None,
        redirects,
        post_logout: addresses(DEFAULT_POST_LOGOUT, &provider.post_logout_redirect_uris),
        third_party: None,
    }
}

/// Where the reference is, at the root and below each base path.
fn reference_redirects(settings: &Settings) -> impl Iterator<Item = String> {
    let bases = settings.base_paths.iter().map(String::as_str).filter(|base| !base.is_empty());
    iter::once("").chain(bases).map(|base| format!("{base}/{REFERENCE_REDIRECT}"))
}

/// The console: it has no secret because it needs none, and PKCE is mandatory for it as for any public client.
fn console_client(settings: &Settings) -> Client {
    let (base, path) = (&settings.public_url, CONSOLE_REDIRECT);
    Client {
        id: CONSOLE_ID.to_owned(),
        secret_sha256: None,
        redirects: Addresses {
            exact: vec![format!("{base}/{path}")],
            loopback_paths: loopback_path(base, path).into_iter().collect(),
        },
        post_logout: Addresses { exact: Vec::new(), loopback_paths: Vec::new() },
        third_party: None,
    }
}

/// The path of `base/path` while `base` is itself a loopback address.
fn loopback_path(base: &str, path: &str) -> Option<String> {
    let base = Url::parse(base).ok()?;
    let is_loopback = match base.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    };
    is_loopback.then(|| format!("{}/{path}", base.path().trim_end_matches('/')))
}

fn configured(client: &Configured) -> Client {
    let exact = |addresses: &[String]| Addresses { exact: addresses.to_vec(), loopback_paths: Vec::new() };
    Client {
        id: client.id.clone(),
        secret_sha256: client.secret_sha256.clone(),
        redirects: exact(&client.redirect_uris),
        post_logout: exact(&client.post_logout_redirect_uris),
        third_party: (!client.first_party).then(|| client.application.clone()),
    }
}

/// The client of that id.
pub fn find(settings: &Settings, id: &str) -> Option<Client> {
    if id == DEFAULT_ID {
        return Some(default_client(settings));
    }
    if id == CONSOLE_ID && settings.console.enabled {
        return Some(console_client(settings));
    }
    settings.provider.clients.iter().find(|client| client.id == id).map(configured)
}

/// The client that calls, with its secret verified.
///
/// # Errors
/// `invalid_client`: unknown, wrong or missing secret, a secret where there is none.
pub fn authenticate(settings: &Settings, credentials: &ClientCredentials) -> Result<Client, OAuthError> {
    let invalid = || OAuthError::new(Code::InvalidClient, "client authentication failed");
    let client_id = credentials.id.as_deref().filter(|id| *id != CONSOLE_ID);
    let client = client_id.and_then(|id| find(settings, id)).ok_or_else(invalid)?;
    let is_proved = match &credentials.secret {
        Some(secret) => client.has_secret(secret),
        None => client.is_public(),
    };
    if is_proved { Ok(client) } else { Err(invalid()) }
}

/// Whether a page of this origin may call the endpoints its client needs: the origin of a registered redirect URI.
pub fn is_client_origin(settings: &Settings, origin: &str) -> bool {
    default_client(settings).redirects.allow_origin(origin)
        || settings.provider.clients.iter().any(|c| configured(c).redirects.allow_origin(origin))
}

/// The problems of the configured clients, each with the client's id; empty when there are none. For the check at the
/// start.
pub fn problems(clients: &[Configured]) -> Vec<(&str, String)> {
    let mut problems = Vec::new();
    for (index, client) in clients.iter().enumerate() {
        let mut report = |text: &str| problems.push((client.id.as_str(), text.to_owned()));
        if client.id.is_empty() || client.id.len() > 128 || !client.id.bytes().all(|b| b.is_ascii_graphic()) {
            report("the id must have 1 to 128 visible ASCII characters");
        }
        if client.id == DEFAULT_ID || client.id == CONSOLE_ID {
            report("this id belongs to the client that is always there");
        }
        if clients.iter().take(index).any(|other| other.id == client.id) {
            report("the id is there twice");
        }
        let application = &client.application;
        if client.first_party && *application != Application::default() {
            report("name, description, addresses and access_control are for clients of third parties");
        }
        if !client.first_party && client.secret_sha256.is_none() && application.login_url.is_none() {
            report("a public client of a third party needs login_url: it must begin a sign-in itself (PKCE)");
        }
        let control = application.access_control.as_ref();
        for id in control.iter().flat_map(|control| &control.organization_ids) {
            if id.parse::<OrgId>().is_err() {
                report(&format!("access_control.organization_ids: `{id}` is not an id"));
            }
        }
        if client.redirect_uris.is_empty() {
            report("at least one redirect URI is needed");
        }
        let shown = [
            &application.login_url,
            &application.info_url,
            &application.logo_url,
            &application.dark_logo_url,
        ];
        let addresses = client.redirect_uris.iter().chain(&client.post_logout_redirect_uris);
        for uri in addresses.chain(shown.into_iter().flatten()) {
            if let Some(problem) = problem_of_address(uri) {
                report(&format!("`{uri}` {problem}"));
            }
        }
        let is_digest = |s: &String| s.len() == 64 && s.bytes().all(|b| b.is_ascii_hexdigit());
        if client.secret_sha256.as_ref().is_some_and(|s| !is_digest(s)) {
            report("the secret must be given as 64 hex digits (SHA-256)");
        }
    }
    problems
}

/// Why the provider may not redirect to this address; the text follows the address.
pub fn problem_of_address(uri: &str) -> Option<&'static str> {
    let Ok(url) = Url::parse(uri) else { return Some("is not an absolute URI") };
    if url.fragment().is_some() {
        return Some("must not have a fragment");
    }
    match url.scheme() {
        "javascript" | "data" | "blob" | "file" | "about" | "vbscript" => {
            Some("has a scheme that is not allowed")
        }
        _ if uri
            .bytes()
            .any(|b| b.is_ascii_whitespace() || b.is_ascii_control() || b == b';' || b == b',') =>
        {
            Some("has a character that is not allowed")
        }
        _ => None,
    }
}

/// Whether a third-party client admits this user (spec: openid-provider#third-party-applications).
pub(crate) fn admits(client: &Client, identity: &UserIdentity) -> bool {
    let control = client.third_party().and_then(|application| application.access_control.as_ref());
    control.is_some_and(|control| names(control, identity))
}

/// Whether the user is admitted: every list that is not empty must match. Empty lists alone admit no user.
pub(crate) fn names(control: &AccessControl, identity: &UserIdentity) -> bool {
    let (organization, effective) = (&identity.organization, &identity.effective);
    let AccessControl { organization_ids, organization_roles, user_roles, user_role_ids } = control;
    let by_keys = !user_role_ids.is_empty();
    // None: an empty list requires nothing.
    let requires = |list: &[String], matches: &dyn Fn(&String) -> bool| {
        (!list.is_empty()).then(|| list.iter().any(matches))
    };
    let id = organization.id.to_string();
    let same_word = |a: &str, b: &str| fold(a) == fold(b);
    let answers = [
        requires(organization_ids, &|wanted| wanted.eq_ignore_ascii_case(&id)),
        requires(organization_roles, &|wanted| same_word(wanted, organization.org_type.role_name())),
        requires(user_role_ids, &|wanted| effective.user_role_ids().contains(wanted)),
        requires(if by_keys { &[] } else { user_roles }, &|wanted| {
            effective.user_roles().iter().any(|role| same_word(wanted, role))
        }),
    ];
    answers.iter().any(Option::is_some) && answers.iter().flatten().all(|matches| *matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(public_url: &str) -> Settings {
        Settings::defaults(public_url, vec![0; 32])
    }

    fn extra(id: &str) -> Configured {
        Configured {
            id: id.into(),
            secret_sha256: None,
            redirect_uris: vec!["https://app.example.org/cb".into()],
            post_logout_redirect_uris: vec![],
            first_party: true,
            application: Application::default(),
        }
    }

    #[test]
    fn the_default_client_takes_any_loopback_port_while_the_service_is_on_loopback() {
        let client = default_client(&settings("http://127.0.0.1:8080"));
        for good in [
            "http://127.0.0.1:8080/login-redirect",
            "http://localhost:5173/login-redirect",
            "http://127.0.0.1/login-redirect",
            "http://localhost:65535/login-redirect",
            "http://[::1]:5173/login-redirect",
        ] {
            assert!(client.may_redirect_to(good), "{good}");
        }
        for bad in [
            "https://localhost:5173/login-redirect",
            "http://localhost:5173/login-redirect/",
            "http://localhost:5173/login-redirect?a=b",
            "http://localhost:5173/login-redirect#a",
            "http://localhost:5173/login",
            "http://localhost:0/login-redirect",
            "http://localhost:65536/login-redirect",
            "http://localhost:+80/login-redirect",
            "http://localhost:/login-redirect",
            "http://localhost.example.org/login-redirect",
            "http://localhost:80@example.org/login-redirect",
            "http://localhost:80/@example.org/login-redirect",
            "http://127.0.0.2:80/login-redirect",
            "HTTP://localhost:80/login-redirect",
        ] {
            assert!(!client.may_redirect_to(bad), "{bad}");
        }
        for path in ["/docs/signed-in", "/api/docs/signed-in"] {
            assert!(client.may_redirect_to(&format!("http://localhost:5173{path}")), "{path}");
        }
        assert!(client.may_return_to("http://localhost:3000/login"));
        assert!(!client.may_return_to("http://localhost:3000/login-redirect"));
    }

    #[test]
    fn a_public_service_takes_its_own_address_only() {
        let client = default_client(&settings("https://my.example.org"));
        assert!(client.may_redirect_to("https://my.example.org/login-redirect"));
        assert!(client.may_redirect_to("https://my.example.org/api/docs/signed-in"));
        assert!(!client.may_redirect_to("https://my.example.org/other/docs/signed-in"));
        assert!(!client.may_redirect_to("http://localhost:5173/docs/signed-in"));
        assert!(!client.may_redirect_to("http://localhost:5173/login-redirect"));
        assert!(!client.may_redirect_to("https://my.example.org/login-redirect/../x"));
    }

    #[test]
    fn a_user_interface_elsewhere_and_configured_addresses_belong_to_the_default_client() {
        let mut s = settings("https://my.example.org");
        s.app_url = Some("https://ui.example.org".into());
        s.provider.redirect_uris = vec!["https://other.example.org/cb".into()];
        s.provider.post_logout_redirect_uris = vec!["https://other.example.org/bye".into()];
        let client = default_client(&s);
        for base in ["https://my.example.org", "https://ui.example.org"] {
            assert!(client.may_redirect_to(&format!("{base}/login-redirect")));
            assert!(client.may_return_to(&format!("{base}/login")));
            assert!(!client.may_redirect_to(&format!("{base}/login")));
            assert!(is_client_origin(&s, base));
        }
        assert!(client.may_redirect_to("https://other.example.org/cb"));
        assert!(client.may_return_to("https://other.example.org/bye"));
        assert!(!client.may_redirect_to("https://other.example.org/bye"));
        assert!(!client.may_return_to("https://other.example.org/cb"));
    }

    #[test]
    fn origins_are_those_of_redirect_addresses() {
        let mut s = settings("https://my.example.org");
        s.provider.clients.push(extra("one"));
        for good in ["https://my.example.org", "https://app.example.org"] {
            assert!(is_client_origin(&s, good), "{good}");
        }
        for bad in [
            "https://example.org",
            "http://my.example.org",
            "http://localhost:1",
            "null",
            "https://app.example.org:8443",
        ] {
            assert!(!is_client_origin(&s, bad), "{bad}");
        }
        assert!(is_client_origin(&settings("http://localhost:8080"), "http://127.0.0.1:5173"));
    }

    #[test]
    fn a_client_of_a_third_party_is_known_as_one() {
        let mut s = settings("https://my.example.org");
        let login_url = Some("https://app.example.org/".to_owned());
        let application = Application { login_url, ..Application::default() };
        let theirs = Configured { first_party: false, application, ..extra("theirs") };
        s.provider.clients = vec![theirs, extra("ours")];
        assert!(!find(&s, "theirs").unwrap().is_first_party());
        assert!(find(&s, "ours").unwrap().is_first_party());
        assert!(problems(&s.provider.clients).is_empty());
    }

    #[test]
    fn a_secret_is_wanted_where_there_is_one_and_only_there() {
        let mut s = settings("https://my.example.org");
        let secret_sha256 = Some(hex(digest::digest(&digest::SHA256, b"open").as_ref()).to_uppercase());
        s.provider.clients = vec![Configured { secret_sha256, ..extra("closed") }];
        let credentials = |id: &str, secret: Option<&str>| ClientCredentials {
            id: Some(id.into()),
            secret: secret.map(str::to_owned),
        };
        assert!(authenticate(&s, &credentials("closed", Some("open"))).is_ok());
        for bad in [
            credentials("closed", Some("shut")),
            credentials("closed", Some("")),
            credentials("closed", None),
            credentials(DEFAULT_ID, Some("open")),
            credentials("unknown", None),
            ClientCredentials::default(),
        ] {
            assert_eq!(authenticate(&s, &bad).unwrap_err().code, Code::InvalidClient, "{bad:?}");
        }
    }

    #[test]
    fn all_problems_of_the_configuration_are_listed() {
        assert!(problems(&[extra("a"), extra("b")]).is_empty());
        let bad = Configured {
            id: DEFAULT_ID.into(),
            secret_sha256: Some("xyz".into()),
            redirect_uris: vec!["/relative".into(), "https://x/#y".into(), "javascript:alert(1)".into()],
            post_logout_redirect_uris: vec!["https://x/a;b".into()],
            first_party: false,
            application: Application::default(),
        };
        assert_eq!(problems(&[bad]).len(), 6);
        let begins_nothing = Configured { first_party: false, ..extra("theirs") };
        assert_eq!(problems(&[begins_nothing]).len(), 1);
        assert_eq!(problems(&[extra("a"), extra("a")]).len(), 1);
    }
}
