//! Third-party clients: which users may use them, and what a user lets them learn (spec: openid-provider#endpoints,
//! step 2, and openid-provider#third-party-applications).
//!
//! Every sign-in ends in [`settle`]: with a code, with a refusal, or with the consent question. A page ([`page`],
//! [`answer`]) or a script ([`allow_by_script`], then [`resume`]) answers the question. The question waits as an
//! interaction that names its login; without the cookie of that login it is useless.

use super::{
    Code, OAuthError,
    authorize::{self, AuthorizationRequest, Browser},
    claims::has_scope,
    clients,
    login::Person,
    redirect::{BrowserRedirect, ClientResponse, form_target},
    scripted_sign_in::latest,
    sign_in::{SignInError, claim, form_token, open, request_of},
};
use crate::{Identity, auth::identity_of};
use bailiwick_domain::{AuditAction, Error, LoginId, Result, Ts, UserId};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_store::{
    Tx,
    identities::{self, Identified},
    oidc::{
        consents::{self, Consent},
        grants,
        interactions::{self, Interaction},
        logins::Login,
    },
};
use serde::{Deserialize, Serialize};
use url::Url;
use uuid::Uuid;

/// How a sign-in ends.
pub(super) enum SignInEnd {
    /// Back to the client, with a code or with a refusal.
    BrowserRedirect(BrowserRedirect),
    /// The user must be asked first.
    Ask,
    /// The user, the login or the client is no longer valid.
    Gone,
}

/// The question of a waiting request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The login whose user is asked.
    pub login: LoginId,
    /// Whether the user answered yes.
    pub is_allowed: bool,
}

/// The contents of the page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Name of the application.
    pub application: String,
    /// The host that will receive the data.
    pub host: String,
    /// The requested scopes.
    pub scopes: Vec<&'static str>,
    /// The user who is asked.
    pub person: Person,
    /// For `form-action`.
    pub form_target: Option<String>,
    /// To be sent back with the form.
    pub form_token: String,
}

/// An application to which the user has given consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    pub client_id: String,
    /// Its name.
    pub application: String,
}

/// Whether this user may use the client: every user may use a client of ours; a third-party client admits the users
/// that its `access_control` names.
pub(super) fn admits(service: &Identity, client: &clients::Client, user: &Identified) -> bool {
    client.is_first_party()
        || clients::admits(client, &identity_of(&service.platform.catalogue, user.clone()))
}

/// Ends a sign-in: locks the user and the login until the transaction ends.
pub(super) async fn settle(
    service: &Identity,
    tx: &mut Tx,
    request: &AuthorizationRequest,
    login: &Login,
    now: Ts,
) -> Result<SignInEnd> {
    let client = clients::find(&service.settings, &request.client_id);
    let Some(client) = client.filter(|client| client.may_redirect_to(&request.redirect_uri)) else {
        return Ok(SignInEnd::Gone);
    };
    let Some(user) = authorize::lock_user(tx, login).await? else { return Ok(SignInEnd::Gone) };
    if !admits(service, &client, &user) {
        let refused = OAuthError::new(Code::AccessDenied, "this user may not use the application");
        return Ok(SignInEnd::BrowserRedirect(ClientResponse::to(request).refusal(service, &refused)));
    }
    if !client.is_first_party() && !is_allowed(tx, request, login).await? {
        return Ok(SignInEnd::Ask);
    }
    authorize::grant(service, tx, request, login, now).await.map(SignInEnd::BrowserRedirect)
}

/// Whether the user has consented to at least these scopes, and has done so just now if the client requires a new
/// question. A consent withdrawn meanwhile does not count, whatever the user answered before: a withdrawal locks the
/// user.
async fn is_allowed(tx: &mut Tx, request: &AuthorizationRequest, login: &Login) -> Result<bool> {
    let was_asked = request.asked.is_some_and(|asked| asked.is_allowed && asked.login == login.id);
    if request.wants_consent && !was_asked {
        return Ok(false);
    }
    let allowed = consents::scope(tx, login.user_id, &request.client_id).await?;
    Ok(allowed.is_some_and(|allowed| request.scope.split(' ').all(|scope| has_scope(&allowed, scope))))
}

/// The request as stored while it waits for the answer of this login's user.
pub(super) fn question(request: &AuthorizationRequest, login: &Login) -> AuthorizationRequest {
    AuthorizationRequest { asked: Some(Asked { login: login.id, is_allowed: false }), ..request.clone() }
}

/// The address of the page with this question.
pub fn address(service: &Identity, id: Uuid) -> String {
    format!("{}/consent/{id}", service.settings.provider_issuer())
}

/// An open question and its user.
struct Waiting {
    interaction: Interaction,
    request: AuthorizationRequest,
    client: clients::Client,
    login: Login,
    user: Identified,
}

/// The question of an interaction. None when it asks none, or asks another user. If a user has entered a password
/// since, it is their sign-in again.
async fn open_question(
    service: &Identity,
    interaction: Interaction,
    browser: &Browser,
) -> Result<Option<Waiting>> {
    if interaction.user_id.is_some() {
        return Ok(None);
    }
    let Some(request) = request_of(&interaction)? else { return Ok(None) };
    let Some(asked) = request.asked else { return Ok(None) };
    let live = authorize::live_login(service, browser, service.platform.now()).await?;
    let Some((login, user)) = live.filter(|(login, _)| login.id == asked.login) else { return Ok(None) };
    let client = clients::find(&service.settings, &request.client_id);
    Ok(client.map(|client| Waiting { interaction, request, client, login, user }))
}

/// The page of a question. None when the question has ended or belongs to another user.
pub async fn page(service: &Identity, id: Uuid, browser: &Browser) -> Result<Option<Page>> {
    let Some((cookie, interaction)) = open(service, id, browser).await? else { return Ok(None) };
    let Some(question) = open_question(service, interaction, browser).await? else { return Ok(None) };
    let redirect = Url::parse(&question.request.redirect_uri).ok();
    Ok(Some(Page {
        application: question.client.display_name().to_owned(),
        host: redirect.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default(),
        scopes: authorize::SCOPES.into_iter().filter(|s| has_scope(&question.request.scope, s)).collect(),
        person: Person::of(question.user),
        form_target: form_target(&question.request.redirect_uri),
        form_token: form_token(service, cookie, id),
    }))
}

/// The page's form: where the browser goes on.
pub async fn answer(
    service: &Identity,
    ctx: &RequestContext,
    id: Uuid,
    browser: &Browser,
    allows: bool,
) -> Result<BrowserRedirect, SignInError> {
    let (_, interaction) = open(service, id, browser).await?.ok_or(SignInError::Gone)?;
    let Waiting { interaction, mut request, client, login, .. } =
        open_question(service, interaction, browser).await?.ok_or(SignInError::Gone)?;
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    // Locks in the order user, stored request, login, like every sign-in.
    let user = authorize::hold_user(&mut tx, login.user_id).await?.ok_or(SignInError::Gone)?;
    claim(&mut tx, &interaction).await?;
    let onward = if allows {
        remember(&mut tx, ctx, &user, &client, &request.scope, now).await?;
        request.asked = Some(Asked { login: login.id, is_allowed: true });
        match settle(service, &mut tx, &request, &login, now).await? {
            SignInEnd::BrowserRedirect(onward) => onward,
            SignInEnd::Ask | SignInEnd::Gone => return Err(SignInError::Gone),
        }
    } else {
        let refused = OAuthError::new(Code::AccessDenied, "the user has declined");
        ClientResponse::to(&request).refusal(service, &refused)
    };
    tx.commit().await?;
    Ok(onward)
}

/// A script answers yes: the address that continues the sign-in. None when no question is open.
pub async fn allow_by_script(
    service: &Identity,
    ctx: &RequestContext,
    browser: &Browser,
) -> Result<Option<String>, SignInError> {
    let interaction = latest(service, browser).await?;
    let Some(question) = open_question(service, interaction, browser).await? else { return Ok(None) };
    let Waiting { interaction, mut request, client, login, .. } = question;
    request.asked = Some(Asked { login: login.id, is_allowed: true });
    let written = serde_json::to_value(&request).map_err(Error::internal)?;
    let mut tx = service.platform.db.begin().await?;
    let user = authorize::hold_user(&mut tx, login.user_id).await?.ok_or(SignInError::Gone)?;
    if !interactions::rewrite(&mut tx, &interaction, &written).await? {
        return Err(SignInError::Gone);
    }
    remember(&mut tx, ctx, &user, &client, &request.scope, service.platform.now()).await?;
    tx.commit().await?;
    Ok(Some(format!("{}/auth/{}", service.settings.provider_issuer(), interaction.id)))
}

/// Where a script continues after its yes. None when this interaction has no question.
pub(super) async fn resume(
    service: &Identity,
    interaction: &Interaction,
    browser: &Browser,
) -> Result<Option<BrowserRedirect>, SignInError> {
    let Some(question) = open_question(service, interaction.clone(), browser).await? else { return Ok(None) };
    let mut tx = service.platform.db.begin().await?;
    authorize::hold_user(&mut tx, question.login.user_id).await?.ok_or(SignInError::Gone)?;
    claim(&mut tx, interaction).await?;
    let settled =
        settle(service, &mut tx, &question.request, &question.login, service.platform.now()).await?;
    // Not answered yet: the transaction ends without a write, and the page asks.
    let SignInEnd::BrowserRedirect(onward) = settled else {
        return Ok(Some(BrowserRedirect::Address(address(service, interaction.id))));
    };
    tx.commit().await?;
    Ok(Some(onward))
}

/// Stores the newly allowed scopes together with those allowed before.
async fn remember(
    tx: &mut Tx,
    ctx: &RequestContext,
    user: &Identified,
    client: &clients::Client,
    scope: &str,
    now: Ts,
) -> Result<()> {
    let before = consents::scope(&mut *tx, user.id, client.id()).await?.unwrap_or_default();
    let all = authorize::SCOPES.into_iter().filter(|s| has_scope(scope, s) || has_scope(&before, s));
    let all = all.collect::<Vec<_>>().join(" ");
    consents::put(tx, user.id, client.id(), &all, now).await?;
    audit::record_own(tx, now, ctx, user.id, user.organization.id, AuditAction::UserAllowApplication).await
}

/// The applications the user has consented to, ordered by name; clients that no longer exist are left out.
pub(super) async fn allowed(service: &Identity, user: UserId) -> Result<Vec<Allowed>> {
    let of_client = |consent: Consent| {
        let client = clients::find(&service.settings, &consent.client_id)?;
        Some(Allowed { application: client.display_name().to_owned(), client_id: consent.client_id })
    };
    let mut all: Vec<_> =
        consents::of_user(&service.platform.db, user).await?.into_iter().filter_map(of_client).collect();
    all.sort_by(|a, b| (&a.application, &a.client_id).cmp(&(&b.application, &b.client_id)));
    Ok(all)
}

/// Withdraws the user's consent: the tokens of the application end with it.
pub async fn withdraw(
    service: &Identity,
    ctx: &RequestContext,
    browser: &Browser,
    client_id: &str,
) -> Result<()> {
    let now = service.platform.now();
    let Some((login, _)) = authorize::live_login(service, browser, now).await? else { return Ok(()) };
    let mut tx = service.platform.db.begin().await?;
    // Locked as a writer, so that no sign-in that has read the consent is still in progress.
    let Some(user) = identities::get_for_login(&mut tx, login.user_id).await? else { return Ok(()) };
    let was_allowed = consents::withdraw(&mut tx, user.id, client_id).await?;
    let is_third_party = clients::find(&service.settings, client_id).is_some_and(|c| !c.is_first_party());
    if was_allowed || is_third_party {
        grants::end_of_client(&mut tx, user.id, client_id, now).await?;
        audit::record_own(
            &mut tx,
            now,
            ctx,
            user.id,
            user.organization.id,
            AuditAction::UserWithdrawApplication,
        )
        .await?;
        tx.commit().await?;
    }
    Ok(())
}
