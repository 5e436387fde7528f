//! Authorization requests: what they may request, and the response (spec: openid-provider#endpoints, steps 2 and 4).

use super::{
    Code, INTERACTION, OAuthError, clients, consent,
    redirect::{BrowserRedirect, ClientResponse, with_query},
};
use crate::{Identity, TokenRequest, factors};
use bailiwick_domain::{Error, Result, SignInMethods, Ts, UserId};
use bailiwick_platform::keys::{fresh_secret, token_digest};
use bailiwick_store::{
    Tx,
    identities::{self, Identified},
    oidc::{
        grants::{self, Grant},
        interactions::{self, Interaction},
        logins::{self, Login},
    },
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use url::form_urlencoded;
use uuid::Uuid;

/// Supported scopes; others are ignored.
pub const SCOPES: [&str; 5] = ["openid", "offline_access", "profile", "email", "phone"];

/// Longest value of a parameter, in bytes.
const MAX_PARAMETER_BYTES: usize = 2048;

/// Characters of a SHA-256 in base64url.
const CHALLENGE_CHARS: usize = 43;

/// The parameters sent to an endpoint. Empty values count as missing (RFC 6749 §3.1).
#[derive(Clone, Debug, Default)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// From a query or a form body.
    pub fn parse(text: &[u8]) -> Parameters {
        Parameters(form_urlencoded::parse(text).into_owned().filter(|(_, value)| !value.is_empty()).collect())
    }

    /// The value of a parameter that may appear once.
    ///
    /// # Errors
    /// `invalid_request` when it appears more often, is too long or has control characters.
    pub fn one(&self, name: &'static str) -> Result<Option<&str>, OAuthError> {
        let mut values = self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let value = values.next();
        let wrong = |what: &str| OAuthError::new(Code::InvalidRequest, format!("{name} {what}"));
        if values.next().is_some() {
            return Err(wrong("must not be repeated"));
        }
        match value {
            Some(v) if v.len() > MAX_PARAMETER_BYTES => Err(wrong("is too long")),
            Some(v) if v.chars().any(char::is_control) => Err(wrong("has characters that are not allowed")),
            value => Ok(value),
        }
    }

    /// The address of an authorization request with these parameters.
    pub fn request_address(&self, service: &Identity) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let address = format!("{}/auth", service.settings.provider_issuer());
        with_query(&address, &query.extend_pairs(&self.0).finish())
    }

    /// As [`Parameters::one`] for a required parameter.
    pub fn required(&self, name: &'static str) -> Result<&str, OAuthError> {
        self.one(name)?.ok_or_else(|| OAuthError::new(Code::InvalidRequest, format!("{name} is missing")))
    }
}

/// The cookies of a browser.
#[derive(Clone, Debug, Default)]
pub struct Browser {
    /// Binds waiting requests to the browser.
    pub browser: Option<String>,
    pub login: Option<String>,
}

/// A valid request, as it is stored while the user signs in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuthorizationRequest {
    /// Registered client.
    pub client_id: String,
    /// One of its redirect URIs.
    pub redirect_uri: String,
    /// Handed back unchanged.
    pub state: Option<String>,
    /// The granted scopes: the known ones of those requested.
    pub scope: String,
    /// S256 challenge.
    pub code_challenge: Option<String>,
    /// For the ID token.
    pub nonce: Option<String>,
    /// Audience of the access token.
    pub resource: Option<String>,
    /// The user that probably signs in.
    pub login_hint: Option<String>,
    /// The user is asked even for scopes they have allowed before (`prompt=consent`).
    #[serde(default)]
    pub wants_consent: bool,
    /// The user has signed in and is asked what the client may learn.
    #[serde(default)]
    pub asked: Option<consent::Asked>,
    /// The response is posted by a form (`response_mode=form_post`).
    #[serde(default)]
    pub by_form: bool,
}

/// The parts of a request that decide whether the user must sign in; they are not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct PromptOptions {
    no_page: bool,
    sign_in: bool,
    max_age: Option<Duration>,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Authorized {
    /// Unknown client or address: shown here, never sent on.
    Untrusted(OAuthError),
    /// Back to the client, with a code or an error.
    BrowserRedirect(BrowserRedirect),
    /// The user must sign in first.
    SignIn {
        /// Of the stored request.
        interaction: Uuid,
        /// The browser's cookie.
        browser: String,
    },
    /// The user is signed in and must decide what the client may learn.
    Consent {
        /// Of the question.
        interaction: Uuid,
        /// The browser's cookie.
        browser: String,
    },
}

/// Answers a request, or stores it until the user has signed in.
pub async fn authorize(
    service: &Identity,
    counted: TokenRequest,
    parameters: &Parameters,
    browser: &Browser,
) -> Result<Authorized> {
    let (client, redirect_uri) = match destination(service, parameters) {
        Ok(pair) => pair,
        Err(refused) => return Ok(Authorized::Untrusted(refused)),
    };
    let refuse = |refused: &OAuthError| {
        let state = parameters.one("state").ok().flatten();
        let by_form = is_form_post(parameters).unwrap_or_default();
        let response = ClientResponse { redirect_uri: &redirect_uri, state, by_form };
        Authorized::BrowserRedirect(response.refusal(service, refused))
    };
    let read = read(service, parameters, &client, &redirect_uri);
    let (request, wish) = match read {
        Ok(read) => read,
        Err(refused) => return Ok(refuse(&refused)),
    };
    let now = service.platform.now();
    let login = counted.beside(live_login(service, browser, now)).await?.filter(|(login, _)| {
        let age = now.since(login.authenticated_at);
        !wish.sign_in && wish.max_age.is_none_or(|max_age| age <= max_age)
    });
    if let Some((login, _)) = login {
        let mut tx = service.platform.db.begin().await?;
        match consent::settle(service, &mut tx, &request, &login, now).await? {
            consent::SignInEnd::BrowserRedirect(onward) => {
                tx.commit().await?;
                return Ok(Authorized::BrowserRedirect(onward));
            }
            consent::SignInEnd::Ask if wish.no_page => {
                return Ok(refuse(&OAuthError::new(Code::ConsentRequired, "the user must be asked first")));
            }
            consent::SignInEnd::Ask => {
                drop(tx);
                let question = consent::question(&request, &login);
                let (interaction, browser) = store(service, Some(&question), browser, now).await?;
                return Ok(Authorized::Consent { interaction, browser });
            }
            consent::SignInEnd::Gone => {}
        }
    }
    if wish.no_page {
        return Ok(refuse(&OAuthError::new(Code::LoginRequired, "nobody is signed in in this browser")));
    }
    let (interaction, browser) = store(service, Some(&request), browser, now).await?;
    Ok(Authorized::SignIn { interaction, browser })
}

/// Client and redirect URI: until both are verified, nothing may be sent anywhere.
fn destination(service: &Identity, parameters: &Parameters) -> Result<(clients::Client, String), OAuthError> {
    let unknown = || OAuthError::new(Code::InvalidClient, "the client is not known here");
    let client = clients::find(&service.settings, parameters.required("client_id")?).ok_or_else(unknown)?;
    let uri = parameters.required("redirect_uri")?;
    if client.may_redirect_to(uri) {
        Ok((client, uri.to_owned()))
    } else {
        Err(OAuthError::new(Code::InvalidRequest, "the redirect URI is not registered for this client"))
    }
}

fn read(
    service: &Identity,
    parameters: &Parameters,
    client: &clients::Client,
    redirect_uri: &str,
) -> Result<(AuthorizationRequest, PromptOptions), OAuthError> {
    let refused = |code, text: &'static str| Err(OAuthError::new(code, text));
    if parameters.one("request")?.is_some() {
        return refused(Code::RequestNotSupported, "request objects are not supported");
    }
    if parameters.one("request_uri")?.is_some() {
        return refused(Code::RequestUriNotSupported, "request objects are not supported");
    }
    if parameters.required("response_type")? != "code" {
        return refused(Code::UnsupportedResponseType, "only response_type=code is supported");
    }
    let request = AuthorizationRequest {
        client_id: client.id().to_owned(),
        redirect_uri: redirect_uri.to_owned(),
        state: parameters.one("state")?.map(str::to_owned),
        scope: known_scopes(parameters.one("scope")?.unwrap_or_default()),
        code_challenge: challenge(parameters, client)?,
        nonce: parameters.one("nonce")?.map(str::to_owned),
        resource: resource(service, parameters)?,
        login_hint: parameters.one("login_hint")?.map(str::to_owned),
        wants_consent: has_prompt(parameters, "consent")?,
        asked: None,
        by_form: is_form_post(parameters)?,
    };
    Ok((request, wish(parameters)?))
}

/// Whether the response is posted by a form.
fn is_form_post(parameters: &Parameters) -> Result<bool, OAuthError> {
    match parameters.one("response_mode")? {
        None | Some("query") => Ok(false),
        Some("form_post") => Ok(true),
        Some(_) => {
            Err(OAuthError::new(Code::InvalidRequest, "only response_mode query and form_post are supported"))
        }
    }
}

fn known_scopes(requested: &str) -> String {
    let known = SCOPES.iter().filter(|scope| requested.split(' ').any(|word| word == **scope));
    known.copied().collect::<Vec<_>>().join(" ")
}

/// Mandatory for public clients; `plain` never.
fn challenge(parameters: &Parameters, client: &clients::Client) -> Result<Option<String>, OAuthError> {
    let refused = |text: &'static str| Err(OAuthError::new(Code::InvalidRequest, text));
    let method = parameters.one("code_challenge_method")?;
    match parameters.one("code_challenge")? {
        None if client.is_public() => refused("code_challenge is missing: PKCE is required"),
        None if method.is_some() => refused("code_challenge_method without code_challenge"),
        None => Ok(None),
        Some(_) if method != Some("S256") => refused("only code_challenge_method=S256 is supported"),
        Some(challenge) if !is_base64url(challenge) || challenge.len() != CHALLENGE_CHARS => {
            refused("code_challenge is malformed")
        }
        Some(challenge) => Ok(Some(challenge.to_owned())),
    }
}

fn is_base64url(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// The only resource: the service itself.
pub(super) fn resource(service: &Identity, parameters: &Parameters) -> Result<Option<String>, OAuthError> {
    match parameters.one("resource")? {
        None => Ok(None),
        Some(resource) if resource == service.settings.tokens.audience => Ok(Some(resource.to_owned())),
        Some(_) => Err(OAuthError::new(Code::InvalidTarget, "the resource is not known here")),
    }
}

fn has_prompt(parameters: &Parameters, word: &str) -> Result<bool, OAuthError> {
    Ok(parameters.one("prompt")?.unwrap_or_default().split(' ').any(|prompt| prompt == word))
}

fn wish(parameters: &Parameters) -> Result<PromptOptions, OAuthError> {
    let prompts: Vec<&str> = parameters.one("prompt")?.unwrap_or_default().split(' ').collect();
    let has = |word: &str| prompts.contains(&word);
    let refused = |text: &'static str| OAuthError::new(Code::InvalidRequest, text);
    if has("none") && prompts.len() > 1 {
        return Err(refused("prompt=none cannot be combined"));
    }
    let max_age = parameters
        .one("max_age")?
        .map(|text| {
            text.parse().map(Duration::from_secs).map_err(|_| refused("max_age must be a number of seconds"))
        })
        .transpose()?;
    let sign_in = has("login") || has("select_account") || max_age == Some(Duration::ZERO);
    Ok(PromptOptions { no_page: has("none"), sign_in, max_age })
}

/// The login of this browser and its user, unless the login has ended, the user may not sign in, or they need a second
/// factor now that the login lacks.
pub(super) async fn live_login(
    service: &Identity,
    browser: &Browser,
    now: Ts,
) -> Result<Option<(Login, Identified)>> {
    let Some(cookie) = browser.login.as_deref().filter(|cookie| is_cookie(cookie)) else { return Ok(None) };
    let Some(login) = logins::by_token(&service.platform.db, &token_digest(cookie), now).await? else {
        return Ok(None);
    };
    let user = identities::get(&service.platform.db, login.user_id).await?;
    let Some(user) = user.filter(|user| user.standing.is_enabled()) else { return Ok(None) };
    let is_enough = factors::is_enough(service, &user, &login, now).await?;
    Ok(is_enough.then_some((login, user)))
}

/// Whether a cookie can be one of ours.
pub(super) fn is_cookie(value: &str) -> bool {
    value.len() == CHALLENGE_CHARS && is_base64url(value)
}

/// Stores an interaction that waits for a sign-in: a request, or none when the user came without a client.
pub(super) async fn store(
    service: &Identity,
    request: Option<&AuthorizationRequest>,
    browser: &Browser,
    now: Ts,
) -> Result<(Uuid, String)> {
    // One cookie for all stored requests of a browser, so that two tabs do not disturb each other.
    let browser = match browser.browser.as_deref().filter(|cookie| is_cookie(cookie)) {
        Some(cookie) => cookie.to_owned(),
        None => fresh_secret(&*service.platform.entropy),
    };
    let interaction = Interaction {
        id: service.platform.fresh(),
        browser_hash: token_digest(&browser),
        request: serde_json::to_value(request).map_err(Error::internal)?,
        user_id: None,
        must_replace_password: false,
        step: None,
        methods: SignInMethods::default(),
        created_at: now,
        expires_at: now.plus(INTERACTION),
    };
    let mut tx = service.platform.db.begin_relaxed().await?;
    interactions::insert(&mut tx, &interaction).await?;
    tx.commit().await?;
    Ok((interaction.id, browser))
}

/// Writes the grant of a request and returns the response that carries its code. [`consent::settle`] decides whether it
/// may.
pub(super) async fn grant(
    service: &Identity,
    tx: &mut Tx,
    request: &AuthorizationRequest,
    login: &Login,
    now: Ts,
) -> Result<BrowserRedirect> {
    let code = fresh_secret(&*service.platform.entropy);
    let code_expires_at = now.plus(service.settings.provider.code);
    let grant = Grant {
        id: service.platform.fresh(),
        user_id: login.user_id,
        login_id: login.id,
        client_id: request.client_id.clone(),
        scope: request.scope.clone(),
        nonce: request.nonce.clone(),
        resource: request.resource.clone(),
        auth_at: login.authenticated_at,
        methods: login.methods,
        code: grants::Code {
            redirect_uri: request.redirect_uri.clone(),
            challenge: request.code_challenge.clone(),
            expires_at: code_expires_at,
            used_at: None,
        },
        created_at: now,
        expires_at: code_expires_at,
        is_ended: false,
    };
    grants::insert(tx, &grant, &token_digest(&code)).await?;
    Ok(ClientResponse::to(request).code(service, code))
}

/// The user, if they may still sign in. Their state cannot change until the transaction ends.
pub(super) async fn hold_user(tx: &mut Tx, user: UserId) -> Result<Option<Identified>> {
    let user = identities::get_steady(tx, user).await?;
    Ok(user.filter(|user| user.standing.is_enabled()))
}

/// The user of a login, if both are still valid; they stay so until the transaction ends.
pub(super) async fn lock_user(tx: &mut Tx, login: &Login) -> Result<Option<Identified>> {
    let user = hold_user(tx, login.user_id).await?;
    Ok(if logins::hold(tx, login.id).await? { user } else { None })
}
