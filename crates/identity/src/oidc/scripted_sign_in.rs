//! Sign-in by scripts (spec: openid-provider#scripted-sign-in): [`identify`], [`prove_factor`] where a second factor is
//! asked for, [`submit`], and then the address of [`resume`]. A script knows only its cookies: the last request of the
//! browser is meant.

use super::{
    authorize::{Browser, is_cookie},
    consent,
    second_factor::{self, Given},
    sign_in::{
        Authenticated, Identifier, SignInError, SignedIn, check, check_step, complete, open, proven_by,
    },
};
use crate::{Identity, factors};
use bailiwick_platform::{RequestContext, keys::token_digest};
use bailiwick_store::{
    identities,
    oidc::interactions::{self, Interaction, Step},
};
use uuid::Uuid;

/// The last stored request of a browser; for scripts.
pub(super) async fn latest(service: &Identity, browser: &Browser) -> Result<Interaction, SignInError> {
    let cookie = browser.browser.as_deref().filter(|cookie| is_cookie(cookie)).ok_or(SignInError::Gone)?;
    interactions::latest(&service.platform.db, &token_digest(cookie), service.platform.now())
        .await?
        .ok_or(SignInError::Gone)
}

/// A script starts over.
pub async fn restart(service: &Identity, browser: &Browser) -> Result<(), SignInError> {
    let interaction = latest(service, browser).await?;
    let mut tx = service.platform.db.begin_relaxed().await?;
    interactions::reset(&mut tx, interaction.id).await?;
    tx.commit().await?;
    Ok(())
}

/// A script sends name and password.
pub async fn identify(
    service: &Identity,
    context: &RequestContext,
    browser: &Browser,
    who: &Identifier,
    password: &str,
) -> Result<(), SignInError> {
    let interaction = latest(service, browser).await?;
    let password_match = check(service, context, who, password).await?;
    let mut tx = service.platform.db.begin().await?;
    let user = password_match.lock_unchanged(&mut tx).await?;
    let step = factors::need(service, &mut tx, &user, service.platform.now()).await?;
    let same = interaction.browser_hash.clone();
    if !interactions::identify(&mut tx, &interaction, password_match.password_entered(step), &same).await? {
        return Err(SignInError::Gone);
    }
    tx.commit().await?;
    Ok(())
}

/// A script is done: the address that leads on.
pub async fn submit(service: &Identity, browser: &Browser) -> Result<String, SignInError> {
    let interaction = latest(service, browser).await?;
    match interaction.user_id {
        None => Err(SignInError::NotIdentified),
        Some(_) if interaction.step.is_some() => check_step(&interaction).map(|()| String::new()),
        Some(_) if interaction.must_replace_password => Err(SignInError::MustReplacePassword),
        Some(_) => Ok(format!("{}/auth/{}", service.settings.provider_issuer(), interaction.id)),
    }
}

/// The address a script was sent to.
pub async fn resume(
    service: &Identity,
    context: &RequestContext,
    id: Uuid,
    browser: &Browser,
) -> Result<SignedIn, SignInError> {
    let (_, interaction) = open(service, id, browser).await?.ok_or(SignInError::Gone)?;
    // A consent question, unless a user has signed in since.
    if let Some(onward) = consent::resume(service, &interaction, browser).await? {
        return Ok(SignedIn { onward, login: None });
    }
    let user = interaction.user_id.ok_or(SignInError::NotIdentified)?;
    check_step(&interaction)?;
    if interaction.must_replace_password {
        return Err(SignInError::MustReplacePassword);
    }
    let mut tx = service.platform.db.begin().await?;
    // Locks in the order user, stored request, login, like every transaction that ends the user's sessions.
    let user = identities::get_steady(&mut tx, user).await?.ok_or(SignInError::Gone)?;
    let proven = Authenticated { user, methods: proven_by(&interaction) };
    let done = complete(service, context, &mut tx, &interaction, proven, browser).await?;
    tx.commit().await?;
    Ok(done)
}

/// A script sends a code.
pub async fn prove_factor(service: &Identity, browser: &Browser, code: &str) -> Result<(), SignInError> {
    let interaction = latest(service, browser).await?;
    if interaction.step == Some(Step::Add) {
        return Err(SignInError::MustAddFactor);
    }
    let (mut tx, _, methods) = second_factor::prove(service, &interaction, Given::Code(code)).await?;
    second_factor::pass(&mut tx, &interaction, methods).await?;
    tx.commit().await?;
    Ok(())
}
