//! Signing in: from a stored request to its response (spec: openid-provider#endpoints, steps 3 and 4).
//!
//! A page posts the password and gets the response at once, unless a step follows: a second factor ([`second_factor`])
//! or a new password. Scripts sign in by [`scripted_sign_in`](super::scripted_sign_in).

pub use super::error::SignInError;

use super::{
    INTERACTION,
    authorize::{self, AuthorizationRequest, Browser, is_cookie},
    consent, login,
    redirect::{BrowserRedirect, form_target},
    second_factor::{self, Addition, Proof},
};
use crate::{
    Identity,
    auth::{GuessTarget, revoke_login_chains},
    factors::{self, Offer},
    passwords::{self, Origin},
};
use bailiwick_domain::{
    AuditAction, Error, LoginId, Result, SignInMethod, SignInMethods, Ts, UserId,
    validate::{self, Email},
};
use bailiwick_platform::{
    RequestContext, audit,
    keys::{fresh_secret, token_digest},
};
use bailiwick_store::{
    Tx,
    identities::{self, Identified, PasswordRecord},
    mail_links,
    oidc::{
        interactions::{self, Interaction, Step},
        logins::{self, Login},
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;
use uuid::Uuid;

/// The longest name to sign in with, in bytes: the bound of an e-mail address.
const MAX_IDENTIFIER_BYTES: usize = 255;

/// The purpose of form tokens.
const FORM: &str = "oidc form";

/// The name the user typed.
#[derive(Clone, Debug)]
pub enum Identifier {
    /// An e-mail address.
    Email(String),
    /// A user name.
    Username(String),
}

impl Identifier {
    /// By its form: user names have no `@`.
    pub fn guess(text: &str) -> Identifier {
        let text = text.trim().to_owned();
        if text.contains('@') { Identifier::Email(text) } else { Identifier::Username(text) }
    }

    fn text(&self) -> &str {
        match self {
            Identifier::Email(text) | Identifier::Username(text) => text,
        }
    }
}

/// The next step after a right password.
#[derive(Clone, Debug)]
pub enum Progress {
    /// Signed in: where to go, and the cookie of the login.
    Done(SignedIn),
    /// Something must be done first: [`page`] says what. The browser gets a new cookie, so a holder of the old one
    /// cannot continue.
    NextPage {
        /// The browser's cookie from now on.
        browser: String,
    },
}

/// A completed sign-in.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// To the client with the code; without a client to the provider's own page.
    pub onward: BrowserRedirect,
    /// Cookie of a new login; none when the browser has it already.
    pub login: Option<String>,
}

/// What a page asks for.
#[derive(Clone, Debug)]
pub enum Prompt {
    /// Name and password, or a passkey where browsers offer them.
    Password(Option<Offer>),
    /// A second factor.
    Factor(Proof),
    /// A second factor to be added.
    NewFactor(Addition),
    /// A password in place of the generated one.
    NewPassword,
}

/// The contents of the page of a stored request.
#[derive(Clone, Debug)]
pub struct Page {
    /// What the page asks for.
    pub asks: Prompt,
    /// The user that probably signs in.
    pub login_hint: Option<String>,
    /// For `form-action`.
    pub form_target: Option<String>,
    /// To be sent back with the form.
    pub form_token: String,
    /// Whether a user who has forgotten their password can recover it by mail.
    pub has_recovery: bool,
}

/// The stored request of a page; none when it no longer exists. `offered`: the state of the authenticator application
/// on the page before, which a page after a wrong code shows again.
pub async fn page(
    service: &Identity,
    id: Uuid,
    browser: &Browser,
    offered: Option<&str>,
) -> Result<Option<Page>> {
    let Some((cookie, interaction)) = open(service, id, browser).await? else { return Ok(None) };
    let request = request_of(&interaction)?;
    let asks = match (interaction.user_id, interaction.step) {
        (Some(user), Some(Step::Prove)) => {
            Prompt::Factor(second_factor::proof(service, &interaction, user).await?)
        }
        (Some(user), Some(Step::Add)) => {
            match second_factor::addition(service, &interaction, user, offered).await? {
                Some(addition) => Prompt::NewFactor(addition),
                None => return Ok(None),
            }
        }
        _ if interaction.must_replace_password => Prompt::NewPassword,
        _ if factors::is_on(service) => Prompt::Password(factors::passkeys::offer_to_prove(service, id)?),
        _ => Prompt::Password(None),
    };
    Ok(Some(Page {
        asks,
        form_target: request.as_ref().and_then(|request| form_target(&request.redirect_uri)),
        login_hint: request.and_then(|request| request.login_hint),
        form_token: form_token(service, cookie, id),
        has_recovery: bailiwick_events::mail::is_on(&service.events),
    }))
}

/// Proof that a form was made for the browser with this cookie and for the object with this id.
pub(super) fn form_token(service: &Identity, cookie: &str, id: Uuid) -> String {
    URL_SAFE_NO_PAD.encode(service.platform.keys.mac(FORM, &form_data(cookie, id)))
}

/// Whether the form of this stored request was made for this browser.
pub fn is_form_token(service: &Identity, browser: &Browser, id: Uuid, token: &str) -> bool {
    made_form_token(service, browser.browser.as_deref(), id, token)
}

/// Whether [`form_token`] made it.
pub(super) fn made_form_token(service: &Identity, cookie: Option<&str>, id: Uuid, token: &str) -> bool {
    let (Some(cookie), Ok(token)) = (cookie, URL_SAFE_NO_PAD.decode(token)) else { return false };
    service.platform.keys.is_mac(FORM, &form_data(cookie, id), &token)
}

fn form_data(cookie: &str, id: Uuid) -> Vec<u8> {
    [id.as_bytes(), cookie.as_bytes()].concat()
}

/// The page's form: name and password.
pub async fn sign_in(
    service: &Identity,
    context: &RequestContext,
    id: Uuid,
    browser: &Browser,
    who: &Identifier,
    password: &str,
) -> Result<Progress, SignInError> {
    let (_, interaction) = open(service, id, browser).await?.ok_or(SignInError::Gone)?;
    let password_match = check(service, context, who, password).await?;
    let mut tx = service.platform.db.begin().await?;
    let user = password_match.lock_unchanged(&mut tx).await?;
    let step = factors::need(service, &mut tx, &user, service.platform.now()).await?;
    if step.is_some() || password_match.must_replace_password {
        let fresh = fresh_secret(&*service.platform.entropy);
        let entered = password_match.password_entered(step);
        if !interactions::identify(&mut tx, &interaction, entered, &token_digest(&fresh)).await? {
            return Err(SignInError::Gone);
        }
        tx.commit().await?;
        return Ok(Progress::NextPage { browser: fresh });
    }
    let proven = Authenticated { user, methods: SignInMethods::of(SignInMethod::Password) };
    let done = complete(service, context, &mut tx, &interaction, proven, browser).await?;
    tx.commit().await?;
    Ok(Progress::Done(done))
}

/// The page's second form: replaces a generated password by the new one.
pub async fn replace_password(
    service: &Identity,
    context: &RequestContext,
    id: Uuid,
    browser: &Browser,
    new: &str,
    again: &str,
) -> Result<SignedIn, SignInError> {
    let (_, interaction) = open(service, id, browser).await?.ok_or(SignInError::Gone)?;
    let user = interaction
        .user_id
        .filter(|_| interaction.must_replace_password)
        .ok_or(SignInError::NotIdentified)?;
    check_step(&interaction)?;
    let old = identities::password(&service.platform.db, user).await?.ok_or(SignInError::Gone)?;
    if new != again {
        return Err(SignInError::WeakPassword("mismatch"));
    }
    validate::password(new).map_err(SignInError::WeakPassword)?;
    if passwords::verify(service, new, old.hash.as_deref()).await? {
        return Err(SignInError::WeakPassword("unchanged"));
    }
    let hash = passwords::hash(service, new).await?;
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    let person = identities::get_for_login(&mut tx, user).await?;
    let person = person.filter(|p| p.standing.is_enabled()).ok_or(SignInError::Gone)?;
    // Neither replaced nor expired since the page was built.
    let record = identities::password(&mut tx, user).await?.filter(|record| *record == old);
    if record.is_none_or(|record| is_expired(service, &record, now)) {
        return Err(SignInError::Gone);
    }
    // Taken first: the change of the password ends every request in which the user has given the old one.
    claim(&mut tx, &interaction).await?;
    // A user with a password that was mailed there can read that mailbox (spec: account#change-info).
    let mailed_to = mail_links::addresses(&mut tx, user).await?.and_then(|a| a.password_mailed_to);
    if mailed_to.is_some_and(|address| address == Email::key_of(&person.email)) {
        mail_links::verify(&mut tx, user).await?;
    }
    passwords::set_password(&mut tx, now, user, Some(&hash), Origin::Chosen, None).await?;
    let action = AuditAction::UserReplaceGeneratedPassword;
    audit::record_own(&mut tx, now, context, person.id, person.organization.id, action).await?;
    let proven = Authenticated { user: person, methods: proven_by(&interaction) };
    let done = answer(service, context, &mut tx, &interaction, proven, browser).await?;
    tx.commit().await?;
    Ok(done)
}

pub(super) async fn open<'a>(
    service: &Identity,
    id: Uuid,
    browser: &'a Browser,
) -> Result<Option<(&'a str, Interaction)>> {
    let Some(cookie) = browser.browser.as_deref().filter(|cookie| is_cookie(cookie)) else { return Ok(None) };
    let interaction =
        interactions::get(&service.platform.db, id, &token_digest(cookie), service.platform.now()).await?;
    Ok(interaction.map(|interaction| (cookie, interaction)))
}

/// None when a person came without a client.
pub(super) fn request_of(interaction: &Interaction) -> Result<Option<AuthorizationRequest>> {
    serde_json::from_value(interaction.request.clone()).map_err(Error::internal)
}

/// Refuses to go on before the step that the request waits for.
pub(super) fn check_step(interaction: &Interaction) -> Result<(), SignInError> {
    match interaction.step {
        None => Ok(()),
        Some(Step::Prove) => Err(SignInError::MustProveFactor),
        Some(Step::Add) => Err(SignInError::MustAddFactor),
    }
}

/// What the user of a request has proved. A program of the version before has noted nothing: it knows passwords only.
pub(super) fn proven_by(interaction: &Interaction) -> SignInMethods {
    let methods = interaction.methods;
    if methods == SignInMethods::default() { SignInMethods::of(SignInMethod::Password) } else { methods }
}

/// A user who may sign in, and what they have proved.
pub(super) struct Authenticated {
    pub(super) user: Identified,
    pub(super) methods: SignInMethods,
}

/// A user whose password was right.
pub(super) struct PasswordMatch {
    user: UserId,
    hash: Option<String>,
    must_replace_password: bool,
}

impl PasswordMatch {
    /// Locks the user until the transaction ends, if their state is unchanged since the password was checked.
    pub(super) async fn lock_unchanged(&self, tx: &mut Tx) -> Result<Identified, SignInError> {
        let user = identities::get_steady(tx, self.user).await?;
        let record = identities::password(tx, self.user).await?;
        let is_same = record.is_some_and(|record| record.hash == self.hash);
        user.filter(|user| is_same && user.standing.is_enabled()).ok_or(SignInError::WrongCredentials)
    }

    pub(super) fn password_entered(&self, step: Option<Step>) -> interactions::PasswordEntered {
        interactions::PasswordEntered {
            user: self.user,
            must_replace_password: self.must_replace_password,
            step,
            methods: SignInMethods::of(SignInMethod::Password),
        }
    }
}

/// Name and password. An unknown or deleted user costs the same time as a wrong password.
pub(super) async fn check(
    service: &Identity,
    context: &RequestContext,
    who: &Identifier,
    password: &str,
) -> Result<PasswordMatch, SignInError> {
    let matching = lookup(service, who).await?.filter(|(user, _)| !user.standing.is_gone());
    let name = Email::key_of(who.text());
    let guessed = GuessTarget::Name(&name, matching.as_ref().map(|(user, _)| user.id));
    let hash = matching.as_ref().and_then(|(_, record)| record.hash.as_deref());
    let is_right = passwords::matches_user(service, guessed, context.client_ip, password, hash).await?;
    let (user, record) = matching.filter(|_| is_right).ok_or_else(|| {
        tracing::info!(client_ip = %context.client_ip, "sign-in refused");
        SignInError::WrongCredentials
    })?;
    if user.standing.suspension().is_some() {
        return Err(SignInError::AccountSuspended);
    }
    if is_expired(service, &record, service.platform.now()) {
        return Err(SignInError::WrongCredentials);
    }
    Ok(PasswordMatch {
        user: user.id,
        must_replace_password: record.generated_at.is_some(),
        hash: record.hash,
    })
}

async fn lookup(service: &Identity, who: &Identifier) -> Result<Option<(Identified, PasswordRecord)>> {
    let text = who.text();
    if text.is_empty() || text.len() > MAX_IDENTIFIER_BYTES || text.chars().any(char::is_control) {
        return Ok(None);
    }
    Ok(match who {
        Identifier::Email(email) => identities::by_email(&service.platform.db, email).await?,
        Identifier::Username(name) => identities::by_username(&service.platform.db, name).await?,
    })
}

/// A generated password lives for a while only.
fn is_expired(service: &Identity, record: &PasswordRecord, now: Ts) -> bool {
    record.generated_at.is_some_and(|at| at.plus(service.settings.provider.generated_password) <= now)
}

pub(super) async fn claim(tx: &mut Tx, interaction: &Interaction) -> Result<(), SignInError> {
    if interactions::claim(tx, interaction).await? { Ok(()) } else { Err(SignInError::Gone) }
}

/// Ends the stored request with a login and, for a client, a code.
pub(super) async fn complete(
    service: &Identity,
    context: &RequestContext,
    tx: &mut Tx,
    interaction: &Interaction,
    proven: Authenticated,
    browser: &Browser,
) -> Result<SignedIn, SignInError> {
    claim(tx, interaction).await?;
    answer(service, context, tx, interaction, proven, browser).await
}

async fn answer(
    service: &Identity,
    context: &RequestContext,
    tx: &mut Tx,
    interaction: &Interaction,
    proven: Authenticated,
    browser: &Browser,
) -> Result<SignedIn, SignInError> {
    let now = service.platform.now();
    let request = request_of(interaction)?;
    let (login, cookie) = log_in(service, tx, &proven, browser, now).await?;
    let methods: Vec<&str> = proven.methods.iter().map(SignInMethod::as_str).collect();
    let (id, organization) = (proven.user.id, proven.user.organization.id);
    let after = Some(json!({"methods": methods}));
    audit::record_own_with(tx, now, context, (id, organization), AuditAction::UserSignIn, after).await?;
    let onward = match request {
        Some(request) => match consent::settle(service, tx, &request, &login, now).await? {
            consent::SignInEnd::BrowserRedirect(onward) => onward,
            consent::SignInEnd::Ask => {
                let question = Interaction {
                    id: service.platform.fresh(),
                    request: serde_json::to_value(consent::question(&request, &login))
                        .map_err(Error::internal)?,
                    user_id: None,
                    must_replace_password: false,
                    step: None,
                    methods: SignInMethods::default(),
                    created_at: now,
                    expires_at: now.plus(INTERACTION),
                    ..interaction.clone()
                };
                interactions::insert(tx, &question).await?;
                BrowserRedirect::Address(consent::address(service, question.id))
            }
            consent::SignInEnd::Gone => return Err(SignInError::Gone),
        },
        None if authorize::lock_user(tx, &login).await?.is_some() => {
            BrowserRedirect::Address(login::address(service))
        }
        None => return Err(SignInError::Gone),
    };
    Ok(SignedIn { onward, login: Some(cookie) })
}

/// The browser's login from now on. If the same user signs in again, it is the existing one. Otherwise it is a new one,
/// and the sessions of the other user in this browser end. The cookie is always new.
async fn log_in(
    service: &Identity,
    tx: &mut Tx,
    proven: &Authenticated,
    browser: &Browser,
    now: Ts,
) -> Result<(Login, String), SignInError> {
    let (user, methods) = (proven.user.id, proven.methods);
    let cookie = fresh_secret(&*service.platform.entropy);
    let expires_at = now.plus(service.settings.provider.login);
    let current_cookie = browser.login.as_deref().filter(|cookie| is_cookie(cookie));
    let present = match current_cookie {
        Some(current_cookie) => logins::by_token(&mut *tx, &token_digest(current_cookie), now).await?,
        None => None,
    };
    match present {
        Some(own) if own.user_id == user => {
            let login = Login { authenticated_at: now, methods, expires_at, ..own };
            if logins::renew(tx, &login, &token_digest(&cookie)).await? {
                return Ok((login, cookie));
            }
        }
        Some(other) => {
            logins::end(tx, other.id, now).await?;
            revoke_login_chains(tx, now, other.id).await?;
        }
        None => {}
    }
    let login = Login {
        id: LoginId(service.platform.fresh()),
        user_id: user,
        authenticated_at: now,
        methods,
        expires_at,
    };
    logins::insert(tx, &login, &token_digest(&cookie)).await?;
    Ok((login, cookie))
}
