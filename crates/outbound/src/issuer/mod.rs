//! Client of an OpenID Connect issuer (spec: conventions#limits, authentication#identity-modes): reads its description,
//! its keys, and its answers about tokens. It makes only the requests below; it follows no redirects, reads answers up
//! to a limit, and never passes on an issuer's error texts.

mod documents;
pub(crate) mod exchange;

pub use documents::{Discovery, Introspected, Redeemed, Userinfo};
pub use exchange::Times;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use documents::{WrittenDiscovery, flag};
use exchange::{About, Connections, WholeAnswer};
use http::{Method, StatusCode, header};
use std::{fmt, time::Duration};

/// Largest description of the issuer and set of keys that is read (spec: authentication#identity-modes).
pub const DOCUMENT_BYTES: usize = 1024 * 1024;
/// Largest answer about a token.
const ANSWER_BYTES: usize = 256 * 1024;

/// Why there is no answer. The text is for the log and contains no part of a token or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssuerError {
    /// Not reached, or an answer that is none: 502.
    Unreachable(String),
    /// No connection, so nothing was sent: 502.
    NotConnected(String),
    /// No answer in time: 504.
    TimedOut,
    /// Too many requests to the issuer are in flight: 503.
    Busy,
}

impl fmt::Display for IssuerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IssuerError::Unreachable(log) | IssuerError::NotConnected(log) => {
                write!(f, "identity provider unreachable: {log}")
            }
            IssuerError::TimedOut => f.write_str("identity provider timed out"),
            IssuerError::Busy => f.write_str("too many requests to the identity provider"),
        }
    }
}

impl std::error::Error for IssuerError {}

/// How the service authenticates at the introspection endpoint.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    /// `client_id`.
    pub id: &'a str,
    pub secret: &'a str,
}

/// An authorization code, and how its client proves that it is theirs.
#[derive(Clone, Copy)]
pub struct Code<'a> {
    pub client_id: &'a str,
    /// Its secret, if it has one.
    pub secret: Option<&'a str>,
    pub code: &'a str,
    /// Where it was sent to.
    pub redirect_uri: &'a str,
    /// What its challenge was made of (RFC 7636).
    pub verifier: &'a str,
}

/// The issuer's answer about a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssuerAnswer<T> {
    /// The token is valid; the value describes it.
    Good(T),
    /// The issuer does not accept it.
    Refused,
}

/// The client. Clones share their connections and the limit of requests.
#[derive(Clone)]
pub struct IssuerClient {
    connections: Connections,
}

impl fmt::Debug for IssuerClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IssuerClient")
    }
}

impl IssuerClient {
    /// A client; connects when it is first used.
    ///
    /// # Errors
    /// The root certificates of the system cannot be read.
    pub fn new(times: Times) -> Result<IssuerClient, String> {
        Ok(IssuerClient { connections: Connections::new(times)? })
    }

    /// The description of the issuer at `url` (without a trailing slash). Its own name for itself must equal `url`,
    /// with or without a trailing slash.
    pub async fn discover(&self, url: &str, within: Duration) -> Result<Discovery, IssuerError> {
        let document_url = format!("{url}/.well-known/openid-configuration");
        let answered = self.get(&document_url, None, within, DOCUMENT_BYTES).await?;
        let written: WrittenDiscovery = ok(&answered, "discovery")?;
        written.check(url).map_err(|why| IssuerError::Unreachable(format!("discovery: {why}")))
    }

    /// The set of keys, as it is written.
    pub async fn keys(&self, discovery: &Discovery, within: Duration) -> Result<Bytes, IssuerError> {
        let answered = self.get(&discovery.jwks_uri, None, within, DOCUMENT_BYTES).await?;
        if answered.status != StatusCode::OK {
            return Err(unexpected(&answered, "keys"));
        }
        Ok(answered.body)
    }

    /// Asks the issuer about a token (RFC 7662). A token that is not active is refused.
    pub async fn introspect(
        &self,
        discovery: &Discovery,
        endpoint: &str,
        credentials: Credentials<'_>,
        token: &str,
    ) -> Result<IssuerAnswer<Introspected>, IssuerError> {
        let in_form = discovery.secret_in_form.then_some(credentials);
        let mut request = exchange::request(Method::POST, endpoint, question(token, in_form).into())?;
        let form_type = http::HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(header::CONTENT_TYPE, form_type);
        if in_form.is_none() {
            let value = exchange::secret_value(&basic(credentials))?;
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let total = self.connections.times().total;
        let answered = self.connections.send(request, About::Token, total, ANSWER_BYTES).await?;
        if is_refusal(answered.status) {
            return Ok(IssuerAnswer::Refused);
        }
        let introspected: Introspected = ok(&answered, "introspection")?;
        Ok(if introspected.active { IssuerAnswer::Good(introspected) } else { IssuerAnswer::Refused })
    }

    /// Exchanges a code (RFC 6749 §4.1.3). One that is not good is refused.
    pub async fn redeem(
        &self,
        discovery: &Discovery,
        endpoint: &str,
        code: Code<'_>,
    ) -> Result<IssuerAnswer<Redeemed>, IssuerError> {
        let in_header = code.secret.filter(|_| !discovery.code_secret_in_form);
        let mut request =
            exchange::request(Method::POST, endpoint, redemption(code, in_header.is_none()).into())?;
        let form_type = http::HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(header::CONTENT_TYPE, form_type);
        if let Some(secret) = in_header {
            let value = exchange::secret_value(&basic(Credentials { id: code.client_id, secret }))?;
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let total = self.connections.times().total;
        let answered = self.connections.send(request, About::Token, total, ANSWER_BYTES).await?;
        if is_refusal(answered.status) {
            return Ok(IssuerAnswer::Refused);
        }
        Ok(IssuerAnswer::Good(ok(&answered, "code")?))
    }

    /// The issuer's description of the user of a token.
    pub async fn userinfo(&self, endpoint: &str, token: &str) -> Result<IssuerAnswer<Userinfo>, IssuerError> {
        let total = self.connections.times().total;
        let answered = self.get(endpoint, Some(token), total, ANSWER_BYTES).await?;
        // Here the token is the credential: 401 and 403 concern the token.
        let of_token = matches!(answered.status.as_u16(), 401 | 403);
        if of_token || is_refusal(answered.status) {
            return Ok(IssuerAnswer::Refused);
        }
        Ok(IssuerAnswer::Good(ok(&answered, "userinfo")?))
    }

    async fn get(
        &self,
        url: &str,
        bearer: Option<&str>,
        within: Duration,
        most: usize,
    ) -> Result<WholeAnswer, IssuerError> {
        let mut request = exchange::request(Method::GET, url, Bytes::new())?;
        let mut about = About::Issuer;
        if let Some(token) = bearer {
            about = About::Token;
            let value = exchange::secret_value(&format!("Bearer {token}"))?;
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        self.connections.send(request, about, within, most).await
    }
}

/// The form of an introspection request.
fn question(token: &str, credentials: Option<Credentials<'_>>) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("token", token).append_pair("token_type_hint", "access_token");
    if let Some(Credentials { id, secret }) = credentials {
        form.append_pair("client_id", id).append_pair("client_secret", secret);
    }
    form.finish()
}

/// The form that exchanges a code. `with_client`: the client presents itself in it.
fn redemption(code: Code<'_>, with_client: bool) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "authorization_code")
        .append_pair("code", code.code)
        .append_pair("redirect_uri", code.redirect_uri)
        .append_pair("code_verifier", code.verifier);
    if with_client {
        form.append_pair("client_id", code.client_id);
        if let Some(secret) = code.secret {
            form.append_pair("client_secret", secret);
        }
    }
    form.finish()
}

/// RFC 6749 §2.3.1: both parts are form-encoded first.
fn basic(credentials: Credentials<'_>) -> String {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(credentials.id), encoded(credentials.secret));
    format!("Basic {}", STANDARD.encode(pair))
}

/// Whether the answer concerns the token, not a fault of the issuer or the service (as in spec:
/// account#password-operations).
fn is_refusal(status: StatusCode) -> bool {
    status.is_client_error() && !matches!(status.as_u16(), 401 | 403 | 404 | 408 | 429)
}

pub(crate) fn unexpected(answered: &WholeAnswer, what: &str) -> IssuerError {
    IssuerError::Unreachable(format!("{what}: status {}", answered.status.as_u16()))
}

fn ok<T: serde::de::DeserializeOwned>(answered: &WholeAnswer, what: &str) -> Result<T, IssuerError> {
    if answered.status != StatusCode::OK {
        return Err(unexpected(answered, what));
    }
    read(answered, what)
}

/// The parser's error is dropped, because it would quote the answer.
pub(crate) fn read<T: serde::de::DeserializeOwned>(
    answered: &WholeAnswer,
    what: &str,
) -> Result<T, IssuerError> {
    let unreadable = |_| IssuerError::Unreachable(format!("{what}: an answer that cannot be read"));
    serde_json::from_slice(&answered.body).map_err(unreadable)
}

/// Whether a boolean claim is true; some issuers write it as text.
pub fn is_yes(claim: Option<&serde_json::Value>) -> bool {
    flag(claim)
}
