//! Relying party: accepts the tokens of an external identity provider and finds their users (spec:
//! authentication#identity-modes).
//!
//! [`jwt`] parses and verifies tokens, [`issuer_cache`] caches the issuer's description and keys, [`account_links`]
//! finds the user. The provider only proves the identity of a user; no other claim counts here.

mod account_links;
mod code;
mod issuer_cache;
mod jwt;
mod logout;

use crate::{
    Identity,
    auth::{self, SignIn},
    logto_sync, upstream,
};
use bailiwick_domain::{Error, Result, Ts, UserId};
use bailiwick_outbound::issuer::{
    Credentials, Discovery, Introspected, IssuerAnswer, IssuerClient, IssuerError, Userinfo, is_yes,
};
use bailiwick_settings::{IdentityMode, Issuer};
use issuer_cache::{Freshness, IssuerCache};
use jwt::{Claims, Jwt, Shape, Signed};
use serde_json::Value;

pub use account_links::unlink;
pub(crate) use code::{Redemption, redeem};
pub use logout::end_sessions;

/// How far the clocks of issuer and service may differ (spec: authentication#identity-modes), in seconds.
const LEEWAY: f64 = 60.0;
/// How long a list waits for an issuer that has never answered.
const GLANCE: std::time::Duration = std::time::Duration::from_secs(2);
/// Longest accepted token, in bytes.
const TOKEN_BYTES: usize = 16 * 1024;
/// Longest subject (OpenID Connect Core §2), in bytes.
const SUBJECT_BYTES: usize = 255;

/// The state of this process for the provider.
pub struct RelyingParty {
    settings: Issuer,
    client: IssuerClient,
    memory: IssuerCache,
    /// The operator's name for the settings section.
    section: &'static str,
    /// The path of userinfo when the description has none (spec: authentication#identity-modes).
    userinfo_endpoint: Option<String>,
}

impl RelyingParty {
    /// Connects on first use.
    ///
    /// # Errors
    /// The system's root certificates cannot be read.
    pub(crate) fn new(identity: &IdentityMode) -> Result<Option<RelyingParty>> {
        let Some(settings) = identity.issuer() else { return Ok(None) };
        let client = IssuerClient::new(settings.times).map_err(Error::internal)?;
        Ok(Some(RelyingParty {
            settings: settings.clone(),
            client,
            memory: IssuerCache::default(),
            section: identity.section(),
            userinfo_endpoint: identity.logto().map(|_| format!("{}/me", settings.url)),
        }))
    }
}

/// The kind of client that a token was issued to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenAudience {
    /// A client whose tokens open sessions.
    Own,
    /// A registered third-party application (spec: openid-provider#third-party-applications).
    ThirdParty,
}

/// A valid token: its subject and their data.
struct Seen {
    subject: String,
    client_id: Option<String>,
    /// The issuer's statement about the address, if there is one.
    email: Said,
    /// The sign-in there, according to the token.
    sign_in: SignIn,
}

/// The user of a token.
pub(crate) struct TokenUser {
    pub(crate) user: UserId,
    /// Their sign-in, according to the issuer.
    pub(crate) sign_in: SignIn,
}

/// The sign-in that a token describes. An unreadable time counts as stale.
fn sign_in(auth_time: Option<&Value>, sid: Option<&Value>) -> SignIn {
    let at = auth_time.filter(|time| !time.is_null()).map(|time| seconds(time).unwrap_or(Ts(0)));
    SignIn { at, issuer_session: text(sid), ..SignIn::default() }
}

/// A NumericDate (RFC 7519 §2).
fn seconds(value: &Value) -> Option<Ts> {
    let seconds = value.as_f64().filter(|seconds| (0.0..=1e11).contains(seconds))?;
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    Some(Ts::from_secs(seconds as i64))
}

/// A name that can be one of an issuer's.
fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).filter(|text| is_subject(text)).map(str::to_owned)
}

/// The issuer's statement about the address: none; no verified address; or the verified address.
type Said = Option<Option<String>>;

/// An address without a statement on its verification proves nothing.
fn email_claim(email: Option<String>, verified: Option<&Value>) -> Said {
    let verified = is_yes(Some(verified?));
    email.map(|email| verified.then_some(email))
}

/// Fetches description and keys in the background, so that an unreachable issuer is logged at the start and the first
/// user need not wait for them.
pub fn start(service: &Identity) {
    let Some(external) = &service.external else { return };
    let settings = &external.settings;
    if settings.url.starts_with("http://") {
        tracing::warn!(
            issuer = settings.url,
            "the identity provider is reached without TLS: for laboratories only"
        );
    }
    if settings.accept_any_client && settings.audiences.is_empty() {
        tracing::warn!(
            issuer = settings.url,
            section = external.section,
            "accept_any_client is set without audiences: tokens that were made for other services of the identity \
             provider may open sessions here"
        );
    }
    let worker = service.clone();
    service.platform.tasks.spawn(async move {
        let Some(external) = &worker.external else { return };
        let issuer = &external.settings.url;
        let keys = external.memory.keys(&worker, Freshness::Keys);
        match worker.platform.stop.run_until_cancelled(keys).await {
            Some(Ok(documents)) => log_opaque_tokens(external, &documents.description),
            Some(Err(e)) => {
                tracing::warn!(issuer, error = %e, "the identity provider does not answer; users cannot sign in until it does");
            }
            None => {}
        }
    });
}

/// Logs which setting is missing when opaque tokens cannot be accepted.
fn log_opaque_tokens(external: &RelyingParty, description: &Discovery) {
    let (settings, section) = (&external.settings, external.section);
    if settings.accept_any_client {
        return;
    }
    let issuer = &settings.url;
    if settings.introspection.is_none() {
        tracing::info!(
            issuer,
            "opaque tokens are refused: set identity.oidc.introspection_client_id and _secret to accept them"
        );
    } else if description.introspection_endpoint.is_none() {
        tracing::warn!(
            issuer,
            "opaque tokens are refused: the identity provider names no introspection endpoint, so their client is \
             unknown; set {section}.accept_any_client to accept them nevertheless"
        );
    }
}

/// The user of a token and the kind of client that it was issued to. None when the token is not valid here.
///
/// The result does not include the user's state, except at the user's first sign-in.
///
/// # Errors
/// 502 and 504 for the provider, 503 when too many requests wait for it; 401 for a suspended user at the first sign-in.
pub(crate) async fn user_of(
    service: &Identity,
    external: &RelyingParty,
    token: &str,
) -> Result<Option<(TokenUser, TokenAudience)>> {
    let judged = async {
        let Some(token_identity) = identify(service, external, token).await? else { return Ok(None) };
        let Some(party) = party(service, &external.settings, token_identity.client_id.as_deref()).await
        else {
            let client = token_identity.client_id.as_deref().unwrap_or("unknown");
            tracing::info!(client, "a token of a client that is not accepted was refused");
            return Ok(None);
        };
        let user = account_links::find(service, external, token, &token_identity).await?;
        Ok(user.map(|user| (TokenUser { user, sign_in: token_identity.sign_in.clone() }, party)))
    };
    let patience = external.settings.patience;
    tokio::time::timeout(patience, judged).await.unwrap_or_else(|_| Err(upstream(IssuerError::TimedOut)))
}

/// Where people sign in. While the issuer does not answer, the usual path of such providers: sign-in fails there then
/// in any case.
pub(crate) async fn authorization_endpoint(service: &Identity, external: &RelyingParty) -> String {
    let description = tokio::time::timeout(GLANCE, external.memory.description(service)).await;
    let endpoint = description
        .ok()
        .and_then(std::result::Result::ok)
        .and_then(|description| description.authorization_endpoint.clone());
    endpoint.unwrap_or_else(|| format!("{}/auth", external.settings.url))
}

/// Whether tokens of this client are accepted, and of which kind it is. As soon as any own client is configured, an
/// unknown client is foreign, even where tokens without a client are accepted (spec: authentication#identity-modes,
/// guarantees#identity rule 7).
async fn party(service: &Identity, settings: &Issuer, client_id: Option<&str>) -> Option<TokenAudience> {
    let any = settings.accept_any_client;
    let Some(id) = client_id else { return any.then_some(TokenAudience::Own) };
    if settings.client_ids.iter().any(|own| own == id) {
        return Some(TokenAudience::Own);
    }
    let clients = &service.settings.provider.clients;
    match clients.iter().find(|client| client.id == id) {
        Some(client) if client.first_party => Some(TokenAudience::Own),
        Some(_) => Some(TokenAudience::ThirdParty),
        None if logto_sync::is_third_party(service, id).await => Some(TokenAudience::ThirdParty),
        None => {
            let none_named =
                settings.client_ids.is_empty() && !clients.iter().any(|client| client.first_party);
            (any && none_named).then_some(TokenAudience::Own)
        }
    }
}

/// Verifies a token and reads its subject.
async fn identify(service: &Identity, external: &RelyingParty, token: &str) -> Result<Option<Seen>> {
    // The service's own credentials are never sent to an issuer, wherever they are presented.
    if auth::is_api_key(token) || auth::is_own(service, token) {
        return Ok(None);
    }
    if token.len() > TOKEN_BYTES || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(None);
    }
    let token_identity = match jwt::read(token) {
        Shape::Unusable => None,
        Shape::Jwt(jwt) => match jwt.claims.iss.as_deref() {
            // A token of another issuer is not sent to this one.
            Some(iss) if iss.trim_end_matches('/') != external.settings.url => None,
            Some(_) => verified(service, external, *jwt).await?,
            None => read_by_issuer(service, external, token).await?,
        },
        Shape::Opaque => read_by_issuer(service, external, token).await?,
    };
    Ok(token_identity.filter(|token_identity| is_subject(&token_identity.subject)))
}

fn is_subject(text: &str) -> bool {
    (1..=SUBJECT_BYTES).contains(&text.len()) && !text.contains('\0')
}

/// The issuer, if it has signed the token.
async fn signed_by(service: &Identity, external: &RelyingParty, jwt: &Jwt<'_>) -> Result<Option<String>> {
    let mut documents = external.memory.keys(service, Freshness::Keys).await.map_err(upstream)?;
    let mut signed = documents.keys.judge(jwt);
    if signed == Signed::UnknownKey {
        let other = Freshness::OtherThan(&documents.keys);
        documents = external.memory.keys(service, other).await.map_err(upstream)?;
        signed = documents.keys.judge(jwt);
    }
    Ok((signed == Signed::Good).then(|| documents.description.issuer.clone()))
}

/// A JWT, verified here.
async fn verified(service: &Identity, external: &RelyingParty, jwt: Jwt<'_>) -> Result<Option<Seen>> {
    let is_signed_by = signed_by(service, external, &jwt).await?;
    let (claims, is_typed) = (jwt.claims, jwt.is_typed_access);
    let settings = &external.settings;
    // Without a client, nothing else distinguishes it from a token that was meant for another client only.
    let names_client = claims.client_id.is_some() || claims.azp.is_some() || claims.cid.is_some();
    let is_for_somebody = names_client || is_typed || !settings.audiences.is_empty();
    let good = is_signed_by.is_some_and(|issuer| claims.iss.as_deref() == Some(issuer.as_str()))
        && claims.is_bearer_access()
        && is_for_somebody
        && claims.exp.is_some()
        && is_in_time(service.platform.now(), claims.exp, claims.nbf)
        && is_meant_for_us(settings, claims.aud.as_ref());
    Ok(if good { token_identity(claims) } else { None })
}

fn token_identity(claims: Claims) -> Option<Seen> {
    let client_id = one_client([claims.client_id, claims.azp, claims.cid]).ok()?;
    let email = email_claim(claims.email, claims.email_verified.as_ref());
    let sign_in = sign_in(claims.auth_time.as_ref(), claims.sid.as_ref());
    Some(Seen { subject: claims.sub?, client_id, email, sign_in })
}

/// Different names for one client.
struct Mistaken;

/// The client that a token was issued to, if the token names it.
fn one_client(names: [Option<String>; 3]) -> std::result::Result<Option<String>, Mistaken> {
    let mut names = names.into_iter().flatten();
    let first = names.next();
    if names.all(|name| Some(name) == first) { Ok(first) } else { Err(Mistaken) }
}

fn is_in_time(now: Ts, exp: Option<f64>, nbf: Option<f64>) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "seconds of our time fit")]
    let now = now.secs() as f64;
    exp.is_none_or(|exp| exp + LEEWAY > now) && nbf.is_none_or(|nbf| nbf - LEEWAY <= now)
}

/// `aud` may be a text or a list.
fn is_meant_for_us(settings: &Issuer, aud: Option<&Value>) -> bool {
    let is_own =
        |aud: &Value| aud.as_str().is_some_and(|aud| settings.audiences.iter().any(|own| own == aud));
    settings.audiences.is_empty()
        || match aud {
            Some(Value::Array(all)) => all.iter().any(is_own),
            Some(one) => is_own(one),
            None => false,
        }
}

/// An opaque token, which only the issuer can read: by introspection where it is available, else by userinfo.
async fn read_by_issuer(service: &Identity, external: &RelyingParty, token: &str) -> Result<Option<Seen>> {
    let settings = &external.settings;
    let credentials = settings.introspection.as_ref();
    if credentials.is_none() && !settings.accept_any_client {
        return Ok(None);
    }
    let description = external.memory.description(service).await.map_err(upstream)?;
    let endpoint = description.introspection_endpoint.as_deref();
    let introspected = match endpoint.zip(credentials) {
        Some((endpoint, (id, secret))) => {
            let credentials = Credentials { id, secret: secret.reveal() };
            let answer = external.client.introspect(&description, endpoint, credentials, token).await;
            match answer.map_err(upstream)? {
                IssuerAnswer::Good(introspected)
                    if is_good(service.platform.now(), settings, &description, &introspected) =>
                {
                    Some(introspected)
                }
                _ => return Ok(None),
            }
        }
        None if settings.accept_any_client => None,
        None => return Ok(None),
    };
    let Some(introspected) = introspected else {
        let Some(person) = userinfo(external, &description, token).await? else { return Ok(None) };
        let email = Some(verified_address(&person));
        return Ok(Some(Seen { subject: person.sub, client_id: None, email, sign_in: SignIn::default() }));
    };
    // A refresh token is active too: without a token type, only userinfo decides, because it takes access tokens only.
    let is_access = kinds(&introspected).next().is_some();
    let names = [introspected.client_id, introspected.azp, introspected.cid];
    let Ok(client_id) = one_client(names) else { return Ok(None) };
    let email = email_claim(introspected.email, introspected.email_verified.as_ref());
    match introspected.sub {
        Some(subject) if is_access => {
            Ok(Some(Seen { subject, client_id, email, sign_in: SignIn::default() }))
        }
        subject => {
            let person = userinfo(external, &description, token).await?;
            let person = person.filter(|person| subject.is_none_or(|subject| subject == person.sub));
            Ok(person.map(|person| Seen {
                email: email.or_else(|| Some(verified_address(&person))),
                subject: person.sub,
                client_id,
                sign_in: SignIn::default(),
            }))
        }
    }
}

/// The token types in an introspection response, from all the places where issuers put them.
fn kinds(introspected: &Introspected) -> impl Iterator<Item = &Value> {
    [&introspected.token_type, &introspected.token_use, &introspected.typ].into_iter().flatten()
}

fn is_good(now: Ts, settings: &Issuer, description: &Discovery, introspected: &Introspected) -> bool {
    kinds(introspected).all(jwt::is_access)
        && introspected.cnf.is_none()
        && introspected.iss.as_ref().is_none_or(|iss| *iss == description.issuer)
        && is_in_time(now, introspected.exp, introspected.nbf)
        && is_meant_for_us(settings, introspected.aud.as_ref())
}

async fn userinfo(external: &RelyingParty, description: &Discovery, token: &str) -> Result<Option<Userinfo>> {
    let endpoint = description.userinfo_endpoint.as_ref().or(external.userinfo_endpoint.as_ref());
    let Some(endpoint) = endpoint else { return Ok(None) };
    match external.client.userinfo(endpoint, token).await.map_err(upstream)? {
        IssuerAnswer::Good(person) => Ok(Some(person)),
        IssuerAnswer::Refused => Ok(None),
    }
}

fn verified_address(person: &Userinfo) -> Option<String> {
    person.email.clone().filter(|_| is_yes(person.email_verified.as_ref()))
}

/// Where people sign out at the issuer, and from where they come back to `after`; none where it names no place, or
/// there is no issuer.
pub async fn end_session_address(service: &Identity, after: &str) -> Option<String> {
    let external = service.external.as_ref()?;
    let client = service.settings.console.client_id.as_deref()?;
    let description = tokio::time::timeout(GLANCE, external.memory.description(service)).await.ok()?.ok()?;
    let endpoint = description.end_session_endpoint.as_deref()?;
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("client_id", client)
        .append_pair("post_logout_redirect_uri", after)
        .finish();
    let separator = if endpoint.contains('?') { '&' } else { '?' };
    Some(format!("{endpoint}{separator}{query}"))
}
