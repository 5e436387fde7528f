//! Links in mails: replacing a forgotten password, and confirming an address (spec: openid-provider#endpoints,
//! account#change-info). The addresses of the pages come from the configured public address, never from a request.
//! Opening a page does not use the link up, because mail scanners open every link.

use super::{
    authorize::{self, Browser, is_cookie},
    sign_in::{SignInError, form_token, made_form_token},
};
use crate::{
    Identity, TokenRequest,
    auth::GuessTarget,
    passwords::{self, Origin},
};
use bailiwick_domain::{
    AuditAction, Result, UserId,
    validate::{self, Email},
};
use bailiwick_events::mail;
use bailiwick_platform::{
    RequestContext, audit,
    keys::{fresh_secret, token_digest},
};
use bailiwick_store::{
    Tx,
    identities::{self, Identified},
    mail_links::{self, Addresses, Link, Purpose},
};
use uuid::Uuid;

/// The longest accepted name, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// The three forms; a token made for one form is invalid for the others. No stored request has such an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The user has forgotten their password.
    Forgotten,
    /// The new one.
    NewPassword,
    /// The confirmation of an address.
    ConfirmAddress,
}

impl Form {
    const fn id(self) -> Uuid {
        Uuid::from_u128(match self {
            Form::Forgotten => 1,
            Form::NewPassword => 2,
            Form::ConfirmAddress => 3,
        })
    }
}

/// A form's token and the browser's cookie, when it has none yet.
#[derive(Clone, Debug)]
pub struct IssuedForm {
    /// To be sent back with the form.
    pub form_token: String,
    /// To be set.
    pub fresh_cookie: Option<String>,
}

/// Opens a form for a browser.
pub fn open(service: &Identity, browser: &Browser, form: Form) -> IssuedForm {
    let present = browser.browser.as_deref().filter(|cookie| is_cookie(cookie));
    let fresh = present.is_none().then(|| fresh_secret(&*service.platform.entropy));
    let cookie = present.or(fresh.as_deref()).unwrap_or_default();
    IssuedForm { form_token: form_token(service, cookie, form.id()), fresh_cookie: fresh }
}

/// Whether the form was opened by this browser.
pub fn is_form_token(service: &Identity, browser: &Browser, form: Form, token: &str) -> bool {
    made_form_token(service, browser.browser.as_deref().filter(|cookie| is_cookie(cookie)), form.id(), token)
}

/// Accepts a request for a new password. It does not read the account, so the response and its time are the same for
/// all accounts; the worker reads it. Beyond the limit of the client's address, requests are dropped.
pub async fn ask(service: &Identity, context: &RequestContext, name: &str) -> Result<()> {
    let name = name.trim();
    let is_name = !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.chars().any(char::is_control);
    let allowed = service.settings.limits.forgotten_mails_per_address;
    if !is_name || !service.events.outbox.may_ask(allowed, service.platform.now(), context.client_ip) {
        return Ok(());
    }
    let mut tx = service.platform.db.begin_relaxed().await?;
    mail::forgotten(&service.events, &mut tx, name).await?;
    tx.commit().await?;
    mail::wake(&service.events);
    Ok(())
}

/// Whether a link to a new password can still be used.
pub async fn is_open(service: &Identity, token: &str) -> Result<bool> {
    Ok(find(service, token, Purpose::Password).await?.is_some())
}

/// Sets a new password by a link. Every session of the user ends (spec: authentication#session-chains); the user is not
/// signed in.
pub async fn reset(
    service: &Identity,
    context: &RequestContext,
    counted: TokenRequest,
    token: &str,
    new: &str,
    again: &str,
) -> Result<(), SignInError> {
    let link = counted.beside(find(service, token, Purpose::Password)).await?.ok_or(SignInError::Gone)?;
    if new != again {
        return Err(SignInError::WeakPassword("mismatch"));
    }
    validate::password(new).map_err(SignInError::WeakPassword)?;
    let hash = passwords::hash(service, new).await?;
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    let (person, addresses) = lock_user(&mut tx, link.user_id).await?;
    // The link was sent to the address that links still go to: it is neither confirmed nor changed since.
    let is_there = Email::key_of(addresses.for_recovery()) == Email::key_of(&link.address);
    if !is_there || !mail_links::use_up(&mut tx, &link, now).await? {
        return Err(SignInError::Gone);
    }
    passwords::set_password(&mut tx, now, person.id, Some(&hash), Origin::Chosen, None).await?;
    if Email::key_of(&addresses.email) == Email::key_of(&link.address) {
        mail_links::verify(&mut tx, person.id).await?;
    }
    audit::record_own(
        &mut tx,
        now,
        context,
        person.id,
        person.organization.id,
        AuditAction::UserResetForgottenPassword,
    )
    .await?;
    tx.commit().await?;
    Ok(())
}

/// The contents of a confirmation page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    pub address: String,
    /// Whether the user must enter their password.
    pub needs_password: bool,
}

/// The confirmation behind a link. None when the link can no longer be used.
///
/// The link alone is not enough: a thief of a session can have the link sent to their own address (spec:
/// guarantees#identity rule 41). So the browser must be signed in at the provider, or the user enters the password.
pub async fn confirmation(
    service: &Identity,
    token: &str,
    browser: &Browser,
) -> Result<Option<Confirmation>> {
    let Some(link) = find(service, token, Purpose::Address).await? else { return Ok(None) };
    let needs_password = !is_signed_in(service, browser, link.user_id).await?;
    Ok(Some(Confirmation { address: link.address, needs_password }))
}

/// Confirms an address.
pub async fn confirm(
    service: &Identity,
    context: &RequestContext,
    token: &str,
    browser: &Browser,
    password: &str,
) -> Result<(), SignInError> {
    let link = find(service, token, Purpose::Address).await?.ok_or(SignInError::Gone)?;
    let mut checked = None;
    if !is_signed_in(service, browser, link.user_id).await? {
        let stored =
            identities::password(&service.platform.db, link.user_id).await?.ok_or(SignInError::Gone)?.hash;
        let guessed = GuessTarget::User(link.user_id);
        let ip = context.client_ip;
        if !passwords::matches_user(service, guessed, ip, password, stored.as_deref()).await? {
            return Err(SignInError::WrongCredentials);
        }
        checked = stored;
    }
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    let (person, addresses) = lock_user(&mut tx, link.user_id).await?;
    let present = identities::password(&mut tx, person.id).await?.and_then(|password| password.hash);
    if checked.is_some() && checked != present {
        return Err(SignInError::WrongCredentials);
    }
    // The address was changed again since: this link is for another one.
    let is_present = Email::key_of(&addresses.email) == Email::key_of(&link.address);
    if !is_present || !mail_links::use_up(&mut tx, &link, now).await? {
        return Err(SignInError::Gone);
    }
    mail_links::verify(&mut tx, person.id).await?;
    audit::record_own(
        &mut tx,
        now,
        context,
        person.id,
        person.organization.id,
        AuditAction::UserConfirmAddress,
    )
    .await?;
    tx.commit().await?;
    Ok(())
}

async fn is_signed_in(service: &Identity, browser: &Browser, user: UserId) -> Result<bool> {
    let live = authorize::live_login(service, browser, service.platform.now()).await?;
    Ok(live.is_some_and(|(_, person)| person.id == user))
}

async fn find(service: &Identity, token: &str, purpose: Purpose) -> Result<Option<Link>> {
    // Tokens look as cookies do.
    if !is_cookie(token) {
        return Ok(None);
    }
    Ok(mail_links::get(&service.platform.db, &token_digest(token), purpose, service.platform.now()).await?)
}

/// The user of a link, locked, if they may sign in.
async fn lock_user(tx: &mut Tx, user: UserId) -> Result<(Identified, Addresses), SignInError> {
    let person = identities::get_for_login(tx, user).await?;
    let person = person.filter(|person| person.standing.is_enabled()).ok_or(SignInError::Gone)?;
    let addresses = mail_links::addresses(tx, user).await?.ok_or(SignInError::Gone)?;
    Ok((person, addresses))
}
